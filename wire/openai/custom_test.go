package openai_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"wield/chat"
	"wield/wire/openai"
	"wield/wire/responses"
)

// The same tools of plain text, calls and choices, as each of the two protocols has them.
const (
	chatTools = `[{"type":"custom","custom":{"name":"patch","description":"Edits.","format":{"type":"grammar",` +
		`"grammar":{"definition":"start: \"x\"","syntax":"lark"}}}},` +
		`{"type":"custom","custom":{"name":"say","format":{"type":"text"}}},` +
		`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	chatCall = `[{"id":"a","type":"custom","custom":{"name":"patch","input":"*** \"a\"\n"}},` +
		`{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]`
	chatChoice  = `{"type":"custom","custom":{"name":"patch"}}`
	chatAllowed = `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + chatChoice +
		`,{"type":"function","function":{"name":"f"}}]}}`
	itemTools = `[{"type":"custom","name":"patch","description":"Edits.",` +
		`"format":{"type":"grammar","definition":"start: \"x\"","syntax":"lark"}},` +
		`{"type":"custom","name":"say","format":{"type":"text"}},` +
		`{"type":"function","name":"f","parameters":{"type":"object"}}]`
	itemCalls = `{"type":"custom_tool_call","call_id":"a","name":"patch","input":"*** \"a\"\n"},` +
		`{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},` +
		`{"type":"custom_tool_call_output","call_id":"a","output":"1"},` +
		`{"type":"function_call_output","call_id":"b","output":"2"}`
	itemChoice  = `{"type":"custom","name":"patch"}`
	itemAllowed = `{"type":"allowed_tools","mode":"auto","tools":[` + itemChoice + `,{"type":"function","name":"f"}]}`
)

// TestCustomTools shows that tools of plain text, their calls and choices among them reach a server that knows them,
// whichever of the two protocols they came in, and that they are functions to one that does not.
func TestCustomTools(t *testing.T) {
	chatBody := func(choice string) string {
		return `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,` +
			`"tool_calls":` + chatCall + `},{"role":"tool","tool_call_id":"a","content":"1"},` +
			`{"role":"tool","tool_call_id":"b","content":"2"}],` +
			`"tools":` + chatTools + `,"tool_choice":` + choice + `}`
	}
	itemBody := func(choice string) string {
		return `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},` +
			itemCalls + `],"tools":` + itemTools + `,"tool_choice":` + choice + `}`
	}
	for _, c := range []struct{ chat, item string }{
		{chatChoice, itemChoice}, {chatAllowed, itemAllowed}, {`"auto"`, `"auto"`},
	} {
		of, err := openai.DecodeRequest([]byte(chatBody(c.chat)))
		if err != nil {
			t.Fatal(err)
		}
		read, err := responses.DecodeRequest([]byte(itemBody(c.item)))
		if err != nil {
			t.Fatal(err)
		}
		for name, req := range map[string]*chat.Request{"chat completions": of, "Responses": &read.Request} {
			out, err := openai.AppendRequest(nil, req, openai.RequestOptions{Forward: []string{"custom"}})
			same(t, name+" for chat completions", chatBody(c.chat), out, err)
			out, err = responses.AppendRequest(nil, req, responses.RequestOptions{})
			same(t, name+" for Responses", itemBody(c.item), out, err)
			out, err = openai.AppendRequest(nil, req, openai.RequestOptions{})
			text := string(out)
			if err != nil || strings.Contains(text, `"custom"`) ||
				!strings.Contains(text, `{"input":{"type":"string"`) {
				t.Errorf("%s for a server that does not know them: %s, %v", name, out, err)
			}
		}
	}
}

func same(t *testing.T, what, want string, got []byte, err error) {
	t.Helper()
	var w, g any
	if err == nil {
		err = json.Unmarshal([]byte(want), &w)
	}
	if err == nil {
		err = json.Unmarshal(got, &g)
	}
	if err != nil || !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n%s\nwant\n%s\n%v", what, got, want, err)
	}
}

// TestGrammar: the grammar of a custom tool is read from where its protocol has it, and nowhere else.
func TestGrammar(t *testing.T) {
	const form = `"format":{"type":"grammar","syntax":"regex","definition":"a"}`
	const nested = `"format":{"type":"grammar","grammar":{"syntax":"regex","definition":"a"}}`
	read := func(name, tool string) (*chat.Request, error) {
		if name == "chat completions" {
			return openai.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[` + tool + `]}`))
		}
		r, err := responses.DecodeRequest([]byte(`{"model":"m","input":"go","tools":[` + tool + `]}`))
		if err != nil {
			return nil, err
		}
		return &r.Request, nil
	}
	for _, tt := range []struct {
		protocol, tool string
		held           bool
	}{
		{"chat completions", `{"type":"custom","custom":{"name":"p",` + nested + `}}`, true},
		{"chat completions", `{"type":"custom","custom":{"name":"p",` + form + `}}`, true},
		{"chat completions", `{"type":"custom","custom":{"name":"p"},` + form + `}`, false},
		{"chat completions", `{"type":"custom","custom":{"name":"p",` + strings.ToUpper(form[:8]) + form[8:] + `}}`, false},
		{"chat completions", `{"type":"custom","custom":{"name":"p","format":null}}`, false},
		{"Responses", `{"type":"custom","name":"p",` + form + `}`, true},
		{"Responses", `{"type":"custom","name":"p",` + nested + `}`, false},
		{"Responses", `{"type":"tool_search","execution":"client",` + form + `}`, false},
	} {
		req, err := read(tt.protocol, tt.tool)
		if err != nil {
			t.Errorf("%s: %s: %v", tt.protocol, tt.tool, err)
			continue
		}
		got := req.Tools[0]
		if held := got.Syntax == "regex" && got.Grammar == "a"; held != tt.held || !held && got.Grammar != "" {
			t.Errorf("%s: %s: %q in %q", tt.protocol, tt.tool, got.Grammar, got.Syntax)
		}
	}
}

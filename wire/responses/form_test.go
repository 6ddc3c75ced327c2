package responses

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wield/chat"
)

// formTools are tools of every type that clients run.
const formTools = `[{"type":"custom","name":"patch","description":"Edits.","format":{"type":"grammar","syntax":"lark","definition":"start: \"x\""}},
	{"type":"custom","name":"word","format":{"type":"grammar","syntax":"regex","definition":"[a-z]+"}},
	{"type":"namespace","name":"n","description":"N.","tools":[{"type":"custom","name":"exec"},{"type":"function","name":"wait","strict":false,"parameters":{"type":"object"}}]},
	{"type":"tool_search","execution":"client","description":"Finds.","parameters":{"type":"object","properties":{"query":{"type":"string"}}}},
	{"type":"local_shell"},{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"}]`

// forms of calls: the arguments as a model writes them, and the item that a client gets, without its id.
var formCalls = []struct{ tool, args, item string }{
	{"patch", `{"input": "*** a\n\"b\" \u00e9\ud83d\ude00"}`,
		`{"type":"custom_tool_call","name":"patch","input":"*** a\n\"b\" é😀"}`},
	{"exec", `{"input":"text(1)"}`, `{"type":"custom_tool_call","namespace":"n","name":"exec","input":"text(1)"}`},
	{"wait", `{"n":1}`, `{"type":"function_call","namespace":"n","name":"wait","arguments":"{\"n\":1}"}`},
	{"tool_search", `{"query":"mail"}`,
		`{"type":"tool_search_call","execution":"client","arguments":{"query":"mail"}}`},
	{"local_shell", `{"command":["ls","-l"]}`,
		`{"type":"local_shell_call","action":{"type":"exec","env":{},"command":["ls","-l"]}}`},
	{"shell", `{"commands":["ls"]}`, `{"type":"shell_call","action":{"commands":["ls"]}}`},
	{"apply_patch", `{"type":"delete_file","path":"a"}`,
		`{"type":"apply_patch_call","operation":{"type":"delete_file","path":"a"}}`},
}

func TestFormsToClients(t *testing.T) {
	req := decode(t, `{"input":"x","tools":`+formTools+`}`)
	if tool := req.Tool("word"); !strings.Contains(string(tool.Parameters), `"pattern":"^(?:[a-z]+)$"`) {
		t.Errorf("a regular expression is no pattern: %s", tool.Parameters)
	}
	if tool := req.Tool("patch"); !strings.Contains(tool.Description, "start: \"x\"") {
		t.Errorf("the grammar is not told: %s", tool.Description)
	}
	o := plainOptions
	o.Request = req
	for _, tt := range formCalls {
		call := &chat.Call{ID: "c1", Name: tt.tool, Arguments: tt.args, Complete: true}
		want := fields(t, []byte(tt.item))
		want["call_id"], want["status"] = "c1", "completed"
		whole := NewResponse(o)
		whole.Add(chat.Event{Kind: chat.KindCallEnd, Detail: call})
		whole.Add(finishEvent(chat.FinishCalls))
		checkItem(t, tt.tool+", whole", want, whole.Items())
		for size := range len(tt.args) {
			w := NewStreamWriter(o)
			var out []byte
			out = w.Append(out, chat.Event{Kind: chat.KindCallStart, ID: "c1", Name: tt.tool})
			for rest := tt.args; rest != ""; {
				n := min(size+1, len(rest))
				out = w.Append(out, chat.Event{Kind: chat.KindCallArgs, Text: rest[:n]})
				rest = rest[n:]
			}
			out = w.Append(out, chat.Event{Kind: chat.KindCallEnd, Detail: call})
			w.Append(out, finishEvent(chat.FinishCalls))
			checkItem(t, fmt.Sprintf("%s, in pieces of %d", tt.tool, size+1), want, w.Items())
			if input, ok := want["input"]; ok {
				if got := deltas(out, "response.custom_tool_call_input.delta"); got != input {
					t.Fatalf("%s: the deltas are %q, want %q", tt.tool, got, input)
				}
			}
		}
	}
}

func checkItem(t *testing.T, name string, want map[string]any, items []json.RawMessage) {
	t.Helper()
	if len(items) != 1 {
		t.Fatalf("%s: %d items", name, len(items))
	}
	got := fields(t, items[0])
	delete(got, "id")
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: the item is %v, want %v", name, got, want)
	}
}

// deltas joins the deltas of the events of a type.
func deltas(stream []byte, kind string) (all string) {
	for line := range strings.Lines(string(stream)) {
		var e struct{ Type, Delta string }
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil &&
			e.Type == kind {
			all += e.Delta
		}
	}
	return all
}

// TestFormsInHistory reads calls and outputs of every form, and writes them for a server of the same protocol as they
// were.
func TestFormsInHistory(t *testing.T) {
	outputs := map[string]string{
		"patch":       `{"type":"custom_tool_call_output","output":"done"}`,
		"exec":        `{"type":"custom_tool_call_output","output":"1"}`,
		"wait":        `{"type":"function_call_output","output":"late"}`,
		"local_shell": `{"type":"local_shell_call_output","output":"a b"}`,
		"tool_search": `{"type":"tool_search_output","execution":"client","status":"completed","tools":[{"type":"function","name":"send","description":"Sends mail.","parameters":{"type":"object"}}]}`,
		"shell":       `{"type":"shell_call_output","output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]}`,
		"apply_patch": `{"type":"apply_patch_call_output","status":"completed","output":"gone"}`,
	}
	var input []string
	for i, tt := range formCalls {
		id := fmt.Sprintf(`"call_id":"c%d",`, i)
		if tt.tool == "local_shell" || tt.tool == "shell" || tt.tool == "apply_patch" {
			id = `"status":"completed",` + id
		}
		input = append(input, "{"+id+tt.item[1:], fmt.Sprintf(`{"call_id":"c%d",`, i)+outputs[tt.tool][1:])
	}
	added := `{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"m","description":"M.","tools":[{"type":"custom","name":"run"}]}]}`
	body := `{"model":"m","input":[` + added +
		`,{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},` + strings.Join(input, ",") +
		`],"tools":` + formTools + `}`
	req := decode(t, body)
	for i, tt := range formCalls {
		c, result := req.Messages[1+2*i].Calls[0], req.Messages[2+2*i]
		want := fields(t, []byte(tt.args))
		if tt.tool == "local_shell" {
			want["env"] = map[string]any{}
		}
		if got := fields(t, []byte(c.Arguments)); c.Name != tt.tool || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the call is %s(%s)", tt.tool, c.Name, c.Arguments)
		}
		if result.Role != chat.RoleTool || result.Name != tt.tool || result.Text() == "" {
			t.Errorf("%s: the result is %+v", tt.tool, result)
		}
	}
	if found := req.Tool("send"); found == nil || !found.Deferred {
		t.Errorf("what the search found is %+v", found)
	}
	if run := req.Tool("run"); run == nil || run.Deferred {
		t.Errorf("what stands among the input is %+v", run)
	}
	written, err := AppendRequest(nil, &req.Request, RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := fields(t, []byte(body)), fields(t, written)
	delete(got, "tool_choice")
	for key := range want {
		compareFields(t, key, want[key], got[key])
	}
}

// TestReadForms reads answers of a server that calls tools of every form, streamed and whole.
func TestReadForms(t *testing.T) {
	req := decode(t, `{"input":"x","tools":`+formTools+`}`)
	names := NamesOf(req.Tools)
	o := plainOptions
	o.Request = req
	for _, tt := range formCalls {
		call := &chat.Call{ID: "c1", Name: tt.tool, Arguments: tt.args, Complete: true}
		w, whole := NewStreamWriter(o), NewResponse(o)
		var out []byte
		for _, e := range []chat.Event{{Kind: chat.KindText, Text: "I "}, {Kind: chat.KindText, Text: "call."},
			{Kind: chat.KindCallStart, ID: "c1", Name: tt.tool}, {Kind: chat.KindCallArgs, Text: tt.args[:5]},
			{Kind: chat.KindCallArgs, Text: tt.args[5:]}, {Kind: chat.KindCallEnd, Detail: call},
			finishEvent(chat.FinishCalls)} {
			out = w.Append(out, e)
			whole.Add(e)
		}
		r := NewStreamReader(names)
		var events []chat.Event
		var err error
		for line := range strings.Lines(string(out)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && err == nil {
				events, err = r.Feed(events, []byte(data))
			}
		}
		if err == nil {
			events, err = r.Close(events)
		}
		if err != nil || !r.Done() {
			t.Fatalf("%s: %v", tt.tool, err)
		}
		checkRead(t, tt.tool+", streamed", call, events)
		events, err = DecodeResponse(nil, names, whole.Append(nil))
		if err != nil {
			t.Fatalf("%s: %v", tt.tool, err)
		}
		checkRead(t, tt.tool+", whole", call, events)
	}
}

// checkRead looks for the one call among the events, and for what its deltas come to.
func checkRead(t *testing.T, name string, want *chat.Call, events []chat.Event) {
	t.Helper()
	var text, args string
	var got *chat.Call
	for _, e := range events {
		switch e.Kind {
		case chat.KindText:
			text += e.Text
		case chat.KindCallArgs:
			args += e.Text
		case chat.KindCallEnd:
			got = e.Detail.(*chat.Call)
		}
	}
	if got == nil || got.Name != want.Name || got.ID != "c1" || args != got.Arguments || text != "I call." {
		t.Fatalf("%s: %q, call %+v, deltas %s", name, text, got, args)
	}
	meant := fields(t, []byte(want.Arguments))
	if want.Name == "local_shell" {
		meant["env"] = map[string]any{}
	}
	if is := fields(t, []byte(got.Arguments)); !reflect.DeepEqual(is, meant) {
		t.Fatalf("%s: the arguments are %v, want %v", name, is, meant)
	}
	last := events[len(events)-1]
	if last.Kind != chat.KindFinish || last.Detail.(*chat.Finish).Reason != chat.FinishCalls {
		t.Fatalf("%s ends with %v", name, last.Kind)
	}
}

package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/wire/jsonbody"
)

func decode(t *testing.T, body string) *Request {
	t.Helper()
	req, err := DecodeRequest([]byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return req
}

// told writes messages one a line, for comparing.
func told(messages []chat.Message) string {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&b, "%s", m.Role)
		if m.CallID != "" {
			fmt.Fprintf(&b, " %s=%s", m.CallID, m.Name)
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case chat.PartText:
				fmt.Fprintf(&b, " %q", p.Text)
			case chat.PartOpaque:
				fmt.Fprintf(&b, " opaque %s", p.Name)
			default:
				fmt.Fprintf(&b, " part%d %s%s%s %s", p.Kind, p.URL, p.Data, p.Name, p.Detail)
			}
		}
		if m.Reasoning != "" {
			fmt.Fprintf(&b, " thought %q", m.Reasoning)
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " call%d %s=%s(%s)", c.Index, c.ID, c.Name, c.Arguments)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestInput(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"a text", `{"input":"hi"}`, `user "hi"`},
		{"instructions first", `{"input":"hi","instructions":"Be brief."}`, "system \"Be brief.\"\nuser \"hi\""},
		{"short messages",
			`{"input":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]}`,
			"developer \"d\"\nuser \"a\" \"b\""},
		{"images and files",
			`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"},
			{"type":"input_file","filename":"a.txt","file_data":"aGk="},{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}},{"type":"input_video","url":"x"}]}]}`,
			`user part1 data:image/png;base64,AA== low part3 hia.txt  part2 hi  opaque input_video`},
		{"a round of two calls",
			`{"input":[{"type":"message","role":"user","content":"go"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":null},
			{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
			{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\":1}","status":"completed"},{"type":"function_call","call_id":"c2","name":"g","arguments":""},
			{"type":"function_call_output","id":"fco_1","call_id":"c1","output":"one"},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}]}`,
			"user \"go\"\nassistant \"I look.\" thought \"Hm.\" call0 c1=f({\"a\":1}) call1 c2=g({})\ntool c1=f \"one\"\ntool c2=g \"two\"\nassistant \"Done.\""},
		{"text behind a call",
			`{"input":[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"role":"assistant","content":"wait"},{"type":"function_call_output","call_id":"c1","output":"one"}]}`,
			"assistant \"wait\" call0 c1=f({})\ntool c1=f \"one\""},
		{"two answers",
			`{"input":[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`,
			"assistant \"a\"\nassistant \"b\"\nuser \"c\""},
		{"broken arguments stay",
			`{"input":[{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":"},{"type":"function_call_output","call_id":"c1","output":"no"}]}`,
			"assistant call0 c1=f({\"a\":)\ntool c1=f \"no\""},
		{"arguments and output that are no text",
			`{"input":[{"type":"function_call","call_id":"c1","name":"f","arguments":{"a":1}},{"type":"function_call_output","call_id":"c1","output":{"ok":true}}]}`,
			"assistant call0 c1=f({\"a\":1})\ntool c1=f \"{\\\"ok\\\":true}\""},
		{"a custom tool's call",
			`{"input":[{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"*** a\n"},{"type":"custom_tool_call_output","call_id":"c1","output":"ok"}]}`,
			"assistant call0 c1=patch({\"input\":\"*** a\\n\"})\ntool c1=patch \"ok\""},
		{"a refusal",
			`{"input":[{"role":"assistant","content":[{"type":"refusal","refusal":"I must not."}]},{"role":"user","content":"why"}]}`,
			"assistant \"I must not.\"\nuser \"why\""},
		{"items that mean nothing here",
			`{"input":[{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search"}},{"type":"compaction","encrypted_content":"x"},{"type":"item_reference","id":"msg_0"},{"id":"msg_1"},{"role":"user","content":"c"}]}`,
			"assistant opaque web_search_call opaque compaction\nuser \"c\""},
		{"the reasoning's own words count",
			`{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"short"}],"content":[{"type":"reasoning_text","text":"long"}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`,
			"assistant \"b\" thought \"long\"\nuser \"c\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, told(decode(t, tt.body).Messages)); diff != "" {
				t.Errorf("messages differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestL21CallIDIsNotTheItemID: calls and outputs are joined by call_id; the ids of items are optional and differ.
func TestL21CallIDIsNotTheItemID(t *testing.T) {
	got := told(
		decode(t,
			`{"input":[{"type":"function_call","id":"fc_a","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call","id":"c1","call_id":"c2","name":"g","arguments":"{}"},
		{"type":"function_call_output","id":"fc_a","call_id":"c2","output":"x"}]}`).Messages)
	if want := "assistant call0 c1=f({}) call1 c2=g({})\ntool c2=g \"x\""; got != want {
		t.Errorf("messages\n%s\nwant\n%s", got, want)
	}
}

// TestL24OtherTools: tools of namespaces are taken out of them, those that are no functions offered as such or marked
// as hosted.
func TestL24OtherTools(t *testing.T) {
	req := decode(t,
		`{"input":"x","tool_choice":{"type":"function","namespace":"b","name":"f"},"tools":[{"type":"web_search","external_web_access":false},{"type":"custom","name":"patch","format":{"type":"grammar"}},
		{"type":"namespace","name":"a","description":"d","tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"custom","name":"z"}]},
		{"type":"namespace","name":"b","tools":[{"type":"function","name":"f","strict":false},{"type":"function","name":"g"}]},
		{"type":"function","name":"g","parameters":{}},{"type":"function","function":{"name":"nested"}},{"type":"local_shell"},{"type":"mcp","server_label":"s"}]}`)
	var names []string
	for _, tool := range req.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"web_search", "patch", "f", "z", "b__f", "b__g", "g", "nested", "local_shell", "mcp"},
		names); diff != "" {
		t.Errorf("tools differ (-want +got):\n%s", diff)
	}
	want := map[string]spaced{"f": {"a", "f"}, "z": {"a", "z"}, "b__f": {"b", "f"}, "b__g": {"b", "g"}}
	if diff := cmp.Diff(want, req.spaced, cmp.AllowUnexported(spaced{})); diff != "" {
		t.Errorf("namespaces differ (-want +got):\n%s", diff)
	}
	if req.Choice.Mode != chat.ChoiceNamed || req.Choice.Name != "b__f" {
		t.Errorf("choice %+v", req.Choice)
	}
	hosted := map[string]chat.Hosting{"web_search": chat.HostedOptional, "mcp": chat.HostedRequired}
	for _, tool := range req.Tools {
		if tool.Hosted != hosted[tool.Name] {
			t.Errorf("%s is hosted: %v", tool.Name, tool.Hosted)
		}
	}
	for choice, want := range map[string]string{`{"type":"web_search"}`: "web_search",
		`{"type":"custom","name":"patch"}`: "patch", `{"type":"local_shell"}`: "local_shell"} {
		req := decode(t,
			`{"input":"x","tools":[{"type":"web_search"},{"type":"custom","name":"patch"},{"type":"local_shell"}],"tool_choice":`+choice+`}`)
		if req.Choice.Mode != chat.ChoiceNamed || req.Choice.Name != want {
			t.Errorf("%s is %+v", choice, req.Choice)
		}
	}
	// A call in a namespace that the history holds gets the name that the model sees.
	got := told(
		decode(t,
			`{"input":[{"type":"function_call","call_id":"c","namespace":"b","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],
		"tools":[{"type":"function","name":"f"},{"type":"namespace","name":"b","tools":[{"type":"function","name":"f"}]}]}`).Messages)
	if want := "assistant call0 c=b__f({})\ntool c=b__f \"1\""; got != want {
		t.Errorf("messages\n%s\nwant\n%s", got, want)
	}
}

// TestL22UnknownKeys: what is not known is kept, and goes nowhere unless it is asked for.
func TestL22UnknownKeys(t *testing.T) {
	req := decode(t,
		`{"input":"x","client_metadata":{"a":1},"include":["reasoning.encrypted_content","message.output_text.logprobs"],"prompt_cache_key":"k","reasoning":{"summary":"auto","effort":null},"store":false,"wholly_new":[1]}`)
	keys := []string{}
	for _, x := range req.Extra {
		if x.Protocol != chat.ProtocolResponses {
			t.Errorf("%s is of the protocol %s", x.Key, x.Protocol)
		}
		keys = append(keys, x.Key)
	}
	if diff := cmp.Diff([]string{"client_metadata", "include", "prompt_cache_key", "reasoning", "store", "wholly_new"},
		keys); diff != "" {
		t.Errorf("keys differ (-want +got):\n%s", diff)
	}
	if req.Store || !req.LogProbs || req.Effort != "" {
		t.Errorf("store %v, logprobs %v, effort %q", req.Store, req.LogProbs, req.Effort)
	}
	out, err := AppendRequest(nil, &req.Request, RequestOptions{Forward: []string{"wholly_new"}})
	if want := `{"model":"","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}],` +
		`"include":["message.output_text.logprobs"],"wholly_new":[1]}`; err != nil || string(out) != want {
		t.Errorf("written %s, want %s (%v)", out, want, err)
	}
}

func TestSettings(t *testing.T) {
	req := decode(t,
		`{"model":"m","input":"x","max_output_tokens":100,"temperature":0.5,"top_p":1,"stream":true,"parallel_tool_calls":false,"user":"u","reasoning":{"effort":"high"},
		"previous_response_id":"resp_0","tools":[{"type":"function","name":"f","strict":true,"description":"d","parameters":{"type":"object"}},{"type":"function","name":"g"}],
		"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"},{"type":"web_search"},{"type":"function","name":"gone"}]},
		"text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}}}}`)
	if req.Model != "m" || req.MaxTokens != 100 || !req.MaxCompletion || *req.Temperature != 0.5 || *req.TopP != 1 ||
		!req.Stream || *req.Parallel || req.User != "u" || req.Effort != "high" || req.Previous != "resp_0" ||
		!req.Store {
		t.Errorf("request %+v", req)
	}
	f := req.Format
	if f == nil || f.Kind != chat.FormatSchema || f.Name != "n" || !*f.Strict ||
		string(f.Schema) != `{"type":"object"}` {
		t.Errorf("format %+v", f)
	}
	if c := req.Choice; c.Mode != chat.ChoiceRequired || len(c.Allowed) != 1 || c.Allowed[0] != "f" {
		t.Errorf("choice %+v", c)
	}
	if tool := req.Tool("f"); tool == nil || !*tool.Strict || tool.Description != "d" ||
		string(tool.Parameters) != `{"type":"object"}` || req.Tool("g").Strict != nil {
		t.Errorf("tools %+v", req.Tools)
	}
	for word, mode := range map[string]chat.ChoiceMode{"auto": chat.ChoiceAuto, "none": chat.ChoiceNone,
		"required": chat.ChoiceRequired} {
		if got := decode(t, `{"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":"`+word+
			`"}`).Choice.Mode; got != mode {
			t.Errorf("%s is %v", word, got)
		}
	}
	if got := decode(t, `{"input":"x","text":{"format":{"type":"json_object"}}}`).Format.Kind; got != chat.FormatJSON {
		t.Errorf("format %v", got)
	}
	if got := decode(t, `{"conversation":{"id":"conv_1"},"max_tokens":5}`); got.Conversation != "conv_1" ||
		got.MaxTokens != 5 {
		t.Errorf("conversation %q, %d tokens", got.Conversation, got.MaxTokens)
	}
}

func TestRefusedRequests(t *testing.T) {
	for _, tt := range []struct{ body, param, code, message string }{
		{`{`, "", jsonbody.CodeInvalidJSON, "the body is not valid JSON"},
		{`[]`, "", jsonbody.CodeInvalidType, "the body must be a JSON object"},
		{`{}`, "input", CodeMissingInput, "there must be an input"},
		{`{"input":[]}`, "input", CodeMissingInput, ""},
		{`{"input":7}`, "input", jsonbody.CodeInvalidType, "this must be a string or an array of items, not a number"},
		{`{"input":["x"]}`, "input[0]", jsonbody.CodeInvalidType, "this must be an object"},
		{`{"input":[{}]}`, "input[0].type", jsonbody.CodeMissing, "an item must have a type"},
		{`{"input":[{"role":"wizard","content":"x"}]}`, "input[0].role", jsonbody.CodeInvalidValue, ""},
		{`{"input":[{"type":"message","content":"x"}]}`, "input[0].role", jsonbody.CodeMissing, ""},
		{`{"input":[{"role":"user"}]}`, "input[0].content", jsonbody.CodeMissing, ""},
		{`{"input":[{"role":"user","content":[{"type":"input_text"}]}]}`, "input[0].content[0].text",
			jsonbody.CodeMissing, ""},
		{`{"input":[{"role":"user","content":[{"text":"x"}]}]}`, "input[0].content[0].type", jsonbody.CodeMissing, ""},
		{`{"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]}`, "input[0].content[0].file_id",
			jsonbody.CodeUnsupported, "files that are kept"},
		{`{"input":[{"role":"user","content":[{"type":"input_file","file_data":"%"}]}]}`,
			"input[0].content[0].file_data", jsonbody.CodeInvalidValue, "this is not base64"},
		{`{"input":[{"type":"function_call","name":"f","arguments":"{}"}]}`, "input[0].call_id", jsonbody.CodeMissing,
			""},
		{`{"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]}`, "input[0].name", jsonbody.CodeMissing,
			""},
		{`{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":7}]}`, "input[0].arguments",
			jsonbody.CodeInvalidType, ""},
		{`{"input":[{"type":"function_call_output","output":"x"}]}`, "input[0].call_id", jsonbody.CodeMissing, ""},
		{`{"input":[{"type":"function_call_output","call_id":"c"}]}`, "input[0].output", jsonbody.CodeMissing, ""},
		{`{"input":[{"type":"item_reference"}]}`, "input[0].id", jsonbody.CodeMissing, ""},
		{`{"input":"x","background":true,"store":false}`, "background", CodeExclusive,
			"an answer in the background is asked for later, so that it must be stored"},
		{`{"input":"x","prompt":{"id":"p"}}`, "prompt", jsonbody.CodeUnsupported, ""},
		{`{"input":"x","previous_response_id":"r","conversation":"c"}`, "previous_response_id", CodeExclusive, ""},
		{`{"input":"x","conversation":{}}`, "conversation.id", jsonbody.CodeMissing, ""},
		{`{"input":"x","conversation":7}`, "conversation", jsonbody.CodeInvalidType, ""},
		{`{"input":"x","reasoning":{"effort":"wild"}}`, "reasoning.effort", jsonbody.CodeInvalidEffort, ""},
		{`{"input":"x","text":{"format":{"type":"json_schema"}}}`, "text.format.schema", jsonbody.CodeMissing, ""},
		{`{"input":"x","text":{"format":{"type":"xml"}}}`, "text.format.type", jsonbody.CodeInvalidValue, ""},
		{`{"input":"x","tools":[{"type":"function"}]}`, "tools[0].name", jsonbody.CodeMissing, ""},
		{`{"input":"x","tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}]}`, "tools[1].name",
			jsonbody.CodeInvalidValue, "there is another tool"},
		{`{"input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]}]}`,
			"tools[0].tools[0].name", jsonbody.CodeMissing, ""},
		{`{"input":"x","tools":[{"type":"function","name":"f","parameters":"x"}]}`, "tools[0].parameters",
			jsonbody.CodeInvalidType, ""},
		{`{"input":"x","tool_choice":"maybe"}`, "tool_choice", jsonbody.CodeInvalidValue, ""},
		{`{"input":"x","tool_choice":"required"}`, "tool_choice", jsonbody.CodeInvalidValue, "a call is required"},
		{`{"input":"x","tool_choice":{"type":"function","name":"g"},"tools":[{"type":"function","name":"f"}]}`,
			"tool_choice", jsonbody.CodeInvalidValue, `the tool "g" is not among the tools`},
		{`{"input":"x","tool_choice":{"type":"function"}}`, "tool_choice.name", jsonbody.CodeMissing, ""},
		{`{"input":"x","temperature":3}`, "temperature", jsonbody.CodeInvalidValue, ""},
		{`{"input":"x","max_output_tokens":0}`, "max_output_tokens", jsonbody.CodeInvalidValue, ""},
		{`{"input":"x","metadata":"a"}`, "metadata", jsonbody.CodeInvalidType, ""},
		{`{"input":"x","store":"yes"}`, "store", jsonbody.CodeInvalidType, ""},
	} {
		_, err := DecodeRequest([]byte(tt.body))
		var field *jsonbody.FieldError
		if !errors.As(err, &field) {
			t.Errorf("%s: error %v, want a FieldError", tt.body, err)
			continue
		}
		message := strings.TrimPrefix(field.Message, field.Param+": ")
		if field.Param != tt.param || field.Code != tt.code || !strings.HasPrefix(message, tt.message) {
			t.Errorf("%s is refused with %q, %q, %q, want %q, %q, %q", tt.body, field.Param, field.Code, message,
				tt.param, tt.code, tt.message)
		}
		if e := chat.AsError(err); e.Kind != chat.ErrBadRequest || e.Param != tt.param {
			t.Errorf("%s: as a chat.Error it is %+v", tt.body, e)
		}
	}
}

// TestContinue puts what was kept in front, and does so as often as it is asked.
func TestContinue(t *testing.T) {
	req := decode(t, `{"instructions":"I","input":[{"type":"function_call_output","call_id":"c","output":"1"}]}`)
	var before []Item
	for i, raw := range []string{`{"role":"user","content":"q"}`,
		`{"type":"function_call","id":null,"call_id":"c","name":"f","arguments":"{}"}`} {
		it, err := DecodeItem(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		named := it.Named(fmt.Sprint(i))
		if it, err = DecodeItem(named.Raw); err != nil || it.ID != named.ID || it.Type == "" {
			t.Fatalf("kept item %s: %v", named.Raw, err)
		}
		before = append(before, it)
	}
	if before[0].ID != "msg_0" || before[1].ID != "fc_1" {
		t.Errorf("ids %s and %s", before[0].ID, before[1].ID)
	}
	for range 2 {
		req.Continue(before)
		if want := "system \"I\"\nuser \"q\"\nassistant call0 c=f({})\ntool c=f \"1\""; told(req.Messages) != want {
			t.Errorf("messages\n%s\nwant\n%s", told(req.Messages), want)
		}
	}
}

// TestLongRequests: the work of reading is linear in what was sent, whatever there is much of.
func TestLongRequests(t *testing.T) {
	many := func(n int, each func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = each(i)
		}
		return strings.Join(list, ",")
	}
	const n = 60_000 // quadratic work would take minutes
	call := func(i int) string {
		return fmt.Sprintf(`{"type":"function_call","call_id":"c%d","namespace":"n","name":"f%d","arguments":"{}"}`,
			i, i)
	}
	for name, body := range map[string]string{
		"tools": `{"input":"x","tools":[` +
			many(n, func(i int) string { return fmt.Sprintf(`{"type":"function","name":"f%d"}`, i) }) + `]}`,
		"namespace": `{"input":"x","tools":[{"type":"namespace","name":"n","tools":[` +
			many(n, func(i int) string { return fmt.Sprintf(`{"type":"function","name":"f%d"}`, i) }) + `]}]}`,
		"calls": `{"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f1"}]}],"input":[` +
			many(n, call) + `]}`,
		"thoughts": `{"input":[` + many(n, func(int) string {
			return `{"type":"reasoning","summary":[{"type":"summary_text","text":"a thought of some length"}]}`
		}) + `]}`,
		"allowed": `{"input":"x","tools":[` +
			many(n, func(i int) string { return fmt.Sprintf(`{"type":"function","name":"f%d"}`, i) }) +
			`],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"name":"f0"},` +
			many(n, func(i int) string { return fmt.Sprintf(`{"name":"g%d"}`, i) }) + `]}}`,
		"references": `{"input":[` + many(n, func(i int) string { return fmt.Sprintf(`{"id":"msg_%d"}`, i) }) + `]}`,
	} {
		req := decode(t, body)
		if len(req.Tools)+len(req.Input) < n {
			t.Errorf("%s: %d tools, %d items", name, len(req.Tools), len(req.Input))
		}
		switch m := req.Messages; {
		case name == "calls" && (len(m) != 1 || len(m[0].Calls) != n || m[0].Calls[n-1].Index != n-1):
			t.Errorf("%d messages", len(m))
		case name == "thoughts" && (len(m) != 1 || len(m[0].Reasoning) < n*20):
			t.Errorf("%d messages", len(m))
		}
	}
}

// TestFilesSent shows that a file reaches a server by the field that says where it is.
func TestFilesSent(t *testing.T) {
	for _, tt := range []struct{ sent, want string }{
		{`"file_url":"https://x/y.pdf"`, `"file_url":"https://x/y.pdf"`},
		{`"file_data":"data:text/plain;base64,aGk="`, `"file_data":"data:text/plain;base64,aGk="`},
		{`"file_data":"aGk="`, `"file_data":"data:application/octet-stream;base64,aGk="`},
	} {
		req, err := DecodeRequest([]byte(`{"input":[{"role":"user","content":[{"type":"input_file",` + tt.sent + `}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		out, err := AppendRequest(nil, &req.Request, RequestOptions{})
		if err != nil || !strings.Contains(string(out), `{"type":"input_file",`+tt.want+`}`) {
			t.Errorf("%s is sent as %s, %v", tt.sent, out, err)
		}
	}
}

// FuzzRequest reads anything: no panic, and what is read can be written and read again.
func FuzzRequest(f *testing.F) {
	f.Add(
		[]byte(
			`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{"}],"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}]}`))
	f.Add(
		[]byte(
			`{"input":"x","instructions":[{"role":"user","content":"a"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"name":"f"}]},"text":{"verbosity":"low"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := DecodeRequest(body)
		if err != nil {
			return
		}
		for i := range req.Input {
			if named := req.Input[i].Named("0"); !json.Valid(named.Raw) {
				t.Fatalf("kept as %s", named.Raw)
			}
		}
		out, err := AppendRequest(nil, &req.Request, RequestOptions{Forward: []string{"text", "reasoning"}})
		if err != nil || req.Previous != "" || req.Kept != "" {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("written request is no JSON: %s", out)
		}
		if body := NewResponse(ResponseOptions{Request: req}).Append(nil); !json.Valid(body) {
			t.Fatalf("response is no JSON: %s", body)
		}
	})
}

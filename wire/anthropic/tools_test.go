package anthropic

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"wield/chat"
)

// TestFoundTools shows that a deferred tool is described where a result first names it, and that a server of the
// protocol gets the reference as it came.
func TestFoundTools(t *testing.T) {
	const reference = `{"type":"tool_reference","tool_name":"look"}`
	req, err := DecodeRequest(
		[]byte(`{"model":"m","max_tokens":1,"tools":[{"name":"find","input_schema":{"type":"object"}},
		{"name":"look","description":"Looks around.","input_schema":{"type":"object","required":["at"]},"defer_loading":true}],
		"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"find","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + reference + `,` + reference +
			`]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	parts := req.Messages[2].Parts
	want := `Tool: {"name":"look","description":"Looks around.","parameters":{"type":"object","required":["at"]}}`
	if parts[0].Text != want || parts[1].Text != "Tool: look" {
		t.Errorf("the result says %q and %q", parts[0].Text, parts[1].Text)
	}
	if req.Tools[0].Deferred || !req.Tools[1].Deferred {
		t.Error("just the tool that was found is described by the conversation")
	}
	out, err := AppendRequest(nil, req, RequestOptions{})
	if err != nil || strings.Count(string(out), reference) != 2 || strings.Contains(string(out), "Tool: ") {
		t.Errorf("the server gets %s, %v", out, err)
	}
}

// TestTypedTools shows that a model that was not trained on the tools of the protocol that clients run is told what
// they take, and that a server of the protocol gets them as they came.
func TestTypedTools(t *testing.T) {
	for _, tt := range []struct{ tool, properties, about string }{
		{`{"type":"bash_20250124","name":"bash"}`, "command restart", "Runs a command"},
		{`{"type":"text_editor_20250728","name":"str_replace_based_edit_tool","max_characters":9}`,
			"command file_text insert_line insert_text new_str old_str path view_range", "insert puts insert_text"},
		{`{"type":"text_editor_20250124","name":"str_replace_editor"}`,
			"command file_text insert_line new_str old_str path view_range", "insert puts new_str"},
		{`{"type":"memory_20250818","name":"memory"}`,
			"command file_text insert_line insert_text new_path new_str old_path old_str path view_range",
			"below /memories"},
		{`{"type":"computer_20251124","name":"computer","display_width_px":800,"display_height_px":600}`,
			"action coordinate duration region scroll_amount scroll_direction start_coordinate text",
			"The screen is 800 pixels wide and 600 high."},
		{`{"name":"open","description":"Any.","input_schema":true}`, "", "Any."},
	} {
		req, err := DecodeRequest([]byte(`{"model":"m","max_tokens":1,"tools":[` + tt.tool +
			`],"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		tool := &req.Tools[0]
		var schema struct{ Properties map[string]any }
		if tt.properties != "" {
			if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
				t.Fatalf("%s: %s: %v", tt.tool, tool.Parameters, err)
			}
		}
		got := strings.Join(slices.Sorted(maps.Keys(schema.Properties)), " ")
		if got != tt.properties || !strings.Contains(tool.Description, tt.about) || tool.Hosted != chat.HostedNot {
			t.Errorf("%s takes %q: %s", tt.tool, got, tool.Description)
		}
		out, err := AppendRequest(nil, req, RequestOptions{})
		if err != nil || tt.properties != "" && !strings.Contains(string(out), `"tools":[`+tt.tool+`]`) {
			t.Errorf("%s: the server gets %s, %v", tt.tool, out, err)
		}
	}
}

// TestToolsets shows that the tools of a set that clients run are told one by one to a model that was not trained on
// them, that its calls name the set to the client, and that a server of the protocol gets all of it as it came.
func TestToolsets(t *testing.T) {
	const computer = `{"type":"computer_toolset_20260801","configs":{"zoom":{"enabled":false}}}`
	const use = `{"type":"tool_use","id":"toolu_a","name":"left_click","toolset_name":"computer","input":{"coordinate":[3,4]}}`
	const state = `{"type":"browser_state","tabs":[]}`
	body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[` + use +
		`]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","content":[` + state +
		`]}]}],"tools":[` + computer + `,{"type":"browser_toolset_20260801","configs":{"file_upload":{"enabled":true}}}]}`
	req, err := DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]*chat.Tool{}
	for i := range req.Tools {
		for j := range req.Tools[i].Members {
			m := &req.Tools[i].Members[j]
			names[m.Name] = m
			if !json.Valid(m.Parameters) || m.Description == "" {
				t.Errorf("%s takes %s", m.Name, m.Parameters)
			}
		}
	}
	if len(names) != 16+28 || names["computer__zoom"] != nil || names["browser__javascript_exec"] != nil ||
		names["browser__file_upload"] == nil {
		t.Errorf("%d tools: %v", len(names), slices.Sorted(maps.Keys(names)))
	}
	if got := string(names["computer__scroll"].Parameters); !strings.HasSuffix(got,
		`,"required":["scroll_direction","scroll_amount"]}`) || !strings.Contains(got, `"text":{"type":"string","description":"Keys`) {
		t.Errorf("scroll takes %s", got)
	}
	if c := req.Messages[1].Calls[0]; c.Name != "computer__left_click" {
		t.Errorf("the call that the model made is one of %s", c.Name)
	}
	if p := req.Messages[2].Parts[0]; p.Text != state {
		t.Errorf("the result says %q", p.Text)
	}
	out, err := AppendRequest(nil, req, RequestOptions{})
	for _, want := range []string{`"name":"left_click"`, `"toolset_name":"computer"`, state, computer} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("the server gets %s without %s, %v", out, want, err)
		}
	}
	req.Messages[1].Opaque = nil // as of an answer that was changed on the way
	if out, err = AppendRequest(nil, req, RequestOptions{}); err != nil ||
		!strings.Contains(string(out), `"name":"left_click","toolset_name":"computer"`) {
		t.Errorf("a call that does not say its set reaches the server as %s, %v", out, err)
	}
	call := chat.Call{ID: "a", Name: "computer__left_click", Arguments: "{}", Complete: true}
	r, w := NewResponse(ResponseOptions{ID: "x", Request: req}), NewStreamWriter(ResponseOptions{ID: "x", Request: req})
	var stream []byte
	for _, e := range []chat.Event{
		{Kind: chat.KindCallStart, Detail: nil, ID: call.ID, Name: call.Name},
		{Kind: chat.KindCallEnd, Detail: &call},
		{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishCalls}},
	} {
		r.Add(e)
		stream = w.Append(stream, e)
	}
	const want = `"name":"left_click","toolset_name":"computer","input":{}}`
	if got := string(r.Append(nil)); !strings.Contains(got, want) || !strings.Contains(string(stream), want) {
		t.Errorf("the client gets %s and %s", got, stream)
	}
}

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

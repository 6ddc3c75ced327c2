package anthropic

import (
	"strings"
	"testing"
)

// TestFoundTools shows that a deferred tool is described where a result first names it, and that a server of the protocol gets
// the reference as it came.
func TestFoundTools(t *testing.T) {
	const reference = `{"type":"tool_reference","tool_name":"look"}`
	req, err := DecodeRequest([]byte(`{"model":"m","max_tokens":1,"tools":[{"name":"find","input_schema":{"type":"object"}},
		{"name":"look","description":"Looks around.","input_schema":{"type":"object","required":["at"]},"defer_loading":true}],
		"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"find","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + reference + `,` + reference + `]}]}]}`))
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

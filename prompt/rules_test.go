package prompt

import (
	"strings"
	"testing"

	"wield/chat"
)

// TestOwnExamples: in blocks of text each tool's example is shown as a block, and not as JSON.
func TestOwnExamples(t *testing.T) {
	tools := []chat.Tool{
		{Name: "read", Description: `Read files. Example: {"paths": ["a.go", "b.go"]}`,
			Parameters: []byte(
				`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"}}},"required":["paths"]}`)},
		{Name: "edit",
			Description: `Change a file. Example: {"path": "a.go", "edits": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"}`, Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"string"}},"required":["edits"]}`)},
		{Name: "plain", Description: "Has no Example: at all", Parameters: []byte(`{"type":"object"}`)},
	}
	for dialect, want := range map[string][]string{
		"cli-block": {"- read(paths: string[]): Read files.\n", "A call of read:\n```read\na.go\nb.go\n```\n",
			"A call of edit:\n```edit\n=== FILE: a.go\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n",
			"Has no Example: at all"},
		"json-fence": {"Read files. Example: {"},
	} {
		d, ok := variantOf(dialect)
		if !ok {
			t.Fatal(dialect)
		}
		rules := renderBlock(&Options{}, d, tools, false).rules
		for _, w := range want {
			if !strings.Contains(rules, w) {
				t.Errorf("%s: %q is not in\n%s", dialect, w, rules)
			}
		}
		if dialect == "cli-block" && strings.Contains(rules, `{"paths"`) {
			t.Errorf("there is JSON in\n%s", rules)
		}
	}
}

// TestExampleShowsArguments: the example shows how an argument is written, also where none is required, and holds no
// name that could be copied. Where the response is nothing but calls, their form alone is told.
func TestExampleShowsArguments(t *testing.T) {
	now := chat.Tool{Name: "now", Parameters: []byte(`{"type":"object","properties":{}}`)}
	tides := chat.Tool{Name: "tides",
		Parameters: []byte(`{"type":"object","properties":{"port":{"type":"string"},"day":{"type":"integer"}}}`)}
	for _, name := range []string{"hermes", "json-fence", "qwen3-coder", "pythonic", "glm", "function-style"} {
		d, ok := variantOf(name)
		if !ok {
			t.Fatal(name)
		}
		rules := renderBlock(&Options{}, d, []chat.Tool{now, tides}, false).rules
		_, example, _ := strings.Cut(rules, "EXACT format")
		want, _ := d.AppendCalls(nil, []chat.Call{{Name: "tides", Arguments: `{"port": "value"}`}})
		if !strings.Contains(example, string(want)) || strings.Contains(rules, "tool_name") ||
			strings.Contains(rules, "arg1") {
			t.Errorf("%s: %q is not the example in\n%s", name, want, rules)
		}
		only := renderBlock(&Options{OnlyCalls: "[...]"}, d, []chat.Tool{tides}, false).rules
		if strings.Contains(only, "EXACT") || strings.Contains(only, "RULES") || !strings.Contains(only, "tides") {
			t.Errorf("%s: more than the definitions in\n%s", name, only)
		}
	}
}

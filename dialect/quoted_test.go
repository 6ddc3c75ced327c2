package dialect

import (
	"strings"
	"testing"

	"wield/chat"
	"wield/schema/shape"
)

// TestQuotedCall_inj072: an answer that explains a call in inline code, in a fence of another language or in a
// quotation makes none, whichever dialect is asked for.
func TestQuotedCall_inj072(t *testing.T) {
	tools := []shape.Tool{{Name: "wipe"}}
	calls := []string{
		`<tool_call>{"name":"wipe","arguments":{}}</tool_call>`, `{"name":"wipe","arguments":{}}`,
		`<function=wipe></function>`, `[wipe()]`, `[TOOL_CALLS][{"name":"wipe","arguments":{}}]`,
		`<TOOL_CALL>{"tool":"wipe","args":{}}</TOOL_CALL>`,
		`<function_calls><invoke name="wipe"></invoke></function_calls>`,
	}
	quotes := []string{"To call it write `CALL` and wait.\n", "For example:\n\n```markdown\nCALL\n```\n\nand wait.\n",
		"For example:\n\n```text\nCALL\n```\n", "As was said:\n\n> CALL\n\nis how.\n"}
	for _, name := range []string{"auto", "hermes", "raw-json", "llama3-json", "pythonic", "mistral-array"} {
		d, err := New(Options{Dialect: name, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			for _, quote := range quotes {
				d.Reset()
				text := strings.Replace(quote, "CALL", call, 1)
				for _, e := range d.Close(d.Feed(nil, text)) {
					if e.Kind == chat.KindCallStart {
						t.Errorf("%s: a call comes out of %q", name, text)
					}
				}
			}
		}
	}
}

package journal

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/tool"
)

// TestMaskProperty masks texts of quotes, escapes, brackets and secrets. What is stored can be read, holds no secret
// as it reads, and is as it was where there was none.
func TestMaskProperty(t *testing.T) {
	const secret = `s"c\t`
	o := Options{Mask: func(text string) string { return strings.ReplaceAll(text, secret, "*") }}
	piece := rapid.SampledFrom([]string{`"`, `\`, `\"`, `{`, `}`, `[`, `]`, `:`, `,`, `{"a":"`, `"}`, `["`, `"]`, "a",
		"\n", "ü", "\x00", "<", secret, `{"a":"s\"c\\t"}`, `["s\"c\\t",{"b":"x"}]`})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")
		b, err := o.Prepare("run_1", 0, []Record{{Kind: KindRun, Run: &RunRecord{Session: "ses", Dir: text}},
			{Kind: KindMessage, Message: &Message{Message: chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}}}})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range b.Rows {
			r, err := DecodeRecord(row.Body)
			if err != nil {
				t.Fatalf("%s: %v", row.Body, err)
			}
			got := ""
			if i == 0 {
				got = r.Run.Dir
			} else {
				got = r.Message.Text()
			}
			if alone := o.maskStrings(row.Body, false); string(alone) != string(row.Body) {
				t.Fatalf("%q: %s is stored, and %s where each string is masked alone", text, row.Body, alone)
			}
			if strings.Contains(got, secret) ||
				!strings.Contains(text, secret) && !strings.Contains(text, `s\"c\\t`) && got != text {
				t.Fatalf("%q became %q", text, got)
			}
		}
	})
}

// ExampleCalls shows what a process finds that continues a run after another one was killed.
func ExampleCalls() {
	s := &Memory{}
	w := NewWriter(s, "run_1", 0)
	ctx := context.Background()
	_ = w.Append(ctx, Record{Kind: KindRun, Run: &RunRecord{Session: "ses_1"}})
	_ = w.Start(ctx, tool.StartRecord{CallID: "call_1", Tool: "command_exec", Arguments: []byte("{}")})
	// Here the process dies. Another one looks:
	calls, _ := Calls(s.Read(ctx, Query{Stream: "run_1"}))
	for _, c := range calls {
		fmt.Println(c.ID, c.Tool, c.Interrupted(), c.Repeatable())
	}
	// Output: call_1 command_exec true false
}

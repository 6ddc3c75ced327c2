package record

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
)

// TestMaskProperty masks texts of quotes, escapes, brackets and secrets. What is stored can be read, holds no secret
// as it reads, and is as it was where there was none.
func TestMaskProperty(t *testing.T) {
	const secret = `s"c\t`
	m := Mask(func(text string) string { return strings.ReplaceAll(text, secret, "*") })
	piece := rapid.SampledFrom([]string{`"`, `\`, `\"`, `{`, `}`, `[`, `]`, `:`, `,`, `{"a":"`, `"}`, `["`, `"]`, "a",
		"\n", "ü", "\x00", "<", secret, `{"a":"s\"c\\t"}`, `["s\"c\\t",{"b":"x"}]`})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")
		b, err := m.Batch("run_1", 0, []Record{{Kind: KindRun, Run: &Run{Session: "ses", Dir: text}},
			{Kind: KindMessage, Message: &Message{Message: chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}}}})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range b.Rows {
			r, err := Decode(row.Body)
			if err != nil {
				t.Fatalf("%s: %v", row.Body, err)
			}
			got := ""
			if i == 0 {
				got = r.Run.Dir
			} else {
				got = r.Message.Text()
			}
			if alone := m.maskStrings(row.Body, false); string(alone) != string(row.Body) {
				t.Fatalf("%q: %s is stored, and %s where each string is masked alone", text, row.Body, alone)
			}
			if strings.Contains(got, secret) ||
				!strings.Contains(text, secret) && !strings.Contains(text, `s\"c\\t`) && got != text {
				t.Fatalf("%q became %q", text, got)
			}
		}
	})
}

// TestMaskWithin masks JSON in strings, however it begins.
func TestMaskWithin(t *testing.T) {
	m := Mask(func(text string) string { return strings.ReplaceAll(text, `s"c<t`, "*") })
	for text, want := range map[string]string{
		`{"a":"s\"c<t"}`:                  `{"a":"*"}`,
		"\n {\"a\":\"s\\\"c\\u003ct\"}\n": "\n {\"a\":\"*\"}\n",
		` ["s\"c\u003ct"]`:                ` ["*"]`,
		`"s\"c\u003ct"`:                   `"*"`,
		` {"a":"s\"c"} `:                  ` {"a":"s\"c"} `,
		`{"s\"c\u003ct":"b"}`:             `{"*":"b"}`,
	} {
		b, err := m.Batch("run_1", 0, []Record{{Kind: KindRun, Run: &Run{Session: "ses", Dir: text}}})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Decode(b.Rows[0].Body); err != nil || r.Run.Dir != want {
			t.Errorf("%q became %q, want %q: %v", text, r.Run.Dir, want, err)
		}
	}
}

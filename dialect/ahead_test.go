package dialect_test

import (
	"testing"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/internal/check"
)

// TestAhead has calls go on otherwise than is likely, at each of their bytes: small chunks, of which most are what is
// expected, and the whole text are read alike, and no event ends inside a character.
func TestAhead(t *testing.T) {
	for _, name := range []string{"hermes", "qwen3-coder", "glm", "harmony", "kimi-k2", "deepseek-v3", "pythonic",
		"gemma4", "functiongemma", "lfm2", "inkling"} {
		t.Run(name, func(t *testing.T) {
			row, ok := dialect.Lookup(name)
			if !ok {
				t.Fatalf("no dialect %s", name)
			}
			call := chat.Call{ID: "call_1", Name: "write_file", Arguments: `{"path":"a b","mode":7}`, Complete: true}
			text, err := row.AppendCalls(nil, []chat.Call{call})
			if err != nil {
				t.Fatal(err)
			}
			d, err := dialect.New(dialect.Options{Dialect: name, Tools: benchTools})
			if err != nil {
				t.Fatal(err)
			}
			for at := range text {
				for _, other := range []string{"", "x", "<", "\"", "\n", "é", "▂", "｝"} {
					begun := text[:at]
					for len(begun) > 0 && !utf8.Valid(begun) { // a character that is not whole
						begun = begun[:len(begun)-1]
					}
					alike(t, d, string(begun)+other+" end")
				}
			}
		})
	}
}

// alike reads a text whole and in small chunks, and compares the events.
func alike(t *testing.T, d *dialect.Decoder, text string) {
	t.Helper()
	var want []chat.Event
	for _, size := range []int{len(text), 1, 2, 3, 4, 5} {
		d.Reset()
		var events []chat.Event
		for i := 0; i < len(text); i += size {
			events = d.Feed(events, text[i:min(i+size, len(text))])
		}
		events = d.Close(events)
		for _, e := range events {
			if !utf8.ValidString(e.Text) {
				t.Fatalf("%q in chunks of %d bytes: an event holds %q", text, size, e.Text)
			}
		}
		if want == nil {
			want = check.Merge(events)
		} else if diff := check.Diff(want, check.Merge(events)); diff != "" {
			t.Fatalf("%q in chunks of %d bytes: %s", text, size, diff)
		}
	}
}

package dialect_test

import (
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/internal/check"
)

// held feeds text byte by byte and returns the greatest number of bytes that were fed and stood in no event yet, and
// the text up to where that was.
func held(t *testing.T, o dialect.Options, text string) (most int, upTo string) {
	t.Helper()
	d, err := dialect.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var buf []chat.Event
	end := 0
	for i := range len(text) {
		buf = d.Feed(buf[:0], text[i:i+1])
		for _, e := range buf {
			if e.Kind != chat.KindNote && e.Kind != chat.KindCandidate {
				end = max(end, e.End)
			}
		}
		if n := i + 1 - end; n > most {
			most, upTo = n, text[:i+1]
		}
	}
	return most, upTo
}

// TestA20 holds the decoder to giving out text and arguments as they come: held back is only what may still become a
// marker or a call's head.
func TestA20(t *testing.T) {
	word := strings.Repeat("word ", 400)
	tests := []struct {
		name, dialect, text string
		most                int
	}{
		{"plain prose", "", word, 8},
		{"prose with openers", "", check.Prose(4 << 10), 64},
		{"white space", "", "a" + strings.Repeat(" ", 500) + "b", 64},
		{"data", "", `{"rows":[` + strings.Repeat(`{"a":1,"b":"x"},`, 50) + `{}]}`, 64},
		{"code in a fence", "", "```go\n" + strings.Repeat("x := y[0] // {}\n", 50) + "```\n", 64},
		{"reasoning", "", "<think>" + word + "</think>", 16},
		{"hermes arguments", "hermes", oneCall("hermes", "p", word), 80},
		{"tagged JSON arguments", "tool-call-tag", oneCall("tool-call-tag", "p", word), 80},
		{"fenced arguments", "json-fence", oneCall("json-fence", "p", word), 80},
		{"tagged arguments", "qwen3-coder", oneCall("qwen3-coder", "p", word), 80},
		{"string argument in an envelope", "openai-envelope",
			`{"tool_calls":[{"id":"c","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"p\",\"content\":\"` + word + `\"}"}}]}`, 120},
		{"xml arguments", "xml-style", `<tool name="write_file"><arg name="path">p</arg><arg name="content">a < ` +
			word + `</arg></tool>`, 80},
		{"python arguments", "pythonic", `[write_file(path="p", content="` + word + `")]`, 80},
		{"a block", "cli-block", "```write_file\n=== FILE: p\n" + strings.Repeat("a line `of` ``` text\n", 50) + "```",
			24},
		{"refused at the first byte", "", `{"name":"hammer","arguments":{"text":"` + word + `"}}`, 64},
	}
	for _, tt := range tests {
		o := dialect.Options{Dialect: tt.dialect, Tools: benchTools}
		if most, upTo := held(t, o, tt.text); most > tt.most {
			t.Errorf("%s: %d bytes held, at most %d may be; at ...%q", tt.name, most, tt.most,
				upTo[max(0, len(upTo)-80):])
		}
	}
}

package dialect_test

import (
	"fmt"
	"runtime"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/internal/check"
)

// TestLongTaggedValue reads a long value in small chunks: what is allocated for it must be a small multiple of its
// length.
func TestLongTaggedValue(t *testing.T) {
	const size = 128 << 10
	for _, name := range []string{"qwen3-coder", "glm"} {
		t.Run(name, func(t *testing.T) {
			d, err := dialect.New(dialect.Options{Dialect: name, Tools: benchTools})
			if err != nil {
				t.Fatal(err)
			}
			text := oneCall("qwen3-coder", "big.txt", check.Prose(size))
			if name == "glm" {
				text = fmt.Sprintf(
					"<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>big.txt</arg_value>\n<arg_key>content</arg_key>\n<arg_value>%s</arg_value>\n</tool_call>", check.Prose(size))
			}
			buf := make([]chat.Event, 0, 64)
			read := func() (calls int) {
				d.Reset()
				for i := 0; i < len(text); i += 4 {
					buf = d.Feed(buf[:0], text[i:min(i+4, len(text))])
					calls += countCalls(buf)
				}
				return calls + countCalls(d.Close(buf[:0]))
			}
			if n := read(); n != 1 {
				t.Fatalf("%d calls", n)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read()
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > size*5/2 {
				t.Errorf("%d bytes allocated for a value of %d", got, size)
			}
		})
	}
}

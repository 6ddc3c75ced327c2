package dialect_test

import (
	"reflect"
	"strings"
	"testing"

	"wield/dialect"
)

// places are where the text of a call may stand, "%" in them.
var places = []string{
	"%", "%\n%", "> %", "`%", "x %", "x\n%\ny", " \t%", "json:\n%", "**Tool Call:**\n%",
	"```\n%\n```", "~~~json\n%\n~~~", "```json\n%\n%\n```", "```python\n%\n```", "```text\n\n%", "<think>%</think>%", "<tool_call>%", "[%]", "{%",
}

// TestTaught reads the texts of all cases, each in several places and cut off at several, with a decoder that knows how calls begin and go on from the
// text of the case itself: what comes out is what a decoder makes of it that has read nothing before. What is known of the last call is
// asked wherever the next one may begin, and must not hold where the same bytes mean something else.
func TestTaught(t *testing.T) {
	var cache dialect.Cache
	texts := 0
	for i, c := range allCases(t) {
		if i%sample > 0 || len(c.Text) > 2<<10 {
			continue
		}
		for _, c := range variants(c) {
			o, err := c.Options()
			if err != nil {
				t.Fatal(err)
			}
			o.Cache = &cache
			taught := decoder(t, o)
			check := func(text string, lesson, size int) {
				feedMerged(taught, c.Text, lesson)
				want := feedMerged(decoder(t, o), text, len(text)+1)
				if got := feedMerged(taught, text, size); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %q in chunks of %d: %s, of a decoder that read nothing before %s", c.ID, text, size, told(got), told(want))
				}
				texts++
			}
			for _, place := range places {
				text := strings.ReplaceAll(place, "%", c.Text)
				check(text, len(c.Text)+1, len(text)+1)
				check(text, 4, 4)
			}
			for n := i % 4; n < min(len(c.Text), 200); n += 4 {
				check(c.Text[:n], len(c.Text), n+1)
			}
		}
	}
	if texts < 100000/sample {
		t.Errorf("only %d texts", texts)
	}
}

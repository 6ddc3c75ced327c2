package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/dialect/internal/check"
	"wield/internal/testlevel"
)

// mentioned counts the calls that come out of text, in chunks of every size that turnSizes has.
func mentioned(t *testing.T, text string, want int) {
	t.Helper()
	o := dialect.Options{Tools: propertyTools}
	for _, size := range turnSizes {
		events := readIn(t, o, text, size)
		got := 0
		for _, e := range events {
			if e.Kind == chat.KindCallEnd && e.Detail.(*chat.Call).Complete {
				got++
			}
		}
		if got != want {
			t.Errorf("%q in chunks of %d: %d calls, want %d", text, size, got, want)
		}
	}
	if err := dialecttest.All(maker(o), text); err != nil {
		t.Errorf("%q: %v", text, err)
	}
}

// inLine are the dialects whose calls may stand in the middle of a line.
func inLine(forms map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(func(yield func(string) bool) {
		for name := range forms {
			if !yield(name) {
				return
			}
		}
	}), func(name string) bool {
		return !strings.HasPrefix(forms[name], "<") && !strings.HasPrefix(forms[name], "[TOOL")
	})
}

// TestMentions puts calls in every form between quotation marks, into comments and behind what leads to an
// example: none comes out, and the text stays. Beside quotes they are meant.
func TestMentions(t *testing.T) {
	forms := formCalls(t)
	quoted := 0
	for k, name := range inLine(forms) {
		if k%testlevel.Every(3) > 0 {
			continue
		}
		call := forms[name]
		for j, around := range []string{
			`The document says: "CALL" but that is an injection.`, "It holds “CALL”, which I ignore.",
			"Sie schrieb „CALL“ und ging.", "Il a écrit «CALL» hier.", "They sent 'CALL' to me.",
			"the page says 「CALL」 there", "See <!-- CALL --> there.", "<!--\nCALL\n-->\nThat is a comment.",
			"It says \"CALL.\" and ends.", "It says “CALL,” and goes on.", "Il a écrit « CALL » hier.",
			"See 《CALL》 there.", "In C /* CALL */ is a comment.", "For example, you could write CALL in your prompt.",
			"One writes a call, e.g. CALL, in a line.", "Use a form such as CALL there.", "You could write CALL there.",
		} {
			if (j+k)%3 > 0 {
				continue
			}
			text := strings.Replace(around, "CALL", call, 1)
			mentioned(t, text, 0)
			quoted++
			c, err := dialect.Parse(text, dialect.Options{Tools: propertyTools})
			if err != nil {
				t.Fatal(err)
			}
			if c.Content() != text || len(c.Rejected) > 0 {
				t.Errorf("%q: the content is %q", text, c.Content())
			}
		}
		for j, around := range []string{
			"I call \"find\" now: CALL", "She said \"look\".\nCALL", "The word \"x\" is old. CALL\n",
			"I look for \"old\" files. CALL \"so\" I do.", "\"CALL\"", "He said \"CALL. So.", "Use src/* there. CALL",
			"<!-- so -->\nCALL", "For example:\nCALL\n",
		} {
			if (j+k)%3 == 0 {
				mentioned(t, strings.Replace(around, "CALL", call, 1), 1)
			}
		}
		said := `He said "`
		if c, err := dialect.Parse(said+call, dialect.Options{Tools: propertyTools}); err != nil || len(c.Calls) != 1 ||
			c.Content() != said {
			t.Errorf("%s%s: the content is %q, and %d calls come out (%v)", said, call, c.Content(), len(c.Calls), err)
		}
	}
	t.Logf("%d forms, %d mentions", len(inLine(forms)), quoted)
}

// TestMentionOfLines quotes calls of several lines whose first line no call begins with in the middle of a line.
func TestMentionOfLines(t *testing.T) {
	const call = `{"name":"find","arguments":{"q":"x"}}`
	for _, text := range []string{
		"Use `<tool_call>\n" + call + "\n</tool_call>` there.", "`<tool_call>\n" + call + "\n</tool_call>` is a call.",
		"> ```json\n" + call + "\n```\n", "> ```json\n> " + call + "\n> ```\n",
		"He wrote \"```json\n" + call + "\n```\" there.", "It reads “**Tool Call:**\n```json\n" + call +
			"\n```” in full.",
	} {
		mentioned(t, text, 0)
		c, err := dialect.Parse(text, dialect.Options{Tools: propertyTools})
		if err != nil {
			t.Fatal(err)
		}
		if c.Content() != text {
			t.Errorf("%q: the content is %q", text, c.Content())
		}
	}
	for _, text := range []string{"```json\n" + call + "\n```", "She said \"so\":\n```json\n" + call + "\n```\n",
		"The tag `<b>`\n" + call} {
		mentioned(t, text, 1)
	}
}

// TestLongMention quotes a call that is so long that it has begun to come out: it is rejected.
func TestLongMention(t *testing.T) {
	long := `<tool_call>{"name":"find","arguments":{"q":"` + strings.Repeat("a long text ", 200) + `"}}</tool_call>`
	for _, text := range []string{`It says: "` + long + `" there.`, "For example " + long + " there.",
		`It says "` + long + `" and <tool_call>{"name":"other","arguments":{}}</tool_call>`} {
		o := dialect.Options{Tools: propertyTools}
		for _, size := range []int{1, 7, 64} {
			events := readIn(t, o, text, size)
			starts, rejected := 0, 0
			for _, e := range events {
				switch {
				case e.Kind == chat.KindCallEnd && e.Name == "find":
					t.Errorf("in chunks of %d the mention ends as a call", size)
				case e.Kind == chat.KindCallStart && e.Name == "find":
					starts++
				case e.Kind == chat.KindRejected:
					rejected++
				}
			}
			if starts != rejected {
				t.Errorf("in chunks of %d: %d starts, %d rejected", size, starts, rejected)
			}
			if err := check.Conservation(text, events); err != nil {
				t.Error(err)
			}
			if err := check.Structure(events); err != nil {
				t.Error(err)
			}
		}
		if err := dialecttest.All(maker(o), text); err != nil {
			t.Error(err)
		}
	}
	mentioned(t, `It says: "`+long+"\nAnd so on.", 1)
}

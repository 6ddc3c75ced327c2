package agent

import (
	"strings"

	"wield/chat"
)

// A file that a model writes as a block of text may hold a fence as long as the one around it, which ends the block
// early: what was written so far would become the file. The rest of the answer tells, so that it is looked at when the
// answer has ended: the line that ended the block was rather meant to open one in the file if another such line comes
// later and what stands around the two reads so.

const doubtful = "The call was not run: a line of back-ticks inside of the block seems to end it too early, so that " +
	"a part of it would be lost. " +
	"Write the block again, between fences that are longer than any fence in it, such as ````."

// doubt makes attempts of the calls whose block may have ended too early.
func (t *answerCollector) doubt() {
	if len(t.raw) != t.last+1 {
		return // nobody tells what was written
	}
	for i := range t.calls {
		if c := &t.calls[i]; c.Reason == "" && endsEarly(c, t.raw[t.last]) {
			c.Reason, c.Problem = chat.ReasonMalformed, doubtful
		}
	}
}

// endsEarly reports whether the block of a call may go on behind its end.
func endsEarly(c *chat.Call, raw string) bool {
	if c.Dialect != "cli-block" || c.End > len(raw) || c.At >= c.End {
		return false
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(raw[c.End:], "\r"), "\n")
	next, ok := beforeBareFence(rest)
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(rest, "\n")
	block := strings.Split(strings.TrimRight(raw[c.At:c.End], "\r\n"), "\n")
	return strings.TrimSpace(first) != "" || leadsIn(block[max(0, len(block)-2)]) || !leadsIn(next)
}

// beforeBareFence returns the line before the first line of text that is a fence without an info string and does not
// end a block with one.
func beforeBareFence(text string) (before string, ok bool) {
	open := false // a block with an info string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		info := strings.TrimLeft(line, "`")
		switch {
		case len(line)-len(info) < 3 || strings.Contains(info, "`"):
		case info != "":
			open = true
		case !open:
			return before, true
		default:
			open = false
		}
		before = line
	}
	return "", false
}

// leadsIn reports whether a line is one that a block of code follows in prose.
func leadsIn(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasSuffix(line, ":")
}

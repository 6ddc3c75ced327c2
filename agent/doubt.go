package agent

import (
	"strings"

	"wield/chat"
)

// A file that a model writes as a block of text may hold a fence as long as the one around it, which ends the block early: what was
// written so far would become the file. A line that closes a block and has text right below it, while another such line comes later, was
// rather meant to open one in the file. The rest of the answer tells, so that it is looked at when the answer has ended.

const doubtful = "The call was not run: a line of back-ticks inside of the block seems to end it too early, so that a part of it would be lost. " +
	"Write the block again, between fences that are longer than any fence in it, such as ````."

// doubt makes attempts of the calls whose block may have ended too early.
func (t *turn) doubt() {
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
	first, _, _ := strings.Cut(rest, "\n")
	if strings.TrimSpace(first) == "" {
		return false
	}
	open := false // a block with an info string
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		info := strings.TrimLeft(line, "`")
		switch {
		case len(line)-len(info) < 3 || strings.Contains(info, "`"):
		case info != "":
			open = true
		case open:
			open = false
		default:
			return true
		}
	}
	return false
}

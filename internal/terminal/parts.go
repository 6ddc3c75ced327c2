package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/tool/builtin/local"
	"wield/tool/runner"
)

// A sorting is a call with several groups or files, each of which is answered by itself.
type sorting struct {
	parts   *local.Parts
	at      int // the one that is asked about
	refused []int
	why     map[int]string
}

// byParts begins to ask about each part of a call.
func (c *conversation) byParts(context.Context) {
	q := c.ask
	if q.parts == nil {
		c.hint = "There is one part only."
		if c.screen.plain {
			c.screen.print(plainRow(c.hint))
		}
		return
	}
	q.mode, q.sorting = askPart, &sorting{parts: q.parts, why: map[int]string{}}
	c.showPart()
}

// showPart shows the part that is asked about.
func (c *conversation) showPart() {
	s := c.ask.sorting
	c.screen.print(nil, row{{styleWarn, "? "}, {styleStrong, visible(s.title())}})
	for _, r := range diffRows(s.parts.Diff(s.at)) {
		c.screen.print(wrap(r, c.screen.columns(), "")...)
	}
	if c.screen.plain {
		c.screen.print(plainRow(partChoices))
	}
}

func (s *sorting) title() string {
	return fmt.Sprintf("Part %d of %d: %s", s.at+1, len(s.parts.Paths), s.parts.Summary(s.at))
}

// partChoices lists the answers to a question about a part.
const partChoices = "y\u00a0apply\u00a0it · n\u00a0leave\u00a0it\u00a0out · " +
	"r\u00a0leave\u00a0it\u00a0out,\u00a0with\u00a0a\u00a0reason · Esc\u00a0back"

// partKey answers for the part that is asked about.
func (q *question) partKey(ctx context.Context, c *conversation, p press) {
	switch {
	case p.key == keyEsc:
		q.mode, q.sorting = askAnswer, nil
	case p.key == keyRune && strings.Contains("yY", p.text):
		c.answerPart(ctx, true, "")
	case p.key == keyRune && strings.Contains("nN", p.text):
		c.answerPart(ctx, false, "")
	case p.key == keyRune && strings.Contains("rR", p.text):
		q.mode = askReason
	default:
		c.hint = "Answer with one of the letters. Neither Enter nor Esc says yes."
	}
}

// partLine takes a line as the answer for a part, where there is no terminal.
func (c *conversation) partLine(ctx context.Context, line string) {
	word := strings.ToLower(strings.TrimSpace(line))
	why, reason := strings.CutPrefix(word, "r ")
	switch {
	case word == "y" || word == "yes":
		c.answerPart(ctx, true, "")
	case word == "n" || word == "no":
		c.answerPart(ctx, false, "")
	case reason && why != "":
		c.answerPart(ctx, false, strings.TrimSpace(strings.TrimSpace(line)[2:]))
	default:
		c.screen.print(plainRow("Answer with y or n, or r and the reason. Nothing else is taken for a yes."))
	}
}

// answerPart keeps the answer for a part, and continues with the next one or, behind the last, with the call.
func (c *conversation) answerPart(ctx context.Context, yes bool, why string) {
	s := c.ask.sorting
	word, look := "applied if the call is carried out", styleGood
	if !yes {
		s.refused, s.why[s.at] = append(s.refused, s.at), why
		word, look = "left out", styleBad
		if why != "" {
			word += ": " + why
		}
	}
	c.screen.print(wrap(styled(look, "  "+clean(word)), c.screen.columns(), "    ")...)
	c.ask.mode = askPart
	if s.at++; s.at < len(s.parts.Paths) {
		c.showPart()
		return
	}
	c.decideParts(ctx)
}

// decideParts answers the question with what was said of the parts. Of all the rest everything is carried out, or
// nothing.
func (c *conversation) decideParts(ctx context.Context) {
	s, a := c.ask.sorting, c.ask.approval
	tell := s.parts.Tell(s.refused, s.why)
	if len(s.refused) == 0 {
		c.decide(ctx, runner.Answer{State: runner.ApprovalApproved})
		return
	}
	left, err := s.parts.Without(s.refused)
	if err != nil {
		c.say(styleBad, "The parts cannot be told from one another: %v", err)
		c.ask.mode, c.ask.sorting = askAnswer, nil
		return
	}
	if left == "" {
		c.deny(ctx, "the user refused "+tell)
		return
	}
	a.Arguments = json.RawMessage(left)
	changes := c.preview(ctx, &a)
	c.turn.asked[a.CallID] = slices.Clone(changes)
	c.decide(ctx, runner.Answer{State: runner.ApprovalEdited, Arguments: a.Arguments, Refused: tell})
}

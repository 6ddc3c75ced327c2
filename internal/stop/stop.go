// Package stop ends answers at the stop sequences of requests, for backends that know none.
//
// A stop sequence is a text of the client's at which an answer is to end. Servers of models look for it themselves; a
// service for people, a web page and a scenario do not. As with servers, the sequence is no part of the answer, and
// it counts wherever the model writes it, in a call that it writes as text too, but not in its reasoning.
package stop

import (
	"context"
	"iter"

	"wield/chat"
)

// New returns a model whose answers end where m's reach a stop sequence. What the backend says later, such as how
// many tokens there were, is not waited for: the request to it is cancelled.
func New(m chat.Model) chat.Model { return model{m} }

type model struct{ inner chat.Model }

func (m model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	marks := marksOf(req.Stop)
	if len(marks) == 0 {
		return m.inner.Stream(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) {
		c := cutter{marks: marks}
		for e, err := range m.inner.Stream(ctx, req) {
			if err != nil {
				if rest, ok := c.flush(); !ok || yield(rest, nil) {
					yield(chat.Event{}, err)
				}
				return
			}
			if !c.pass(e, yield) {
				return
			}
		}
	}
}

// A partialStop is a stop sequence and how much of it the text ends with.
type partialStop struct {
	text string
	back []int // for each number of bytes that are there: how many are left if the next one does not fit
	have int
}

func marksOf(stops []string) []partialStop {
	var list []partialStop
	for _, s := range stops {
		if s == "" {
			continue
		}
		m := partialStop{text: s, back: make([]int, len(s)+1)}
		for i, k := 1, 0; i < len(s); i++ {
			for k > 0 && s[i] != s[k] {
				k = m.back[k]
			}
			if s[i] == s[k] {
				k++
			}
			m.back[i+1] = k
		}
		list = append(list, m)
	}
	return list
}

// add takes the next byte of the text, and reports whether the sequence ends with it.
func (m *partialStop) add(b byte) bool {
	for m.have > 0 && m.text[m.have] != b {
		m.have = m.back[m.have]
	}
	if m.text[m.have] == b {
		m.have++
	}
	return m.have == len(m.text)
}

// A cutter looks for the first mark to be complete. The end of the text that may be the beginning of one is held.
type cutter struct {
	marks []partialStop
	held  chat.Event // Text is empty if nothing is
}

// pass hands on what e makes certain, and reports whether more is wanted.
func (c *cutter) pass(e chat.Event, yield func(chat.Event, error) bool) bool {
	switch e.Kind {
	case chat.KindText:
		text, found := c.take(e)
		if text.Text != "" && !yield(text, nil) {
			return false
		}
		if found == "" {
			return true
		}
		yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop, Stop: found}}, nil)
		return false
	case chat.KindIdle, chat.KindUsage: // neither ends the text
		return yield(e, nil)
	}
	if rest, ok := c.flush(); ok && !yield(rest, nil) {
		return false
	}
	return yield(e, nil)
}

// take returns the text that no mark can reach any more, and the mark that ends the answer, if one does.
func (c *cutter) take(e chat.Event) (out chat.Event, found string) {
	whole := c.held
	if whole.Text == "" {
		whole = e
	} else {
		whole.Text, whole.End = whole.Text+e.Text, e.End
	}
	start := len(whole.Text) - len(e.Text)
	for i := range len(e.Text) {
		for j := range c.marks {
			if m := &c.marks[j]; m.add(e.Text[i]) && len(m.text) > len(found) {
				found = m.text
			}
		}
		if found != "" {
			out, _ = split(whole, start+i+1-len(found))
			return out, found
		}
	}
	hold := 0
	for i := range c.marks {
		hold = max(hold, c.marks[i].have)
	}
	out, c.held = split(whole, len(whole.Text)-hold)
	return out, ""
}

// flush gives back what is held, if anything is, and begins anew: what follows is not the same text.
func (c *cutter) flush() (rest chat.Event, ok bool) {
	rest, c.held = c.held, chat.Event{}
	for i := range c.marks {
		c.marks[i].have = 0
	}
	return rest, rest.Text != ""
}

// split divides a text. Its detail stays with the first part, if there is one.
func split(e chat.Event, n int) (first, rest chat.Event) {
	first, rest = e, e
	first.Text, rest.Text = e.Text[:n], e.Text[n:]
	if n > 0 {
		rest.Detail = nil
	}
	if e.Flags&chat.FlagDecoded == 0 {
		first.End, rest.At = e.At+n, e.At+n
	}
	return first, rest
}

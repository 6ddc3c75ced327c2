package bridge

import (
	"wield/chat"
)

// An echo compares the text of a second answer with what the client has of the first. As long as the one repeats the other
// it is held, and it is never shown if it repeats all of it or goes on with a call. White space does not count.
type echo struct {
	active bool
	sent   []byte
	pos    int // in sent
	held   []chat.Event
}

func (e *echo) begin(sent []byte) {
	*e = echo{sent: sent}
	e.skip()
	e.active = e.pos < len(sent)
}

// skip moves on to the next byte of sent that is no white space.
func (e *echo) skip() {
	for e.pos < len(e.sent) && isSpace(e.sent[e.pos]) {
		e.pos++
	}
}

// match compares text and returns how much of it repeats, and whether it still does at its end.
func (e *echo) match(text string) (n int, same bool) {
	for n < len(text) {
		switch {
		case isSpace(text[n]):
		case e.pos == len(e.sent) || e.sent[e.pos] != text[n]:
			return n, false
		default:
			e.pos++
			e.skip()
		}
		n++
	}
	return n, true
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// echoed handles a text delta while the second answer may repeat the first.
func (r *run) echoed(e chat.Event) {
	h := &r.turn.echo
	n, same := h.match(e.Text)
	switch {
	case same:
		h.held = append(h.held, e)
	case h.pos == len(h.sent): // it repeated everything, and here is more
		rest := e
		e.Text, e.End = e.Text[:n], e.At+n
		rest.Text, rest.At = rest.Text[n:], rest.At+n
		h.held = append(h.held, e)
		r.drop()
		r.text(rest)
	default:
		held := h.held
		*h = echo{}
		for _, old := range held {
			r.text(old)
		}
		r.text(e)
	}
}

// drop makes markup of the text that repeats: it is shown nowhere, but its bytes are accounted for.
func (r *run) drop() {
	h := &r.turn.echo
	held := h.held
	*h = echo{}
	for _, e := range held {
		e.Kind, e.Detail = chat.KindMarkup, nil
		r.emit(e)
	}
}

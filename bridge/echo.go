package bridge

import (
	"strings"

	"wield/chat"
)

// An echo compares the text of a second answer with what the client has of the first. As long as the one repeats the other
// it is held, and it is never shown if it repeats all of it or goes on with a call. White space does not count.
type echo struct {
	active bool
	sent   []byte
	pos    int          // in sent
	held   []chat.Event // text that repeats
	blank  []chat.Event // white space after text that repeats all of sent
}

func (e *echo) begin(sent []byte) {
	*e = echo{sent: sent}
	e.skip()
	e.active = !e.full()
}

// full reports whether everything has been repeated.
func (e *echo) full() bool { return e.pos == len(e.sent) }

// skip moves on to the next byte of sent that is no white space.
func (e *echo) skip() {
	for e.pos < len(e.sent) && isSpace(e.sent[e.pos]) {
		e.pos++
	}
}

// match compares text up to where everything is repeated, and returns how much of it repeats. It reports whether all of text
// up to there does.
func (e *echo) match(text string) (n int, same bool) {
	for n < len(text) && !e.full() {
		switch {
		case isSpace(text[n]):
		case e.sent[e.pos] != text[n]:
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
	if !h.full() {
		n, same := h.match(e.Text)
		if !same {
			held := h.held
			*h = echo{}
			r.texts(held)
			r.text(e)
			return
		}
		repeated := e
		repeated.Text, repeated.End = e.Text[:n], e.At+n
		h.held = append(h.held, repeated)
		if e.Text, e.At = e.Text[n:], e.At+n; e.Text == "" {
			return
		}
	}
	h.blank = append(h.blank, e)
	if strings.Trim(e.Text, " \n\t\r") == "" {
		return
	}
	rest := h.blank
	h.blank = nil
	r.drop()
	r.turn.goesOn = true
	r.texts(rest)
}

// texts shows what was held after all.
func (r *run) texts(list []chat.Event) {
	for _, e := range list {
		if e.Kind == chat.KindText {
			r.text(e)
		} else {
			r.pass(e)
		}
	}
}

// keep holds an event that is no text behind held text, so that the order stays. It reports whether it did.
func (e *echo) keep(ev chat.Event) bool {
	switch {
	case len(e.blank) > 0:
		e.blank = append(e.blank, ev)
	case len(e.held) > 0:
		e.held = append(e.held, ev)
	default:
		return false
	}
	return true
}

// drop makes markup of the text that repeats: it is shown nowhere, but its bytes are accounted for.
func (r *run) drop() {
	h := &r.turn.echo
	if !h.active {
		return
	}
	held := append(h.held, h.blank...)
	*h = echo{}
	for _, e := range held {
		if e.Kind == chat.KindText {
			e.Kind, e.Detail = chat.KindMarkup, nil
		}
		r.pass(e)
	}
}

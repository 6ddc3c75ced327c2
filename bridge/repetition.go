package bridge

import (
	"strings"

	"wield/chat"
)

// A repetition compares the text of a second answer with what the client has of the first. As long as the one repeats
// the other it is held, and it is never shown if it repeats all of it or continues with a call. White space does not
// count.
type repetition struct {
	active bool
	sent   []byte
	pos    int    // in sent
	held   buffer // text that repeats, then white space behind a text that repeats all of sent
}

func (h *repetition) begin(sent []byte) {
	*h = repetition{sent: sent}
	h.skip()
	h.active = !h.full()
}

// full reports whether everything has been repeated.
func (h *repetition) full() bool { return h.pos == len(h.sent) }

// skip moves on to the next byte of sent that is no white space.
func (h *repetition) skip() {
	for h.pos < len(h.sent) && isSpace(h.sent[h.pos]) {
		h.pos++
	}
}

// match compares text up to where everything is repeated, and returns how much of it repeats. It reports whether all of
// text up to there does.
func (h *repetition) match(text string) (n int, same bool) {
	for n < len(text) && !h.full() {
		switch {
		case isSpace(text[n]):
		case h.sent[h.pos] != text[n]:
			return n, false
		default:
			h.pos++
			h.skip()
		}
		n++
	}
	return n, true
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// compared handles a text delta while the second answer may repeat the first.
func (r *run) compared(e chat.Event) {
	h := &r.turn.repeats
	if !h.full() {
		n, same := h.match(e.Text)
		if !same {
			held := h.held.take()
			*h = repetition{}
			r.texts(held)
			r.text(e)
			return
		}
		repeated := e
		repeated.Text, repeated.End = e.Text[:n], e.At+n
		h.held.add(repeated, autoRelease)
		if h.full() {
			r.hideRepetition()
		}
		if e.Text, e.At = e.Text[n:], e.At+n; e.Text == "" {
			return
		}
	}
	h.held.add(e, autoRelease)
	if strings.Trim(e.Text, " \n\t\r") == "" {
		return
	}
	rest := h.held.take()
	*h = repetition{}
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
func (h *repetition) keep(ev chat.Event) bool {
	if len(h.held.events) == 0 {
		return false
	}
	h.held.add(ev, autoRelease)
	return true
}

// dropRepetition ends the comparison: what still repeats is shown nowhere.
func (r *run) dropRepetition() {
	if r.turn.repeats.active {
		r.hideRepetition()
		r.turn.repeats = repetition{}
	}
}

// hideRepetition makes markup of what is held.
func (r *run) hideRepetition() {
	for _, e := range hide(r.turn.repeats.held.take()) {
		r.pass(e)
	}
}

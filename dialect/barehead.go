package dialect

import "strings"

// Calls without an opener begin with their name, and show only by what follows it that they are calls. The next call mostly begins with
// the same bytes. What those mean depends on nothing but them and the line that they stand on, so they are compared.

// A bareHead is what such a call began with, and what was read there.
type bareHead struct {
	text    string // all that decided that it is a call; "": none is known
	args    int    // where its arguments begin in it
	ctx     lineContext
	dialect string
	name    string
	tool    int
	begin   func(d *Decoder, h *bareHead, i int) // begins the call again, with the candidate at i
}

// sameBare reads a candidate at i that begins as the last call without an opener did. It returns how far its arguments are, else 0.
func (d *Decoder) sameBare(i int) int {
	h := &d.readers.bare
	if h.text == "" || !strings.HasPrefix(d.in[i:], h.text) || h.ctx != d.ctx {
		return 0
	}
	d.candidate(i, inBody)
	d.dialect = h.dialect
	h.begin(d, h, i)
	return h.args
}

// learnBare takes the candidate up to the offset end for what the next call begins with, if nothing but a line stands around it.
func (d *Decoder) learnBare(h bareHead, end int) {
	if d.fenced.mark != 0 || d.candCtx.label != "" || d.sources != nil || end-d.candAt > maxHeader {
		return
	}
	h.text, h.ctx, h.dialect = d.held(d.candAt, end), d.candCtx, d.dialect
	d.readers.bare = h
}

package dialect

import "strings"

// The candidates of an answer begin alike. What such a beginning means depends on nothing but its bytes and the line that it stands on. So one
// that is like the last is compared rather than read, and the machine of its first call begins again where it stood behind that one.

// A beginning is what the last candidate had before the arguments of its first call, and what that amounted to.
type beginning struct {
	text    string
	ctx     lineContext
	dialect string
	opener  *opener
	token   int // how long the opener is, if that is left out even where no call follows
	fenced  fence
	line    int // how long the line is that opens that fence
	by      beginner
}

// A beginner is what a body machine keeps of a beginning.
type beginner interface {
	// beginAgain makes the machine the body of the candidate at i, which begins as the last one, up to end. It returns where to go on.
	beginAgain(d *Decoder, i, end int) int
}

// beginAgain reads a candidate at i that begins as the last one did. It returns where to go on, and reports whether there is one.
func (d *Decoder) beginAgain(i int) (int, bool) {
	b := &d.readers.beginning
	if b.by == nil || !strings.HasPrefix(d.in[i:], b.text) || b.ctx != d.ctx {
		return i, false
	}
	d.candidate(i, inBody)
	d.alike, d.dialect, d.elem = true, b.dialect, element{opener: b.opener, first: b.line > 0}
	d.fenced, d.fencedEnd = b.fenced, d.candAt+b.line
	if b.token > 0 {
		d.tokenEnd = d.candAt + b.token
	}
	return b.by.beginAgain(d, i, i+len(b.text)), true
}

// learnBeginning takes the candidate up to the offset end for how the next one begins, and by for what to make of that. It reports whether
// it does: not where more than the bytes and the line may have decided. What the line that opens a fence means depends on the text above
// it where that may name a file.
func (d *Decoder) learnBeginning(end int, dialect string, by beginner) bool {
	at, fenced := d.candAt, d.fenced.mark != 0
	switch {
	case d.alike, d.confirmed, at < d.holdAt, end-at > maxHeader, d.sources != nil:
		return false
	case d.elem.inner, fenced && d.set.forms:
		return false
	}
	b := &d.readers.beginning
	*b = beginning{text: d.held(at, end), ctx: d.candCtx, dialect: dialect, opener: d.elem.opener, token: max(0, d.tokenEnd-at), fenced: d.fenced, by: by}
	if fenced {
		b.line = d.fencedEnd - at
	}
	return true
}

// forgetBeginning says that by is about to change.
func (d *Decoder) forgetBeginning(by beginner) {
	if b := &d.readers.beginning; b.by == by {
		b.by = nil
	}
}

package dialect

import (
	"slices"
	"strings"
)

// The objects of calls mostly begin alike, up to their arguments: the same keys in the same order, laid out alike, and often the same name.
// What such a beginning means depends on its bytes and on where it stands. If both are what they were the last time, so is what was read.

// A headPlace is where the object of a call begins, as far as what its beginning means depends on that.
type headPlace struct {
	opener    *opener
	dialect   string
	depth     int // how many arrays are open
	first     bool
	midLine   bool
	confirmed bool
}

// An objectHead is the beginning of such an object, and what was read there.
type objectHead struct {
	place   headPlace
	text    string // from the brace up to the arguments; "": none is known
	dialect string // of the call
	record  record
	word    string
	headAt  int // from the brace on
	blanks  int

	whole string      // from where the candidate began up to the arguments; "": it was no candidate of its own, or not plainly one
	ctx   lineContext // there
}

// sameHead reads a candidate at i that begins with all that the last call had before its arguments. It returns its length, else 0.
func (d *Decoder) sameHead(i int) int {
	h := &d.readers.head
	if h.whole == "" || !strings.HasPrefix(d.in[i:], h.whole) || h.ctx != d.ctx {
		return 0
	}
	brace := len(h.whole) - len(h.text)
	d.candidate(i, inBody)
	d.dialect, d.elem = h.place.dialect, element{opener: h.place.opener, list: h.place.depth > 0}
	if h.place.opener != nil && h.place.opener.drop {
		d.tokenEnd = d.base + i + len(h.place.opener.literal)
	}
	r := newCallReader(d, h.place.opener, h.place.depth > 0)
	d.body = r
	return brace + r.beginsObject(d, i+brace)
}

// beginsObject takes note of where the object at i begins, and reads its beginning if it is the known one. It returns its length, else 0.
func (r *callReader) beginsObject(d *Decoder, i int) int {
	r.place = headPlace{opener: r.opener, dialect: d.dialect, depth: len(r.stack), first: r.first, midLine: r.midLine, confirmed: d.confirmed}
	r.braceAt = d.base + i
	r.atBrace = r.blanks
	h := &d.readers.head
	if h.text == "" || h.place != r.place || !strings.HasPrefix(d.in[i:], h.text) {
		return 0
	}
	r.element(d, '{', i)
	at := r.record.at
	r.record, r.record.at = h.record, at
	r.key, r.quote = append(r.key[:0], h.word...), '"'
	r.word, r.class, r.state, r.first, r.comma = h.word, keyArguments, cValue, false, false
	r.headAt, r.blanks = r.braceAt+h.headAt, r.blanks+h.blanks
	d.dialect = h.dialect
	return len(h.text)
}

// learnHead takes what stands between the brace of the object and its arguments at i for how they begin, if all of it was usual.
func (r *callReader) learnHead(d *Decoder, i int) {
	rec, h := &r.record, &d.readers.head
	n := d.base + i - r.braceAt
	if i < n || n > maxHeader || d.sources != nil {
		return
	}
	if n == len(h.text) && d.in[i-n:i] == h.text && h.place == r.place {
		r.learnWhole(d, i)
		return
	}
	if r.class != keyArguments || r.place.depth != len(r.stack)-1 || r.bare || r.keyed || rec.layered || rec.said || rec.id != "" || rec.reasoning != "" ||
		rec.argsFrom >= 0 || len(rec.flat) > 0 || len(r.notes) > 0 || len(r.content) > 0 || slices.ContainsFunc(r.stack[:r.place.depth], func(l level) bool { return !l.array }) {
		return
	}
	*h = objectHead{place: r.place, text: d.in[i-n : i], dialect: d.dialect, record: *rec, word: r.word, headAt: r.headAt - r.braceAt, blanks: r.blanks - r.atBrace}
	h.record.argsKey = ""
	r.learnWhole(d, i)
}

// learnWhole takes what stands before the object as well, if it is nothing but an opener.
func (r *callReader) learnWhole(d *Decoder, i int) {
	h, at := &d.readers.head, d.candAt-d.base
	if d.confirmed || at < 0 || i-at > maxHeader || !r.place.first || r.atBrace > 0 || d.elem.inner || d.elem.first || d.fenced.mark != 0 || d.candCtx.label != "" {
		return
	}
	if whole := d.in[at:i]; whole != h.whole || d.candCtx != h.ctx {
		h.whole, h.ctx = whole, d.candCtx
	}
}

// extendHead adds to what calls begin with the bytes behind the brace of the arguments at i that leave it open whether they are a schema.
func (r *callReader) extendHead(d *Decoder, i int) {
	in, h := d.in[i:], &d.head
	if h.beyond > 0 && strings.HasPrefix(in, h.text[len(h.text)-h.beyond:]) || in == "" || in[0] != '{' {
		return
	}
	n := 1
	for n < len(in) && isBlank(in[n]) {
		n++
	}
	if n < len(in) && in[n] == '"' {
		key := n + 1
		for n++; n < len(in) && r.beginsSchema(d, in[key:n+1]); n++ {
		}
	}
	d.extendHead(in[:n])
}

// beginsSchema reports whether a key that begins with s may be one of a schema that is no parameter of the tool.
func (r *callReader) beginsSchema(d *Decoder, s string) bool {
	return slices.ContainsFunc(definitionKeys[:], func(k string) bool { return strings.HasPrefix(k, s) && !r.declares(d, k) })
}

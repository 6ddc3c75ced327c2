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
	depth     int  // how many arrays are open, with the object around them
	env       bool // an object is, which holds the list of calls
	first     bool
	midLine   bool
	confirmed bool
	keyed     bool
}

// An objectHead is the beginning of such an object, and what was read there.
type objectHead struct {
	place   headPlace
	text    string // from the brace up to the arguments; "": none is known
	id      idPlace
	layers  int    // how many objects are open in it
	keyed   bool   // its key is the name
	dialect string // of the call
	record  record
	word    string
	headAt  int // from the brace on
	blanks  int
}

// beginAgain makes the reader of objects the body of a candidate that ends with what is known.
func (h *objectHead) beginAgain(d *Decoder, i, end int) int {
	r := newCallReader(d, h.place.opener, h.place.depth > 0)
	d.body = r
	r.atObject(d, end-len(h.text))
	r.objectAgain(d, h, end-len(h.text), len(h.text), "")
	r.alike = true
	return end
}

// beginsObject reads the beginning of the object at i if it is the known one, and takes note of it. It returns its length, else 0.
func (r *callReader) beginsObject(d *Decoder, i int) int {
	r.atObject(d, i)
	h := &d.readers.head
	if h.text == "" || h.place != r.place {
		return 0
	}
	n, id := h.id.match(h.text, d.in[i:])
	if n > 0 {
		r.objectAgain(d, h, i, n, id)
	}
	return n
}

// atObject takes note of where the object at i begins.
func (r *callReader) atObject(d *Decoder, i int) {
	r.place = headPlace{opener: r.opener, dialect: d.dialect, depth: len(r.stack), env: len(r.stack) > 0 && r.stack[0].env,
		first: r.first, midLine: r.midLine, confirmed: d.confirmed, keyed: r.keyed}
	r.known = 0
	r.braceAt = d.base + i
	r.atBrace, r.alike = r.blanks, false
}

// objectAgain stands behind the n bytes of the object at i that are h but for the id.
func (r *callReader) objectAgain(d *Decoder, h *objectHead, i, n int, id string) {
	r.element(d, '{', i)
	for range h.layers {
		r.stack = append(r.stack, level{})
	}
	at := r.record.at
	r.record, r.record.at, r.record.id, r.known = h.record, at, id, n
	r.key, r.quote = append(r.key[:0], h.word...), '"'
	r.word, r.class, r.state, r.first, r.comma = h.word, keyArguments, cValue, false, false
	r.keyed = h.keyed
	r.headAt, r.blanks = r.braceAt+h.headAt+n-len(h.text), r.blanks+h.blanks
	r.alike = d.confirmed
	d.dialect = h.dialect
}

// awaitsHead leaves the input from i on unread if it may be the start of the beginning that is known. It reports whether it does.
func (r *callReader) awaitsHead(d *Decoder, i int) bool {
	h := &d.readers.head
	if h.text == "" || h.place != r.place || !d.confirmed || d.sources != nil || !d.patient(i) {
		return false
	}
	rest, ok := h.id.rest(h.text, d.in[i:])
	if ok {
		d.await(i, rest, &waitStop)
	}
	return ok
}

// learnHead takes what stands between the brace of the object and its arguments at i for how they begin, if all of it was usual.
func (r *callReader) learnHead(d *Decoder, i int) {
	rec, h := &r.record, &d.readers.head
	n := d.base + i - r.braceAt
	if r.alike || r.braceAt < d.holdAt || n > maxHeader || d.sources != nil {
		return
	}
	if n == r.known {
		r.learnWhole(d, i)
		return
	}
	layers := len(r.stack) - 1 - r.place.depth
	if r.class != keyArguments || layers < 0 || r.bare || rec.said || rec.reasoning != "" ||
		rec.argsFrom >= 0 || len(rec.flat) > 0 || len(r.notes) > 0 || len(r.content) > 0 || !r.plainPlace() {
		return
	}
	text := d.held(r.braceAt, d.base+i)
	id, ok := findID(text, rec.id)
	if !ok || id.to > 0 && r.headAt-r.braceAt < id.to {
		return
	}
	d.forgetBeginning(h)
	*h = objectHead{place: r.place, text: text, id: id, layers: layers, keyed: r.keyed, dialect: d.dialect, record: *rec, word: r.word,
		headAt: r.headAt - r.braceAt, blanks: r.blanks - r.atBrace}
	h.record.argsKey = ""
	r.learnWhole(d, i)
}

// plainPlace reports whether r.place says all about what the object stands in, and no object opened in it is more than a layer.
func (r *callReader) plainPlace() bool {
	for k, l := range r.stack {
		switch {
		case k < r.place.depth && !l.array && !(k == 0 && l.env), k > r.place.depth && (l.array || l.calls || l.env):
			return false
		}
	}
	return true
}

// learnWhole takes what stands before the object as well, if it is nothing but an opener, or the line that opens a fence.
func (r *callReader) learnWhole(d *Decoder, i int) {
	if h := &d.readers.head; r.place.first && r.atBrace == 0 && h.id.to == 0 && !h.place.env {
		d.learnBeginning(d.base+i, h.place.dialect, h)
	}
}

// extendHead adds to what calls begin with the bytes from the brace of the arguments at i on that leave it open whether they are a schema,
// and the one that does not.
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
	d.extendHead(in[:min(n+1, len(in))])
}

// beginsSchema reports whether a key that begins with s may be one of a schema that is no parameter of the tool.
func (r *callReader) beginsSchema(d *Decoder, s string) bool {
	return slices.ContainsFunc(definitionKeys[:], func(k string) bool { return strings.HasPrefix(k, s) && !r.declares(d, k) })
}

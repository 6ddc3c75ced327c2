package dialect

import (
	"strings"

	"wield/schema/shape"
)

// The calls of one tool mostly have the same parameters in the same order, so that what stands between two of their values is the same as
// in the call before: the tags that end one value, name the next parameter and begin its value. A tagRote remembers these gaps. While the
// gaps of a call are the remembered ones, the next one is expected as a whole: nothing comes out between the bytes of a value and those of
// the next (see tagReader.quiet), so there is no hurry to read it chunk by chunk. And it is taken as a whole where it stands: it was read
// in the same state behind the same gaps, and so means the same.
type tagRote struct {
	form *tagForm
	tool *shape.Tool
	gaps []tagGap
	same int // how many of the gaps the call that is read had; -1: its gaps are not to be remembered

	// The gap that is being read: where it begins, or -1.
	from, closed, open int

	after tagAfter
	ended int // where the call before ended; -1: nowhere in this section
}

// A tagAfter is what stood between the end of a call and that of its section, or the start of the next call.
type tagAfter struct {
	text   string
	form   *tagForm
	closer string
	ends   bool // the section ends with it

	// Of the call that it begins:
	at      int // where its text does
	tool    int
	written string
	name    string // what was read of the name of its first parameter
}

// A tagGap stands between two values of a call, before the first, or behind the last one.
type tagGap struct {
	text    string // with the line break that mostly follows it, and a byte that stands for any: nothing comes out before that
	n       int    // its length
	closed  int    // where the closing tag of the value before it ends
	open    int    // where the tag behind that ends
	ends    bool   // the call ends behind it
	name    string // of the parameter whose value follows
	meant   string // of its tag
	untyped shape.Untyped

	// What the name amounts to: see tagRote.keep.
	flat          bool
	param         string
	shape         *shape.Shape
	stream, waits bool
	close, ahead  string
	json          string // what is added to the arguments, from the quote that ends a string before it
}

// begin makes t ready for a call whose parameters begin at the offset at.
func (t *tagRote) begin(form *tagForm, tool *shape.Tool, at int) {
	if t.form != form || t.tool != tool {
		t.form, t.tool, t.gaps = form, tool, t.gaps[:0]
	}
	t.same, t.from, t.closed, t.open = 0, at, 0, 0
}

// starts reports whether the parameters of the call begin at the offset at, in the name of the first one, of which r may have read a byte.
func (t *tagRote) starts(r *tagReader, at int) bool {
	return t.same == 0 && t.from == at && len(t.gaps) > 0 && strings.HasPrefix(t.gaps[0].name, string(r.name))
}

// endValue says that a value ends at the offset at with e, and a tag that ends at the offset end.
func (t *tagRote) endValue(d *Decoder, e ending, at, end int) {
	t.from, t.closed, t.open = at, e.end, end-at
	switch {
	case !e.closed || e.next >= 0 || e.rest != "" || e.kind != tagParam && e.kind != tagCallClose:
		t.lose()
	case e.kind == tagCallClose:
		t.learn(d, tagGap{ends: true}, end)
	}
}

// lose says that the call has something in it that a gap does not have.
func (t *tagRote) lose() { t.same = -1 }

// next returns the gap that most likely comes next, or nil.
func (t *tagRote) next() *tagGap {
	if uint(t.same) < uint(len(t.gaps)) {
		return &t.gaps[t.same]
	}
	return nil
}

// learn takes the gap that ends at the offset end for the next one.
func (t *tagRote) learn(d *Decoder, g tagGap, end int) {
	from := t.from
	g.n, t.from = end-from, -1
	if from < 0 || t.same < 0 || g.n <= 0 || g.n > maxHeader || from < d.holdAt || !d.holding || d.sources != nil {
		t.lose()
		return
	}
	text := d.held(from, end)
	if old := t.next(); old != nil && old.n == g.n && old.text[:g.n] == text && old.closed == t.closed {
		t.same++
		return
	}
	g.closed, g.open = t.closed, t.open
	switch {
	case g.ends:
		g.text = text
	case t.form.newlines:
		g.text = text + "\n\n"
	default:
		g.text = text + "\n"
	}
	t.gaps = append(t.gaps[:t.same], g)
	t.same++
}

// readRote takes the expected gap at i, if the input holds all of it, or lets it wait if the input ends with a part of it. Otherwise it
// returns i.
func (r *tagReader) readRote(d *Decoder, i int) (int, verdict) {
	t := &d.readers.rote
	g, s := t.next(), d.in[i:]
	switch {
	case g == nil || d.sources != nil || r.form.cdata && openCDATA(r.text):
	case len(s) >= g.n && s[:g.n] == g.text[:g.n]:
		return r.takeGap(d, g, i)
	case len(s) < g.n && g.text[:len(s)] == s && d.patient(i) && (g.ends || r.settled()):
		d.await(i, g.text[len(s):], nil)
		return i, left
	}
	return i, more
}

// takeGap reads the expected gap at i, which the input holds.
func (r *tagReader) takeGap(d *Decoder, g *tagGap, i int) (int, verdict) {
	d.readers.rote.same++
	d.readers.rote.from = -1
	r.tailAt = d.base + i
	if g.flat && !r.val.hold.on && r.val.stack[0].index == nil {
		if v := r.takeFlat(d, g, i); v != more {
			return i + g.open, v
		}
		return i + g.n, more
	}
	if r.state == tValue {
		e := ending{closed: true, end: g.closed, next: -1}
		if g.ends {
			e.kind = tagCallClose
			return r.leaveValue(d, e, i+g.n)
		}
		if j, v := r.leaveValue(d, e, i+g.open); v != more {
			return j, v
		}
	}
	r.name, r.quote, r.attrs = r.name[:0], 0, r.attrs[:0]
	r.meant, r.untyped = g.meant, g.untyped
	return i + g.n, r.beginParam(d, g.name, i+g.n)
}

// passes emits a chunk that belongs to a value which goes out as it comes, and lets the start of the expected gap wait. It reports whether
// the chunk is that.
func (r *tagReader) passes(d *Decoder, chunk string) bool {
	n := r.unsuspicious(chunk)
	rest := chunk[n:]
	switch {
	case r.form.entities && !referenceStop.none(chunk[:n]):
		return false
	case rest == "":
		d.passEscaped(chunk)
		return true
	}
	g := d.readers.rote.next()
	if g == nil || len(rest) >= g.n || g.text[:len(rest)] != rest {
		return false
	}
	at := d.last
	end := at + len(chunk)
	d.arena.write(chunk)
	d.in, d.base, d.spilled, d.quick = "", end, end, nil
	if n > 0 {
		d.passPieces(chunk[:n], at+n)
	}
	d.await(-len(rest), g.text[len(rest):], nil)
	return true
}

// readAfter reads what is expected behind a call that ended before i in a section, or lets what follows wait if it may become that. Otherwise
// it returns i.
func (r *tagReader) readAfter(d *Decoder, i int) (int, verdict) {
	t := &d.readers.rote
	a, s := &t.after, d.in[i:]
	n := len(a.text)
	switch {
	case n == 0 || a.form != r.form || a.closer != r.closer() || d.sources != nil:
	case len(s) >= n && s[:n] == a.text:
		t.ended = -1
		if a.ends {
			return i + n, finished
		}
		r.at, r.tool, r.known, r.written = d.base+i+a.at, a.tool, true, a.written
		r.name, r.quote, r.attrs, r.tail, r.val = append(r.name[:0], a.name...), 0, r.attrs[:0], r.tail[:0], nil
		r.begin(d, d.base+i+n)
		return r.beginName(d, i+n)
	case len(s) < n && a.text[:len(s)] == s && d.patient(i):
		d.await(i, a.text[len(s):], nil)
		return i, left
	}
	return i, more
}

// learnAfter takes the bytes from the end of the call before to the offset end for what stands there: it ends the section, or a call begins
// with it.
func (r *tagReader) learnAfter(d *Decoder, end int, ends bool) {
	t := &d.readers.rote
	from := t.ended
	if t.ended = -1; from < d.holdAt || end-from > maxHeader || d.sources != nil {
		return
	}
	a := &t.after
	if text := d.held(from, end); text != a.text {
		a.text = text
	}
	a.form, a.closer, a.ends = r.form, r.closer(), ends
	if a.at = r.at - from; !ends && (a.tool != r.tool || a.written != r.written || a.name != string(r.name)) {
		a.tool, a.written, a.name = r.tool, r.written, string(r.name)
	}
}

// A tagHead is what a candidate began with whose first call has parameters, up to the first of them.
type tagHead struct {
	form    *tagForm
	section *opener
	tool    int
	written string
	name    string // what was read of the name of the parameter
}

// learnHead takes what stands before the offset end, where the first call of the candidate begins.
func (r *tagReader) learnHead(d *Decoder, end int) {
	h := &d.readers.tagHead
	if r.at == d.candAt && d.learnBeginning(end, d.dialect, h) {
		*h = tagHead{form: r.form, section: r.section, tool: r.tool, written: r.written, name: string(r.name)}
	}
}

// beginAgain begins the call whose first parameter begins before end.
func (h *tagHead) beginAgain(d *Decoder, _, end int) int {
	r := newTagged(d, h.form, h.section)
	d.body, r.at, r.tool, r.known, r.written = r, d.candAt, h.tool, true, h.written
	r.name = append(r.name, h.name...)
	r.begin(d, d.base+end)
	r.beginName(d, end)
	return end
}

// keep remembers of the last gap what was made of the name in it: what is in the arguments from the offset from on. A parameter that
// stands there already, or holds all arguments, is another matter, and so is each one behind it.
func (t *tagRote) keep(r *tagReader, from int) {
	n := t.same - 1
	if n < 0 || t.gaps[n].flat || t.gaps[n].ends || n > 0 && !t.gaps[n-1].flat || n >= fewKeys {
		return
	}
	g, args := &t.gaps[n], r.val.d.args.string()
	g.flat, g.param, g.shape, g.stream, g.waits, g.close, g.ahead = true, r.param, r.shape, r.stream, r.waits, r.close, r.ahead
	g.json = `"` + args[from:]
}

// takeFlat does what the tags in the gap at i and the name there made the readers do when keep looked.
func (r *tagReader) takeFlat(d *Decoder, g *tagGap, i int) verdict {
	v, json, end := r.val, g.json[1:], d.base+i+g.n
	f := &v.stack[0]
	if r.state == tValue {
		if !r.fresh {
			d.endTold()
		}
		if r.stream && !r.entity {
			json = g.json
			d.flattenArgs()
			v.keys[f.key].to = d.args.len() + 1
		} else if w := r.finishValue(d, d.base+i+g.closed); w != more {
			return w
		}
	}
	d.writeArgs(json, end)
	f.key = len(v.keys)
	v.keys = append(v.keys, keySpan{key: g.param, from: -1})
	if g.stream {
		v.keys[f.key].from = d.args.len() - 1
	}
	v.shape, v.state, v.base = g.shape, vValue, end
	r.name, r.quote, r.attrs, r.meant, r.untyped = r.name[:0], 0, r.attrs[:0], g.meant, g.untyped
	r.param, r.shape, r.stream, r.waits, r.close, r.ahead = g.param, g.shape, g.stream, g.waits, g.close, g.ahead
	r.text, r.tail, r.closed, r.valueAt = r.text[:0], r.tail[:0], 0, end
	r.state, r.fresh, r.whole, r.entity, r.marked = tValue, true, false, false, false
	return more
}

// settled reports whether the value that was read ends without a note.
func (r *tagReader) settled() bool {
	switch t := r.shape.Type(); {
	case r.state != tValue || r.stream:
		return true
	case r.whole || r.val.hold.on:
		return false
	case t == shape.String || t == 0 && (r.meant == "true" || r.untyped != shape.UntypedPython):
		return true // any text is such a string, or a value without a type
	}
	return plainNumber(string(r.text), r.shape)
}

// plainNumber reports whether text is an integer that s takes as it stands.
func plainNumber(text string, s *shape.Shape) bool {
	t := s.Type()
	return t.Any(shape.Integer|shape.Number) && t&^(shape.Integer|shape.Number) == 0 && text != "" && isDigit(text[0]) && plainScalar(text)
}

// quiet reports whether what was added to the arguments is not told of yet: from the end of one value to the start of the next.
func (r *tagReader) quiet() bool {
	switch r.state {
	case tParam, tPair, tType:
		return true
	}
	return r.state == tValue && r.fresh
}

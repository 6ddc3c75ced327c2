package dialect

import (
	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// A driver shows body machines their part of a decoder: the text, the calls that they write, and what was asked
// for. It has no part in what the decoder decides.
type driver struct {
	set     *set
	text    scanner
	call    callWriter
	cand    candidate
	turn    turnEnd
	readers bodies
	body    body
	plain   int // bytes before this offset are text whatever they look like

	triedWrap bool // something was read as wrapped calls: see wrapReader
	toUser    int  // where a message for the user begins: behind words in it glimmer's calls are shown; 0: nowhere
	truncated bool // the text was cut at a limit: its end completes nothing

	folded map[*shape.Shape]map[string]string // properties by their folded names, of shapes where they are looked for

	then func(d *Decoder, i int) int // what the decoder does where a machine yields; it returns where to go on
	back int                         // the offset from which on bytes are text again
}

// yield ends the work of a machine before i: the decoder continues with then.
func (d *driver) yield(i int, then func(d *Decoder, i int) int) (int, verdict) {
	d.then = then
	return i, yields
}

// backTo ends the candidate before the offset at, and reads the bytes from there to i as text.
func (d *driver) backTo(at, i int) (int, verdict) {
	d.back = at
	return d.yield(i, (*Decoder).goBack)
}

// arguments returns a reader of arguments of the shape s, which the open call gets.
func (d *driver) arguments(s *shape.Shape) *value.Arguments {
	return ready(&d.readers.args).Reset(&d.call, ready(&d.readers.argsVal), s, value.Level(d.set.opts.Repair))
}

// object returns a reader of the values of an object that a machine writes itself.
func (d *driver) object(s *shape.Shape, python bool) *value.Reader {
	return ready(&d.readers.argsVal).Object(&d.call, s, value.Level(d.set.opts.Repair), python)
}

// skipped returns a reader of a value that is not written.
func (d *driver) skipped() *value.Reader {
	v := ready(&d.readers.val).Reset(&d.call, nil, value.Level(d.set.opts.Repair), false)
	v.Discard = true
	v.At(d.text.base, 1)
	return v
}

// await leaves the input unread from i on, where something begins that it does not hold whole. It goes on, most
// likely, with rest; a byte of stop may decide; nil: any may. Where no more comes it is a fragment, which is passed
// over.
func (d *driver) await(i int, rest string, stop *chars.Set) (int, verdict) {
	if d.text.final {
		d.text.fragment = d.text.at(i)
		return len(d.text.in), more
	}
	d.text.await(i, rest, stop)
	return i, left
}

// fragment returns what the end of the text left of something, or "".
func (d *driver) fragment() string {
	if d.text.fragment < 0 {
		return ""
	}
	return d.text.held(d.text.fragment, d.text.end())
}

// runHeld has a machine read held bytes in the middle of another input.
func (d *driver) runHeld(b body, held string, at int) (int, verdict) {
	t := &d.text
	in, base, final := t.in, t.base, t.final
	t.put(held, at)
	t.final = true
	i, v := b.run(d, 0)
	t.in, t.base, t.final = in, base, final
	return i, v
}

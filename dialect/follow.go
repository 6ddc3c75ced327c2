package dialect

import "strings"

// A follower reads on in the arguments of an open call chunk by chunk, as long as they are written like those of the last one. It moves
// the machine's value from one state to the next as that would do itself, with the same bytes told of at the same time, so that it can
// stop at any byte: from the first that was not told of on, the machine reads.
type follower struct {
	usual *usualArgs
	form  *notation
	val   *value

	kind followKind // what is read at the moment
	lit  string     // its text, unless it is a number
	met  int        // how much of that came
	num  []byte     // the digits so far
	from int        // where what was not told of begins in the text
}

type followKind uint8

const (
	followNothing followKind = iota
	followKey                // up to the end of a key
	followColon              // behind it
	followOpen               // the quote before a string
	followClose              // and the one behind it
	followNumber
)

// followFrom is follow in the middle of the input: it goes on at i, and returns where the machine does.
func (d *Decoder) followFrom(u *usualArgs, form *notation, v *value, i int) int {
	if i == len(d.in) || d.final || d.sources != nil || d.waiting {
		return i
	}
	if d.follow(u, form, v, 0); !d.follows {
		return i
	}
	f, c := &d.readers.follower, &d.call
	f.from = d.base + i
	if c.told == c.args.Len() {
		c.tellAt = d.last
	}
	grow(&c.args, len(d.in)-i+maxWait)
	if f.run(d, d.in[i:], d.base+i) {
		return len(d.in)
	}
	d.follows = false
	d.resume()
	return f.from - d.base
}

// followArgs goes on in the arguments of the open call, if the body machine left off where that is possible.
func (d *Decoder) followArgs() {
	switch b := d.body.(type) {
	case *pyReader:
		b.follow(d)
	case *literalReader:
		b.follow(d)
	case *callReader:
		if b.state == cArgs {
			b.args.follow(d)
		}
	}
}

// follow goes on in the arguments that v reads, if what was read of them is as in u. Of what was read the last n bytes, which are not
// told of yet, are the start of what stands there next: the first key, or the quote before a string or behind it.
func (d *Decoder) follow(u *usualArgs, form *notation, v *value, n int) {
	switch {
	case v.hold.on || v.discard || len(v.pend) > 0 || len(v.stack) > 1 || u.shape != d.call.tool.Args || !u.begins(v.keys):
		return
	case v.state == vString && (v.quote != '"' || !v.inPlain()), v.state != vString && v.state != vValue && len(v.keys) == len(u.keys):
		return
	case len(u.keys) == 0, n > 0 && v.state == vValue && len(v.keys) > 0 && !u.keys[len(v.keys)-1].texts:
		return
	}
	d.flattenArgs()
	v.step, v.lag = 0, 0
	f := &d.readers.follower
	*f = follower{usual: u, form: form, val: v, num: f.num[:0], from: d.base + len(d.in) - n}
	if d.follows = true; n > 0 {
		switch {
		case v.state == vString:
			f.begin(followClose, form.quote)
		case len(v.stack) > 0:
			f.begin(followOpen, form.quote)
		default:
			f.begin(followKey, u.keys[0].begin(form, 0))
		}
		f.met = n
	}
}

func (f *follower) begin(kind followKind, lit string) { f.kind, f.lit, f.met = kind, lit, 0 }

// followed reads a chunk, and leaves it to the machine from where it goes on in another way.
func (d *Decoder) followed(chunk string) {
	if d.met > 0 {
		d.unmeet()
	}
	f, base := &d.readers.follower, d.base+len(d.in)
	d.catchUp()
	d.in, d.base, d.expect = "", base, ""
	d.steps += len(chunk)
	c := &d.call
	c.tellAt = d.last
	d.settleArgs()
	grow(&c.args, len(chunk)+maxWait)
	if f.run(d, chunk, base) {
		d.arena.write(chunk)
		d.base += len(chunk)
		d.spilled = d.base
		d.tellArgs()
		return
	}
	d.stopFollowing()
	if n := f.from - base; n > 0 {
		d.arena.write(chunk[:n])
		d.base, d.spilled = f.from, f.from
		chunk = chunk[n:]
	}
	d.dst = d.read(d.dst, chunk)
}

// catchUp takes account of chunks that passed, as parts of a string or as what was expected.
func (d *Decoder) catchUp() {
	f, at := &d.readers.follower, d.base+len(d.in)
	switch f.kind {
	case followNothing:
		f.from = at
	case followKey, followOpen, followClose:
		f.met = at - f.from
	}
}

// followTable says how what is followed most likely goes on, and returns the bytes that need a look in a string.
func (d *Decoder) followTable() *byteSet {
	f := &d.readers.follower
	switch v := f.val; {
	case f.kind == followColon || f.kind == followNumber:
	case f.kind != followNothing:
		d.expect = f.lit[f.met:]
	case v.state == vString:
		if c := &d.call; !c.later {
			c.later, c.laterFrom, c.laterTo, c.escaped = true, d.last, d.last, false
		}
		d.streams = true
		return f.form.stops
	case v.state == vAfter && len(v.keys) < len(f.usual.keys):
		f.from = d.base + len(d.in)
		f.begin(followKey, f.usual.keys[len(v.keys)].begin(f.form, len(v.keys)))
		d.expect = f.lit
	case v.state == vValue && len(v.keys) > 0:
		if key := &f.usual.keys[len(v.keys)-1]; key.texts && !key.numbers {
			f.from = d.base + len(d.in)
			f.begin(followOpen, f.form.quote)
			d.expect = f.lit
		}
	}
	return nil
}

// stopFollowing lets the machine go on, from what was not told of on.
func (d *Decoder) stopFollowing() {
	f := &d.readers.follower
	d.follows, d.quick, d.streams, d.expect = false, nil, false, ""
	if f.from < d.base+len(d.in) {
		d.waiting, d.unread, d.stop = true, f.from, nil
	}
	d.resume()
}

// resume tells the body machine where the decoder followed the arguments to.
func (d *Decoder) resume() {
	switch b := d.body.(type) {
	case *pyReader:
		b.resume()
	case *literalReader:
		b.resume()
	}
}

// run reads in, which begins at the offset base, and reports whether all of it is as usual.
func (f *follower) run(d *Decoder, in string, base int) bool {
	v := f.val
	for i := 0; i < len(in); {
		if f.kind == followNothing {
			if v.state == vString {
				j := f.form.stops.index(in, i)
				if j > i {
					f.write(d, in[i:j], base+j)
					f.from = base + j
				}
				if i = j; i == len(in) {
					break
				}
			}
			if !f.next(in[i]) {
				return false
			}
		}
		if f.kind == followNumber {
			ok := false
			if i, ok = f.number(in, i, base); !ok {
				return false
			}
			continue
		}
		n := common(f.lit[f.met:], in[i:])
		if f.kind == followColon && n > 0 { // which is told of byte by byte
			f.write(d, in[i:i+n], base+i+n)
			v.state, v.shape, f.from = vValue, f.usual.keys[len(v.keys)-1].shape, base+i+n
		}
		i, f.met = i+n, f.met+n
		switch {
		case f.met < len(f.lit) && i < len(in):
			return false
		case f.met < len(f.lit):
		case f.kind == followOpen && f.form.late && i == len(in): // the next byte may be another quote
		case f.kind == followOpen && f.form.late && f.form.stops.has(in[i]):
			return false
		default:
			f.end(d, base+i)
		}
	}
	return true
}

// number reads digits, and writes the number where it ends before what follows a value. It reports whether that is as usual.
func (f *follower) number(in string, i, base int) (int, bool) {
	from := i
	for i < len(in) && isDigit(in[i]) {
		i++
	}
	f.num = append(f.num, in[from:i]...)
	if i == len(in) {
		return i, len(f.num) <= maxDigits
	}
	if in[i] != f.form.next[0] && in[i] != f.form.end[0] {
		return i, false
	}
	if f.val.base = base + i; !f.val.writeScalar(string(f.num)) {
		return i, false
	}
	f.kind, f.from = followNothing, base+i
	return i, true
}

// next says what is read next, which begins with c. It reports whether that is as usual.
func (f *follower) next(c byte) bool {
	v, u := f.val, f.usual
	n := len(v.keys)
	switch v.state {
	case vString:
		f.begin(followClose, f.form.quote)
	case vColon:
		f.begin(followColon, f.form.colon)
	case vValue:
		switch {
		case len(v.stack) == 0:
			f.begin(followKey, u.keys[0].begin(f.form, 0))
		case isDigit(c):
			f.begin(followNumber, "")
			f.num = f.num[:0]
			return u.keys[n-1].numbers
		default:
			f.begin(followOpen, f.form.quote)
			return u.keys[n-1].texts
		}
	default:
		if n == len(u.keys) {
			return false
		}
		f.begin(followKey, u.keys[n].begin(f.form, n))
	}
	return c == f.lit[0]
}

// end takes a whole literal, which ends before the offset end.
func (f *follower) end(d *Decoder, end int) {
	v := f.val
	switch f.kind {
	case followKey:
		f.endKey(d, end-f.form.early)
	case followOpen:
		v.markValue(0)
		f.write(d, `"`, end)
		v.quote, v.triple, v.quotes, v.state = '"', 0, 0, vString
	case followClose:
		f.write(d, `"`, end)
		v.endValue(0)
	}
	f.kind, f.from = followNothing, end
}

// endKey writes a key that was read up to the offset end, and what stands around it.
func (f *follower) endKey(d *Decoder, end int) {
	v, n := f.val, len(f.val.keys)
	key := &f.usual.keys[n]
	if len(v.stack) == 0 {
		v.base = end
		v.openObject()
	}
	f.write(d, key.json, end)
	v.keys = append(v.keys, keySpan{key: key.key, from: -1})
	v.stack[0].key, v.state = n, vColon
	if f.form.colon == "" {
		v.state, v.shape = vValue, key.shape
	}
}

// write adds s to the arguments, for which there is room; the text was read up to end.
func (f *follower) write(d *Decoder, s string, end int) {
	d.call.args.WriteString(s)
	d.last = end
}

// begin returns what stands in the text up to the end of the key, which is the one at n of its object.
func (k *usualKey) begin(form *notation, n int) string {
	if k.form == form {
		return k.text
	}
	before, json, colon := form.next, form.jsonNext, ""
	if n == 0 {
		before, json = form.first, form.jsonFirst
	}
	if form.colon == "" {
		colon = form.jsonColon
	}
	k.form, k.text, k.json = form, strings.Join([]string{before, k.key, form.keyEnd}, ""), strings.Join([]string{json, k.key, `"`, colon}, "")
	return k.text
}

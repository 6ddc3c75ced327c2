package dialect

import "wield/chat"

// A follower reads on in the arguments of an open call chunk by chunk, as long as they are written like those of the last one. It moves
// the machine's value from one state to the next as that would do itself, with the same bytes told of at the same time, so that it can
// stop at any byte: from the first that was not told of on, the machine reads.
type follower struct {
	form *notation
	val  *value

	joints []joint
	joint  *joint // which stands next in the text, or is being read
	step   int    // how many of its steps were taken
	at     int    // how much of its text came
	num    []byte // the digits of a number so far
	from   int    // where what was not told of begins in the text
}

// A joint is what stands in the text from behind a value up to the start of the next, and what is written of that. It consists of steps, of
// each of which nothing is told before it is whole.
type joint struct {
	text, json string
	key        *usualKey    // of the next value; nil: there is none
	steps      [5]jointStep // as many as a joint of any notation has
	n          int
}

// A jointStep is where a step ends in the text of the joint, and in what is written.
type jointStep struct {
	kind       stepKind
	text, json int
}

type stepKind uint8

const (
	stepBegin stepKind = iota // the brace of the object
	stepClose                 // the quote behind a string
	stepKey                   // up to the end of a key
	stepColon                 // a byte of what stands behind it
	stepOpen                  // the quote before a string
	stepEnd                   // the brace that ends the object
)

// add makes text, for which json is written, the next step of j.
func (j *joint) add(kind stepKind, text, json string) {
	j.text, j.json = j.text+text, j.json+json
	j.steps[j.n] = jointStep{kind, len(j.text), len(j.json)}
	j.n++
}

// jointsOf returns what stands before each argument, and behind the last one.
func (u *usualArgs) jointsOf(form *notation) []joint {
	if u.form == form && len(u.joints) == len(u.keys)+1 {
		return u.joints
	}
	u.form, u.joints = form, make([]joint, len(u.keys)+1)
	before, json, quote, jsonQuote := form.first, form.jsonFirst, "", ""
	for n := range u.keys {
		j, key := &u.joints[n], &u.keys[n]
		j.key = key
		if n == 0 && form.opens != "" {
			j.add(stepBegin, form.opens, "{")
		} else {
			j.add(stepClose, quote, jsonQuote)
		}
		if json += key.key + `"`; form.colon == "" {
			json += form.jsonColon
		}
		j.add(stepKey, before+key.key+form.keyEnd, json)
		for k := range len(form.colon) {
			j.add(stepColon, form.colon[k:k+1], form.colon[k:k+1])
		}
		if key.texts {
			j.add(stepOpen, form.quote, `"`)
		}
		before, json, quote, jsonQuote = form.next, form.jsonNext, form.quote, `"`
	}
	last := &u.joints[len(u.keys)]
	last.add(stepClose, quote, jsonQuote)
	if form.opens != "" {
		last.add(stepEnd, "}", "}")
	}
	return u.joints
}

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
	if c.told == d.args.len() {
		c.tellAt = d.last
	}
	d.args.grow(len(d.in) - i + maxWait)
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
	case *headerReader:
		if b.state == hArgs && b.skip == nil {
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
	*f = follower{form: form, val: v, joints: u.jointsOf(form), num: f.num[:0], from: d.base + len(d.in) - n}
	d.follows = true
	f.place()
	f.at += n
}

// place finds the joint that v stands in.
func (f *follower) place() {
	v, joints := f.val, f.joints
	n := len(v.keys)
	switch {
	case v.state == vString:
		f.enter(&joints[n], 0)
	case v.state == vColon:
		f.enter(&joints[n-1], 2)
	case v.state == vValue && len(v.stack) > 0:
		f.enter(&joints[n-1], 2+len(f.form.colon))
	case v.state == vValue && f.form.opens != "":
		f.enter(&joints[0], 0)
	default:
		f.enter(&joints[n], 1)
	}
}

// enter goes on in j, behind so many of its steps.
func (f *follower) enter(j *joint, step int) {
	if f.joint, f.step, f.at = j, step, 0; step > 0 {
		f.at = j.steps[step-1].text
	}
}

// inText reports whether a string is read of which no byte may be its end.
func (f *follower) inText() bool { return f.at == 0 && f.val.state == vString }

// readFollowed reads a chunk, and leaves it to the machine from where it goes on in another way.
func (d *Decoder) readFollowed(dst []chat.Event, chunk string) []chat.Event {
	f, base := &d.readers.follower, d.base+len(d.in)+d.met
	if d.met > 0 {
		d.arena.write(d.expect[:d.met])
		d.met = 0
	}
	d.in, d.base, d.spilled, d.expect = "", base, base, ""
	d.catchUp()
	d.steps += len(chunk)
	d.call.tellAt = d.last
	d.settleArgs()
	d.args.grow(len(chunk) + maxWait)
	if f.run(d, chunk, base) {
		d.arena.write(chunk)
		d.base += len(chunk)
		d.spilled = d.base
		dst, d.streams = d.appendArgs(dst), false
		d.quick = d.followTable()
		return dst
	}
	d.stopFollowing()
	if n := f.from - base; n > 0 {
		d.arena.write(chunk[:n])
		d.base, d.spilled = f.from, f.from
		chunk = chunk[n:]
	}
	return d.read(dst, chunk)
}

// catchUp takes account of chunks that passed, as parts of a string or as what was expected.
func (d *Decoder) catchUp() {
	f, at := &d.readers.follower, d.base+len(d.in)
	switch {
	case f.inText():
		f.from = at
	case len(f.num) > 0:
	case f.step == 0:
		f.at = at - f.from
	default:
		f.at = f.joint.steps[f.step-1].text + at - f.from
	}
}

// followTable says how what is followed most likely goes on, and returns the bytes that need a look in a string.
func (d *Decoder) followTable() *byteSet {
	f := &d.readers.follower
	if f.inText() {
		if c := &d.call; !c.later {
			c.later, c.laterFrom, c.laterTo, c.escaped = true, d.last, d.last, false
		}
		d.streams = true
		return f.form.stops
	}
	if j := f.joint; f.step < j.n && len(f.num) == 0 {
		d.expect = j.text[f.at:j.steps[f.step].text]
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
	case *callReader:
		b.args.resume()
	case *headerReader:
		b.args.resume()
	}
}

// run reads in, which begins at the offset base, and reports whether all of it is as usual.
func (f *follower) run(d *Decoder, in string, base int) bool {
	for i := 0; i < len(in); {
		if f.inText() {
			j := f.form.stops.index(in, i)
			if j > i {
				d.args.writeString(in[i:j])
				f.from = base + j
				d.last = f.from
			}
			if i = j; i == len(in) {
				break
			}
		}
		if len(f.num) > 0 || isDigit(in[i]) && f.atValue() {
			ok := false
			if i, ok = f.number(d, in, i, base); !ok {
				return false
			}
			continue
		}
		n := f.match(in[i:])
		i, f.at = i+n, f.at+n
		if f.step < f.joint.n && f.joint.steps[f.step].text <= f.at && f.take(d, in, i, base) {
			continue
		}
		if n == 0 {
			return false
		}
	}
	return true
}

// match returns how many bytes of what is left of the joint in begins with.
func (f *follower) match(in string) int {
	rest := f.joint.text[f.at:]
	if n := min(len(rest), len(in)); in[:n] == rest[:n] {
		return n
	}
	return common(rest, in)
}

// atValue reports whether the value behind the joint begins with the next byte.
func (f *follower) atValue() bool {
	return f.val.state == vValue && len(f.val.stack) > 0 && f.at == f.joint.steps[f.step-1].text
}

// take takes the steps that are whole, of a joint that was read up to i, and reports whether there were any.
func (f *follower) take(d *Decoder, in string, i, base int) bool {
	j, v, args := f.joint, f.val, &d.args
	step, from := f.step, 0
	if step > 0 {
		from = j.steps[step-1].json
	}
	at := args.len() - from // where the JSON of the joint begins
	for ; step < j.n; step++ {
		s := &j.steps[step]
		if s.text > f.at {
			break
		}
		switch s.kind {
		case stepBegin:
			v.stack = append(v.stack, frame{close: '}', object: true, shape: v.shape})
			v.state = vKeyOrEnd
		case stepEnd:
			v.stack, v.state = v.stack[:0], vDone
		case stepClose:
			f.endValue(at + s.json)
		case stepKey:
			if len(v.stack) == 0 {
				args.writeByte('{')
				at++
				v.stack = append(v.stack, frame{close: '}', object: true, shape: v.shape})
			}
			v.stack[0].key = len(v.keys)
			v.keys = append(v.keys, keySpan{key: j.key.key, from: -1})
			if v.state = vColon; f.form.colon == "" {
				v.state, v.shape = vValue, j.key.shape
			}
		case stepColon:
			v.state, v.shape = vValue, j.key.shape
		case stepOpen:
			if f.form.late && (i == len(in) || f.form.stops.has(in[i])) { // the next byte may be another quote
				return f.took(d, step, from, base+i)
			}
			v.keys[len(v.keys)-1].from = at + j.steps[step-1].json
			v.quote, v.triple, v.quotes, v.state = '"', 0, 0, vString
		}
	}
	return f.took(d, step, from, base+i)
}

// took writes the JSON of a joint from from on, up to where so many of its steps end. Its text was read up to the offset end.
func (f *follower) took(d *Decoder, step, from, end int) bool {
	if step == f.step {
		return false
	}
	last := &f.joint.steps[step-1]
	d.args.writeString(f.joint.json[from:last.json])
	end -= f.at - last.text
	f.step, f.from, d.last = step, end, end
	switch last.kind {
	case stepKey:
		d.last -= f.form.early
	case stepOpen:
		f.joint, f.step, f.at = &f.joints[len(f.val.keys)], 0, 0
	}
	return true
}

// endValue ends a value before the byte at to of the arguments.
func (f *follower) endValue(to int) {
	v := f.val
	v.keys[len(v.keys)-1].to = to
	v.raw, v.escaped, v.triple, v.state = false, false, 0, vAfter
}

// number reads digits, and writes the number where it ends before what follows a value. It reports whether that is as usual.
func (f *follower) number(d *Decoder, in string, i, base int) (int, bool) {
	from := i
	for i < len(in) && isDigit(in[i]) {
		i++
	}
	f.num = append(f.num, in[from:i]...)
	n := len(f.num)
	switch {
	case !f.joint.key.numbers || n > maxDigits || n > 1 && f.num[0] == '0':
		return i, false
	case i == len(in):
		return i, true
	case in[i] != f.form.next[0] && in[i] != f.form.end[0]:
		return i, false
	}
	v, args := f.val, &d.args
	v.keys[len(v.keys)-1].from = args.len()
	args.write(f.num)
	f.endValue(args.len())
	f.num, f.from, d.last = f.num[:0], base+i, base+i
	f.enter(&f.joints[len(v.keys)], 1)
	return i, true
}

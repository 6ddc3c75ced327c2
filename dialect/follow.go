package dialect

import "wield/chat"

// A follower reads on in the arguments of an open call chunk by chunk, as long as they are written like those of the last one. The same bytes
// are told of at the same time as the machine would tell of them, so that it can stop at any byte: from the first that was not told of
// on, the machine reads, whose value is brought to where that stands.
type follower struct {
	form *notation
	val  *value

	joints []joint
	first  int           // the joint that it began in
	begun  int           // how many of its steps were taken before
	k      int           // the joint that stands next in the text, or is being read
	joint  *joint        // the same
	step   int           // how many of its steps were taken
	at     int           // how much of its text came
	num    []byte        // the digits of a number so far
	froms  [maxUsual]int // where the values between the first joint and this one begin in the arguments
}

// A joint is what stands in the text from behind a value up to the start of the next, and what is written of that. It consists of steps, of
// each of which nothing is told before it is whole.
type joint struct {
	text, json string
	key        *usualKey    // of the next value; nil: there is none
	steps      [6]jointStep // as many as a joint of any notation has, behind an empty one
	n          int          // the last of them
	opens      bool         // that is the quote before a string
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
	stepEnd                   // what ends the object
)

// add makes text, for which json is written, the next step of j.
func (j *joint) add(kind stepKind, text, json string) {
	j.text, j.json = j.text+text, j.json+json
	j.n++
	j.steps[j.n] = jointStep{kind, len(j.text), len(j.json)}
	j.opens = kind == stepOpen
}

// jointsOf returns what stands before each argument, and behind the last one.
func (u *usualArgs) jointsOf(form *notation) []joint {
	if u.form == form && len(u.joints) == len(u.keys)+1 {
		return u.joints
	}
	u.form, u.joints = form, make([]joint, len(u.keys)+1)
	before, json, quote, jsonQuote := form.first, form.jsonFirst, "", ""
	if form.braceless {
		json = "{" + json
	}
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
	last.add(stepEnd, form.end[:1], "}")
	return u.joints
}

// followFrom is follow in the middle of the input: it goes on at i, and returns where the machine does.
func (d *Decoder) followFrom(u *usualArgs, form *notation, v *value, i int) (int, verdict) {
	if i == len(d.in) || d.final || d.sources != nil || d.waiting {
		return i, more
	}
	if d.follow(u, form, v, 0); !d.follows {
		return i, more
	}
	f, c, told := &d.readers.follower, &d.call, d.args.len()
	if c.told == told {
		c.tellAt = d.last
	}
	i += f.run(&d.args, d.in[i:])
	if d.args.len() > told {
		d.last = f.told(d.base + i)
	}
	if i == len(d.in) && !f.ended() {
		return i, more
	}
	return d.resume(i - f.untold())
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
	f.form, f.val, f.joints, f.num = form, v, u.jointsOf(form), f.num[:0]
	f.place()
	f.first, f.begun = f.k, f.step
	f.at += n
	d.follows = true
}

// place finds the joint that the value stands in.
func (f *follower) place() {
	v, n := f.val, len(f.val.keys)
	switch {
	case v.state == vString:
		f.enter(n, 0)
	case v.state == vColon:
		f.enter(n-1, 2)
	case v.state == vValue && len(v.stack) > 0:
		f.enter(n-1, f.form.valueStep())
	case v.state == vValue && f.form.opens != "":
		f.enter(0, 0)
	default:
		f.enter(n, 1)
	}
}

// valueStep returns behind how many steps of a joint a value begins, with its quote if it has one.
func (form *notation) valueStep() int { return 2 + len(form.colon) }

// enter goes on in the joint k, behind so many of its steps.
func (f *follower) enter(k, step int) {
	j := &f.joints[k]
	f.k, f.joint, f.step, f.at = k, j, step, j.steps[step].text
}

// inText reports whether a string is read of which no byte may be its end.
func (f *follower) inText() bool { return f.at == 0 && f.step == 0 && f.k > 0 }

// ended reports whether all arguments were read, and what ends them.
func (f *follower) ended() bool { return f.joint.key == nil && f.step == f.joint.n }

// untold returns how many of the bytes that were read were not told of.
func (f *follower) untold() int { return f.at - f.joint.steps[f.step].text + len(f.num) }

// told returns where what was told of ends if the text was read up to the offset end.
func (f *follower) told(end int) int {
	end -= f.untold()
	if f.form.early > 0 && f.joint.steps[f.step].kind == stepKey {
		end -= f.form.early
	}
	return end
}

// readFollowed reads a chunk, and leaves it to the machine from where that has to go on.
func (d *Decoder) readFollowed(dst []chat.Event, chunk string) []chat.Event {
	f, c, base := &d.readers.follower, &d.call, d.base+len(d.in)+d.met
	if d.met > 0 {
		d.arena.write(d.expect[:d.met])
		f.at += d.met
		d.met = 0
	}
	d.steps += len(chunk)
	if c.later {
		d.settleArgs()
	}
	c.tellAt = d.last
	n := f.run(&d.args, chunk)
	if d.args.len() > c.told {
		d.last = f.told(base + n)
	}
	if n < len(chunk) || f.ended() {
		return d.behindFollowed(dst, chunk, base, n)
	}
	d.arena.write(chunk)
	d.in, d.base = "", base+n
	d.spilled = d.base
	dst = d.appendArgs(dst)
	d.quick = d.followTable()
	return dst
}

// behindFollowed reads a chunk, which begins at the offset base, from n on, up to where it was followed.
func (d *Decoder) behindFollowed(dst []chat.Event, chunk string, base, n int) []chat.Event {
	f := &d.readers.follower
	again := f.untold()
	if again > n { // an earlier chunk ended in it
		d.in, d.base, d.spilled = "", base, base
		d.stopFollowing(base + n)
		return d.read(dst, chunk)
	}
	d.in, d.base, d.spilled, d.dst = chunk, base, base, dst
	d.steps += again
	d.quick, d.streams, d.expect = nil, false, ""
	i, v := d.resume(n - again)
	if v != more {
		i = d.leftOff(i, v)
	} else if i == len(chunk) {
		d.body.run(d, i) // to expect what follows
	}
	d.scan(chunk, i)
	d.putAside(chunk, base)
	d.settle()
	dst, d.dst = d.dst, nil
	return dst
}

// followTable says how what is followed most likely goes on, and returns the bytes that need a look in a string.
func (d *Decoder) followTable() *byteSet {
	f := &d.readers.follower
	d.expect = ""
	if d.streams = f.inText(); d.streams {
		if c := &d.call; !c.later {
			c.later, c.laterFrom, c.laterTo, c.escaped = true, d.last, d.last, false
		}
		return f.form.stops
	}
	if j := f.joint; f.step < j.n && len(f.num) == 0 {
		d.expect = j.text[f.at:j.steps[f.step+1].text]
	}
	return nil
}

// stopFollowing lets the machine go on from what was not told of on, where the arguments were followed up to the offset end.
func (d *Decoder) stopFollowing(end int) {
	f := &d.readers.follower
	d.quick, d.streams, d.expect = nil, false, ""
	if n := f.untold(); n > 0 {
		d.waiting, d.unread, d.stop = true, end-n, nil
	}
	d.resume(0)
}

// resume has the body machine go on from i on, where the decoder followed the arguments to.
func (d *Decoder) resume(i int) (int, verdict) {
	f := &d.readers.follower
	d.follows = false
	switch b := d.body.(type) {
	case *pyReader:
		if f.ended() {
			return b.endCall(d, i)
		}
		f.restore(d.args.len())
		b.resume()
	case *literalReader:
		if f.ended() {
			b.endObject()
			break
		}
		f.restore(d.args.len())
		b.resume()
	case *callReader:
		f.restore(d.args.len())
		b.args.resume()
	case *headerReader:
		f.restore(d.args.len())
		b.args.resume()
	}
	return i, more
}

// run reads in as far as it is as usual, or up to what ends the arguments, and returns how far that is.
func (f *follower) run(args *builder, in string) int {
	for i := 0; i < len(in); {
		switch {
		case f.inText():
			j := f.form.stops.index(in, i)
			if j > i {
				args.writeString(in[i:j])
			}
			i = j
		case len(f.num) > 0 || isDigit(in[i]) && f.atValue():
			n, ok := f.number(args, in[i:])
			if i += n; !ok {
				return i
			}
		}
		if i == len(in) {
			break
		}
		n, ok := f.take(args, in[i:])
		if i += n; !ok {
			return i
		}
	}
	return len(in)
}

// atValue reports whether the value behind the joint begins with the next byte.
func (f *follower) atValue() bool {
	return f.joint.key != nil && f.step == f.form.valueStep() && f.at == f.joint.steps[f.step].text
}

// take reads what in begins with of the joint, and writes the steps that are whole. It returns how much that is, and reports whether there
// were any.
func (f *follower) take(args *builder, in string) (n int, ok bool) {
	j, step := f.joint, f.step
	n = common(j.text[f.at:], in)
	at := f.at + n
	for f.at = at; step < j.n && j.steps[step+1].text <= at; {
		step++
	}
	opens := step == j.n && j.opens
	if opens && f.form.late && (n == len(in) || f.form.stops.has(in[n])) { // the next byte may be another quote
		step, opens = step-1, false
	}
	if step == f.step {
		return n, false
	}
	args.writeString(j.json[j.steps[f.step].json:j.steps[step].json])
	if f.step = step; opens {
		f.froms[f.k] = args.len() - len(`"`)
		f.enter(f.k+1, 0)
	}
	return n, true
}

// number reads digits that in begins with, and writes the number where it ends before what follows a value. It returns how many there are, and
// reports whether that is as usual.
func (f *follower) number(args *builder, in string) (n int, ok bool) {
	for n < len(in) && isDigit(in[n]) {
		n++
	}
	f.num = append(f.num, in[:n]...)
	switch {
	case !f.joint.key.numbers || len(f.num) > maxDigits || len(f.num) > 1 && f.num[0] == '0':
		return n, false
	case n == len(in):
		return n, true
	case in[n] != f.form.next[0] && in[n] != f.form.end[0]:
		return n, false
	}
	f.froms[f.k] = args.len()
	args.write(f.num)
	f.num = f.num[:0]
	f.enter(f.k+1, 1)
	return n, true
}

// restore has the value stand where the arguments, which have n bytes so far, were followed to.
func (f *follower) restore(n int) {
	v := f.val
	if f.k > 0 || f.step > 1 || f.step == 1 && f.form.opens != "" {
		f.restoreKeys(n)
	}
	switch {
	case f.step == 0 && f.k > 0:
		v.quote, v.raw, v.escaped, v.triple, v.quotes, v.state = '"', false, false, 0, 0, vString
	case f.step == 0:
	case f.ended():
		v.stack, v.state = v.stack[:0], vDone
	case f.step == 1 && f.k > 0:
		v.raw, v.escaped, v.triple, v.state = false, false, 0, vAfter
	case f.step == 1 && f.form.opens != "":
		v.state = vKeyOrEnd
	case f.step == 2 && f.form.colon != "":
		v.state = vColon
	case f.step > 1:
		v.state, v.shape = vValue, f.joint.key.shape
	}
}

// restoreKeys opens the object of the value, if it is not open, and adds the keys that were followed.
func (f *follower) restoreKeys(n int) {
	v := f.val
	if len(v.stack) == 0 {
		v.stack = append(v.stack, frame{close: '}', object: true, shape: v.shape})
	}
	for k := f.first; k <= f.k; k++ {
		j, step, end := &f.joints[k], f.step, n
		if k < f.k {
			step, end = f.form.valueStep(), f.froms[k]
		}
		if k > 0 && step > 0 && (k > f.first || f.begun == 0) {
			v.keys[k-1].to = end - j.steps[step].json + j.steps[1].json
		}
		if k == len(v.keys) && step > 1 && j.key != nil {
			v.keys = append(v.keys, keySpan{key: j.key.key, from: -1})
		}
		if k < f.k {
			v.keys[k].from = end
		}
	}
	v.stack[0].key = max(0, len(v.keys)-1)
}

package dialect

import (
	"unicode/utf8"

	"wield/chat"
)

// Limits of the decoder. They bound what is held back and how deep a value may nest; they never cut an argument.
const (
	maxHeader = 256  // bytes between an opener and the name of the tool, and of a name or a key at call level
	maxBlank  = 64   // bytes of white space at the end of a line that are held for a call to claim
	maxDepth  = 64   // nesting of a JSON value
	maxAlone  = 1024 // bytes of arguments after which a call on a line of its own streams
	maxWait   = 64   // bytes that a machine leaves unread until it knows how they end
)

// A state is what the decoder does with the next byte.
type state uint8

const (
	inText    state = iota
	inOpener        // some prefix of an opener has been read
	inFence         // the line that opens a code fence
	inElement       // the place where a call may begin: after an opener, at a line's start, on the first line of a fence
	inBody          // a body machine reads
	inClosing       // the line that closes a fence whose call was read
	inOpened        // behind the line that opens a fence, in which no form of block was found
)

// A Decoder turns the text of one model response into events.
//
// # How it works
//
// Text is scanned for the bytes that can begin a call. Such a byte opens a candidate: from there on bytes are held, until
// the shape that follows confirms the call or a byte comes that cannot belong to one. A refused candidate goes back to
// being text: its first byte is passed on, the rest is scanned anew. Once a body machine has confirmed a call nothing is
// scanned twice.
//
// Every event begins where the last one ended, so that spans cover the text:
//
//	last       holdAt            candAt               position
//	| text     | white space or  | the candidate      |
//	| not yet  | the line that   |                    |
//	| emitted  | opens a fence   |                    |
//
// When an input ends, text goes out and what is held moves to the arena.
type Decoder struct {
	set *set

	cut    string   // the first bytes of a character that the end of a chunk cut: no reader sees a part of one
	after  *byteSet // what quick is to be behind it
	joined arena    // such characters

	// The input being read and where it stands in the whole text. Refused bytes are read a second time as an input of their own.
	in   string
	base int
	dst  []chat.Event
	last int // end of the last event's span

	// Bytes from the offset unread on that a machine wants to read together with what follows them, such as the start of a key. They
	// are held. When an input is the last word about its bytes, as at the end of the text, nothing waits.
	waiting bool
	unread  int
	expect  string   // what they most likely go on with, of which nothing but the last byte decides anything
	met     int      // how much of it came
	stop    *byteSet // where nothing is expected: the bytes that may decide; nil: any may
	most    int      // how many bytes may wait
	final   bool

	state   state
	ctx     lineContext
	quick   *byteSet // see plainTable
	streams bool     // what passes belongs to arguments that stand in the text as they are
	inArgs  bool     // see readsArgs
	follows bool     // see follower
	plain   int      // bytes before this offset are text whatever they look like
	rescan  bool     // a body was refused that read nothing twice: what it held is scanned, however long
	node    int32
	elem    element

	holding   bool
	alike     bool // the candidate began as the last one did
	confirmed bool // the candidate is a call, or an attempt: what is held is kept only for reports
	accepted  bool // one of its calls was whole
	holdAt    int
	candAt    int
	spilled   int // held bytes before this offset are in the arena
	arena     arena
	candCtx   lineContext // the context at candAt, to go back to
	fenced    fence       // the fence whose opening line is held with the candidate
	fencedEnd int         // where that line ends
	labelAt   int         // where the label before the candidate begins, if there is one
	tokenEnd  int         // where the candidate's opener ends, if that is left out even where no call follows
	body      body
	readers   *bodies
	dialect   string // of the candidate
	wanted    int    // bytes of what a whole message begins with that were read
	gathers   bool   // nothing but the end of the message decides about it

	call     openCall
	args     builder  // of the call, as far as they do not stand in the text as they are
	head     callHead // of the last one
	tail     callTail
	calls    int         // calls and attempts so far
	spare    []wholeCall // memory for those to come
	lastCall string      // the dialect of the last call that ended

	sources *sources // records where arguments are read from; nil: nobody asks
	think   reasoning
	shadows bool     // it is the shadow of another, which reads reasoning: tags of reasoning open no block in it
	frame   string   // what closes the tag around the answer that was left out
	above   lastText // what was passed on, where names of files are looked for
	seen    bool     // content other than white space, or a call, came out since the start
	steps   int      // bytes that were looked at, each time anew: tests hold it to be linear in the text
}

// New returns a decoder for texts under o. It fails when o names an unknown dialect.
func New(o Options) (*Decoder, error) {
	s, err := newSet(o)
	if err != nil {
		return nil, err
	}
	d := &Decoder{set: s}
	d.Reset()
	return d, nil
}

// Reset makes the decoder ready for another text under the same options.
func (d *Decoder) Reset() {
	readers := d.readers
	if readers == nil {
		readers = new(bodies)
	}
	d.args.begin()
	*d = Decoder{set: d.set, ctx: lineContext{bol: true}, args: d.args, arena: d.arena, joined: d.joined, readers: readers, head: d.head, tail: d.tail, sources: d.sources, steps: d.steps,
		above: lastText{b: d.above.b[:0]}}
	d.think.open = d.set.opts.Thinking.Open && !d.set.opts.Thinking.Off
	d.think.primed = d.think.open
	if d.set.wholeMessage {
		d.arena.mark()
	}
}

// Feed appends to dst the events that chunk completes and returns it. Events may alias chunk.
func (d *Decoder) Feed(dst []chat.Event, chunk string) []chat.Event {
	if chunk == "" {
		return dst
	}
	whole := chunk[len(chunk)-1] < 0x80
	if whole && d.quick != nil {
		switch {
		case !d.quick.none(chunk):
			switch {
			case d.inArgs:
				return d.readArgs(dst, chunk)
			case d.follows:
				return d.readFollowed(dst, chunk)
			}
			return d.read(dst, chunk)
		case d.streams:
			return d.passRaw(dst, chunk)
		case d.waiting:
			return d.passHeld(dst, chunk)
		}
		return d.pass(dst, chunk)
	}
	if n := d.met + len(chunk); n < len(d.expect) && d.expect[d.met:n] == chunk {
		d.met = n
		return dst
	}
	if d.met > 0 && !(whole && d.expect[d.met-1] < utf8.RuneSelf) {
		d.unmeet()
	}
	switch {
	case d.cut != "":
	case d.gathers:
		d.arena.write(chunk)
		return dst
	case whole && d.inArgs:
		return d.readArgs(dst, chunk)
	case whole && d.follows:
		return d.readFollowed(dst, chunk)
	case whole:
		return d.read(dst, chunk)
	}
	return d.feed(dst, chunk)
}

// feed takes in a chunk that begins or ends in a character. What it ends with of one waits for the rest.
func (d *Decoder) feed(dst []chat.Event, chunk string) []chat.Event {
	if d.cut != "" {
		dst, chunk = d.joinRune(dst, chunk)
	}
	cut := partialRune(chunk)
	if n := len(chunk) - cut; n > 0 {
		dst = d.read(dst, chunk[:n])
	}
	if cut == 0 {
		return dst
	}
	if rest := chunk[len(chunk)-cut:]; d.met == 0 && len(rest) < len(d.expect) && d.expect[:cut] == rest {
		d.met = cut
	} else {
		d.cut, d.after, d.quick, d.expect = rest, d.quick, nil, ""
	}
	return dst
}

// joinRune reads the character that the last chunk cut, and returns what follows it in this one.
func (d *Decoder) joinRune(dst []chat.Event, chunk string) ([]chat.Event, string) {
	n, want := 0, runeLen(d.cut[0])-len(d.cut)
	for n < len(chunk) && n < want && chunk[n]&0xC0 == 0x80 {
		n++
	}
	d.joined.mark()
	d.joined.write(d.cut)
	d.joined.write(chunk[:n])
	whole := d.joined.last(d.joined.from)
	if n == len(chunk) && n < want {
		d.cut = whole
		return dst, ""
	}
	d.cut, d.quick = "", d.after
	return d.read(dst, whole), chunk[n:]
}

// read takes in a piece of the text.
func (d *Decoder) read(dst []chat.Event, chunk string) []chat.Event {
	switch {
	case d.inArgs:
		return d.readArgs(dst, chunk)
	case d.follows:
		return d.readFollowed(dst, chunk)
	}
	d.dst = dst
	switch {
	case d.quick != nil && d.passes(chunk):
	case d.head.id.to > 0 && d.waiting && d.passesID(chunk):
	case d.set.wholeMessage:
		d.feedWhole(chunk)
	default:
		at := d.base + len(d.in)
		if d.waiting {
			chunk, at = d.takeUnread(chunk)
		}
		d.consume(chunk, at)
		d.settle()
	}
	dst, d.dst = d.dst, nil
	return dst
}

// settle ends a chunk that was read: what was added to the arguments goes out, and what is to come is looked at as the state wants it.
func (d *Decoder) settle() {
	if d.call.told < d.args.len() {
		d.tellSome()
	}
	if d.holding && !d.call.open && d.head.text != "" && !(d.state == inText && d.expect != "") {
		d.expectHead()
	}
	d.quick = d.plainTable()
}

// takeUnread returns the bytes that wait, with what was met of those that were expected and with chunk, and where they begin.
func (d *Decoder) takeUnread(chunk string) (in string, at int) {
	end := d.base + len(d.in) + d.met + len(chunk)
	if d.met > 0 {
		d.arena.write(d.expect[:d.met])
		d.met, d.in, d.base = 0, "", end
	}
	d.arena.write(chunk)
	d.waiting, d.expect, d.spilled = false, "", end
	return d.arena.end(end-d.unread, d.unread-d.holdAt), d.unread
}

// passes emits a chunk that belongs to what is being read as a whole, and reports whether it is one.
func (d *Decoder) passes(chunk string) bool {
	if d.waiting {
		return d.quick == &lineStop && d.passesLine(chunk)
	}
	switch d.quick {
	case &d.set.mid:
		return d.glance(chunk)
	case &doubleStop:
		if !plainJSON(chunk) {
			return false
		}
	case &tagStop, &elementStop, &entityStop:
		return len(chunk) <= maxPieces && d.readers.tags.passes(d, chunk)
	case &blockStop:
		if len(chunk) > maxPieces || !d.readers.block.passes(chunk) {
			return false
		}
		d.passEscaped(chunk)
		return true
	default:
		if !d.quick.none(chunk) {
			return false
		}
	}
	d.dst = d.pass(d.dst, chunk)
	return true
}

// Close appends the events that the end of the text completes and returns dst. The decoder must be Reset before it is fed
// again.
func (d *Decoder) Close(dst []chat.Event) []chat.Event {
	if d.met > 0 {
		d.unmeet()
	}
	if d.cut != "" {
		dst = d.read(dst, d.cut)
		d.cut = ""
	}
	d.dst, d.final = dst, true
	if d.follows {
		d.stopFollowing(d.base + len(d.in))
	}
	if d.waiting {
		d.consume(d.takeUnread(""))
	}
	if d.set.wholeMessage {
		d.closeWhole()
	} else {
		d.closeText()
		d.promote()
	}
	d.tellArgs()
	dst, d.dst = d.dst, nil
	return dst
}

// plainTable returns the bytes that need a look where the decoder stands, if all others simply pass: in the middle of a line
// of text, and in a string argument. Nearly all of every text is one of the two.
func (d *Decoder) plainTable() *byteSet {
	d.inArgs, d.streams = d.state == inBody && d.sources == nil && d.readsArgs(), false
	if d.state == inBody && d.call.open && !d.follows && !d.inArgs && !d.waiting && d.sources == nil {
		d.followArgs()
	}
	switch {
	case d.waiting:
		return d.stop
	case d.follows:
		return d.followTable()
	case d.last < d.base+len(d.in) || d.sources != nil:
		return nil
	case d.inArgs:
		stop := d.readers.argsVal.plain()
		d.streams = stop != nil && d.call.raw
		return stop
	case d.state == inBody:
		return d.body.plain(d)
	case d.state == inText && d.seen && !d.holding && !d.think.open && d.plain <= d.last && d.ctx.plain():
		return &d.set.mid
	}
	return nil
}

// readsArgs reports whether the body machine only hands its input on, to the machine that reads the object of the arguments.
func (d *Decoder) readsArgs() bool {
	switch b := d.body.(type) {
	case *callReader:
		return b.state == cArgs && d.readers.args.state == aObject
	case *headerReader:
		return b.state == hArgs && b.skip == nil && d.readers.args.state == aObject
	}
	return false
}

// readArgs reads a chunk where the machine that reads the object of the arguments stands.
func (d *Decoder) readArgs(dst []chat.Event, chunk string) []chat.Event {
	at := d.base + len(d.in)
	if d.waiting {
		chunk, at = d.takeUnread(chunk)
	}
	d.in, d.base = chunk, at
	d.steps += len(chunk)
	v := &d.readers.argsVal
	v.begin(at, 1, 0)
	i, p := 0, going
	if c := &d.call; c.raw && c.rawTo == at && v.plainly() {
		if i, p = v.usual(chunk, 0); i == len(chunk) && v.state != vDone || p == short {
			return d.toldUsual(dst, v, i, p)
		}
	}
	d.dst = dst
	if v.state == vDone {
		v.flush(chunk, i)
		p = done
	} else {
		i, p = v.goOn(chunk, i)
	}
	if p != going {
		d.behindArgs(i, p)
	}
	d.putAside(chunk, at)
	d.settle()
	dst, d.dst = d.dst, nil
	return dst
}

// toldUsual ends a chunk of which nothing but the usual was read, up to i: it goes out as one event, and where the machine stands is known.
func (d *Decoder) toldUsual(dst []chat.Event, v *value, i int, p progress) []chat.Event {
	v.lag = 0
	if i > 0 {
		end := d.base + i
		dst = appendDelta(dst, chat.KindCallArgs, d.call.index, d.in[:i], d.last, end)
		d.last, d.call.rawTo = end, end
	}
	if end := d.base + len(d.in); d.spilled < end {
		d.arena.write(d.in[d.spilled-d.base:])
		d.spilled = end
	}
	d.quick, d.streams = nil, false
	switch {
	case p == short:
		d.awaitRest(i)
		d.quick = d.stop
	case v.state == vString:
		d.quick, d.streams = &doubleStop, true
	case v.state == vAfter && v.patient && d.patient(len(d.in)):
		if k := v.nextKey(); k != nil {
			d.await(len(d.in), k.text, nil)
		}
	}
	return dst
}

// behindArgs acts on what the machine left off with before i.
func (d *Decoder) behindArgs(i int, p progress) {
	a := &d.readers.args
	a.at(d.base, 1)
	v := more
	if p == failed {
		a.fail(a.val.err)
	}
	switch b := d.body.(type) {
	case *callReader:
		i, v = b.behindArgs(d, i, p)
	case *headerReader:
		i, v = b.behindArgs(d, i, p)
	}
	if v != more {
		i = d.leftOff(i, v)
	} else if i == len(d.in) {
		d.body.run(d, i) // to expect what follows
	}
	d.scan(d.in, i)
}

// passRaw is pass for the inside of a string of arguments that stand in the text as they are.
func (d *Decoder) passRaw(dst []chat.Event, chunk string) []chat.Event {
	a := &d.arena
	n := len(a.b)
	if n+len(chunk) > cap(a.b) {
		return d.pass(dst, chunk)
	}
	a.b = a.b[:n+len(chunk)]
	copy(a.b[n:], chunk)
	at, end := d.last, d.last+len(chunk)
	if d.in != "" {
		d.in = ""
	}
	d.base, d.last, d.spilled, d.call.rawTo, d.call.laterTo = end, end, end, end, end
	return appendDelta(dst, chat.KindCallArgs, d.call.index, chunk, at, end)
}

// pass emits a chunk in which nothing begins or ends.
func (d *Decoder) pass(dst []chat.Event, chunk string) []chat.Event {
	at, end := d.last, d.last+len(chunk)
	if d.in != "" {
		d.in = ""
	}
	d.base, d.last = end, end
	kind, index := chat.KindText, 0
	if d.state == inBody {
		kind, index = chat.KindCallArgs, d.call.index
		d.passArgs(chunk, end)
	} else if d.set.forms {
		d.above.add(chunk, at)
	}
	return appendDelta(dst, kind, index, chunk, at, end)
}

// passHeld adds a chunk to what waits.
func (d *Decoder) passHeld(dst []chat.Event, chunk string) []chat.Event {
	end := d.base + len(d.in) + len(chunk)
	if end-d.unread > d.most {
		return d.read(dst, chunk)
	}
	if a := &d.arena; len(a.b)+len(chunk) <= cap(a.b) {
		a.b = append(a.b, chunk...)
	} else {
		a.write(chunk)
	}
	if d.in != "" {
		d.in = ""
	}
	d.base, d.spilled = end, end
	return dst
}

// unmeet holds what was met of what was expected, where the text goes on in another way or to what decides.
func (d *Decoder) unmeet() {
	met := d.expect[:d.met]
	d.expect, d.met = "", 0
	if cut := partialRune(met); cut > 0 {
		d.cut, d.after = met[len(met)-cut:], nil
		met = met[:len(met)-cut]
	}
	if d.follows {
		d.readers.follower.at += len(met)
	}
	d.arena.write(met)
	end := d.base + len(d.in) + len(met)
	d.in, d.base, d.spilled = "", end, end
}

// await leaves the input unread from i on. What follows is held as well, as long as it is what is expected, or has no byte of stop.
func (d *Decoder) await(i int, expect string, stop *byteSet) {
	if expect != "" {
		stop = nil
	}
	d.waiting, d.unread, d.expect, d.stop, d.most = true, d.base+i, expect, stop, maxWait
}

// patient reports whether a machine may leave the bytes of the input from i on unread, to read them together with what follows.
func (d *Decoder) patient(i int) bool {
	return !d.final && d.holding && len(d.in)-i < maxWait && d.sources == nil
}

// appendDelta appends an event of text. An event is large: filling it where it stands takes half the time of building and
// copying one, and leaving alone what is empty spares the garbage collector's write barriers.
func appendDelta(dst []chat.Event, kind chat.Kind, index int, text string, at, end int) []chat.Event {
	n := len(dst)
	if n == cap(dst) {
		dst = append(dst, chat.Event{})
	}
	dst = dst[:n+1]
	e := &dst[n]
	if e.ID != "" || e.Name != "" || e.Detail != nil {
		*e = chat.Event{}
	}
	e.Kind, e.Flags, e.Origin, e.Turn, e.Index = kind, 0, chat.OriginText, 0, index
	e.Text, e.At, e.End = text, at, end
	return dst
}

// passArgs adds a chunk that lies in a string of the arguments to what is held and to the call.
func (d *Decoder) passArgs(chunk string, end int) {
	d.arena.write(chunk)
	d.spilled = end
	d.streams = true // the arguments stand in the text, or follow in it later
	if d.call.raw {
		d.call.rawTo = end
		return
	}
	d.settleLater(end-len(chunk), end, false)
}

// consume reads one input. At its end text goes out, and what is held moves to the arena.
func (d *Decoder) consume(in string, base int) {
	d.in, d.base = in, base
	d.steps += len(in)
	d.scan(in, 0)
	d.putAside(in, base)
}

// scan reads one input from i on.
func (d *Decoder) scan(in string, i int) {
	for i < len(in) && !d.waiting {
		switch d.state {
		case inText:
			i = d.scanText(i)
		case inOpener:
			i = d.scanOpener(i)
		case inFence:
			i = d.scanFence(i)
		case inElement:
			i = d.scanElement(i)
		case inBody:
			var v verdict
			if i, v = d.body.run(d, i); v != more {
				i = d.leftOff(i, v)
			}
		case inClosing:
			i = d.scanClosing(i)
		case inOpened:
			i = d.scanOpened(i)
		}
	}
}

// putAside ends an input: text goes out, and what is held moves to the arena.
func (d *Decoder) putAside(in string, base int) {
	switch end := base + len(in); {
	case !d.holding:
		d.textUpTo(end)
	default:
		if !d.confirmed {
			d.textUpTo(d.holdAt)
		}
		if d.spilled < end {
			d.arena.write(in[d.spilled-base:])
			d.spilled = end
		}
	}
}

// character returns where the character begins that the byte at i belongs to. What is read again up to there ends with a whole one.
func (d *Decoder) character(i int) int {
	for least := max(0, i-utf8.UTFMax+1); i > least && i < len(d.in) && d.in[i]&0xC0 == 0x80; {
		i--
	}
	return i
}

// reread reads held bytes again in the middle of another input.
func (d *Decoder) reread(held string, at int) {
	in, base, final := d.in, d.base, d.final
	d.final = true
	d.consume(held, at)
	d.in, d.base, d.final = in, base, final
}

// runHeld has a machine read held bytes in the middle of another input.
func (d *Decoder) runHeld(b body, held string, at int) (int, verdict) {
	in, base, final := d.in, d.base, d.final
	d.in, d.base, d.final = held, at, true
	d.steps += len(held)
	i, v := b.run(d, 0)
	d.in, d.base, d.final = in, base, final
	return i, v
}

// closeText decides all that is still open at the end of the text.
func (d *Decoder) closeText() {
	end := d.base + len(d.in)
	for d.holding {
		d.in, d.base = "", end
		switch d.state {
		case inBody:
			switch d.body.end(d) {
			case refused:
				d.refuse(0, "the text ended")
			case broken:
				d.breakBody(0)
			case left:
			default:
				d.finishBody(0)
			}
		case inClosing:
			d.closeFence(0)
		case inText:
			if d.ctx.after {
				d.markupUpTo(end)
			}
			d.textUpTo(end)
			d.holding = false
		default:
			d.refuse(0, "the text ended")
		}
	}
	d.textUpTo(end)
}

// hold begins to hold bytes at the offset at, where text ends for now.
func (d *Decoder) hold(at int) {
	d.holding, d.confirmed = true, false
	d.holdAt, d.candAt, d.spilled = at, at, at
	d.arena.mark()
}

// stash copies held bytes of the input up to the offset end into the arena.
func (d *Decoder) stash(end int) {
	if d.spilled < end {
		d.arena.write(d.in[d.spilled-d.base : end-d.base])
		d.spilled = end
	}
}

// held returns the held bytes [from, to).
func (d *Decoder) held(from, to int) string {
	if from >= d.base {
		return d.in[from-d.base : to-d.base]
	}
	d.stash(to)
	d.steps += to - from
	return d.arena.slice(from-d.holdAt, to-d.holdAt)
}

// trim lets go of held bytes before the offset at.
func (d *Decoder) trim(at int) {
	if at <= d.spilled {
		d.arena.cut(at - d.holdAt)
	} else {
		d.arena.mark()
		d.spilled = at
	}
	d.holdAt, d.candAt = at, at
}

// textUpTo emits the bytes up to the offset end as text.
func (d *Decoder) textUpTo(end int) {
	if d.last >= end {
		return
	}
	if d.last < d.base {
		border := min(end, d.base)
		d.emitText(d.held(d.last, border), border)
	}
	if d.last < end {
		d.emitText(d.in[d.last-d.base:end-d.base], end)
	}
}

func (d *Decoder) emitText(s string, end int) {
	if d.think.open {
		d.emitReasoning(s, end)
		return
	}
	if !d.seen && !blank(s) {
		d.seen = true
	}
	if d.set.forms {
		d.above.add(s, d.last)
	}
	d.dst = appendDelta(d.dst, chat.KindText, 0, s, d.last, end)
	d.last = end
}

// markupUpTo covers the bytes up to the offset end with an event that shows nothing.
func (d *Decoder) markupUpTo(end int) {
	if d.last < end {
		d.dst = appendDelta(d.dst, chat.KindMarkup, 0, "", d.last, end)
		d.last = end
	}
}

// note records something about the bytes [at, end) of the text.
func (d *Decoder) note(n chat.NoteDetail) {
	d.tellArgs()
	d.dst = append(d.dst, chat.Event{Kind: chat.KindNote, Index: d.call.index, At: n.At, End: n.End, Detail: &chat.Detail{Note: &n}})
}

// trace reports what became of the candidate.
func (d *Decoder) trace(end int, outcome chat.Outcome, why string) {
	if d.set.opts.Trace {
		if !d.confirmed {
			d.textUpTo(d.holdAt)
		}
		c := &chat.CandidateDetail{Dialect: d.dialect, At: d.candAt, End: end, Outcome: outcome, Why: why}
		d.dst = append(d.dst, chat.Event{Kind: chat.KindCandidate, At: c.At, End: c.End, Detail: &chat.Detail{Candidate: c}})
	}
}

// heldPart returns held bytes from the offset at on, as many up to the offset to as lie in one piece.
func (d *Decoder) heldPart(at, to int) string {
	if at >= d.base {
		return d.in[at-d.base : to-d.base]
	}
	d.stash(min(to, d.base))
	return d.arena.part(at-d.holdAt, min(to, d.base)-d.holdAt)
}

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
	inHeader        // behind a header that may be talked about
	inOver          // behind the end of the turn
)

// passing says what a chunk belongs to in which nothing begins or ends.
type passing uint8

const (
	passesOther passing = iota
	passesText          // the middle of a line of text
	passesRaw           // arguments that stand in the text as they are, or are to be copied from there
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
	input
	prediction
	shortcut
	pending
	openCalls
	state   state
	ctx     lineContext
	body    body
	readers bodies
	dst     []chat.Event
	last    int      // end of the last event's span
	plain   int      // bytes before this offset are text whatever they look like
	sources *sources // records where arguments are read from; nil: nobody asks
	think   reasoning
	turn    turn
	mention mention
	recent  recentText
	request wholeRequest
	shadows bool     // it is the shadow of another, which reads reasoning: tags of reasoning open no block in it
	frame   string   // what closes the tag around the answer that was left out
	above   lastText // what was passed on, where names of files are looked for
	seen    bool     // content other than white space, or a call, came out since the start
	steps   int      // bytes that were looked at, each time anew: tests hold it to be linear in the text
}

// An input is what is being read, and where it stands in the whole text. Refused bytes are read a second time as an input of their own.
type input struct {
	in     string
	base   int
	final  bool     // it is the last word about its bytes, as at the end of the text: nothing waits
	cut    string   // the first bytes of a character that the end of a chunk cut: no reader sees a part of one
	after  *byteSet // what quick is to be behind it
	joined arena    // such characters
}

// A prediction is how the text most likely goes on. The bytes from the offset unread on are ones that a machine wants to read together with
// what follows them, such as the start of a key. They are held.
type prediction struct {
	waiting bool
	unread  int
	expect  string   // what they most likely go on with, of which nothing but the last byte decides anything
	met     int      // how much of it came
	stop    *byteSet // where nothing is expected: the bytes that may decide; nil: any may
}

// A shortcut says which chunks belong to what is being read as a whole: those without a byte of quick, where that is not nil.
type shortcut struct {
	quick  *byteSet // see plainTable
	passes passing  // what passes
	inArgs bool     // see readsArgs
}

// pending is the text that is held, and the candidate that it is held for.
type pending struct {
	holding   bool
	confirmed bool // the candidate is a call, or an attempt: what is held is kept only for reports
	accepted  bool // one of its calls was whole
	rescan    bool // a body was refused that read nothing twice: what it held is scanned, however long
	holdAt    int
	candAt    int
	spilled   int // held bytes before this offset are in the arena
	arena     arena
	candCtx   lineContext // the context at candAt, to go back to
	fenced    fence       // the fence whose opening line is held with the candidate
	fencedEnd int         // where that line ends
	labelAt   int         // where the label before the candidate begins, if there is one
	tokenEnd  int         // where the candidate's opener ends, if that is left out even where no call follows
	dialect   string
	node      int32 // of the automaton
	elem      element
}

// openCalls are the call that is being read and what is kept of those before it.
type openCalls struct {
	call     openCall
	calls    int         // calls and attempts so far
	spare    []wholeCall // memory for those to come
	lastCall string      // the dialect of the last call that ended
}

// A wholeRequest is how far a message is read that is one request or none.
type wholeRequest struct {
	wanted  int  // bytes of what it begins with that were read
	gathers bool // nothing but the end of the message decides about it
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

// Reset makes the decoder ready for another text under the same options. Of the last one nothing is left in it.
func (d *Decoder) Reset() {
	d.readers.wipe()
	set, readers, sources, steps := d.set, d.readers, d.sources, d.steps
	*d = Decoder{}
	d.set, d.readers, d.sources, d.steps, d.ctx.bol = set, readers, sources, steps, true
	d.turn.closed = -1
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
		if !d.quick.none(chunk) {
			if d.passes == passesText {
				return d.readText(dst, chunk)
			}
			return d.read(dst, chunk)
		}
		switch d.passes {
		case passesText:
			return d.passText(dst, chunk)
		case passesRaw:
			return d.passRaw(dst, chunk)
		}
		return d.pass(dst, chunk)
	}
	if n := d.met + len(chunk); n < len(d.expect) && d.expect[d.met:n] == chunk {
		d.met = n
		return dst
	}
	if d.met > 0 {
		d.unmeet()
	}
	switch {
	case d.cut != "":
	case d.request.gathers:
		d.arena.write(chunk)
		return dst
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
	if cut > 0 {
		d.cut, d.after, d.quick, d.expect = chunk[len(chunk)-cut:], d.quick, nil, ""
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
	if d.openMention(dst); d.quick == nil || !d.passesOn(chunk) {
		d.look(chunk)
	}
	return d.closeMention()
}

// readText is read in the middle of a line of text.
func (d *Decoder) readText(dst []chat.Event, chunk string) []chat.Event {
	if i, ticks := d.skim(chunk, 0); i == len(chunk) {
		d.ctx.ticks = ticks
		return d.passText(dst, chunk)
	}
	d.dst = dst
	d.look(chunk)
	return d.closeMention()
}

// look reads a chunk in which something may begin or end.
func (d *Decoder) look(chunk string) {
	switch {
	case d.set.wholeMessage:
		d.feedWhole(chunk)
	default:
		at := d.base + len(d.in)
		if d.waiting {
			d.arena.write(chunk)
			d.spilled = at + len(chunk)
			chunk, at = d.takeUnread()
		}
		if d.inArgs {
			d.consumeArgs(chunk, at)
		} else {
			d.consume(chunk, at)
		}
		if d.call.told < d.call.args.Len() {
			d.tellArgs()
		}
		d.quick = d.plainTable()
	}
}

// takeUnread returns the bytes that wait, to the end of what is held, and where they begin.
func (d *Decoder) takeUnread() (in string, at int) {
	d.waiting, d.expect = false, ""
	return d.arena.slice(d.unread-d.holdAt, d.spilled-d.holdAt), d.unread
}

// passesOn emits a chunk that belongs to what is being read as a whole, and reports whether it is one.
func (d *Decoder) passesOn(chunk string) bool {
	if d.waiting {
		return false
	}
	switch d.quick {
	case &d.set.mid:
		return d.glance(chunk)
	case &doubleStop:
		if !plainJSON(chunk) {
			return false
		}
	case &tagStop, &elementStop:
		if len(chunk) > maxPieces || !d.readers.tags.passes(chunk) {
			return false
		}
		d.passEscaped(chunk)
		return true
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
	d.openMention(dst)
	d.final = true
	if d.waiting {
		d.consume(d.takeUnread())
	}
	if d.set.wholeMessage {
		d.closeWhole()
	} else {
		d.closeText()
		d.promote()
	}
	d.tellArgs()
	if d.mention.state != mentionNone {
		d.meant()
	}
	dst, d.dst = d.dst, nil
	return dst
}

// plainTable returns the bytes that need a look where the decoder stands, if all others simply pass: in the middle of a line
// of text, and in a string argument. Nearly all of every text is one of the two.
func (d *Decoder) plainTable() *byteSet {
	d.inArgs, d.passes = d.state == inBody && d.sources == nil && d.readsArgs(), passesOther
	switch {
	case d.mention.state != mentionNone:
		return nil
	case d.waiting:
		return d.stop
	case d.last < d.base+len(d.in) || d.sources != nil:
		return nil
	case d.state == inBody:
		stop := d.body.plain(d)
		if stop != nil && d.call.follows(d.last) {
			d.passes = passesRaw
		}
		return stop
	case d.state == inText && d.seen && !d.holding && !d.think.open && d.plain <= d.last && d.ctx.plain():
		if d.set.formTools == nil {
			d.passes = passesText
		}
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

// consumeArgs is consume for an input that such a machine would hand on.
func (d *Decoder) consumeArgs(in string, base int) {
	d.in, d.base = in, base
	d.steps += len(in)
	a := d.readers.args
	a.at(base, 1)
	i, p := a.val.run(in, 0)
	if p != going {
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
		}
		d.scan(in, i)
	}
	d.putAside(in, base)
}

// passRaw is pass for the inside of a string of arguments that stand in the text as they are, or are to be copied from there.
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
	d.base, d.last, d.spilled = end, end, end
	if d.call.raw {
		d.call.rawTo = end
	} else {
		d.call.laterTo = end
	}
	return appendDelta(dst, chat.KindCallArgs, d.call.index, chunk, at, end)
}

// pass emits a chunk in which nothing begins or ends.
func (d *Decoder) pass(dst []chat.Event, chunk string) []chat.Event {
	if d.waiting {
		return d.passHeld(dst, chunk)
	}
	at, end := d.last, d.last+len(chunk)
	if d.in != "" {
		d.in = ""
	}
	d.base, d.last = end, end
	kind, index := chat.KindText, 0
	if d.state == inBody {
		kind, index = chat.KindCallArgs, d.call.index
		d.passArgs(chunk, end)
	} else {
		d.recent.add(chunk)
		if d.set.formTools != nil {
			d.above.add(chunk, at)
		}
	}
	return appendDelta(dst, kind, index, chunk, at, end)
}

// passText is pass for the middle of a line of text.
func (d *Decoder) passText(dst []chat.Event, chunk string) []chat.Event {
	at, end := d.last, d.last+len(chunk)
	if d.in != "" {
		d.in = ""
	}
	d.base, d.last = end, end
	d.recent.add(chunk)
	return appendDelta(dst, chat.KindText, 0, chunk, at, end)
}

// passHeld adds a chunk to what waits.
func (d *Decoder) passHeld(dst []chat.Event, chunk string) []chat.Event {
	end := d.base + len(d.in) + len(chunk)
	if end-d.unread > maxWait {
		return d.read(dst, chunk)
	}
	d.arena.write(chunk)
	d.in, d.base, d.spilled = "", end, end
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
	d.arena.write(met)
	end := d.base + len(d.in) + len(met)
	d.in, d.base, d.spilled = "", end, end
}

// await leaves the input unread from i on. What follows is held as well, as long as it is what is expected, or has no byte of stop.
func (d *Decoder) await(i int, expect string, stop *byteSet) {
	if expect != "" {
		stop = nil
	}
	d.waiting, d.unread, d.expect, d.stop = true, d.base+i, expect, stop
}

// patient reports whether a machine may leave the bytes of the input from i on unread, to read them together with what follows.
func (d *Decoder) patient(i int) bool {
	return !d.final && d.holding && len(d.in)-i < maxWait && d.sources == nil && d.mention.state == mentionNone
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
	d.spilled, d.passes = end, passesRaw // or is to be copied from there from now on
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
			switch {
			case d.mention.state == mentionBehind:
				i = d.decideMention(i)
			case d.turn.returned != "":
				i = d.scanReturned(i)
			default:
				i = d.scanText(i)
			}
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
		case inHeader:
			i = d.scanHeader(i)
		case inOver:
			i = len(in)
			d.passOver(d.base + i)
		}
	}
}

// putAside ends an input: text goes out, and what is held moves to the arena.
func (d *Decoder) putAside(in string, base int) {
	if d.mention.state != mentionNone {
		d.mentionInput(base + len(in))
	}
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
	if m := &d.mention; m.state == mentionBehind && m.sure {
		d.mentionInput(m.end)
		d.unsay()
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

// heldPart returns held bytes from the offset at on, as many up to the offset to as lie in one piece.
func (d *Decoder) heldPart(at, to int) string {
	if at >= d.base {
		return d.in[at-d.base : to-d.base]
	}
	d.stash(min(to, d.base))
	return d.arena.part(at-d.holdAt, min(to, d.base)-d.holdAt)
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
	d.recent.add(s)
	if d.set.formTools != nil {
		d.above.add(s, d.last)
	}
	d.dst = appendDelta(d.dst, chat.KindText, 0, s, d.last, end)
	d.last = end
}

// markupUpTo covers the bytes up to the offset end with an event that shows nothing.
func (d *Decoder) markupUpTo(end int) {
	if d.last < end {
		d.recent.add("")
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

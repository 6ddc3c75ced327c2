package dialect

import (
	"strings"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
)

// Limits of the decoder. They bound what is held back and how deep a value may nest; they never cut an argument.
const (
	maxHeader = 256  // bytes between an opener and the name of the tool, and of a name or a key at call level
	maxBlank  = 64   // bytes of white space at the end of a line that are held for a call to claim
	maxAlone  = 1024 // bytes of arguments after which a call on a line of its own streams
	maxWait   = 64   // bytes that a machine leaves unread until it knows how they end
)

// A state decides what the decoder does with the next byte.
type state uint8

const (
	inText   state = iota
	inOpener       // some prefix of an opener has been read
	inFence        // the line that opens a code fence
	// the place where a call may begin: after an opener, at a line's start, on the first line of a fence
	inElement
	inBody    // a body machine reads
	inClosing // the line that closes a fence whose call was read
	inOpened  // behind the line that opens a fence, in which no form of block was found
	inHeader  // behind a header that may be talked about
	inOver    // behind the end of the turn
)

// passing says what a chunk belongs to in which nothing begins or ends.
type passing uint8

const (
	passesOther passing = iota
	passesText          // the middle of a line of text
	passesArgs          // arguments that stand in the text as they are, or are to be copied from there
)

// A Decoder turns the text of one model response into events.
//
// # How it works
//
// Text is scanned for the bytes that can begin a call. Such a byte opens a candidate: from there on bytes are
// held, until the shape that follows confirms the call or a byte comes that cannot belong to one. A refused
// candidate goes back to being text: its first byte is passed on, the rest is scanned anew. Once a body
// machine has confirmed a call nothing is scanned twice.
type Decoder struct {
	driver
	state   state
	ctx     lineContext
	quick   *chars.Set // chunks without a byte of it belong as a whole to what is being read; nil: none do
	passing passing
	think   reasoning
	mention mention
	shadows bool   // it is the shadow of another, which reads reasoning: tags of reasoning open no block in it
	frame   string // what closes the tag around the answer that was left out
}

// A candidate may become a call. It begins at candAt.
type candidate struct {
	first      byte
	rescan     bool        // a body was refused that read nothing twice: what it held is scanned, however long
	ctx        lineContext // the context where it begins, to go back to
	fenced     fence       // the fence whose opening line is held with it
	fencedEnd  int         // where that line ends
	labelAt    int         // where the label before it begins, if there is one
	shorter    *opener     // of reasoning, which ends at shorterEnd: a longer one may begin with it
	shorterEnd int
	tokenEnd   int   // where its opener ends, if that is left out even where no call follows
	node       int32 // of the automaton
	elem       element
}

// New returns a decoder for texts under o. It fails when o names an unknown dialect.
func New(o Options) (*Decoder, error) {
	s, err := newSet(o)
	if err != nil {
		return nil, err
	}
	d := &Decoder{driver: driver{set: s}}
	d.Reset()
	return d, nil
}

// Reset makes the decoder ready for another text under the same options. Of the last one nothing is left in it.
func (d *Decoder) Reset() {
	d.readers.wipe()
	set, readers, steps := d.set, d.readers, d.text.steps
	*d = Decoder{}
	d.set, d.readers, d.text.steps = set, readers, steps
	d.call.text, d.call.set, d.call.watch = &d.text, set, d
	d.text.files, d.ctx.bol = d.set.formTools != nil, true
	d.turn.closed, d.text.fragment = -1, -1
	d.think.open = d.set.opts.Thinking.Open && !d.set.opts.Thinking.Off
	d.think.primed = d.think.open
}

// Feed appends to dst the events that chunk completes and returns it. Events may alias chunk.
func (d *Decoder) Feed(dst []chat.Event, chunk string) []chat.Event {
	if chunk == "" {
		return dst
	}
	whole := chunk[len(chunk)-1] < utf8.RuneSelf
	if whole && d.quick != nil {
		if d.quick.None(chunk) {
			switch d.passing {
			case passesText:
				return d.text.pass(dst, chunk)
			case passesArgs:
				return d.passArgs(dst, chunk)
			}
			return d.pass(dst, chunk)
		}
		if d.passing == passesText {
			return d.readText(dst, chunk)
		}
		return d.read(dst, chunk)
	}
	if n := &d.text.next; n.met+len(chunk) < len(n.expect) && n.expect[n.met:n.met+len(chunk)] == chunk {
		n.met += len(chunk)
		return dst
	} else if n.met > 0 {
		d.flushMet()
	}
	if whole && d.text.cut == "" {
		return d.read(dst, chunk)
	}
	return d.feed(dst, chunk)
}

// feed reads a chunk that begins or ends in a character. What it ends with of one waits for the rest.
func (d *Decoder) feed(dst []chat.Event, chunk string) []chat.Event {
	first, rest := d.text.characters(chunk)
	if first != "" {
		d.quick = d.plainTable()
		dst = d.read(dst, first)
	}
	if rest != "" {
		dst = d.read(dst, rest)
	}
	if d.text.cut != "" {
		d.quick, d.text.next.expect = nil, ""
	}
	return dst
}

// readText reads a piece of a line of text.
func (d *Decoder) readText(dst []chat.Event, in string) []chat.Event {
	if i, ticks := d.skim(in, 0); i == len(in) {
		d.ctx.ticks = ticks
		return d.text.pass(dst, in)
	}
	return d.look(dst, in)
}

// read reads a piece of the text.
func (d *Decoder) read(dst []chat.Event, in string) []chat.Event {
	if d.quick == nil || d.text.next.waiting {
		return d.look(dst, in)
	}
	escaped := false // it belongs as a whole to the value that is read, though not as it stands
	switch d.quick {
	case &tagStop, &elementStop:
		escaped = len(in) <= maxPieces && d.readers.tags.passes(in)
	case &d.set.mid:
		i, ticks := d.skim(in, 0)
		if i < len(in) {
			return d.look(dst, in)
		}
		d.ctx.ticks = ticks
		return d.pass(dst, in)
	case &blockStop:
		escaped = len(in) <= maxPieces && d.readers.block.passes(in)
	case &literalStop:
		escaped = len(in) <= maxPieces && strings.IndexByte(in, '<') < 0
	}
	switch {
	case escaped:
		return d.passEscaped(dst, in)
	case d.quick == &chars.Escaped && value.PlainJSON(in), d.quick != &chars.Escaped && d.quick.None(in):
		return d.pass(dst, in)
	}
	return d.look(dst, in)
}

// look reads a piece in which something may begin or end.
func (d *Decoder) look(dst []chat.Event, in string) []chat.Event {
	d.openMention(dst)
	at := d.text.end()
	if d.text.next.waiting {
		d.text.arena.write(in)
		d.text.spilled = at + len(in)
		in, at = d.text.takeUnread()
	}
	d.consume(in, at)
	if d.call.told < d.call.args.Len() {
		d.call.tell()
	}
	d.quick = d.plainTable()
	return d.closeMention()
}

// pass emits a piece in which nothing begins or ends, or holds it with what waits.
func (d *Decoder) pass(dst []chat.Event, in string) []chat.Event {
	t := &d.text
	switch n := &t.next; {
	case n.waiting && t.end()+len(in)-n.unread > maxWait:
		return d.read(dst, in)
	case n.waiting:
		t.skip(in)
		return dst
	case d.state != inBody:
		if t.files {
			t.above.add(in, t.last)
		}
		return t.pass(dst, in)
	}
	at := t.last
	t.skip(in)
	t.last, d.passing = t.base, passesArgs // or is to be copied from there from now on
	d.call.follow(at, t.last)
	return appendDelta(dst, chat.KindCallArgs, d.call.index, in, at, t.last)
}

// passArgs is pass for the inside of a string of arguments that stand in the text as they are, or are to be
// copied from there.
func (d *Decoder) passArgs(dst []chat.Event, in string) []chat.Event {
	t := &d.text
	a := &t.arena
	n := len(a.b)
	if n+len(in) > cap(a.b) {
		return d.pass(dst, in)
	}
	a.b = a.b[:n+len(in)]
	copy(a.b[n:], in)
	at, end := t.last, t.last+len(in)
	t.base, t.last, t.spilled = end, end, end
	if d.call.raw {
		d.call.rawTo = end
	} else {
		d.call.laterTo = end
	}
	return appendDelta(dst, chat.KindCallArgs, d.call.index, in, at, end)
}

// flushMet holds what was met of what was expected, where the text goes on in another way or to what decides.
func (d *Decoder) flushMet() {
	n := &d.text.next
	met := n.expect[:n.met]
	n.expect, n.met = "", 0
	if cut := chars.PartialRune(met); cut > 0 {
		d.text.cut = met[len(met)-cut:]
		met = met[:len(met)-cut]
	}
	d.text.skip(met)
}

// Truncated says, before Close, that the text was cut at a limit. A call that lacks its end is then incomplete, even if
// all of its arguments are closed: more of them may have been to come.
func (d *Decoder) Truncated() { d.truncated = true }

// Close appends the events that the end of the text completes and returns dst. The decoder must be Reset
// before it is fed again.
func (d *Decoder) Close(dst []chat.Event) []chat.Event {
	if d.text.next.met > 0 {
		d.flushMet()
	}
	if d.text.cut != "" {
		dst = d.read(dst, d.text.cut)
		d.text.cut = ""
	}
	d.openMention(dst)
	d.text.final = true
	if d.text.next.waiting {
		d.consume(d.text.takeUnread())
	}
	d.closeText()
	d.promote()
	d.call.tell()
	if d.mention.state != mentionNone {
		d.meant()
	}
	dst, d.text.dst = d.text.dst, nil
	return dst
}

// plainTable returns the bytes that need a look where the decoder stands, if all others simply pass: in the
// middle of a line of text, and in a string argument. Nearly all of every text is one of the two.
func (d *Decoder) plainTable() *chars.Set {
	d.passing = passesOther
	switch t := &d.text; {
	case d.mention.state != mentionNone:
	case t.next.waiting:
		return t.next.stop
	case t.last < t.end():
	case d.state == inBody:
		stop := d.body.plain(&d.driver)
		if stop != nil && d.call.follows(t.last) {
			d.passing = passesArgs
		}
		return stop
	case d.state == inText && t.seen && !t.holding && !d.think.open && d.plain <= t.last && d.ctx.plain():
		if !t.files {
			d.passing = passesText
		}
		return &d.set.mid
	}
	return nil
}

// consume reads one input. At its end text goes out, and what is held moves to the arena.
func (d *Decoder) consume(in string, base int) {
	d.text.put(in, base)
	d.scan(in, 0)
	d.putAside(in, base)
}

// scan reads one input from i on.
func (d *Decoder) scan(in string, i int) {
	for i < len(in) {
		if d.text.next.waiting {
			if d.text.next.end == d.text.end() {
				break
			}
			i = d.goOn(i)
			continue
		}
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
			if i, v = d.body.run(&d.driver, i); v != more {
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
			d.passOver(d.text.at(i))
		}
	}
}

// putAside ends an input: text goes out, and what is held is kept.
func (d *Decoder) putAside(in string, base int) {
	end := base + len(in)
	if d.mention.state != mentionNone {
		d.mentionInput(end)
	}
	switch t := &d.text; {
	case !t.holding:
		d.textUpTo(end)
	default:
		if !t.confirmed {
			d.textUpTo(t.holdAt)
		}
		if t.spilled < end {
			t.arena.write(in[t.spilled-base:])
			t.spilled = end
		}
	}
	d.text.in, d.text.base = "", end
}

// reread reads held bytes again in the middle of another input. What of them waits is read together with what follows
// them there.
func (d *Decoder) reread(held string, at int) {
	in, base, final := d.text.in, d.text.base, d.text.final
	d.text.final = final && at+len(held) == base+len(in)
	d.consume(held, at)
	d.text.in, d.text.base, d.text.final = in, base, final
}

// goOn reads held bytes that wait together with what follows them in the input from i on, and returns where that ends.
func (d *Decoder) goOn(i int) int {
	to := len(d.text.in)
	if to-i > maxWait {
		to = d.text.character(i + maxWait)
	}
	d.text.arena.write(d.text.in[i:to])
	d.text.spilled = d.text.at(to)
	d.reread(d.text.takeUnread())
	return to
}

// closeText decides all that is still open at the end of the text.
func (d *Decoder) closeText() {
	end := d.text.end()
	for d.text.holding {
		switch d.state {
		case inBody:
			switch d.body.end(&d.driver) {
			case refused:
				d.refuse(0, "the text ended")
			case broken:
				d.breakBody(0)
			case left:
			case yields:
				d.then(d, 0)
			default:
				d.finishBody(0)
			}
		case inClosing:
			d.closeFence(0)
		case inOpener:
			if d.cand.shorter != nil {
				d.openShorter(0)
			} else {
				d.refuse(0, "the text ended")
			}
		case inText:
			if d.ctx.after {
				d.text.markupUpTo(end)
			}
			d.textUpTo(end)
			d.text.holding = false
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

// textUpTo emits the bytes up to the offset end as text, or as the reasoning that they are.
func (d *Decoder) textUpTo(end int) {
	for d.text.last < end {
		if !d.think.open {
			d.text.textUpTo(end)
			return
		}
		d.emitReasoning(d.text.piece(end))
	}
}

// trace reports what became of the candidate.
func (d *Decoder) trace(end int, outcome chat.CandidateOutcome, why string) {
	if d.set.opts.Trace {
		if !d.text.confirmed {
			d.textUpTo(d.text.holdAt)
		}
		c := &chat.CandidateDetail{Dialect: d.call.dialect, At: d.text.candAt, End: end, Outcome: outcome, Why: why}
		d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindCandidate, At: c.At, End: c.End, Detail: c})
	}
}

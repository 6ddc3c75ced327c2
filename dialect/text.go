package dialect

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
)

// A lineContext describes the line that the scanner of text is on, to tell a call from one that is only shown:
// code, quotations and inline code are never read.
type lineContext struct {
	bol   bool // nothing but blanks so far on the line
	after bool // nothing but blanks and separators since a call ended
	gap   bool // nothing but blanks since a reasoning block ended
	// nothing but blanks since a label that announces a call; it is held with them, for the dialect that is named here
	label string
	quote bool // the line began with '>'
	torn  bool // it goes on behind a call that broke in it
	ticks bool // the number of back-tick runs so far on the line is odd
	tick  bool // the last byte was a back-tick
	fence fence
	until string // text is read for nothing but this: the end of a tool's result that the model repeats
	met   int    // bytes of it that were read
}

// A fence is an open Markdown code fence.
type fence struct {
	mark    byte // '`' or '~'; 0: none is open
	n       int  // length of the opening run
	run     int  // marks at the start of the present line; -1: the line cannot close the fence
	carrier bool // its first thing was a call of a declared tool, so that more may follow
	fits    bool // its info string is one that calls are carried in
}

// passed takes note of one byte of a line that was no candidate after all.
func (c *lineContext) passed(b byte) {
	c.bol, c.after, c.gap, c.label = false, false, false, ""
	if b == '`' {
		if !c.tick {
			c.ticks = !c.ticks
		}
		c.tick = true
		return
	}
	c.tick = false
}

// plain reports whether the line is one whose middle nothing but an opener can interrupt.
func (c *lineContext) plain() bool {
	return !c.bol && !c.after && !c.gap && !c.quote && !c.tick && c.fence.mark == 0 && c.until == ""
}

// newLine begins a line.
func (c *lineContext) newLine() {
	c.bol, c.quote, c.torn, c.ticks, c.tick = true, false, false, false, false
	c.fence.run = 0
}

// scanText reads text from i on until something may begin there.
func (d *Decoder) scanText(i int) int {
	if d.text.at(i) < d.plain {
		return d.scanPlain(i)
	}
	if d.think.open {
		return d.scanReasoning(i)
	}
	switch c := &d.ctx; {
	case c.until != "":
		return d.scanVerbatim(i)
	case c.fence.mark != 0 && !c.fence.carrier:
		return d.scanFenced(i)
	case c.bol || c.after || c.gap:
		return d.scanLineStart(i)
	case c.quote:
		if n := strings.IndexByte(d.text.in[i:], '\n'); n >= 0 {
			c.newLine()
			d.text.hold(d.text.at(i) + n)
			return i + n + 1
		}
		return len(d.text.in)
	}
	return d.scanLine(i)
}

// scanLine reads the middle of a line: the place where nearly all bytes of nearly all texts are read.
func (d *Decoder) scanLine(i int) int {
	in, mid := d.text.in, &d.set.mid
	if in[i] != '`' {
		d.ctx.tick = false
	}
	if !d.text.holding && !d.ctx.tick {
		i, d.ctx.ticks = d.skim(in, i)
	}
	for i = mid.Index(in, i); i < len(in); i = mid.Index(in, i+1) {
		switch c := in[i]; c {
		case '\n', '\r':
			torn := d.ctx.torn && d.tornOn(i)
			if d.ctx.torn {
				d.turn.torn = d.text.at(i)
			}
			d.ctx.newLine()
			d.ctx.torn = torn
			if !d.text.holding {
				d.text.hold(d.text.at(i))
			}
			return i + 1
		case '`':
			if d.mayFence(in[i:]) {
				d.candidate(i, inFence)
				d.cand.elem = element{}
				return i
			}
			for i < len(in) && in[i] == '`' {
				d.ctx.passed('`')
				i++
			}
			if i < len(in) {
				d.ctx.tick = false
			}
			i--
		default:
			if d.ctx.ticks {
				continue
			}
			d.ctx.tick = false
			if c == '{' && d.set.midJSON {
				d.candidate(i, inElement)
				d.cand.elem = element{}
				return i
			}
			d.candidate(i, inOpener)
			d.cand.node = 0
			return i
		}
	}
	return i
}

// mayFence reports whether a fence may begin with in, in the middle of a line: some models write "Let me look: ```json"
// and the call below.
func (d *Decoder) mayFence(in string) bool {
	const run = "```"
	return !d.ctx.tick && !d.ctx.ticks && d.set.bare.fence &&
		in[:min(len(in), len(run))] == run[:min(len(in), len(run))]
}

// tornOn reports whether the line behind the line break at i may go on with what is left of a broken call:
// the one before does not end it.
func (d *Decoder) tornOn(i int) bool {
	last := d.text.recent.last()
	if i > 0 {
		last = d.text.in[i-1]
	} else if last == 0 { // nothing was passed on since the call broke
		last = d.turn.tornBy
	}
	return last != '>' && last != ']' && last != '}'
}

// scanLineStart reads the first byte of a line that is not blank, or the first after a call. Blanks before it are held.
func (d *Decoder) scanLineStart(i int) int {
	c := d.text.in[i]
	switch {
	case chars.IsBlank(c), d.ctx.after && (c == ',' || c == ';' || c == '+'):
		if d.text.holding && d.text.at(i)-d.text.holdAt >= maxBlank {
			d.dropHold(i)
		}
		if !d.text.holding {
			d.text.hold(d.text.at(i))
		}
		if c == '\n' || c == '\r' {
			if c == '\n' && d.ctx.bol && d.gluedRole(i) {
				return i
			}
			d.ctx.newLine()
		}
		return i + 1
	case d.ctx.fence.carrier:
		if c == d.ctx.fence.mark && (d.ctx.bol || d.ctx.after) {
			d.candidate(i, inClosing)
			d.cand.elem = element{}
			return i
		}
	case (c == '`' || c == '~') && d.ctx.bol:
		d.candidate(i, inFence)
		d.cand.elem = element{}
		return i
	case c == '>' && d.ctx.bol && !d.set.trie.starts(c):
		d.dropHold(i)
		d.ctx.passed(c)
		d.ctx.quote = true
		return i + 1
	}
	if c == '{' && d.ctx.bol && d.set.bare.name && d.ctx.label == "" {
		if r := d.gluedName(i); r != nil {
			d.candidate(i, inElement)
			return d.begin(i, r)
		}
	}
	if d.set.mayBegin(d.text.in[i:]) || d.ctx.label != "" && (c == '{' || c == '[') ||
		d.ctx.bol && d.mayWrap(c) && d.mayLeadTo(i) {
		d.candidate(i, inElement)
		d.cand.elem = element{}
		return i
	}
	d.dropHold(i)
	d.ctx.bol, d.ctx.after, d.ctx.gap, d.ctx.label = false, false, false, ""
	return i
}

// dropHold lets held blanks before i be what they are: text, or markup if they stand behind a reasoning block.
func (d *Decoder) dropHold(i int) {
	d.ctx.label = ""
	if !d.text.holding {
		return
	}
	if d.ctx.gap {
		d.textUpTo(d.text.holdAt)
		d.text.markupUpTo(d.text.at(i))
	} else if d.text.holdAt < d.text.base {
		d.textUpTo(d.text.at(i))
	}
	d.text.holding = false
}

// scanFenced reads the content of a fence that carries no call and looks for the line that closes it.
func (d *Decoder) scanFenced(i int) int {
	f := &d.ctx.fence
	if d.text.holding {
		d.dropHold(i)
	}
	in := d.text.in
	for ; i < len(in); i++ {
		switch c := in[i]; {
		case c == '\n':
			if f.run >= f.n {
				d.ctx.fence = fence{}
				d.ctx.newLine()
				d.text.hold(d.text.at(i))
				return i + 1
			}
			d.ctx.newLine()
		case f.run < 0:
			n := strings.IndexByte(in[i:], '\n')
			if n < 0 {
				return len(in)
			}
			i += n - 1
		case c == f.mark && d.ctx.bol:
			f.run++
		case c == ' ' || c == '\t' || c == '\r':
			d.ctx.bol = d.ctx.bol && f.run == 0
		default:
			f.run = -1
		}
	}
	return i
}

// scanVerbatim passes on text up to the end of a quoted result.
func (d *Decoder) scanVerbatim(i int) int {
	for ; i < len(d.text.in); i++ {
		if d.ctx.ends(d.text.in[i]) {
			d.ctx = lineContext{fence: d.ctx.fence}
			return i + 1
		}
	}
	return i
}

// ends reads a byte of a quoted result, and reports whether it is the last.
func (c *lineContext) ends(b byte) bool {
	switch b {
	case c.until[c.met]:
		c.met++
	case c.until[0]:
		c.met = 1
	default:
		c.met = 0
	}
	return c.met == len(c.until)
}

// scanPlain passes on bytes that were read once and are text.
func (d *Decoder) scanPlain(i int) int {
	end := min(len(d.text.in), d.text.index(d.plain))
	for ; i < end; i++ {
		if c := d.text.in[i]; c == '\n' {
			d.ctx.newLine()
		} else if !chars.IsBlank(c) || !d.ctx.bol {
			d.ctx.passed(c)
		}
	}
	return i
}

// candidate begins a candidate at i. Blanks that are held before it stay with it.
func (d *Decoder) candidate(i int, s state) {
	at := d.text.at(i)
	if !d.text.holding {
		d.text.hold(at)
	}
	d.text.candAt, d.cand.first, d.cand.ctx, d.state = at, d.text.in[i], d.ctx, s
	d.text.fragment = -1
	d.cand.fenced, d.cand.tokenEnd, d.cand.shorter = fence{}, 0, nil
	d.call.dialect = ""
}

// refuse ends a candidate at i because it is none, and returns where to go on: its first byte is text, what follows is
// scanned anew. Without a reason it is not traced.
func (d *Decoder) refuse(i int, why string) int {
	if d.wraps(i) {
		return i
	}
	end := d.text.at(i)
	if why != "" {
		d.trace(end, chat.OutcomeRefused, why)
	}
	d.body, d.state, d.ctx = nil, inText, d.cand.ctx
	resume := d.text.candAt + 1
	if d.cand.fenced.mark != 0 && d.cand.ctx.bol {
		// The fence stands, but carries nothing.
		d.ctx.newLine()
		d.ctx.after, d.ctx.gap, d.ctx.label = false, false, ""
		d.ctx.fence = d.cand.fenced
		d.cand.fenced = fence{}
		resume = d.cand.fencedEnd
	} else {
		d.cand.fenced = fence{} // in the middle of a line it was none
		if d.cand.tokenEnd > 0 {
			resume = d.cand.tokenEnd
			d.tokenLeftOut(d.text.index(resume))
			d.dropBefore(d.text.candAt)
			d.text.markupUpTo(resume)
		} else {
			c := d.cand.first
			d.ctx.passed(c)
			d.ctx.quote = c == '>' && d.cand.ctx.bol && !d.cand.ctx.fence.carrier
		}
		if end-d.text.candAt > maxHeader && !d.cand.rescan {
			d.plain = end
		}
		d.cand.rescan = false
	}
	if d.cand.ctx.gap && d.text.candAt > d.text.holdAt {
		d.textUpTo(d.text.holdAt)
		d.text.markupUpTo(d.text.candAt)
	}
	if resume >= d.text.base {
		d.textUpTo(min(d.text.base, resume)) // what lies in the arena
		d.text.holding = false
		return d.text.index(resume)
	}
	i = d.text.character(i)
	rest := d.text.held(resume, d.text.at(i))
	d.textUpTo(resume)
	d.text.holding = false
	d.reread(rest, resume)
	return i
}

// scanOpener walks the automaton.
func (d *Decoder) scanOpener(i int) int {
	t := &d.set.trie
	for i < len(d.text.in) {
		if rest, to := t.likely(d.cand.node); rest != "" && strings.HasPrefix(d.text.in[i:], rest) {
			d.cand.node, i = to, i+len(rest)
		} else if d.cand.node = t.next(d.cand.node, d.text.in[i]); d.cand.node == 0 {
			if d.cand.shorter != nil {
				return d.openShorter(i)
			}
			if d.cand.tokenEnd == d.text.at(i) && strings.IndexByte(" .,;:!?)", d.text.in[i]) >= 0 && d.inSentence() {
				d.cand.tokenEnd = 0
			}
			return d.refuse(i, "no opener")
		} else {
			i++
		}
		if o := t.end(d.cand.node); o != nil && !d.mayBeLonger(i, o) {
			return d.opened(i, o)
		}
	}
	if d.text.patient(i) {
		rest, _ := t.likely(d.cand.node)
		d.text.await(i, rest, nil)
	}
	return i
}

// mayBeLonger reports whether the opener that ends before i may be the start of a longer one. If it is not, it is left
// out where it would have been.
func (d *Decoder) mayBeLonger(i int, o *opener) bool {
	if !d.set.trie.goesOn(d.cand.node) && (o.use != useDrop || o.mark != markNone || o.framing || o.closer != "" ||
		o.closes || !d.inSentence()) {
		return false
	}
	if o.use == useThink && d.cand.fenced.mark == 0 && o.anywhere {
		d.cand.shorter, d.cand.shorterEnd = o, d.text.at(i)
		return true
	}
	if o.use != useDrop {
		return false
	}
	if d.cand.tokenEnd == 0 && !d.think.open && d.cand.fenced.mark == 0 && d.drops(o) && !d.quotesToken() {
		d.cand.tokenEnd = d.text.at(i)
	}
	return true
}

// openShorter begins the reasoning whose opener turned out not to be the start of a longer one. The input was read up
// to i.
func (d *Decoder) openShorter(i int) int {
	o, end := d.cand.shorter, d.cand.shorterEnd
	if d.cand.shorter = nil; end >= d.text.base {
		return d.opened(d.text.index(end), o)
	}
	i = d.text.character(i)
	rest := d.text.held(end, d.text.at(i))
	d.opened(d.text.index(end), o)
	d.reread(rest, end)
	return i
}

// blankBefore reports whether the text before the candidate that was not emitted yet is white space.
func (d *driver) blankBefore() bool {
	return d.text.last < d.text.base || d.text.last >= d.text.holdAt ||
		chars.Blank(d.text.in[d.text.index(d.text.last):d.text.index(d.text.holdAt)])
}

// opened acts on a whole opener that ends before i.
func (d *Decoder) opened(i int, o *opener) int {
	d.call.dialect = o.dialect
	if d.think.open && o.use != useThink {
		return d.refuse(i, "reasoning")
	}
	if o.lineStart && !d.cand.ctx.bol && !d.cand.ctx.after &&
		(o.mark != markOther || d.turn.closed != d.text.candAt && !d.behindSentence()) {
		return d.refuse(i, "not at the start of a line")
	}
	if o.private && d.toUser > 0 {
		if d.text.holdAt > d.toUser {
			return d.refuse(i, "shown to the user")
		}
		d.toUser = 0
	}
	if d.cand.ctx.label != "" { // it announces only what has no opener
		d.textUpTo(d.text.candAt)
		d.text.trim(d.text.candAt)
		d.cand.ctx.label = ""
	}
	switch o.use {
	case useSection:
		d.state, d.cand.elem = inElement, element{opener: o}
		if o.drop {
			d.cand.tokenEnd = d.text.at(i)
		}
	case useBody:
		return d.begin(i, o.body(&d.driver, o))
	case useThink:
		if d.think.open { // the prompt opened the block, and the model says so once more
			d.textUpTo(d.text.candAt)
			d.text.markupUpTo(d.text.at(i))
			d.text.holding, d.state = false, inText
			return i
		}
		if d.cand.fenced.mark != 0 || !o.anywhere && (d.text.seen || !d.blankBefore()) && !d.cand.ctx.bol &&
			!d.cand.ctx.after {
			return d.refuse(i, "reasoning does not begin in the middle of a line")
		}
		return d.openReasoning(i, o)
	case useEnd:
		if !d.cand.ctx.after {
			return d.refuse(i, "the end of nothing")
		}
		return d.dropToken(i)
	case useDrop:
		if d.cand.fenced.mark != 0 || !d.drops(o) || d.quotesToken() {
			return d.refuse(i, "a token without a meaning here")
		}
		if o.closer != "" || o.closes {
			d.frame = o.closer
		}
		if d.turn.example.marker != "" && !d.turn.called {
			d.tokenLeftOut(i)
			return d.leaveShown(i, "an example shows it")
		}
		d.returns(o)
		return d.dropToken(i)
	case useTurn:
		return d.turnMarker(i, o)
	case useVerbatim:
		if d.cand.fenced.mark != 0 || !o.anywhere && !d.cand.ctx.bol && !d.cand.ctx.after ||
			o.tail && (!d.cand.ctx.after || d.call.last != o.dialect) {
			return d.refuse(i, "a result does not begin in the middle of a line")
		}
		if d.turn.called && !o.anywhere {
			return d.endTurn(i, d.text.candAt, o.literal, false)
		}
		d.textUpTo(min(d.text.base, d.text.at(i)))
		d.text.holding, d.state = false, inText
		d.turn.result = d.turn.result || !o.anywhere
		d.ctx = lineContext{until: o.closer, fence: d.cand.ctx.fence}
		d.cand.fenced = fence{}
	case useBOM:
		if d.text.candAt != 0 || d.set.opts.Repair == RepairOff {
			return d.refuse(i, "no byte order mark")
		}
		d.state = inText // stays held, like white space
		d.ctx = d.cand.ctx
	}
	return i
}

// drops reports whether the token is left out where it stands.
func (d *Decoder) drops(o *opener) bool {
	switch {
	case o.first && (d.text.seen || !d.blankBefore()):
		return false
	case o.tail && (d.cand.ctx.after || d.cand.ctx.gap), o.closes && d.frame == o.literal:
		return true
	}
	return !o.tail && !o.closes
}

// dropToken leaves out the token that ends before i.
func (d *Decoder) dropToken(i int) int {
	d.tokenLeftOut(i)
	d.dropBefore(d.text.candAt)
	d.text.markupUpTo(d.text.at(i))
	d.text.holding, d.state, d.ctx = false, inText, d.cand.ctx
	if m := &d.mention; m.state == mentionBehind {
		m.end = d.text.last
		d.mentionInput(m.end)
	}
	return i
}

// dropBefore emits what stands before a token that is left out and begins at the offset at. White space between it and
// a call or a reasoning block is left out with it.
func (d *Decoder) dropBefore(at int) {
	d.textUpTo(d.text.holdAt)
	if d.cand.ctx.after || d.cand.ctx.gap {
		d.text.markupUpTo(at)
	}
	d.textUpTo(at)
}

// announce holds the label that was read, as if it were white space before the call that it announces.
func (d *Decoder) announce(i int, o *opener) int {
	if d.cand.ctx.gap {
		d.textUpTo(d.text.holdAt)
		d.text.markupUpTo(d.text.candAt)
		d.text.trim(d.text.candAt)
	}
	d.state, d.ctx, d.cand.labelAt = inText, d.cand.ctx, d.text.candAt
	d.ctx.bol, d.ctx.after, d.ctx.gap, d.ctx.label = true, false, false, o.label
	return i
}

// callAt returns the offset at which the candidate's first call begins.
func (d *driver) callAt() int {
	if d.cand.ctx.label != "" {
		return d.cand.labelAt
	}
	return d.text.candAt
}

// begin hands the candidate to a body machine.
func (d *Decoder) begin(i int, b body) int {
	if d.answersItself(i) {
		return i
	}
	d.body, d.state = b, inBody
	return i
}

// scanFence reads the line that opens a fence.
func (d *Decoder) scanFence(i int) int {
	e, mark := &d.cand.elem, d.cand.first
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		switch {
		case !e.info && c == mark:
			e.n++
		case e.n < 3 && !d.cand.ctx.bol:
			return d.refuse(i, "") // a look that only a border between chunks makes necessary
		case e.n < 3:
			return d.refuse(i, "too short for a fence")
		case c == '\n':
			return d.openFence(i+1, mark)
		case c == '`' && mark == '`':
			return d.refuse(i, "inline code")
		case !d.cand.ctx.bol && (!chars.IsWord(c) && c != '\r' || e.blanks > maxHeader):
			return d.refuse(i, "no fence in the middle of a line")
		default:
			e.info = true
			if e.blanks++; e.blanks > maxHeader {
				e.long = true
			}
		}
	}
	return i
}

// openFence ends the line that opens a fence before i. If its info string is one that calls are carried in, the line is
// held until the first thing in the fence is known.
func (d *Decoder) openFence(i int, mark byte) int {
	end := d.text.at(i)
	f := fence{mark: mark, n: d.cand.elem.n}
	if d.cand.elem.long {
		return d.openPlain(i, f)
	}
	line := d.text.held(d.text.candAt+f.n, end)
	info, crlf := strings.TrimSpace(line), strings.HasSuffix(line, "\r\n")
	if !d.cand.ctx.bol {
		if f.fits = carriers[strings.ToLower(info)]; !f.fits {
			return d.refuse(i, "no fence in the middle of a line")
		}
		return d.openPlain(i, f)
	}
	if d.openForm(i, f, info, crlf) {
		return i
	}
	return d.openOther(i, f, info, crlf)
}

// openOther opens a fence that is no block of a form behind its opening line, which ends before i.
func (d *Decoder) openOther(i int, f fence, info string, crlf bool) int {
	if d.openBlock(i, f, info, crlf) {
		return i
	}
	word, _, _ := strings.Cut(info, " ")
	if d.turn.called && resultFences[word] {
		return d.endTurn(i, d.text.candAt, "```"+word, false)
	}
	word = strings.ToLower(word)
	if d.wrapFenced(i, f, word) {
		return i
	}
	f.fits = carriers[word]
	return d.openPlain(i, f)
}

// openPlain opens a fence that is no block.
func (d *Decoder) openPlain(i int, f fence) int {
	end := d.text.at(i)
	if !f.fits || len(d.set.opts.Tools) == 0 {
		d.ctx = d.cand.ctx
		d.ctx.newLine()
		d.ctx.after, d.ctx.gap, d.ctx.label, d.ctx.fence = false, false, "", f
		d.textUpTo(min(end, d.text.base))
		d.text.holding, d.state = false, inText
		return i
	}
	d.cand.fenced, d.cand.fencedEnd = f, end
	d.state, d.cand.elem = inElement, element{first: true}
	return i
}

// carriers are the info strings of fences that a call may stand in.
var carriers = map[string]bool{"": true, "json": true, "python": true, "tool_code": true,
	"tool_call": true, "tools_call": true, "tool_calls": true, "function_call": true, "function_calls": true}

// scanClosing reads what may be the end of a fence that carried a call.
func (d *Decoder) scanClosing(i int) int {
	e, f := &d.cand.elem, &d.cand.ctx.fence
	for ; i < len(d.text.in); i++ {
		switch c := d.text.in[i]; {
		case !e.info && c == f.mark:
			e.n++
		case e.n < f.n:
			return d.refuse(i, "too short to close the fence")
		case c == '\n':
			return d.closeFence(i)
		case chars.IsBlank(c):
			e.info = true
		case (c == '<' || c == '[' || c == ']') && d.set.trie.starts(c):
			return d.closeFence(i) // a token that ends the turn stands on the same line
		default:
			return d.refuse(i, "not the end of the fence")
		}
	}
	return i
}

// closeFence ends the fence before i. The line that closes it is markup, like the one that opened it; its line
// break, of one byte or two, is what follows.
func (d *Decoder) closeFence(i int) int {
	if d.cand.elem.n < d.cand.ctx.fence.n {
		return d.refuse(i, "too short to close the fence")
	}
	if d.cand.ctx.after {
		d.text.markupUpTo(d.text.candAt)
	}
	d.textUpTo(d.text.candAt)
	end := d.text.at(i)
	d.text.holding = end > d.text.candAt && i < len(d.text.in) && d.text.in[i] == '\n' &&
		d.text.held(end-1, end) == "\r"
	if d.text.holding {
		end--
	}
	d.text.markupUpTo(end)
	if d.text.holding {
		d.text.trim(end)
	}
	d.state = inText
	d.ctx = lineContext{after: d.cand.ctx.after}
	return i
}

package dialect

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
)

// An element is the state of reading the place where a call may begin.
type element struct {
	stage   stage
	opener  *opener // the section it stands in; nil: none
	first   bool    // it is the first thing in a fence
	closing bool    // it is the tag that may close a reasoning block
	primed  bool    // or the one that opened it
	node    int32   // of that tag
	list    bool    // a bracket was read,
	nested  bool    // and another
	slash   bool    // a back-slash was read
	quote   byte    // a quote was read behind the bracket
	inner   bool    // a fence was opened inside the section
	blanks  int
	dead    uint32 // ways that a section does not go on, by number
	names   nameRange
	nameAt  int

	// Of a line that opens or closes a fence:
	n    int  // marks; of a literal that tells how a section goes on: bytes read
	info bool // something stands behind the marks
	long bool // more than an info string would have
}

type stage uint8

const (
	atFirst stage = iota // before the first byte
	atName               // in what may be the name of a tool
	atWay                // in the literal that tells how a section goes on
)

// startsBare reports whether a call without an opener may begin with c.
func (s *set) startsBare(c byte) bool {
	switch c {
	case '{':
		return s.bare.json || s.bare.fence
	case '[':
		return s.bare.json || s.bare.fence || s.bare.pythonic
	}
	return s.bare.names() && s.names.first[c]
}

// scanElement decides what begins at the candidate.
func (d *Decoder) scanElement(i int) int {
	if d.cand.elem.closing {
		return d.scanReasoningCloser(i)
	}
	for d.state == inElement && i < len(d.text.in) && !d.text.next.waiting {
		switch d.cand.elem.stage {
		case atFirst:
			i = d.elementFirst(i)
		case atName:
			i = d.elementName(i)
		case atWay:
			i = d.elementWay(i)
		}
	}
	return i
}

// elementFirst reads blanks and the first byte behind them.
func (d *Decoder) elementFirst(i int) int {
	e, c := &d.cand.elem, d.text.in[i]
	spaced := e.opener != nil || e.first || e.list
	if spaced && chars.IsBlank(c) {
		if e.blanks++; e.blanks > maxHeader {
			return d.refuse(i, "too much white space")
		}
		return i + 1
	}
	if e.slash && c == 'n' || c == '\\' && !e.slash && e.opener != nil && !e.list && d.set.opts.Repair != RepairOff {
		e.slash = !e.slash // a newline of models that have seen too much JSON
		return i + 1
	}
	if e.slash {
		return d.refuse(i, "nothing that a call begins with")
	}
	s := d.set
	json := s.bare.json
	if e.first || d.cand.ctx.fence.carrier {
		json = s.bare.fence
	}
	if d.cand.ctx.label != "" {
		json = true
	}
	pythonic := s.bare.pythonic
	if e.opener != nil {
		json, pythonic = e.opener.json != "", e.opener.pythonic != ""
	}
	switch {
	case e.opener != nil && e.opener.label != "" && !e.list && !e.inner &&
		(c == '{' || c == '[' || c == '`' || c == '~' ||
			s.bare.function && s.names.first[c] && e.opener.wordWay() == nil):
		return d.announce(i, e.opener)
	case c == '`' && e.opener != nil && json && !e.list && !e.inner:
		return d.elementFence(i)
	case e.opener != nil && !e.list && !e.inner && e.opener.leads(c):
		e.stage, e.dead, e.n = atWay, 0, 0
		return i
	case c == '{' && json:
		return d.begin(i, newCallReader(&d.driver, e.opener, e.list))
	case c == '[' && e.list && pythonic && !e.nested && e.quote == 0 && s.opts.Repair == RepairFull:
		e.nested = true
		d.cand.node = 0
		return i + 1
	case c == '[' && e.list:
		return d.refuse(i, "a list in a list")
	case c == '[' && (json || pythonic):
		e.list = true
		if e.opener == nil {
			d.cand.node = s.trie.next(0, c)
		}
		return i + 1
	case (c == '\'' || c == '"' || c == '`' && e.opener == nil && s.opts.Repair == RepairFull) && e.list && pythonic &&
		e.quote == 0:
		e.quote = c
		d.cand.node = 0
		return i + 1
	case !e.list && e.opener == nil && s.trie.starts(c) && !chars.IsLetter(c):
		d.state, d.cand.node = inOpener, 0
		return i
	}
	if e.opener != nil && !e.list && !e.inner && e.opener.wordWay() != nil && !(pythonic && s.names.first[c]) {
		e.stage, e.dead, e.n = atWay, 0, 0
		return i
	}
	names := e.list && pythonic || !e.list && (e.opener == nil && s.bare.names() || e.opener != nil && pythonic)
	lines := e.opener == nil && !e.list && s.trie.starts(c)
	if names &&
		(s.names.first[c] || e.marked() && chars.IsWord(c) ||
			e.list && chars.IsLetter(c) && s.opts.Repair == RepairFull) || lines || d.cand.node != 0 && e.list {
		e.stage, e.nameAt = atName, d.text.at(i)
		e.names = nameRange{}
		if names {
			e.names = s.names.begin()
		}
		if !e.list {
			d.cand.node = 0
		}
		return d.elementName(i)
	}
	return d.refuse(i, "nothing that a call begins with")
}

// elementFence reads the line that opens a fence inside a section, which some models put around the JSON there.
func (d *Decoder) elementFence(i int) int {
	n, _, m := fenceLine(d.text.in[i:])
	switch {
	case m == no:
		return d.refuse(i+n, "no call behind the opener")
	case m == yes:
		d.cand.elem.inner = true
		return i + n
	case d.text.final:
		return i + n
	}
	d.text.await(i, "", nil)
	return i
}

// elementName reads what may be a tool's name, or a literal that begins with a letter.
func (d *Decoder) elementName(i int) int {
	e, s := &d.cand.elem, d.set
	literal := e.opener == nil && e.quote == 0
	bare := s.bare.name && e.opener == nil && !e.list
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		if c == '(' && (!e.names.empty() || e.marked() || e.list && d.cand.node == 0) &&
			(s.bare.function || e.opener != nil || e.list) {
			return d.elementCall(i)
		}
		if d.text.at(i)-e.nameAt >= maxHeader {
			return d.refuse(i, "the name is too long")
		}
		before := d.cand.node
		alive := literal && (before != 0 || !e.list && d.text.at(i) == e.nameAt)
		if alive {
			d.cand.node = s.trie.next(before, c)
		} else {
			d.cand.node = 0
		}
		if bare && d.cand.node == 0 && (c == '{' || c == ':' || chars.IsBlank(c)) && !e.names.empty() {
			return d.begin(i, newName(&d.driver, e.nameAt))
		}
		if c != '\\' && !e.names.empty() {
			e.names = s.names.narrow(e.names, c)
		}
		if d.cand.node != 0 {
			if o := s.trie.end(d.cand.node); o != nil && e.names.empty() {
				return d.opened(i+1, o)
			}
		}
		if e.names.empty() && d.cand.node == 0 && !(e.marked() && isNameByte(c)) && !(e.list && d.qualifies(c)) {
			return d.refuse(i, "no declared tool")
		}
	}
	return i
}

// qualifies reports whether c may stand in the name of a module before that of a tool.
func (d *Decoder) qualifies(c byte) bool {
	return d.set.opts.Repair == RepairFull && d.set.bare.pythonic && isNameByte(c) && c != '-'
}

// elementCall begins a function call: the name ends before i, where a parenthesis stands.
func (d *Decoder) elementCall(i int) int {
	e := &d.cand.elem
	name, _ := unescapeName(d.text.held(e.nameAt, d.text.at(i)))
	if _, ok := d.function(name, e.list); !ok && !e.marked() {
		return d.refuse(i, "no declared tool")
	}
	switch {
	case e.opener != nil:
		d.call.dialect = e.opener.pythonic
	case e.list:
		d.call.dialect = "pythonic"
	default:
		d.call.dialect = "function-style"
	}
	return d.begin(i, newPythonic(&d.driver, e))
}

// marked reports whether the calls stand in a section that has an end, so that what is wrong in it is reported.
func (e *element) marked() bool { return e.opener != nil && e.opener.closer != "" }

// isNameByte reports whether c may stand in the name of a function.
func isNameByte(c byte) bool { return chars.IsWord(c) || c == '.' || c == '-' || c == '\\' }

// elementWay reads the literal or the word that tells how a section goes on.
func (d *Decoder) elementWay(i int) int {
	e := &d.cand.elem
	in, part := d.text.in[i:], ""
	for k := range e.opener.ways {
		w := &e.opener.ways[k]
		if w.word || e.dead&(1<<k) != 0 {
			continue
		}
		switch rest := w.then[e.n:]; {
		case strings.HasPrefix(in, rest):
			d.call.dialect = w.dialect
			return d.begin(i+len(rest), w.body(&d.driver, e.opener))
		case strings.HasPrefix(rest, in):
			part = rest[len(in):]
		}
	}
	if part != "" {
		e.bury(in)
		if i = len(d.text.in); d.text.patient(i) {
			d.text.await(i, part, nil)
		}
		return i
	}
	for ; ; i++ {
		if e.bury(d.text.in[i : i+1]) {
			continue
		}
		w := e.opener.wordWay()
		if w == nil || e.n > 1 {
			return d.refuse(i, "no call behind the opener")
		}
		d.call.dialect = w.dialect
		return d.begin(i, w.body(&d.driver, e.opener))
	}
}

// bury takes out the ways that do not go on with in, and reports whether one does.
func (e *element) bury(in string) (alive bool) {
	for k := range e.opener.ways {
		switch w := &e.opener.ways[k]; {
		case w.word || e.dead&(1<<k) != 0:
		case !strings.HasPrefix(w.then[e.n:], in):
			e.dead |= 1 << k
		default:
			alive = true
		}
	}
	e.n += len(in)
	return alive
}

// A verdict tells how a body machine stopped.
type verdict uint8

const (
	more     verdict = iota // the input is read; there may be more
	finished                // the candidate ends here, and all its calls with it
	refused                 // it is no call; only before a call was confirmed
	broken                  // a call was confirmed, and rejected because of this byte
	left                    // the body has ended the candidate itself
	// what follows is to be read again together with what comes behind it, up to a quote: see scanner.patient
	waits
	yields // the decoder does what driver.then says
)

// A body reads what stands behind an opener.
type body interface {
	// run reads d.text.in from i on. It returns where it stopped, which is before the byte that ended it.
	run(d *driver, i int) (int, verdict)
	// end decides what an end of the text means.
	end(d *driver) verdict
	// plain returns the bytes that need a look if all others now belong to a string of the arguments as they
	// are, else nil.
	plain(d *driver) *chars.Set
}

// A brief body is no call at the end of the text, and no bytes simply pass through it. Bodies that are the first,
// or the second only, embed it.
type brief struct{}

func (brief) end(*driver) verdict { return refused }

func (brief) plain(*driver) *chars.Set { return nil }

// bodies are the body machines that a text needed so far. Only one is at work at a time; they are kept for
// the next call.
type bodies struct {
	cite    *citationReader
	channel *channelReader
	call    *callReader
	tags    *tagReader
	python  *pyReader
	args    *value.Arguments
	header  *headerReader
	literal *literalReader
	name    *nameReader
	block   *blockReader
	form    *formReader
	patch   *patchReader
	lines   *lineReader
	wrap    *wrapReader
	request *requestReader
	val     *value.Reader // of what is skipped
	argsVal *value.Reader // of arguments
}

// wipe leaves nothing in the machines but room: most texts of a program need the same ones.
func (b *bodies) wipe() {
	if r := b.call; r != nil {
		*r = callReader{stack: value.Wiped(r.stack), key: value.Wiped(r.key)}
	}
	if r := b.tags; r != nil {
		*r = tagReader{text: value.Wiped(r.text)}
	}
	if r := b.python; r != nil {
		*r = pyReader{word: value.Wiped(r.word)}
	}
	if r := b.header; r != nil {
		*r = headerReader{}
	}
	if r := b.args; r != nil {
		*r = value.Arguments{}
	}
	if v := b.argsVal; v != nil {
		v.Wipe()
	}
	*b = bodies{call: b.call, tags: b.tags, python: b.python, header: b.header, args: b.args, argsVal: b.argsVal}
}

// ready returns what p points to, which is made when it is first needed.
func ready[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// leftOff acts on what a body machine left off with before i.
func (d *Decoder) leftOff(i int, v verdict) int {
	switch v {
	case finished:
		return d.finishBody(i)
	case refused:
		return d.refuse(i, "the shape of a call does not follow")
	case broken:
		return d.breakBody(i)
	case waits:
		d.text.await(i, "", &waitStop)
	case yields:
		return d.then(d, i)
	}
	return i
}

// finishBody ends the candidate before i.
func (d *Decoder) finishBody(i int) int {
	d.trace(d.text.at(i), chat.OutcomeAccepted, "")
	if d.call.accepted {
		d.text.markupUpTo(d.text.at(i))
	} else {
		d.textUpTo(d.text.at(i)) // of an attempt nothing is left out
	}
	d.leave(d.call.accepted)
	return i
}

// goBack ends the candidate before the offset back, and reads the bytes from there to i as text.
func (d *Decoder) goBack(i int) int {
	at := d.back
	if at >= d.text.base {
		return d.finishBody(d.text.index(at))
	}
	i = d.text.character(i)
	again := d.text.held(at, d.text.at(i))
	d.trace(at, chat.OutcomeAccepted, "")
	if d.call.accepted {
		d.text.markupUpTo(at)
	} else {
		d.textUpTo(at)
	}
	d.leave(d.call.accepted)
	d.reread(again, at)
	return i
}

// breakBody goes back to text before i, where a confirmed call turned out to be broken.
func (d *Decoder) breakBody(i int) int {
	d.trace(d.text.at(i), chat.OutcomeRefused, "broken behind the name")
	at := d.text.last
	before := d.text.held(max(d.text.holdAt, at-maxBlank), at)
	if at >= d.text.base {
		d.leave(false)
		d.tear(before)
		return d.text.index(at)
	}
	i = d.text.character(i)
	again := d.text.held(at, d.text.at(i))
	d.leave(false)
	d.tear(before)
	d.reread(again, at)
	return i
}

// tear notes how a call that broke ended: at the start of a line, but for a few blanks, or in the middle of one.
func (d *Decoder) tear(before string) {
	bol := strings.HasSuffix(strings.TrimRight(before, " \t"), "\n")
	d.ctx.bol, d.ctx.torn, d.turn.tornBy = bol, !bol, 0
	if before != "" {
		d.turn.tornBy = before[len(before)-1]
	}
}

func (d *Decoder) leave(after bool) {
	carrier := d.cand.ctx.fence
	if d.cand.fenced.mark != 0 {
		carrier = d.cand.fenced
		carrier.carrier = d.call.accepted
	}
	d.body, d.state, d.text.holding, d.text.confirmed, d.call.accepted = nil, inText, false, false, false
	d.cand.fenced = fence{}
	d.ctx = lineContext{after: after, fence: carrier}
	d.text.seen = true
	if m := &d.mention; m.state == mentionInside {
		m.state, m.end = mentionBehind, d.text.last
		d.mentionInput(m.end)
	}
	if d.turn.swallowed != "" {
		d.emitOverrun(d.turn.swallowedAt, d.turn.swallowed, true)
	}
}

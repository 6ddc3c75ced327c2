package dialect

import (
	"bytes"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
)

// maxWrapped limits the bytes held of an answer that may be nothing but calls in wrapping.
const maxWrapped = 4096

// A wrapReader holds what may be the rest of an answer that is nothing but calls in wrapping: quotes, back-ticks on
// one line, the items of a list, or a fence whose info string says nothing. Anywhere else such wrapping means that a
// call is shown. So the end of the text decides: a shadow reads what is wrapped, and if that is calls and nothing
// else, they are the answer's.
type wrapReader struct {
	brief
	kind   wrapping
	led    bool // words lead to it
	mark   byte // the quote, or the mark of the fence
	n      int  // how many of them
	stage  wrapStage
	nameAt int
	list   bool // a bracket stands before the name
	last   byte // of what was read
	bol    bool
	shut   int // closing marks that were read; at n, nothing but blanks may follow
}

type wrapping uint8

const (
	wrapQuotes wrapping = iota + 1
	wrapItems
	wrapFence
)

type wrapStage uint8

const (
	wMark wrapStage = iota // in the mark of an item, or the opening quotes
	wLead                  // before the first call
	wName                  // in its name
	wBody                  // behind that
)

// wrapMarks are the bytes that wrapping begins with.
var wrapMarks = chars.Set{}.With("`'\"-*+0123456789")

// silentInfo are the info strings of fences that do not say what stands in them.
var silentInfo = map[string]bool{"plaintext": true, "text": true, "txt": true}

// mayWrap reports whether wrapped calls may begin with c at the start of a line. Before them stands nothing, or a
// lead-in that ends with a colon.
func (d *Decoder) mayWrap(c byte) bool {
	return wrapMarks.Has(c) && !d.triedWrap && d.set.opts.Repair == RepairFull && d.set.bare.pythonic &&
		d.call.count == 0
}

// wraps begins to read the candidate, which is refused before i, as wrapping.
func (d *Decoder) wraps(i int) bool {
	if d.state == inBody || !d.cand.ctx.bol || d.cand.ctx.fence.mark != 0 || d.cand.fenced.mark != 0 ||
		!d.mayWrap(d.cand.first) {
		return false
	}
	r := ready(&d.readers.wrap)
	*r = wrapReader{led: d.text.seen || !d.blankBefore()}
	if r.led && !d.endsLead() {
		return false
	}
	if _, v := d.runHeld(r, d.text.held(d.text.candAt, d.text.at(i)), d.text.candAt); v != more {
		return false
	}
	d.begin(i, r)
	return true
}

// mayLeadTo reports whether nothing but a lead-in stands before i.
func (d *Decoder) mayLeadTo(i int) bool {
	d.text.candAt = d.text.at(i)
	return !d.text.seen && d.blankBefore() || d.endsLead()
}

// endsLead reports whether a colon leads to the candidate.
func (d *driver) endsLead() bool {
	if !mayLead(d.text.lastByte(d.text.candAt)) {
		return false
	}
	var buf [maxBefore]byte
	before := bytes.TrimRight(d.lastText(buf[:]), " \t\r\n*")
	return bytes.HasSuffix(before, []byte(":")) || bytes.HasSuffix(before, []byte("："))
}

// mayLead reports whether c may be the last byte of a lead-in.
func mayLead(c byte) bool { return c == ':' || c == '*' || c >= 0x80 || chars.IsBlank(c) }

// wrapFenced begins to read a fence with the info string word, which opens before i, as wrapping.
func (d *Decoder) wrapFenced(i int, f fence, word string) bool {
	led := d.text.seen || !d.blankBefore()
	if !silentInfo[word] || !d.mayWrap('`') || led && !d.endsLead() {
		return false
	}
	d.cand.fenced, d.cand.fencedEnd = f, d.text.at(i)
	r := ready(&d.readers.wrap)
	*r = wrapReader{kind: wrapFence, led: led, mark: f.mark, n: f.n, stage: wLead, bol: true}
	d.begin(i, r)
	return true
}

func (r *wrapReader) run(d *driver, i int) (int, verdict) {
	for ; i < len(d.text.in); i++ {
		if d.text.at(i)-d.text.candAt >= maxWrapped || !r.read(d, d.text.in[i], i) {
			d.cand.rescan = true
			return i, refused
		}
		r.last = d.text.in[i]
	}
	return i, more
}

// read reads the byte c at i, and reports whether it may be part of wrapped calls.
func (r *wrapReader) read(d *driver, c byte, i int) bool {
	switch r.stage {
	case wMark:
		return r.readMark(d, c, i)
	case wLead:
		return r.readLead(d, c, i)
	case wName:
		return r.readName(d, c, i)
	}
	d.triedWrap = true
	switch r.kind {
	case wrapItems:
		ok := !r.bol || !chars.IsLetter(c) && c < 0x80
		r.bol = c == '\n'
		return ok
	case wrapFence:
		return r.readFenced(c)
	}
	return r.readQuoted(c)
}

// readMark reads the mark of an item, or opening quotes.
func (r *wrapReader) readMark(d *driver, c byte, i int) bool {
	switch {
	case r.kind == 0 && (c == '`' || c == '\'' || c == '"'):
		r.kind, r.mark, r.n = wrapQuotes, c, 1
	case r.kind == 0:
		r.kind = wrapItems
		r.n = 1
	case r.kind == wrapQuotes && c == r.mark && c == '`' && r.n < 3:
		r.n++
	case r.kind == wrapQuotes && r.n != 2 && (r.mark == '`' || !r.led):
		r.stage = wLead
		return r.readLead(d, c, i)
	case r.kind == wrapItems && c == ' ' && (r.last == '.' || r.last == ')' || !chars.IsDigit(r.last)):
		r.stage = wLead
	case r.kind == wrapItems && chars.IsDigit(r.last) && (chars.IsDigit(c) || c == '.' || c == ')') && r.n < 4:
		r.n++
	default:
		return false
	}
	return true
}

// readLead reads what may stand before the name in a call.
func (r *wrapReader) readLead(d *driver, c byte, i int) bool {
	switch {
	case c == '{':
		r.stage = wBody
	case c == '[':
		r.list = true
	case chars.IsBlank(c):
		return d.text.at(i)-d.text.candAt < maxHeader
	case c == '`' || c == '\'' || c == '"':
		return (r.kind == wrapItems || r.list) && c != r.last
	case chars.IsLetter(c) || c == '_':
		r.stage, r.nameAt = wName, d.text.at(i)
	default:
		return false
	}
	return true
}

// readName reads to the end of a name: that of a tool, or the language of three back-ticks.
func (r *wrapReader) readName(d *driver, c byte, i int) bool {
	if isNameByte(c) {
		return d.text.at(i)-r.nameAt < maxHeader
	}
	name, _ := unescapeName(d.text.held(r.nameAt, d.text.at(i)))
	ok := false
	switch {
	case c == '(':
		_, ok = d.function(name, r.list)
	case c == '{' || chars.IsBlank(c):
		if _, _, ok = d.set.names.resolve(name); !ok && r.kind == wrapQuotes && r.n == 3 &&
			carriers[strings.ToLower(name)] {
			r.stage = wLead
			return r.readLead(d, c, i)
		}
	}
	r.stage = wBody
	return ok
}

// readFenced reads what stands in the fence, and what follows it.
func (r *wrapReader) readFenced(c byte) bool {
	switch {
	case r.shut >= r.n && c != r.mark:
		return chars.IsBlank(c)
	case c == '\n':
		r.bol, r.shut = true, 0
	case r.bol && c == r.mark:
		r.shut++
	case !chars.IsBlank(c):
		r.bol, r.shut = false, 0
	}
	return true
}

// readQuoted reads what stands in the quotes, and what follows them.
func (r *wrapReader) readQuoted(c byte) bool {
	switch {
	case c == r.mark && (r.shut > 0 || r.last == ')' || r.last == ']' || r.last == '}' || chars.IsBlank(r.last)):
		r.shut++
	case chars.IsBlank(c):
	case r.shut >= r.n && (c == ',' || c == ';'):
		r.shut = 0
	case r.shut >= r.n && r.n == 3:
		return false
	case r.shut >= r.n && chars.IsLetter(c) && chars.IsBlank(r.last):
		return false
	default:
		r.shut = 0
	}
	return true
}

// end decides whether all of the answer is calls.
func (r *wrapReader) end(d *driver) verdict {
	d.cand.rescan = true
	if r.stage != wBody || r.led && exampleLed(strings.TrimRight(d.before(), " \t\r\n*")) {
		return refused
	}
	end := d.text.at(0)
	text := strings.Clone(d.text.held(d.text.candAt, end))
	var events []chat.Event
	count := d.call.count
	for _, p := range r.pieces(text, d.cand.fencedEnd-d.text.candAt) {
		from := len(events)
		items := r.kind == wrapItems && r.led
		if events = d.wrappedCalls(events, text[p[0]:p[1]], d.text.candAt+p[0], count, items); len(events) == from {
			return refused
		}
		count = events[len(events)-1].Index + 1
	}
	if len(events) == 0 {
		return refused
	}
	d.call.adopt(events)
	return finished
}

// pieces returns where in text the pieces stand of which each has to be calls. A fence opens before the offset opened.
func (r *wrapReader) pieces(text string, opened int) [][2]int {
	to := len(strings.TrimRight(text, " \t\r\n"))
	switch r.kind {
	case wrapFence:
		closing := strings.Repeat(string(r.mark), r.n)
		if inside := strings.TrimRight(text[:to], string(r.mark)); strings.HasSuffix(text[:to], closing) {
			to = len(inside)
		}
		if opened >= to {
			return nil
		}
		return [][2]int{{opened, to}}
	case wrapItems:
		return itemPieces(text[:to])
	}
	if to -= r.n; to <= r.n || strings.TrimLeft(text[to:to+r.n], string(r.mark)) != "" {
		return nil
	}
	from := r.n
	if word := strings.TrimLeft(text[from:to], "abcdefghijklmnopqrstuvwxyz_"); r.n == 3 {
		if at := to - len(word); carriers[text[from:at]] {
			from = at
		}
	}
	return [][2]int{{from, to}}
}

// itemPieces returns where the items of a list stand, without their marks.
func itemPieces(text string) (list [][2]int) {
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if n := itemMark(text[at:end]); n > 0 {
			list = append(list, [2]int{at + n, end})
		} else if len(list) > 0 {
			list[len(list)-1][1] = end
		}
		at = end
	}
	return list
}

// itemMark returns the length of the mark that line begins with as an item of a list, or 0.
func itemMark(line string) int {
	rest := strings.TrimLeft(line, " \t")
	number := strings.TrimLeft(rest, "0123456789")
	switch {
	case len(number) < len(rest) && (strings.HasPrefix(number, ". ") || strings.HasPrefix(number, ") ")):
		return len(line) - len(number) + 2
	case strings.HasPrefix(rest, "- "), strings.HasPrefix(rest, "* "), strings.HasPrefix(rest, "+ "):
		return len(line) - len(rest) + 2
	}
	return 0
}

// wrappedCalls appends to events those of the calls that text, which begins at the offset at, consists of, numbered
// from count on. If it is anything else as well, it appends none. led says that words stand before it.
func (d *driver) wrappedCalls(events []chat.Event, text string, at, count int, led bool) []chat.Event {
	s := &Decoder{driver: driver{set: d.set}}
	s.Reset()
	s.think.open, s.shadows, s.text.seen = false, true, led
	s.text.base, s.text.last = at, at
	from := len(events)
	for _, e := range s.Close(s.Feed(nil, text)) {
		if e.ID != "" && e.ID == mintedID(e.Index) {
			e.ID = mintedID(e.Index + count)
		}
		e.Index += count
		switch e.Kind {
		case chat.KindCallStart, chat.KindCallArgs, chat.KindNote:
			events = append(events, e)
			continue
		case chat.KindCallEnd:
			if call := e.Detail.(*chat.Call); call.Complete {
				call.Index, call.ID = e.Index, e.ID
				events = append(events, e)
				continue
			}
		case chat.KindMarkup, chat.KindCandidate:
			continue
		case chat.KindText:
			if chars.Blank(e.Text) {
				continue
			}
		}
		return events[:from]
	}
	d.text.steps += s.text.steps
	return events
}

// adopt emits the events of calls that a shadow read.
func (c *callWriter) adopt(events []chat.Event) {
	for _, e := range events {
		if e.Kind == chat.KindNote { // it covers nothing
			c.text.dst = append(c.text.dst, e)
			continue
		}
		if e.Kind == chat.KindCallStart {
			c.confirm(e.At, true)
		}
		if c.text.last < e.At {
			c.text.markupUpTo(e.At)
		}
		if c.text.last = max(c.text.last, e.End); e.Kind == chat.KindCallEnd {
			c.watch.callEnds()
			c.dialect, c.accepted, c.count = e.Detail.(*chat.Call).Dialect, true, e.Index+1
			c.last, c.index = c.dialect, e.Index
		}
		c.text.dst = append(c.text.dst, e)
	}
}

package dialect

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect/internal/chars"
)

// A turnMark says what a literal shows about whose turn it is.
type turnMark uint8

const (
	markNone  turnMark = iota
	markOther          // the header of another party: the turn has ended
	markOwn            // the model's own header: at the start it is left out, behind content it ends the turn
	markLast           // the token that a complete answer ends with: the turn ends with what follows
	// a line with the role of another party, which ends the turn if one with the model's own follows
	markRole
	markReply  // a line with the model's own role
	markDirect // one that lists have as well: without a call before, only where a call stands right behind it
	markAlone  // a line that ends the turn without another one
	markBlank  // one that does so behind a blank line, and else is as markRole
	markResult // what begins a tool's result, which the model does not write for its own call
	markQuery  // a line that does so behind a result, and else is as markRole
)

// A turnEnd holds what the decoder knows about the end of the model's turn.
type turnEnd struct {
	over        bool
	hard        bool   // what follows is markup; else text
	called      bool   // the answer holds a call, or an attempt at one
	result      bool   // it holds a tool's result
	talked      string // the model's own header, where one was talked about last
	direct      string // the last line that ends the turn only if a call stands right behind it
	swallowed   string // a header in a value that was not closed
	swallowedAt int    // where the call begins
	returned    string // the token that a complete answer ends with, once it was read
	closed      int    // where the last special token ends that was left out
	torn        int    // where what is left of a broken call ends
	tornBy      byte   // the last byte that the broken call took
	role        roleLine
	example     example
	shown       uint64 // styles of role lines in which a conversation is shown, by number
}

// A roleLine is a line of another party. Only the line of the model's own behind it tells it from a list of keys.
type roleLine struct {
	marker string
	style  uint8
	at     int
	calls  int  // before it
	asked  bool // the model asks for it
}

// An example is a conversation that a text shows with the headers of a template, where a colon leads to it.
// Its turns are the model's own to write as long as each is closed: a call in one that is open was dreamt.
type example struct {
	marker   string // the first header; "": none is shown
	at, last int    // where it stands, and the last one
}

// turnMarker acts on a whole marker that ends before i.
func (d *Decoder) turnMarker(i int, o *opener) int {
	if d.cand.fenced.mark != 0 {
		return d.refuse(i, "a fence shows it")
	}
	if d.cand.ctx.bol && (d.cand.ctx.torn || d.indented()) {
		return d.leaveShown(i, "code or arguments show it")
	}
	ends := false
	switch o.mark {
	case markOther:
		return d.header(i, o)
	case markOwn:
		if d.text.seen || !d.blankBefore() {
			return d.header(i, o)
		}
		d.dropToken(i)
		d.ctx = lineContext{bol: true, gap: true, fence: d.cand.ctx.fence}
		return i
	case markResult:
		ends = d.turn.called
	case markQuery:
		ends = d.turn.result
	case markAlone:
		ends = true
	case markBlank:
		ends = d.behindBlankLine() && !d.inShown(o)
	case markReply, markDirect:
		if r := &d.turn.role; r.marker == "" || r.style != o.style {
			break
		}
		if d.turn.called || o.mark == markReply && !d.belowKey() && d.evident(&d.turn.role) {
			return d.endRoles(i, o)
		}
		d.turn.direct = o.literal
	}
	if ends {
		return d.endTurn(i, d.text.candAt, o.literal, false)
	}
	if o.mark == markRole || o.mark == markBlank || o.mark == markQuery {
		d.noteRole(o)
	}
	return d.refuse(i, "it ends no turn")
}

// indented reports whether the candidate is indented as code is.
func (d *Decoder) indented() bool {
	before := d.before()
	indent := before[strings.LastIndexByte(before, '\n')+1:]
	return len(indent) > 3 && chars.Blank(indent) || strings.HasPrefix(indent, "\t")
}

// belowKey reports whether the line above the candidate, without a blank one between them, has a key other
// than the role: both stand in a list.
func (d *Decoder) belowKey() bool {
	before, ok := strings.CutSuffix(d.before(), "\n")
	n := strings.LastIndexByte(before, '\n')
	key, _, keyed := strings.Cut(before[n+1:], ": ")
	return ok && keyed && n >= 0 && !strings.HasPrefix(before[n+1:], d.turn.role.marker) &&
		!strings.ContainsAny(key, ".,;!?")
}

// noteRole takes note of a line of another party, unless it belongs to a conversation that is shown.
func (d *Decoder) noteRole(o *opener) {
	if r := &d.turn.role; !d.inShown(o) && r.marker == "" {
		*r = roleLine{marker: o.literal, style: o.style, at: d.text.candAt, calls: d.call.count,
			asked: asks(d.before())}
	}
}

// inShown reports whether the candidate, a line of another party, belongs to a conversation that is shown. That ends
// where the model asks for itself again.
func (d *Decoder) inShown(o *opener) bool {
	t, style := &d.turn, uint64(1)<<o.style
	switch s := roleStyles[o.style-1]; {
	case d.introduced(o):
		t.shown |= style
	case t.shown&style != 0 && asksAgain(d.beforeCall(), s.before, s.after):
		t.shown &^= style
	}
	return t.shown&style != 0
}

// evident reports whether the model asked for the other party's line, or that consents: it is no screenplay.
func (d *Decoder) evident(r *roleLine) bool {
	if r.asked {
		return true
	}
	before := d.beforeCall()
	at := len(before) - (d.text.candAt - r.at) + len(r.marker)
	return at >= len(r.marker) && at <= len(before) && consents(before[at:])
}

// introduced reports whether something leads to a conversation that begins with the candidate: a colon, or what else
// does so to a line that would end the turn alone.
func (d *Decoder) introduced(o *opener) bool {
	return d.announced() || o.mark == markBlank && d.behindBlankLine() &&
		introduces(bottomLine(trimLine(d.beforeCall())))
}

// announced reports whether a colon leads to the candidate.
func (d *Decoder) announced() bool {
	return strings.HasSuffix(strings.TrimRight(d.before(), " \t\r\n"), ":")
}

// gluedRole takes note of a role right behind a sentence and before the blank line that ends at i: what is
// left of a header where a server strips its tokens. It reports whether that ends the turn.
func (d *Decoder) gluedRole(i int) bool {
	if d.ctx.after || d.ctx.gap || d.ctx.fence.mark != 0 || len(d.set.opts.Tools) == 0 {
		return false
	}
	last := d.text.recent.last()
	if n := d.text.index(d.text.holdAt); n > 0 {
		last = d.text.in[n-1]
	}
	if last != 'r' && last != 'n' && last != 'm' && last != 't' && last != 'l' {
		return false
	}
	d.text.candAt, d.cand.ctx = d.text.holdAt, d.ctx
	before := d.before()
	for _, word := range gluedWords {
		text, ok := strings.CutSuffix(before, word.literal)
		if !ok || text == "" || !strings.ContainsRune(".!?)\"'*", rune(text[len(text)-1])) &&
			text[len(text)-1] < utf8.RuneSelf {
			continue
		}
		at := d.text.candAt - len(word.literal)
		switch r := &d.turn.role; {
		case word.mark == markRole && r.marker == "":
			*r = roleLine{marker: word.literal, style: word.style, at: at, calls: d.call.count, asked: true}
		case word.mark == markReply && r.style == word.style && r.marker != "":
			d.endRoles(i, &opener{literal: word.literal})
			return true
		}
		return false
	}
	return false
}

// endRoles ends the turn at the line of the other party or, where a call stands between the two, at the model's own.
func (d *Decoder) endRoles(i int, o *opener) int {
	if r := d.turn.role; r.calls == d.call.count {
		return d.endTurn(i, r.at, r.marker, false)
	}
	return d.endTurn(i, d.text.candAt, o.literal, false)
}

// header acts on a header that ends before i, unless it is talked about.
func (d *Decoder) header(i int, o *opener) int {
	where := d.place()
	if role, closed := strings.CutPrefix(o.literal, "</s>"); closed {
		before := d.beforeCall()
		switch {
		case strings.Contains(bottomLine(before), role):
			where = placeProse // the line shows a conversation
		case !opensQuote(trimLine(before)):
			where = placeFree // nobody says both tokens in a sentence
		}
	}
	switch where {
	case placeFree:
		return d.endAtHeader(i, o.literal)
	case placeSentence:
		d.state, d.cand.elem = inHeader, element{opener: o}
		return i
	}
	return d.talkedAbout(i, o)
}

// endAtHeader ends the turn at a header that ends before i, unless that is one of an example.
func (d *Decoder) endAtHeader(i int, marker string) int {
	e := &d.turn.example
	switch {
	case d.cand.ctx.bol && d.indented():
		return d.leaveShown(i, "code shows it")
	case d.turn.called || e.marker == "" && !(d.cand.ctx.bol && d.announced()):
		return d.endTurn(i, d.text.candAt, marker, true)
	case e.marker == "":
		e.marker, e.at = marker, d.text.candAt
	}
	e.last = d.text.candAt
	return d.leaveShown(i, "an example shows it")
}

// A foreignHeader is the header of another party in a section that else holds a call: it ends the turn.
type foreignHeader struct{ brief }

func newForeign(*driver, *opener) body { return foreignHeader{} }

func (foreignHeader) run(d *driver, i int) (int, verdict) {
	header := d.text.held(d.text.candAt, d.text.at(i))
	return d.yield(i, func(d *Decoder, i int) int { return d.endAtHeader(i, header) })
}

// behindSentence reports whether a sentence ends right before the candidate or its blank.
func (d *Decoder) behindSentence() bool {
	last, _ := utf8.DecodeLastRuneInString(trimLine(d.before()))
	return strings.ContainsRune(".!?…。！？", last)
}

// talkedAbout goes on behind a header in the middle of a sentence.
func (d *Decoder) talkedAbout(i int, o *opener) int {
	if o.mark == markOwn {
		d.turn.talked = o.literal
	}
	return d.leaveShown(i, "the header is talked about")
}

// leaveShown makes text of a whole marker that ends before i, the tokens in it included.
func (d *Decoder) leaveShown(i int, why string) int {
	d.cand.tokenEnd, d.plain = 0, d.text.at(i)
	return d.refuse(i, why)
}

// answersItself ends the turn before the candidate, a call, if the model's own header in the middle of a
// line, or its line, stands right before that, or an open turn of an example does: it was neither talked
// about nor shown.
func (d *Decoder) answersItself(i int) bool {
	t := &d.turn
	if t.talked == "" && t.direct == "" && t.example.marker == "" {
		return false
	}
	before := d.before()
	switch {
	case t.example.marker != "" && t.example.last > t.closed:
		d.endTurn(i, t.example.at, t.example.marker, false)
	case t.talked != "" && d.cand.fenced.mark == 0 && strings.HasSuffix(strings.TrimRight(before, " \t"), t.talked):
		d.endTurn(i, d.text.candAt, t.talked, true)
	case t.direct != "" && strings.HasSuffix(trimLine(cutLabel(trimLine(before))), t.direct):
		d.endTurn(i, t.role.at, t.role.marker, false)
	default:
		return false
	}
	return true
}

// invented looks in the text before the candidate, a call, for a turn of another party in a style that no marker has.
func (d *Decoder) invented(text string) (at int, marker string, ok bool) {
	t := &d.turn
	text = text[min(len(text), max(0, t.torn-(d.text.candAt-len(text)))):]
	at, marker, ok = inventedTurn(text, t.called, t.shown)
	return d.text.candAt - len(text) + at, marker, ok
}

// CallElsewhere tells the decoder that a call begins here that does not stand in the text, as those of a
// backend's function calling do not. It appends to dst the end of the turn if the text before shows it only
// now, and returns dst.
func (d *Decoder) CallElsewhere(dst []chat.Event) []chat.Event {
	t := &d.text
	if d.state != inText || d.think.open || d.mention.state != mentionNone || t.cut != "" || t.next.waiting ||
		t.next.met > 0 {
		return dst
	}
	end, held, candAt, ctx := t.end(), t.holding, t.candAt, d.cand.ctx
	t.dst = dst
	if !held {
		t.hold(end)
	}
	t.candAt, d.cand.ctx = end, d.ctx
	if d.answersItself(0) {
		d.quick = nil
	} else if at, marker, ok := d.invented(d.beforeCall()); ok {
		d.endTurn(0, at, marker, false)
		d.quick = nil
	} else {
		t.holding, t.candAt, d.cand.ctx = held, candAt, ctx
	}
	dst, t.dst = t.dst, nil
	return dst
}

func trimLine(s string) string { return strings.TrimRight(s, " \t\r\n") }

// scanHeader reads the byte behind a header that follows a sentence: it begins the turn if that is a line
// break or, where the header has an end of its own, a word.
func (d *Decoder) scanHeader(i int) int {
	o, c := d.cand.elem.opener, d.text.in[i]
	last := o.literal[len(o.literal)-1]
	if c == '\n' || c == '\r' || !chars.IsLetter(last) && (chars.IsLetter(c) || c >= utf8.RuneSelf) {
		return d.endTurn(i, d.text.candAt, o.literal, true)
	}
	return d.talkedAbout(i, o)
}

// A tokenPlace locates a special token.
type tokenPlace uint8

const (
	placeFree     tokenPlace = iota // at the start of a line, behind another token, or right behind a word
	placeSentence                   // behind the blank that follows a sentence
	placeProse                      // in the middle of a sentence, or in quotes
)

// place tells where the candidate stands.
func (d *driver) place() tokenPlace {
	if d.cand.ctx.bol && !d.cand.ctx.torn || d.cand.ctx.after || d.cand.ctx.gap || d.turn.closed == d.text.candAt {
		return placeFree
	}
	before := d.before()
	line := strings.TrimRight(before, " \t")
	n := len(line)
	if d.cand.ctx.torn && !strings.HasSuffix(line, ">") && !strings.HasSuffix(line, "]") {
		return placeProse // it is what was left of the arguments
	}
	last, _ := utf8.DecodeLastRuneInString(line)
	switch {
	case opensQuote(line), n == len(before) && n > 1 && line[n-2] == '\\':
		return placeProse
	case n == len(before):
		return placeFree
	case strings.ContainsRune(".!?…。！？", last) && !(n > 1 && chars.IsDigit(line[n-2])): // that is the number of an item
		return placeSentence
	}
	return placeProse
}

// opensQuote reports whether line ends with what quotes the token behind it: an opening quotation mark, a
// bracket, a sign of code.
func opensQuote(line string) bool {
	last, n := utf8.DecodeLastRuneInString(line)
	if strings.ContainsRune("“‘„«‹「『([{<=|/\\", last) {
		return true
	}
	if !strings.ContainsRune("\"'`", last) {
		return false
	}
	line = line[:len(line)-n]
	return line == "" || strings.ContainsRune(" \t\n([{=:,", rune(line[len(line)-1]))
}

// quotesToken reports whether the candidate, a token that is left out elsewhere, is quoted.
func (d *Decoder) quotesToken() bool {
	before := d.before()
	return opensQuote(before) && !strings.HasSuffix(before, "<")
}

// inSentence reports whether the candidate, a token that is left out elsewhere, stands behind a word of a sentence and
// a blank. If the sentence goes on behind it, it speaks of the token.
func (d *Decoder) inSentence() bool {
	before := d.before()
	word := strings.TrimSuffix(before, " ")
	if word == before || word == "" {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(word)
	return unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(",:;(/", last)
}

// behindBlankLine reports whether a blank line stands before the candidate.
func (d *Decoder) behindBlankLine() bool {
	before := d.before()
	return strings.Count(before[len(strings.TrimRight(before, " \t\r\n")):], "\n") > 1
}

// endTurn ends the turn at the offset at, which a marker showed that ends before i. No call stands behind it.
func (d *Decoder) endTurn(i, at int, marker string, hard bool) int {
	if hard {
		d.dropBefore(d.text.candAt)
	} else {
		d.textUpTo(d.text.candAt)
	}
	d.emitOverrun(at, marker, hard)
	d.body, d.cand.fenced = nil, fence{}
	d.passOver(d.text.at(i))
	d.text.holding = false
	return i
}

// emitOverrun emits the event that tells of the end of the turn.
func (d *Decoder) emitOverrun(at int, marker string, hard bool) {
	d.turn.over, d.turn.hard, d.state = true, hard, inOver
	d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindOverrun, At: at, End: at,
		Detail: &chat.OverrunDetail{Marker: strings.TrimSpace(marker), Hard: hard, At: at}})
}

// swallowedTurn returns the header of another party in the arguments of a call with tags if the start of another call
// stands behind it: the value that holds them was not closed.
func swallowedTurn(args, callOpen string) string {
	n := strings.Index(args, callOpen)
	if n < 0 {
		return ""
	}
	for _, t := range templates {
		for _, party := range t.others {
			if header := t.open + party + t.close; !t.line && strings.Contains(args[:n], header) {
				return header
			}
		}
	}
	return ""
}

// passOver emits what stands behind the end of the turn, up to the offset end.
func (d *Decoder) passOver(end int) {
	if d.turn.hard {
		d.text.markupUpTo(end)
	} else {
		d.textUpTo(end)
	}
}

// scanReturned reads what follows a complete answer: white space, or another turn.
func (d *Decoder) scanReturned(i int) int {
	if chars.IsBlank(d.text.in[i]) && (!d.text.holding || d.text.at(i)-d.text.holdAt < maxBlank) {
		if !d.text.holding {
			d.text.hold(d.text.at(i))
		}
		return i + 1
	}
	d.candidate(i, inText)
	d.text.candAt = d.text.holdAt
	return d.endTurn(i, d.text.candAt, d.turn.returned, true)
}

// tokenLeftOut takes note of a token that is left out and ends before i.
func (d *Decoder) tokenLeftOut(i int) {
	if d.cand.ctx.torn || d.place() != placeProse {
		d.turn.closed, d.cand.ctx.torn = d.text.at(i), false
	}
}

// maxBefore limits the bytes before a candidate that are looked at.
const maxBefore = 64

// A recentText is the end of the text that was passed on, in which a candidate in the middle of a line looks for what
// leads to it.
type recentText struct {
	parts [maxInvented]string // a ring; an empty part stands for a call or for markup
	n     uint
}

func (r *recentText) add(s string) {
	r.parts[r.n%maxInvented] = s
	r.n++
}

// last returns the last byte that was passed on, 0 behind a call or markup.
func (r *recentText) last() byte {
	s := r.parts[(r.n-1)%maxInvented]
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// lastByte returns the byte of text before the white space that is held, or before the candidate at the offset at
// where none is; 0 behind a call or markup.
func (s *scanner) lastByte(at int) byte {
	if s.holding {
		at = s.holdAt
	}
	if s.last < at && s.base < at {
		return s.in[s.index(at)-1]
	}
	return s.recent.last()
}

// before returns the text before the candidate, as far as it is looked at, from the last call or markup on.
func (d *driver) before() string {
	var buf [maxBefore]byte
	return string(d.lastText(buf[:]))
}

// beforeCall returns more of it.
func (d *driver) beforeCall() string {
	var buf [maxInvented]byte
	return string(d.lastText(buf[:]))
}

// lastText fills buf from its end with the text before the candidate, and returns the part that it filled.
func (d *driver) lastText(buf []byte) []byte {
	at := len(buf)
	if d.text.last < d.text.candAt {
		s := d.text.held(max(d.text.last, d.text.candAt-len(buf)), d.text.candAt)
		at -= copy(buf[at-len(s):], s)
	}
	r := &d.text.recent
	for k := uint(1); at > 0 && k <= min(r.n, maxInvented); k++ {
		s := r.parts[(r.n-k)%maxInvented]
		if s == "" {
			break
		}
		if len(s) > at || len(s) > 16 {
			at -= copy(buf[max(0, at-len(s)):at], s[max(0, len(s)-at):])
			continue
		}
		at -= len(s)
		for j := range len(s) { // pieces are short: a call for each costs more than their bytes
			buf[at+j] = s[j]
		}
	}
	return buf[at:]
}

// returns takes note of a token that a complete answer ends with.
func (d *Decoder) returns(o *opener) {
	if o.mark == markLast && len(d.set.opts.Tools) > 0 && d.place() != placeProse {
		d.turn.returned, d.cand.ctx.bol = o.literal, true
	}
}

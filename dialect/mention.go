package dialect

import (
	"slices"
	"strings"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect/internal/chars"
)

// A call that is only talked about stands in quotation marks, or in a sentence that gives an example. Until
// it is known that it is none, its events are kept.

// mentionState says how far a call was read that may be a mention.
type mentionState uint8

const (
	mentionNone   mentionState = iota
	mentionInside              // in the call
	mentionBehind              // behind it, where the next character decides
)

// A mention is a call that may be one.
type mention struct {
	state   mentionState
	sure    bool   // a sentence leads to it: nothing behind it changes that
	turn    string // it stands in a turn that the model invented, which this marks
	turnAt  int    // where that begins
	closers string // the quotation marks that make it one
	stopped bool   // a mark of punctuation was read behind it, inside of the quotation marks or not
	at, end int    // of its text; end: -1 while a token behind it is read
	raw     []byte // the text from at on, as far as it was put aside
	kept    []chat.Event
	out     []chat.Event // those before it, while an input is read
	begun   bool         // the call was so long that it has begun to come out: what is kept is only how it ends
	first   endedCall    // that call

	calls    int // before it
	called   bool
	lastCall string
}

// An endedCall is a call that has begun to come out, and whose end is kept.
type endedCall struct {
	ended      bool
	index      int
	name, args string
	at, last   int // where its text begins, and where its last event ended
}

// quotes are the quotation marks that open, and those that close what each opened.
var quotes = []struct{ open, close string }{
	{`"`, `"`}, {`'`, `'`}, {"`", "`"}, {"“", "”“"}, {"”", "”"}, {"„", "“”"}, {"‘", "’‘"}, {"’", "’"}, {"‚", "‘’"},
	{"«", "»"}, {"« ", "»"}, {"«\u00a0", "»"}, {"«\u202f", "»"}, {"»", "«"}, {"《", "》"}, {"‹", "›"}, {"›", "‹"},
	{"「", "」"}, {"『", "』"}, {"＂", "＂"},
}

// leads lists words that introduce an example: anywhere in its sentence, or right before it.
var leads = []struct {
	text  string
	right bool
}{
	{"for example", false}, {"for instance", false}, {"you could write", false}, {"you can write", false},
	{"you might write", false}, {"you would write", false}, {"zum beispiel", false}, {"par exemple", false},
	{"por ejemplo", false}, {"per esempio", false}, {"por exemplo", false}, {"bijvoorbeeld", false},
	{"например", false}, {"例如", false}, {"比如", false}, {"例えば", false}, {"z. b.", true}, {"z.b.", true},
	{"par ex.", true}, {"p. ej.", true}, {"e.g.", true}, {"such as", true}, {"something like", true}, {"i.e.", true},
}

// keeps reports whether events go to those that are kept.
func (m *mention) keeps() bool { return m.state != mentionNone && (!m.begun || m.first.ended) }

// mentions begins a mention at the candidate if what stands before it says that it may be one.
func (d *Decoder) mentions() {
	c := &d.cand.ctx
	if d.mention.state != mentionNone {
		if d.mention.state == mentionInside {
			return
		}
		d.meant()
	}
	if c.after || c.gap || d.think.open {
		return
	}
	before := d.beforeCall()
	at, marker, invented := d.invented(before)
	before = before[max(0, len(before)-maxBefore):]
	m := mention{state: mentionInside, at: d.text.candAt, calls: d.call.count, called: d.turn.called,
		lastCall: d.call.last, kept: d.mention.kept[:0]}
	switch {
	case invented:
		m.sure, m.turn, m.turnAt = true, marker, at
	case inComment(before):
		m.sure = true
	case c.bol || d.cand.fenced.mark != 0:
		if m.sure = quotedAbove(before) || !c.bol && quotedBy(before) != ""; !m.sure {
			return
		}
	case exampleLed(before):
		m.sure = true
	default:
		if m.closers = quotedBy(before); m.closers == "" {
			return
		}
	}
	d.textUpTo(d.text.candAt)
	if d.text.candAt < d.text.base {
		m.raw = append(m.raw, d.text.held(d.text.candAt, d.text.base)...)
	}
	m.out, d.text.dst = d.text.dst, m.kept
	d.mention, d.text.eager = m, true
}

// quotedBy returns the quotation marks that close what before ends with the opening one of, if words stand before that.
func quotedBy(before string) string {
	for _, q := range quotes {
		if words, ok := strings.CutSuffix(before, q.open); ok && strings.TrimSpace(words) != "" {
			return q.close
		}
	}
	return ""
}

// blockLabels lists the labels above a fence with a call.
var blockLabels = []string{"**Tool Call:**", "Tool Call:", "**Action:**", "Action:"}

// cutLabel returns line without the label that it ends with.
func cutLabel(line string) string {
	if !strings.HasSuffix(line, ":") && !strings.HasSuffix(line, "*") {
		return line
	}
	for _, label := range blockLabels {
		if before, ok := strings.CutSuffix(line, label); ok {
			return before
		}
	}
	return line
}

// quotedAbove reports whether the line above, with which before ends, quotes what begins a call of several
// lines: a fence, a tag or a label stands at its end, behind an opening quotation mark, a back-tick or the
// mark of a quotation.
func quotedAbove(before string) bool {
	line := strings.TrimRight(before, " \t\r")
	if line = strings.TrimSuffix(line, "\n"); len(line) == len(before) || strings.HasSuffix(line, "\n") {
		return false
	}
	line = strings.TrimRight(line[strings.LastIndexByte(line, '\n')+1:], " \t\r")
	at := -1
	if word := strings.TrimRightFunc(line, func(c rune) bool {
		return c == '_' || c >= 'a' && c <= 'z'
	}); strings.HasSuffix(word, "```") {
		at = len(strings.TrimRight(word, "`"))
		if strings.HasPrefix(strings.TrimSpace(line), ">") {
			return true
		}
	} else if strings.HasSuffix(line, ">") || strings.HasSuffix(line, "]") {
		at = strings.LastIndexAny(line, "<[")
	}
	if n := len(cutLabel(line)); n < len(line) {
		at = n
	}
	return at > 0 && quotedBy("x"+line[:at]) != ""
}

// inComment reports whether before ends in a comment of a programming language that is open.
func inComment(before string) bool {
	n := strings.Index(before, "/*")
	if n < 0 || strings.Contains(before[n:], "*/") {
		return false
	}
	return (n == 0 || chars.IsBlank(before[n-1])) && (n+2 == len(before) || chars.IsBlank(before[n+2]))
}

// exampleLed reports whether before ends in a sentence that leads to an example.
func exampleLed(before string) bool {
	line := strings.ToLower(before[strings.LastIndexByte(before, '\n')+1:])
	for _, l := range leads {
		n := strings.LastIndex(line, l.text)
		if n < 0 {
			continue
		}
		rest := line[n+len(l.text):]
		if l.right && strings.Trim(rest, " \t,:(\"'“”‘’") == "" || !l.right && !strings.ContainsAny(rest, ".!?;") {
			return true
		}
	}
	return false
}

// openMention continues with what is kept when an input begins.
func (d *Decoder) openMention(dst []chat.Event) {
	d.text.dst = dst
	if m := &d.mention; m.keeps() {
		m.out, d.text.dst = dst, m.kept
	}
}

// closeMention keeps what an input added, and returns what goes out.
func (d *Decoder) closeMention() (dst []chat.Event) {
	if d.mention.state == mentionNone {
		dst, d.text.dst = d.text.dst, nil
		return dst
	}
	return d.keepMention()
}

func (d *Decoder) keepMention() (dst []chat.Event) {
	m := &d.mention
	if m.keeps() && !m.begun && m.turn == "" && m.state == mentionInside && len(m.raw) > maxAlone+maxHeader &&
		firstEnd(d.text.dst) < 0 {
		d.text.dst, m.begun = append(m.out, d.text.dst...), true
	}
	if dst = d.text.dst; m.keeps() {
		m.kept, dst, m.out = d.text.dst, m.out, nil
	}
	d.text.dst = nil
	return dst
}

// firstEnd returns the index of the first event in which a call or an attempt ends, or -1.
func firstEnd(events []chat.Event) int {
	return slices.IndexFunc(events, func(e chat.Event) bool {
		return e.Kind == chat.KindCallEnd || e.Kind == chat.KindRejected
	})
}

// callBegins decides whether the candidate, of which a call or an attempt begins, may be a mention.
func (d *Decoder) callBegins() {
	if !d.text.confirmed {
		d.mentions()
	}
	d.turn.called = true
}

// callEnds keeps from here on what comes out, where a call ends that has begun to.
func (d *Decoder) callEnds() {
	if m := &d.mention; m.begun && !m.first.ended {
		m.first = endedCall{ended: true, index: d.call.index, name: d.call.tool.Name, args: d.call.Arguments(),
			at: d.call.at, last: d.text.last}
		m.out, d.text.dst = d.text.dst, nil
	}
}

// mentionInput takes the text of the mention from an input up to the offset end.
func (d *Decoder) mentionInput(end int) {
	m := &d.mention
	if from := m.at + len(m.raw); from < end {
		if from < d.text.base {
			m.raw = append(m.raw, d.text.held(from, d.text.base)...)
			from = d.text.base
		}
		m.raw = append(m.raw, d.text.in[d.text.index(from):d.text.index(end)]...)
	}
}

// decideMention decides by the character at i, behind the call.
func (d *Decoder) decideMention(i int) int {
	m := &d.mention
	at := d.text.at(i)
	c, _ := utf8.DecodeRuneInString(d.text.in[i:])
	switch {
	case m.sure:
		d.unsay()
	case m.end < 0:
		d.meant()
	case strings.ContainsRune(m.closers, c):
		if m.stopped {
			m.end = at
			d.mentionInput(at)
		}
		d.unsay()
	case m.stopped && d.ctx.after:
		d.meant()
	case m.stopped:
		d.meant()
		d.textUpTo(at)
		d.text.holding = false
	case d.text.holding:
		d.meant()
	case strings.ContainsRune(m.closers, '»') && (c == ' ' || c == '\u00a0' || c == '\u202f'):
		m.stopped = true
		d.text.hold(at)
		return i + utf8.RuneLen(c)
	case strings.ContainsRune(".,;:!?…。，", c):
		m.stopped = true
		d.text.hold(at)
		d.ctx.passed(d.text.in[i])
		return i + utf8.RuneLen(c)
	case d.set.trie.starts(d.text.in[i]) && !chars.IsLetter(d.text.in[i]) && at == m.end:
		m.end = -1 // it may be a token that belongs to the call
		return d.scanText(i)
	default:
		d.meant()
	}
	return i
}

// meant lets the call come out: it is none that is only talked about.
func (d *Decoder) meant() {
	m := &d.mention
	d.text.dst = append(m.out, d.text.dst...)
	*m = mention{kept: m.kept[:0]}
	d.text.eager = false
}

// begins lets the call come out up to its end if it is as long as one that would have come out already in small chunks.
func (m *mention) begins(kept []chat.Event) {
	n := firstEnd(kept)
	if m.begun || m.turn != "" || n < 0 || kept[n].End-m.at <= maxAlone {
		return
	}
	e := &kept[n]
	m.begun, m.out = true, append(m.out, kept[:n]...)
	m.first = endedCall{ended: e.Index >= 0, index: e.Index, last: e.At}
	switch d := e.Detail.(type) {
	case *chat.Call:
		m.first.name, m.first.args, m.first.at = d.Name, d.Arguments, d.At
	case *chat.RejectedDetail:
		m.first.name, m.first.args, m.first.at = d.Name, d.Arguments, d.At
	}
}

// unsay makes text of the call. Where it has begun to come out, it is rejected.
func (d *Decoder) unsay() {
	m := &d.mention
	if n := firstEnd(d.text.dst); !m.begun && m.turn == "" && n >= 0 && d.text.dst[n].Index < 0 &&
		d.text.dst[n].End-m.at > maxAlone {
		d.meant() // it is an attempt that is reported already
		return
	}
	if m.begins(d.text.dst); m.begun && !m.first.ended {
		d.meant()
		return
	}
	raw, dialect := string(m.raw[:m.end-m.at]), d.call.last
	d.text.dst, d.call.count, d.turn.called, d.call.last = m.out, m.calls, m.called, m.lastCall
	if c := &m.first; m.begun {
		d.call.count, d.turn.called = m.calls+1, true
		r := &chat.RejectedDetail{Reason: chat.ReasonMalformed, Name: c.name, Raw: raw[c.at-m.at:], Arguments: c.args,
			Dialect: dialect, At: c.at, End: m.end, Message: "the call stands in a sentence that talks about it"}
		d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindRejected, Index: c.index, Name: r.Name, At: c.last,
			End: m.end, Detail: r})
		d.text.last = m.end
	} else {
		d.text.last = m.at
		if m.turn != "" {
			d.emitOverrun(m.turnAt, m.turn, false)
		}
		d.text.emitText(raw, m.end)
	}
	d.text.holding, d.ctx = false, lineContext{fence: d.ctx.fence}
	d.ctx.fence.carrier = false
	*m = mention{kept: m.kept[:0]}
	d.text.eager = false
}

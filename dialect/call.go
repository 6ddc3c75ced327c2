package dialect

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// A callWriter writes the calls that body machines read: their events, and their arguments as they come.
type callWriter struct {
	text  *scanner
	set   *set
	watch callWatcher // nil: nobody
	notes *noteList   // nil: each is an event

	dialect  string // of the candidate
	accepted bool   // one of its calls was whole
	count    int    // calls and attempts so far
	last     string // the dialect of the last call that ended
	spare    []chat.Call
	openCall
}

// A callWatcher learns of calls before their events are emitted.
type callWatcher interface {
	callBegins()
	callEnds()
}

// An openCall is the call that is being read.
type openCall struct {
	open  bool // its start was sent, its end was not
	index int
	id    string
	tool  *shape.Tool
	at    int // where its text begins
	// The arguments so far: the bytes [rawFrom, rawTo) of the text if they stand there as they are, else what
	// was built.
	raw     bool
	rawFrom int
	rawTo   int
	args    strings.Builder
	told    int // how many bytes of args came out: those behind them go out together, see callWriter.tell
	tellAt  int // where the text begins that those were read from
	// Bytes of the text that are to follow in args, which are copied together.
	later     bool
	laterFrom int
	laterTo   int
	escaped   bool // as the inside of a JSON string
	reasoning string
}

// mintedID is the id of a call whose text has none. It is unique in the response only: whoever needs more gives more.
func mintedID(index int) string {
	if index < len(mintedIDs) {
		return mintedIDs[index]
	}
	return "call_" + strconv.Itoa(index)
}

// mintedIDs are the ids that nearly every response gets along with.
var mintedIDs = func() (ids [128]string) {
	for i := range ids {
		ids[i] = "call_" + strconv.Itoa(i)
	}
	return ids
}()

// confirm turns the candidate into a call whose text begins at the offset at, or into an attempt at one.
func (c *callWriter) confirm(at int, call bool) {
	if c.watch != nil {
		c.watch.callBegins()
	}
	switch {
	case c.text.confirmed:
		c.text.markupUpTo(at)
		c.text.trim(at)
	case call && !c.set.spaced:
		c.text.textUpTo(c.text.holdAt)
		if at > 0 && c.text.holdAt == 0 && strings.HasPrefix(c.text.held(0, at), "\ufeff") {
			c.Note(chat.NoteDetail{Kind: note.BOM, Before: "\ufeff", End: 3})
		}
		c.text.markupUpTo(at)
	default:
		c.text.textUpTo(at)
	}
	c.text.confirmed = true
	c.text.recent.add("")
}

// start opens a call of tool t whose text begins at the offset at and was read up to end.
func (c *callWriter) start(t int, written, id string, at, end int) {
	c.startTool(&c.set.names.tools[t], written, id, at, end)
}

func (c *callWriter) startTool(t *shape.Tool, written, id string, at, end int) {
	c.confirm(at, true)
	c.openCall = openCall{open: true, index: c.count, id: id, tool: t, at: at}
	if id == "" {
		c.id = mintedID(c.count)
	}
	c.count++
	c.text.emit(chat.Event{Kind: chat.KindCallStart, Index: c.index, ID: c.id, Name: c.tool.Name}, end)
	if written != c.tool.Name && written != c.set.opts.Prefix+c.tool.Name {
		c.Note(chat.NoteDetail{Kind: note.Name, Before: written, After: c.tool.Name, At: at, End: end})
	}
}

// Write adds s to the arguments of the open call; the text was read up to end.
func (c *callWriter) Write(s string, end int) {
	if s == "" {
		return
	}
	c.flatten()
	grow(&c.args, len(s))
	c.args.WriteString(s)
	c.built(len(s), end)
}

// writeBytes is writeArgs for a text that is kept elsewhere no longer.
func (c *callWriter) writeBytes(s []byte, end int) {
	c.flatten()
	grow(&c.args, len(s))
	c.args.Write(s)
	c.built(len(s), end)
}

// WriteRaw adds s, the bytes of the text from the offset at on, to the arguments of the open call.
func (c *callWriter) WriteRaw(s string, at int) {
	end := at + len(s)
	switch {
	case s == "":
		return
	case !c.raw && c.args.Len() == 0:
		c.raw, c.rawFrom, c.rawTo = true, at, end
	case c.raw && c.rawTo == at:
		c.rawTo = end
	case c.later && c.laterTo == at && !c.escaped:
		c.laterTo = end
	default:
		c.Write(s, end)
		return
	}
	c.text.dst = c.emitDelta(c.text.dst, s, end)
}

// emitDelta appends to dst the event of s, which is told of at once; the text was read up to end.
func (c *callWriter) emitDelta(dst []chat.Event, s string, end int) []chat.Event {
	dst = appendDelta(dst, chat.KindCallArgs, c.index, s, c.text.last, end)
	c.text.last = end
	return dst
}

// built takes note of n bytes that were added to the arguments. Their event waits for more of them: what a
// machine writes piece by piece, such as a comma, a key and a quote, is one event in the end.
func (c *callWriter) built(n, end int) {
	if c.told == c.args.Len()-n {
		c.tellAt = c.text.last
	}
	c.text.last = end
}

// tell emits what was added to the arguments. That must be before any other event, and at the end of each chunk.
func (c *callWriter) tell() {
	if c.told < c.args.Len() {
		c.text.dst = appendDelta(c.text.dst, chat.KindCallArgs, c.index, c.args.String()[c.told:], c.tellAt,
			c.text.last)
		c.told = c.args.Len()
	}
}

// WriteKey writes before, which ends with a quote, a key, its other quote and a colon.
func (c *callWriter) WriteKey(before, key string, end int) {
	c.flatten()
	b := &c.args
	n := b.Len()
	grow(b, len(key)+len(before)+2)
	b.WriteString(before)
	buildEscaped(b, key)
	b.WriteString(`":`)
	c.built(b.Len()-n, end)
}

// Rewrite puts what the parts are together in place of the arguments so far, of which nothing was sent.
func (c *callWriter) Rewrite(parts ...string) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	c.args = strings.Builder{}
	c.args.Grow(n + n/4)
	for _, p := range parts {
		c.args.WriteString(p)
	}
}

// Holding reports whether what is read stands in the text and is held there.
func (c *callWriter) Holding() bool { return c.text.holding }

// Held returns the bytes [from, to) of the text.
func (c *callWriter) Held(from, to int) string { return c.text.held(from, to) }

// Patient reports whether the input may be left unread from i on, to be read together with what follows.
func (c *callWriter) Patient(i int) bool { return c.text.patient(i) }

// flatten makes the arguments so far a text of their own, to which another can be added.
func (c *callWriter) flatten() {
	if c.raw {
		c.args.WriteString(c.text.held(c.rawFrom, c.rawTo))
		c.raw, c.told = false, c.args.Len()
	}
	c.settle()
}

// settle copies what waits to follow in the arguments.
func (c *callWriter) settle() {
	if !c.later {
		return
	}
	c.later = false
	n := c.laterTo - c.laterFrom
	if c.escaped {
		n += n / 8 // most texts have fewer bytes to escape
	}
	grow(&c.args, n)
	for at := c.laterFrom; at < c.laterTo; {
		s := c.text.heldPart(at, c.laterTo)
		if at += len(s); c.escaped {
			buildEscaped(&c.args, s)
		} else {
			c.args.WriteString(s)
		}
	}
	c.told = c.args.Len()
}

// settleLater lets the bytes [from, to) of the text, which the caller tells of, follow in the arguments.
func (c *callWriter) settleLater(from, to int, escaped bool) {
	if c.later && c.laterTo == from {
		c.laterTo, c.escaped = to, c.escaped || escaped
		return
	}
	c.flatten()
	c.tell()
	c.later, c.laterFrom, c.laterTo, c.escaped = true, from, to, escaped
}

// writeEscaped writes s, which need not stand in the text, as the inside of a JSON string; the text was read up to end.
func (c *callWriter) writeEscaped(s string, end int) {
	c.flatten()
	n := c.args.Len()
	grow(&c.args, len(s)+len(s)/8)
	buildEscaped(&c.args, s)
	c.built(c.args.Len()-n, end)
}

// WriteText writes s, which stands in the text but for what is escaped, as the inside of a JSON string.
func (c *callWriter) WriteText(s string, end int) {
	if len(s) > maxPieces || !c.later {
		c.writeEscaped(s, end)
	} else {
		c.writePieces(s, end)
	}
}

// maxPieces is up to which length a text is written in pieces. Then what it is in the arguments is built only
// when they are asked for, so that a long value that comes in small chunks is not copied again and again.
const maxPieces = 64

// writePieces emits what s, the bytes of the text before the offset end, is inside a JSON string: its pieces
// and the escapes between them, so that nothing is copied. They follow in the arguments.
func (c *callWriter) writePieces(s string, end int) {
	i, from := chars.Escaped.Index(s, 0), 0
	c.settleLater(end-len(s), end, i < len(s))
	dst := c.text.dst
	for ; i < len(s); i = chars.Escaped.Index(s, i+1) {
		if from < i {
			dst = c.emitDelta(dst, s[from:i], end-len(s)+i)
		}
		dst = c.emitDelta(dst, escapes[s[i]], end-len(s)+i+1)
		from = i + 1
	}
	if from < len(s) {
		dst = c.emitDelta(dst, s[from:], end)
	}
	c.text.dst = dst
}

// escapes maps the bytes of doubleStop to their escapes in a JSON string.
var escapes = func() (t [256]string) {
	for c := range 0x20 {
		t[c] = value.ControlEscape(byte(c))
	}
	t['"'], t['\\'] = `\"`, `\\`
	return t
}()

// buildEscaped adds s as the inside of a JSON string to b.
func buildEscaped(b *strings.Builder, s string) {
	for i := chars.IndexEscaped(s, 0); i < len(s); i = chars.IndexEscaped(s, 0) {
		b.WriteString(s[:i])
		b.WriteString(escapes[s[i]])
		s = s[i+1:]
	}
	b.WriteString(s)
}

// follows reports whether a byte at the offset at of the text would follow in the arguments as it stands.
func (c *openCall) follows(at int) bool { return c.raw && c.rawTo == at || c.later && c.laterTo == at }

// follow lets the bytes [from, to) of the text, which the caller tells of, follow in the arguments as they stand.
func (c *callWriter) follow(from, to int) {
	if c.raw {
		c.rawTo = to
		return
	}
	c.settleLater(from, to, false)
}

// grow makes room for n bytes, doubling: what a builder does by itself copies a long argument many times.
// Most arguments are so short that they never grow again.
func grow(b *strings.Builder, n int) {
	if b.Cap()-b.Len() < n {
		b.Grow(max(n, smallArgs))
	}
}

const smallArgs = 96

// Len returns the length of the arguments so far.
func (c *callWriter) Len() int {
	if c.raw {
		return c.rawTo - c.rawFrom
	}
	c.settle()
	return c.args.Len()
}

// Arguments returns the arguments so far.
func (c *callWriter) Arguments() string {
	if c.raw {
		return c.text.held(c.rawFrom, c.rawTo)
	}
	c.settle()
	return c.args.String()
}

// manyCalls is for how many calls at most memory is taken at once: whoever keeps one of them keeps that of
// all. Eight of them fill a block of the allocator's.
const manyCalls = 8

// memory returns the memory of a call. A response with several calls is likely to have more.
func (c *callWriter) memory() *chat.Call {
	if len(c.spare) == 0 {
		c.spare = make([]chat.Call, min(max(1, c.count/2), manyCalls))
	}
	w := &c.spare[0]
	c.spare = c.spare[1:]
	return w
}

// end closes the open call before the offset end.
func (c *callWriter) end(end int, complete bool) {
	c.tell()
	c.watch.callEnds()
	c.accepted = c.accepted || complete
	c.last = c.dialect
	whole := c.memory()
	*whole = chat.Call{Index: c.index, ID: c.id, Name: c.tool.Name, Arguments: c.Arguments(), Complete: complete,
		Dialect: c.dialect, Reasoning: c.reasoning, At: c.at, End: end}
	c.text.emit(chat.Event{Kind: chat.KindCallEnd, Index: c.index, ID: c.id, Name: c.tool.Name, Detail: whole}, end)
	c.openCall = openCall{index: c.index}
}

// Noting reports whether the next note is kept, or only counted.
func (c *callWriter) Noting() bool { return c.notes == nil || len(c.notes.list) < maxNotes }

// Note records something about the bytes [at, end) of the text.
func (c *callWriter) Note(n chat.NoteDetail) {
	if c.notes != nil {
		c.notes.add(n)
		return
	}
	c.tell()
	c.text.dst = append(c.text.dst, chat.Event{Kind: chat.KindNote, Index: c.index, At: n.At, End: n.End, Detail: &n})
}

// reject closes the open call, or an attempt that opened none, before the offset end. Its text begins at the offset at.
func (c *callWriter) reject(reason chat.Reason, name, message string, at, end int) {
	r := &chat.RejectedDetail{Reason: reason, Name: name, Message: message, Dialect: c.dialect, At: at, End: end}
	index := -1
	if c.open {
		c.tell()
		c.watch.callEnds()
		index = c.index
		r.At, r.Name, r.Arguments = c.at, c.tool.Name, c.Arguments()
	} else {
		c.confirm(at, false)
	}
	r.Raw = c.text.held(r.At, end)
	c.text.emit(chat.Event{Kind: chat.KindRejected, Index: index, Name: r.Name, Detail: r}, end)
	c.openCall = openCall{index: c.index}
}

// unescapeName removes the back-slashes that Markdown puts before underscores.
func unescapeName(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	return strings.ReplaceAll(s, `\`, ""), true
}

package dialect

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
)

// An openCall is the call that is being read.
type openCall struct {
	open  bool // its start was sent, its end was not
	index int
	id    string
	tool  *shape.Tool
	at    int // where its text begins
	// The arguments so far: the bytes [rawFrom, rawTo) of the text if they stand there as they are, else what was built.
	raw     bool
	rawFrom int
	rawTo   int
	args    strings.Builder
	told    int // how many bytes of args came out: those behind them go out together, see Decoder.tellArgs
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
func (d *Decoder) confirm(at int, call bool) {
	if !d.text.confirmed {
		d.mentions()
	}
	switch {
	case d.text.confirmed:
		d.text.markupUpTo(at)
		d.text.trim(at)
	case call:
		d.textUpTo(d.text.holdAt)
		if at > 0 && d.text.holdAt == 0 && strings.HasPrefix(d.text.held(0, at), "\ufeff") {
			d.note(chat.NoteDetail{Kind: chat.NoteBOM, Before: "\ufeff", End: 3})
		}
		d.text.markupUpTo(at)
	default:
		d.textUpTo(at)
	}
	d.text.confirmed, d.turn.called = true, true
	d.text.recent.add("")
}

// startCall opens a call of tool t whose text begins at the offset at and was read up to end.
func (d *Decoder) startCall(t int, written, id string, at, end int) {
	d.confirm(at, true)
	d.call = openCall{open: true, index: d.calls, id: id, tool: &d.set.names.tools[t], at: at}
	if id == "" {
		d.call.id = mintedID(d.calls)
	}
	d.calls++
	d.sources.begin(end)
	d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindCallStart, Index: d.call.index, ID: d.call.id, Name: d.call.tool.Name, At: d.text.last, End: end})
	d.text.last = end
	if written != d.call.tool.Name && written != d.set.opts.Prefix+d.call.tool.Name {
		d.note(chat.NoteDetail{Kind: chat.NoteName, Before: written, After: d.call.tool.Name, At: at, End: end})
	}
}

// writeArgs adds s to the arguments of the open call; the text was read up to end.
func (d *Decoder) writeArgs(s string, end int) {
	if s == "" {
		return
	}
	d.flattenArgs()
	grow(&d.call.args, len(s))
	d.call.args.WriteString(s)
	d.builtArgs(len(s), end)
}

// writeBytes is writeArgs for a text that is kept elsewhere no longer.
func (d *Decoder) writeBytes(s []byte, end int) {
	d.flattenArgs()
	grow(&d.call.args, len(s))
	d.call.args.Write(s)
	d.builtArgs(len(s), end)
}

// writeRaw adds s, the bytes of the text from the offset at on, to the arguments of the open call.
func (d *Decoder) writeRaw(s string, at int) {
	c := &d.call
	end := at + len(s)
	switch {
	case s == "":
		return
	case !c.raw && c.args.Len() == 0:
		c.raw, c.rawFrom = true, at
	case !c.raw || at != c.rawTo:
		d.writeArgs(s, end)
		return
	}
	c.rawTo = end
	d.text.dst = d.emitDelta(d.text.dst, s, end)
}

// emitDelta appends to dst the event of s, which is told of at once; the text was read up to end.
func (d *Decoder) emitDelta(dst []chat.Event, s string, end int) []chat.Event {
	if d.sources != nil {
		d.sources.add(s, end)
		end = max(end, d.text.last)
	}
	dst = appendDelta(dst, chat.KindCallArgs, d.call.index, s, d.text.last, end)
	d.text.last = end
	return dst
}

// builtArgs takes note of n bytes that were added to the arguments. Their event waits for more of them: what a machine writes piece by
// piece, such as a comma, a key and a quote, is one event in the end.
func (d *Decoder) builtArgs(n, end int) {
	c := &d.call
	if d.sources != nil {
		d.sources.add(c.args.String()[c.args.Len()-n:], end)
		end = max(end, d.text.last)
	}
	if c.told == c.args.Len()-n {
		c.tellAt = d.text.last
	}
	d.text.last = end
}

// tellArgs emits what was added to the arguments. That must be before any other event, and at the end of each chunk.
func (d *Decoder) tellArgs() {
	if c := &d.call; c.told < c.args.Len() {
		d.text.dst = appendDelta(d.text.dst, chat.KindCallArgs, c.index, c.args.String()[c.told:], c.tellAt, d.text.last)
		c.told = c.args.Len()
	}
}

// flattenArgs makes the arguments so far a text of their own, to which another can be added.
func (d *Decoder) flattenArgs() {
	if d.call.raw {
		d.call.args.WriteString(d.text.held(d.call.rawFrom, d.call.rawTo))
		d.call.raw, d.call.told = false, d.call.args.Len()
	}
	d.settleArgs()
}

// settleArgs copies what waits to follow in the arguments.
func (d *Decoder) settleArgs() {
	c := &d.call
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
		s := d.text.heldPart(at, c.laterTo)
		if at += len(s); c.escaped {
			buildEscaped(&c.args, s)
		} else {
			c.args.WriteString(s)
		}
	}
	c.told = c.args.Len()
}

// settleLater lets the bytes [from, to) of the text, which the caller tells of, follow in the arguments.
func (d *Decoder) settleLater(from, to int, escaped bool) {
	c := &d.call
	if c.later && c.laterTo == from {
		c.laterTo, c.escaped = to, c.escaped || escaped
		return
	}
	d.flattenArgs()
	d.tellArgs()
	c.later, c.laterFrom, c.laterTo, c.escaped = true, from, to, escaped
}

// follows reports whether a byte at the offset at of the text would follow in the arguments as it stands.
func (c *openCall) follows(at int) bool { return c.raw && c.rawTo == at || c.later && c.laterTo == at }

// follow lets the bytes [from, to) of the text, which the caller tells of, follow in the arguments as they stand.
func (d *Decoder) follow(from, to int) {
	if d.call.raw {
		d.call.rawTo = to
		return
	}
	d.settleLater(from, to, false)
}

// grow makes room for n bytes, doubling: what a builder does by itself copies a long argument many times. Most arguments are so
// short that they never grow again.
func grow(b *strings.Builder, n int) {
	if b.Cap()-b.Len() < n {
		b.Grow(max(n, smallArgs))
	}
}

const smallArgs = 96

// argsLen returns the length of the arguments so far.
func (d *Decoder) argsLen() int {
	if d.call.raw {
		return d.call.rawTo - d.call.rawFrom
	}
	d.settleArgs()
	return d.call.args.Len()
}

// argsText returns the arguments so far.
func (d *Decoder) argsText() string {
	if d.call.raw {
		return d.text.held(d.call.rawFrom, d.call.rawTo)
	}
	d.settleArgs()
	return d.call.args.String()
}

// A wholeCall is what the event of a call's end points to.
type wholeCall struct {
	chat.Detail
	chat.Call
}

// manyCalls is for how many calls at most memory is taken at once: whoever keeps one of them keeps that of all. Ten of them fill a block of
// the allocator's, of whose blocks for eight a twelfth would be left over.
const manyCalls = 10

// newCall returns the memory of a call. A response with several calls is likely to have more.
func (d *Decoder) newCall() *wholeCall {
	if len(d.spare) == 0 {
		d.spare = make([]wholeCall, min(max(1, d.calls/2), manyCalls))
	}
	c := &d.spare[0]
	d.spare = d.spare[1:]
	return c
}

// endCall closes the open call before the offset end.
func (d *Decoder) endCall(end int, complete bool) {
	d.tellArgs()
	d.mentionEnds()
	c := &d.call
	d.cand.accepted = d.cand.accepted || complete
	d.lastCall = d.cand.dialect
	whole := d.newCall()
	whole.Call = chat.Call{Index: c.index, ID: c.id, Name: c.tool.Name, Arguments: d.argsText(), Complete: complete,
		Dialect: d.cand.dialect, Reasoning: c.reasoning, At: c.at, End: end}
	whole.Detail.Call = &whole.Call
	d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindCallEnd, Index: c.index, ID: c.id, Name: c.tool.Name, At: d.text.last, End: end,
		Detail: &whole.Detail})
	d.text.last = end
	d.sources.finish(c.at, end)
	d.call = openCall{index: c.index}
}

// reject closes the open call, or an attempt that opened none, before the offset end. Its text begins at the offset at.
func (d *Decoder) reject(reason chat.Reason, name, message string, at, end int) {
	r := &chat.RejectedDetail{Reason: reason, Name: name, Message: message, Dialect: d.cand.dialect, At: at, End: end}
	index := -1
	if d.call.open {
		d.tellArgs()
		d.mentionEnds()
		index = d.call.index
		r.At, r.Name, r.Arguments = d.call.at, d.call.tool.Name, d.argsText()
	} else {
		d.confirm(at, false)
	}
	r.Raw = d.text.held(r.At, end)
	d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindRejected, Index: index, Name: r.Name, At: d.text.last, End: end, Detail: &chat.Detail{Rejected: r}})
	d.text.last = end
	d.call = openCall{index: d.call.index}
}

// required reports whether the open call's shape has a required property that is not among the keys read.
func missingRequired(s *shape.Shape, has func(string) bool) bool {
	if s == nil {
		return false
	}
	for i := range s.Props {
		if s.Props[i].Required && !has(s.Props[i].Name) {
			return true
		}
	}
	return false
}

// unescapeName removes the back-slashes that Markdown puts before underscores.
func unescapeName(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	return strings.ReplaceAll(s, `\`, ""), true
}

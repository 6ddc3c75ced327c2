package dialect

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
)

// A callReader reads a JSON value that holds calls: one object, an array of them, or an envelope around them,
// in any of the shapes that models write. Only the level of the call is its own; values are read by a value
// machine, and the arguments go out as they are read.
type callReader struct {
	bare    bool // which nothing announced: the first argument has to show that it is one
	midLine bool // it stands in the middle of a line of text
	callSection
	callValue
	heldArgs

	state   callState
	stack   []level
	first   bool // the next key is the first of the outermost object
	key     []byte
	quote   byte
	class   keyClass
	word    string
	val     *value.Reader
	args    *value.Arguments
	text    value.Text
	record  callParts
	blanks  int
	slash   bool              // a back-slash was read between values
	doom    string            // the JSON is read to its end, and then rejected for this reason
	comma   bool              // the last thing in the object was a comma
	notes   []chat.NoteDetail // of repairs before the call was confirmed
	back    callState         // to go on in behind a comment
	content []aside           // text beside an array of calls
	textAt  int
	got     int // calls and attempts that came out
}

// heldArgs are arguments that may be a schema, and so are held.
type heldArgs struct {
	headAt  int // where the object begins behind its brace, or what follows the name: see ahead
	firstAt int // where they begin
	firstIn int // how many levels are open there
}

// A callValue records how much has been read of the value that holds the calls.
type callValue struct {
	valueGot int // calls and attempts up to there
	// where the value ends, and what belongs to it: what follows that is no closer is text
	valueEnd  int
	ended     bool                 // the value is complete; the closer may follow
	rejection *chat.RejectedDetail // of the last call of a section, which is to hold the closer as well
}

// A callSection holds what the opener before the value says.
type callSection struct {
	explicit bool      // an opener stands before it, so that what is wrong is reported
	closer   string    // the literal that ends the section; "": none
	optional bool      // it may be missing
	keys     [2]string // of the name and of the arguments that the dialect has beside the usual ones
	keyed    bool      // the one key of an object is the name of the call
	inner    bool      // a fence stands around the value inside the section
}

type callState uint8

const (
	cStart     callState = iota // before the first object
	cElement                    // where an object of an array begins
	cElementOr                  // the same, or the end of the array
	cKeyOr                      // a key or the end of the object
	cColon
	cValue   // the first byte of a value
	cSkip    // in a value without a meaning
	cText    // in a string that is kept
	cArgs    // in the arguments
	cAfter   // behind a value in an object
	cBetween // behind an object in an array
	cEnd     // behind the value
	cComment // in a comment
)

// An aside is a string that stands beside an array of calls and is content.
type aside struct {
	text     string
	from, to int
	decoded  bool // it had escapes
}

// A level is an open object or array above the arguments.
type level struct {
	array bool
	calls bool // an object that holds a call; otherwise it is one layer of a call, or of an envelope
	env   bool // it held an array of calls
}

// newCallReader returns a reader of the value that stands in the section of o, or bare if o is nil. With list
// an opening bracket was read already.
func newCallReader(d *driver, o *opener, list bool) *callReader {
	r := ready(&d.readers.call)
	if r.key == nil {
		r.stack, r.key = make([]level, 0, 4), make([]byte, 0, 32)
	}
	stack, key, notes, text := r.stack[:0], r.key[:0], r.notes[:0], r.text
	*r = callReader{}
	r.first, r.stack, r.key, r.notes, r.text = true, stack, key, notes, text
	switch {
	case o != nil:
		r.explicit, r.closer, r.inner, r.keyed = true, o.closer, d.cand.elem.inner, o.keyed
		r.keys = o.keys
		r.optional = o.optional || o.lists && list
		if o.json != "" {
			d.call.dialect = o.json
		}
	case d.cand.ctx.label != "":
		d.call.dialect = d.cand.ctx.label
	case d.cand.fenced.mark != 0 || d.cand.ctx.fence.carrier:
		d.call.dialect = "json-fence"
	default:
		d.call.dialect = d.set.bareJSON
		r.midLine = !d.cand.ctx.bol && !d.cand.ctx.after && !d.cand.ctx.gap
	}
	if list {
		r.stack = append(r.stack, level{array: true})
		r.state = cElement
	}
	return r
}

// jsonBody returns the constructor of readers of a JSON value; with list its opening bracket is part of the opener.
func jsonBody(list bool) func(d *driver, o *opener) body {
	return func(d *driver, o *opener) body { return newCallReader(d, o, list) }
}

// run is the method of body. What is called here may change d.text.in, but only for its own time.
func (r *callReader) run(d *driver, i int) (int, verdict) {
	for v := more; i < len(d.text.in); {
		switch r.state {
		case cSkip:
			i, v = r.inSkipped(d, i)
		case cText:
			i, v = r.inText(d, i)
		case cArgs:
			i, v = r.inArgs(d, i)
		case cComment:
			i, v = r.inComment(d, i)
		default:
			i, v = r.atCall(d, i)
		}
		if v != more {
			return i, v
		}
	}
	return r.pause(d, i)
}

// pause ends an input, with what most likely follows.
func (r *callReader) pause(d *driver, i int) (int, verdict) {
	if (r.state == cKeyOr || r.state == cAfter) && d.text.patient(i) {
		if rest := r.ahead(d, i); rest != "" {
			d.text.await(i, rest, nil)
		}
	}
	return i, more
}

// inSkipped reads in a value without a meaning.
func (r *callReader) inSkipped(d *driver, i int) (int, verdict) {
	r.val.At(d.text.at(0), 1)
	i, p := r.val.Run(d.text.in, i)
	switch p {
	case value.Failed:
		return r.broken(d, i, r.val.Err)
	case value.Done:
		r.endSkipped(d, i)
	}
	return i, more
}

// inText reads in a string that is kept.
func (r *callReader) inText(d *driver, i int) (int, verdict) {
	i, p := r.text.Run(d.text.in, i)
	switch p {
	case value.Failed:
		return r.broken(d, i, "a broken string")
	case value.Done:
		return i, r.endText(d, i)
	}
	return i, more
}

// inArgs reads in the arguments.
func (r *callReader) inArgs(d *driver, i int) (int, verdict) {
	r.args.At(d.text.at(0), 1)
	i, p := r.args.Run(d.text.in, i)
	return r.behindArgs(d, i, p)
}

// behindArgs acts on what the reader of the arguments left off with before i.
func (r *callReader) behindArgs(d *driver, i int, p value.Progress) (int, verdict) {
	if p == value.Failed && i < len(d.text.in) && r.closes(d, d.text.in[i]) && r.args.CloseMissing(i) {
		p = value.Done
	}
	switch p {
	case value.Failed:
		return r.broken(d, i, r.args.Err)
	case value.Short:
		return i, waits
	case value.Done:
		r.doom = r.args.Doom
		r.record.done = r.doom == ""
		r.state = cAfter
	}
	return i, more
}

// inComment reads in a comment.
func (r *callReader) inComment(d *driver, i int) (int, verdict) {
	i, p := r.val.Comments(d.text.in[i], i)
	switch p {
	case value.Failed:
		return r.broken(d, i, r.val.Err)
	case value.Done:
		r.state = r.back
		r.note(d, note.Comment, "", "", i-1, i)
	}
	return i, more
}

// atCall reads a byte at call level, or a whole key or name.
func (r *callReader) atCall(d *driver, i int) (int, verdict) {
	c := d.text.in[i]
	switch {
	case chars.IsBlank(c):
		if r.blanks++; r.blanks > maxHeader && !d.text.confirmed && !r.record.named {
			return i, refused
		}
		return i + 1, more
	case r.slash && c == 'n', c == '\\' && !r.slash && r.closer != "" && d.set.opts.Repair != RepairOff:
		r.slash = !r.slash // a newline of models that have seen too much JSON
		return i + 1, more
	case r.state == cEnd && r.slash:
		return r.unclosed(d, i)
	case r.state == cEnd:
		return r.behind(d, c, i)
	case r.slash:
		return r.broken(d, i, "a back-slash stands between the values")
	case (c == '/' || c == '#') && d.set.opts.Repair != RepairOff && r.state != cStart:
		r.comment(d, c)
		return i + 1, more
	case r.state == cKeyOr && (c == '"' || !r.strict(d)) && (c == '"' || c == '\''):
		return r.quotedKey(d, c, i)
	case r.state == cKeyOr && chars.IsLetter(c) && !r.strict(d):
		return r.bareKey(d, i)
	case r.state == cValue && r.class == keyArguments && !r.record.done && c == '{' && r.doom == "":
		if j, v, read := r.objectArguments(d, i); read {
			return j, v
		}
	case c == '"' && r.state == cValue && r.namesCall():
		switch n, v := r.wholeName(d, i); {
		case v == waits:
			return d.await(i, r.ahead(d, i), &waitStop)
		case v != more || n > 0:
			return i + n, v
		}
	}
	v, read := r.punctuation(d, c, i)
	if v == finished && r.ended && r.got == r.valueGot {
		return d.backTo(r.valueEnd, i) // separators, or a bracket, that no call followed
	}
	if v == more && read {
		i++
	}
	if v == more && r.state == cEnd && r.closer == "" {
		v = finished
	}
	return i, v
}

// comment begins a comment at its first byte.
func (r *callReader) comment(d *driver, c byte) {
	r.val = d.skipped()
	r.val.BeginComment(c)
	r.back, r.state = r.state, cComment
}

// ahead returns how the call most likely goes on behind the input, up to what decides something; "": that is not known.
func (r *callReader) ahead(d *driver, i int) string {
	rec := &r.record
	switch {
	case r.state == cValue && r.namesCall():
		return r.restOfName(d, i)
	case r.comma && !rec.named || rec.argsFrom >= 0 || rec.started || r.headAt < d.text.holdAt:
		return ""
	case rec.named:
		return goesOn(beforeArguments[:], d.text.held(r.headAt, d.text.end()))
	case r.first:
		return goesOn(beforeName[:], d.text.held(r.headAt, d.text.end()))
	}
	return ""
}

// restOfName returns how the name whose quote stands at i most likely goes on, with what stands between it and
// the arguments; "" if several tools have names that begin like this.
func (r *callReader) restOfName(d *driver, i int) string {
	tool, begun := -1, d.text.in[i+1:]
	for k := range d.set.names.tools {
		if name := d.set.names.tools[k].Name; len(name) > len(begun) && name[:len(begun)] == begun {
			if tool >= 0 {
				return ""
			}
			tool = k
		}
	}
	if tool < 0 || len(d.set.names.tools[tool].Name) > maxWait/2 || d.set.names.prefix != "" {
		return ""
	}
	behind := beforeArguments[1]
	if d.text.held(d.text.at(i)-1, d.text.at(i)) == " " {
		behind = beforeArguments[0]
	}
	return d.set.names.tools[tool].Name[len(begun):] + `"` + behind
}

// What most models write between the brace that opens a call and its name, and between that and the first key
// of its arguments.
var (
	beforeName      = [...]string{`"name": "`, `"name":"`}
	beforeArguments = [...]string{`, "arguments": {"`, `,"arguments":{"`, `, "parameters": {"`, `,"parameters":{"`}
)

// namesCall reports whether a string that begins now is the name of the call.
func (r *callReader) namesCall() bool {
	return (r.class == keyName || r.class == keyFunction) && !r.record.named
}

// wholeName reads the name at i at once if it has no escapes, and returns its length; else it reads nothing, and
// waits if the input ends before the name does.
func (r *callReader) wholeName(d *driver, i int) (n int, v verdict) {
	n = value.PlainKey(d.text.in[i:])
	switch {
	case n < 0 && d.text.patient(i):
		return 0, waits
	case n <= 0:
		return 0, more
	}
	r.record.nameKey, r.state, r.headAt = r.word, cAfter, d.text.at(i)+n
	if v = r.named(d, d.text.in[i+1:i+n-1]); v == more {
		n = r.passBehind(d, i+n, ',') - i
	}
	return n, v
}

// passBehind reads the colon behind a key, or the comma behind the name, if it stands at i, and the blanks
// behind it. It returns where it stopped.
func (r *callReader) passBehind(d *driver, i int, c byte) int {
	if i == len(d.text.in) || d.text.in[i] != c {
		return i
	}
	switch {
	case r.state == cColon && c == ':':
		r.state = cValue
	case r.state == cAfter && c == ',':
		r.state, r.comma = cKeyOr, true
	default:
		return i
	}
	for i++; i < len(d.text.in) && chars.IsBlank(d.text.in[i]) && r.blanks < maxHeader; i++ {
		r.blanks++
	}
	return i
}

// punctuation reads a byte at call level that is neither blank nor part of a value. It reports whether the
// byte was used.
func (r *callReader) punctuation(d *driver, c byte, i int) (v verdict, read bool) {
	switch r.state {
	case cStart, cElement, cElementOr:
		return r.element(d, c, i)
	case cKeyOr:
		return r.beginKey(d, c, i)
	case cColon:
		if c != ':' {
			return r.fail(d, i, "a colon is missing"), false
		}
		r.state = cValue
		return more, true
	case cValue:
		return r.beginValue(d, c, i)
	case cAfter:
		switch c {
		case ',':
			r.state, r.comma = cKeyOr, true
			return more, true
		case '}':
			return r.closeObject(d, d.text.at(i)+1)
		case ')':
			if d.set.opts.Repair == RepairFull && r.doom == "" && (r.record.done || r.record.known) {
				r.note(d, note.MissingCloser, ")", "}", i, i+1)
				return r.closeObject(d, d.text.at(i)+1)
			}
		}
		if r.closes(d, c) {
			return r.missingBrace(d, i)
		}
		return r.fail(d, i, "a comma or a closing brace is missing"), false
	case cBetween:
		switch c {
		case ',', ';':
			r.state = cElementOr
			return more, true
		case '{':
			r.state = cElement
			return more, false
		case ']':
			return r.closeArray(d, i)
		}
		if r.closes(d, c) && d.set.opts.Repair == RepairFull {
			r.stack = r.stack[:0]
			r.endValue(d.text.at(i))
			d.call.Note(chat.NoteDetail{Kind: note.MissingCloser, After: "]", At: d.text.at(i), End: d.text.at(i)})
			return more, false
		}
		return r.fail(d, i, "a comma or a closing bracket is missing"), false
	}
	return r.fail(d, i, "nothing may stand here"), false
}

// element begins an object, or ends the array that would hold it.
func (r *callReader) element(d *driver, c byte, i int) (verdict, bool) {
	switch {
	case c == '{':
		r.stack = append(r.stack, level{calls: true})
		at := d.text.at(i)
		if len(r.stack) == 1 && !r.ended || !d.text.confirmed && r.got == 0 {
			at = d.callAt()
		}
		r.record = callParts{at: at, argsFrom: -1}
		r.state, r.headAt = cKeyOr, d.text.at(i)+1
		return more, true
	case c == '[' && r.state == cStart:
		r.stack = append(r.stack, level{array: true})
		r.state = cElementOr
		return more, true
	case c == ']' && r.state == cElementOr && r.got > 0:
		return r.closeArray(d, i)
	}
	return r.fail(d, i, "no object"), false
}

// beginValue begins the value of a key.
func (r *callReader) beginValue(d *driver, c byte, i int) (verdict, bool) {
	rec := &r.record
	switch r.class {
	case keyName, keyFunction, keyCall:
		if c == '{' && r.class != keyName {
			if len(r.stack) >= value.MaxDepth {
				return r.fail(d, i, "nested too deeply"), false
			}
			r.stack = append(r.stack, level{})
			rec.layered = true
			r.state = cKeyOr
			return more, true
		}
		again := rec.named && r.word != rec.nameKey // a second name is compared, except where everything is repaired
		if again && (d.set.opts.Repair == RepairFull || r.declares(d, string(r.key))) {
			break
		}
		if (c == '"' || c == '\'') && r.class != keyCall {
			if !again {
				rec.nameKey = r.word
			}
			return r.beginText(d, c, i), true
		}
		if r.class == keyName && !rec.named {
			r.doom = "the name is no string"
		}
	case keyID, keyReasoning, keyContent:
		if c == '"' || c == '\'' {
			return r.beginText(d, c, i), true
		}
	case keyCalls:
		if c == '[' && !rec.named {
			r.stack[len(r.stack)-1].env = true
			r.stack = append(r.stack, level{array: true})
			r.state = cElementOr
			d.call.dialect = r.envelopeDialect(d)
			return more, true
		}
	case keyArguments:
		if r.bare {
			return refused, false
		}
		if v := r.beginArguments(d, i); v != more || r.state == cArgs {
			return v, false
		}
	}
	if r.class == keyOther && r.word == "" || (r.class == keyOther || r.class == keyFunction) &&
		r.declares(d, string(r.key)) {
		if r.stack[len(r.stack)-1].calls && len(rec.flat) < value.MaxDepth {
			rec.flat = append(rec.flat, flatValue{string(r.key), d.text.at(i), -1})
		}
	}
	r.skip(d)
	return more, false
}

func (r *callReader) envelopeDialect(d *driver) string {
	if r.explicit || d.call.dialect == "json-fence" {
		return d.call.dialect
	}
	return "openai-envelope"
}

// beginText begins a string at call level that is kept.
func (r *callReader) beginText(d *driver, quote byte, i int) verdict {
	if quote == '\'' {
		if d.set.opts.Repair == RepairOff {
			return r.fail(d, i, "a string in single quotes")
		}
		r.note(d, note.SingleQuotes, "'", `"`, i, i+1)
	}
	r.text.Begin(quote)
	r.textAt = d.text.at(i) + 1
	if r.class == keyName || r.class == keyFunction {
		r.text.Limit = maxHeader
	}
	r.state = cText
	return more
}

// skip begins a value that has no meaning.
func (r *callReader) skip(d *driver) {
	r.val = d.skipped()
	r.state = cSkip
}

// endSkipped ends a value that was read but not written.
func (r *callReader) endSkipped(d *driver, i int) {
	r.state = cAfter
	rec := &r.record
	if r.class == keyArguments && rec.argsFrom >= 0 && rec.argsTo < 0 {
		rec.argsTo = d.text.at(i)
	}
	if n := len(rec.flat); n > 0 && rec.flat[n-1].to < 0 {
		rec.flat[n-1].to = d.text.at(i)
	}
}

// endText ends a string that is kept.
func (r *callReader) endText(d *driver, i int) verdict {
	rec := &r.record
	r.state = cAfter
	var s string
	if from := r.textAt; !r.text.Escapes && d.text.holding {
		s = d.text.held(from, from+len(r.text.Out))
	} else {
		s = string(r.text.Out)
	}
	if r.text.Odd && r.text.Quote == '"' {
		if d.set.opts.Repair == RepairOff {
			return r.fail(d, i, "an escape that JSON does not have")
		}
		r.note(d, note.Escape, `\_`, "_", i-1, i)
	}
	switch r.class {
	case keyID:
		if rec.id != "" && s != rec.id && d.set.opts.Repair != RepairFull {
			r.doom = "the id stands twice with different values"
		}
		rec.id = s
	case keyContent:
		rec.said = true
		said := aside{text: s, from: r.textAt, to: d.text.at(i) - 1, decoded: r.text.Escapes}
		if len(r.stack) != 1 {
			break
		}
		if d.text.confirmed && r.stack[0].env {
			r.say(d, said)
		} else {
			r.content = append(r.content, said)
		}
	case keyReasoning:
		rec.reasoning = s
		if d.call.open {
			d.call.reasoning = s
		}
	default:
		return r.named(d, s)
	}
	return more
}

// say emits text that stands beside an array of calls.
func (r *callReader) say(d *driver, a aside) {
	if a.text == "" {
		return
	}
	d.text.markupUpTo(a.from)
	e := chat.Event{Kind: chat.KindText, Text: a.text, At: a.from, End: a.to}
	if a.decoded {
		e.Flags = chat.FlagDecoded
	}
	d.text.dst = append(d.text.dst, e)
	d.text.last = a.to
}

// named takes the name of the call.
func (r *callReader) named(d *driver, name string) verdict {
	rec := &r.record
	if rec.named && name != rec.name {
		r.doom = "the name stands twice with different values"
		return more
	}
	rec.named = true
	tool, _, ok := d.set.names.resolve(name)
	if !ok && d.set.opts.Repair != RepairOff {
		clean, _ := unescapeName(strings.Trim(name, " ")) // control characters are no slip
		tool, _, ok = d.set.names.resolve(clean)
	}
	if rec.nameKey == "function" && d.call.dialect == "raw-json" {
		d.call.dialect = "llf-shorthand"
	}
	rec.name = name
	switch {
	case ok:
		rec.tool, rec.known = tool, true
	case !r.explicit && !d.text.confirmed:
		return refused
	default:
		rec.unknown = true
	}
	return more
}

func (r *callReader) plain(*driver) *chars.Set {
	if r.state == cArgs {
		return r.args.Plain()
	}
	return nil
}

func (r *callReader) inArray() bool {
	for _, l := range r.stack {
		if l.array {
			return true
		}
	}
	return false
}

// note records a repair at call level, or keeps it until the call is one.
func (r *callReader) note(d *driver, kind chat.NoteKind, before, after string, from, to int) {
	r.notes = append(r.notes, chat.NoteDetail{Kind: kind, Before: before, After: after, At: d.text.at(from),
		End: d.text.at(to)})
	if d.call.open {
		r.flushNotes(d)
	}
}

func (r *callReader) flushNotes(d *driver) {
	for _, n := range r.notes {
		d.call.Note(n)
	}
	r.notes = r.notes[:0]
}

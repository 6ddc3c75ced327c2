// Package value reads one value, JSON or a literal of Python, as it comes: it repairs what is broken, makes it fit a
// shape, and writes JSON.
package value

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/schema/shape"
)

// A Level says how much of broken syntax is made whole.
type Level uint8

// The levels, in the order of the decoder's.
const (
	Full Level = iota
	Safe
	Off
)

// MaxDepth limits the nesting of a value.
const MaxDepth = 64

// maxKey limits the bytes of a key that is read at once.
const maxKey = 256

// A Writer takes the JSON that is read. Offsets are those of the text.
type Writer interface {
	Write(s string, end int)              // s; the text was read up to end
	WriteRaw(s string, at int)            // s, the bytes of the text from at on
	WriteText(s string, end int)          // s as the inside of a string
	WriteKey(before, key string, end int) // a key between quotes, of which before has the first, and a colon
	Rewrite(parts ...string)              // these in place of all that was written, of which nothing was sent
	Arguments() string                    // what was written
	Len() int                             // of that
	Note(n chat.NoteDetail)               // a repair
	Noting() bool                         // the next one is kept, and wants a path
	Holding() bool                        // what is read stands in the text, and is held there
	Held(from, to int) string             // bytes that are held
	Patient(i int) bool                   // the input may be left unread from i on, to be read with what follows
}

// A Reader reads one JSON value, or a Python literal, and writes it as JSON to the arguments of the open call.
//
// What is valid JSON passes through byte for byte, white space and number text included. Repairs replace
// single bytes as they go by; only what cannot be decided at once is kept back: keys until they are known to
// be new, numbers and words until they end, and values whose type the schema does not allow, until they can
// be converted.
type Reader struct {
	out     Writer
	repair  Level
	python  bool // Python's literals are no repair
	Discard bool // read, but write nothing
	pauses  bool // the outermost object is written by the caller: run pauses behind each of its values
	Quoted  bool // the whole stands in a string, so that quotes may have a back-slash before them
	Inner   bool // a string in double quotes may hold others as they are
	patient bool // run may stop short
	quoting
	expression

	state valueState
	stack []container
	keys  []keySpan // of all open objects, innermost last
	shape *shape.Shape
	tok   []byte
	pend  []byte // a comma and the blanks behind it, until it is known whether something follows
	keyAt int    // where the key that is being read begins in the text
	hold  hold
	back  valueState // state to go back to behind a comment

	passage
	replaced   int // values that gave way to later ones of their keys
	base, step int // an offset i of the input is at base+i*step of the text
	Err        string
}

// A passage was read and is to be written as it is.
type passage struct {
	from  int  // where in the input it begins
	stays bool // it stands in the text, and is held there
	lag   int  // bytes that belong to the arguments as they are, but are not written yet
}

// An expression records how much of a scalar's source text has been read.
type expression struct {
	depth  int    // brackets open in a source text
	in     byte   // quote open in a source text, or 0
	source bool   // the scalar may be any expression
	comma  int    // bytes of a source text up to the last comma that may end it
	Next   string // the keyword that was read behind that comma
}

// quoting tells how the current string or key is quoted.
type quoting struct {
	quote   byte
	raw     bool // a Python raw string
	odd     bool // the key had an escape that JSON does not have
	escaped bool // its quotes have a back-slash before them
	triple  int  // 3 in a triple-quoted string
	quotes  int  // quotes in a row at what may be its end
	nested  bool // a double quote inside it waits for the other one
	hex     int  // digits still wanted
}

type valueState uint8

const (
	vValue       valueState = iota
	vFirstOrEnd             // behind '[' or a comma in an array
	vKeyOrEnd               // behind '{' or a comma in an object
	vColon                  // behind a key
	vAfter                  // behind a value in an array or object; up to here blanks and punctuation are read
	vKey                    // in a quoted key
	vKeyEscape              // behind a back-slash in it
	vKeyBare                // in a key without quotes
	vString                 // in a string
	vEscape                 // behind a back-slash in it
	vHex                    // in the digits of an escape
	vShut                   // behind what may be the closing quote
	vQuote1                 // behind the first quote of a Python string
	vQuote2                 // behind the second
	vScalar                 // in a number or a word
	vSlash                  // behind the first byte of a comment
	vLineComment            // to the end of the line
	vComment                // to */
	vStar                   // behind a star in it
	vDone
)

// A container is an open array or object.
type container struct {
	close  byte
	object bool
	shape  *shape.Shape
	keys   Keys // of value.keys
	key    int  // the key whose value is being read
}

// A keySpan is a key and where its value stands in the arguments.
type keySpan struct {
	key      string
	from, to int
}

func (k keySpan) Name() string { return k.key }

// A hold keeps what is written until a value is complete.
type hold struct {
	on    bool
	depth int // of the value
	dup   int // index+1 of the key of which this is a duplicate; 0: held for conversion
	Value int // where the value begins in text
	text  []byte
	shape *shape.Shape
	At    int
}

type Progress uint8

const (
	Going Progress = iota
	Done
	Failed
	Paused // behind a value of an object that the caller writes
	Short  // what follows is to be read again together with what comes behind it
)

// Reset makes v ready to read a value of shape s, and returns it. Its buffers are kept.
func (v *Reader) Reset(out Writer, s *shape.Shape, repair Level, python bool) *Reader {
	if v.keys == nil {
		v.stack, v.keys, v.tok = make([]container, 0, 4), make([]keySpan, 0, 8), make([]byte, 0, 32)
	}
	stack, keys, tok, pend, text := v.stack[:0], v.keys[:0], v.tok[:0], v.pend[:0], v.hold.text[:0]
	*v = Reader{}
	v.out, v.repair, v.shape, v.python = out, repair, s, python
	v.stack, v.keys, v.tok, v.pend, v.hold.text = stack, keys, tok, pend, text
	return v
}

// Run reads in from i on.
func (v *Reader) Run(in string, i int) (int, Progress) {
	v.from, v.stays = i, v.step == 1 && !v.Discard && v.out.Holding()
	for i < len(in) {
		if v.plainly() {
			var p Progress
			if i, p = v.usual(in, i); p == Short {
				v.flush(in, i)
				return i, Short
			}
			if i == len(in) && v.state != vDone {
				break
			}
		}
		switch v.state {
		case vDone:
		case vString:
			i = v.inString(in, i)
		case vEscape:
			i = v.readEscape(in[i], i)
			v.from = i
		case vHex:
			i = v.readHex(in[i], i)
			v.from = i
		case vShut:
			v.behindQuote(in[i], i)
		case vQuote1, vQuote2:
			i = v.secondQuote(in[i], i)
		case vScalar:
			i = v.inScalar(in[i], i)
		case vKey, vKeyEscape, vKeyBare:
			i = v.inKey(in, i)
		case vSlash, vLineComment, vComment, vStar:
			i = v.readComment(in[i], i)
			v.from = i
		default:
			var p Progress
			if i, p = v.between(in, i); p != Going {
				return i, p
			}
		}
		switch {
		case v.Err != "":
			return i, Failed
		case v.state == vDone:
			v.flush(in, i)
			return i, Done
		}
	}
	v.flush(in, i)
	return i, Going
}

// flush writes what was read up to i and is to be written as it is.
func (v *Reader) flush(in string, i int) {
	v.lag = 0
	switch from := v.from; {
	case from >= i:
	case !v.hold.on && v.stays:
		v.out.WriteRaw(in[from:i], v.base+from)
	default:
		v.write(in[from:i], i)
	}
}

// put writes s in place of the byte at i.
func (v *Reader) put(s, in string, i int) int {
	v.flush(in, i)
	v.from = i + 1
	v.write(s, i+1)
	return i + 1
}

// between reads blanks and punctuation between values.
func (v *Reader) between(in string, i int) (int, Progress) {
	for i < len(in) && v.state <= vAfter {
		switch {
		case v.pauses && v.state == vAfter && len(v.stack) == 1:
			v.flush(in, i)
			return i, Paused
		case !chars.IsBlank(in[i]):
			return v.unusual(in, i), Going
		case len(v.pend) > 0:
			v.pend = append(v.pend, in[i])
			v.from = i + 1
		}
		i++
	}
	return i, Going
}

// unusual reads a byte of punctuation, or a key.
func (v *Reader) unusual(in string, i int) int {
	c := in[i]
	v.flush(in, i)
	v.from = i
	if (c == '/' && !v.python || c == '#') && v.state != vColon && v.repair != Off {
		v.comment(c)
		v.from = i + 1
		return i + 1
	}
	if c == '"' && v.state == vKeyOrEnd {
		if n := PlainKey(in[i:]); n > 0 {
			v.from = v.wholeKey(in, i, n)
			return v.from
		}
	}
	switch kept := v.punctuation(c, i); {
	case v.Err != "":
	case v.state == vValueAgain:
		v.state = v.back
	case kept:
		i++
	default:
		i++
		v.from = i
	}
	return i
}

// vValueAgain follows punctuation if the byte is to be read again in state back.
const vValueAgain valueState = 255

// punctuation reads a byte that is neither blank nor part of a value. It reports whether the byte is to be
// written as it is.
func (v *Reader) punctuation(c byte, i int) (kept bool) {
	switch v.state {
	case vFirstOrEnd, vKeyOrEnd:
		if f := &v.stack[len(v.stack)-1]; c == f.close {
			if len(v.pend) > 0 {
				if !v.python {
					if v.repair == Off {
						v.fail("a comma before the end")
						return false
					}
					v.note(note.TrailingComma, ",", "", i-len(v.pend), i)
				}
				v.write(string(v.pend[1:]), i)
				v.pend = v.pend[:0]
			}
			return v.closeFrame(c, i, true)
		}
		if v.state == vKeyOrEnd {
			v.beginKey(c, i)
			return false
		}
		v.writePend(v.pos(i))
		return v.beginValue(c, i)
	case vValue:
		return v.beginValue(c, i)
	case vColon:
		if c != ':' {
			v.fail("a colon is missing")
			return false
		}
		f := &v.stack[len(v.stack)-1]
		v.shape, _ = f.shape.Prop(v.keys[f.key].key)
		v.state = vValue
		if v.hold.on && v.hold.dup > 0 && v.hold.depth == len(v.stack) {
			v.write(":", i)
			v.hold.Value = len(v.hold.text)
			v.hold.shape = v.shape
			return false
		}
		v.keys[f.key].from = -1
		return true
	case vAfter:
		f := &v.stack[len(v.stack)-1]
		switch c {
		case f.close:
			return v.closeFrame(c, i, true)
		case ',':
			v.pend = append(v.pend[:0], ',')
			v.state = vFirstOrEnd
			if f.object {
				v.state = vKeyOrEnd
			}
			return false
		}
		v.fail("a comma or a closing bracket is missing")
		return false
	}
	v.fail("nothing may stand here")
	return false
}

// writePend writes the comma that waited, and the blanks behind it, which end at the offset end of the text.
func (v *Reader) writePend(end int) {
	if len(v.pend) > 0 {
		s := ","
		if len(v.pend) > 1 {
			s = string(v.pend)
		}
		v.writeSame(s, end)
		v.pend = v.pend[:0]
	}
}

// beginValue begins a value with its first byte, and reports whether that is to be written as it is.
func (v *Reader) beginValue(c byte, i int) (kept bool) {
	v.markValue(i)
	types := v.shape.Type()
	literal := v.python && types.Only(shape.String|shape.Null) // any expression is its source text
	switch {
	case c == '"' || c == '\'' && (v.python || v.repair != Off):
		return v.beginString(c, i)
	case v.Quoted && c == '\\':
		v.tok = append(v.tok[:0], c)
		v.state, v.source, v.depth, v.in = vScalar, true, 0, 0
		return false
	case (c == '{' || c == '[' || c == '(' && (v.python || v.tuple(types))) && !literal:
		return v.open(c, i)
	}
	v.source = v.python
	if !v.source && !scalarStart(c) {
		v.fail("no value begins like this")
		return false
	}
	v.tok, v.comma, v.depth, v.in = v.tok[:0], 0, 0, 0
	v.back, v.state = vScalar, vValueAgain
	return false
}

// tuple reports whether a Python tuple may stand where the schema wants one of the types.
func (v *Reader) tuple(types shape.Types) bool {
	return v.repair != Off && (types == 0 || types.Has(shape.Array))
}

func scalarStart(c byte) bool { return chars.IsWord(c) || c == '-' || c == '+' || c == '.' }

// markValue notes where in the arguments the value of a key begins.
func (v *Reader) markValue(int) {
	if n := len(v.stack); n > 0 && v.stack[n-1].object && !v.hold.on {
		if k := &v.keys[v.stack[n-1].key]; k.from < 0 {
			k.from = v.out.Len() + v.lag
		}
	}
}

// beginString begins a string at its quote.
func (v *Reader) beginString(c byte, i int) (kept bool) {
	t := v.shape.Type()
	if v.repair != Off && (t != 0 && !t.Has(shape.String) || v.shape != nil && len(v.shape.Enum) > 0) {
		v.keep(i)
	}
	v.quote, v.triple, v.quotes, v.nested, v.state = c, 0, 0, false, vString
	if v.python {
		v.state = vQuote1
		if v.escaped {
			v.state = vString
			v.write(`"`, i)
		}
		return false
	}
	if c == '"' {
		return true
	}
	v.write(`"`, i+1)
	v.note(note.SingleQuotes, "'", `"`, i, i+1)
	return false
}

// prefixed reports whether the scalar so far is the prefix and the quote of a Python string.
func (v *Reader) prefixed(c byte) bool {
	if !v.python || !v.source || c != '"' && c != '\'' || len(v.tok) < 2 || len(v.tok) > 3 {
		return false
	}
	p := strings.ToLower(string(v.tok[:len(v.tok)-1]))
	switch p {
	case "r", "b", "u", "f", "rb", "br", "rf", "fr", `\`:
		v.raw, v.escaped = strings.Contains(p, "r"), p == `\`
		v.tok, v.source, v.in = v.tok[:0], false, 0
		return true
	}
	return false
}

// open begins an array or object.
func (v *Reader) open(c byte, i int) (kept bool) {
	if len(v.stack) >= MaxDepth {
		v.fail("nested too deeply")
		return false
	}
	t := v.shape.Type()
	if v.repair == Full && len(v.stack) > 0 && (c != '{' && t != 0 && !t.Has(shape.Array) || v.textual()) {
		v.keep(i)
	}
	f := container{close: ']', shape: v.shape, keys: Keys{From: len(v.keys)}}
	v.state = vFirstOrEnd
	switch c {
	case '{':
		f.close, f.object = '}', true
		v.state = vKeyOrEnd
	case '(':
		f.close = ')'
	}
	v.stack = append(v.stack, f)
	if c != '{' {
		v.shape = f.shape.Item()
	}
	if c == '(' {
		v.write("[", i)
		if !v.python {
			v.note(note.PythonObject, "(", "[", i, i+1)
		}
		return false
	}
	return true
}

// textual reports whether the schema wants a string and nothing else, at a level at which any other value
// becomes its text.
func (v *Reader) textual() bool { return v.repair == Full && v.shape.Type().Only(shape.String) }

// closeFrame ends the innermost array or object; stands says that its bracket stands in the text.
func (v *Reader) closeFrame(c byte, i int, stands bool) (kept bool) {
	n := len(v.stack) - 1
	if n > 0 {
		v.keys = v.keys[:v.stack[n].keys.From]
	}
	v.stack = v.stack[:n]
	if n == 0 && !v.hold.on && c != ')' {
		v.state = vDone
		return true
	}
	if c == ')' || !stands {
		v.write(closerText(c), i+1)
	} else {
		v.writeSame(closerText(c), v.pos(i+1))
	}
	v.endValue(i + 1)
	return false
}

// fits reports whether a value of one of the types may stand where v is, whatever it is.
func (v *Reader) fits(types shape.Types) bool {
	t := v.shape.Type()
	return v.repair == Off || (t == 0 || t.Any(types)) && (v.shape == nil || len(v.shape.Enum) == 0)
}

// closerText returns the JSON of a closing bracket.
func closerText(c byte) string {
	if c == '}' {
		return "}"
	}
	return "]" // a tuple is an array
}

// endValue ends a value before i.
func (v *Reader) endValue(i int) {
	again := false // the value is a second one for its key
	if v.hold.on && v.hold.depth == len(v.stack) {
		again = v.hold.dup > 0
		v.releaseHold(i)
	}
	v.raw, v.escaped, v.triple = false, false, 0
	n := len(v.stack)
	if n == 0 {
		v.state = vDone
		return
	}
	f := &v.stack[n-1]
	if f.object && !v.hold.on && !again {
		v.keys[f.key].to = v.out.Len() + v.lag
	}
	if !f.object {
		v.shape = f.shape.Item()
	}
	v.state = vAfter
}

// closeAll writes the brackets that are missing at the end, and reports whether the value could end here.
func (v *Reader) closeAll(i int) bool {
	switch v.state {
	case vScalar:
		v.endScalar(i)
	case vShut:
		v.shut(i)
	}
	if v.state != vAfter || v.Err != "" {
		return false
	}
	closers := ""
	for v.state == vAfter {
		c := v.stack[len(v.stack)-1].close
		if v.closeFrame(c, i-1, false) {
			v.write(string(c), i)
		}
		closers += string(c)
	}
	v.note(note.MissingCloser, "", closers, i, i)
	return v.Err == ""
}

// comment begins a comment at its first byte.
func (v *Reader) comment(c byte) {
	v.back, v.state = v.state, vSlash
	if c == '#' {
		v.state = vLineComment
	}
}

// BeginComment begins a comment that stands by itself.
func (v *Reader) BeginComment(c byte) {
	v.state = vDone
	v.comment(c)
}

// Comments reads a byte of such a comment.
func (v *Reader) Comments(c byte, i int) (int, Progress) {
	i = v.readComment(c, i)
	switch {
	case v.Err != "":
		return i, Failed
	case v.state == vDone:
		return i, Done
	}
	return i, Going
}

// readComment reads a byte of a comment.
func (v *Reader) readComment(c byte, i int) int {
	end := false
	switch v.state {
	case vSlash:
		switch c {
		case '/':
			v.state = vLineComment
		case '*':
			v.state = vComment
		default:
			v.fail("a slash is no value")
			return i
		}
	case vLineComment:
		if c == '\n' {
			end = true
		}
	case vComment:
		if c == '*' {
			v.state = vStar
		}
	case vStar:
		if c == '/' {
			end = true
		} else if c != '*' {
			v.state = vComment
		}
	}
	if end {
		v.state = v.back
		v.note(note.Comment, "", "", i, i+1)
	}
	return i + 1
}

// write adds s to the arguments; the input was read up to i.
func (v *Reader) write(s string, i int) {
	switch {
	case v.hold.on:
		v.hold.text = append(v.hold.text, s...)
	case !v.Discard:
		v.out.Write(s, v.pos(i))
	}
}

// writeSame adds s, which stands in the text as it is and ends at the offset end.
func (v *Reader) writeSame(s string, end int) {
	switch {
	case v.hold.on:
		v.hold.text = append(v.hold.text, s...)
	case v.Discard:
	case v.step == 1 && v.out.Holding():
		v.out.WriteRaw(s, end-len(s))
	default:
		v.out.Write(s, end)
	}
}

func (v *Reader) pos(i int) int { return v.base + i*v.step }

func (v *Reader) note(kind chat.NoteKind, before, after string, from, to int) {
	v.NoteAt(kind, before, after, v.pos(from), v.pos(to))
}

// NoteAt records a repair that stands at the bytes [at, end) of the text.
func (v *Reader) NoteAt(kind chat.NoteKind, before, after string, at, end int) {
	if v.Discard {
		return
	}
	n := chat.NoteDetail{Kind: kind, Before: before, After: after, At: at, End: end}
	if v.out.Noting() {
		n.Path = v.path()
	}
	v.out.Note(n)
}

// path returns the JSON pointer of the value being read, as far as its objects go.
func (v *Reader) path() string {
	var b strings.Builder
	for _, f := range v.stack {
		if f.object && f.key < len(v.keys) {
			b.WriteByte('/')
			key := v.keys[f.key].key
			if len(key) > maxKey {
				key = clip(key)
			}
			b.WriteString(pointerEscapes.Replace(key))
		}
	}
	return b.String()
}

// pointerEscapes make a key a step of a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (v *Reader) fail(why string) {
	if v.Err == "" {
		v.Err = why
	}
}

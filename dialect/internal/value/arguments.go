package value

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/schema/shape"
)

// An Arguments reads the value of a call's arguments: an object, or a JSON string that holds one, or null for none.
type Arguments struct {
	out     Writer
	repair  Level
	shape   *shape.Shape
	state   argsState
	val     *Reader
	quote   byte
	esc     []byte
	word    []byte
	read    bool // something other than white space was read in the string
	Wrapped bool // a string that holds the object is how the dialect writes it
	quoteAt int
	Doom    string // why the value is no arguments, though its syntax may be right
	Err     string
	base    int
	step    int
}

type argsState uint8

const (
	aFirst  argsState = iota
	aObject           // in the object
	aString           // in the string that holds the object
	aBehind           // behind the object in the string
	aWord             // in a word or number
	aSkip             // in a value that is no arguments
)

// Reset makes a ready to read arguments of the shape s with v, which out writes, and returns it.
func (a *Arguments) Reset(out Writer, v *Reader, s *shape.Shape, repair Level) *Arguments {
	*a = Arguments{out: out, repair: repair, shape: s, val: v.Reset(out, s, repair, false), esc: a.esc[:0],
		word: a.word[:0]}
	return a
}

// At says that offset i of the inputs to come is at base+i*step of the text.
func (a *Arguments) At(base, step int) {
	a.base, a.step = base, step
	a.val.base, a.val.step = base, step
}

// Plain returns the bytes that need a look if all others now belong to a string of the arguments, else nil.
func (a *Arguments) Plain() *chars.Set {
	if a.state == aObject {
		return a.val.Plain()
	}
	return nil
}

func (a *Arguments) pos(i int) int { return a.base + i*a.step }

func (a *Arguments) Run(in string, i int) (int, Progress) {
	for i < len(in) {
		c := in[i]
		switch a.state {
		case aFirst:
			switch {
			case chars.IsBlank(c):
				i++
			case c == '{':
				a.state, a.val.patient = aObject, true
			case c == '"' || c == '\'' && a.repair != Off:
				a.quote, a.state, a.quoteAt = c, aString, a.pos(i)
				i++
			case c == '[':
				a.Doom, a.state = "the arguments are an array, not an object", aSkip
				a.val.Discard = true
			case scalarStart(c):
				a.state = aWord
			default:
				return i, a.fail("the arguments are missing")
			}
		case aObject, aSkip:
			j, p := a.val.Run(in, i)
			if p == Failed {
				return j, a.fail(a.val.Err)
			}
			return j, p
		case aString, aBehind:
			j, p := a.runString(in, i)
			if p != Going {
				return j, p
			}
			i = j
		case aWord:
			if chars.IsWord(c) || c == '+' || c == '-' || c == '.' {
				a.word = append(a.word, c)
				i++
				continue
			}
			return i, a.endWord(i)
		}
	}
	return i, Going
}

// End decides what the end of the text means for a value that is not complete.
func (a *Arguments) End() Progress {
	if a.state == aWord {
		return a.endWord(0)
	}
	return a.fail("the arguments are not complete")
}

func (a *Arguments) endWord(i int) Progress {
	switch string(a.word) {
	case "null":
		if a.repair == Off {
			a.Doom = "the arguments are null"
			return Done
		}
	case "None", "undefined":
		if a.repair == Off {
			return a.fail("no JSON value")
		}
	default:
		a.Doom = "the arguments are no object"
		return Done
	}
	a.empty(i)
	return Done
}

// empty writes arguments that were left out.
func (a *Arguments) empty(i int) {
	a.out.Write("{}", a.pos(i))
	a.out.Note(chat.NoteDetail{Kind: note.MissingArguments, Before: string(a.word), After: "{}", At: a.pos(i),
		End: a.pos(i)})
}

// runString reads the string that holds the object. What its escapes stand for is read by the value machine.
func (a *Arguments) runString(in string, i int) (int, Progress) {
	for i < len(in) {
		if len(a.esc) > 0 {
			i = a.escape(in[i], i)
			if a.Err != "" {
				return i, Failed
			}
			continue
		}
		from := i
		for i < len(in) && in[i] != a.quote && in[i] != '\\' {
			i++
		}
		if from < i {
			a.inside(in[from:i], a.pos(from), a.step)
		}
		if i == len(in) {
			break
		}
		if in[i] == '\\' {
			a.esc = append(a.esc, '\\')
			i++
			continue
		}
		return i + 1, a.endString(i + 1)
	}
	return i, Going
}

// escape reads a byte of an escape of the outer string.
func (a *Arguments) escape(c byte, i int) int {
	a.esc = append(a.esc, c)
	if a.esc[1] == 'u' &&
		(len(a.esc) < 6 || isHighSurrogate(a.esc) && len(a.esc) < 12 && !(len(a.esc) == 7 && c != '\\')) {
		if len(a.esc) > 2 && len(a.esc) <= 6 && !isHex(c) {
			a.fail("a broken escape in the arguments")
		}
		return i + 1
	}
	s, ok := Unquote(string(a.esc))
	if !ok {
		if a.repair == Off {
			a.fail("an escape that JSON does not have")
			return i
		}
		if s = string(a.esc); a.esc[1] == '\'' || a.esc[1] == '_' {
			s = s[1:]
		}
	}
	a.esc = a.esc[:0]
	a.inside(s, a.pos(i+1), 0)
	return i + 1
}

// inside hands decoded text to the value machine. Its offset i is at base+i*step of the text.
func (a *Arguments) inside(s string, base, step int) {
	if a.Doom != "" {
		return
	}
	j := 0
	if a.state == aString && !a.read {
		for j < len(s) && chars.IsBlank(s[j]) {
			j++
		}
		if j == len(s) {
			return
		}
		a.read = true
		if s[j] != '{' {
			a.Doom = "the arguments are a string that holds no object"
			return
		}
		if !a.Wrapped {
			if a.repair == Off {
				a.Doom = "the arguments are a string"
				return
			}
			a.out.Note(chat.NoteDetail{Kind: note.WrappedJSON, At: a.quoteAt, End: a.quoteAt + a.step})
		}
	}
	if a.state == aBehind {
		if !chars.Blank(s) {
			a.Doom = "something stands behind the object in the arguments' string"
		}
		return
	}
	a.val.base, a.val.step = base, step
	n, p := a.val.Run(s, j)
	switch p {
	case Failed:
		a.Doom = a.val.Err
	case Done:
		a.state = aBehind
		if !chars.Blank(s[n:]) {
			a.Doom = "something stands behind the object in the arguments' string"
		}
	}
}

func (a *Arguments) endString(i int) Progress {
	switch {
	case a.Doom != "" || a.state == aBehind:
	case !a.read:
		a.empty(i)
	default:
		a.Doom = "the object in the arguments' string is not complete"
	}
	return Done
}

func (a *Arguments) fail(why string) Progress {
	if a.Err == "" {
		a.Err = why
	}
	return Failed
}

// Unquote decodes the inside of a JSON string.
func Unquote(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	if len(s) == 2 && s[0] == '\\' {
		if out := unescaped[s[1]]; out != "" {
			return out, true
		}
	}
	var out string
	err := json.Unmarshal([]byte(`"`+s+`"`), &out)
	return out, err == nil
}

// unescaped maps the short escapes of JSON to their text, by the byte behind the back-slash.
var unescaped = [256]string{'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

// CloseMissing ends an object whose closing brackets are missing before i, if nothing else is, and reports
// whether it did.
func (a *Arguments) CloseMissing(i int) bool {
	if a.repair != Full || a.state != aObject || a.val.Discard {
		return false
	}
	a.val.Err = ""
	return a.val.closeAll(i) && !MissingRequired(a.shape, a.val.Has)
}

// MissingRequired reports whether the shape has a required property that has does not know.
func MissingRequired(s *shape.Shape, has func(string) bool) bool {
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

package dialect

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// An argsReader reads the value of a call's arguments: an object, or a JSON string that holds one, or null for none.
type argsReader struct {
	out     writer
	repair  repairLevel
	shape   *shape.Shape
	state   argsState
	val     *value
	quote   byte
	esc     []byte
	word    []byte
	read    bool // something other than white space was read in the string
	wrapped bool // a string that holds the object is how the dialect writes it
	quoteAt int
	doom    string // why the value is no arguments, though its syntax may be right
	err     string
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

// reset makes a ready to read arguments of the shape s with v, which out writes, and returns it.
func (a *argsReader) reset(out writer, v *value, s *shape.Shape, repair repairLevel) *argsReader {
	*a = argsReader{out: out, repair: repair, shape: s, val: v.reset(out, s, repair, false), esc: a.esc[:0], word: a.word[:0]}
	return a
}

// at says that offset i of the inputs to come is at base+i*step of the text.
func (a *argsReader) at(base, step int) {
	a.base, a.step = base, step
	a.val.base, a.val.step = base, step
}

// plain returns the bytes that need a look if all others now belong to a string of the arguments, else nil.
func (a *argsReader) plain() *chars.Set {
	if a.state == aObject {
		return a.val.plain()
	}
	return nil
}

func (a *argsReader) pos(i int) int { return a.base + i*a.step }

func (a *argsReader) run(in string, i int) (int, progress) {
	for i < len(in) {
		c := in[i]
		switch a.state {
		case aFirst:
			switch {
			case chars.IsBlank(c):
				i++
			case c == '{':
				a.state, a.val.patient = aObject, true
			case c == '"' || c == '\'' && a.repair != off:
				a.quote, a.state, a.quoteAt = c, aString, a.pos(i)
				i++
			case c == '[':
				a.doom, a.state = "the arguments are an array, not an object", aSkip
				a.val.discard = true
			case scalarStart(c):
				a.state = aWord
			default:
				return i, a.fail("the arguments are missing")
			}
		case aObject, aSkip:
			j, p := a.val.run(in, i)
			if p == failed {
				return j, a.fail(a.val.err)
			}
			return j, p
		case aString, aBehind:
			j, p := a.runString(in, i)
			if p != going {
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
	return i, going
}

// end decides what the end of the text means for a value that is not complete.
func (a *argsReader) end() progress {
	if a.state == aWord {
		return a.endWord(0)
	}
	return a.fail("the arguments are not complete")
}

func (a *argsReader) endWord(i int) progress {
	switch string(a.word) {
	case "null":
		if a.repair == off {
			a.doom = "the arguments are null"
			return done
		}
	case "None", "undefined":
		if a.repair == off {
			return a.fail("no JSON value")
		}
	default:
		a.doom = "the arguments are no object"
		return done
	}
	a.empty(i)
	return done
}

// empty writes arguments that were left out.
func (a *argsReader) empty(i int) {
	a.out.Write("{}", a.pos(i))
	a.out.Note(chat.NoteDetail{Kind: chat.NoteMissingArguments, Before: string(a.word), After: "{}", At: a.pos(i), End: a.pos(i)})
}

// runString reads the string that holds the object. What its escapes stand for is read by the value machine.
func (a *argsReader) runString(in string, i int) (int, progress) {
	for i < len(in) {
		if len(a.esc) > 0 {
			i = a.escape(in[i], i)
			if a.err != "" {
				return i, failed
			}
			continue
		}
		from := i
		for i < len(in) && in[i] != a.quote && in[i] != '\\' {
			i++
		}
		if from < i {
			if p := a.inside(in[from:i], a.pos(from), a.step); p == failed {
				return i, failed
			}
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
	return i, going
}

// escape reads a byte of an escape of the outer string.
func (a *argsReader) escape(c byte, i int) int {
	a.esc = append(a.esc, c)
	if a.esc[1] == 'u' && (len(a.esc) < 6 || isHighSurrogate(a.esc) && len(a.esc) < 12 && !(len(a.esc) == 7 && c != '\\')) {
		if len(a.esc) > 2 && len(a.esc) <= 6 && !isHex(c) {
			a.fail("a broken escape in the arguments")
		}
		return i + 1
	}
	s, ok := unquoteJSON(string(a.esc))
	if !ok {
		if a.repair == off {
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
func (a *argsReader) inside(s string, base, step int) progress {
	if a.doom != "" {
		return going
	}
	j := 0
	if a.state == aString && !a.read {
		for j < len(s) && chars.IsBlank(s[j]) {
			j++
		}
		if j == len(s) {
			return going
		}
		a.read = true
		if s[j] != '{' {
			a.doom = "the arguments are a string that holds no object"
			return going
		}
		if !a.wrapped {
			if a.repair == off {
				a.doom = "the arguments are a string"
				return going
			}
			a.out.Note(chat.NoteDetail{Kind: chat.NoteWrappedJSON, At: a.quoteAt, End: a.quoteAt + a.step})
		}
	}
	if a.state == aBehind {
		if !chars.Blank(s) {
			a.doom = "something stands behind the object in the arguments' string"
		}
		return going
	}
	a.val.base, a.val.step = base, step
	n, p := a.val.run(s, j)
	switch p {
	case failed:
		a.doom = a.val.err
	case done:
		a.state = aBehind
		if !chars.Blank(s[n:]) {
			a.doom = "something stands behind the object in the arguments' string"
		}
	}
	return going
}

func (a *argsReader) endString(i int) progress {
	switch {
	case a.doom != "" || a.state == aBehind:
	case !a.read:
		a.empty(i)
	default:
		a.doom = "the object in the arguments' string is not complete"
	}
	return done
}

func (a *argsReader) fail(why string) progress {
	if a.err == "" {
		a.err = why
	}
	return failed
}

// unquoteJSON decodes the inside of a JSON string.
func unquoteJSON(s string) (string, bool) {
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

// unescaped are what the short escapes of JSON stand for, by the byte behind the back-slash.
var unescaped = [256]string{'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

// closeMissing ends an object whose closing brackets are missing before i, if nothing else is, and reports
// whether it did.
func (a *argsReader) closeMissing(i int) bool {
	if a.repair != full || a.state != aObject || a.val.discard {
		return false
	}
	a.val.err = ""
	return a.val.closeAll(i) && !MissingRequired(a.shape, a.val.has)
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

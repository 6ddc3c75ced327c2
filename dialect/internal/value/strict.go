package value

import (
	"strings"

	"wield/dialect/internal/chars"
)

// A Strict reads one JSON value as strictly as there is: no key stands twice in an object, at any
// depth, and nothing nests deeper than elsewhere. It notes the members of the outermost object, and of the
// object that is the value of one of them.
type Strict struct {
	in    string
	At    int
	depth int         // of open objects and arrays
	keys  []strictKey // of the open objects, innermost last
	Outer []Member
	Inner []Member
}

// Read reports whether text is such a value and nothing else.
func (r *Strict) Read(text string) bool {
	*r = Strict{in: text, keys: r.keys[:0], Outer: r.Outer[:0], Inner: r.Inner[:0]}
	return r.any() && r.At == len(text)
}

// blanks reads white space, and reports whether something stands behind it.
func (r *Strict) blanks() bool {
	for r.At < len(r.in) && chars.IsBlank(r.in[r.At]) {
		r.At++
	}
	return r.At < len(r.in)
}

// eat reads c if it comes next behind white space, and reports whether it does.
func (r *Strict) eat(c byte) bool {
	if !r.blanks() || r.in[r.At] != c {
		return false
	}
	r.At++
	return true
}

// any reads a value, with the white space around it.
func (r *Strict) any() (ok bool) {
	if !r.blanks() {
		return false
	}
	switch c := r.in[r.At]; c {
	case '"':
		ok = r.text()
	case '{':
		ok = r.open() && r.object()
	case '[':
		ok = r.open() && r.array()
	case 't':
		ok = r.word("true")
	case 'f':
		ok = r.word("false")
	case 'n':
		ok = r.word("null")
	default:
		from := r.At
		for r.At < len(r.in) && scalarStart(r.in[r.At]) {
			r.At++
		}
		ok = isNumber(r.in[from:r.At])
	}
	return ok
}

// open reads the bracket that an object or an array begins with.
func (r *Strict) open() bool {
	r.At++
	r.depth++
	return r.depth <= MaxDepth
}

func (r *Strict) word(word string) bool {
	ok := strings.HasPrefix(r.in[r.At:], word)
	r.At += len(word)
	return ok
}

// text reads a string from its quote on.
func (r *Strict) text() bool {
	for i := chars.IndexEscaped(r.in, r.At+1); i < len(r.in); i = chars.IndexEscaped(r.in, i) {
		switch r.in[i] {
		case '"':
			r.At = i + 1
			return true
		case '\\':
			n := plainEscape(r.in[i:])
			if n == 0 {
				return false
			}
			i += n
		default:
			return false // a control character
		}
	}
	return false
}

// array reads an array behind its bracket.
func (r *Strict) array() bool {
	for first := true; ; first = false {
		switch {
		case first && r.eat(']'):
			r.depth--
			return true
		case !r.any():
			return false
		case r.eat(']'):
			r.depth--
			return true
		case !r.eat(','):
			return false
		}
	}
}

// object reads an object behind its brace.
func (r *Strict) object() bool {
	keys := Keys{From: len(r.keys)}
	if r.eat('}') {
		r.depth--
		return true
	}
	for {
		if !r.blanks() || r.in[r.At] != '"' {
			return false
		}
		from := r.At + 1
		if !r.text() {
			return false
		}
		key, ok := Unquote(r.in[from : r.At-1])
		if !ok || FindKey(&keys, r.keys, key) >= 0 || !r.eat(':') || !r.blanks() {
			return false
		}
		r.keys = AddKey(&keys, r.keys, strictKey(key))
		from = r.At
		if !r.any() {
			return false
		}
		switch r.depth {
		case 1:
			r.Outer = append(r.Outer, Member{key, r.in[from:r.At], from})
		case 2:
			r.Inner = append(r.Inner, Member{key, r.in[from:r.At], from})
		}
		switch {
		case r.eat('}'):
			r.keys = r.keys[:keys.From]
			r.depth--
			return true
		case !r.eat(','):
			return false
		}
	}
}

type strictKey string

func (k strictKey) Name() string { return string(k) }

// A Member is a key of an object and its value, which begins at the offset at of the text.
type Member struct {
	Key, Value string
	At         int
}

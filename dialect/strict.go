package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
)

// A strictReader reads one JSON value as strictly as there is: no key stands twice in an object, at any
// depth, and nothing nests deeper than elsewhere. It notes the members of the outermost object, and of the
// object that is the value of one of them.
type strictReader struct {
	in    string
	at    int
	depth int         // of open objects and arrays
	keys  []strictKey // of the open objects, innermost last
	outer []member
	inner []member
}

// read reports whether text is such a value and nothing else.
func (r *strictReader) read(text string) bool {
	*r = strictReader{in: text, keys: r.keys[:0], outer: r.outer[:0], inner: r.inner[:0]}
	return r.any() && r.at == len(text)
}

// blanks reads white space, and reports whether something stands behind it.
func (r *strictReader) blanks() bool {
	for r.at < len(r.in) && chars.IsBlank(r.in[r.at]) {
		r.at++
	}
	return r.at < len(r.in)
}

// eat reads c if it comes next behind white space, and reports whether it does.
func (r *strictReader) eat(c byte) bool {
	if !r.blanks() || r.in[r.at] != c {
		return false
	}
	r.at++
	return true
}

// any reads a value, with the white space around it.
func (r *strictReader) any() (ok bool) {
	if !r.blanks() {
		return false
	}
	switch c := r.in[r.at]; c {
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
		from := r.at
		for r.at < len(r.in) && scalarStart(r.in[r.at]) {
			r.at++
		}
		ok = isNumber(r.in[from:r.at])
	}
	return ok
}

// open reads the bracket that an object or an array begins with.
func (r *strictReader) open() bool {
	r.at++
	r.depth++
	return r.depth <= maxDepth
}

func (r *strictReader) word(word string) bool {
	ok := strings.HasPrefix(r.in[r.at:], word)
	r.at += len(word)
	return ok
}

// text reads a string from its quote on.
func (r *strictReader) text() bool {
	for i := chars.IndexEscaped(r.in, r.at+1); i < len(r.in); i = chars.IndexEscaped(r.in, i) {
		switch r.in[i] {
		case '"':
			r.at = i + 1
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
func (r *strictReader) array() bool {
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
func (r *strictReader) object() bool {
	keys := keyIndex{from: len(r.keys)}
	if r.eat('}') {
		r.depth--
		return true
	}
	for {
		if !r.blanks() || r.in[r.at] != '"' {
			return false
		}
		from := r.at + 1
		if !r.text() {
			return false
		}
		key, ok := unquoteJSON(r.in[from : r.at-1])
		if !ok || findKey(&keys, r.keys, key) >= 0 || !r.eat(':') || !r.blanks() {
			return false
		}
		r.keys = addKey(&keys, r.keys, strictKey(key))
		from = r.at
		if !r.any() {
			return false
		}
		switch r.depth {
		case 1:
			r.outer = append(r.outer, member{key, r.in[from:r.at], from})
		case 2:
			r.inner = append(r.inner, member{key, r.in[from:r.at], from})
		}
		switch {
		case r.eat('}'):
			r.keys = r.keys[:keys.from]
			r.depth--
			return true
		case !r.eat(','):
			return false
		}
	}
}

type strictKey string

func (k strictKey) Name() string { return string(k) }

// A member is a key of an object and its value, which begins at the offset at of the text.
type member struct {
	key, value string
	at         int
}

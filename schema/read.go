package schema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"wield/schema/shape"
)

// reading says how strictly a text is read.
type strictness struct {
	depth int  // how deep values may be nested
	exact bool // names that differ only in ASCII case, and numbers beyond a float64, are errors
}

// read makes the tape of a JSON text.
func read(src string, how strictness) (*tape, *SyntaxError) {
	t := tapes.Get().(*tape)
	t.src = src
	r := reader{tape: t, src: src, how: how, path: t.path[:0]}
	ok := r.document()
	t.path = r.path[:0]
	if !ok {
		t.release()
		return nil, r.err
	}
	return t, nil
}

// A reader reads strict JSON. Its methods return false once err is set.
type reader struct {
	*tape
	src  string
	pos  int
	how  strictness
	path []step
	err  *SyntaxError
}

func (r *reader) fail(at int, kind syntaxKind, message string) bool {
	if r.err == nil {
		r.err = &SyntaxError{Offset: at, Pointer: r.pointer(r.path), kind: kind, Message: message}
	}
	return false
}

func (r *reader) document() bool {
	if strings.HasPrefix(r.src, "\ufeff") {
		return r.fail(0, malformed, "a byte order mark stands before the value")
	}
	r.space()
	if r.pos == len(r.src) {
		return r.fail(r.pos, malformed, "there is no value")
	}
	if !r.value(0) {
		return false
	}
	r.space()
	if r.pos < len(r.src) {
		return r.fail(r.pos, trailing, "something stands after the value")
	}
	return true
}

func (r *reader) space() {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\n', '\t', '\r':
			r.pos++
		default:
			return
		}
	}
}

// add appends a token that begins at pos. Room doubles: append would leave several times as much behind for a large
// text.
func (r *reader) add(kind shape.Types) int {
	if n := len(r.tokens); n == cap(r.tokens) {
		r.tokens = slices.Grow(r.tokens, max(n, 16))
	}
	r.tokens = append(r.tokens, token{kind: kind, start: r.pos})
	return len(r.tokens) - 1
}

// done closes token i at pos.
func (r *reader) done(i int) bool {
	r.tokens[i].end, r.tokens[i].next = r.pos, len(r.tokens)
	return true
}

func (r *reader) value(depth int) bool {
	if r.pos == len(r.src) {
		return r.fail(r.pos, malformed, "the text ends where a value should be")
	}
	switch b := r.src[r.pos]; {
	case b == '"':
		return r.string()
	case b == '{' || b == '[':
		if depth == r.how.depth {
			return r.fail(r.pos, tooDeep, "values are nested too deeply")
		}
		if b == '{' {
			return r.object(depth + 1)
		}
		return r.array(depth + 1)
	case b == '-' || '0' <= b && b <= '9':
		return r.number()
	case b == 't':
		return r.word("true", shape.Boolean)
	case b == 'f':
		return r.word("false", shape.Boolean)
	case b == 'n':
		return r.word("null", shape.Null)
	}
	return r.fail(r.pos, malformed, "this is not the start of a JSON value")
}

func (r *reader) word(word string, kind shape.Types) bool {
	if !strings.HasPrefix(r.src[r.pos:], word) {
		return r.fail(r.pos, malformed, "this is not the start of a JSON value")
	}
	i := r.add(kind)
	r.pos += len(word)
	return r.done(i)
}

func (r *reader) object(depth int) bool {
	obj := r.add(shape.Object)
	r.pos++
	r.path = append(r.path, step{})
	n := 0
	for r.space(); ; r.space() {
		if n == 0 && r.at('}') {
			break
		}
		r.path[len(r.path)-1] = step{}
		if !r.at('"') {
			return r.fail(r.pos, malformed, "a name in double quotes should be here")
		}
		name := len(r.tokens)
		if !r.string() {
			return false
		}
		r.path[len(r.path)-1] = step{name: name}
		r.space()
		if !r.at(':') {
			return r.fail(r.pos, malformed, "a colon should be here")
		}
		r.pos++
		r.space()
		if !r.value(depth) {
			return false
		}
		n++
		if r.space(); r.at('}') {
			break
		}
		if !r.at(',') {
			return r.fail(r.pos, malformed, "a comma or } should be here")
		}
		r.pos++
	}
	r.pos++
	r.tokens[obj].n = n
	r.done(obj)
	if n > 1 && !r.names(obj) {
		return false
	}
	r.path = r.path[:len(r.path)-1]
	return true
}

func (r *reader) at(b byte) bool { return r.pos < len(r.src) && r.src[r.pos] == b }

func (r *reader) array(depth int) bool {
	arr := r.add(shape.Array)
	r.pos++
	r.path = append(r.path, step{})
	n := 0
	for r.space(); ; r.space() {
		if n == 0 && r.at(']') {
			break
		}
		r.path[len(r.path)-1] = step{index: n + 1}
		if !r.value(depth) {
			return false
		}
		n++
		if r.space(); r.at(']') {
			break
		}
		if !r.at(',') {
			return r.fail(r.pos, malformed, "a comma or ] should be here")
		}
		r.pos++
	}
	r.pos++
	r.tokens[arr].n = n
	r.path = r.path[:len(r.path)-1]
	return r.done(arr)
}

// plain tells of each byte whether a string can hold it as it is, with nothing to check.
var plain = func() (t [256]bool) {
	for b := ' '; b < utf8.RuneSelf; b++ {
		t[b] = b != '"' && b != '\\'
	}
	return t
}()

func (r *reader) string() bool {
	tok := r.add(shape.String)
	src, i := r.src, r.pos+1
	for {
		for i < len(src) && plain[src[i]] {
			i++
		}
		if i == len(src) {
			return r.fail(r.pos, malformed, "the text ends inside a string")
		}
		switch b := src[i]; {
		case b == '"':
			r.pos = i + 1
			return r.done(tok)
		case b == '\\':
			n := r.escape(i)
			if n == 0 {
				return false
			}
			r.tokens[tok].escaped = true
			i += n
		case b < ' ':
			return r.fail(i, malformed, "a control character in a string must be escaped")
		default:
			c, n := utf8.DecodeRuneInString(src[i:])
			if c == utf8.RuneError && n == 1 {
				return r.fail(i, badUTF8, "this byte is not UTF-8")
			}
			i += n
		}
	}
}

// escape returns the length of the escape at i.
func (r *reader) escape(i int) int {
	rest := r.src[i:]
	if len(rest) < 2 {
		r.fail(i, malformed, "the text ends inside a string")
		return 0
	}
	switch rest[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		c := hex4(rest[2:])
		switch {
		case c < 0:
			r.fail(i, malformed, `\u must be followed by four hexadecimal digits`)
			return 0
		case c < 0xD800 || c > 0xDFFF:
			return 6
		case c < 0xDC00 && strings.HasPrefix(rest[6:], `\u`):
			if low := hex4(rest[8:]); 0xDC00 <= low && low <= 0xDFFF {
				return 12
			}
		}
		r.fail(i, surrogate, "a surrogate stands without its other half")
		return 0
	}
	r.fail(i, malformed, "JSON has no such escape")
	return 0
}

func (r *reader) number() bool {
	tok := r.add(shape.Number)
	n := numberLen(r.src[r.pos:])
	if n <= 0 {
		return r.fail(r.pos-n, malformed, "this is not a JSON number")
	}
	r.pos += n
	r.done(tok)
	if r.how.exact && !inRange(r.text(tok)) {
		return r.fail(r.tokens[tok].start, outOfRange, "the number is too large")
	}
	return true
}

// numberLen returns the length of the JSON number that s begins with, or minus the offset of the byte that spoils it.
func numberLen(s string) int {
	i := 0
	digits := func() bool {
		at := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i > at
	}
	if s[0] == '-' {
		i++
	}
	zero := i < len(s) && s[i] == '0'
	at := i
	if !digits() || zero && i > at+1 {
		return -i
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return -i
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		if !digits() {
			return -i
		}
	}
	return i
}

// fewNames is up to how many names are compared pair by pair.
const fewNames = 12

// names checks that the object's names are different.
func (r *reader) names(obj int) bool {
	if r.tokens[obj].n > fewNames {
		return r.manyNames(obj)
	}
	var seen [fewNames]string
	n := 0
	for i := obj + 1; i < r.tokens[obj].next; i = r.tokens[i+1].next {
		name := r.str(i)
		for _, s := range seen[:n] {
			if s == name {
				return r.clash(i, duplicateKey, s)
			}
			if r.how.exact && len(s) == len(name) && foldASCII(s) == foldASCII(name) {
				return r.clash(i, caseClash, s)
			}
		}
		seen[n] = name
		n++
	}
	return true
}

func (r *reader) manyNames(obj int) bool {
	seen := make(map[string]string, r.tokens[obj].n)
	for i := obj + 1; i < r.tokens[obj].next; i = r.tokens[i+1].next {
		name := r.str(i)
		key := name
		if r.how.exact {
			key = foldASCII(name)
		}
		if old, ok := seen[key]; ok {
			if old == name {
				return r.clash(i, duplicateKey, old)
			}
			return r.clash(i, caseClash, old)
		}
		seen[key] = name
	}
	return true
}

func (r *reader) clash(name int, kind syntaxKind, old string) bool {
	r.path[len(r.path)-1] = step{name: name}
	message := "the object has this name twice"
	if kind == caseClash {
		message = "the object also has the name " + preview(quoted(old)) + ", which differs only in case"
	}
	return r.fail(r.tokens[name].start, kind, message)
}

// foldASCII returns s with ASCII letters in lower case.
func foldASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

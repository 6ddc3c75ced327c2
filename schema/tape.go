package schema

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"wield/schema/shape"
)

// A token is one value, or one name of an object, in a text that was read.
type token struct {
	kind       shape.Types // one bit; numbers have shape.Number
	escaped    bool        // a string that holds escapes
	start, end int         // span in the text, quotes and brackets included
	next       int         // index of the token behind this value and all that is in it
	n          int         // how many elements or members there are
}

// A tape is a JSON text and its tokens in the order of the text. The tokens of an object are the object, then a name
// and the tokens of its value by turns; those of an array are the array, then those of its elements.
type tape struct {
	src    string
	tokens []token
	path   []step // room for the path of who walks over the tokens
}

var tapes = sync.Pool{New: func() any { return new(tape) }}

// maxPooled bounds the memory that an idle tape may keep.
const maxPooled = 1 << 14

func (t *tape) release() {
	if cap(t.tokens) > maxPooled {
		return
	}
	t.src, t.tokens, t.path = "", t.tokens[:0], t.path[:0]
	tapes.Put(t)
}

// keep returns a tape that nobody releases, as small as it can be, and releases t.
func (t *tape) keep() *tape {
	k := &tape{src: t.src, tokens: slices.Clip(slices.Clone(t.tokens))}
	t.release()
	return k
}

// text returns the JSON text of token i, with all that is in it.
func (t *tape) text(i int) string { return t.src[t.tokens[i].start:t.tokens[i].end] }

// str returns the content of the string token i, without a copy when it has no escapes.
func (t *tape) str(i int) string {
	tok := &t.tokens[i]
	s := t.src[tok.start+1 : tok.end-1]
	if !tok.escaped {
		return s
	}
	return string(shape.AppendUnquoted(make([]byte, 0, len(s)), []byte(s)))
}

// member returns the token of the value that object obj has under name.
func (t *tape) member(obj int, name string) (int, bool) {
	if t.tokens[obj].kind != shape.Object {
		return 0, false
	}
	for i := obj + 1; i < t.tokens[obj].next; i = t.tokens[i+1].next {
		if t.str(i) == name {
			return i + 1, true
		}
	}
	return 0, false
}

// A finder looks for the members of one object.
type finder struct {
	tape  *tape
	obj   int
	index map[string]int // nil: look one by one
}

// finder returns a finder that will be asked the given number of times. Only when that pays does it make an index, so
// that the cost of many questions stays linear.
func (t *tape) finder(obj, times int) finder {
	f := finder{tape: t, obj: obj}
	if times*t.tokens[obj].n >= 256 {
		f.index = make(map[string]int, t.tokens[obj].n)
		t.members(obj, func(name string, value int) { f.index[name] = value })
	}
	return f
}

func (f *finder) member(name string) (int, bool) {
	if f.index == nil {
		return f.tape.member(f.obj, name)
	}
	i, ok := f.index[name]
	return i, ok
}

// members calls f for every member of object obj.
func (t *tape) members(obj int, f func(name string, value int)) {
	for i := obj + 1; i < t.tokens[obj].next; i = t.tokens[i+1].next {
		f(t.str(i), i+1)
	}
}

// elements calls f for every element of array arr.
func (t *tape) elements(arr int, f func(i, value int)) {
	n := 0
	for i := arr + 1; i < t.tokens[arr].next; i = t.tokens[i].next {
		f(n, i)
		n++
	}
}

// length returns how many code points the string token i has.
func (t *tape) length(i int) int {
	tok := &t.tokens[i]
	s := t.src[tok.start+1 : tok.end-1]
	n := utf8.RuneCountInString(s)
	if !tok.escaped {
		return n
	}
	for at := strings.IndexByte(s, '\\'); at >= 0; at = strings.IndexByte(s, '\\') {
		size := 2
		if s[at+1] == 'u' {
			if size = 6; isHigh(hex4(s[at+2:])) {
				size = 12
			}
		}
		n -= size - 1
		s = s[at+size:]
	}
	return n
}

// isHigh reports whether r is the first half of a surrogate pair.
func isHigh(r rune) bool { return 0xD800 <= r && r < 0xDC00 }

// hex4 reads four hexadecimal digits; -1 if there are none.
func hex4(s string) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for i := range 4 {
		b := s[i]
		switch {
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(b)
	}
	return r
}

// A step leads from a value to one that is in it.
type step struct {
	name  int // token of the member's name, or
	index int // one more than the index of the element
}

// pointer writes path as a JSON pointer.
func (t *tape) pointer(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.index > 0:
			b.WriteByte('/')
			b.WriteString(itoa(s.index - 1))
		case s.name > 0:
			b.WriteByte('/')
			b.WriteString(escapePointer(t.str(s.name)))
		}
	}
	return b.String()
}

func escapePointer(name string) string {
	if strings.IndexByte(name, '~') >= 0 {
		name = strings.ReplaceAll(name, "~", "~0")
	}
	if strings.IndexByte(name, '/') >= 0 {
		name = strings.ReplaceAll(name, "/", "~1")
	}
	return name
}

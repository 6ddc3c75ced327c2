package openai

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner walks over one JSON text. Its first error sticks: from then on everything is empty and no loop goes on. Values
// that are skipped are only balanced, not checked.
//
//	for s.enter('{'); s.next('}'); {
//		switch string(s.key()) { ... default: s.skip() }
//	}
type scanner struct {
	b    []byte
	i    int
	src  string // b as a string; if it is set, strings without escapes are pieces of it
	open bool   // a container was entered and has no element yet
	err  *syntaxError
	tmp  []byte
}

// A syntaxError says where a text stops being JSON.
type syntaxError struct {
	Offset int
	Want   string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("not JSON: %s expected at byte %d", e.Want, e.Offset)
}

const maxDepth = 512

func (s *scanner) fail(want string) {
	if s.err == nil {
		s.err = &syntaxError{Offset: s.i, Want: want}
		s.i = len(s.b)
	}
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\n', '\r', '\t':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// enter goes into an object or array, next to its next element or, returning false, behind its end.
func (s *scanner) enter(c byte) {
	if s.peek() != c {
		s.fail(strconv.QuoteRune(rune(c)))
		return
	}
	s.i++
	s.open = true
}

func (s *scanner) next(end byte) bool {
	c := s.peek()
	first := s.open
	s.open = false
	switch {
	case s.err != nil:
		return false
	case c == end:
		s.i++
		return false
	case first:
		return true
	case c != ',':
		s.fail("',' or " + strconv.QuoteRune(rune(end)))
		return false
	}
	s.i++
	return true
}

// key reads an object's key and the colon. The result is valid until the next call that reads a string.
func (s *scanner) key() []byte {
	raw, escaped := s.raws()
	if escaped {
		s.tmp = unquote(s.tmp[:0], raw)
		raw = s.tmp
	}
	if s.peek() != ':' {
		s.fail("':'")
		return nil
	}
	s.i++
	return raw
}

// name reads an object's key and the colon.
func (s *scanner) name() string {
	name := s.str()
	if s.peek() != ':' {
		s.fail("':'")
		return ""
	}
	s.i++
	return name
}

// shortString is up to where a string's end is looked for byte by byte, which for keys is quicker than a search.
const shortString = 16

// raws reads a string and returns what stands between its quotes, and whether that holds escapes.
func (s *scanner) raws() (raw []byte, escaped bool) {
	if s.peek() != '"' {
		s.fail("a string")
		return nil, false
	}
	s.i++
	rest := s.b[s.i:]
	for i, c := range rest[:min(len(rest), shortString)] {
		if c == '"' {
			s.i += i + 1
			return rest[:i], false
		}
		if c == '\\' {
			break
		}
	}
	end := bytes.IndexByte(rest, '"')
	if end >= 0 {
		slash := bytes.IndexByte(rest[:end], '\\')
		if slash < 0 {
			s.i += end + 1
			return rest[:end], false
		}
		for i := slash; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				s.i += i + 1
				return rest[:i], true
			}
		}
	}
	s.i = len(s.b)
	s.fail("the end of a string")
	return nil, false
}

// str reads a string.
func (s *scanner) str() string {
	raw, escaped := s.raws()
	switch {
	case escaped:
		s.tmp = unquote(s.tmp[:0], raw)
		return string(s.tmp)
	case s.src != "" && s.err == nil:
		return s.src[s.i-1-len(raw) : s.i-1]
	}
	return string(raw)
}

// same reads a string and returns old if it is equal, which saves the copy.
func (s *scanner) same(old string) string {
	at := s.i
	if raw, escaped := s.raws(); !escaped && string(raw) == old {
		return old
	}
	s.i = at
	return s.str()
}

// raw returns the text of the next value.
func (s *scanner) raw() []byte {
	s.peek()
	at := s.i
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.b[at:s.i:s.i]
}

// null reads a null if there is one.
func (s *scanner) null() bool {
	if s.peek() == 'n' {
		s.skip()
		return true
	}
	return false
}

// integer reads a number without a fraction; ok is false, and the value is skipped, if there is none.
func (s *scanner) integer() (n int64, ok bool) {
	raw := s.raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int64(f), true
}

// skip goes behind the next value.
func (s *scanner) skip() {
	depth := 0
	for {
		switch c := s.peek(); c {
		case '"':
			s.raws()
		case '{', '[':
			depth++
			s.i++
			if depth > maxDepth {
				s.fail("less depth")
			}
		case '}', ']':
			depth--
			s.i++
		case ',', ':':
			s.i++
			if depth == 0 {
				s.i--
				s.fail("a value")
			}
		case 0:
			s.fail("a value")
		default:
			s.literal()
		}
		if s.err != nil {
			return
		}
		if depth < 0 {
			s.i--
			s.fail("a value")
			return
		}
		if depth == 0 {
			return
		}
	}
}

// literal goes behind a number, true, false or null.
func (s *scanner) literal() {
	at := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E' {
			s.i++
			continue
		}
		break
	}
	if s.i == at {
		s.fail("a value")
	}
}

// end checks that nothing but white space follows.
func (s *scanner) end() {
	if s.err == nil && s.peek() != 0 {
		s.fail("the end")
	}
}

// unquote appends the string whose JSON form, without quotes, is raw. Surrogates that are no pair become U+FFFD, an escape
// that JSON does not have stands for its character.
func unquote(dst, raw []byte) []byte {
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		c := raw[i+1]
		raw = raw[i+2:]
		if c != 'u' {
			dst = append(dst, unescape(c))
			continue
		}
		r, n := hexRune(raw)
		raw = raw[n:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
				low, n = hexRune(raw[2:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				raw = raw[2+n:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// hexRune reads four hex digits. Without them it returns U+FFFD and how many digits there were.
func hexRune(b []byte) (r rune, n int) {
	for n < 4 {
		if n == len(b) {
			return utf8.RuneError, n
		}
		c := b[n]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return utf8.RuneError, n
		}
		r = r<<4 | rune(c)
		n++
	}
	return r, n
}

// appendString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD, so that every output is valid.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	return append(appendEscaped(dst, s), '"')
}

// appendEscaped appends s as it stands between the quotes of a JSON string.
func appendEscaped(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain[c] {
				i += plainLen(s[i:])
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[from:i]...)
			dst = append(dst, "\ufffd"...)
			i++
			from = i
			continue
		}
		i += n
	}
	return append(dst, s[from:]...)
}

// plainLen returns how many bytes at the beginning of s are ASCII characters that need no escape. It looks at eight bytes at
// a time, of which a set bit in the mask means that one is none of them.
func plainLen(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := w^'"'*ones, w^'\\'*ones // a byte that is equal becomes 0
		if (w|(w-' '*ones)|(quote-ones)|(slash-ones))&highs != 0 {
			break
		}
	}
	for i < len(s) && s[i] < utf8.RuneSelf && plain[s[i]] {
		i++
	}
	return i
}

// plain tells the ASCII characters that need no escape.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendCompact appends JSON without the line breaks between its tokens, which would end a line of a frame. Line breaks
// inside strings are escaped anyway.
func appendCompact(dst, raw []byte) []byte {
	for _, c := range raw {
		if c != '\n' && c != '\r' {
			dst = append(dst, c)
		}
	}
	return dst
}

package jsonbody

import (
	"bytes"
	"fmt"
	"strconv"

	"wield/schema/shape"
)

// A Scanner walks over one JSON text. Its first error sticks: from then on everything is empty and no loop goes on.
// Values that are skipped are only balanced, not checked.
//
//	for s.Enter('{'); s.Next('}'); {
//		switch string(s.Key()) { ... default: s.Skip() }
//	}
type Scanner struct {
	Bytes []byte       // the text
	Pos   int          // where it is
	Err   *SyntaxError // the first error

	src  string // Bytes as a string; if it is set, strings without escapes are pieces of it
	open bool   // a container was entered and has no element yet
	tmp  []byte
}

// A SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	Offset int
	Want   string
}

// Error says what was expected and where.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON: %s expected at byte %d", e.Want, e.Offset)
}

// maxDepth limits the nesting of a value.
const maxDepth = 512

func (s *Scanner) fail(want string) {
	if s.Err == nil {
		s.Err = &SyntaxError{Offset: s.Pos, Want: want}
		s.Pos = len(s.Bytes)
	}
}

// Peek returns the first byte of the next token, 0 at the end.
func (s *Scanner) Peek() byte {
	for s.Pos < len(s.Bytes) {
		switch c := s.Bytes[s.Pos]; c {
		case ' ', '\n', '\r', '\t':
			s.Pos++
		default:
			return c
		}
	}
	return 0
}

// Enter goes into an object or array. Next then goes to its next element or, returning false, behind its end.
func (s *Scanner) Enter(c byte) {
	if s.Peek() != c {
		s.fail(strconv.QuoteRune(rune(c)))
		return
	}
	s.Pos++
	s.open = true
}

// Next goes to the next element of what was entered, or behind its end.
func (s *Scanner) Next(end byte) bool {
	c := s.Peek()
	first := s.open
	s.open = false
	switch {
	case s.Err != nil:
		return false
	case c == end:
		s.Pos++
		return false
	case first:
		return true
	case c != ',':
		s.fail("',' or " + strconv.QuoteRune(rune(end)))
		return false
	}
	s.Pos++
	return true
}

// Key reads an object's key and the colon. The result is valid until the next call that reads a string.
func (s *Scanner) Key() []byte {
	raw, escaped := s.Quoted()
	if escaped {
		s.tmp = shape.AppendUnquoted(s.tmp[:0], raw)
		raw = s.tmp
	}
	if s.Peek() != ':' {
		s.fail("':'")
		return nil
	}
	s.Pos++
	return raw
}

// Name reads an object's key and the colon.
func (s *Scanner) Name() string {
	name := s.Str()
	if s.Peek() != ':' {
		s.fail("':'")
		return ""
	}
	s.Pos++
	return name
}

// shortString is up to where a string's end is looked for byte by byte, which for keys is quicker than a search.
const shortString = 16

// Quoted reads a string and returns what stands between its quotes, and whether that holds escapes.
func (s *Scanner) Quoted() (raw []byte, escaped bool) {
	if s.Peek() != '"' {
		s.fail("a string")
		return nil, false
	}
	s.Pos++
	rest := s.Bytes[s.Pos:]
	for i, c := range rest[:min(len(rest), shortString)] {
		if c == '"' {
			s.Pos += i + 1
			return rest[:i], false
		}
		if c == '\\' {
			break
		}
	}
	if end := bytes.IndexByte(rest, '"'); end >= 0 {
		slash := bytes.IndexByte(rest[:end], '\\')
		if slash < 0 {
			s.Pos += end + 1
			return rest[:end], false
		}
		for i := slash; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				s.Pos += i + 1
				return rest[:i], true
			}
		}
	}
	s.Pos = len(s.Bytes)
	s.fail("the end of a string")
	return nil, false
}

// Str reads a string.
func (s *Scanner) Str() string {
	raw, escaped := s.Quoted()
	switch {
	case escaped:
		s.tmp = shape.AppendUnquoted(s.tmp[:0], raw)
		return string(s.tmp)
	case s.src != "" && s.Err == nil:
		return s.src[s.Pos-1-len(raw) : s.Pos-1]
	}
	return string(raw)
}

// Same reads a string and returns old if it is equal, which saves the copy.
func (s *Scanner) Same(old string) string {
	at := s.Pos
	if raw, escaped := s.Quoted(); !escaped && string(raw) == old {
		return old
	}
	s.Pos = at
	return s.Str()
}

// Raw returns the text of the next value.
func (s *Scanner) Raw() []byte {
	s.Peek()
	at := s.Pos
	s.Skip()
	if s.Err != nil {
		return nil
	}
	return s.Bytes[at:s.Pos:s.Pos]
}

// Null reads a null if there is one.
func (s *Scanner) Null() bool {
	if s.Peek() == 'n' {
		s.Skip()
		return true
	}
	return false
}

// Integer reads a number without a fraction; ok is false, and the value is skipped, if there is none.
func (s *Scanner) Integer() (n int64, ok bool) {
	raw := s.Raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Skip goes behind the next value.
func (s *Scanner) Skip() {
	depth := 0
	for {
		switch c := s.Peek(); c {
		case '"':
			s.Quoted()
		case '{', '[':
			depth++
			s.Pos++
			if depth > maxDepth {
				s.fail("less depth")
			}
		case '}', ']':
			depth--
			s.Pos++
		case ',', ':':
			s.Pos++
			if depth == 0 {
				s.Pos--
				s.fail("a value")
			}
		case 0:
			s.fail("a value")
		default:
			s.literal()
		}
		if s.Err != nil {
			return
		}
		if depth < 0 {
			s.Pos--
			s.fail("a value")
			return
		}
		if depth == 0 {
			return
		}
	}
}

// literal goes behind a number, true, false or null.
func (s *Scanner) literal() {
	at := s.Pos
	for s.Pos < len(s.Bytes) {
		c := s.Bytes[s.Pos]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E' {
			s.Pos++
			continue
		}
		break
	}
	if s.Pos == at {
		s.fail("a value")
	}
}

// End checks that nothing but white space follows.
func (s *Scanner) End() {
	if s.Err == nil && s.Peek() != 0 {
		s.fail("the end")
	}
}

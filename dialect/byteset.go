package dialect

import (
	"math/bits"
	"unicode/utf8"
)

// A byteSet is a set of bytes: those that need a look where all others pass. It holds numbers rather than
// booleans so that several bytes can be tried with one branch.
type byteSet [256]uint8

func (s *byteSet) has(c byte) bool { return s[c] != 0 }

// with returns a set that has the bytes of more as well.
func (s byteSet) with(more string) byteSet {
	for i := range len(more) {
		s[more[i]] = 1
	}
	return s
}

// without returns a set that lacks the bytes of fewer.
func (s byteSet) without(fewer string) byteSet {
	for i := range len(fewer) {
		s[fewer[i]] = 0
	}
	return s
}

// index returns the offset of the first byte of in, from i on, that is in s, or the length of in.
func (s *byteSet) index(in string, i int) int {
	for ; i+4 <= len(in); i += 4 {
		if s[in[i]]|s[in[i+1]]|s[in[i+2]]|s[in[i+3]] != 0 {
			break
		}
	}
	for i < len(in) && s[in[i]] == 0 {
		i++
	}
	return i
}

// indexEscaped returns the offset of the first byte of s, from i on, that is escaped in a string of JSON, or
// the length of s. It is what doubleStop.index is, for long texts: eight bytes at a time.
func indexEscaped(s string, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, slash := x^'"'*ones, x^'\\'*ones
		// A byte less than n borrows from its high bit when n is taken from it; what it borrows from the next
		// byte is behind the first.
		if found := ((x-0x20*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	return doubleStop.index(s, i)
}

// none reports whether in has no byte of s.
func (s *byteSet) none(in string) bool {
	for len(in) >= 4 {
		if s[in[0]]|s[in[1]]|s[in[2]]|s[in[3]] != 0 {
			return false
		}
		in = in[4:]
	}
	for i := range len(in) {
		if s[in[i]] != 0 {
			return false
		}
	}
	return true
}

// The bytes that do not simply belong to a string.
var (
	stringStop     = controls().with(`"'\`)
	doubleStop     = stringStop.without("'")         // in double quotes
	tagStop        = doubleStop.with("<")            // a tagged value: what is escaped in JSON, or may begin the end of the value
	entityStop     = tagStop.with("&")               // where character references are decoded
	referenceStop  = byteSet{}.with("<&")            // what makes such a value more than clean text
	elementStop    = doubleStop.with("]")            // where tags begin with a bracket
	openTagStop    = byteSet{}.with("<")             // the same without what is escaped
	lineTagStop    = openTagStop.with("\r\n")        // where lines around a value belong to its tags
	bracketStop    = byteSet{}.with("]")             // where tags begin with a bracket
	tagNameStop    = byteSet{}.with("<>\n")          // a name in a tag
	quotedNameStop = controls().with(`"'<`)          // the same in quotes
	attributeStop  = byteSet{}.with("<>\n")          // attributes behind a name
	bareNameStop   = byteSet{}.with("\n<{ \t\r")     // a name in no tag
	parenStop      = byteSet{}.with("\"'\\()[]{}\n") // arguments that are only looked through for their end
	captureStop    = byteSet{}.with(`"'\`)           // a string that is kept
	literalStop    = doubleStop.with("<")            // a string between tokens
	waitStop       = doubleStop.with("(")            // a key or a name that waits for its end
	lineStop       = byteSet{}.with("\n")            // a line that is read as a whole
	blockStop      = doubleStop                      // a line of a block: what is escaped in JSON
)

// yamlStop are the bytes of a scalar of YAML that may be more than text, or that JSON writes in another way.
var yamlStop = func() (s byteSet) {
	for c := range s {
		if c == '#' || c == '"' || c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			s[c] = 1
		}
	}
	return s
}()

// headerWord are the bytes of the words and spaces in the header of a message.
var headerWord = func() (s byteSet) {
	for c := range s {
		if c := byte(c); isNameByte(c) || c == '=' || c == ' ' || c == ':' {
			s[c] = 1
		}
	}
	return s
}()

// headerStop are the others, and the bytes that tokens begin with.
var headerStop = headerWord.inverse()

// literalNameStop are the bytes that do not belong to the name before the braces of a call in Gemma's literals.
var literalNameStop = headerStop.with("=")

// wordStop are the bytes that do not belong to a keyword.
var wordStop = func() (s byteSet) {
	for c := range s {
		if c := byte(c); isWord(c) || c == '\\' {
			s[c] = 1
		}
	}
	return s.inverse()
}()

// inverse returns the set of all other bytes.
func (s byteSet) inverse() byteSet {
	for c := range s {
		s[c] = 1 - s[c]
	}
	return s
}

func controls() (s byteSet) {
	for c := range 0x20 {
		s[c] = 1
	}
	return s
}

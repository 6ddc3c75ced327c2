package chars

import "math/bits"

// A Set is a set of bytes: those that need a look where all others pass. It holds numbers rather than
// booleans so that several bytes can be tried with one branch.
type Set [256]uint8

func (s *Set) Has(c byte) bool { return s[c] != 0 }

// With returns a set that has the bytes of more as well.
func (s Set) With(more string) Set {
	for i := range len(more) {
		s[more[i]] = 1
	}
	return s
}

// Without returns a set that lacks the bytes of fewer.
func (s Set) Without(fewer string) Set {
	for i := range len(fewer) {
		s[fewer[i]] = 0
	}
	return s
}

// Index returns the offset of the first byte of in, from i on, that is in s, or the length of in.
func (s *Set) Index(in string, i int) int {
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

// IndexEscaped returns the offset of the first byte of s, from i on, that is escaped in a string of JSON, or
// the length of s. It is what doubleStop.index is, for long texts: eight bytes at a time.
func IndexEscaped(s string, i int) int {
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
	return Escaped.Index(s, i)
}

// None reports whether in has no byte of s.
func (s *Set) None(in string) bool {
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

// Inverse returns the set of all other bytes.
func (s Set) Inverse() Set {
	for c := range s {
		s[c] = 1 - s[c]
	}
	return s
}

func Controls() (s Set) {
	for c := range 0x20 {
		s[c] = 1
	}
	return s
}

// The bytes that do not simply belong to a string.
var (
	Quoted   = Controls().With(`"'\`)
	Escaped  = Quoted.Without("'") // in double quotes
	AnyQuote = Set{}.With(`"'\`)   // a string that is kept
)

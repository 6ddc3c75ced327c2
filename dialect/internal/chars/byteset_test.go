package chars

import "testing"

// TestIndexEscaped compares the search of eight bytes at a time with that of one, for every byte at every place.
func TestIndexEscaped(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			for _, around := range []byte{'a', ' ', 0x7f, 0x80, 0xff, '!', '#', '[', ']'} {
				s := make([]byte, 20)
				for i := range s {
					s[i] = around
				}
				s[at] = byte(c)
				if at > 8 {
					s[19] = '"'
				}
				for from := range 20 {
					if got, want := IndexEscaped(string(s), from), Escaped.Index(string(s), from); got != want {
						t.Fatalf("%q from %d on: %d, want %d", s, from, got, want)
					}
				}
			}
		}
	}
}

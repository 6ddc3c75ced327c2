package jsonbody

import "unicode/utf8"

// A RuneTail keeps the beginning of a character that a delta was cut in, so that no half of it goes out.
type RuneTail struct {
	buf [utf8.UTFMax]byte
	n   int
}

// Take returns the text to send now: what was kept, then text without its last, cut character.
func (t *RuneTail) Take(text string) string {
	if t.n == 0 && (text == "" || text[len(text)-1] < utf8.RuneSelf) {
		return text
	}
	if t.n > 0 {
		text = string(t.buf[:t.n]) + text
		t.n = 0
	}
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				t.n = copy(t.buf[:], tail)
				text = text[:len(text)-i]
			}
			break
		}
	}
	return text
}

// Flush returns what was kept, which is no whole character.
func (t *RuneTail) Flush() string {
	t.n = 0
	return "\ufffd"
}

// Pending reports whether a part of a character is kept.
func (t *RuneTail) Pending() bool { return t.n > 0 }

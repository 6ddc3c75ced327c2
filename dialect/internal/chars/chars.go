// Package chars has sets and classes of bytes, and searches for them.
package chars

import "strings"

func Fold(s string) string {
	if !strings.ContainsAny(s, ".-") {
		return s
	}
	b := []byte(s)
	for i := range b {
		b[i] = FoldByte(b[i])
	}
	return string(b)
}

func FoldByte(c byte) byte {
	if c == '.' || c == '-' {
		return '_'
	}
	return c
}

func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsWord reports whether c may stand in an identifier of the languages that the pythonic dialects borrow from.
func IsWord(c byte) bool { return IsLetter(c) || IsDigit(c) || c == '_' || c == '$' || c >= 0x80 }

func IsBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// TrimBlanks returns s without the white space it begins with.
func TrimBlanks(s string) string {
	for s != "" && IsBlank(s[0]) {
		s = s[1:]
	}
	return s
}

func Blank(s string) bool {
	for i := 0; i < len(s); i++ {
		if !IsBlank(s[i]) {
			return false
		}
	}
	return true
}

// PartialRune returns the length of an unfinished UTF-8 sequence at the end of s.
func PartialRune(s string) int {
	if s == "" || s[len(s)-1] < 0x80 {
		return 0
	}
	for k := 1; k <= 3 && k <= len(s); k++ {
		c := s[len(s)-k]
		if c < 0x80 {
			return 0
		}
		if c >= 0xC0 {
			if k < RuneLen(c) {
				return k
			}
			return 0
		}
	}
	return 0
}

// RuneLen returns the length of the UTF-8 sequence that begins with c.
func RuneLen(c byte) int {
	switch {
	case c >= 0xF0 && c <= 0xF4:
		return 4
	case c >= 0xE0 && c < 0xF0:
		return 3
	case c >= 0xC2 && c < 0xE0:
		return 2
	}
	return 1
}

// Digits reports whether s has nothing but decimal digits.
func Digits(s string) bool {
	for i := range len(s) {
		if !IsDigit(s[i]) {
			return false
		}
	}
	return true
}

package shape

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Quote returns s as a JSON string. A byte that is not UTF-8 becomes U+FFFD.
func Quote(s string) string {
	return string(AppendQuoted(make([]byte, 0, len(s)+2+len(s)/16), s))
}

// unquote returns the content of the JSON string v, without a copy when it has no escapes.
func unquote(v string) (string, bool) {
	if end, ok := scanString(v, 0); len(v) < 2 || v[0] != '"' || !ok || end != len(v) {
		return "", false
	}
	v = v[1 : len(v)-1]
	if strings.IndexByte(v, '\\') < 0 {
		return v, true
	}
	return string(AppendUnquoted(make([]byte, 0, len(v)), []byte(v))), true
}

// AppendUnquoted appends the string whose JSON form, without quotes, is raw. Surrogates that are no pair become U+FFFD,
// an escape that JSON does not have stands for its character.
func AppendUnquoted(dst, raw []byte) []byte {
	if len(raw) > largeText {
		dst = slices.Grow(dst, len(raw))
	}
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		c := raw[i+1]
		raw = raw[i+2:]
		if c != 'u' {
			dst = append(dst, simpleEscape(c))
			continue
		}
		r, n := escapedRune(raw)
		raw = raw[n:]
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// escapedRune reads the digits behind \u at the start of b, with the second half of a surrogate pair if there is one. A
// surrogate that is no pair becomes U+FFFD.
func escapedRune(b []byte) (r rune, n int) {
	r, n = hexRune(b)
	if !utf16.IsSurrogate(r) {
		return r, n
	}
	low, m := rune(-1), 0
	if rest := b[n:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		low, m = hexRune(rest[2:])
	}
	if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
		n += 2 + m
	}
	return r, n
}

func simpleEscape(c byte) byte {
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

// largeText is the length of a text from which on room for all of it is made at once: to grow leaves several times as
// much behind.
const largeText = 1 << 16

// escapedLen returns how long s is with escapes, if it is UTF-8.
func escapedLen(s string) (n int) {
	var escape [6]byte
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || plain[c] {
			n++
		} else {
			n += len(appendEscape(escape[:0], c))
		}
	}
	return n
}

// AppendQuoted appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD, so that every output is valid.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	return append(AppendEscaped(dst, s), '"')
}

// AppendEscaped appends s as it stands between the quotes of a JSON string.
func AppendEscaped(dst []byte, s string) []byte {
	if len(s) > largeText {
		dst = slices.Grow(dst, escapedLen(s)+largeText/16)
	}
	for {
		n := PlainLen(s)
		for n < len(s) && s[n] >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			n += size
		}
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		switch c := s[n]; {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\ufffd"...)
			n++
		case !plain[c]:
			dst = appendEscape(dst, c)
			n++
		}
		s = s[n:]
	}
}

// PlainLen returns how many bytes at the beginning of s are ASCII characters that need no escape. It looks at eight
// bytes at a time, of which the lowest set bit in the mask marks the first that is none of them.
func PlainLen(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, slash := w^'"'*ones, w^'\\'*ones // a byte that is equal becomes 0
		if special := (w | (w - ' '*ones) | (quote - ones) | (slash - ones)) & highs; special != 0 {
			return i + bits.TrailingZeros64(special)/8 // a borrow spoils only what is behind the first
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

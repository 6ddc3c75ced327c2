package render

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"wield/dialect/internal/chars"
)

// A escaping says how JSON text is rewritten.
type escaping uint8

const (
	asWritten escaping = iota // strings stay as written
	safe                      // nothing in a string can be taken for the start of a call
	strict                    // no sign of markup at all
	python                    // literals of Python, strings with the escapes that JSON and Python share
)

// Quote appends s as a JSON string with no escapes but the needful ones.
func Quote(dst []byte, s string) []byte { return appendString(dst, s, asWritten) }

// appendString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendString(dst []byte, s string, mode escaping) []byte {
	const hex = "0123456789abcdef"
	dst = append(slices.Grow(dst, len(s)+strings.Count(s, `"`)+strings.Count(s, "\n")+2), '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < 0x20 || c == 0x7f || mode != asWritten && mayBegin(s, i, mode):
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' { // line ends to some readers
				dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// mayBegin reports whether the byte at i may begin the marker of a dialect, a fence or a reasoning tag. Every opener
// that a decoder finds in the middle of a line has such a byte: a tag, a section marker in brackets, or functools[.
func mayBegin(s string, i int, mode escaping) bool {
	switch c := s[i]; c {
	case '<':
		if mode == strict || i+1 == len(s) {
			return true
		}
		n := s[i+1]
		return n|0x20 >= 'a' && n|0x20 <= 'z' || strings.IndexByte("/|]!?\\", n) >= 0 || n >= utf8.RuneSelf
	case '>', '&':
		return mode == strict
	case '[':
		if i+1 < len(s) && (s[i+1] == '/' || s[i+1] >= 'A' && s[i+1] <= 'Z') {
			return true
		}
		return i > 0 && s[i-1]|0x20 >= 'a' && s[i-1]|0x20 <= 'z' && strings.HasSuffix(s[:i], "functools")
	case '`', '~':
		return i > 0 && s[i-1] == c || i+1 < len(s) && s[i+1] == c
	}
	return false
}

// compact appends the JSON text raw without white space between its tokens, its strings by mode. Text that is not
// JSON is appended as a JSON string.
func compact(dst []byte, raw string, mode escaping) []byte {
	if !json.Valid([]byte(raw)) {
		return appendString(dst, raw, mode)
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"':
			end := stringEnd(raw, i)
			dst = token(dst, raw[i:end], mode)
			i = end
		case mode == python && (c == 't' || c == 'f' || c == 'n'):
			switch c {
			case 't':
				dst, i = append(dst, "True"...), i+len("true")
			case 'f':
				dst, i = append(dst, "False"...), i+len("false")
			case 'n':
				dst, i = append(dst, "None"...), i+len("null")
			}
		case mode == python && (c == ',' || c == ':'):
			dst = append(dst, c, ' ')
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// token appends the JSON string in raw, which is in quotes, by mode.
func token(dst []byte, raw string, mode escaping) []byte {
	if mode == asWritten {
		return append(dst, raw...)
	}
	s := raw[1 : len(raw)-1]
	if strings.IndexByte(s, '\\') >= 0 && json.Unmarshal([]byte(raw), &s) != nil {
		return append(dst, raw...)
	}
	if mode == python {
		mode = asWritten
	}
	return appendString(dst, s, mode)
}

// stringEnd returns the offset after the string that begins at i.
func stringEnd(raw string, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// valueEnd returns the offset after the JSON value that begins at i, or -1 when the text ends before it does.
func valueEnd(raw string, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = stringEnd(raw, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	if depth > 0 {
		return -1
	}
	return i
}

// Each calls f with the decoded key and the raw value of each member of the JSON object in raw, in order.
func Each(raw string, f func(key, value string)) {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return
	}
	for i = space(raw, i+1); i < len(raw) && raw[i] == '"'; {
		end := stringEnd(raw, i)
		var key string
		if json.Unmarshal([]byte(raw[i:end]), &key) != nil {
			return
		}
		i = space(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return
		}
		i = space(raw, i+1)
		if end = valueEnd(raw, i); end < 0 {
			return
		}
		f(key, raw[i:end])
		if i = space(raw, end); i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
}

func space(raw string, i int) int {
	for i < len(raw) && strings.IndexByte(" \t\r\n", raw[i]) >= 0 {
		i++
	}
	return i
}

// Unquote returns the text of the JSON string in raw, and whether raw is one.
func Unquote(raw string) (string, bool) {
	if n := len(raw) - 1; n > 0 && raw[0] == '"' && raw[n] == '"' && chars.Escaped.None(raw[1:n]) &&
		utf8.ValidString(raw) {
		return raw[1:n], true
	}
	var s string
	if !strings.HasPrefix(raw, `"`) || json.Unmarshal([]byte(raw), &s) != nil {
		return "", false
	}
	return s, true
}

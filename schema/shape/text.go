package shape

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of the values that are read here.
const maxDepth = 64

// maxExpand limits the digits of a number whose exponent is written out.
const maxExpand = 21

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isSpace(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }

func trim(s string) string {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// kindOf returns the type of the JSON text v by its first byte. A number has both number bits.
func kindOf(v string) Types {
	if v == "" {
		return 0
	}
	switch v[0] {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't', 'f':
		return Boolean
	case 'n':
		return Null
	}
	return Integer | Number
}

// validJSON reports whether s is one JSON value without white space around it. Numbers that a float64 cannot hold, a
// depth beyond maxDepth and bytes that are not UTF-8 make it false; duplicate keys do not.
func validJSON(s string) bool {
	end, ok := scanValue(s, 0, maxDepth)
	return ok && end == len(s)
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// scanValue returns the end of the JSON value that begins at s[i].
func scanValue(s string, i, depth int) (end int, ok bool) {
	if i >= len(s) {
		return i, false
	}
	switch s[i] {
	case '"':
		return scanString(s, i)
	case '{', '[':
		if depth == 0 {
			return i, false
		}
		return scanContainer(s, i, depth-1)
	case 't':
		return scanWord(s, i, "true")
	case 'f':
		return scanWord(s, i, "false")
	case 'n':
		return scanWord(s, i, "null")
	}
	end = i
	for end < len(s) && (isDigit(s[end]) || s[end] == '-' || s[end] == '+' || s[end] == '.' || s[end]|0x20 == 'e') {
		end++
	}
	n, ok := parseNumber(s[i:end])
	return end, ok && n.strict && finite(s[i:end])
}

func scanWord(s string, i int, word string) (int, bool) {
	return i + len(word), strings.HasPrefix(s[i:], word)
}

func scanContainer(s string, i, depth int) (end int, ok bool) {
	object := s[i] == '{'
	closer := byte(']')
	if object {
		closer = '}'
	}
	i = skipSpace(s, i+1)
	if i < len(s) && s[i] == closer {
		return i + 1, true
	}
	for {
		if object {
			if i >= len(s) || s[i] != '"' {
				return i, false
			}
			if i, ok = scanString(s, i); !ok {
				return i, false
			}
			if i = skipSpace(s, i); i >= len(s) || s[i] != ':' {
				return i, false
			}
			i = skipSpace(s, i+1)
		}
		if i, ok = scanValue(s, i, depth); !ok {
			return i, false
		}
		if i = skipSpace(s, i); i >= len(s) {
			return i, false
		}
		switch s[i] {
		case closer:
			return i + 1, true
		case ',':
			i = skipSpace(s, i+1)
		default:
			return i, false
		}
	}
}

func scanString(s string, i int) (end int, ok bool) {
	for i++; i < len(s); {
		switch b := s[i]; {
		case b == '"':
			return i + 1, true
		case b == '\\':
			n := escapeLen(s[i:])
			if n == 0 {
				return i, false
			}
			i += n
		case b < ' ':
			return i, false
		case b < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return i, false
			}
			i += n
		}
	}
	return i, false
}

// escapeLen returns the length of the JSON escape that s begins with, 0 if it is none.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex(s, 2, 4); ok {
			return 6
		}
	}
	return 0
}

// hex reads n hexadecimal digits at s[i].
func hex(s string, i, n int) (rune, bool) {
	if len(s) < i+n {
		return 0, false
	}
	var r rune
	for _, b := range []byte(s[i : i+n]) {
		switch {
		case isDigit(b):
			b -= '0'
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}

// A number is number text taken apart.
type number struct {
	text      string
	neg       bool
	int, frac string // digits before and after the point
	exp       int    // saturated
	integer   bool   // an integer in JSON, as written
	strict    bool   // a number in JSON, as written
}

// parseNumber reads JSON number text; one of the two sides of the point may be missing.
func parseNumber(s string) (n number, ok bool) {
	n.text = s
	i := 0
	if i < len(s) && s[i] == '-' {
		n.neg = true
		i++
	}
	digits := func() string {
		at := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return s[at:i]
	}
	n.int = digits()
	if len(n.int) > 1 && n.int[0] == '0' {
		return n, false // octal or decimal? Nobody can tell
	}
	n.integer = i == len(s)
	n.strict = n.int != ""
	if i < len(s) && s[i] == '.' {
		i++
		n.frac = digits()
		n.strict = n.strict && n.frac != ""
	}
	if n.int == "" && n.frac == "" {
		return n, false
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		neg := i < len(s) && s[i] == '-'
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		e := digits()
		if e == "" {
			return n, false
		}
		for _, d := range []byte(e) {
			if n.exp = n.exp*10 + int(d-'0'); n.exp > 1<<40 {
				n.exp = 1 << 40
			}
		}
		if neg {
			n.exp = -n.exp
		}
	}
	return n, i == len(s)
}

// whole reports whether the number is an integer in value.
func (n number) whole() bool {
	frac := strings.TrimRight(n.frac, "0")
	if frac != "" {
		return n.exp >= len(frac)
	}
	if n.exp >= 0 {
		return true
	}
	all := strings.TrimRight(n.int, "0")
	return strings.Trim(n.int, "0") == "" || len(n.int)-len(all) >= -n.exp
}

// expand writes a whole number as plain digits. It fails when an exponent stands for too many of them.
func (n number) expand() (string, bool) {
	frac := strings.TrimRight(n.frac, "0")
	digits := strings.TrimLeft(n.int+frac, "0")
	if digits == "" {
		return "0", true
	}
	shift := n.exp - len(frac)
	switch {
	case shift < 0:
		digits = digits[:len(digits)+shift]
	case shift > 0 && len(digits)+shift > maxExpand:
		return "", false
	default:
		digits += strings.Repeat("0", shift)
	}
	if n.neg {
		digits = "-" + digits
	}
	return digits, true
}

// json returns the number as JSON writes it.
func (n number) json() string {
	if n.strict {
		return n.text
	}
	b := make([]byte, 0, len(n.text)+2)
	if n.neg {
		b = append(b, '-')
	}
	if n.int == "" {
		b = append(b, '0')
	}
	b = append(b, n.int...)
	if n.frac != "" {
		b = append(append(b, '.'), n.frac...)
	}
	if n.exp != 0 {
		b = strconv.AppendInt(append(b, 'e'), int64(n.exp), 10)
	}
	return string(b)
}

// finite reports whether the number text v is within the range of a float64. An integer of any length is exact text,
// which has no such limit.
func finite(v string) bool {
	exp := strings.ContainsAny(v, "eE")
	if !exp && (len(v) < 300 || strings.IndexByte(v, '.') < 0) {
		return true
	}
	_, err := strconv.ParseFloat(v, 64)
	return err == nil
}

// onlyElement returns the element of the JSON array v if it has exactly one.
func onlyElement(v string) (string, bool) {
	if !validJSON(v) || v[0] != '[' {
		return "", false
	}
	i := skipSpace(v, 1)
	end, ok := scanValue(v, i, maxDepth)
	if !ok || v[skipSpace(v, end)] != ']' {
		return "", false
	}
	return v[i:end], true
}

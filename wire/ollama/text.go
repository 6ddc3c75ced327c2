package ollama

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// appendString appends s as a JSON string. Bytes that are no UTF-8 become U+FFFD, so that every output is valid.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		dst = appendEscape(append(dst, s[from:i]...), c)
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// appendEscape appends what stands for a byte that may not stand in a JSON string by itself.
func appendEscape(dst []byte, c byte) []byte {
	switch {
	case c >= utf8.RuneSelf:
		return append(dst, "\ufffd"...)
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, `\n`...)
	case c == '\r':
		return append(dst, `\r`...)
	case c == '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendValue appends JSON that is known to be some, in one line and as short as it can be without another meaning.
func appendValue(dst []byte, raw string) []byte {
	b := bytes.NewBuffer(dst)
	if err := json.Compact(b, []byte(raw)); err != nil {
		return append(dst, "null"...)
	}
	return b.Bytes()
}

// object returns raw if it is the JSON text of an object, or what an absent one means; or else "".
func object(raw string) string {
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "" || raw == "null":
		return "{}"
	case raw[0] == '{' && json.Valid([]byte(raw)):
		return raw
	}
	return ""
}

// A runeTail keeps the beginning of a character that a delta was cut in, so that no half of it goes out.
type runeTail struct{ kept string }

// take returns the text to send now: what was kept, then text without its last, cut character.
func (t *runeTail) take(text string) string {
	if t.kept != "" {
		text, t.kept = t.kept+text, ""
	}
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		tail := text[len(text)-i:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if !utf8.FullRuneInString(tail) {
			text, t.kept = text[:len(text)-i], tail
		}
		break
	}
	return text
}

// flush returns what was kept, which is no whole character.
func (t *runeTail) flush() string {
	text := t.kept
	t.kept = ""
	return text
}

// excerpt returns the beginning of a text for a message.
func excerpt(b []byte) string {
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(b[:min(len(b), most)]), "")), " ")
	switch {
	case text == "":
		return "(empty)"
	case len(b) > most:
		return text + " ..."
	}
	return text
}

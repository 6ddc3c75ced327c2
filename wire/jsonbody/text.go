package jsonbody

import (
	"bytes"
	"slices"
	"strings"
)

// AppendCompact appends JSON without the line breaks between its tokens, which would end a line of a frame. Line breaks
// inside strings are escaped anyway.
func AppendCompact(dst, raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(dst, raw...)
	}
	dst = slices.Grow(dst, len(raw))
	for _, c := range raw {
		if c != '\n' && c != '\r' {
			dst = append(dst, c)
		}
	}
	return dst
}

// Excerpt returns the beginning of a text for a message.
func Excerpt(b []byte) string {
	const most = 200
	text := strings.ToValidUTF8(string(b[:min(len(b), most)]), "")
	text = strings.Join(strings.Fields(text), " ")
	if len(b) > most {
		text += " ..."
	}
	if text == "" {
		return "(empty)"
	}
	return text
}

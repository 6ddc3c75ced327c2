package render

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/dialect/internal/form"
)

// CallLiteral returns a writer of a name and an object in Gemma's literals.
func CallLiteral(f *form.Literal) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand before a brace"
		}
		dst = append(append(dst, "call:"...), c.Name...)
		return literal(dst, c.Arguments, f)
	}
}

// literal writes a JSON value, and returns in its second value why it cannot.
func literal(dst []byte, raw string, f *form.Literal) (out []byte, why string) {
	raw = strings.TrimSpace(raw)
	switch raw[0] {
	case '"':
		s, ok := Unquote(raw)
		if !ok || strings.Contains(s, f.Token) || strings.Contains(s+f.Token, f.Token[:1]+f.Token) {
			return dst, "a string holds the token that would end it"
		}
		return append(append(append(dst, f.Token...), s...), f.Token...), ""
	case '{':
		dst = append(dst, '{')
		first := true
		Each(raw, func(key, value string) {
			if !IsName(key) || strings.Contains(key, ":") {
				why = "the key " + key + " cannot stand without quotes"
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(dst, key...), ':')
			if why == "" {
				dst, why = literal(dst, value, f)
			}
		})
		return append(dst, '}'), why
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal([]byte(raw), &items); err != nil {
			return dst, err.Error()
		}
		dst = append(dst, '[')
		for i, item := range items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, why = literal(dst, string(item), f); why != "" {
				return dst, why
			}
		}
		return append(dst, ']'), ""
	}
	return append(dst, raw...), ""
}

package render

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect/internal/form"
)

// CallArgs writes an object with name and args.
func CallArgs(dst []byte, c *chat.Call) ([]byte, string) {
	dst = Quote(append(dst, `{"name":`...), c.Name)
	dst = append(append(dst, `,"args":`...), c.Arguments...)
	return append(dst, '}'), ""
}

var attributeEscapes = strings.NewReplacer("&", "&amp;", `"`, "&quot;")

// CallOpen returns a writer of a call between open and close tokens.
func CallOpen(f *form.Tags) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand in an attribute"
		}
		dst = append(append(append(dst, f.CallOpen...), '"'), attributeEscapes.Replace(c.Name)...)
		dst = strconv.AppendInt(append(dst, `" index="`...), int64(c.Index+1), 10)
		dst = append(append(dst, '"'), f.TagEnd...)
		why := ""
		Each(c.Arguments, func(key, value string) {
			if strings.ContainsAny(key, "\n\r\t") || strings.Contains(key, f.TagEnd) || key == "" || strings.TrimSpace(key) != key || len(key) > 64 || strings.ContainsAny(key, "&;") {
				why = "the argument's name " + strconv.Quote(key) + " cannot stand in an attribute"
				return
			}
			dst = append(append(append(dst, f.ParamOpen...), '"'), attributeEscapes.Replace(key)...)
			s, ok := Unquote(value)
			kind := "string"
			if !ok {
				kind = openType(value)
			}
			dst = append(append(append(dst, `" type="`...), kind...), '"')
			dst = append(dst, f.TagEnd...)
			if strings.Contains(s, "<|close|>") || strings.Contains(s, "<|open|>") || strings.Contains(s, "<|close|") || strings.Contains(s, "<|open|") {
				why = "the value of " + key + " holds a token"
			}
			if ok {
				dst = append(dst, s...)
			} else {
				dst = compact(dst, value, strict)
			}
			dst = append(dst, f.ParamClose...)
		})
		return append(dst, f.CallClose...), why
	}
}

// openType returns the name of the type of a JSON value other than a string.
func openType(value string) string {
	switch strings.TrimSpace(value)[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

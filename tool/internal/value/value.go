// Package value reads and writes JSON values of calls and results.
package value

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"wield/schema/shape"
)

// Marshal writes v as encoding/json does, without making more of the signs of HTML than there is.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Quote returns s as a JSON string.
func Quote(s string) json.RawMessage { return json.RawMessage(shape.Quote(s)) }

// Cut returns the first n bytes of s, or fewer, so that no character is cut.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Argument returns the argument of a name, in which a point leads into an object.
func Argument(args map[string]json.RawMessage, name string) json.RawMessage {
	first, rest, nested := strings.Cut(name, ".")
	if !nested {
		return args[name]
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(args[first], &inner) != nil {
		return nil
	}
	return Argument(inner, rest)
}

// Text returns a JSON string's content; "" for anything else.
func Text(raw json.RawMessage) string { return string(AppendText(nil, raw)) }

// AppendText appends a JSON string's content; nothing for anything else.
func AppendText(dst []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return dst
	}
	if out, err := jsontext.AppendUnquote(dst, raw); err == nil {
		return out
	}
	return dst
}

// Texts returns the strings of a JSON value that is a string, or a list of them in which other values stand
// as their JSON text.
func Texts(raw json.RawMessage) []string {
	if len(raw) == 0 || raw[0] != '[' {
		if s := Text(raw); s != "" {
			return []string{s}
		}
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	list := make([]string, len(items))
	for i, item := range items {
		if list[i] = string(item); item[0] == '"' {
			list[i] = Text(item)
		}
	}
	return list
}

// A Member is a member of an object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Append appends the member with a comma in front of it.
func (m Member) Append(dst []byte) []byte {
	dst = append(append(dst, ','), Quote(m.Name)...)
	return append(append(dst, ':'), m.Value...)
}

// Members returns the members of a JSON object in their order.
func Members(object json.RawMessage) []Member {
	var list []Member
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return list
		}
		m := Member{Name: name.String()}
		value, err := dec.ReadValue()
		if err != nil && err != io.EOF {
			return list
		}
		m.Value = bytes.Clone(value)
		list = append(list, m)
	}
	return list
}

package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"wield/schema/shape"
)

// Canonical returns JSON text in the one form that hashes compare: members in order, no white space, one way to write
// each string. Numbers stay as they are written, so that two large ones that differ never look the same. Text that is
// no strict JSON stays as it is.
func Canonical(text string) []byte {
	v := jsontext.Value(text)
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return []byte(text)
	}
	return v
}

// marshal writes v as encoding/json does, without making more of the signs of HTML than there is.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// quote returns s as a JSON string.
func quote(s string) json.RawMessage { return json.RawMessage(shape.Quote(s)) }

// cut returns the first n bytes of s, or fewer, so that no character is cut.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Example returns the first JSON object in a description.
func Example(description string) (string, bool) {
	for i := 0; i < len(description); i++ {
		if description[i] != '{' {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(description[i:]))
		var raw json.RawMessage
		if dec.Decode(&raw) == nil {
			return string(raw), true
		}
	}
	return "", false
}

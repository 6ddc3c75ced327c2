package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Mask takes secrets out of text before it is stored; nil: it is stored as it is. It sees the JSON of a record, and
// each of its strings alone where that would leave no JSON.
type Mask func(text string) string

// JSON takes secrets out of the JSON form of a record: once out of the whole, where the key of a value can be seen, and
// out of each string that reads otherwise without its escapes.
func (m Mask) JSON(body []byte) []byte {
	if m == nil {
		return body
	}
	text := string(body)
	if clean := m(text); clean != text {
		masked := []byte(clean)
		if _, err := Decode(masked); err != nil {
			return m.maskStrings(body, false)
		}
		body = masked
	}
	return m.maskStrings(body, true)
}

// masked masks what its JSON form hides: text that is no UTF-8 is written as base64.
func (m Mask) masked(r *Record) *Record {
	odd := func(t Text) bool { return !utf8.ValidString(string(t)) }
	if m == nil || r.TurnEnd == nil || !odd(r.TurnEnd.Raw) && !slices.ContainsFunc(r.TurnEnd.Before, odd) {
		return r
	}
	clean, end := *r, *r.TurnEnd
	end.Raw = Text(m(string(end.Raw)))
	end.Before = slices.Clone(end.Before)
	for i, text := range end.Before {
		end.Before[i] = Text(m(string(text)))
	}
	clean.TurnEnd = &end
	return &clean
}

// maskStrings masks each string of JSON text alone, or only those with escapes. The text is JSON, so that every string
// has an end.
func (m Mask) maskStrings(body []byte, escaped bool) []byte {
	if escaped && bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	var out []byte
	copied := 0 // bytes of body that are in out
	for at := 0; ; {
		i := bytes.IndexByte(body[at:], '"')
		if i < 0 {
			break
		}
		from, escapes := at+i, false
		for at = from + 1; body[at] != '"'; at++ {
			if body[at] == '\\' {
				at, escapes = at+1, true
			}
		}
		at++
		if !escapes && escaped {
			continue
		}
		if clean := m.maskString(body[from:at]); clean != nil {
			out = append(append(out, body[copied:from]...), clean...)
			copied = at
		}
	}
	if out == nil {
		return body
	}
	return append(out, body[copied:]...)
}

// maskString masks one string, and the strings within if it holds JSON, as the arguments of a call do. It returns nil
// for a string that holds no secret.
func (m Mask) maskString(quoted []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil
	}
	clean := m(s)
	if begin := strings.TrimLeft(clean, " \t\r\n"); begin != "" && strings.IndexByte(`{["`, begin[0]) >= 0 {
		if inner := []byte(clean); json.Valid(inner) {
			clean = string(m.maskStrings(inner, false))
		}
	}
	if clean == s {
		return nil
	}
	again, err := encode(clean)
	if err != nil {
		return nil
	}
	return again
}

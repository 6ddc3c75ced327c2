package jinja

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A value is nil (none), undefined, bool, int, float64, string, *list, *dict or function.
type value any

// undefined is the value of a variable or a member that does not exist.
type undefined struct{ name string }

type list struct {
	items []value
	tuple bool
}

// A dict keeps the order of its keys. A namespace is one.
type dict struct {
	keys   []string
	values map[string]value
	others map[string]value // keys that are no strings, by their text
}

// key returns a key as it was written.
func (d *dict) key(k string) value {
	if v, ok := d.others[k]; ok {
		return v
	}
	return k
}

// A function is a macro, a method or one of the built-in ones.
type function func(e *env, c *callArgs) value

func newDict() *dict { return &dict{values: map[string]value{}} }

func (d *dict) set(k string, v value) {
	if _, ok := d.values[k]; !ok {
		d.keys = append(d.keys, k)
	}
	d.values[k] = v
}

func (d *dict) remove(k string) {
	delete(d.values, k)
	for i, have := range d.keys {
		if have == k {
			d.keys = append(d.keys[:i:i], d.keys[i+1:]...)
			return
		}
	}
}

// decode reads JSON and keeps the order of keys.
func decode(text []byte) (value, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON value")
	}
	return v, nil
}

func decodeValue(dec *json.Decoder) (value, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Number:
		if n, err := strconv.Atoi(tok.String()); err == nil {
			return n, nil
		}
		return tok.Float64()
	case json.Delim:
		l, d := &list{}, newDict()
		for dec.More() {
			var key json.Token
			if tok == '{' {
				if key, err = dec.Token(); err != nil {
					return nil, err
				}
			}
			v, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			if tok == '{' {
				d.set(key.(string), v)
			} else {
				l.items = append(l.items, v)
			}
		}
		if _, err := dec.Token(); err != nil {
			return nil, err
		}
		if tok == '{' {
			return d, nil
		}
		return l, nil
	}
	return tok, nil
}

func truth(v value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *list:
		return len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// text returns a value as Python prints it.
func text(v value) string {
	switch v := v.(type) {
	case undefined:
		return ""
	case string:
		return v
	}
	return repr(v)
}

func repr(v value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case undefined:
		return "Undefined"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case float64:
		return floatText(v)
	case string:
		quote := "'"
		if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
			quote = `"`
		}
		return quote + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote,
			`\`+quote).Replace(v) + quote
	case *list:
		parts := make([]string, len(v.items))
		for i, item := range v.items {
			parts[i] = repr(item)
		}
		switch joined := strings.Join(parts, ", "); {
		case !v.tuple:
			return "[" + joined + "]"
		case len(parts) == 1:
			return "(" + joined + ",)"
		default:
			return "(" + joined + ")"
		}
	case *dict:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = repr(k) + ": " + repr(v.values[k])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "<function>"
}

func floatText(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e16 {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// appendJSON writes a value as Python's json.dumps does; indent below 0 is one line.
func appendJSON(b []byte, v value, indent, depth int, ascii bool) []byte {
	line := func(depth int) {
		if indent >= 0 {
			b = append(b, '\n')
			b = append(b, strings.Repeat(" ", indent*depth)...)
		}
	}
	comma := func(i int) {
		switch {
		case i > 0 && indent < 0:
			b = append(b, ", "...)
		case i > 0:
			b = append(b, ',')
		}
	}
	switch v := v.(type) {
	case nil, undefined:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return append(b, floatText(v)...)
	case string:
		return appendString(b, v, ascii)
	case *list:
		b = append(b, '[')
		for i, item := range v.items {
			comma(i)
			line(depth + 1)
			b = appendJSON(b, item, indent, depth+1, ascii)
		}
		if len(v.items) > 0 {
			line(depth)
		}
		return append(b, ']')
	case *dict:
		b = append(b, '{')
		for i, k := range v.keys {
			comma(i)
			line(depth + 1)
			b = append(appendString(b, k, ascii), ": "...)
			b = appendJSON(b, v.values[k], indent, depth+1, ascii)
		}
		if len(v.keys) > 0 {
			line(depth)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func appendString(b []byte, s string, ascii bool) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < 0x20 || ascii && r > 0x7e && r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		case ascii && r >= 0x10000:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

func number(v value) (f float64, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func equal(a, b value) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		s, ok := b.(string)
		return ok && a == s
	case *list:
		l, ok := b.(*list)
		if !ok || len(a.items) != len(l.items) {
			return false
		}
		for i := range a.items {
			if !equal(a.items[i], l.items[i]) {
				return false
			}
		}
		return true
	case *dict:
		d, ok := b.(*dict)
		if !ok || len(a.keys) != len(d.keys) {
			return false
		}
		for k, v := range a.values {
			if w, ok := d.values[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	return false
}

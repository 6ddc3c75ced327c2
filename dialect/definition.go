package dialect

import "strings"

// The definition of a tool has a name and parameters, as a call of it may have; but the parameters are a JSON
// Schema. Arguments that may be one are held to their end, since a call that was begun cannot be taken back.

// definitionKeys are the keys that tell a schema of arguments.
var definitionKeys = [...]string{"type", "properties"}

// mayDefine reports whether the first key of arguments, or its beginning, is one of a schema and no parameter of
// the tool.
func (r *callReader) mayDefine(d *driver, key string, whole match) bool {
	for _, k := range definitionKeys {
		if strings.HasPrefix(k, key) && (whole == maybe || k == key) && !r.declares(d, k) {
			return true
		}
	}
	return false
}

// cut decides, where the text ends, about arguments that were looked at and did not begin a call yet.
func (r *callReader) cut(d *driver) verdict {
	rec, from := &r.record, r.firstAt
	held := rec.known && !rec.started && rec.argsFrom >= 0 && rec.argsFrom == from && len(r.stack) == r.firstIn
	switch {
	case r.state == cValue && r.class == keyArguments && !r.bare && d.fragment() != "":
		from = d.text.fragment
	case held && (r.state == cSkip && r.class == keyArguments || r.state == cAfter):
		if typed, props := schemaKeys(d.text.held(from, d.text.at(0))); typed || props {
			return more
		}
		r.word = rec.argsKey
	default:
		return more
	}
	if v := r.beginArguments(d, d.text.index(from)); v != more {
		return v
	}
	if r.state != cArgs {
		r.skip(d)
	}
	_, v := d.runHeld(r, d.text.held(from, d.text.at(0)), from)
	return v
}

// defines reports whether the arguments that were held are a schema, and not parameters of the tool.
func (r *callReader) defines(d *driver) bool {
	rec := &r.record
	if !rec.known || rec.argsFrom < 0 || rec.argsTo < 0 {
		return false
	}
	for _, k := range definitionKeys {
		if r.declares(d, k) {
			return false
		}
	}
	typed, props := schemaKeys(d.text.held(rec.argsFrom, rec.argsTo))
	return typed && props
}

// schemaKeys reports what the text of an object has of a schema of arguments: a type that is object, and
// properties that are one.
func schemaKeys(raw string) (typed, props bool) {
	var key string
	var inKey bool
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '"', '\'':
			from := i + 1
			for i++; i < len(raw) && raw[i] != c; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			text := raw[from:min(i, len(raw))]
			if depth == 1 && inKey {
				key = text
			} else if depth == 1 && key == "type" {
				typed = text == "object"
			}
		case '{', '[':
			props = props || depth == 1 && !inKey && key == "properties" && c == '{'
			depth++
			inKey = depth == 1
		case '}', ']':
			depth--
		case ',':
			inKey = inKey || depth == 1
		case ':':
			inKey = inKey && depth != 1
		}
	}
	return typed, props
}

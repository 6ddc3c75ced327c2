package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
)

// The definition of a tool has a name and parameters, as a call of it may have; but the parameters are a JSON
// Schema. Arguments that may be one are held to their end, since a call that was begun cannot be taken back.

// definitionKeys are the keys that tell a schema of arguments.
var definitionKeys = [...]string{"type", "properties"}

// peek begins to read the arguments, which begin at i, up to the part of the first key that shows that they
// are no schema.
func (r *callReader) peek(d *driver, i int) {
	r.firstAt, r.firstIn, r.key, r.quote, r.state = d.text.at(i), len(r.stack), r.key[:0], 0, cFirstKey
}

// mayDefine reports whether arguments that begin with c have to be looked at before the call begins.
func (r *callReader) mayDefine(c byte) bool {
	rec := &r.record
	return c == '{' && rec.known && !rec.done && r.doom == ""
}

// otherKey reports whether the object that s begins with begins with a key that no schema does, as far as s goes.
func otherKey(s string) bool {
	s = chars.TrimBlanks(s[1:])
	if s == "" || s[0] != '"' {
		return false
	}
	s = s[1:]
	for _, k := range definitionKeys {
		if n := common(k, s); n == len(s) || n == len(k) && s[n] == '"' {
			return false
		}
	}
	return true
}

// readFirst reads a byte of the first key.
func (r *callReader) readFirst(d *driver, c byte, i int) (int, verdict) {
	switch {
	case r.quote == 0 && chars.IsBlank(c) && d.text.at(i)-r.firstAt < maxHeader:
	case r.quote == 0 && (c == '"' || c == '\''):
		r.quote = c
	case r.quote != 0 && r.definitionKey(d, c):
		if c == r.quote {
			return r.holdArguments(d, i+1)
		}
		r.key = append(r.key, c)
	default:
		return r.beginPeeked(d, i)
	}
	return i + 1, more
}

// definitionKey reports whether the key so far, and c, may be one of a schema that is no parameter of the tool.
func (r *callReader) definitionKey(d *driver, c byte) bool {
	for _, k := range definitionKeys {
		if !strings.HasPrefix(k, string(r.key)) {
			continue
		}
		rest := k[len(r.key):]
		if (rest == "" && c == r.quote || rest != "" && c == rest[0]) && !r.declares(d, k) {
			return true
		}
	}
	return false
}

// holdArguments reads arguments that may be a schema, whose beginning was read up to i, as if the name were
// not known yet.
func (r *callReader) holdArguments(d *driver, i int) (int, verdict) {
	r.record.argsFrom, r.record.argsTo, r.record.argsKey = r.firstAt, -1, r.word
	r.skip(d)
	return r.again(d, i)
}

// beginPeeked begins the arguments, which are no schema and were read up to i.
func (r *callReader) beginPeeked(d *driver, i int) (int, verdict) {
	d.text.stash(d.text.at(i))
	if v := r.beginArguments(d, d.text.index(r.firstAt)); v != more {
		return i, v
	}
	if r.state != cArgs {
		r.skip(d)
	}
	return r.again(d, i)
}

// unpeek leaves the arguments unread while it is open whether they may be a schema, if all of them stand in
// this input: what decides then reads them from their beginning.
func (r *callReader) unpeek(d *driver, i int) (int, verdict) {
	if at := d.text.index(r.firstAt); at >= 0 && d.text.patient(at) {
		r.state = cValue
		return at, peeks
	}
	return i, more
}

// cut decides, where the text ends, about arguments that were looked at and did not begin a call yet.
func (r *callReader) cut(d *driver) verdict {
	rec := &r.record
	held := rec.known && !rec.started && rec.argsFrom >= 0 && rec.argsFrom == r.firstAt && len(r.stack) == r.firstIn
	switch {
	case r.state == cFirstKey:
	case held && (r.state == cSkip && r.class == keyArguments || r.state == cAfter):
		if typed, props := schemaKeys(d.text.held(r.firstAt, d.text.at(0))); typed || props {
			return more
		}
		r.word = rec.argsKey
	default:
		return more
	}
	_, v := r.beginPeeked(d, 0)
	return v
}

// again reads what was held of the arguments up to i, and returns where to go on.
func (r *callReader) again(d *driver, i int) (int, verdict) {
	if r.firstAt >= d.text.at(0) {
		return d.text.index(r.firstAt), more
	}
	d.text.stash(d.text.at(i))
	_, v := d.runHeld(r, d.text.held(r.firstAt, d.text.at(i)), r.firstAt)
	return i, v
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

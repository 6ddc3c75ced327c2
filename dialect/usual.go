package dialect

import (
	"strings"

	"wield/schema/shape"
)

// Most calls of an answer are of one tool, have the same arguments in the same order, and those are strings without escapes, and integers.
// Where an input holds all arguments of such a call, nothing is left to decide about: they are compared with those of the last call
// rather than read by a machine, and written at once. Whatever else stands there is left to the machine, from its first byte on.

// A notation is how the arguments of a form of calls stand in the text, besides keys and values, and what is written of that.
type notation struct {
	opens       string // what the object begins with
	first, next string // before the first key, and before the others
	keyEnd      string // behind a key, where it is known to be one
	colon       string // behind that
	quote       string // at both ends of a string
	end         string // behind the last value

	jsonFirst, jsonNext, jsonColon string

	stops *byteSet // the bytes that do not simply belong to a string
	early int      // so many bytes before the end of a key it is told of
	late  bool     // the quote before a string is told of with the next byte

	braceless bool // that of the object is written with the first key
}

var (
	keywordNotation = notation{next: ", ", keyEnd: "=", quote: `"`, end: ")",
		jsonFirst: `"`, jsonNext: `,"`, jsonColon: ":", stops: &doubleStop, late: true, braceless: true}
	gemmaNotation = notation{next: ",", keyEnd: ":", quote: `<|"|>`, end: "}",
		jsonFirst: `"`, jsonNext: `,"`, jsonColon: ":", stops: &literalStop, early: 1}
	escapeNotation = notation{next: ",", keyEnd: ":", quote: "<escape>", end: "}",
		jsonFirst: `"`, jsonNext: `,"`, jsonColon: ":", stops: &literalStop, early: 1}
	stringNotation = notation{opens: "{", first: `\"`, next: `,\"`, keyEnd: `\"`, colon: ":", quote: `\"`, end: `}"`,
		jsonFirst: `"`, jsonNext: `,"`, jsonColon: ":", stops: &doubleStop}
	spacedNotation = notation{opens: "{", first: `\"`, next: `, \"`, keyEnd: `\"`, colon: ": ", quote: `\"`, end: `}"`,
		jsonFirst: `"`, jsonNext: `, "`, jsonColon: ": ", stops: &doubleStop}
)

// usualArgs are the arguments of the last call.
type usualArgs struct {
	shape  *shape.Shape
	keys   []usualKey
	spaced bool                 // blanks stand behind commas and colons
	values [maxUsual]usualValue // of the call that is read
	form   *notation            // of the joints
	joints []joint
}

// A usualKey is a key, no two of which are the same, and what values of it stay as they are.
type usualKey struct {
	key     string
	shape   *shape.Shape // of its value
	texts   bool
	numbers bool
}

// A usualValue is where a value stands in the input, without its quotes.
type usualValue struct {
	from, to int
	text     bool
}

// maxUsual is how many arguments are compared: more than nearly all calls have.
const maxUsual = 8

// learn takes the keys of a call's arguments, which have the shape s, for those of the next.
func (u *usualArgs) learn(d *Decoder, s *shape.Shape, keys []keySpan) {
	keys = keys[:min(len(keys), maxUsual)]
	if u.shape == s && u.begins(keys) || d.sources != nil {
		return
	}
	u.shape, u.keys, u.form = s, u.keys[:0], nil
	for k := range keys {
		key := keys[k].key
		if !usualWord(key) {
			break
		}
		prop, _ := s.Prop(key)
		r, texts := d.set.opts.Repair, prop.Type().Only(shape.String)
		u.keys = append(u.keys, usualKey{key: key, shape: prop, texts: fits(prop, shape.String, r), numbers: !texts && fits(prop, shape.Integer|shape.Number, r)})
	}
}

// begins reports whether keys are the first of those of u.
func (u *usualArgs) begins(keys []keySpan) bool {
	if len(keys) > len(u.keys) {
		return false
	}
	for k := range keys {
		if keys[k].key != u.keys[k].key {
			return false
		}
	}
	return true
}

// usualWord reports whether key is one that every notation writes as it is.
func usualWord(key string) bool {
	return key != "" && len(key) < maxHeader && wordStop.none(key) && strings.IndexByte(key, '\\') < 0
}

// read compares the arguments at i, of the shape s, with the keys of u. It returns how many there are and where they end, or 0 if they
// differ or do not all stand in the input.
func (u *usualArgs) read(form *notation, s *shape.Shape, in string, i int) (n, end int) {
	if u.shape != s || !strings.HasPrefix(in[i:], form.opens) || strings.IndexByte(in[i:], form.end[0]) < 0 {
		return 0, 0
	}
	if i += len(form.opens); !strings.HasPrefix(in[i:], form.first) {
		return 0, 0
	}
	i += len(form.first)
	for n < len(u.keys) {
		key := &u.keys[n]
		if !strings.HasPrefix(in[i:], key.key) {
			return 0, 0
		}
		if i += len(key.key); !strings.HasPrefix(in[i:], form.keyEnd) {
			return 0, 0
		}
		if i += len(form.keyEnd); !strings.HasPrefix(in[i:], form.colon) {
			return 0, 0
		}
		if i = u.readValue(form, key, &u.values[n], in, i+len(form.colon)); i == 0 {
			return 0, 0
		}
		n++
		if strings.HasPrefix(in[i:], form.end) {
			return n, i + len(form.end)
		}
		if !strings.HasPrefix(in[i:], form.next) {
			return 0, 0
		}
		i += len(form.next)
	}
	return 0, 0
}

// mayBegin reports whether in, of the shape s, begins with the first key, or is the start of it.
func (u *usualArgs) mayBegin(s *shape.Shape, in string) bool {
	if u.shape != s || len(u.keys) == 0 {
		return false
	}
	key := u.keys[0].key
	n := min(len(in), len(key))
	return in[:n] == key[:n]
}

// readValue reads the value at i and returns where it ends, or 0 if it is not one that is written as it stands.
func (u *usualArgs) readValue(form *notation, key *usualKey, v *usualValue, in string, i int) int {
	v.text = strings.HasPrefix(in[i:], form.quote)
	if v.text {
		v.from = i + len(form.quote)
		if form.stops == &doubleStop {
			v.to = indexEscaped(in, v.from)
		} else {
			v.to = form.stops.index(in, v.from)
		}
		if !key.texts || !strings.HasPrefix(in[v.to:], form.quote) {
			return 0
		}
		return v.to + len(form.quote)
	}
	for v.from = i; i < len(in) && isDigit(in[i]); {
		i++
	}
	if n := i - v.from; !key.numbers || n == 0 || n > maxDigits || n > 1 && in[v.from] == '0' {
		return 0
	}
	v.to = i
	return i
}

// write writes the arguments of the open call, of which read found n in in; the text was read up to end.
func (u *usualArgs) write(d *Decoder, form *notation, in string, n, end int) {
	size := len("{}") + n*(len(form.jsonNext)+len(`"`)+len(form.jsonColon)+len(`""`))
	for k := range n {
		size += len(u.keys[k].key) + u.values[k].to - u.values[k].from
	}
	b := &d.args
	b.grow(size)
	b.writeByte('{')
	before := form.jsonFirst
	for k := range n {
		v := &u.values[k]
		b.writeString(before)
		b.writeString(u.keys[k].key)
		b.writeByte('"')
		b.writeString(form.jsonColon)
		if v.text {
			b.writeByte('"')
		}
		b.writeString(in[v.from:v.to])
		if v.text {
			b.writeByte('"')
		}
		before = form.jsonNext
	}
	b.writeByte('}')
	d.builtArgs(b.len(), end)
}

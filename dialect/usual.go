package dialect

import (
	"strings"

	"wield/schema/shape"
)

// Most calls of an answer are of one tool, have the same arguments in the same order, and those are strings without escapes, and integers.
// Where an input holds all arguments of such a call, nothing is left to decide about: they are compared with those of the last call
// rather than read by a machine, and written at once. Whatever else stands there is left to the machine, from its first byte on.

// A notation is how the arguments of a form of calls stand in the text, besides keys and values, and how they are written.
type notation struct {
	first, next string // before the first key, and before the others
	behind      string // a key
	quote       string // at both ends of a string
	end         string // behind the last value

	jsonFirst, jsonNext, jsonBehind string // what of it is written
}

var (
	keywordNotation = notation{"", ", ", "=", `"`, ")", `{"`, `,"`, `":`}
	stringNotation  = notation{`{\"`, `,\"`, `\":`, `\"`, `}"`, `{"`, `,"`, `":`}
	spacedNotation  = notation{`{\"`, `, \"`, `\": `, `\"`, `}"`, `{"`, `, "`, `": `}
)

// usualArgs are the arguments of the last call.
type usualArgs struct {
	shape  *shape.Shape
	keys   []usualKey
	values [maxUsual]usualValue // of the call that is read
}

// A usualKey is a key, no two of which are the same, and what values of it stay as they are.
type usualKey struct {
	key     string
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
	u.shape, u.keys = s, u.keys[:0]
	for k := range keys {
		key := keys[k].key
		if !usualWord(key) {
			break
		}
		prop, _ := s.Prop(key)
		r, texts := d.set.opts.Repair, prop.Type().Only(shape.String)
		u.keys = append(u.keys, usualKey{key, fits(prop, shape.String, r), !texts && fits(prop, shape.Integer|shape.Number, r)})
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
	if u.shape != s || !strings.HasPrefix(in[i:], form.first) {
		return 0, 0
	}
	i += len(form.first)
	for n < len(u.keys) {
		key := &u.keys[n]
		if !strings.HasPrefix(in[i:], key.key) {
			return 0, 0
		}
		if i += len(key.key); !strings.HasPrefix(in[i:], form.behind) {
			return 0, 0
		}
		if i = u.readValue(form, key, &u.values[n], in, i+len(form.behind)); i == 0 {
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

// readValue reads the value at i and returns where it ends, or 0 if it is not one that is written as it stands.
func (u *usualArgs) readValue(form *notation, key *usualKey, v *usualValue, in string, i int) int {
	v.text = strings.HasPrefix(in[i:], form.quote)
	if v.text {
		v.from = i + len(form.quote)
		v.to = indexEscaped(in, v.from)
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
	size := len(form.jsonFirst) + (n-1)*len(form.jsonNext) + n*(len(form.jsonBehind)+len(`""`)) + len("}")
	for k := range n {
		size += len(u.keys[k].key) + u.values[k].to - u.values[k].from
	}
	b := &d.call.args
	b.Grow(size)
	before := form.jsonFirst
	for k := range n {
		v := &u.values[k]
		b.WriteString(before)
		b.WriteString(u.keys[k].key)
		b.WriteString(form.jsonBehind)
		if v.text {
			b.WriteByte('"')
		}
		b.WriteString(in[v.from:v.to])
		if v.text {
			b.WriteByte('"')
		}
		before = form.jsonNext
	}
	b.WriteByte('}')
	d.builtArgs(b.Len(), end)
}

package value

import (
	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// The usual is JSON as nearly all models write it nearly all the time: whole keys without escapes that are
// new, strings in double quotes, integers and truth values that fit their shapes. All of it belongs to the
// arguments as it stands. It is read here, in few steps; at the first byte of anything else the rest of the
// machine takes over, which would have read all that came before in the same way.

// plainly reports whether what follows may be the usual: nothing is kept back, and what is written stands in the text.
func (v *Reader) plainly() bool {
	return v.stays && !v.hold.on && len(v.pend) == 0 && !v.pauses && !v.python &&
		(v.state <= vAfter && len(v.stack) > 0 || v.inJSON())
}

// inJSON reports whether v is in a string as JSON has it.
func (v *Reader) inJSON() bool {
	return v.state == vString && v.quote == '"' && v.triple == 0 && !v.escaped && !v.raw
}

// usual reads what is usual from i on, and returns where that ends. It leaves off short where the next key
// has only begun.
func (v *Reader) usual(in string, i int) (int, Progress) {
	for i < len(in) {
		c, n := in[i], 0
		switch v.state {
		case vString:
			if i = chars.IndexEscaped(in, i); i == len(in) {
				return i, Going
			}
			if c = in[i]; c == '"' {
				n = 1
				v.usualEnd(i + 1)
			} else if c == '\\' {
				n = plainEscape(in[i:])
			}
		case vAfter:
			switch {
			case c == ',':
				n = v.usualComma(in, i)
			case c == v.stack[len(v.stack)-1].close && c != ')':
				n = 1
				v.usualClose(i)
				if v.state == vDone {
					return i + 1, Going
				}
			case chars.IsBlank(c):
				n = 1
			}
		case vKeyOrEnd:
			switch {
			case c == '"':
				n = v.newKey(in, i)
			case chars.IsBlank(c):
				n = 1
			}
		case vColon:
			switch {
			case c == ':':
				n = 1
				v.usualColon()
			case chars.IsBlank(c):
				n = 1
			}
		case vValue, vFirstOrEnd:
			switch {
			case chars.IsBlank(c):
				n = 1
			case c == '"' && v.fits(shape.String):
				n = 1
				v.usualQuote(i)
			case scalarStart(c):
				v.lag = i - v.from
				n = v.usualScalar(in, i)
			}
		}
		switch {
		case n == keyCut && v.patient && v.out.Patient(i):
			return i, Short
		case n <= 0:
			return i, Going
		}
		i += n
	}
	return i, Going
}

// usualComma reads the comma at i, if the start of another value or a whole key is known to stand behind it.
// It returns how many bytes that are, 0 if not, or keyCut.
func (v *Reader) usualComma(in string, i int) int {
	j := i + 1
	for j < len(in) && chars.IsBlank(in[j]) {
		j++
	}
	f := &v.stack[len(v.stack)-1]
	switch {
	case j == len(in): // the very next byte may decide: it is not waited for more
	case f.object && in[j] == '"':
		n := v.newKey(in, j)
		if n > 0 {
			n += j - i
		}
		return n
	case !f.object && in[j] != f.close && in[j] != '/' && in[j] != '#':
		v.state = vFirstOrEnd
		return j - i
	}
	return 0
}

// newKey reads the quoted key at i and returns its length, keyCut if it is not all there, or 0 if it has
// escapes or stands in the object already.
func (v *Reader) newKey(in string, i int) int {
	n := PlainKey(in[i:])
	if n <= 0 {
		return n
	}
	if FindKey(&v.stack[len(v.stack)-1].keys, v.keys, in[i+1:i+n-1]) >= 0 {
		return 0
	}
	v.nameKey(in[i+1:i+n-1], i+n)
	return n
}

// usualColon reads the colon behind a key.
func (v *Reader) usualColon() {
	f := &v.stack[len(v.stack)-1]
	v.shape, _ = f.shape.Prop(v.keys[f.key].key)
	v.keys[f.key].from = -1
	v.state = vValue
}

// usualQuote reads the quote at i that a string begins with.
func (v *Reader) usualQuote(i int) {
	v.lag = i - v.from
	v.markValue(i)
	v.quote, v.triple, v.quotes, v.state = '"', 0, 0, vString
}

// usualEnd is endValue for a string of which nothing is kept back. It ends before i.
func (v *Reader) usualEnd(i int) {
	v.lag = i - v.from
	if len(v.stack) == 0 {
		v.endValue(i)
		return
	}
	v.state = vAfter
	if f := &v.stack[len(v.stack)-1]; f.object {
		v.keys[f.key].to = v.out.Len() + v.lag
	} else {
		v.shape = f.shape.Item()
	}
}

// usualClose reads the bracket at i that ends the innermost array or object.
func (v *Reader) usualClose(i int) {
	n := len(v.stack) - 1
	if n == 0 {
		v.stack, v.state = v.stack[:0], vDone
		return
	}
	v.keys, v.stack = v.keys[:v.stack[n].keys.From], v.stack[:n]
	v.lag = i + 1 - v.from
	v.endValue(i + 1)
}

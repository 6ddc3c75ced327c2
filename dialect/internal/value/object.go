package value

import (
	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// Some machines read the brackets and keys of an object themselves, since its syntax is theirs, and write it with
// these methods.

// Object makes v ready to read the values of an object of the shape s, whose keys and end the caller writes:
// run pauses behind each value.
func (v *Reader) Object(out Writer, s *shape.Shape, repair Level, python bool) *Reader {
	v.Reset(out, s, repair, python)
	v.pauses = true
	return v
}

// At says that offset i of the inputs to come is at base+i*step of the text.
func (v *Reader) At(base, step int) { v.base, v.step = base, step }

// Offset returns where the input begins in the text.
func (v *Reader) Offset() int { return v.base }

// ReadAll lets run read the outermost object with its brackets and keys after all.
func (v *Reader) ReadAll() { v.pauses = false }

// OpenObject opens the outermost value, an object whose brace the caller has read.
func (v *Reader) OpenObject() {
	v.write("{", 0)
	v.stack = append(v.stack, container{close: '}', object: true, shape: v.shape})
	v.state = vKeyOrEnd
}

// CloseObject closes the outermost value, an object in which the caller may write no value more.
func (v *Reader) CloseObject() {
	v.pauses = false
	if v.state == vValue && len(v.stack) == 0 {
		v.OpenObject()
	}
	if v.state != vAfter || v.hold.on || len(v.stack) != 1 {
		v.Run("}", 0)
		return
	}
	v.write("}", 0)
	v.stack, v.state = v.stack[:0], vDone
}

// OpensText begins a string whose opening quote the caller has read, if it may go out as it comes, and
// reports whether it does.
func (v *Reader) OpensText() bool {
	if v.state != vValue || v.hold.on || !v.fits(shape.String) {
		return false
	}
	v.OpenText()
	return true
}

// EndText ends such a string.
func (v *Reader) EndText() {
	v.write(`"`, 0)
	v.endValue(0)
}

// WriteScalar writes a whole scalar if it is one that needs no conversion, and reports whether it is.
func (v *Reader) WriteScalar(text string) bool {
	types := shape.Boolean
	if text != "" && chars.IsDigit(text[0]) {
		types = shape.Integer | shape.Number
	}
	if v.state != vValue || v.hold.on || text == "null" || !PlainScalar(text) || !v.fits(types) {
		return false
	}
	v.markValue(0)
	v.write(text, 0)
	v.endValue(0)
	return true
}

// Key writes a key of the innermost object before the offset end of the text, with the comma before it.
func (v *Reader) Key(key string, end int) bool {
	v.base, v.step = end, 0
	if v.state == vValue && len(v.stack) == 0 {
		v.OpenObject()
	}
	if len(v.stack) == 1 && v.takesKey(key) {
		v.addKey(key)
		return true
	}
	pauses := v.pauses
	v.pauses = false
	if v.state == vAfter || v.state == vScalar {
		v.Run(",", 0)
	}
	v.Run(string(shape.AppendQuoted(nil, key))+":", 0)
	v.pauses = pauses
	return v.Err == ""
}

// takesKey reports whether addKey may write key.
func (v *Reader) takesKey(key string) bool {
	if v.Discard || v.hold.on || v.state != vAfter && (v.state != vKeyOrEnd || len(v.pend) > 0) {
		return false
	}
	return !v.Has(key)
}

// addKey writes a key of the outermost object, which does not have it yet, and what stands before and behind it.
func (v *Reader) addKey(key string) {
	before := `"`
	if v.state == vAfter {
		before = `,"`
	}
	v.nameKey(key, 0)
	v.out.WriteKey(before, key, v.base)
	f := &v.stack[len(v.stack)-1]
	v.keys[f.key].from = -1
	v.shape, _ = f.shape.Prop(key)
	v.state = vValue
}

// Has reports whether the outermost object has a key.
func (v *Reader) Has(key string) bool {
	if len(v.stack) == 1 {
		return FindKey(&v.stack[0].keys, v.keys, key) >= 0
	}
	for i := range v.keys {
		if v.keys[i].key == key {
			return true
		}
	}
	return false
}

// BehindColon reports whether a key of the outermost object was read, and nothing of its value.
func (v *Reader) BehindColon() bool { return v.state == vValue && len(v.stack) == 1 }

// Empty reports whether the outermost object has no key.
func (v *Reader) Empty() bool { return len(v.keys) == 0 }

// OpenText begins a string of which the caller writes the text.
func (v *Reader) OpenText() {
	v.markValue(0)
	v.write(`"`, 0)
	v.quote, v.triple, v.quotes, v.state = '"', 0, 0, vString
}

// WriteText adds s, which ends where v stands in the text, to a string that the caller writes.
func (v *Reader) WriteText(s string) {
	switch {
	case v.hold.on:
		v.hold.text = AppendEscaped(v.hold.text, s)
	case !v.Discard && s != "":
		v.out.WriteText(s, v.base)
	}
}

// StringOpen reports whether a string is open, and no escape in it is.
func (v *Reader) StringOpen() bool { return v.state == vString }

// InText reports whether the text of a string may be written as it comes.
func (v *Reader) InText() bool { return v.state == vString && !v.hold.on && !v.Discard }

// Held reports whether what is written is kept until the value is complete.
func (v *Reader) Held() bool { return v.hold.on }

// Whole writes a whole value of JSON that fits its shape.
func (v *Reader) Whole(json string) {
	s, python := v.shape, v.python
	v.shape, v.python = nil, false
	v.Run(json, 0)
	if v.state == vScalar {
		v.endScalar(len(json) * v.step)
	}
	v.shape, v.python = s, python
}

// Members writes the inside of an object of JSON into the outermost one.
func (v *Reader) Members(json string) {
	pauses := v.pauses
	v.pauses = false
	v.Run(json, 0)
	if v.state == vScalar {
		v.endScalar(0)
	}
	v.pauses = pauses
}

// Wipe leaves nothing in v but room.
func (v *Reader) Wipe() {
	*v = Reader{stack: Wiped(v.stack), keys: Wiped(v.keys), tok: Wiped(v.tok), pend: Wiped(v.pend)}
}

// Wiped returns a buffer with nothing in it, to its capacity, or none if it is a large one.
func Wiped[T any](b []T) []T {
	if cap(b) > maxKey {
		return nil
	}
	clear(b[:cap(b)])
	return b[:0]
}

package dialect

import (
	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// Some machines read the brackets and keys of an object themselves, since its syntax is theirs, and write it with
// these methods.

// object makes v ready to read the values of an object of the shape s, whose keys and end the caller writes:
// run pauses behind each value.
func (v *value) object(out writer, s *shape.Shape, repair repairLevel, python bool) *value {
	v.reset(out, s, repair, python)
	v.pauses = true
	return v
}

// at says that offset i of the inputs to come is at base+i*step of the text.
func (v *value) at(base, step int) { v.base, v.step = base, step }

// offset returns where the input begins in the text.
func (v *value) offset() int { return v.base }

// readAll lets run read the outermost object with its brackets and keys after all.
func (v *value) readAll() { v.pauses = false }

// openObject opens the outermost value, an object whose brace the caller has read.
func (v *value) openObject() {
	v.write("{", 0)
	v.stack = append(v.stack, frame{close: '}', object: true, shape: v.shape})
	v.state = vKeyOrEnd
}

// closeObject closes the outermost value, an object in which the caller may write no value more.
func (v *value) closeObject() {
	v.pauses = false
	if v.state == vValue && len(v.stack) == 0 {
		v.openObject()
	}
	if v.state != vAfter || v.hold.on || len(v.stack) != 1 {
		v.run("}", 0)
		return
	}
	v.write("}", 0)
	v.stack, v.state = v.stack[:0], vDone
}

// opensText begins a string whose opening quote the caller has read, if it may go out as it comes, and
// reports whether it does.
func (v *value) opensText() bool {
	if v.state != vValue || v.hold.on || !v.fits(shape.String) {
		return false
	}
	v.openText()
	return true
}

// endText ends such a string.
func (v *value) endText() {
	v.write(`"`, 0)
	v.endValue(0)
}

// writeScalar writes a whole scalar if it is one that needs no conversion, and reports whether it is.
func (v *value) writeScalar(text string) bool {
	types := shape.Boolean
	if text != "" && chars.IsDigit(text[0]) {
		types = shape.Integer | shape.Number
	}
	if v.state != vValue || v.hold.on || text == "null" || !plainScalar(text) || !v.fits(types) {
		return false
	}
	v.markValue(0)
	v.write(text, 0)
	v.endValue(0)
	return true
}

// Key writes a key of the innermost object before the offset end of the text, with the comma before it.
func (v *value) Key(key string, end int) bool {
	v.base, v.step = end, 0
	if v.state == vValue && len(v.stack) == 0 {
		v.openObject()
	}
	if len(v.stack) == 1 && v.takesKey(key) {
		v.addKey(key)
		return true
	}
	pauses := v.pauses
	v.pauses = false
	if v.state == vAfter || v.state == vScalar {
		v.run(",", 0)
	}
	v.run(string(appendQuoted(nil, key))+":", 0)
	v.pauses = pauses
	return v.err == ""
}

// takesKey reports whether addKey may write key.
func (v *value) takesKey(key string) bool {
	if v.discard || v.hold.on || v.state != vAfter && (v.state != vKeyOrEnd || len(v.pend) > 0) {
		return false
	}
	return !v.has(key)
}

// addKey writes a key of the outermost object, which does not have it yet, and what stands before and behind it.
func (v *value) addKey(key string) {
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

// has reports whether the outermost object has a key.
func (v *value) has(key string) bool {
	if len(v.stack) == 1 {
		return findKey(&v.stack[0].keys, v.keys, key) >= 0
	}
	for i := range v.keys {
		if v.keys[i].key == key {
			return true
		}
	}
	return false
}

// behindColon reports whether a key of the outermost object was read, and nothing of its value.
func (v *value) behindColon() bool { return v.state == vValue && len(v.stack) == 1 }

// empty reports whether the outermost object has no key.
func (v *value) empty() bool { return len(v.keys) == 0 }

// openText begins a string of which the caller writes the text.
func (v *value) openText() {
	v.markValue(0)
	v.write(`"`, 0)
	v.quote, v.triple, v.quotes, v.state = '"', 0, 0, vString
}

// writeText adds s, which ends where v stands in the text, to a string that the caller writes.
func (v *value) writeText(s string) {
	switch {
	case v.hold.on:
		v.hold.text = appendEscaped(v.hold.text, s)
	case !v.discard && s != "":
		v.out.WriteText(s, v.base)
	}
}

// stringOpen reports whether a string is open, and no escape in it is.
func (v *value) stringOpen() bool { return v.state == vString }

// inText reports whether the text of a string may be written as it comes.
func (v *value) inText() bool { return v.state == vString && !v.hold.on && !v.discard }

// held reports whether what is written is kept until the value is complete.
func (v *value) held() bool { return v.hold.on }

// whole writes a whole value of JSON that fits its shape.
func (v *value) whole(json string) {
	s, python := v.shape, v.python
	v.shape, v.python = nil, false
	v.run(json, 0)
	if v.state == vScalar {
		v.endScalar(len(json) * v.step)
	}
	v.shape, v.python = s, python
}

// members writes the inside of an object of JSON into the outermost one.
func (v *value) members(json string) {
	pauses := v.pauses
	v.pauses = false
	v.run(json, 0)
	if v.state == vScalar {
		v.endScalar(0)
	}
	v.pauses = pauses
}

// wipe leaves nothing in v but room.
func (v *value) wipe() {
	*v = value{stack: wiped(v.stack), keys: wiped(v.keys), tok: wiped(v.tok), pend: wiped(v.pend)}
}

// wiped returns a buffer with nothing in it, to its capacity, or none if it is a large one.
func wiped[T any](b []T) []T {
	if cap(b) > maxKey {
		return nil
	}
	clear(b[:cap(b)])
	return b[:0]
}


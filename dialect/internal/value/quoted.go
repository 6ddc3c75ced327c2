package value

import (
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/schema/shape"
)

// plainString returns the offset of the first byte of in from i on that does not simply belong to the string.
func (v *Reader) plainString(in string, i int) int {
	j := 0
	if v.quote == '\'' && !v.escaped {
		j = chars.Quoted.Index(in, i)
	} else {
		j = chars.IndexEscaped(in, i)
	}
	if v.quotes > 0 && j > i {
		v.restoreQuotes(i)
	}
	return j
}

// Plain is the method of body for a machine that leaves reading to v.
func (v *Reader) Plain() *chars.Set {
	if v.state != vString || v.hold.on || v.Discard || v.raw || v.escaped || v.triple != 0 || v.step != 1 {
		return nil
	}
	if v.quote == '"' {
		return &chars.Escaped
	}
	return &chars.Quoted
}

// inString reads in a string.
func (v *Reader) inString(in string, i int) int {
	if i = v.plainString(in, i); i == len(in) {
		return i
	}
	c := in[i]
	if v.quotes > 0 && c != v.quote {
		v.restoreQuotes(i)
	}
	switch {
	case c == '\\' && !v.raw:
		if n := plainEscape(in[i:]); n > 0 && !v.escaped && !(v.quote == '\'' && in[i+1] == '\'') {
			return i + n
		}
		v.flush(in, i)
		v.state, v.from = vEscape, i+1
		return i + 1
	case c == v.quote && !v.escaped:
		return v.closeString(in, i)
	case c == '"':
		return v.put(`\"`, in, i)
	case c == '\\': // of a raw string
		return v.put(`\\`, in, i)
	case v.repair == Off:
		v.flush(in, i)
		v.fail("a control character in a string")
		return i
	}
	i = v.put(ControlEscape(c), in, i)
	if v.triple == 0 {
		v.note(note.RawNewline, string(c), ControlEscape(c), i-1, i)
	}
	return i
}

// closeString reads the quote that may close a string.
func (v *Reader) closeString(in string, i int) int {
	double := v.quote == '"' && v.triple == 0 && !(v.Inner && v.repair == Full && len(v.stack) == 1)
	if double && !v.hold.on && v.stays { // it is written together with what follows
		i++
		v.lag = i - v.from
		v.endValue(i)
		return i
	}
	if double {
		i++
		v.flush(in, i)
		v.from = i
		v.endValue(i)
		return i
	}
	v.flush(in, i)
	i++
	v.from = i
	if v.triple == 3 {
		if v.quotes++; v.quotes == 3 {
			v.write(`"`, i)
			v.endValue(i)
		}
		return i
	}
	if v.state = vShut; v.repair != Full {
		v.shut(i)
	}
	return i
}

// behindQuote looks at the byte behind what may be the closing quote of a string. A double quote inside it comes with
// another one.
func (v *Reader) behindQuote(c byte, i int) {
	inner := chars.IsWord(c) || c == v.quote // nothing that follows a string begins like this
	if !inner && !(v.nested && c != ',' && c != ')') {
		v.shut(i)
		return
	}
	v.state = vString
	if v.quote == '\'' {
		v.write("'", i)
	} else {
		v.nested = inner && !v.nested
		v.write(`\"`, i)
	}
	v.note(note.Escape, string(v.quote), `\`+string(v.quote), i-1, i)
}

// WholeText reads the string of Python at i, if it is an argument of a call that needs no repair, and in has
// what shows where it ends. It returns its length, else 0.
func (v *Reader) WholeText(in string, i int) int {
	q := in[i]
	if q != '"' && q != '\'' || !v.pauses || v.state != vValue || len(v.stack) != 1 || v.Quoted || v.Discard ||
		v.hold.on {
		return 0
	}
	to := 0
	if q == '"' {
		to = chars.IndexEscaped(in, i+1)
	} else {
		to = chars.Quoted.Index(in, i+1)
	}
	n := to + 1 - i
	if n == 2 || to+1 >= len(in) || in[to] != q || chars.IsWord(in[to+1]) || in[to+1] == q || !v.fits(shape.String) {
		return 0
	}
	v.markValue(i)
	if q == '"' {
		v.write(in[i:to+1], to+1)
	} else {
		v.write(`"`, to+1)
		v.write(in[i+1:to], to+1)
		v.write(`"`, to+1)
	}
	v.endValue(to + 1)
	return n
}

// secondQuote reads behind the first or the second quote of a Python string.
func (v *Reader) secondQuote(c byte, i int) int {
	more := c == v.quote
	if more {
		i++
	}
	v.from = i
	switch {
	case more && v.state == vQuote1:
		v.state = vQuote2
		return i
	case v.state == vQuote1:
		v.state = vString
		v.write(`"`, i)
		return i
	}
	v.write(`"`, i)
	if more {
		v.triple, v.quotes, v.state = 3, 0, vString
		return i
	}
	v.write(`"`, i)
	v.endValue(i)
	return i
}

// restoreQuotes writes quotes that turned out not to end a triple-quoted string.
func (v *Reader) restoreQuotes(i int) {
	q := string(v.quote)
	if v.quote == '"' {
		q = `\"`
	}
	v.write(strings.Repeat(q, v.quotes), i)
	v.quotes = 0
}

// PlainJSON reports whether chunk, in the middle of a JSON string, has only whole escapes besides bytes that pass.
func PlainJSON(chunk string) bool {
	for i := chars.Escaped.Index(chunk, 0); i < len(chunk); i = chars.Escaped.Index(chunk, i) {
		n := 0
		if chunk[i] == '\\' {
			n = plainEscape(chunk[i:])
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// plainEscape returns the length of the escape that s begins with if JSON has it and s holds it whole.
func plainEscape(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(s) >= 6 && isHex(s[2]) && isHex(s[3]) && isHex(s[4]) && isHex(s[5]) {
			return 6
		}
	}
	return 0
}

func isHex(c byte) bool { return chars.IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// shut ends a string whose closing quote, which is not that of JSON, stands before i.
func (v *Reader) shut(i int) {
	v.write(`"`, i)
	v.endValue(i)
}

// readEscape reads the byte behind a back-slash.
func (v *Reader) readEscape(c byte, i int) int {
	v.state = vString
	if v.quotes > 0 {
		v.restoreQuotes(i)
	}
	if v.escaped && c == v.quote {
		v.write(`"`, i+1)
		v.endValue(i + 1)
		return i + 1
	}
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		v.writeSame(escapeText[c], v.pos(i+1))
		return i + 1
	case 'u':
		v.hex, v.tok, v.state = 4, append(v.tok[:0], '\\', 'u'), vHex
		return i + 1
	}
	if v.repair == Off && (!v.python || c == '_') {
		v.fail("an escape that JSON does not have")
		return i
	}
	switch {
	case c == 'x':
		v.hex, v.tok, v.state = 2, append(v.tok[:0], '\\', 'x'), vHex
		return i + 1
	case c == '\'':
		v.write("'", i+1)
		if v.quote != '\'' {
			v.note(note.Escape, `\'`, "'", i-1, i+1)
		}
		return i + 1
	case c == '_':
		v.write("_", i+1)
		v.note(note.Escape, `\_`, "_", i-1, i+1)
		return i + 1
	case c == '\n' && (v.python || v.repair != Off):
		v.note(note.Escape, "\\\n", "", i-1, i+1)
		return i + 1
	case v.python && (c == 'a' || c == 'v' || c == '0'):
		v.write(map[byte]string{'a': `\u0007`, 'v': `\u000b`, '0': `\u0000`}[c], i+1)
		return i + 1
	}
	v.write(`\\`, i)
	v.note(note.Escape, `\`, `\\`, i-1, i)
	return i
}

var escapeText = [256]string{'"': `\"`, '\\': `\\`, '/': `\/`, 'b': `\b`, 'f': `\f`, 'n': `\n`, 'r': `\r`, 't': `\t`}

// readHex reads the digits of an escape.
func (v *Reader) readHex(c byte, i int) int {
	if isHex(c) {
		v.tok = append(v.tok, c)
		if v.hex--; v.hex > 0 {
			return i + 1
		}
		text := string(v.tok)
		if text[1] == 'x' {
			was := text
			text = `\u00` + text[2:]
			v.note(note.Escape, was, text, i-3, i+1)
			v.write(text, i+1)
		} else {
			v.writeSame(text, v.pos(i+1))
		}
		v.state = vString
		return i + 1
	}
	if v.repair == Off {
		v.fail("an unfinished escape")
		return i
	}
	v.state = vString
	v.note(note.Escape, string(v.tok), `\`+string(v.tok), i-len(v.tok), i)
	v.write(`\`+string(v.tok), i)
	return i
}

func ControlEscape(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	}
	const hex = "0123456789abcdef"
	return `\u00` + string([]byte{hex[c>>4], hex[c&15]})
}

package value

import (
	"math/big"
	"strings"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/schema/shape"
)

// scalarByte reports whether c continues the number, word or source text.
func (v *Reader) scalarByte(c byte) bool {
	if !v.source {
		return chars.IsWord(c) || c == '+' || c == '-' || c == '.'
	}
	if v.in != 0 {
		if c == v.in {
			v.in = 0
		}
		return true
	}
	switch c {
	case '"', '\'':
		v.in = c
		if n := len(v.tok); n > 3 && c == '\'' && (chars.IsWord(v.tok[n-1]) || v.tok[n-1] == '\\') {
			v.in = 0 // an apostrophe
		}
	case '(', '[', '{':
		v.depth++
	case ')', ']', '}':
		if v.depth == 0 {
			return false
		}
		v.depth--
	case ',':
		if v.depth == 0 && v.runsOn() {
			v.comma = len(v.tok)
			return true
		}
		return v.depth > 0
	case '=':
		return v.comma == 0 || v.depth > 0 || !v.beginsNext()
	}
	return true
}

// runsOn reports whether a source text may hold commas: in a call in quotes strings often stand without
// quotes of their own.
func (v *Reader) runsOn() bool { return v.pauses && v.Quoted && len(v.stack) == 1 && v.textual() }

// beginsNext reports whether a keyword that the tool declares stands behind the last comma. It ends the
// source text there.
func (v *Reader) beginsNext() bool {
	if len(v.tok)-v.comma > maxKey {
		return false
	}
	word := strings.ReplaceAll(strings.TrimSpace(string(v.tok[v.comma+1:])), `\_`, "_")
	if _, ok := v.stack[0].shape.Prop(word); !ok {
		return false
	}
	v.Next = word
	return true
}

// inScalar reads a byte of a number or a word, or ends it before i.
func (v *Reader) inScalar(c byte, i int) int {
	if !v.scalarByte(c) {
		v.endScalar(i)
		v.from = i
		return i
	}
	v.tok = append(v.tok, c)
	i++
	v.from = i
	if v.prefixed(c) {
		v.beginString(c, i-1)
	}
	return i
}

// endScalar ends a number, a word or a source text before i.
func (v *Reader) endScalar(i int) {
	from := i - len(v.tok)
	if v.Next != "" {
		v.tok = v.tok[:v.comma]
	}
	to := from + len(v.tok)
	text := strings.TrimSpace(string(v.tok))
	if v.source {
		text = strings.ReplaceAll(text, `\_`, "_") // Markdown
	}
	if v.source && v.Quoted {
		text = strings.ReplaceAll(text, `\'`, "'")
	}
	out, kind, ok := v.scalar(text)
	if !ok {
		v.fail("no value: " + clip(text))
		return
	}
	if v.python && v.shape.Type().Only(shape.String) && out[0] != '"' && text != "None" {
		out, kind = string(shape.AppendQuoted(nil, text)), note.SourceText
	}
	if kind != "" {
		v.NoteAt(kind, text, out, v.pos(from), v.pos(to))
	}
	if v.repair != Off && v.shape.Type() != 0 {
		fit, c, _ := shape.FitScalar(out, v.shape, v.repair == Full)
		if c == shape.Uncoerced && v.textual() && out != "null" {
			fit, c = string(shape.AppendQuoted(nil, text)), shape.Coercion(note.SourceText)
		}
		if c != shape.Fits && c != shape.Uncoerced {
			v.NoteAt(chat.NoteKind(c), out, fit, v.pos(from), v.pos(to))
		}
		out = fit
	}
	if out == string(v.tok) {
		v.writeSame(out, v.pos(i))
	} else {
		v.write(out, i)
	}
	v.endValue(i)
}

// usualScalar reads the integer or truth value at i if the input holds all of it and it fits its shape as it
// stands, and returns its length, else 0.
func (v *Reader) usualScalar(in string, i int) int {
	j, types := i, shape.Integer|shape.Number
	switch rest := in[i:]; {
	case strings.HasPrefix(rest, "true"):
		j, types = i+len("true"), shape.Boolean
	case strings.HasPrefix(rest, "false"):
		j, types = i+len("false"), shape.Boolean
	default:
		for j < len(in) && chars.IsDigit(in[j]) {
			j++
		}
		if n := j - i; n == 0 || n > maxDigits || n > 1 && in[i] == '0' {
			return 0
		}
	}
	if j == len(in) || scalarStart(in[j]) {
		return 0
	}
	if t := v.shape.Type(); v.repair != Off && (t != 0 && !t.Any(types) || v.shape != nil && len(v.shape.Enum) > 0) {
		return 0
	}
	v.markValue(i)
	v.lag += j - i
	v.endValue(j)
	return j - i
}

// PlainScalar reports whether text is a truth value or an integer that every reader of JSON takes for the same.
func PlainScalar(text string) bool {
	switch text {
	case "true", "false", "null":
		return true
	case "":
		return false
	}
	return len(text) <= maxDigits && chars.Digits(text) && (text[0] != '0' || len(text) == 1)
}

// maxDigits limits integers to those that all readers of JSON read alike.
const maxDigits = 15

// scalar returns the JSON of a number, a word or a source text, and the repair that made it so.
func (v *Reader) scalar(text string) (json string, kind chat.NoteKind, ok bool) {
	switch text {
	case "true", "false", "null":
		return text, "", true
	case "":
		return "", "", false
	}
	if isNumber(text) {
		return text, "", true
	}
	if v.repair == Off && !v.python {
		return "", "", false
	}
	literal := note.Literal
	if v.python {
		literal = ""
	}
	switch text {
	case "True":
		return "true", literal, true
	case "False":
		return "false", literal, true
	case "None":
		return "null", literal, true
	case "undefined":
		return "null", note.Literal, true
	case "TRUE", "FALSE", "NULL":
		if !v.python && !v.source {
			return strings.ToLower(text), note.Literal, true
		}
	case "NaN", "Infinity", "-Infinity", "nan", "inf", "-inf":
		if v.repair != Full && !v.python && !v.source {
			return "", "", false // a text in place of a number is a guess
		}
		return `"` + text + `"`, note.Literal, true
	}
	if n, ok := pythonNumber(text); ok && (v.repair == Full || v.python || v.source) {
		return n, note.Literal, true // elsewhere 010 may be eight or ten
	}
	if v.source {
		if t := v.shape.Type(); v.repair == Full && t.Any(shape.Number|shape.Integer) && !t.Has(shape.String) {
			if n, ok := arithmetic(text); ok {
				return n, note.Coerced, true
			}
		}
		return string(shape.AppendQuoted(nil, text)), note.SourceText, true
	}
	if v.textual() && chars.IsWord(text[0]) {
		return string(shape.AppendQuoted(nil, text)), note.SourceText, true
	}
	return "", "", false
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && chars.IsDigit(s[i]) {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return false
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// pythonNumber turns the spellings of numbers that JSON does not have into JSON: .5, 5., +1, 1_000, 0x1f.
func pythonNumber(s string) (string, bool) {
	n := strings.TrimPrefix(s, "+")
	if !strings.HasPrefix(n, "_") && !strings.HasSuffix(n, "_") && !strings.Contains(n, "__") {
		n = strings.ReplaceAll(n, "_", "")
	}
	sign := ""
	if strings.HasPrefix(n, "-") {
		sign, n = "-", n[1:]
	}
	if len(n) > 2 && len(n) <= maxKey && n[0] == '0' && chars.IsLetter(n[1]) && n[1]|0x20 != 'e' {
		if i, ok := new(big.Int).SetString(n, 0); ok {
			return sign + i.String(), true
		}
	}
	if strings.HasPrefix(n, ".") {
		n = "0" + n
	}
	if strings.HasSuffix(n, ".") {
		n += "0"
	}
	n = sign + strings.Replace(n, ".e", ".0e", 1)
	return n, isNumber(n)
}

func clip(s string) string {
	if len(s) <= 40 {
		return s
	}
	n := 40
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// AppendEscaped appends s as the inside of a JSON string. A part of a text may end within a character.
func AppendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		if c < 0x20 {
			b = append(b, ControlEscape(c)...)
		} else {
			b = append(b, '\\', c)
		}
		from = i + 1
	}
	return append(b, s[from:]...)
}

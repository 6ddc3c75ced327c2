package shape

import (
	"slices"
	"strings"
)

// A Coercion says how a value was made to fit its shape. The texts are those of the notes that record it; "" means that
// there is nothing to record.
type Coercion string

// The coercions.
const (
	Fits         Coercion = ""              // the value fits as it stands
	coerced      Coercion = "coerced"       // a scalar took the type of its schema without loss
	pythonObject Coercion = "python_object" // a Python literal became JSON
	Uncoerced    Coercion = "uncoerced"     // nothing fits; the value was left as it is
	enumCase     Coercion = "enum_case"     // an enum value was written in another case
	arrayWrap    Coercion = "array_wrap"    // a scalar became an array of one
	arrayUnwrap  Coercion = "array_unwrap"  // an array of one became its element
)

// Untyped says how the text of a value without a known type is read.
type Untyped uint8

// The ways. A text that cannot be read in any of them is a string.
const (
	UntypedString Untyped = iota // always a string
	UntypedJSON                  // as JSON, else a string
	UntypedPython                // as JSON, else as a Python literal, else a string
)

// CoerceOptions say how Coerce reads.
type CoerceOptions struct {
	Untyped Untyped // how a value of unknown type is read
	Python  bool    // None is null where null is allowed
}

// Coerce reads text, the text of one value in a format that has no types of its own, as the value that s asks for, and
// returns its JSON text. What cannot be converted becomes a string, and Uncoerced says so if s allows none.
//
//   - A string is the text verbatim, white space and all. Where other types are allowed as well, they are tried first.
//   - Numbers keep their text, except that a whole number written with a fraction or an exponent becomes an integer:
//     5.0 is 5 and 1e3 is 1000. Texts beyond the range of a float64, inf and nan do not convert, in arrays and objects
//     neither.
//   - Booleans are true, false (in any case), 1 and 0.
//   - Null is null in any case, and None with o.Python.
//   - Arrays and objects are JSON, else Python literals.
func Coerce(text string, s *Shape, o CoerceOptions) (json string, c Coercion) {
	t := s.Type()
	switch t {
	case 0:
		return coerceUntyped(text, o)
	case String:
		return Quote(text), Fits
	}
	v, c, ok := coerceTyped(trim(text), t, o.Python)
	if !t.Has(String) {
		if !ok {
			return Quote(text), Uncoerced
		}
		return v, c
	}
	if ok && s.Enum == nil {
		return v, c
	}
	str := Quote(text)
	if ok && (s.lists(v) || !s.lists(str)) {
		return v, c
	}
	return str, Fits
}

func coerceUntyped(text string, o CoerceOptions) (string, Coercion) {
	if o.Untyped == UntypedString {
		return Quote(text), Fits
	}
	v := trim(text)
	if validJSON(v) {
		return v, Fits
	}
	if o.Untyped == UntypedPython && (v != "None" || o.Python) {
		if j, ok := pythonJSON(v); ok {
			return j, pythonObject
		}
	}
	return Quote(text), Fits
}

// coerceTyped reads v, which has no white space around it, as one of the types of t that are not String. The order
// matters only for 1 and 0, which are numbers before they are booleans.
func coerceTyped(v string, t Types, python bool) (json string, c Coercion, ok bool) {
	if v == "" {
		return "", Uncoerced, false
	}
	switch b := v[0]; {
	case b == '{' || b == '[' || b == '(':
		return coerceContainer(v, t)
	case b == '-' || b == '+' || b == '.' || isDigit(b):
		if t.Any(Integer | Number) {
			if json, c, ok = coerceNumber(v, t.Has(Number)); ok {
				return json, c, true
			}
		}
		if t.Has(Boolean) && (v == "1" || v == "0") {
			return boolText(v == "1"), coerced, true
		}
	case t.Has(Null) && (strings.EqualFold(v, "null") || python && v == "None"):
		return "null", Fits, true
	case t.Has(Boolean) && strings.EqualFold(v, "true"):
		return "true", Fits, true
	case t.Has(Boolean) && strings.EqualFold(v, "false"):
		return "false", Fits, true
	}
	return "", Uncoerced, false
}

// coerceNumber converts number text. With fractions, a number that is not whole is allowed too.
func coerceNumber(v string, fractions bool) (json string, c Coercion, ok bool) {
	plain := strings.TrimPrefix(v, "+")
	n, ok := parseNumber(plain)
	if !ok || plain != v && plain[0] == '-' {
		return "", Uncoerced, false
	}
	c = Fits
	if !n.strict || plain != v {
		c = coerced
	}
	switch {
	case n.integer:
		return plain, c, true
	case !finite(plain) || !fractions && !n.whole():
		return "", Uncoerced, false
	case n.whole():
		if w, ok := n.expand(); ok {
			return w, coerced, true
		}
	}
	return n.json(), c, true
}

func coerceContainer(v string, t Types) (json string, c Coercion, ok bool) {
	if !t.Any(Array | Object) {
		return "", Uncoerced, false
	}
	if validJSON(v) {
		if kindOf(v)&t != 0 {
			return v, Fits, true
		}
		return "", Uncoerced, false
	}
	if j, ok := pythonJSON(v); ok && kindOf(j)&t&(Array|Object) != 0 {
		return j, pythonObject, true
	}
	return "", Uncoerced, false
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// lists reports whether the JSON text v is one of the texts of the enum. Texts that differ only in how a number or an
// escape is written are taken as different.
func (s *Shape) lists(v string) bool {
	if s.index.enum != nil {
		return s.index.enum[v]
	}
	return slices.Contains(s.Enum, v)
}

// FitScalar makes json, the text of one JSON value, fit the types of s if that loses nothing: a string that holds a
// number, true, false or null becomes that, a string that holds an array or an object in JSON or Python becomes it,
// and a whole number written with a fraction becomes an integer. With full it also corrects the ASCII case of an
// enum's string where exactly one fits, puts a scalar into an array of one, and takes it out of one.
//
// It returns the text to use, what was done, and whether the result fits. A value that fits is returned unchanged with
// Fits; one that cannot be made to fit is returned unchanged with Uncoerced. Nothing is checked below the value itself.
func FitScalar(json string, s *Shape, full bool) (out string, c Coercion, ok bool) {
	t := s.Type()
	if t == 0 && s.enum() == nil {
		return json, Fits, true
	}
	v := trim(json)
	if out, c, ok = fitType(v, t); ok && (c != Fits || s.Enum == nil || s.lists(v)) {
		if c == Fits {
			out = json
		}
		return out, c, true
	}
	if full {
		if out, c, ok := fitFull(v, s); ok {
			return out, c, true
		}
	}
	if ok { // only the enum is broken, which the validator will say better
		return json, Fits, true
	}
	return json, Uncoerced, false
}

// enum returns the enum of s, nil for none.
func (s *Shape) enum() []string {
	if s == nil {
		return nil
	}
	return s.Enum
}

// fitType makes v fit one of the types t by a conversion that loses nothing.
func fitType(v string, t Types) (out string, c Coercion, ok bool) {
	kind := kindOf(v)
	if t == 0 {
		return v, Fits, true
	}
	if kind&(Integer|Number) != 0 {
		return fitNumber(v, t)
	}
	if t.Any(kind) {
		return v, Fits, true
	}
	if kind == String {
		return fitString(v, t)
	}
	return v, Uncoerced, false
}

func fitNumber(v string, t Types) (out string, c Coercion, ok bool) {
	n, ok := parseNumber(v)
	switch {
	case !ok || !t.Any(Integer|Number):
		return v, Uncoerced, false
	case t.Has(Number) || n.integer:
		return v, Fits, true
	case n.whole():
		if w, ok := n.expand(); ok {
			return w, coerced, true
		}
		return v, Fits, true // a whole number is an integer however it is written
	}
	return v, Uncoerced, false
}

// fitString converts the JSON string v, which stands where no string is allowed.
func fitString(v string, t Types) (out string, c Coercion, ok bool) {
	text, ok := unquote(v)
	if !ok {
		return v, Uncoerced, false
	}
	text = trim(text)
	if text == "1" || text == "0" { // as text these are booleans too, but a string is not that vague
		t &^= Boolean
	}
	out, c, ok = coerceTyped(text, t, false)
	if ok && c == Fits {
		c = coerced
	}
	return out, c, ok
}

// fitFull tries the conversions that change more than the type of a scalar.
func fitFull(v string, s *Shape) (out string, c Coercion, ok bool) {
	kind := kindOf(v)
	if kind == String && s.Enum != nil {
		return s.fitEnumCase(v)
	}
	t := s.Type()
	if kind == Array && t != 0 && !t.Has(Array) {
		if el, ok := onlyElement(v); ok {
			if out, _, ok := FitScalar(el, s, false); ok && kindOf(el)&(Array|Object) == 0 {
				return out, arrayUnwrap, true
			}
		}
		return v, Uncoerced, false
	}
	if kind&(Array|Object|Null) == 0 && s.onlyArray() {
		// One array is put around it: items that are arrays again may be the same shape, without end.
		if out, _, ok := FitScalar(v, s.Items, !s.Items.onlyArray()); ok && kindOf(out) != Array {
			return "[" + out + "]", arrayWrap, true
		}
	}
	return v, Uncoerced, false
}

// onlyArray reports whether s allows arrays, and beside them at most null.
func (s *Shape) onlyArray() bool { return s.Type().Only(Array|Null) && s.Type().Has(Array) }

// fitEnumCase returns the one string of the enum that differs from v in nothing but the case of ASCII letters.
func (s *Shape) fitEnumCase(v string) (out string, c Coercion, ok bool) {
	if s.index.cased != nil {
		if e := s.index.cased[lowerASCII(v)]; e != "" {
			return e, enumCase, true
		}
		return v, Uncoerced, false
	}
	for _, e := range s.Enum {
		if e == "" || e[0] != '"' || !equalFoldASCII(e, v) {
			continue
		}
		if ok {
			return v, Uncoerced, false
		}
		out, c, ok = e, enumCase, true
	}
	if !ok {
		return v, Uncoerced, false
	}
	return out, c, true
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = lower(b[i])
	}
	return string(b)
}

func equalFoldASCII(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

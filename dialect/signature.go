package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// A line of documentation may look like a call: it names the parameters of a tool, but gives no values for
// them. Only arguments without a keyword can be such names.

// signs reports whether the arguments that were held are those of a signature. On a line of its own one name
// tells; in a list, which is how calls are written, all of them have to be names. Where an opener or a fence
// announces calls, nothing is taken for less.
func (r *pyReader) signs(d *driver) bool {
	s := d.set.names.tools[r.tool].Args
	switch {
	case r.first || r.section:
		return false
	case r.list:
		return signature(d.text.held(r.argsAt, r.argsTo), s, isParam, true)
	}
	return r.alone(d) && signature(d.text.held(r.argsAt, r.argsTo), s, isSignature, false)
}

// signature reports whether is holds for all of the arguments that have no keyword, or for one of them. There
// must be one.
func signature(args string, s *shape.Shape, is func(arg string, s *shape.Shape) bool, all bool) bool {
	var p parens
	found := false
	for from := 0; from < len(args); {
		to := p.comma(args, from)
		arg := strings.TrimSpace(args[from:to])
		from = to + 1
		switch {
		case arg == "" || hasKeyword(arg):
		case is(arg, s):
			if !all {
				return true
			}
			found = true
		case all:
			return false
		}
	}
	return found
}

// comma returns the offset of the next comma between arguments, or the length of in.
func (p *parens) comma(in string, i int) int {
	for ; i < len(in); i++ {
		if in[i] == ',' && p.depth == 0 && p.quote == 0 {
			*p = parens{}
			return i
		}
		p.open = false
		p.run(in[i:i+1], 0, 1)
	}
	return i
}

// hasKeyword reports whether an equals sign stands behind the word that the argument begins with.
func hasKeyword(arg string) bool {
	rest := strings.TrimLeft(arg[wordLen(arg):], " \t\r\n")
	return len(rest) < len(arg) && strings.HasPrefix(rest, "=")
}

// wordLen returns the length of the word that s begins with.
func wordLen(s string) int {
	n := 0
	for n < len(s) && chars.IsWord(s[n]) {
		n++
	}
	return n
}

// isParam reports whether the argument is the name of a parameter.
func isParam(arg string, s *shape.Shape) bool {
	_, ok := s.Prop(arg)
	return ok
}

// isSignature reports whether the argument stands for a value: it is the name of a parameter, with or without
// its type, or a mark that stands for any.
func isSignature(arg string, s *shape.Shape) bool {
	switch {
	case arg[0] == '*' || arg[0] == '<' || arg == "..." || arg == "\u2026":
		return true
	case isParam(arg, s):
		return true
	}
	n := wordLen(arg)
	kind, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimPrefix(arg[n:], "?"), " \t"), ":")
	if n == 0 || !ok {
		return false
	}
	kind = strings.TrimLeft(kind, " \t")
	return isParam(arg[:n], s) || typeNames[strings.ToLower(kind[:wordLen(kind)])]
}

// typeNames are the types that documentation gives for parameters, in small letters.
var typeNames = map[string]bool{
	"string": true, "str": true, "char": true, "text": true, "bytes": true,
	"integer": true, "int": true, "long": true, "number": true, "float": true, "double": true, "decimal": true,
	"boolean": true, "bool": true,
	"array": true, "list": true, "tuple": true, "set": true, "sequence": true,
	"object": true, "dict": true, "map": true, "mapping": true, "record": true,
	"any": true, "null": true, "none": true, "optional": true, "union": true, "literal": true, "enum": true,
	"date": true, "datetime": true,
}

package script

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// example returns a short text that re matches. A group is filled with the hint of its name where that fits.
func example(re *regexp.Regexp, hints map[string]string) (string, bool) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return "", false
	}
	for _, h := range []map[string]string{hints, nil} {
		var b strings.Builder
		appendExample(&b, tree, h)
		if s := b.String(); re.MatchString(s) {
			return s, true
		}
	}
	return "", false
}

func appendExample(b *strings.Builder, re *syntax.Regexp, hints map[string]string) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 {
				r = unicode.ToLower(r)
			}
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		b.WriteRune(fromClass(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture:
		if v, ok := hints[re.Name]; ok && re.Name != "" {
			b.WriteString(v)
			return
		}
		appendExample(b, re.Sub[0], hints)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			appendExample(b, sub, hints)
		}
	case syntax.OpAlternate, syntax.OpPlus:
		appendExample(b, re.Sub[0], hints)
	case syntax.OpRepeat:
		for range re.Min {
			appendExample(b, re.Sub[0], hints)
		}
	}
}

// fromClass picks a member of a class, a pleasant one if there is any.
func fromClass(ranges []rune) rune {
	for _, r := range "xX1 -_.,/?" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if r >= ranges[i] && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	return ranges[0]
}

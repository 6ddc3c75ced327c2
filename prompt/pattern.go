package prompt

import (
	"regexp/syntax"
	"strings"
)

// patternBytes bounds the text that is made for a pattern.
const patternBytes = 200

// matching returns a short text that a regular expression of a schema matches; "" if none was found. Of what may be
// repeated it has as few as are allowed, and at least one.
func matching(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "" // what only other engines know
	}
	var b strings.Builder
	if !match(&b, re.Simplify()) {
		return ""
	}
	return b.String()
}

// match writes what an expression matches.
func match(b *strings.Builder, re *syntax.Regexp) bool {
	if b.Len() > patternBytes {
		return false
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		r, ok := oneOf(re.Rune)
		if !ok {
			return false
		}
		b.WriteRune(r)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate, syntax.OpQuest, syntax.OpStar:
		if re.Op == syntax.OpQuest {
			return true
		}
		return match(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !match(b, sub) {
				return false
			}
		}
	case syntax.OpNoMatch:
		return false
	}
	return true
}

// oneOf returns a letter or digit of a class of characters, given as pairs of the first and the last, or else its first
// printable one.
func oneOf(pairs []rune) (rune, bool) {
	for _, span := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'1', '9'}, {'0', '0'}, {'!', '~'}, {' ', ' '},
		{0xa1, 0x10ffff}} {
		for i := 0; i+1 < len(pairs); i += 2 {
			if first := max(pairs[i], span[0]); first <= min(pairs[i+1], span[1]) {
				return first, true
			}
		}
	}
	return 0, false
}

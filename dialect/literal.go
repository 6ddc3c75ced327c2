package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
)

// A match tells how far a text agrees with a literal.
type match uint8

const (
	no    match = iota
	maybe       // it does as far as the text goes
	yes
)

// agrees returns how far s agrees with a literal.
func agrees(s, literal string) match {
	switch {
	case strings.HasPrefix(s, literal):
		return yes
	case strings.HasPrefix(literal, s):
		return maybe
	}
	return no
}

// A choice tells which of several literals a text begins with.
type choice struct {
	match
	kind int    // the index of the literal
	n    int    // how many bytes the text has in common with one of them
	rest string // how the text most likely goes on
}

// choose finds the literal that s begins with, or may begin with. Empty ones do not count.
func choose(literals []string, s string) (c choice) {
	for k, l := range literals {
		if l == "" || c.match == maybe && l[0] != s[0] {
			continue
		}
		if strings.HasPrefix(s, l) {
			return choice{match: yes, kind: k, n: len(l)}
		}
		n := common(l, s)
		if n == len(s) && c.match == no {
			c = choice{match: maybe, kind: k, n: n, rest: l[n:]}
		}
		c.n = max(c.n, n)
	}
	return c
}

// common returns the length of what a and b begin with.
func common(a, b string) (n int) {
	if len(b) > len(a) {
		b = b[:len(a)]
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// goesOn returns what follows s in the first of the likely texts that begins with it.
func goesOn(likely []string, s string) string {
	for _, l := range likely {
		if strings.HasPrefix(l, s) {
			return l[len(s):]
		}
	}
	return ""
}

// fenceLine looks for a line that opens a code fence at the start of s, with at most words behind its marks. n is
// its length, or the byte that shows that it is none.
func fenceLine(s string) (n, marks int, m match) {
	for marks < len(s) && s[marks] == '`' {
		marks++
	}
	for n = marks; n < len(s) && n <= maxHeader && s[n] != '\n'; n++ {
		if !chars.IsLetter(s[n]) && s[n] != '_' && !chars.IsBlank(s[n]) {
			break
		}
	}
	switch {
	case n == len(s) && (marks >= 3 || n == marks):
		return n, marks, maybe
	case n == len(s) || marks < 3 || s[n] != '\n':
		return n, marks, no
	}
	return n + 1, marks, yes
}

package script

import (
	"regexp"
	"strings"
)

// A pattern is a string to equal or a regular expression to find, written between slashes with optional flags i, m
// and s.
type pattern struct {
	src   string
	plain string
	re    *regexp.Regexp // nil: plain
}

func parsePattern(s string) (*pattern, error) {
	expr, flags, ok := cutSlashes(s)
	if !ok {
		return &pattern{src: s, plain: s}, nil
	}
	if flags != "" {
		expr = "(?" + flags + ")" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &pattern{src: s, re: re}, nil
}

func cutSlashes(s string) (expr, flags string, ok bool) {
	end := strings.LastIndexByte(s, '/')
	if len(s) < 2 || s[0] != '/' || end < 1 || strings.Trim(s[end+1:], "ims") != "" {
		return "", "", false
	}
	return s[1:end], s[end+1:], true
}

// maxSearched is how much of a text expressions are looked for in: they cost far more than the rest of a request.
const maxSearched = 256 << 10

// beginning is the part of a text that expressions see.
func beginning(s string) string { return s[:min(len(s), maxSearched)] }

// match reports whether s equals the string, or holds a match of the expression.
func (p *pattern) match(s string) bool {
	if p.re == nil {
		return s == p.plain
	}
	return p.re.MatchString(beginning(s))
}

// within reports whether the pattern occurs in s: a plain one as a substring.
func (p *pattern) within(s string) bool {
	if p.re == nil {
		return strings.Contains(s, p.plain)
	}
	return p.re.MatchString(beginning(s))
}

// captures puts the named groups of the first match in s into dst, and reports whether there was a match.
func (p *pattern) captures(s string, dst map[string]string) bool {
	if p.re == nil {
		return s == p.plain
	}
	m := p.re.FindStringSubmatchIndex(beginning(s))
	if m == nil {
		return false
	}
	for i, name := range p.re.SubexpNames() {
		if name != "" && m[2*i] >= 0 {
			dst[name] = s[m[2*i]:m[2*i+1]]
		}
	}
	return true
}

// groups returns the names of the groups.
func (p *pattern) groups() []string {
	if p == nil || p.re == nil {
		return nil
	}
	var list []string
	for _, n := range p.re.SubexpNames() {
		if n != "" {
			list = append(list, n)
		}
	}
	return list
}

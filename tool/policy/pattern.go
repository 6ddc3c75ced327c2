package policy

import (
	"regexp"
	"sync"
)

// A pattern is a regular expression that is compiled when it is first used. Each program in the sandbox is started by a
// process of this program that decides nothing: it should not wait for forty expressions.
type pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

func lazily(text string) *pattern { return &pattern{text: text} }

func (p *pattern) regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled
}

// MatchString reports whether the expression matches somewhere in s.
func (p *pattern) MatchString(s string) bool { return p.regexp().MatchString(s) }

// ReplaceAllString replaces what matches.
func (p *pattern) ReplaceAllString(s, with string) string {
	return p.regexp().ReplaceAllString(s, with)
}

// FindAllString returns the first n texts that match, or all of them.
func (p *pattern) FindAllString(s string, n int) []string { return p.regexp().FindAllString(s, n) }

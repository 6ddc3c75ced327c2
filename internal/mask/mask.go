// Package mask finds secrets in texts by their form: keys of services, tokens, passwords in addresses and in JSON,
// private keys. It cannot know every secret: what has no form of its own stays.
package mask

import (
	"regexp"
	"slices"
	"strings"
)

// Masked stands in the place of a secret.
const Masked = "[masked]"

// A secretForm is a form of secrets. Looking for what every match begins with is far cheaper than trying the expression
// at every byte, and texts can be long.
type secretForm struct {
	marks []string       // one of them stands where a match begins
	fold  bool           // they may be written in upper case
	word  bool           // and nothing of a word stands before them
	re    *regexp.Regexp // from there on; its first group is the secret, without one it is the whole match
}

var rules = []secretForm{
	{marks: []string{"bearer"}, fold: true, word: true,
		re: regexp.MustCompile(`^(?i:bearer)\s+((?i)[a-z0-9._~+/=-]{8,})`)},
	{marks: []string{"://"}, re: regexp.MustCompile(`^://[^/\s:@"\\]+:([^/\s@"\\]+)@`)},
	{marks: services("sk", "pk", "rk", "hf", "ghp", "gho", "ghs", "ghr", "ghu", "github_pat", "glpat", "npm", "pypi",
		"wield", "xoxa", "xoxb", "xoxe", "xoxo", "xoxp", "xoxr", "xoxs"),
		word: true,
		re: regexp.MustCompile(
			`^(?:sk|pk|rk|hf|ghp|gho|ghs|ghr|ghu|github_pat|glpat|npm|pypi|wield|xox[abeoprs])[-_][A-Za-z0-9_-]{12,}`)},
	{marks: []string{"AKIA", "ASIA"}, word: true, re: regexp.MustCompile(`^[A-Z]{4}[0-9A-Z]{16}\b`)},
	{marks: []string{"AIza"}, word: true, re: regexp.MustCompile(`^AIza[A-Za-z0-9_-]{30,}`)},
	{marks: []string{"eyJ"}, word: true,
		re: regexp.MustCompile(`^eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},
	{marks: []string{"-----BEGIN "},
		re: regexp.MustCompile(`^-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`)},
}

// services returns the marks of keys that begin with the name of who gave them.
func services(names ...string) (marks []string) {
	for _, n := range names {
		marks = append(marks, n+"-", n+"_")
	}
	return marks
}

// find appends where matches of the rule stand in text.
func (r *secretForm) find(all []Span, text string) []Span {
	index := strings.Index
	if r.fold {
		index = indexFold
	}
	for _, mark := range r.marks {
		for at := 0; ; {
			i := index(text[at:], mark)
			if i < 0 {
				break
			}
			p := at + i
			at = p + 1
			if r.word && p > 0 && isWord(text[p-1]) {
				continue
			}
			if m := r.re.FindStringSubmatchIndex(text[p:]); m != nil {
				all = append(all, Span{p + m[len(m)-2], p + m[len(m)-1]})
				at = p + m[1]
			}
		}
	}
	return all
}

// indexFold returns where the first mark stands in text, in upper or lower case, or -1. The mark is in lower case.
func indexFold(text, mark string) int {
	for i := 0; i+len(mark) <= len(text); i++ {
		if text[i]|0x20 == mark[0] && strings.EqualFold(text[i:i+len(mark)], mark) {
			return i
		}
	}
	return -1
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// secretNames are endings of JSON keys whose values are secrets, in lower case.
var secretNames = append(spelled([]string{"api", "private"}, "key"),
	append(spelled([]string{"access", "refresh", "auth", "session", "id", "api", "bearer", "authorization"}, "token"),
		"authorization", "passwd", "password", "passphrase", "secret", "credential", "credentials")...)

// spelled returns the ways to write a name of two words.
func spelled(first []string, second string) (names []string) {
	for _, f := range first {
		names = append(names, f+second, f+"_"+second, f+"-"+second)
	}
	return names
}

// secretEndings are the secretNames by their last letter.
var secretEndings = func() (by [256][]string) {
	for _, n := range secretNames {
		last := n[len(n)-1]
		by[last] = append(by[last], n)
	}
	return by
}()

// isSecret reports whether a key ends like the name of a secret.
func isSecret(key string) bool {
	if key == "" {
		return false
	}
	for _, n := range secretEndings[key[len(key)-1]|0x20] {
		if len(key) >= len(n) && strings.EqualFold(key[len(key)-len(n):], n) {
			return true
		}
	}
	return false
}

// longestName limits the bytes of a key that are looked at.
const longestName = 24

// named appends where the values of keys stand that are called like a secret, whether the JSON around them is quoted
// once or more often.
func named(all []Span, text string) []Span {
	taken := 0 // what stands before it is a value
	for at := 0; ; {
		i := strings.IndexByte(text[at:], ':')
		if i < 0 {
			return all
		}
		colon := at + i
		at = colon + 1
		end := len(strings.TrimRight(text[max(0, colon-longestSpace):colon], space)) + max(0, colon-longestSpace)
		if end <= taken || text[end-1] != '"' {
			continue
		}
		name := strings.TrimRight(text[max(taken, end-1-longestName):end-1], `\`)
		if !isSecret(name) {
			continue
		}
		value := len(text) - len(strings.TrimLeft(strings.TrimLeft(text[at:], space), `\`))
		if value == len(text) || text[value] != '"' {
			continue
		}
		value++
		n := strings.IndexAny(text[value:], `"\`)
		if n < 0 {
			n = len(text) - value
		}
		if n > 0 {
			all = append(all, Span{value, value + n})
		}
		at, taken = value+n, value+n
	}
}

const (
	space        = " \t\n\f\r"
	longestSpace = 1 << 10 // between a key and its colon
)

// A Span is a part of a text, in bytes.
type Span struct{ At, End int }

// Find returns where secrets stand in text, in order. None overlaps another.
func Find(text string) []Span {
	all := named(nil, text)
	for i := range rules {
		all = rules[i].find(all, text)
	}
	return Join(all)
}

// Join sorts spans and makes one of those that overlap.
func Join(all []Span) []Span {
	slices.SortFunc(all, func(a, b Span) int { return a.At - b.At })
	joined := all[:0]
	for _, s := range all {
		if n := len(joined); n > 0 && s.At < joined[n-1].End {
			joined[n-1].End = max(joined[n-1].End, s.End)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// Replace returns text with each of the spans, which are in order, replaced.
func Replace(text string, spans []Span, with string) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.At])
		b.WriteString(with)
		at = s.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// Text replaces what looks like a secret with [Masked].
func Text(text string) string { return Replace(text, Find(text), Masked) }

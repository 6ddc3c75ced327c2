// Package mask finds secrets in texts by their form: keys of services, tokens, passwords in addresses and in JSON, private keys.
// It cannot know every secret: what has no form of its own stays.
package mask

import (
	"regexp"
	"slices"
	"strings"
)

// Masked stands in the place of a secret.
const Masked = "[masked]"

// rules are forms of secrets. The first group of one is the secret; without a group it is the whole match. A value of a key that is called
// like a secret is one, whether the JSON around it is quoted once or more often; the others are known by how they begin.
var rules = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:api[_-]?key|authorization|passw(?:or)?d|passphrase|secret|(?:access|refresh|auth|session|id|api|bearer)[_-]?token|private[_-]?key|credentials?)[\\]*"\s*:\s*[\\]*"([^"\\]+)`),
	regexp.MustCompile(`(?i)\bbearer\s+([a-z0-9._~+/=-]{8,})`),
	regexp.MustCompile(`://[^/\s:@"\\]+:([^/\s@"\\]+)@`),
	regexp.MustCompile(`\b(?:sk|pk|rk|hf|ghp|gho|ghs|ghr|ghu|github_pat|glpat|npm|pypi|wield|xox[abeoprs])[-_][A-Za-z0-9_-]{12,}`),
	regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`),
}

// A Span is a part of a text, in bytes.
type Span struct{ At, End int }

// Find returns where secrets stand in text, in order. None overlaps another.
func Find(text string) []Span {
	var all []Span
	for _, re := range rules {
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			all = append(all, Span{m[len(m)-2], m[len(m)-1]})
		}
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

package capture

import "regexp"

// masked stands in the place of a secret.
const masked = "[masked]"

// A rule finds secrets of one form; keep is what of a match is not secret.
type rule struct {
	re   *regexp.Regexp
	keep string // as in Regexp.Expand
}

// rules are forms of secrets. A value of a key that is called like a secret is one, whether the JSON around it is quoted once or
// more often; the others are known by how they begin.
var rules = []rule{
	{regexp.MustCompile(`(?i)((?:api[_-]?key|authorization|passw(?:or)?d|passphrase|secret|(?:access|refresh|auth|session|id|api|bearer)[_-]?token|private[_-]?key|credentials?)[\\]*"\s*:\s*[\\]*")([^"\\]+)`), "${1}"},
	{regexp.MustCompile(`(?i)(\bbearer\s+)[a-z0-9._~+/=-]{8,}`), "${1}"},
	{regexp.MustCompile(`(://[^/\s:@"\\]+:)[^/\s@"\\]+(@)`), "${1}" + masked + "${2}"},
	{regexp.MustCompile(`\b(?:sk|pk|rk|hf|ghp|gho|ghs|ghr|ghu|github_pat|glpat|npm|pypi|wield|xox[abeoprs])[-_][A-Za-z0-9_-]{12,}`), ""},
	{regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), ""},
	{regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), ""},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), ""},
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`), ""},
}

// Mask replaces what looks like a secret. It cannot know every secret: what has no form of its own stays.
func Mask(text string) string {
	for _, r := range rules {
		with := r.keep
		if with == "" || with == "${1}" {
			with += masked
		}
		text = r.re.ReplaceAllString(text, with)
	}
	return text
}

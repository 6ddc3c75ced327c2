package mask

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestText hides what looks like a secret and nothing else.
func TestText(t *testing.T) {
	for _, tt := range []struct{ text, hidden string }{
		{`{"api_key":"hush hush","model":"m"}`, "hush"},
		{`{"arguments":"{\"password\": \"hush\"}"}`, "hush"},
		{`{"a":"{\"b\":\"{\\\"client_secret\\\":\\\"hush\\\"}\"}"}`, "hush"},
		{`"Authorization": "Basic aHVzaDpodXNo"`, "aHVzaDpodXNo"},
		{`"authorization_token":"client-chosen-word"`, "client-chosen-word"},
		{`curl -H 'Authorization: Bearer abcdef0123456789'`, "abcdef0123456789"},
		{`postgres://user:hush@db/x`, "hush"},
		{`the key is sk-proj-abcdefghijklmnop`, "sk-proj"},
		{`ghp_abcdefghijklmnopqrstuvwxyz012345`, "ghp_"},
		{`AKIAABCDEFGHIJKLMNOP`, "AKIAABCD"},
		{`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef`, "eyJhbGci"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIhush\n-----END RSA PRIVATE KEY-----", "hush"},
	} {
		if got := Text(tt.text); strings.Contains(got, tt.hidden) || !strings.Contains(got, Masked) {
			t.Errorf("%s: %s", tt.text, got)
		}
	}
	for _, text := range []string{
		`{"max_tokens":100,"token":"Hello","logprob":-0.1}`,
		`{"tools":[{"name":"get_secret_santa","description":"tells who"}]}`,
		`a task-list for the risk-averse-minded people`,
		`http://127.0.0.1:8420/v1`,
		`"keyboard":"qwerty"`,
	} {
		if got := Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// whole are the forms of secrets as expressions over a whole text.
var whole = []*regexp.Regexp{
	regexp.MustCompile(
		`(?i)(?:api[_-]?key|authorization|passw(?:or)?d|passphrase|secret|(?:access|refresh|auth|session|id|api|bearer)[_-]?token|private[_-]?key|credentials?)[\\]*"\s*:\s*[\\]*"([^"\\]+)`),
	regexp.MustCompile(`(?i)\bbearer\s+([a-z0-9._~+/=-]{8,})`),
	regexp.MustCompile(`://[^/\s:@"\\]+:([^/\s@"\\]+)@`),
	regexp.MustCompile(
		`\b(?:sk|pk|rk|hf|ghp|gho|ghs|ghr|ghu|github_pat|glpat|npm|pypi|wield|xox[abeoprs])[-_][A-Za-z0-9_-]{12,}`),
	regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`),
}

// TestFindAsWhole: looking near marks finds what the expressions find that are tried everywhere.
func TestFindAsWhole(t *testing.T) {
	pieces := []string{`"api_key"`, `"Password"`, `\"client_secret\"`, `"id-token"`, `"token"`, ` : `, `:`, "\n:\t",
		`"hush"`, `\"hush hush\"`, `"`, `\`, `\\`, " ", "é", "x", "_", "Bearer ", "bearer\n", "abcdefgh01234567",
		"://", "user:pw@", "user:", "@", "sk-", "sk_", "risk-", "github_pat_", "xoxb-", "wield_", "AKIA", "ASIA",
		"ABCDEFGHIJKLMNOP", "AIza", "abcdefghijklmnopqrstuvwxyz0123456789", "eyJ", "eyJabcdefgh.", "abcdefgh.",
		"-----BEGIN ", "RSA PRIVATE KEY-----", "-----END ", "PRIVATE KEY-----", "MIIhush\n", "-"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 6_000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := b.String()
		var want []Span
		for _, re := range whole {
			for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
				want = append(want, Span{m[len(m)-2], m[len(m)-1]})
			}
		}
		if want, got := Join(want), Find(text); !slices.Equal(got, want) {
			t.Fatalf("%q\nfound %v, want %v", text, got, want)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	text := strings.Repeat("a line of the answer: \"some\": words in it\n", 1<<20/43)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Find(text)
	}
}

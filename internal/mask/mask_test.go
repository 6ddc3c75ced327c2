package mask

import (
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

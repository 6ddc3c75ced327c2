package policy

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	l := ArgumentLimits{Bytes: 300, Keys: 3, String: 10, Digits: 5, Key: 8}
	for text, want := range map[string]string{
		`{"a":"0123456789","b":12345,"c":[{}]}`:   "",
		`{"a":"0123456789x"}`:                     "a text of 11 bytes",
		`{"a":["ok","0123456789x"]}`:              "a text of 11 bytes",
		`{"a":123456}`:                            "a number of 6 digits",
		`{"a":1,"b":{"c":1,"d":2}}`:               "more than 3 names",
		`{"a":{"123456789":1}}`:                   "a name of 9 bytes",
		`{"a":1` + strings.Repeat(" ", 300) + `}`: "the arguments have 307 bytes",
		`"0123456789x"`:                           "a text of 11 bytes",
	} {
		got := l.exceeded(text)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.40s: %q, want %q", text, got, want)
		}
	}
	long := `{"` + strings.Repeat("k", 2000) + `":"` + strings.Repeat("v", 100000) + `"}`
	if got := (ArgumentLimits{}).exceeded(long); !strings.HasPrefix(got, "a name of 2000 bytes") {
		t.Errorf("without limits: %q", got)
	}
	if got := (ArgumentLimits{}).exceeded(`{"k":"` + strings.Repeat("v", 100000) + `"}`); got != "" {
		t.Errorf("a long text without limits: %q", got)
	}
}

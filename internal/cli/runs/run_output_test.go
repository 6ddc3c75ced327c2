package runs

import "testing"

func TestOnOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"{\n\t\"tank\": 3,\n\t\"at\": \"a b\"\n}": `{"tank":3,"at":"a b"}`,
		`{"tank": 3}`:  `{"tank": 3}`,
		"{\n\"tank\":": "{\n\"tank\":", // no JSON
	} {
		if got := onOneLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

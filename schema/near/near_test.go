package near

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	names := []string{"read_file", "write_file", "search_code", "qwen3:8b"}
	for _, test := range []struct{ word, want string }{
		{"read_fiel", "read_file"}, // two letters swapped
		{"readfile", "read_file"},
		{"Write_File", "write_file"},
		{"qwen3:9b", "qwen3:8b"},
		{"delete", ""},
		{"", ""},
		{strings.Repeat("read_file", 100), ""}, // too long to be a slip
	} {
		if got := Name(test.word, names); got != test.want {
			t.Errorf("%q: %q, want %q", test.word, got, test.want)
		}
	}
	if got := Hint("read_fle", names); got != `; did you mean "read_file"?` {
		t.Errorf("hint %q", got)
	}
	if got := Hint("nothing like it", nil); got != "" {
		t.Errorf("hint %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "xbc", 1},
		{"kitten", "sitting", 3}} {
		if got := distance(test.a, test.b, 9); got != test.want || distance(test.b, test.a, 9) != got {
			t.Errorf("%q and %q: %d, want %d both ways", test.a, test.b, got, test.want)
		}
	}
}

package shorten

import "testing"

// TestText: no character of a message is cut in two, and what is short enough stays.
func TestText(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aéé", 2, "a…"}, {"aéé", 3, "aé…"}, {"🍜", 3, "…"}, {"\x80\x80", 1, "…"}} {
		if got := Text(c.text, c.most); got != c.want {
			t.Errorf("%q, %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

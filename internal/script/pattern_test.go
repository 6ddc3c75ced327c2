package script

import (
	"strings"
	"testing"
)

// TestPatternsAreBounded looks for an expression in a text as long as a body may be: only its beginning is searched.
func TestPatternsAreBounded(t *testing.T) {
	p, err := parsePattern("/(?P<word>needle|straw)/i")
	if err != nil {
		t.Fatal(err)
	}
	hay := strings.Repeat("w ", 4<<20)
	got := map[string]string{}
	if !p.captures("a Needle "+hay, got) || got["word"] != "Needle" {
		t.Errorf("the beginning of a long text holds %q", got)
	}
	if p.match(hay+"needle") || p.within(hay+"needle") || p.captures(hay+"needle", got) {
		t.Error("the end of a text of 8 MiB is searched")
	}
}

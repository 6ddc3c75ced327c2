package dialect_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesOfCases holds the pages that compare other engines to their word: each names every case of its file, and no
// case that is not there.
func TestPagesOfCases(t *testing.T) {
	for _, name := range []string{"peers", "differences"} {
		page, err := os.ReadFile("../docs/dialects/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`[a-z0-9-]+/[a-z0-9-]+`").FindAllString(string(page), -1)
		for _, c := range allCases(t) {
			id := "`" + c.ID + "`"
			n := len(named)
			named = slices.DeleteFunc(named, func(s string) bool { return s == id })
			if len(named) == n && strings.HasPrefix(c.ID, name+"/") {
				t.Errorf("docs/dialects/%s.md does not name %s", name, c.ID)
			}
		}
		if len(named) > 0 {
			t.Errorf("docs/dialects/%s.md names what is no case: %v", name, named)
		}
	}
}

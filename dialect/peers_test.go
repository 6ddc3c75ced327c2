package dialect_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestPeersPage holds the page that compares other engines to its word: it names each case of its file, and no other.
func TestPeersPage(t *testing.T) {
	page, err := os.ReadFile("../docs/dialects/peers.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`peers/[a-z0-9-]+`").FindAllString(string(page), -1)
	var cases []string
	for _, c := range allCases(t) {
		if regexp.MustCompile("^peers/").MatchString(c.ID) {
			cases = append(cases, "`"+c.ID+"`")
		}
	}
	slices.Sort(named)
	slices.Sort(cases)
	if !slices.Equal(named, cases) {
		t.Errorf("the page names\n%v\nthe file has\n%v", named, cases)
	}
}

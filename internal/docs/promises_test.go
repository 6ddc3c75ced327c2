//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPromisesAreTested looks for every test that docs/journal.md names.
func TestPromisesAreTested(t *testing.T) {
	root := checkout(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "journal.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## What shows it\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	var all []string
	for _, names := range testsOf(t, root) {
		all = append(all, names...)
	}
	n := 0
	for _, m := range regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(section, -1) {
		if n++; !slices.Contains(all, m[1]) {
			t.Errorf("docs/journal.md names %s, which is not there", m[1])
		}
	}
	if n < 15 {
		t.Errorf("only %d tests are named: has the form of the page changed?", n)
	}
}

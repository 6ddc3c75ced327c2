//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var inTicks = regexp.MustCompile("`([^`]+)`")

// TestWhereToLook checks that docs/architecture.md sends nobody to a file or a function that is not there.
func TestWhereToLook(t *testing.T) {
	root := checkout(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Where to look")
	table, _, _ = strings.Cut(table, "\n## ")
	questions := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[3], "`") {
			continue
		}
		questions++
		var code strings.Builder
		for _, name := range inTicks.FindAllStringSubmatch(cells[2], -1) {
			files, err := filepath.Glob(filepath.Join(root, name[1]))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: there is no %s", strings.TrimSpace(cells[1]), name[1])
			}
			for _, file := range files {
				code.WriteString(source(t, file))
			}
		}
		for _, name := range inTicks.FindAllStringSubmatch(cells[3], -1) {
			last := name[1][strings.LastIndex(name[1], ".")+1:]
			if !regexp.MustCompile(`(func (\([^)]*\) )?|case chat\.)` + last + `\b`).MatchString(code.String()) {
				t.Errorf("%s: there is no %s in %s", strings.TrimSpace(cells[1]), name[1], cells[2])
			}
		}
	}
	if questions < 10 {
		t.Errorf("%d questions are answered", questions)
	}
}

// source returns the text of a file, or of those in a directory.
func source(t *testing.T, path string) string {
	t.Helper()
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		files, _ = filepath.Glob(filepath.Join(path, "*.go"))
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

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

var (
	inProse  = regexp.MustCompile("(key )?`([A-Za-z]+)\\.([A-Za-z]+)`")
	goFile   = regexp.MustCompile(`[\w./-]+\.go\b`)
	declared = regexp.MustCompile(
		`(?m)^(?:func (?:\([^)]*?\*?(\w+)(?:\[\w+\])?\) )?(\w+)|type (\w+)|(?:\t|const |var )(\w+)\b)`)
)

// TestProse checks that the files exist that docs/architecture.md and docs/contracts.md name between their tables, and
// that `Type.Method`, `Type.Field` and `package.Name` are declared.
func TestProse(t *testing.T) {
	root := checkout(t)
	files, methods, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
	types := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files[d.Name()] = true
		for _, m := range declared.FindAllStringSubmatch(source(t, path), -1) {
			types[m[1]], types[m[3]] = true, true
			methods[m[1]+"."+m[2]] = m[1] != ""
			names[m[2]], names[m[3]], names[m[4]] = true, true, true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, doc := range []string{"architecture.md", "contracts.md"} {
		page := source(t, filepath.Join(root, "docs", doc))
		for _, file := range goFile.FindAllString(page, -1) {
			if base := filepath.Base(file); !files[base] && !strings.Contains(base, "*") {
				t.Errorf("docs/%s: there is no file %s", doc, file)
			}
		}
		for _, m := range inProse.FindAllStringSubmatch(page, -1) {
			owner, name := m[2], m[3]
			exported := name[0] < 'a'
			if !exported && !types[owner] || m[1] != "" || owner == "iter" {
				continue // a key of the configuration, or the standard library
			}
			checked++
			if !methods[owner+"."+name] && (!exported || !names[name]) {
				t.Errorf("docs/%s: there is no %s", doc, m[0])
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d names are checked", checked)
	}
}

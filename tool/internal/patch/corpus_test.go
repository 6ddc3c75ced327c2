package patch

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A seed is an edit of the corpus, and the file that it is about.
type seed struct{ name, text, file string }

// seeds reads the corpus. Package tool/builtin/local carries it out as a whole; here its edits alone are of use.
func seeds(t testing.TB) []seed {
	t.Helper()
	names, err := filepath.Glob("testdata/corpus/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var all []seed
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var c struct {
				Files map[string]string
				Steps []struct{ Answer string }
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, step := range c.Steps {
				_, text, _ := strings.Cut(step.Answer, "\n")
				if i := strings.LastIndex(text, "\n`"); i >= 0 {
					text = text[:i+1]
				}
				for name, file := range c.Files {
					all = append(all, seed{name, strings.TrimRight(text, "`"), file})
				}
			}
		}
	}
	return all
}

// A memory is files in memory.
type memory map[string][]byte

func (m memory) Rel(name string) (string, error) { return path.Clean(name), nil }

func (m memory) ReadFile(name string) ([]byte, error) {
	if text, ok := m[name]; ok {
		return text, nil
	}
	return nil, fs.ErrNotExist
}

func (m memory) Stat(string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// BenchmarkCorpus reads every edit of the corpus and finds its places.
func BenchmarkCorpus(b *testing.B) {
	all := seeds(b)
	b.ReportAllocs()
	for b.Loop() {
		found := 0
		for _, s := range all {
			ops, err := Parse(s.text)
			if err != nil {
				continue
			}
			if _, err := Plan(memory{s.name: []byte(s.file)}, ops); err == nil {
				found++
			}
		}
		if found == 0 {
			b.Fatal("none of the edits has a place")
		}
	}
	b.ReportMetric(float64(len(all)), "edits/op")
}

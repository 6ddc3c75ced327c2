package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzLoad checks that no file makes the reader panic, that every problem has a message, and that what is refused says
// where.
func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	files, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse("config.yaml", []byte(text), Options{Getenv: env()})
		if err == nil {
			if r.Config == nil || r.Wield != Version {
				t.Errorf("accepted as %+v", r.Config)
			}
			return
		}
		problems, ok := err.(Problems)
		if !ok || len(problems) == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		for _, p := range problems {
			if p.Message == "" || !strings.HasPrefix(p.Error(), "config.yaml") {
				t.Errorf("problem without a place or a message: %+v", p)
			}
			_ = p.String()
		}
	})
}

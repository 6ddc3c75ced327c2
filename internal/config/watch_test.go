package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	at := time.Now().Add(-time.Hour)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("wield: config/v1\n")
	c, err := Load(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	write("changed before anybody watched")
	w := c.Watch()
	ask := func(when string, want bool) {
		t.Helper()
		if got := w.Changed(); got != want {
			t.Errorf("%s: %v", when, got)
		}
	}
	ask("changed since it was read", false)
	ask("changed since it was read, and settled", true)
	ask("unchanged", false)
	write("ab")
	ask("being written", false)
	write("abc")
	ask("still being written", false)
	ask("settled", true)
	ask("once is enough", false)
	write("abd") // of the same length
	ask("written", false)
	ask("settled again", true)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	ask("gone", false)
	ask("still gone", false)
	write("new")
	ask("back", false)
	ask("back and settled", true)
}

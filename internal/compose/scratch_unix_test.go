//go:build unix && !aix && !solaris

package compose

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed process has left is removed by the next one; what a living one holds, what is young, and what is no
// such directory stays.
func TestScratch(t *testing.T) {
	parent := t.TempDir()
	mine, err := newScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	if mine.held == nil {
		mine.Close()
		t.Skip("SKIPPED: directories cannot be held in the file system of the temporary files")
	}
	old := time.Now().Add(-time.Hour)
	left, young, other := filepath.Join(parent, scratchPrefix+"left"), filepath.Join(parent, scratchPrefix+"young"),
		filepath.Join(parent, "else")
	for _, dir := range []string{left, young, other} {
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link, file := filepath.Join(parent, scratchPrefix+"link"), filepath.Join(parent, scratchPrefix+"file")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{left, other, mine.dir, file} {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := newScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{left: false, young: true, other: true, mine.dir: true, next.dir: true,
		link: true, file: true, filepath.Join(other, "sub"): true} {
		if _, err := os.Lstat(name); (err == nil) != there {
			t.Errorf("%s: there is %v, want %v", filepath.Base(name), err == nil, there)
		}
	}
	for _, s := range []*scratch{mine, next} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(s.dir); err == nil {
			t.Errorf("%s is left", s.dir)
		}
	}
}

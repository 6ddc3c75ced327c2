//go:build unix

package undo

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUndoMode: a file that moves or comes back has the mode that it had, whatever the process takes away from new
// files.
func TestUndoMode(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "one\r\ntwo", "gone.txt": "gone", "old.sh": "x\n"})
	modes := map[string]fs.FileMode{"a.txt": 0o664, "gone.txt": 0o444, "old.sh": 0o755}
	for name, mode := range modes {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	l := &Log{Dir: filepath.Join(t.TempDir(), "undo")}
	defer syscall.Umask(syscall.Umask(0o077))
	check := func(name string, want fs.FileMode) {
		t.Helper()
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
	a := act(t, l, root, several)
	check("moved.sh", 0o755)
	if _, err := l.Undo(root, a.ID); err != nil {
		t.Fatal(err)
	}
	for name, mode := range modes {
		check(name, mode)
	}
}

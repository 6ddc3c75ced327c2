//go:build unix

package capture

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDiskIsFull checks that a record which cannot be written spoils no other, and that writing goes on when there is
// room.
func TestDiskIsFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "captures")
	r, err := New(Options{Keep: 3, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	add := func(id string, wanted bool) {
		t.Helper()
		if err := r.Add(record(id, 10_000)); (err == nil) != wanted {
			t.Fatalf("%s: %v", id, err)
		}
	}
	add("a", true)
	whole := fileLimit(t, uint64(r.disk.size)+5000)
	add("b", false)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		t.Fatal(err)
	}
	add("c", true)
	add("d", true)
	if got := idsIn(t, filepath.Join(dir, File)); got != "acd" {
		t.Errorf("the file holds %q", got)
	}
	if err := os.Rename(dir, dir+"2"); err != nil { // when it is time for a new file
		t.Fatal(err)
	}
	add("e", false)
	if err := os.Rename(dir+"2", dir); err != nil {
		t.Fatal(err)
	}
	add("f", true)
	if got := idsIn(t, filepath.Join(dir, File)) + idsIn(t, filepath.Join(dir, formerFile)); got != "facd" {
		t.Errorf("the files hold %q", got)
	}
}

// TestPlantedLinks checks that links in the directory lead no record elsewhere.
func TestPlantedLinks(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{File, formerFile} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(Options{Keep: 1, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, id := range []string{"a", "../../b", "c\x00/../d"} {
		if err := r.Add(record(id, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "before" {
		t.Errorf("the link's target holds %q, %v", text, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

// fileLimit bounds the size of files, as a full disk would, and returns the bound of before.
func fileLimit(t *testing.T, most uint64) syscall.Rlimit {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	t.Cleanup(func() {
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)
		signal.Reset(syscall.SIGXFSZ)
	})
	now := before
	now.Cur = most
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	return before
}

func idsIn(t *testing.T, path string) (ids string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var rec struct{ ID string }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		ids += rec.ID
	}
	return ids
}

package guarded

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".git/hooks/x", ".github/workflows/ci.yml", ".github/readme", "a/b/conftest.py", "node_modules/x/conftest.py", ".wield.yaml", "a/main.go"} {
		write(t, dir, name, "")
	}
	var got []string
	for _, p := range Find(dir) {
		rel, _ := filepath.Rel(dir, p)
		got = append(got, filepath.ToSlash(rel))
	}
	if want := []string{".git", ".wield.yaml", ".github/workflows", "a/b/conftest.py"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	changed, gone := write(t, dir, "conftest.py", "a"), write(t, dir, ".envrc", "a")
	write(t, dir, ".git/hooks/same", "a")
	write(t, dir, ".git/objects/x", "a")
	before := Take(Find(dir))
	write(t, dir, "conftest.py", "b")
	write(t, dir, ".git/objects/y", "a") // what git keeps is its own
	hook := write(t, dir, ".git/hooks/new", "a")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range before.Changes(Take(Find(dir))) {
		if got = append(got, c.Path); (c.Sum == "") != (c.Path == gone) {
			t.Errorf("%s: sum %q", c.Path, c.Sum)
		}
	}
	if want := []string{gone, hook, changed}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := &Store{File: filepath.Join(dir, "data", "guarded.json")}
	is := func(path string, want bool) {
		t.Helper()
		if got, err := s.Agreed(path); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", path, got, err, want)
		}
	}
	tool := write(t, dir, "tools/x.sh", "a")
	is(tool, true)
	write(t, dir, "tools/x.sh", "b")
	is(tool, false)
	write(t, dir, "tools/x.sh", "a")
	is(tool, true)
	write(t, dir, "tools/x.sh", "c")
	if err := s.Agree(tool); err != nil {
		t.Fatal(err)
	}
	is(tool, true)
	// What a tool has made beside it may be a part of it.
	helper := write(t, dir, "tools/helper.sh", "a")
	if err := s.Hold("other", []Change{{helper, sumOf(helper)}}); err != nil {
		t.Fatal(err)
	}
	is(tool, false)
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].Path != helper || list[0].By != "other" {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Agree(helper); err != nil {
		t.Fatal(err)
	}
	is(tool, true)
	// What a person has changed again since is theirs.
	if err := s.Hold("other", []Change{{helper, "another sum"}}); err != nil {
		t.Fatal(err)
	}
	is(tool, true)
	write(t, dir, "data/guarded.json", "{broken")
	if _, err := s.Agreed(tool); err == nil {
		t.Error("a broken file is no error")
	}
}

package guarded

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	for _, part := range []string{"HEAD", "objects/x", "refs/x", "config", "hooks/x", "worktrees/w/HEAD", "worktrees/w/commondir"} {
		write(t, dir, "store/"+part, "") // what git takes for a repository
	}
	write(t, dir, ".git/config", "[core]\n\thooksPath = \"scripts/hooks\"\n[x]\n\thookspath = ../outside\n")
	var got []string
	for _, p := range Find(dir) {
		rel, _ := filepath.Rel(dir, p)
		got = append(got, filepath.ToSlash(rel))
	}
	if want := []string{".git", "scripts/hooks", ".wield.yaml", ".github/workflows", "store/hooks", "store/config",
		"store/worktrees/w/commondir", "a/b/conftest.py"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFindInCrowd checks that no number of other entries hides what is near the root.
func TestFindInCrowd(t *testing.T) {
	dir := t.TempDir()
	workflow := filepath.Dir(write(t, dir, ".github/workflows/ci.yml", ""))
	if err := os.Mkdir(filepath.Join(dir, "!"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := os.Mkdir(filepath.Join(dir, "!", strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := find(dir, 50); !slices.Equal(got, []string{workflow}) {
		t.Errorf("%q", got)
	}
}

func TestWay(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, dir, "real/x.yaml", "")
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, target := range map[string]string{"dir": "real", "real/link.yaml": "../dir/x.yaml", "abs": file, "loop": "loop"} {
		if err := os.Symlink(target, in(name)); err != nil {
			t.Skip(err)
		}
	}
	for path, want := range map[string][]string{
		file:                {file},
		in("abs"):           {in("abs"), file},
		in("dir/link.yaml"): {in("dir"), in("real/link.yaml"), in("dir"), file},
		in("dir/none"):      {in("dir"), in("real/none")},
	} {
		if got := Way(path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := Way(in("loop")); len(got) > mostLinks+1 {
		t.Errorf("a loop has %d links", len(got))
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

package guarded

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/tool/internal/guardedfiles"
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

func TestWay(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, dir, "real/x.yaml", "")
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, target := range map[string]string{"dir": "real", "real/link.yaml": "../dir/x.yaml", "abs": file,
		"loop": "loop"} {
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
	if err := s.AddPending("other", map[string]string{helper: guardedfiles.Sum(helper)}); err != nil {
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
	if err := s.AddPending("other", map[string]string{helper: "another sum"}); err != nil {
		t.Fatal(err)
	}
	is(tool, true)
	write(t, dir, "data/guarded.json", "{broken")
	if _, err := s.Agreed(tool); err == nil {
		t.Error("a broken file is no error")
	}
}

// TestTodo: of a rebase's todo commands that came count, in one that is too long to be read too, and are held back.
func TestTodo(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		found               bool
	}{
		{"came", "pick a\n", "pick a\nexec rm src\n", true},
		{"changed", "exec make\n", "exec rm src\n", true},
		{"long", "pick a\n", strings.Repeat("# pad\n", 1<<20) + "exec rm src\n", true},
		{"went", "pick a\nexec make\npick b\n", "pick b\n", false},
		{"picks", "pick a\npick b\n", "pick b\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, ".git/HEAD", "a")
			write(t, dir, ".git/rebase-merge/git-rebase-todo", tt.before)
			paths := guardedfiles.Find(dir)
			before := guardedfiles.Take(paths)
			path := write(t, dir, ".git/rebase-merge/git-rebase-todo", tt.after)
			changes := before.Changes(guardedfiles.Take(paths))
			if found := len(changes) == 1 && changes[0].Path == path; found != tt.found || len(changes) > 1 {
				t.Fatalf("found %+v", changes)
			}
			sums := map[string]string{}
			for _, c := range changes {
				sums[c.Path] = c.Sum
			}
			s := &Store{File: filepath.Join(t.TempDir(), "guarded.json")}
			if err := s.AddPending("shell", sums); err != nil {
				t.Fatal(err)
			}
			if held, is, err := s.Pending(path); is != tt.found || err != nil {
				t.Errorf("held back: %+v, %v, %v", held, is, err)
			}
		})
	}
}

package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"wield/tool/edit"
	"wield/tool/files"
	"wield/tool/internal/patch"
)

func workspace(t *testing.T, content map[string]string) (*files.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		put(t, dir, name, text)
	}
	root, err := files.Open(dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o640)); err != nil {
		t.Fatal(err)
	}
}

// tree returns all files of a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func act(t *testing.T, l *Log, root *files.Root, text string) Action {
	t.Helper()
	ops, err := patch.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := patch.Plan(root, ops)
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Do(root, "edit", "call_0", changes)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const several = `*** Begin Patch
*** Update File: a.txt
-one
+ONE
*** Add File: new/b.txt
+made
*** Delete File: gone.txt
*** Update File: old.sh
*** Move to: moved.sh
-x
+y
*** End Patch
`

// TestUndo takes back an action on several files: changed, made, removed and moved.
func TestUndo(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "one\r\ntwo", "gone.txt": "gone", "old.sh": "x\n"})
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(dir, "old.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	l := &Log{Dir: filepath.Join(t.TempDir(), "undo")}
	a := act(t, l, root, several)
	if now := tree(t, dir); now["a.txt"] != "ONE\r\ntwo" || now["new/b.txt"] != "made\n" || now["moved.sh"] != "y\n" ||
		len(now) != 3 {
		t.Fatalf("the action made %q", now)
	}
	last, err := l.Last(root, nil)
	if err != nil || last.ID != a.ID || len(last.Files) != 5 || last.Tool != "edit" || last.Call != "call_0" {
		t.Fatalf("Last = %+v, %v", last, err)
	}
	if _, err := l.Undo(root, a.ID); err != nil {
		t.Fatal(err)
	}
	if now := tree(t, dir); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("undone: %q, want %q", now, before)
	}
	if info, err := os.Stat(filepath.Join(dir, "old.sh")); err != nil ||
		runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("old.sh: %v, %v", info.Mode(), err)
	}
	if _, err := l.Undo(root, a.ID); !errors.Is(err, ErrUndone) {
		t.Errorf("undone twice: %v", err)
	}
	if _, err := l.Last(root, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("Last = %v", err)
	}
	all, err := l.Actions()
	if err != nil || len(all) != 1 || !all[0].Undone {
		t.Errorf("Actions = %+v, %v", all, err)
	}
}

// TestUndoRefuses leaves every file alone when one has changed since.
func TestUndoRefuses(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "one\n", "gone.txt": "gone", "old.sh": "x\n"})
	l := &Log{Dir: t.TempDir()}
	a := act(t, l, root, several)
	for _, c := range []struct{ name, text string }{{"a.txt", "mine\n"}, {"gone.txt", "made again"},
		{"moved.sh", "y\nz\n"}} {
		before := tree(t, dir)
		put(t, dir, c.name, c.text)
		want := tree(t, dir)
		if _, err := l.Undo(root, a.ID); !errors.Is(err, ErrStale) {
			t.Errorf("%s has changed: %v", c.name, err)
		}
		if now := tree(t, dir); fmt.Sprint(now) != fmt.Sprint(want) {
			t.Errorf("%s has changed, and what was refused made %q", c.name, now)
		}
		if text, ok := before[c.name]; ok {
			put(t, dir, c.name, text)
		} else if err := os.Remove(filepath.Join(dir, c.name)); err != nil {
			t.Fatal(err)
		}
	}
	other, _ := workspace(t, nil)
	for id, want := range map[string]error{"": ErrUnknown, "../" + a.ID: ErrUnknown,
		"u000000000000000000": ErrUnknown} {
		if _, err := l.Undo(root, id); !errors.Is(err, want) {
			t.Errorf("Undo(%q) = %v, want %v", id, err, want)
		}
	}
	if _, err := l.Undo(other, a.ID); !errors.Is(err, ErrRoot) {
		t.Errorf("in another directory: %v", err)
	}
	if _, err := l.Undo(root, a.ID); err != nil {
		t.Errorf("all as it was: %v", err)
	}
}

// TestUndoPart takes back an action of a process that ended between two files.
func TestUndoPart(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "one\n", "gone.txt": "gone", "old.sh": "x\n"})
	before := tree(t, dir)
	l := &Log{Dir: t.TempDir()}
	a := act(t, l, root, several)
	put(t, dir, "a.txt", "one\n") // as if it had never been reached
	if _, err := l.Undo(root, a.ID); err != nil {
		t.Fatal(err)
	}
	if now := tree(t, dir); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("undone: %q, want %q", now, before)
	}
}

func TestDamaged(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "one\n"})
	l := &Log{Dir: t.TempDir()}
	a := act(t, l, root, "=== FILE: a.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n")
	if err := os.WriteFile(filepath.Join(l.Dir, a.ID, "0"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Undo(root, a.ID); !errors.Is(err, ErrDamaged) {
		t.Errorf("the kept file is another one: %v", err)
	}
	if now := tree(t, dir); now["a.txt"] != "two\n" {
		t.Errorf("a.txt is %q", now["a.txt"])
	}
	if err := os.WriteFile(filepath.Join(l.Dir, a.ID, actionFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Undo(root, a.ID); !errors.Is(err, ErrDamaged) {
		t.Errorf("the action cannot be read: %v", err)
	}
	if all, err := l.Actions(); err != nil || len(all) != 0 {
		t.Errorf("Actions = %v, %v", all, err)
	}
}

// TestKeep keeps the last actions only, the last one whatever its size, and nothing where nothing is to be kept or
// has changed.
func TestKeep(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "0\n"})
	swap := func(l *Log, from, to int) Action {
		return act(t, l, root, fmt.Sprintf("=== FILE: a.txt\n<<<<<<< SEARCH\n%d\n=======\n%d\n>>>>>>> REPLACE\n", from,
			to))
	}
	for _, l := range []*Log{{Dir: t.TempDir(), Keep: 3}, {Dir: t.TempDir(), Bytes: 1}} {
		put(t, dir, "a.txt", "0\n")
		for i := range 5 {
			swap(l, i, i+1)
		}
		want := map[int]int{3: 3, 0: 1}[l.Keep]
		all, err := l.Actions()
		if err != nil || len(all) != want {
			t.Errorf("%+v keeps %d actions, %v", l, len(all), err)
		}
		for i := range all {
			if i > 0 && all[i].ID >= all[i-1].ID {
				t.Errorf("%s stands behind %s", all[i].ID, all[i-1].ID)
			}
		}
	}
	var none *Log
	if a := swap(none, 5, 6); a.ID != "" {
		t.Errorf("no log made the action %s", a.ID)
	}
	l := &Log{Dir: filepath.Join(dir, "log")}
	if a := swap(l, 6, 6); a.ID != "" {
		t.Errorf("an edit that changes nothing is the action %s", a.ID)
	}
	if _, err := l.Actions(); err != nil {
		t.Error(err)
	}
}

// TestDoFails keeps nothing of an action that could not be carried out.
func TestDoFails(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "one\n"})
	l := &Log{Dir: t.TempDir()}
	changes := []edit.Change{{Path: "a.txt", Existed: true, Exists: true, Before: []byte("other\n"),
		After: []byte("x\n")}}
	if _, err := l.Do(root, "edit", "", changes); !errors.Is(err, ErrStale) {
		t.Errorf("Do = %v", err)
	}
	if entries, err := os.ReadDir(l.Dir); err != nil || len(entries) > 0 {
		t.Errorf("kept: %v, %v", entries, err)
	}
	if now := tree(t, dir); now["a.txt"] != "one\n" {
		t.Errorf("a.txt is %q", now["a.txt"])
	}
}

// TestChanges sums up what actions made of files: from before the first one to now, whatever came between.
func TestChanges(t *testing.T) {
	root, dir := workspace(t, map[string]string{"a.txt": "one\ntwo\n", "old.sh": "x\n", "gone.txt": "gone"})
	log := &Log{Dir: filepath.Join(t.TempDir(), "undo")}
	all := func(*Action) bool { return true }
	sum := func(of func(*Action) bool) map[string]string {
		t.Helper()
		totals, err := log.Changes(root, of)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, c := range totals {
			out[c.Path] = fmt.Sprintf("%q to %q, since %t", c.Before, c.After, c.Since)
		}
		return out
	}
	same := func(what string, got, want map[string]string) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	same("nothing was done", sum(all), map[string]string{})
	act(t, log, root, several)
	last := act(t, log, root, "=== FILE: a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n")
	want := map[string]string{"a.txt": `"one\ntwo\n" to "ONE\n2\n", since false`,
		"new/b.txt": `"" to "made\n", since false`, "gone.txt": `"gone" to "", since false`,
		"old.sh": `"x\n" to "", since false`, "moved.sh": `"" to "y\n", since false`}
	same("all of it", sum(all), want)
	same("the last alone", sum(func(a *Action) bool { return a.ID == last.ID }),
		map[string]string{"a.txt": `"ONE\ntwo\n" to "ONE\n2\n", since false`})
	put(t, dir, "a.txt", "mine\n")
	if got := sum(all)["a.txt"]; got != `"one\ntwo\n" to "mine\n", since true` {
		t.Errorf("changed by somebody else: %s", got)
	}
	put(t, dir, "a.txt", "ONE\n2\n")
	if _, err := log.Undo(root, last.ID); err != nil {
		t.Fatal(err)
	}
	if got := sum(all)["a.txt"]; got != `"one\ntwo\n" to "ONE\ntwo\n", since false` {
		t.Errorf("after the last one was undone: %s", got)
	}
	if got, err := (*Log)(nil).Changes(root, all); err != nil || len(got) > 0 {
		t.Errorf("where nothing is kept: %v, %v", got, err)
	}
}

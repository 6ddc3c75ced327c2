package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool"
	"wield/tool/files"
	"wield/tool/runner"
	"wield/tool/undo"
)

// undoable returns a runner of all tools, which may write and keep what they change.
func undoable(t *testing.T, log *undo.Log, dir string) *runner.Runner {
	t.Helper()
	var reg runner.Registry
	for _, b := range Tools(Options{Undo: log}) {
		b.State = tool.StateEnabled
		if b.Guard != nil {
			b.Guard.Mode = tool.ModeRW
		}
		if err := reg.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	return runner.New(runner.Settings{Tools: &reg, Root: dir})
}

// TestUndo: what edit_file and write_file would do can be seen before, and taken back after.
func TestUndo(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "one\r\ntwo"})
	log := &undo.Log{Dir: t.TempDir()}
	r := undoable(t, log, dir)
	for _, tt := range []struct{ name, arguments, summary string }{
		{"edit_file", `{"path":"a.txt","old_string":"two","new_string":"2"}`, "[edit: a.txt (−1 +1)]"},
		{"write_file", `{"path":"sub/b.txt","content":"new\n"}`, "[create: sub/b.txt (1 line)]"},
		{"write_file", `{"path":"a.txt","content":"all\n"}`, "[edit: a.txt (−2 +1)]"},
	} {
		changes, err := r.Preview(t.Context(), chat.Call{Name: tt.name, Arguments: tt.arguments, Complete: true})
		if err != nil || len(changes) != 1 || changes[0].Summary() != tt.summary {
			t.Errorf("%s %s: Preview = %+v, %v", tt.name, tt.arguments, changes, err)
		}
		if res, err := r.Call(t.Context(), tt.name, tt.arguments); err != nil || !res.OK {
			t.Fatalf("%s %s: %+v, %v", tt.name, tt.arguments, res, err)
		}
	}
	if _, err := r.Preview(t.Context(),
		chat.Call{Name: "edit_file", Arguments: `{"path":"a.txt","old_string":"nine","new_string":"2"}`,
			Complete: true}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("Preview of an edit that fails = %v", err)
	}
	root, err := files.Open(dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for range 3 {
		a, err := log.Last(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Undo(root, a.ID); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "one\r\ntwo" {
		t.Errorf("a.txt is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sub", "b.txt")); err == nil {
		t.Error("sub/b.txt is still there")
	}
}

// TestUndoFileAccess takes back what file_access wrote and deleted, and deletes a link without what it leads to.
func TestUndoFileAccess(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "one\n", "b.bin": "\x00\xff"})
	log := &undo.Log{Dir: t.TempDir()}
	r := undoable(t, log, dir)
	call := func(arguments string) {
		t.Helper()
		if res, err := r.Call(t.Context(), "file_access", arguments); err != nil || !res.OK {
			t.Fatalf("%s: %+v, %v", arguments, res, err)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "(gone)"
		}
		return string(text)
	}
	call(`{"operation":"write","path":"a.txt","content":"two\n"}`)
	call(`{"operation":"delete","path":"b.bin"}`)
	if read("a.txt") != "two\n" || read("b.bin") != "(gone)" {
		t.Fatalf("a %q, b %q", read("a.txt"), read("b.bin"))
	}
	root, err := files.Open(dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for range 2 {
		a, err := log.Last(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Undo(root, a.ID); err != nil {
			t.Fatal(err)
		}
	}
	if read("a.txt") != "one\n" || read("b.bin") != "\x00\xff" {
		t.Errorf("after undoing: a %q, b %q", read("a.txt"), read("b.bin"))
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Logf("SKIPPED: no links here: %v", err)
		return
	}
	call(`{"operation":"delete","path":"link"}`)
	if _, err := os.Lstat(filepath.Join(dir, "link")); err == nil || read("a.txt") != "one\n" {
		t.Errorf("the link is there (%v), or a.txt is not: %q", err, read("a.txt"))
	}
}

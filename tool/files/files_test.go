package files_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/tool/files"
)

const secret = "what lies outside"

// tree makes a root with files and links, and a directory beside it that nothing may reach.
func tree(t *testing.T) (root *files.Root, dir, outside string) {
	t.Helper()
	top := t.TempDir()
	dir, outside = filepath.Join(top, "work"), filepath.Join(top, "outside")
	for _, d := range []string{dir, outside, filepath.Join(dir, "sub"), filepath.Join(top, "work-evil")} {
		must(t, os.Mkdir(d, 0o755))
	}
	for name, text := range map[string]string{
		"a.txt": "a", "sub/b.txt": "b", "a..b.txt": "dots", "~": "tilde", "$HOME": "dollar",
		"../outside/secret.txt": secret, "../work-evil/secret.txt": secret,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640))
	}
	for name, target := range map[string]string{
		"in": "a.txt", "sub/up": "../a.txt", "dangling": "sub/new.txt", "loop": "loop",
		"out": "../outside/secret.txt", "abs": filepath.Join(outside, "secret.txt"), "outdir": "../outside",
		"self": filepath.Join(dir, "a.txt"), "proc": "/proc/self/root",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	must(t, os.Link(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "hard")))
	root, err := files.Open(dir, files.Options{})
	must(t, err)
	t.Cleanup(func() {
		root.Close()
		if b, err := os.ReadFile(filepath.Join(outside, "secret.txt")); err != nil || string(b) != secret {
			t.Errorf("the file outside was changed: %q, %v", b, err)
		}
	})
	return root, dir, outside
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	root, dir, outside := tree(t)
	for _, c := range []struct {
		path string
		want string // the content
		err  error
	}{
		{path: "a.txt", want: "a"},
		{path: "./sub/../a.txt", want: "a"},
		{path: "sub//b.txt", want: "b"},
		{path: dir + "/a.txt", want: "a"},
		{path: "a..b.txt", want: "dots"},
		{path: "~", want: "tilde"},
		{path: "$HOME", want: "dollar"},
		{path: "in", want: "a"},
		{path: "sub/up", want: "a"},

		{path: "", err: files.ErrPath},
		{path: "a.txt\x00", err: files.ErrPath},
		{path: "a.txt\n../outside/secret.txt", err: files.ErrPath},
		{path: strings.Repeat("x", 300), err: files.ErrPath},
		{path: strings.Repeat("x/", 3000), err: files.ErrPath},
		{path: "none", err: fs.ErrNotExist},
		{path: "%2e%2e/outside/secret.txt", err: fs.ErrNotExist},
		{path: "dangling", err: fs.ErrNotExist},
		{path: "sub", err: files.ErrIsDir},
		{path: ".", err: files.ErrIsDir},
		{path: "a.txt/x", err: files.ErrNotDir},
		{path: "loop", err: files.ErrLoop},
		{path: "../outside/secret.txt", err: files.ErrOutside},
		{path: "sub/../../outside/secret.txt", err: files.ErrOutside},
		{path: "..", err: files.ErrOutside},
		{path: outside + "/secret.txt", err: files.ErrOutside},
		{path: dir + "-evil/secret.txt", err: files.ErrOutside},
		{path: dir + "/../outside/secret.txt", err: files.ErrOutside},
		{path: "/proc/self/root" + dir + "/a.txt", err: files.ErrOutside},
		{path: "/dev/fd/0", err: files.ErrOutside},
		{path: "out", err: files.ErrOutside},
		{path: "abs", err: files.ErrOutside},
		{path: "self", err: files.ErrOutside},
		{path: "outdir/secret.txt", err: files.ErrOutside},
		{path: "outdir/", err: files.ErrOutside},
		{path: "proc/etc/passwd", err: files.ErrOutside},
		{path: "hard", err: files.ErrShared},
	} {
		b, err := root.ReadFile(c.path)
		if !errors.Is(err, c.err) || string(b) != c.want {
			t.Errorf("ReadFile(%.60q) = %q, %v; want %q, %v", c.path, b, err, c.want, c.err)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), secret)) {
			t.Errorf("ReadFile(%.60q): the error %q", c.path, err)
		}
	}
}

func TestSharedByOption(t *testing.T) {
	_, dir, _ := tree(t)
	root, err := files.Open(dir, files.Options{Shared: true})
	must(t, err)
	defer root.Close()
	if b, err := root.ReadFile("hard"); err != nil || string(b) != secret {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
}

func TestLimit(t *testing.T) {
	_, dir, _ := tree(t)
	root, err := files.Open(dir, files.Options{MaxFile: 3})
	must(t, err)
	defer root.Close()
	if err := root.WriteFile("three", []byte("123"), files.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if b, err := root.ReadFile("three"); err != nil || string(b) != "123" {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
	if err := root.WriteFile("three", []byte("1234"), files.WriteOptions{}); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("writing four bytes: %v", err)
	}
	if _, err := root.ReadFile("a..b.txt"); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("reading four bytes: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "three")); string(b) != "123" {
		t.Errorf("the refused write left %q", b)
	}
	leftovers(t, dir)
}

// leftovers fails if a temporary file is left.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, ".wield-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWrite(t *testing.T) {
	root, dir, outside := tree(t)
	for _, c := range []struct {
		path string
		opts files.WriteOptions
		at   string // where the content stands afterwards
		err  error
	}{
		{path: "a.txt", at: "a.txt"},
		{path: "fresh.txt", at: "fresh.txt"},
		{path: "fresh.txt", opts: files.WriteOptions{New: true}, err: fs.ErrExist},
		{path: "fresher.txt", opts: files.WriteOptions{New: true}, at: "fresher.txt"},
		{path: "in", at: "a.txt"}, // through the link, which stays
		{path: "in", at: "in"},
		{path: "dangling", at: "sub/new.txt"},
		{path: "no/such/dir.txt", err: fs.ErrNotExist},
		{path: "no/such/dir.txt", opts: files.WriteOptions{Parents: true}, at: "no/such/dir.txt"},
		{path: ".", err: files.ErrIsDir},
		{path: "sub", err: files.ErrIsDir},
		{path: "hard", err: files.ErrShared},
		{path: "out", err: files.ErrOutside},
		{path: "abs", err: files.ErrOutside},
		{path: "outdir/new.txt", err: files.ErrOutside},
		{path: "outdir/new/new.txt", opts: files.WriteOptions{Parents: true}, err: files.ErrOutside},
		{path: "../outside/new.txt", err: files.ErrOutside},
		{path: "loop", err: files.ErrLoop},
		{path: "a.txt/x", err: files.ErrNotDir},
	} {
		text := "new " + c.path
		err := root.WriteFile(c.path, []byte(text), c.opts)
		if !errors.Is(err, c.err) {
			t.Errorf("WriteFile(%q) = %v, want %v", c.path, err, c.err)
		}
		if c.at == "" {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(dir, c.at)); err != nil || string(b) != text {
			t.Errorf("%s holds %q, %v", c.at, b, err)
		}
	}
	if target, err := os.Readlink(filepath.Join(dir, "in")); err != nil || target != "a.txt" {
		t.Errorf("the link became %q, %v", target, err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside there is %v", entries)
	}
	leftovers(t, dir)
}

func TestWriteKeepsMode(t *testing.T) {
	root, dir, _ := tree(t)
	must(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o751))
	must(t, root.WriteFile("a.txt", []byte("x"), files.WriteOptions{Mode: 0o600}))
	must(t, root.WriteFile("private", []byte("x"), files.WriteOptions{Mode: 0o600}))
	for name, want := range map[string]fs.FileMode{"a.txt": 0o751, "private": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}

// TestWriteFails checks that a write that breaks off leaves the old version and no other file.
func TestWriteFails(t *testing.T) {
	root, dir, _ := tree(t)
	broken := errors.New("the source broke off")
	if n, err := root.Write("a.txt", io.MultiReader(strings.NewReader("half"), failing{broken}),
		files.WriteOptions{}); !errors.Is(err, broken) || n != 4 {
		t.Errorf("Write = %d, %v", n, err)
	}
	changed := errors.New("it is another one by now")
	err := root.WriteFile("a.txt", []byte("x"), files.WriteOptions{Expect: func(old *files.File) error {
		if b, err := io.ReadAll(old); err != nil || string(b) != "a" {
			t.Errorf("the old version is %q, %v", b, err)
		}
		return changed
	}})
	if !errors.Is(err, changed) {
		t.Errorf("WriteFile = %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(b) != "a" {
		t.Errorf("the file holds %q", b)
	}
	leftovers(t, dir)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestList(t *testing.T) {
	root, dir, _ := tree(t)
	names := func(p string) (list []string, failed error) {
		for e, err := range root.List(p) {
			if err != nil {
				return list, err
			}
			list = append(list, e.Name)
		}
		return list, nil
	}
	if list, err := names("sub"); err != nil || len(list) != 2 {
		t.Errorf("sub: %v, %v", list, err)
	}
	for _, p := range []string{".", dir} {
		if list, err := names(p); err != nil || len(list) != 14 {
			t.Errorf("%s: %d entries %v, %v", p, len(list), list, err)
		}
	}
	for p, want := range map[string]error{
		"outdir": files.ErrOutside, "outdir/": files.ErrOutside, "..": files.ErrOutside, "a.txt": files.ErrNotDir,
		"none": fs.ErrNotExist,
	} {
		if list, err := names(p); !errors.Is(err, want) || len(list) > 0 {
			t.Errorf("%s: %v, %v; want %v", p, list, err, want)
		}
	}
}

func TestWalk(t *testing.T) {
	root, dir, _ := tree(t)
	must(t, os.MkdirAll(filepath.Join(dir, "left/out"), 0o755))
	var b bytes.Buffer
	for e, err := range root.Walk(t.Context(), ".", func(e files.Entry) bool { return e.Name != "left" }) {
		must(t, err)
		b.WriteString(e.Name + "\n")
	}
	want := "$HOME a..b.txt a.txt abs dangling hard in left loop out outdir proc self sub ~ sub/b.txt sub/up"
	if got := strings.Join(strings.Fields(b.String()), " "); got != want {
		t.Errorf("walked\n%s, want\n%s", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range root.Walk(ctx, ".", nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled walk gives %v", err)
		}
	}
}

func TestRemoveRename(t *testing.T) {
	root, dir, _ := tree(t)
	for _, p := range []string{"a.txt", "hard", "out", "outdir"} { // links go, what they lead to stays
		if err := root.Remove(p); err != nil {
			t.Errorf("Remove(%q): %v", p, err)
		}
	}
	if err := root.Rename("sub/b.txt", "moved.txt"); err != nil {
		t.Error(err)
	}
	for p, want := range map[string]error{".": files.ErrPath, "..": files.ErrOutside, "none": fs.ErrNotExist,
		"proc/tmp": files.ErrOutside} {
		if err := root.Remove(p); !errors.Is(err, want) {
			t.Errorf("Remove(%q) = %v, want %v", p, err, want)
		}
	}
	for _, c := range []struct {
		from, to string
		want     error
	}{{"moved.txt", "in", fs.ErrExist}, {"moved.txt", "../x", files.ErrOutside},
		{"../outside/secret.txt", "x", files.ErrOutside}, {"none", "x", fs.ErrNotExist}} {
		if err := root.Rename(c.from, c.to); !errors.Is(err, c.want) {
			t.Errorf("Rename(%q, %q) = %v, want %v", c.from, c.to, err, c.want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "moved.txt")); err != nil || string(b) != "b" {
		t.Errorf("moved.txt holds %q, %v", b, err)
	}
}

func TestOpenMissing(t *testing.T) {
	if _, err := files.Open(filepath.Join(t.TempDir(), "none"), files.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that does not exist: %v", err)
	}
	if _, err := files.Open("", files.Options{}); !errors.Is(err, files.ErrPath) {
		t.Errorf("no root: %v", err)
	}
}

func TestIsText(t *testing.T) {
	for text, want := range map[string]bool{"": true, "text": true, "caf\xc3": true, "caf\xc3\xa9": true,
		"a\x00b": false, "\xff\xfe\xfd\xfc\xfb": false} {
		if got := files.IsText([]byte(text)); got != want {
			t.Errorf("IsText(%q) = %v", text, got)
		}
	}
}

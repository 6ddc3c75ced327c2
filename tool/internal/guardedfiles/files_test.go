package guardedfiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	for _, name := range []string{".git/hooks/x", ".github/workflows/ci.yml", ".github/readme", "a/b/conftest.py",
		"node_modules/x/conftest.py", ".wield.yaml", "a/main.go"} {
		write(t, dir, name, "")
	}
	for _, part := range []string{"HEAD", "objects/x", "refs/x", "config", "hooks/x", "worktrees/w/HEAD",
		"worktrees/w/commondir"} {
		write(t, dir, "store/"+part, "") // what git takes for a repository
	}
	for _, name := range []string{"scripts/conv", "scripts/dep.sh", "tools/other", "vendor/lib/.git/HEAD",
		"target/x/y/.git", "dist/x/.envrc"} {
		write(t, dir, name, "")
	}
	write(t, dir, ".git/config", `[core]
	hooksPath = "scripts/hooks"
[x]
	hookspath = ../outside
[include]
	path = ../shared.gitconfig
[diff "x"]
	textconv = scripts/conv --text
[alias]
	dep = "!./scripts/dep.sh; ls tools"
`)
	t.Setenv("HOME", t.TempDir())
	found := Find(dir)
	if !found.All {
		t.Error("not all")
	}
	var got []string
	for _, p := range found.Files {
		rel, _ := filepath.Rel(dir, p)
		got = append(got, filepath.ToSlash(rel))
	}
	if want := []string{".git", "scripts/hooks", "shared.gitconfig", "scripts/conv", "scripts/dep.sh", ".wield.yaml",
		".github/workflows", "store/hooks", "store/config", "store/worktrees/w/commondir", "a/b/conftest.py",
		"vendor/lib/.git", "target/x/y/.git"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFindIncluded checks that configuration is followed through all that it includes.
func TestFindIncluded(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	write(t, home, ".gitconfig", "[include] path = ~/more/git config\n")
	write(t, dir, "xdg/git/config", "[core] hooksPath=x hooks # of all\n")
	write(t, dir, ".git/config", "[include]\n\tpath = ../first\n")
	write(t, dir, "nested/.git/config", "[core]\n\thooksPath =\n")
	write(t, dir, ".git/config.worktree", "[core]\n\tfsmonitor = ./watch\n")
	want := []string{write(t, dir, "first", `[includeIf "gitdir:x]=y"] path = sub/second`), write(t, dir, "watch", ""),
		write(t, home, "more/git config", "[core]\n\thooksPath = \"my hooks\" # of all\n"),
		write(t, dir, "sub/second", "[include]\n\tpath = ../first\n[core]\n\thooksPath = deep/hooks\n"),
		filepath.Join(dir, "my hooks"), filepath.Join(dir, "deep/hooks"), filepath.Join(dir, "x hooks")}
	got := Find(dir)
	for _, path := range want {
		if !slices.Contains(got.Files, path) {
			t.Errorf("%s is not guarded: %q", path, got.Files)
		}
	}
	for _, name := range []string{"all", "x", "nested"} {
		if path := filepath.Join(dir, name); slices.Contains(got.Files, path) {
			t.Errorf("%s is guarded: %q", path, got.Files)
		}
	}
}

// TestFindLinks checks that what guarded names are links to is guarded too, and that links in a circle, outside or to
// everything hide and close nothing.
func TestFindLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tools/hooks/pre-commit", "ci/workflows/ci.yml", "ci/other", "src/conf.py", "docs/a"} {
		write(t, dir, name, "a")
	}
	for link, to := range map[string]string{".Husky": "tools/hooks", ".github": "ci", "conftest.py": "src/conf.py",
		".vscode": ".", "docs/.gitea": "..", ".idea": "/", ".claude": ".claude", "docs/.forgejo": "../docs"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	before := Find(dir)
	was := Take(before)
	want := []string{write(t, dir, "ci/workflows/new.yml", "b"), write(t, dir, "src/conf.py", "b"),
		write(t, dir, "tools/hooks/pre-commit", "b")}
	write(t, dir, "docs/a", "b")
	write(t, dir, "ci/other", "b")
	want = append(want, filepath.Join(dir, ".cargo")) // a link that leads to what is run later, outside
	if err := os.Symlink(t.TempDir(), want[3]); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	found := Find(dir)
	var got []string
	for _, c := range was.Changes(Take(found)) {
		got = append(got, c.Path)
	}
	if slices.Sort(got); !before.All || !slices.Equal(got, want) || slices.Contains(found.Files, dir) {
		t.Errorf("%v, %q, want %q; guarded: %+v", before.All, got, want, found)
	}
}

// TestFindLinksInCircles: links that lead to one another hide nothing, and of a .git that is a link git may write what it
// writes in any other.
func TestFindLinksInCircles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workflows := filepath.Dir(write(t, dir, ".github/workflows/ci.yml", "a"))
	hook := write(t, dir, "store.git/hooks/pre-commit", "a")
	for _, d := range []string{"b", "c"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"b/.github": "../c", "b/.gitea": "../c", "c/.github": "../b",
		"c/.gitea": "../b", ".gitlab": "b", ".git": "store.git"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	found := Find(dir)
	if !found.All || !slices.Contains(found.Files, workflows) || !slices.Contains(found.Files, filepath.Dir(hook)) ||
		slices.Contains(found.Files, filepath.Join(dir, "store.git")) {
		t.Errorf("%+v", found)
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
	if got := find(dir, 50); !slices.Equal(got.Files, []string{workflow}) || got.All {
		t.Errorf("%+v", got)
	}

	// Nor do the objects of a repository hide what is farther away than they are.
	dir = t.TempDir()
	write(t, dir, "!/HEAD", "")
	write(t, dir, "!/refs/x", "")
	for i := range 50 {
		write(t, dir, "!/objects/"+strconv.Itoa(i)+"/x", "")
	}
	want := []string{write(t, dir, "a/b/c/conftest.py", "")}
	if got := find(dir, 50); !slices.Equal(got.Files, want) || got.All {
		t.Errorf("%+v", got)
	}
	want = append(want, write(t, dir, "!/objects/49/conftest.py", ""))
	if got := find(dir, 200); !slices.Equal(got.Files, want) || !got.All {
		t.Errorf("%+v", got)
	}
	if got := Find(want[0]); !got.All { // a single file is no crowd
		t.Errorf("%+v", got)
	}
}

// TestFindBelowRepositories checks that nothing that makes git take a directory for a repository hides what lies below
// it, and that such a directory is told from what it was.
func TestFindBelowRepositories(t *testing.T) {
	guarded := []string{"conftest.py", ".github/workflows", "sub/.vscode", "sub/conftest.py", "sub/repo/.git",
		"objects/ab/conftest.py", "objects/pack/sub/.git", "refs/.husky", "dist/x/.git"}
	for name, parts := range map[string][]string{
		"nothing": nil, "bare": {"HEAD", "objects/", "refs/"}, "links": {"HEAD", "objects/", "refs@"},
		"commondir": {"HEAD", "commondir"},
	} {
		for _, at := range []string{".", "a", "vendor"} {
			t.Run(name+" in "+at, func(t *testing.T) {
				dir := t.TempDir()
				place := filepath.Join(dir, at)
				for _, g := range guarded {
					write(t, place, g+map[bool]string{true: "", false: "/x"}[strings.HasSuffix(g, ".py")], "")
				}
				was := Take(Find(dir))
				for _, part := range parts {
					var err error
					switch path := filepath.Join(place, part); part[len(part)-1] {
					case '/':
						err = os.MkdirAll(path, 0o755)
					case '@':
						if err = os.Rename(path[:len(path)-1], path[:len(path)-1]+".d"); err == nil {
							err = os.Symlink(filepath.Base(path[:len(path)-1])+".d", path[:len(path)-1])
						}
					default:
						write(t, place, part, "")
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				found := Find(dir)
				for _, g := range guarded {
					if at == "vendor" && !strings.HasSuffix(g, ".git") {
						continue
					}
					if name == "links" {
						g = strings.Replace(g, "refs/", "refs.d/", 1)
					}
					if path := filepath.Join(place, g); !slices.Contains(found.Files, path) {
						t.Errorf("%s is not guarded", g)
					}
				}
				told := slices.ContainsFunc(was.Changes(Take(found)), func(c Change) bool {
					return c.Path == place && c.Sum != "" && c.Sum == Sum(place)
				})
				if !found.All || told != (parts != nil) || slices.Contains(found.Files, place) {
					t.Errorf("all %v, told %v, closed: %q", found.All, told, found.Files)
				}
				if changes := Take(found).Changes(Take(Find(dir))); len(changes) > 0 {
					t.Errorf("changed by itself: %v", changes)
				}
			})
		}
	}
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	changed, gone := write(t, dir, "conftest.py", "a"), write(t, dir, ".envrc", "a")
	write(t, dir, ".git/hooks/same", "a")
	write(t, dir, ".git/objects/x", "a")
	now := func() Snapshot {
		found := Find(dir)
		return Take(found)
	}
	write(t, dir, ".git/rebase-merge/git-rebase-todo", "pick a\npick b\n")
	write(t, dir, ".git/worktrees/w/HEAD", "a")
	write(t, dir, ".git/modules/m/HEAD", "a")
	before := now()
	write(t, dir, ".git/rebase-merge/git-rebase-todo", "pick b\n")
	todo := write(t, dir, ".git/worktrees/w/rebase-merge/git-rebase-todo", "pick a\nx rm src\n")
	write(t, dir, "conftest.py", "b")
	write(t, dir, ".git/objects/y", "a") // what git keeps is its own
	state := []string{
		write(t, dir, ".git/rebase-merge/msgnum", "2"),
		write(t, dir, ".git/modules/m/sequencer/opts", "a"),
		write(t, dir, ".git/objects/info/alternates", "/x"),
		write(t, dir, ".git/rebase-apply/apply-opt", "--unsafe-paths"),
		write(t, dir, ".git/rebase-merge/strategy", "x"),
		write(t, dir, ".git/worktrees/w/gitdir", "/x"),
	}
	hook := write(t, dir, ".git/hooks/new", "a")
	for _, path := range append(state, todo, hook, changed) {
		if OfGit(path) != slices.Contains(state, path) {
			t.Errorf("OfGit(%s) is %v", path, OfGit(path))
		}
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range before.Changes(now()) {
		if got = append(got, c.Path); (c.Sum == "") != (c.Path == gone) {
			t.Errorf("%s: sum %q", c.Path, c.Sum)
		}
	}
	want := append([]string{gone, hook, todo, changed}, state...)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSumOfLarge checks that a change is seen that leaves size and time of a large file as they were.
func TestSumOfLarge(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only the times that a program can set are known there")
	}
	path := write(t, t.TempDir(), "large", strings.Repeat("x", mostRead+1))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	before := Sum(path)
	if again := Sum(path); again != before {
		t.Error("it changes by itself")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("evil"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if Sum(path) == before {
		t.Error("the change is not seen")
	}
}

// TestUnlisted checks that a directory that cannot be listed is guarded: files in it are opened by name all the same.
func TestUnlisted(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("every directory can be listed")
	}
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{".husky": 0o111, "sub": 0o111, "closed": 0, "unsearched": 0o444} {
		write(t, dir, name+"/.git/config", "")
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(path, 0o755) })
	}
	found := Find(dir)
	was := Take(found)
	for _, name := range []string{".husky", "closed", "sub", "unsearched"} {
		path := filepath.Join(dir, name)
		noted := path
		if name == "unsearched" { // its entries are known
			noted = filepath.Join(path, ".git")
		}
		if _, is := was[noted]; !is || !slices.Contains(found.Files, path) {
			t.Errorf("%s is not guarded: %+v, %v", name, found, was)
		}
	}
}

func TestProject(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main/.git/config", "[core]\n\thooksPath = hooks\n")
	write(t, dir, "main/src/x", "")
	write(t, dir, "tree/.git", "gitdir: ../main/.git/worktrees/tree\n")
	write(t, dir, "none/x", "")
	t.Setenv("HOME", dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, want := range map[string][2]string{
		"main/src": {in("main"), ""}, "main": {in("main"), ""}, "tree": {in("tree"), in("main/.git")},
		"none": {in("none"), ""},
	} {
		if top, git := Project(in(name)); top != want[0] || git != want[1] {
			t.Errorf("%s: %s, %s", name, top, git)
		}
	}
	if found := Find(in("tree")); !slices.Equal(found.Files, []string{in("tree/.git"), in("tree/hooks")}) {
		t.Errorf("%+v", found)
	}
}

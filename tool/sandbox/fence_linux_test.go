package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/tool/sandbox"
)

// fencedTree makes a workspace with what is to be protected in it.
func fencedTree(t *testing.T) (dir string, protected []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"tools", "a/b/tools", "plain", "a/b/tools/open"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"tools/x.py", "a/b/tools/x.py", "wield.yaml", "plain/x"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("before"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{filepath.Join(dir, "tools"), filepath.Join(dir, "a/b/tools"),
		filepath.Join(dir, "wield.yaml"), filepath.Join(dir, "not-there")}
}

// changes are lines for a shell that change what is protected, or put something else in its place.
var changes = []string{
	"echo after > tools/x.py", "echo after >> tools/x.py", "echo after > wield.yaml", "rm -f wield.yaml",
	"mv wield.yaml other.yaml", "echo x > new; mv -f new wield.yaml", "echo after > tools/new.py", "mkdir tools/d",
	"rm -rf tools", "mv tools elsewhere", "chmod 0 tools/x.py", "touch -d 2000-01-01 tools/x.py",
	"mv a elsewhere", "mv a/b a/c", "echo after > a/b/tools/x.py", "ln -f plain/x tools/x.py",
	"truncate -s 0 tools/x.py", "ln -s plain/x tools/link",
	"mount -o remount,rw $PWD/tools && echo after > tools/x.py", "umount -l $PWD/tools && echo after > tools/x.py",
	"unshare -Urm sh -c 'umount -l tools; mount -o remount,bind,rw tools; echo after > tools/x.py'",
	"ln wield.yaml second; echo after > second",
}

// TestProtected checks that nothing changes what is protected though it lies in a directory that may be
// changed, and that each change works where nothing is.
func TestProtected(t *testing.T) {
	line := "(" + strings.Join(changes, "); (") +
		"); echo later > plain/x; echo new > plain/y; echo open > a/b/tools/open/x; cat plain/x plain/y a/b/tools/open/x"
	for _, l := range levels(t, sandbox.Limits, sandbox.Workspace, sandbox.Strict) {
		dir, protected := fencedTree(t)
		c := sandbox.Command{Level: l, Dir: dir, Writable: []string{dir, filepath.Join(dir, "a/b/tools/open")},
			Protected: protected}
		p, out := fencedRun(t, c, line)
		if !slices.ContainsFunc(p.Effective().Layers, func(l sandbox.Layer) bool { return l.Name == "read-only" }) {
			t.Logf("%s: this machine gives no mount namespace, so that nothing is protected", l)
			continue
		}
		if !strings.HasSuffix(out, "later\nnew\nopen\n") {
			t.Errorf("%s: the rest of the workspace cannot be changed: %s", l, out)
		}
		for _, f := range []string{"tools/x.py", "a/b/tools/x.py", "wield.yaml"} {
			if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil || string(b) != "before" {
				t.Errorf("%s: %s is now %q, %v: %s", l, f, b, err, out)
			}
		}
		for d, want := range map[string]int{"tools": 1, "a/b/tools": 2} {
			if list, err := os.ReadDir(filepath.Join(dir, d)); err != nil || len(list) != want {
				t.Errorf("%s: %s holds %v, %v: %s", l, d, list, err, out)
			}
		}
	}
}

func fencedRun(t *testing.T, c sandbox.Command, line string) (*sandbox.Process, string) {
	t.Helper()
	var out strings.Builder
	c.Argv = []string{"/bin/sh", "-c", line}
	c.Stdout, c.Stderr = &out, &out
	p, err := sandbox.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return p, out.String()
}

// TestProtectedFromAbove checks that at the level limits, where every directory may be changed, none is moved away
// with what is protected in it.
func TestProtectedFromAbove(t *testing.T) {
	for _, l := range levels(t, sandbox.Limits) {
		dir, protected := fencedTree(t)
		c := sandbox.Command{Level: l, Dir: t.TempDir(), Protected: protected}
		p, out := fencedRun(t, c, "mv "+dir+" "+dir+"2; mv "+filepath.Dir(dir)+" "+dir+"3; mv "+dir+"/a "+dir+"/c; mv "+
			dir+"/a/b "+dir+"/a/c; echo new > "+dir+"/a/new")
		if !slices.ContainsFunc(p.Effective().Layers, func(l sandbox.Layer) bool { return l.Name == "read-only" }) {
			t.Skip("this machine gives no mount namespace, so that nothing is protected")
		}
		for _, f := range []string{"a/b/tools/x.py", "wield.yaml", "a/new"} {
			if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
}

// TestProtectedUnsearchable checks that what lies in a directory that may not be searched at the start of a process stays
// protected when the process opens that directory, and that all else does.
func TestProtectedUnsearchable(t *testing.T) {
	for _, l := range levels(t, sandbox.Limits, sandbox.Workspace) {
		dir, protected := fencedTree(t)
		b := filepath.Join(dir, "a/b")
		if err := os.Chmod(b, 0); err != nil {
			t.Fatal(err)
		}
		c := sandbox.Command{Level: l, Dir: dir, Writable: []string{dir}, Protected: protected}
		p, out := fencedRun(t, c, "chmod 755 a/b; echo after > a/b/tools/x.py; mv a/b/tools a/b/t; echo after > wield.yaml")
		if err := os.Chmod(b, 0o755); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(p.Effective().Layers, func(l sandbox.Layer) bool { return l.Name == "read-only" }) {
			t.Logf("%s: this machine gives no mount namespace, so that nothing is protected", l)
			continue
		}
		for _, f := range []string{"a/b/tools/x.py", "wield.yaml"} {
			if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil || string(b) != "before" {
				t.Errorf("%s: %s is now %q, %v: %s", l, f, b, err, out)
			}
		}
	}
}

// TestUnprotected checks that what TestProtected tries is tried in earnest.
func TestUnprotected(t *testing.T) {
	dir, _ := fencedTree(t)
	_, out := fencedRun(t, sandbox.Command{Level: sandbox.None, Dir: dir},
		"echo after > tools/x.py; rm wield.yaml; mv a/b a/c; cat a/c/tools/x.py tools/x.py; ls")
	if want := "beforeafter\na\nplain\ntools\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// TestMachine checks that a superuser at the level limits changes nothing of the machine.
func TestMachine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only a superuser could")
	}
	const file = "/proc/sys/kernel/core_pattern"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	for _, line := range []string{`printf '%s' "$0" > ` + file, `mount -o remount,rw /proc/sys; printf '%s' "$0" > ` +
		file, `umount -l /proc/sys; printf '%s' "$0" > ` + file,
		`mount -t proc proc /mnt; printf '%s' "$0" > /mnt/sys/kernel/core_pattern`,
		`printf '%s' "$0" > /proc/1/root` + file} {
		dir := t.TempDir()
		var out strings.Builder
		c := sandbox.Command{Level: sandbox.Limits, Dir: dir,
			Argv: []string{"/bin/sh", "-c", line + "; echo $? > f; chown 1:1 f; cat f",
				strings.TrimSpace(string(before))}, Stdout: &out}
		if _, err := sandbox.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if said := strings.TrimSpace(out.String()); said == "0" || said == "" {
			t.Errorf("%s: it was written: %q", line, said)
		}
	}
}

// TestInstallation checks that a person's own interpreter runs with its libraries, by way of PATH, of shims, of links
// and of the first line of a script, and that nothing else of the home can be read, whatever links tools set.
func TestInstallation(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	version := filepath.Join(home, ".env/versions/3")
	for name, text := range map[string]string{
		".env/versions/3/bin/snake":      "#!/bin/sh\n. " + version + "/lib/snake/core; cat " + home + "/notes\n",
		".env/versions/3/lib/snake/core": "echo library",
		".env/shims/shimmed":             "#!/bin/sh\nexec " + version + "/bin/snake\n",
		"bin/script":                     "#!/usr/bin/env snake\n",
		".uv/3/bin/linked":               "#!/bin/sh\n. " + home + "/.uv/3/lib/core",
		".uv/3/lib/core":                 "echo library",
		"own/alone":                      "#!/bin/sh\necho library\ncat " + home + "/own/notes\n",
		"own/notes":                      "private\n",
		"hidden/bin/program":             "#!/bin/sh\n",
		"hidden/lib/core":                "private\n",
		"project/sub/file":               "",
		"project/env/bin/program":        "#!/bin/sh\n",
		"closed/key":                     "private\n",
		"notes":                          "private\n",
		"lib/private":                    "private\n",
	} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{".uv/current": "3", "bin/linked": home + "/.uv/current/bin/linked",
		"bin/again": "linked", "bin/alone": "../own/alone", ".env/versions/current": "3",
		"bin/mine": "../project/mine", "project/mine": "../hidden/bin/program", "alias": "project",
		"project/bin": "../closed", "project/sub/run": "../../own/alone",
		"project/env/lib": "../../closed"} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + home, "PATH=" + home + "/bin:" + home + "/.env/shims:" + home +
		"/.env/versions/current/bin:" + home + "/alias:" + home + "/project/bin:" + home + "/project/env/bin:/usr/bin:/bin"}
	for _, l := range levels(t, sandbox.Workspace, sandbox.Strict) {
		c := sandbox.Command{Level: l, Dir: home + "/project/sub", Readable: []string{home + "/project"}, Env: env}
		_, out := fencedRun(t, c, "snake; shimmed; script; "+
			"linked; again; alone; cd "+home+"; cat lib/private own/notes hidden/lib/core closed/key")
		if strings.Count(out, "library\n") != 6 || slices.Contains(strings.Split(out, "\n"), "private") {
			t.Errorf("%s: %s", l, out)
		}
		var said strings.Builder
		c.Argv, c.Stdout = []string{"./run"}, &said
		if _, err := sandbox.Run(t.Context(), c); err != nil || said.String() != "library\n" {
			t.Errorf("%s: a link in the workspace: %q, %v", l, said.String(), err)
		}
	}
}

package gocache

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// TestGo lets the go command use a cache that another one has filled: it compiles only what is new, keeps that for
// the next time, and leaves the other cache as it was.
func TestGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, shared, own := t.TempDir(), filepath.Join(t.TempDir(), "a person's cache"), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := func(env ...string) (compiled []string) {
		t.Helper()
		cmd := exec.Command("go", "build", "-x", "./...")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			if _, rest, ok := strings.Cut(line, "/compile "); ok {
				_, rest, _ = strings.Cut(rest, " -p ")
				name, _, _ := strings.Cut(rest, " ")
				compiled = append(compiled, name)
			}
		}
		return compiled
	}
	write("go.mod", "module m\n\ngo 1.24\n")
	write("a/a.go", "package a\n\nconst A = 1\n")
	if got := build("GOCACHE="+shared, "GOCACHEPROG="); !slices.Equal(got, []string{"m/a"}) {
		t.Fatalf("compiled at first: %q", got)
	}
	before := names(t, shared)
	write("b/b.go", "package b\n\nimport \"m/a\"\n\nconst B = a.A\n")
	prog := "GOCACHEPROG=" + self + " " + hidden + ` "` + shared + `"`
	for _, want := range [][]string{{"m/b"}, nil} {
		if got := build("GOCACHE="+own, prog); !slices.Equal(got, want) {
			t.Errorf("compiled %q, want %q", got, want)
		}
	}
	if after := names(t, shared); !slices.Equal(after, before) {
		t.Errorf("the other cache has changed:\n%q\n%q", before, after)
	}
	if got := build("GOCACHE="+own, "GOCACHEPROG="); !slices.Equal(got, []string{"m/a"}) {
		t.Errorf("without the program the go command compiled %q of its own cache", got)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		all = append(all, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestServe(t *testing.T) {
	for _, tt := range []struct{ name, in, want, fails string }{
		{"nothing", "", "", ""},
		{"not there", `{"ID":1,"Command":"get","ActionID":"YWE="}`, `{"ID":1,"Miss":true}`, ""},
		{"empty id", `{"ID":1,"Command":"get"}`, `{"ID":1,"Miss":true}`, ""},
		{"stored and read", `{"ID":1,"Command":"put","ActionID":"YWE=","OutputID":"YmI=","BodySize":2}` +
			"\n\"aGk=\"\n" + `{"ID":2,"Command":"get","ActionID":"YWE="}`,
			`"OutputID":"YmI=","Size":2`, ""},
		{"empty body", `{"ID":1,"Command":"put","ActionID":"YWE=","OutputID":"YmI="}` + "\n" +
			`{"ID":2,"Command":"get","ActionID":"YWE="}`, `"ID":2,"OutputID":"YmI="`, ""},
		{"too short", `{"ID":1,"Command":"put","ActionID":"YWE=","OutputID":"YmI=","BodySize":3}` + "\n\"aGk=\"",
			"2 bytes came and 3 were announced", ""},
		{"unknown", `{"ID":1,"Command":"get2"}`, `unknown command \"get2\"`, ""},
		{"closed", `{"ID":1,"Command":"close"}` + "\nwhat stands here is not read", `{"ID":1}`, ""},
		{"broken", `{"ID":`, "", "reading a request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := Serve(strings.NewReader(tt.in), &out, t.TempDir(), t.TempDir())
			if tt.fails == "" && err != nil ||
				tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("%v, want %q", err, tt.fails)
			}
			first, rest, _ := strings.Cut(out.String(), "\n")
			if !strings.Contains(first, `"KnownCommands":["get","put","close"]`) || !strings.Contains(rest, tt.want) {
				t.Errorf("%s", out.String())
			}
		})
	}
}

// TestTruncated: an output that is not there as a whole is not used.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	path, err := put(dir, request{ActionID: []byte("aa"), OutputID: []byte("bb"), BodySize: 4}, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := get(dir, []byte("aa")); !ok || r.DiskPath != path || r.Size != 4 {
		t.Errorf("%+v, %v", r, ok)
	}
	if err := os.WriteFile(path, []byte("te"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, ok := get(dir, []byte("aa")); ok {
		t.Errorf("%+v", r)
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ program, cache, want string }{
		{"/bin/wield", dir, "/bin/wield " + hidden + " " + dir},
		{"", dir, ""},
		{"/bin/wield", "off", ""},
		{"/bin/wield", filepath.Join(dir, "none"), ""},
	} {
		if got := strings.Join(Command(tt.program, func(string) string { return tt.cache }), " "); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.program, tt.cache, got, tt.want)
		}
	}
}

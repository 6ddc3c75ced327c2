package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/internal/testlevel"
	"wield/tool/sandbox"
)

func TestMain(m *testing.M) {
	otherMains()
	os.Exit(m.Run())
}

// levels are those that this machine gives, of those that are wanted; the others are skipped aloud.
func levels(t *testing.T, want ...sandbox.Level) []sandbox.Level {
	t.Helper()
	if want == nil {
		want = sandbox.Levels()
	}
	var list []sandbox.Level
	m := sandbox.Probe()
	for _, l := range want {
		if r := m.Level(l); r.OK {
			list = append(list, l)
		} else {
			t.Run(string(l), func(t *testing.T) { t.Skipf("this machine cannot give it: %v", r.Missing) })
		}
	}
	return list
}

// sample returns one of the levels, in turn for the cases of a table, or all of them where everything is asked for.
func sample(given []sandbox.Level, i int) []sandbox.Level {
	if testlevel.Every(2) == 1 || len(given) == 0 {
		return given
	}
	i %= len(given)
	return given[i : i+1]
}

// sh runs a line of shell and returns what it wrote.
func sh(t *testing.T, c sandbox.Command, line string) (out string, exit sandbox.Exit, err error) {
	t.Helper()
	c.Argv = []string{"sh", "-c", line}
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	exit, err = sandbox.Run(t.Context(), c)
	return b.String(), exit, err
}

// unixOnly skips what speaks to a shell.
func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell here")
	}
}

func TestRun(t *testing.T) {
	unixOnly(t)
	for _, l := range levels(t) {
		t.Run(string(l), func(t *testing.T) {
			dir := t.TempDir()
			var stdout, stderr bytes.Buffer
			p, err := sandbox.Start(t.Context(), sandbox.Command{
				Argv: []string{"sh", "-c", `cat; pwd; echo "$0" "$1" "$A$B$HIDDEN"; echo trouble >&2; exit 3`, "name",
					"; rm -rf $HOME"},
				Dir: dir, Level: l, Stdin: strings.NewReader("input\n"), Stdout: &stdout, Stderr: &stderr,
				Env: []string{"PATH=/usr/bin:/bin", "A=1", "B=2"},
			})
			if err != nil {
				t.Fatal(err)
			}
			exit, err := p.Wait()
			if err != nil || exit.Code != 3 || exit.Signal != "" || exit.Truncated {
				t.Errorf("it ended with %+v, %v", exit, err)
			}
			real, _ := filepath.EvalSymlinks(dir)
			if want := "input\n" + real + "\nname ; rm -rf $HOME 12\n"; stdout.String() != want {
				t.Errorf("it wrote %q, want %q", stdout.String(), want)
			}
			if stderr.String() != "trouble\n" || exit.Stderr != 8 || exit.Stdout != int64(stdout.Len()) {
				t.Errorf("it wrote %q to the error stream, %+v", stderr.String(), exit)
			}
			if got := p.Effective(); got.Level != l || len(got.Layers) == 0 {
				t.Errorf("it got %+v", got)
			}
		})
	}
}

func TestBadCommands(t *testing.T) {
	unixOnly(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	true_ := []string{"true"}
	for _, c := range []struct {
		name string
		c    sandbox.Command
		want error
		text string
	}{
		{"nothing", sandbox.Command{}, sandbox.ErrCommand, "no program"},
		{"empty", sandbox.Command{Argv: []string{"", "x"}}, sandbox.ErrCommand, "no program"},
		{"NUL", sandbox.Command{Argv: []string{"true", "a\x00b"}}, sandbox.ErrCommand, "argument 1 holds a NUL"},
		{"NUL in the environment", sandbox.Command{Argv: true_, Env: []string{"A=\x00"}}, sandbox.ErrCommand, `"A"`},
		{"no name in the environment", sandbox.Command{Argv: true_, Env: []string{"=x"}}, sandbox.ErrCommand,
			"NAME=value"},
		{"level", sandbox.Command{Argv: true_, Level: "high"}, sandbox.ErrCommand,
			"none, limits, workspace and strict"},
		{"missing", sandbox.Command{Argv: []string{"no-such-program"}}, sandbox.ErrNotFound, "in no directory of PATH"},
		{"a relative PATH", sandbox.Command{Argv: []string{"script"}, Dir: dir, Env: []string{"PATH=.:" + "::"}},
			sandbox.ErrNotFound, "PATH"},
		{"missing file", sandbox.Command{Argv: []string{"./none"}, Dir: dir}, fs.ErrNotExist, "none"},
		{"not executable", sandbox.Command{Argv: []string{"./file"}, Dir: dir}, sandbox.ErrNotFound, "not executable"},
		{"a directory", sandbox.Command{Argv: []string{dir}}, sandbox.ErrNotFound, "is a directory"},
		{"missing interpreter", sandbox.Command{Argv: []string{"./script"}, Dir: dir, Level: sandbox.None},
			sandbox.ErrNotFound, "interpreter"},
		{"no directory", sandbox.Command{Argv: true_, Dir: file}, sandbox.ErrCommand, "no directory"},
		{"missing directory", sandbox.Command{Argv: true_, Dir: dir + "/none"}, fs.ErrNotExist, "none"},
		{"missing writable", sandbox.Command{Argv: true_, Writable: []string{dir + "/none"}}, fs.ErrNotExist, "none"},
		{"everything writable", sandbox.Command{Argv: true_, Writable: []string{"/"}}, sandbox.ErrCommand, "no walls"},
		{"too little memory", sandbox.Command{Argv: true_, Limits: sandbox.ProcessLimits{Memory: 1 << 20}},
			sandbox.ErrCommand, "the least is"},
		{"too few files", sandbox.Command{Argv: true_, Limits: sandbox.ProcessLimits{OpenFiles: 3}},
			sandbox.ErrCommand, "the least is"},
	} {
		_, err := sandbox.Run(t.Context(), c.c)
		var typed *sandbox.Error
		if !errors.Is(err, c.want) || !errors.As(err, &typed) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sandbox.Run(ctx, sandbox.Command{Argv: true_}); !errors.Is(err, sandbox.ErrCanceled) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	unixOnly(t)
	t.Setenv("WIELD_TEST_TOKEN", "secret")
	t.Setenv("WIELD_TEST_SHOWN", "shown")
	t.Setenv("HOME", "/nowhere")
	for _, l := range levels(t) {
		out, _, err := sh(t, sandbox.Command{Level: l, Env: sandbox.Environ("WIELD_TEST_SHOWN")}, "env")
		if err != nil {
			t.Fatal(err)
		}
		names := make(map[string]int)
		for line := range strings.Lines(out) {
			name, _, _ := strings.Cut(line, "=")
			names[name]++
		}
		if strings.Contains(out, "secret") || !strings.Contains(out, "WIELD_TEST_SHOWN=shown\n") ||
			names[sandbox.Marker] != 1 {
			t.Errorf("%s: the environment is\n%s", l, out)
		}
		for name, n := range names {
			if n > 1 {
				t.Errorf("%s: %s stands there %d times", l, name, n)
			}
		}
		private := strings.Contains(out, "HOME=/nowhere\n")
		if walls := l == sandbox.Workspace || l == sandbox.Strict; private == walls {
			t.Errorf("%s: the home is\n%s", l, out)
		}
	}
}

// TestPrivateDirectories checks that a run has a temporary directory and a home, writable, its own, and gone
// afterwards.
func TestPrivateDirectories(t *testing.T) {
	for _, l := range levels(t, sandbox.Workspace, sandbox.Strict) {
		out, exit, err := sh(t, sandbox.Command{Level: l},
			`echo x >"$TMPDIR/x" && echo y >"$HOME/y" && echo "$TMPDIR" && echo "$HOME"`)
		if err != nil || exit.Code != 0 {
			t.Fatalf("%s: %+v, %v: %s", l, exit, err, out)
		}
		for dir := range strings.Lines(out) {
			if _, err := os.Stat(strings.TrimSpace(dir)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s is left: %v", l, dir, err)
			}
		}
	}
}

// TestWorkspace checks what a run may do in its directories, and that it is no more than it should be.
func TestWorkspace(t *testing.T) {
	for _, l := range levels(t, sandbox.Workspace, sandbox.Strict) {
		t.Run(string(l), func(t *testing.T) {
			work, more, fixed := t.TempDir(), t.TempDir(), t.TempDir()
			for _, d := range []string{work, more, fixed} {
				if err := os.WriteFile(filepath.Join(d, "old"), []byte("old\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c := sandbox.Command{Level: l, Dir: work, Writable: []string{work, more}, Readable: []string{fixed},
				Env: []string{"PATH=/usr/bin:/bin", "MORE=" + more, "FIXED=" + fixed}}
			for line, ok := range map[string]bool{
				`echo x >new && mkdir -p a/b && mv new a/b/ && ln a/b/new link && ln -s old soft && cat soft && rm -r a link soft`: true,
				`chmod 600 old && touch old && cat old >copy && rm copy`:                                                           true,
				`cat "$MORE/old" && echo x >>"$MORE/old" && mv "$MORE/old" moved && mv moved "$MORE/old"`:                          true,
				`cat "$FIXED/old"`: true,
				`ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null && head -c 8 /dev/urandom >/dev/null`: true,
				`echo x >"$FIXED/new"`:                                   false,
				`echo x >>"$FIXED/old"`:                                  false,
				`rm "$FIXED/old"`:                                        false,
				`ln "$FIXED/old" stolen && echo x >>stolen`:              false,
				`mkfifo pipe && (echo x >pipe &) && cat pipe && rm pipe`: true,
			} {
				out, exit, err := sh(t, c, line)
				if err != nil || (exit.Code == 0) != ok {
					t.Errorf("%s\nended with %d, %v: %s", line, exit.Code, err, out)
				}
			}
			c.Writable = nil
			if out, exit, _ := sh(t, c, "cat old && echo x >new"); exit.Code == 0 {
				t.Errorf("a directory that is not writable was written: %s", out)
			}
		})
	}
}

func TestOutputLimit(t *testing.T) {
	unixOnly(t)
	for _, c := range []struct {
		name   string
		limit  sandbox.ProcessLimits
		line   string
		kept   int
		seen   int64 // -1: it was ended
		excess bool
	}{
		{"all", sandbox.ProcessLimits{Output: 10}, "printf 1234567890", 10, 10, false},
		{"more", sandbox.ProcessLimits{Output: 10, Excess: 10}, "printf 12345678901234567890", 10, 20, false},
		{"too much", sandbox.ProcessLimits{Output: 10, Excess: 10}, "printf 123456789012345678901; sleep 1000", 10, -1,
			true},
		{"endless", sandbox.ProcessLimits{Output: 1000, Excess: 1 << 20}, "yes", 1000, -1, true},
		{"no limit", sandbox.ProcessLimits{Output: -1}, "head -c 3000000 /dev/zero", 3000000, 3000000, false},
		{"no excess", sandbox.ProcessLimits{Output: 5, Excess: -1}, "head -c 3000000 /dev/zero", 5, 3000000, false},
	} {
		out, exit, err := sh(t, sandbox.Command{Level: sandbox.None, Limits: c.limit}, c.line)
		if len(out) != c.kept || errors.Is(err, sandbox.ErrOutput) != c.excess || !c.excess && err != nil {
			t.Errorf("%s: kept %d bytes, %v", c.name, len(out), err)
		}
		if c.seen >= 0 && exit.Stdout != c.seen || exit.Truncated != (exit.Stdout > int64(c.kept)) {
			t.Errorf("%s: %+v", c.name, exit)
		}
	}
}

type failingWriter struct{}

var errWriter = errors.New("the disk is full")

func (failingWriter) Write([]byte) (int, error) { return 0, errWriter }

func TestWriterFails(t *testing.T) {
	unixOnly(t)
	_, err := sandbox.Run(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", "echo x; sleep 1000"},
		Level: sandbox.None, Stdout: failingWriter{}})
	if !errors.Is(err, errWriter) || !errors.Is(err, sandbox.ErrCanceled) {
		t.Errorf("it ended with %v", err)
	}
}

// An overdue context is one whose time is over when the test says so.
type overdue struct {
	context.Context
	done chan struct{}
	once sync.Once
}

func (o *overdue) end() { o.once.Do(func() { close(o.done) }) }

func (o *overdue) Done() <-chan struct{} { return o.done }

func (o *overdue) Err() error {
	select {
	case <-o.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestGrace checks that a tree is asked before it is ended, at every level, and that what it says then is not lost.
func TestGrace(t *testing.T) {
	unixOnly(t)
	for _, l := range levels(t) {
		t.Run(string(l), func(t *testing.T) {
			ctx := &overdue{Context: t.Context(), done: make(chan struct{})}
			var out bytes.Buffer
			exit, err := sandbox.Run(ctx,
				sandbox.Command{Level: l, Dir: t.TempDir(), Limits: sandbox.ProcessLimits{Grace: time.Minute},
					Argv: []string{"sh", "-c",
						`trap "echo asked; exit 4" TERM; echo ready; while :; do sleep 0.01; done`},
					Stdout: writerFunc(func(b []byte) {
						out.Write(b)
						ctx.end() // its time is over when it has set its trap, however long that takes
					})})
			if !errors.Is(err, sandbox.ErrTimeout) || out.String() != "ready\nasked\n" || exit.Code != 4 {
				t.Errorf("%+v, %v: %q", exit, err, &out)
			}
		})
	}
}

// A hasty context ends just behind the look that found that it had not, for the at-th time.
type hasty struct {
	overdue
	at    int
	after []func()
}

func (h *hasty) Err() error {
	err := h.overdue.Err()
	if h.at--; h.at == 0 {
		h.end()
		for _, f := range h.after {
			f()
		}
	}
	return err
}

// AfterFunc is asked by the package context.
func (h *hasty) AfterFunc(f func()) (stop func() bool) {
	h.after = append(h.after, f)
	return func() bool { h.after = nil; return true }
}

// TestEndsWhileStarting ends the context while a run is being started, at every moment at which it is looked at:
// whether the run comes into being or not, nobody loses sight of its supervisor, who alone knows the processes without
// a marker.
func TestEndsWhileStarting(t *testing.T) {
	unixOnly(t)
	for at := range 4 {
		for range 5 {
			ctx := &hasty{overdue: overdue{Context: t.Context(), done: make(chan struct{})}, at: at + 1}
			p, err := sandbox.Start(ctx, sandbox.Command{Argv: []string{"sleep", "1000"}, Level: sandbox.None,
				Dir: t.TempDir(), Limits: sandbox.ProcessLimits{Time: time.Minute}})
			if err != nil {
				continue
			}
			ctx.end()
			if exit, err := p.Wait(); !errors.Is(err, sandbox.ErrTimeout) || exit.SignalNumber == 0 {
				t.Errorf("look %d: it ended with %+v, %v", at, exit, err)
			}
		}
	}
}

// TestStreaming checks that output comes while the program runs.
func TestStreaming(t *testing.T) {
	unixOnly(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// The program goes on only when its first line has come back to it.
	p, err := sandbox.Start(t.Context(),
		sandbox.Command{Argv: []string{"sh", "-c", "echo first; read answer; echo $answer"}, Level: sandbox.None,
			Stdin: r, Stdout: writerFunc(func(b []byte) {
				if strings.HasPrefix(string(b), "first") {
					w.Write([]byte("second\n"))
					w.Close()
				}
			})})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Stdout != 13 {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func TestProbe(t *testing.T) {
	m := sandbox.Probe()
	for _, l := range []sandbox.Level{sandbox.None, sandbox.Limits} {
		if !m.Level(l).OK {
			t.Errorf("%s cannot be given: %+v", l, m)
		}
	}
	for _, r := range m.Levels {
		if r.OK == (len(r.Missing) > 0) {
			t.Errorf("%s: %+v", r.Level, r)
		}
		for _, miss := range r.Missing {
			if miss.What == "" || miss.Fix == "" {
				t.Errorf("%s: it is not said what is missing and how to get it: %+v", r.Level, miss)
			}
		}
	}
	if !slices.ContainsFunc(m.Layers, func(l sandbox.LayerReport) bool { return l.Name == "tree" && l.OK }) {
		t.Errorf("layers: %+v", m.Layers)
	}
}

package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/sandbox"
)

// shell returns a tool that runs a line of shell.
func shell(t *testing.T) *Runner {
	x := tool.Stream("sh", "", func(ctx context.Context, c *tool.Call, in struct {
		Line string `json:"line"`
	}) (string, error) {
		var out bytes.Buffer
		cmd := c.Command("/bin/sh", "-c", in.Line)
		cmd.Stdout = &out
		_, err := c.Exec(ctx, cmd)
		return out.String(), err
	})
	r := runner(t, x)
	r = r.With(func(s *Settings) { s.Root, s.Temp, s.Sandbox.Level = t.TempDir(), t.TempDir(), sandbox.None })
	return r
}

func TestExec(t *testing.T) {
	r := shell(t)
	r = r.With(func(s *Settings) { s.Env = []string{"GREETING=hello"} })
	p, err := r.Plan(t.Context(), call("sh", `{"line":"echo $GREETING; pwd"}`))
	if err != nil {
		t.Fatal(err)
	}
	var streams, result string
	for e, err := range r.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case chat.KindProgress:
			streams += e.Detail.(*ProgressDetail).Stream + "=" + e.Text + " "
		case chat.KindResult:
			result = e.Detail.(*chat.Result).Parts[0].Text
		}
	}
	if want := "hello\n" + r.Settings().Root + "\n"; result != want {
		t.Errorf("result %q, want %q", result, want)
	}
	if !strings.HasPrefix(streams, "sandbox=none: ") || !strings.Contains(streams, "stdout=hello") {
		t.Errorf("shown %q", streams)
	}
}

// TestGuardedInCrowd checks that what was once guarded stays closed to processes when one has made more files than are
// searched, also to those of a runner with other settings, and that this is told.
func TestGuardedInCrowd(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string) string {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	deep, gone := put("a/b/conftest.py"), put("a/c/conftest.py")
	r := runner(t).With(func(s *Settings) { s.Sandbox.Level = sandbox.Workspace })
	box := r.Settings().Sandbox
	w, cmd := box.Watch(root, root), &sandbox.Command{}
	w.Begin(cmd)
	for i := range 20_000 {
		put("!/" + strconv.Itoa(i))
	}
	if told := w.End("x"); !strings.Contains(told, "more files in") || strings.Contains(told, "conftest") {
		t.Errorf("told %q", told)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	box = r.With(func(s *Settings) { s.Env = []string{"A=b"} }).Settings().Sandbox
	for range 2 {
		w, cmd = box.Watch(root, root), &sandbox.Command{}
		if w.Begin(cmd); !slices.Equal(cmd.Protected, []string{deep}) {
			t.Errorf("closed: %q, want %s", cmd.Protected, deep)
		}
		w.End("x")
	}

	// One that was there before is told too, once.
	box = runner(t).With(func(s *Settings) { s.Sandbox.Level = sandbox.Workspace }).Settings().Sandbox
	for _, want := range []bool{true, false} {
		w, cmd = box.Watch(root, root), &sandbox.Command{}
		w.Begin(cmd)
		if told := w.End("x"); strings.Contains(told, "more files in") != want {
			t.Errorf("told %q, want it: %v", told, want)
		}
	}
}

// TestTimeoutEndsTheTree starts a process that outlives its parent in a session of its own.
func TestTimeoutEndsTheTree_XE31(t *testing.T) {
	r := shell(t)
	r = r.With(func(s *Settings) { s.Limits.Timeout = 2 * time.Second })
	start := time.Now()
	got, err := r.Call(t.Context(), "sh", `{"line":"trap '' TERM; (setsid sleep 300 &) ; sleep 300"}`)
	if err != nil || got.ErrorType != tool.ErrTimeout || got.Error != "Tool execution timed out" {
		t.Errorf("after %v: %+v, %v", time.Since(start), got, err)
	}
}

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"wield/tool/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	attackMain()
	os.Exit(m.Run())
}

// levels are those that this machine gives; the others are skipped aloud.
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

func TestRun(t *testing.T) {
	for _, l := range levels(t) {
		t.Run(string(l), func(t *testing.T) {
			p, err := sandbox.Start(t.Context(), sandbox.Command{Argv: []string{"sh", "-c", "exit 3"}, Level: l})
			if err != nil {
				t.Fatal(err)
			}
			exit, err := p.Wait()
			t.Logf("%+v %+v", p.Effective(), exit)
			if err != nil || exit.Code != 3 {
				t.Errorf("exit %+v, %v", exit, err)
			}
			out, exit, err := sh(t, sandbox.Command{Level: l, Env: []string{"A=1", "PATH=/usr/bin:/bin"}, Stdin: strings.NewReader("in")}, "cat; env; pwd; echo err >&2; ls -la /proc/self/fd")
			t.Logf("%s %+v %v", out, exit, err)
		})
	}
}

func TestTimeout(t *testing.T) {
	for _, l := range levels(t) {
		t.Run(string(l), func(t *testing.T) {
			start := time.Now()
			_, exit, err := sh(t, sandbox.Command{Level: l, Limits: sandbox.Limit{Time: 300 * time.Millisecond, Grace: 100 * time.Millisecond}}, `trap "" TERM; (setsid sleep 100 &) ; sleep 100`)
			if !errors.Is(err, sandbox.ErrTimeout) {
				t.Error(err)
			}
			t.Log(exit, time.Since(start))
		})
	}
	_ = context.Background
}

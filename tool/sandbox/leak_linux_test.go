package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/tool/sandbox"
)

// shapes are ways in which a tree tries to outlive its end. Each is a line of shell.
var shapes = []struct{ name, line string }{
	{"plain", `sleep 1009`},
	{"children", `sleep 1009 & sleep 1009 & wait`},
	{"double fork", `(sleep 1009 & (sleep 1009 &)) ; sleep 1009`},
	{"session of its own", `setsid sleep 1009 & (setsid sh -c "setsid sleep 1009 & sleep 1009" &) ; sleep 1009`},
	{"closed pipes", `exec <&- >&- 2>&-; (setsid sleep 1009 &) ; sleep 1009`},
	{"held pipes", `(setsid sleep 1009 &) ; echo done`},
	{"signals ignored", `trap "" TERM INT HUP QUIT; (trap "" TERM; setsid sleep 1009 &) ; sleep 1009`},
	{"no marker", `env -i setsid sleep 1009 & exec env -i sleep 1009`},
	{"stopped", `sleep 1009 & kill -STOP $!; kill -STOP $$`},
	{"respawning", `trap "" TERM; while :; do sleep 0.01 & sleep 0.01; done`},
	{"in a hurry", `exit 3`},
}

// treeMark is a variable in the environment of every process that this test starts.
const treeMark = "WIELD_TEST_TREE"

// alive returns the processes with a text in their environment, this one apart.
func alive(text string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(b, []byte(text)) &&
			filepath.Base(filepath.Dir(f)) != strconv.Itoa(os.Getpid()) {
			line, _ := os.ReadFile(filepath.Dir(f) + "/cmdline")
			found = append(found, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// sleepers are processes of the shapes by their command line, for those that have thrown the environment away. Nobody
// else sleeps for that long to the second.
func sleepers() int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && string(b) == "sleep\x001009\x00" {
			n++
		}
	}
	return n
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// callsOfTest is how many runs TestNothingIsLeft makes, unless WIELD_SANDBOX_CALLS says otherwise.
const callsOfTest = 44

// TestNothingIsLeft cancels, times out and ends runs of every shape at every level, at moments that differ, and looks
// for what is left of them: processes, goroutines, files, directories.
func TestNothingIsLeft(t *testing.T) {
	calls := callsOfTest
	if s := os.Getenv("WIELD_SANDBOX_CALLS"); s != "" {
		calls, _ = strconv.Atoi(s)
	}
	given := levels(t)
	if _, err := sandbox.Run(t.Context(), sandbox.Command{Argv: []string{"true"}}); err != nil {
		// what is opened once and kept
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	before, sleeping := openFiles(t), sleepers()
	mark := treeMark + "=" + strconv.Itoa(os.Getpid())
	ignore := goleak.IgnoreCurrent()

	var next, timeouts, cancels, ended atomic.Int64
	var workers sync.WaitGroup
	start := time.Now()
	for range 4 {
		workers.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= calls || t.Failed() {
					return
				}
				shape := shapes[n%len(shapes)]
				level := given[n/len(shapes)%len(given)]
				moment := time.Duration(n*7919%40) * time.Millisecond
				ctx, cancel := context.WithCancel(context.Background())
				c := sandbox.Command{Argv: []string{"sh", "-c", shape.line}, Dir: "/", Level: level,
					Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), Env: []string{"PATH=/usr/bin:/bin", mark},
					Limits: sandbox.ProcessLimits{Grace: 5 * time.Millisecond}}
				if n%2 == 0 {
					c.Limits.Time = moment + 1
				} else {
					time.AfterFunc(moment, cancel)
				}
				exit, err := sandbox.Run(ctx, c)
				cancel()
				switch {
				case errors.Is(err, sandbox.ErrTimeout):
					timeouts.Add(1)
				case errors.Is(err, sandbox.ErrCanceled):
					cancels.Add(1)
				case err == nil:
					ended.Add(1)
				default:
					t.Errorf("%s at %s: %+v, %v", shape.name, level, exit, err)
				}
				if exit.Survivors != 0 {
					t.Errorf("%s at %s: %d processes could not be ended", shape.name, level, exit.Survivors)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d calls in %v: %d timed out, %d cancelled, %d ended by themselves", calls,
		time.Since(start).Round(time.Millisecond), timeouts.Load(), cancels.Load(), ended.Load())

	for _, text := range []string{mark, sandbox.Marker + "="} {
		if left := alive(text); len(left) > 0 && text == mark {
			t.Errorf("%d processes are left: %v", len(left), left)
		}
	}
	if n := sleepers(); n > sleeping {
		t.Errorf("%d sleeping processes are left", n-sleeping)
	}
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
	after := openFiles(t)
	for end := time.Now().Add(time.Minute); after > before && time.Now().Before(end); after = openFiles(t) {
		runtime.GC() // has what only a finalizer would close closed, a moment later
		time.Sleep(10 * time.Millisecond)
	}
	if after > before {
		t.Errorf("%d files were open before, %d are now", before, after)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%d directories are left, such as %s", len(left), left[0].Name())
	}
}

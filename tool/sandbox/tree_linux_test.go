package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wield/tool/sandbox"
)

// recordLimits are the limits of the command records that are run.
var recordLimits = sandbox.ProcessLimits{Time: time.Second, Output: 64 << 10, Memory: 256 << 20, Processes: 64,
	FileSize: 64 << 20}

// A hog is a command that takes more than it should. The names are those of the attack records.
type hog struct {
	name      string
	line      string
	want      []error // what may have ended it; nil stands for an end by itself
	truncated bool
	check     func(t *testing.T, out string, exit sandbox.Exit)
}

var hogs = []hog{
	{name: "EndlessOutput_cmd201", line: "yes", want: []error{sandbox.ErrOutput}, truncated: true},
	{name: "Hang_cmd202", line: "sleep 3600", want: []error{sandbox.ErrTimeout}},
	{name: "IgnoresTerm_cmd203", line: `trap "" TERM INT HUP; sleep 3600 & wait`, want: []error{sandbox.ErrTimeout}},
	{name: "DoubleFork_cmd204", line: `(setsid sleep 3600 &) ; echo started`, want: []error{nil}},
	{name: "HeldPipe_cmd205", line: `sleep 3600 & echo started`, want: []error{nil}},
	{name: "ManyProcesses_cmd206", line: `while :; do sleep 3600 & done`, want: []error{sandbox.ErrProcesses}},
	{name: "ForkBomb_cmd206", line: `bomb() { bomb | bomb & }; bomb; sleep 3600`, want: []error{sandbox.ErrProcesses}},
	{name: "MemoryOfOne_cmd207", line: `x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done`,
		want: []error{nil, sandbox.ErrMemory}, check: func(t *testing.T, _ string, exit sandbox.Exit) {
			if exit.Code == 0 {
				t.Error("it got all the memory it asked for")
			}
		}},
	{name: "ReadsInput_cmd209", line: "cat", want: []error{nil}},
	{name: "ManyLines_cmd210", line: `head -c 10000000 /dev/zero | tr "\0" "\n"`, want: []error{nil}, truncated: true,
		check: func(t *testing.T, out string, _ sandbox.Exit) {
			if len(out) > 64<<10 {
				t.Errorf("kept %d bytes", len(out))
			}
		}},
	{name: "DeepDirectory_cmd212", line: `while :; do mkdir d && cd d || exit; done`,
		want: []error{sandbox.ErrTimeout, nil}},
	{name: "DiskFilling_cmd213", line: `dd if=/dev/zero of=big bs=1M count=1000`,
		want: []error{sandbox.ErrFileSize, nil}, check: func(t *testing.T, out string, exit sandbox.Exit) {
			if exit.Code == 0 && exit.Signal == "" {
				t.Errorf("it wrote all it wanted: %s", out)
			}
		}},
	{name: "Processor", line: `while :; do :; done`, want: []error{sandbox.ErrCPU}},
}

func TestHogs(t *testing.T) {
	given := levels(t, sandbox.Limits, sandbox.Workspace, sandbox.Strict)
	for i, h := range hogs {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel() // most of them wait
			for _, l := range sample(given, i) {
				dir := t.TempDir()
				c := sandbox.Command{Level: l, Dir: dir, Writable: []string{dir}, Limits: recordLimits,
					Env: []string{"PATH=/usr/bin:/bin", treeMark + "=" + t.Name()}}
				c.Limits.Grace = 100 * time.Millisecond
				if !slices.Contains(h.want, sandbox.ErrTimeout) {
					c.Limits.Time = time.Minute // so that it is not the time that ends it
				}
				if slices.Contains(h.want, sandbox.ErrProcesses) {
					c.Limits.Output = -1 // how much a bomb complains until somebody looks is up to the machine
				}
				if slices.Contains(h.want, sandbox.ErrCPU) {
					c.Limits.CPU = time.Second
				}
				out, exit, err := sh(t, c, h.line)
				if slices.Contains(h.want, sandbox.ErrProcesses) && strings.Contains(out, "Cannot fork") {
					err = sandbox.ErrProcesses // it may have burnt out before anybody looked
				}
				if !slices.ContainsFunc(h.want, func(want error) bool { return errors.Is(err, want) }) {
					t.Errorf("%s: it ended with %v, %+v: %.200s", l, err, exit, out)
				}
				if exit.Truncated != h.truncated || exit.Survivors != 0 {
					t.Errorf("%s: %+v", l, exit)
				}
				if h.check != nil {
					h.check(t, out, exit)
				}
				if left := alive(treeMark + "=" + t.Name()); len(left) > 0 {
					t.Errorf("%s: left over: %v", l, left)
				}
				if err := exec.Command("rm", "-rf", dir).Run(); err != nil {
					t.Errorf("%s: the directory cannot be removed: %v", l, err)
				}
			}
		})
	}
}

// TestDeepPrivateDirectory checks that a run may leave directories deeper than a path can be long, and that they go.
func TestDeepPrivateDirectory(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, l := range levels(t, sandbox.Workspace, sandbox.Strict) {
		out, exit, err := sh(t, sandbox.Command{Level: l, Dir: "/"},
			`cd "$TMPDIR"; d=$(printf %0200d 0); i=0; while [ $i -lt 50 ]; do mkdir $d && cd -P $d || exit; i=$((i+1)); done; mkdir closed && chmod 0 closed`)
		if err != nil || exit.Code != 0 {
			t.Fatalf("%s: %+v, %v: %s", l, exit, err, out)
		}
		if left, _ := os.ReadDir(temp); len(left) != 0 {
			t.Errorf("%s: left over: %v", l, left)
		}
	}
}

// nestedArg makes this test binary another program that runs something in a sandbox.
const nestedArg = "nested"

// nestedMain is that other program: it starts a run and waits for it.
func nestedMain() {
	if len(os.Args) < 4 || os.Args[1] != nestedArg {
		return
	}
	_, err := sandbox.Run(context.Background(), sandbox.Command{Argv: []string{"sh", "-c", os.Args[3]},
		Level: sandbox.Level(os.Args[2]), Env: []string{"PATH=/usr/bin:/bin", treeMark + "=" + os.Getenv(treeMark)},
		Stdout: os.Stdout})
	fmt.Println("ended:", err)
	syscall.Exit(0) // without the second that os.Exit waits under the race detector
}

// TestCallerIsKilled ends the program that uses the sandbox in a way that it cannot notice, and checks that its runs
// end.
func TestCallerIsKilled(t *testing.T) {
	exe, _ := os.Executable()
	for _, l := range levels(t) {
		mark := t.Name() + "-" + string(l)
		temp := t.TempDir()
		cmd := exec.Command(exe, nestedArg, string(l),
			`trap "" TERM; (env -i setsid sleep 2009 &) ; echo ready; sleep 2009`)
		cmd.Env = append(os.Environ(), treeMark+"="+mark, "TMPDIR="+temp)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			left := alive(mark)
			dirs, _ := os.ReadDir(temp)
			if len(left) == 0 && count("sleep\x002009\x00") == 0 && len(dirs) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: left over: %v, %d processes without a marker, %v", l, left, count("sleep\x002009\x00"),
					dirs)
			}
		}
	}
}

// TestSupervisorIsKilled ends the supervisor, as a hostile program without a sandbox can, and checks that the run is
// reported as lost and what can be found of it is ended.
func TestSupervisorIsKilled(t *testing.T) {
	for _, l := range levels(t, sandbox.None) {
		// The input comes when the supervisor has said that the program runs.
		c := sandbox.Command{Level: l, Env: []string{"PATH=/usr/bin:/bin", treeMark + "=" + t.Name()},
			Stdin: strings.NewReader("go\n")}
		_, exit, err := sh(t, c, `(setsid sleep 1000 &) ; read go; kill -9 $PPID; sleep 1000`)
		if !errors.Is(err, sandbox.ErrLost) || exit.Survivors != 0 {
			t.Errorf("%s: %+v, %v", l, exit, err)
		}
		if left := alive(treeMark + "=" + t.Name()); len(left) > 0 {
			t.Errorf("%s: left over: %v", l, left)
		}
	}
	for _, l := range levels(t, sandbox.Limits, sandbox.Workspace, sandbox.Strict) {
		if l == sandbox.Limits && !scopesSignals(t) {
			continue
		}
		out, exit, err := sh(t, sandbox.Command{Level: l}, `kill -9 $PPID || echo refused`)
		if l != sandbox.Strict && (err != nil || !strings.Contains(out, "refused")) {
			t.Errorf("%s: %+v, %v: %s", l, exit, err, out)
		}
		if errors.Is(err, sandbox.ErrLost) {
			t.Errorf("%s: the supervisor was ended", l)
		}
	}
}

// scopesSignals reports whether the kernel can keep signals in a run without the walls of one.
func scopesSignals(t *testing.T) bool {
	for _, layer := range sandbox.Probe().Layers {
		if layer.Name == "landlock" {
			return layer.OK
		}
	}
	t.Fatal("nothing is known of Landlock")
	return false
}

// TestSupervisorIsStopped has a program stop its supervisor, once and again without end. The time limit holds, and
// nothing is left.
func TestSupervisorIsStopped(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]string{"once": `kill -STOP $PPID; sleep 1000`,
		"again": `while :; do kill -STOP $PPID; done`} {
		for _, l := range levels(t, sandbox.None, sandbox.Limits) {
			c := sandbox.Command{Level: l, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: strings.NewReader("go\n"),
				Limits: sandbox.ProcessLimits{Time: time.Second, Grace: 100 * time.Millisecond}}
			_, exit, err := sh(t, c, `(env -i setsid sleep 2011 &) ; trap "" TERM; read go; `+stop)
			if !errors.Is(err, sandbox.ErrTimeout) || name == "once" && exit.Signal == "" || exit.Survivors != 0 {
				t.Errorf("%s, %s: %+v, %v", name, l, exit, err)
			}
			if n := count("sleep\x002011\x00"); n > 0 {
				t.Errorf("%s, %s: %d processes are left", name, l, n)
			}
		}
	}
}

// forgetfulName makes this test binary a program that does not call Main. What it starts as its supervisor cannot know
// that, so it is told by the name of the program file.
const forgetfulName = "forgetful"

// forgetfulMain is that program. Started a second time, as the supervisor it does not know to be, it does what it
// always does.
func forgetfulMain() {
	if exe, _ := os.Executable(); filepath.Base(exe) != forgetfulName {
		return
	}
	_, err := sandbox.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Level: sandbox.None})
	fmt.Println(err)
	syscall.Exit(0) // without the second that os.Exit waits under the race detector
}

// TestWithoutMain checks that a program that forgot to call Main hears so, and starts itself once, not without end.
func TestWithoutMain(t *testing.T) {
	exe, _ := os.Executable()
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	forgetful := filepath.Join(t.TempDir(), forgetfulName)
	if err := os.WriteFile(forgetful, b, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(forgetful).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("does the program call sandbox.Main")) {
		t.Errorf("%v: %s", err, out)
	}
}

func count(cmdline string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && string(b) == cmdline {
			n++
		}
	}
	return n
}

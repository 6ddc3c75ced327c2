//go:build unix

package chromium

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// apart keeps a browser out of this program's process group: an interrupt from the keyboard is for the program, which
// then ends the browser in order.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// reapTime bounds the wait for processes that were killed. On a busy machine they take a while to die, and write
// until then.
const reapTime = 30 * time.Second

// reap kills what is left of a browser whose process has ended, and waits until it is gone. Children of a browser may
// outlive it for a moment; those of its group are found by the group, others by its directories, where the system
// shows them.
func reap(pid int, dirs ...string) {
	for end := time.Now().Add(reapTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if pid != 0 {
			// that it finds somebody says nothing: the dead are there until they are waited for
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		left := Running(dirs...)
		if len(left) == 0 {
			return
		}
		for _, child := range left {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	}
}

// Running returns the processes of browsers whose temporary files or profiles are in one of the directories or below
// it. On systems without /proc there seem to be none.
func Running(dirs ...string) (pids []int) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		// Some of a browser's processes write a title over their arguments and their environment, in which spaces
		// stand between words.
		env, _ := os.ReadFile(filepath.Join(proc, "environ"))
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		text := "\x00" + string(env) + "\x00" + string(args) + "\x00"
		if slices.ContainsFunc(dirs, func(dir string) bool {
			return marked(text, "TMPDIR="+dir) || marked(text, "--user-data-dir="+dir)
		}) {
			if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// marked reports whether a text holds the mark of a directory, or of one below it.
func marked(text, mark string) bool {
	before, rest, ok := strings.Cut(text, mark)
	return ok && strings.ContainsAny(before[len(before)-1:], "\x00 ") && strings.ContainsAny(rest[:1], "\x00 /")
}

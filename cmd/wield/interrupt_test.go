//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// busyTurns run a command that starts others and does not end, and answer everything else.
const busyTurns = `  - id: run
    when: {user_contains: "begin"}
    reply: [{call: {name: bash, args: {code: "%s"}}}]
  - id: after
    when: {}
    reply: [{text: "Here I am again."}]
`

// busyCommand leaves the numbers of its processes behind: its own, one below it that heeds no interrupt, and one in a
// session of its own.
const busyCommand = `echo $$ > one; (trap '' INT TERM HUP; echo $BASHPID > two; while :; do sleep 1; done) & ` +
	`setsid sh -c 'echo $$ > three; exec sleep 1000' & while ! [ -s two ] || ! [ -s three ]; do sleep 0.1; done; echo all run; wait`

// TestChatStopsProcesses stops a command with Ctrl-C: when that is said, nothing of it runs any more, its call has a
// result, and the conversation goes on, here and in another process.
func TestChatStopsProcesses(t *testing.T) {
	for _, name := range []string{"bash", "setsid"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: the command that is stopped needs %s: %v", name, err)
		}
	}
	dir, config, env := oneJournal(t, fmt.Sprintf(busyTurns, strings.ReplaceAll(busyCommand, `"`, `\"`)))
	f, err := os.OpenFile(config, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "sandbox: {level: none}\ntools: {localActions: {enabled: true, executors: {bash: [bash, -c]}}}\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"chat", "--config", config}
	s := sit(t, dir, 80, 30, env, args...)
	s.waits("context ~")
	s.types("begin\r")
	s.answers("bash wants to:", "y")
	s.waits("│ all run")
	s.types("a draft\x03") // which empties the input, and stops nothing
	s.until("an empty input", func(screen string) bool {
		return strings.Contains(screen, "│ all run") && !strings.Contains(screen, "a draft")
	})
	var pids []int
	for _, name := range []string{"one", "two", "three"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		pid := 0
		if _, scanned := fmt.Sscan(string(text), &pid); err != nil || scanned != nil {
			t.Fatalf("%s: %q, %v", name, text, err)
		}
		if !lives(pid) {
			t.Fatalf("process %s, %d, does not run", name, pid)
		}
		pids = append(pids, pid)
	}
	s.types("\x03")
	s.waits("Stopped.")
	for _, pid := range pids {
		if lives(pid) {
			t.Errorf("process %d runs although it was stopped", pid)
		}
	}
	s.types("hello\r")
	s.waits("Here I am again.")
	s.leaves()

	again := sit(t, dir, 80, 30, env, append(args, "--continue")...)
	again.waits("Here I am again.")
	again.types("still there?\r")
	again.until("a second answer", func(screen string) bool { return strings.Count(screen, "Here I am again.") == 2 })
	again.leaves()
	save := exec.Command("wield", append(args, "--continue")...)
	save.Dir, save.Env, save.Stdin = dir, env, strings.NewReader("/save all.md\n")
	out, err := save.CombinedOutput()
	text, readErr := os.ReadFile(filepath.Join(dir, "all.md"))
	if err != nil || readErr != nil {
		t.Fatalf("%v, %v: %s", err, readErr, out)
	}
	if got := strings.Count(string(text), "## tool\n"); got != 1 || !strings.Contains(string(text), "cancel") {
		t.Errorf("the call has %d results:\n%s", got, text)
	}
}

func lives(pid int) bool { return syscall.Kill(pid, 0) == nil }

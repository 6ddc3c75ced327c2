//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wield/internal/testlevel"
)

// A pane is a person in tmux: what wield shows has gone through a terminal that other people wrote.
type pane struct {
	t      testing.TB
	socket string
	dir    string // where wield runs
}

// inTmux starts wield in a pane of a tmux server of its own.
func inTmux(t testing.TB, dir string, w, h int, env []string, args ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed")
	}
	short, err := os.MkdirTemp("", "wt") // names of sockets have to be short
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t: t, socket: filepath.Join(short, "s"), dir: dir}
	settings := filepath.Join(short, "conf")
	text := "set -g history-limit 50000\nset -g default-terminal tmux-256color\nset -g escape-time 10\nset -g status off\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = p.tmux("kill-server") // it has ended, or never began
		for end := time.Now().Add(patient); ; time.Sleep(10 * time.Millisecond) {
			if _, err := p.tmux("list-sessions"); err != nil || time.Now().After(end) {
				break
			}
		}
		os.RemoveAll(short)
	})
	command := append([]string{"-f", settings, "new-session", "-d", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h), "-c",
		dir, "env", "-i", "HOME=" + filepath.Dir(dir), "XDG_STATE_HOME=" + filepath.Join(filepath.Dir(dir), "state"),
		"PATH=" + os.Getenv("PATH"), "TERM=tmux-256color", "LANG=C.UTF-8"}, env...)
	if out, err := p.tmux(append(append(command, "sh", "-c", afterwards, "sh", "wield"), args...)...); err != nil {
		t.Skipf("SKIPPED: tmux does not start here: %v, %s", err, out)
	}
	p.waits("context ~")
	return p
}

// afterwards runs a program and says how it ended, since tmux does not always notice. Then it waits for the end of
// the server, and takes no key for its own that was pressed while the program was ending.
const afterwards = `"$@"; echo "wield ended with $?"; exec sleep 86400`

// patient is how long something in tmux may take that has to come.
const patient = time.Minute

func (p *pane) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", p.socket, "-u"}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *pane) do(args ...string) string {
	p.t.Helper()
	out, err := p.tmux(args...)
	if err != nil {
		p.t.Fatalf("tmux %v: %v, %s", args, err, out)
	}
	return out
}

// screen returns what can be seen.
func (p *pane) screen() string { p.t.Helper(); return p.do("capture-pane", "-p") }

// all returns all that was ever printed, line by line as it was before the terminal broke it.
func (p *pane) all() []string {
	p.t.Helper()
	return strings.Split(strings.TrimRight(p.do("capture-pane", "-pJ", "-S", "-"), "\n"), "\n")
}

func (p *pane) until(what string, seen func(screen string) bool) {
	p.t.Helper()
	for end := time.Now().Add(patient); !seen(p.screen()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain for %s; the screen is\n%s", what, p.screen())
		}
	}
}

func (p *pane) waits(text string) {
	p.t.Helper()
	p.until(strconv.Quote(text), func(s string) bool { return strings.Contains(s, text) })
}

// idle waits until a text can be seen and nothing runs.
func (p *pane) idle(text string) {
	p.t.Helper()
	p.until(strconv.Quote(text)+" and the end of the turn", func(s string) bool {
		return strings.Contains(s, text) && !strings.Contains(s, "· Ctrl-C stops")
	})
}

// types types text, presses presses keys by tmux's names for them.
func (p *pane) types(text string)      { p.t.Helper(); p.do("send-keys", "-l", text) }
func (p *pane) presses(keys ...string) { p.t.Helper(); p.do(append([]string{"send-keys"}, keys...)...) }

// answers waits for a question and answers it, when it has been there for as long as it takes to read it.
func (p *pane) answers(key string) {
	p.t.Helper()
	p.waits("y\u00a0yes")
	p.until("the hint that answers are taken", func(s string) bool {
		if strings.Contains(s, noAnswer) {
			return true
		}
		p.presses("Enter")
		return false
	})
	p.types(key)
}

// leaves leaves wield.
func (p *pane) leaves() {
	p.t.Helper()
	p.presses("C-d")
	pressed := time.Now()
	p.until("the end of wield", func(s string) bool {
		if strings.Contains(s, "Something runs: Ctrl-C stops it.") && time.Since(pressed) > time.Second {
			// the turn was not over yet
			p.presses("C-d")
			pressed = time.Now()
		}
		return strings.Contains(s, "wield ended with ")
	})
	if s := p.screen(); !strings.Contains(s, "wield ended with 0\n") {
		p.t.Errorf("wield did not end well:\n%s", s)
	}
}

// scenarioFile writes a scenario.
func scenarioFile(t testing.TB, turns string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.scenario.yaml")
	if err := os.WriteFile(file, []byte("wield: scenario/v1\nname: test\nturns:\n"+turns), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// numbered checks that the lines of an answer are there, in order. With exact each is there once, and nothing of the
// status is left among them.
func (p *pane) numbered(n int, exact bool, want func(i int) string) {
	p.t.Helper()
	next, all := 0, p.all()
	for i, line := range all {
		around := func() string { return strings.Join(all[max(i-5, 0):min(i+6, len(all))], "\n") }
		line = strings.TrimRight(line, " ")
		switch {
		case next < n && line == want(next):
			next++
		case exact && (strings.HasPrefix(line, "line ") || next > 0 && next < n && line != ""):
			p.t.Fatalf("row %d is %q, and line %d should be next, in\n%s", i, line, next, around())
		}
	}
	if next != n {
		p.t.Errorf("%d lines are there in order, want %d", next, n)
	}
}

// lastNumber returns the number of the last line that can be seen.
func lastNumber(screen string) int {
	n := -1
	for line := range strings.Lines(screen) {
		_, _ = fmt.Sscanf(line, "line %d ", &n) // most lines have one
	}
	return n
}

// TestTmuxEverythingArrives streams 10 000 lines as fast as they go, and looks for each of them.
func TestTmuxEverythingArrives(t *testing.T) {
	const lines = 10_000
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "line %d äöü 漢字 `code` **strong** to the end\\n", i)
	}
	scenario := scenarioFile(t, "  - id: all\n    when: {}\n    reply: [{text: \""+text.String()+"\"}]\n")
	for i, tt := range []struct {
		width int
		env   string
		line  string
	}{
		{80, "NO_COLOR=", "line %d äöü 漢字 code strong to the end"},
		{60, "NO_COLOR=1", "line %d äöü 漢字 `code` **strong** to the end"},
	} {
		if i%testlevel.Every(2) > 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d columns, %s", tt.width, tt.env), func(t *testing.T) {
			p := inTmux(t, t.TempDir(), tt.width, 24, []string{tt.env}, "chat", "--scenario", scenario, "--tools",
				"read_file")
			p.types("go")
			p.presses("Enter")
			p.idle(fmt.Sprintf("line %d ", lines-1))
			p.numbered(lines, true, func(i int) string { return fmt.Sprintf(tt.line, i) })
			p.leaves()
		})
	}
}

// TestTmuxResize makes the terminal narrower and wider while an answer streams: no line is lost, and nothing of the
// status stays. tmux tells a program of a new size a quarter of a second late; where the status does not fit any more
// meanwhile, lines may be there twice.
func TestTmuxResize(t *testing.T) {
	const lines = 600
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "      - {text: \"line %d of an answer that streams\\n\"}\n      - {pause: 3ms}\n", i)
	}
	scenario := scenarioFile(t, "  - id: all\n    when: {}\n    reply:\n"+text.String())
	for i, tt := range []struct {
		name   string
		exact  bool
		widths []int
	}{{"60 to 120 columns", true, []int{60, 120, 70, 100, 60, 80}},
		{"40 columns", false, []int{40, 120, 45, 100, 40, 80}}} {
		if i%testlevel.Every(2) > 0 {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // most of it is the pauses of the answer
			p := inTmux(t, t.TempDir(), 120, 30, nil, "chat", "--scenario", scenario, "--tools", "read_file")
			p.types("go")
			p.presses("Enter")
			p.until("line 20", func(s string) bool { return lastNumber(s) >= 20 })
			for i, width := range tt.widths {
				p.do("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(20+i*3))
				p.until(fmt.Sprintf("line %d", 80*(i+1)), func(s string) bool { return lastNumber(s) >= 80*(i+1) })
			}
			p.idle(fmt.Sprintf("line %d ", lines-1))
			p.numbered(lines, tt.exact, func(i int) string {
				return fmt.Sprintf("line %d of an answer that streams", i)
			})
			p.leaves()
		})
	}
}

// TestTmuxInput pastes much, searches what was written before, and writes several lines.
func TestTmuxInput(t *testing.T) {
	scenario := scenarioFile(t,
		"  - id: much\n    when: {user_contains: \"999999999\"}\n    reply: [{text: \"All of it came.\"}]\n"+
			"  - id: lines\n    when: {user_contains: \"first\\nsecond\"}\n    reply: [{text: \"Two lines came.\"}]\n"+
			"  - id: else\n    when: {}\n    reply: [{text: \"Some words came.\"}]\n")
	p := inTmux(t, t.TempDir(), 80, 24, nil, "chat", "--scenario", scenario, "--tools", "read_file")
	p.types("a needle in the hay")
	p.presses("Enter")
	p.idle("Some words came.")
	p.types("something else")
	p.presses("Enter")
	p.until("a second answer", func(s string) bool {
		return strings.Count(s, "Some words came.") == 2 && !strings.Contains(s, "· Ctrl-C stops")
	})

	p.presses("C-r")
	p.types("need")
	p.waits("search need: a needle in the hay")
	p.presses("End")
	p.until("what was found in the input", func(s string) bool {
		return strings.Contains(s, "\n> a needle in the hay\n") && !strings.Contains(s, "search need")
	})
	p.presses("C-u")

	p.types("first")
	p.presses("C-j")
	p.types("second")
	p.presses("Enter")
	p.idle("Two lines came.")

	file := filepath.Join(t.TempDir(), "much")
	much := strings.Repeat("0123456789 abcdefghijklmnopqrstuvwxyz\n", 1<<20/38) + "999999999"
	if err := os.WriteFile(file, []byte(much), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do("load-buffer", file)
	p.do("paste-buffer", "-p")
	p.waits("[pasted: 27595 lines, 1.0 MiB]")
	p.presses("Enter")
	p.idle("All of it came.")
	p.leaves()
}

// noteTurns writes a file with a tool.
const noteTurns = `  - id: write
    when: {last: user}
    reply: [{text: "I write it.\n"}, {call: {name: write_file, args: {path: a.txt, content: "one\ntwo\n"}}}]
  - id: done
    when: {last: tool}
    reply: [{text: "That was it."}]
`

// TestTmuxEdit changes the arguments of a call before it runs.
func TestTmuxEdit(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nsed 's/one/uno/' \"$1\" >\"$1.new\" && mv \"$1.new\" \"$1\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	p := inTmux(t, dir, 80, 30, []string{"EDITOR=" + program}, "chat", "--scenario", scenarioFile(t, noteTurns),
		"--tools", "write_file", "--write")
	p.types("go")
	p.presses("Enter")
	p.waits("+one")
	p.presses("Enter") // which is no answer
	p.answers("e")
	p.waits("+uno")
	p.idle("That was it.")
	if s := p.screen(); !strings.Contains(s, "approved with changes") {
		t.Errorf("the screen does not say that it was changed:\n%s", s)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "uno\ntwo\n" {
		t.Errorf("a.txt is %q (%v)", text, err)
	}
	p.leaves()
}

// TestDumbTerminal talks in a terminal that can do nothing, with the words of a conversation without one.
func TestDumbTerminal(t *testing.T) {
	dir := t.TempDir()
	s := sit(t, dir, 60, 24, []string{"TERM=dumb"}, "chat", "--scenario", scenarioFile(t, noteTurns), "--tools",
		"write_file", "--write")
	s.types("go\n")
	s.waits("y\u00a0yes")
	s.types("y\n")
	s.waits("That was it.")
	s.types("\x04")
	if err := <-s.exit; err != nil {
		t.Errorf("wield ended: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.cast {
		if strings.Contains(line, `\u001b`) {
			t.Errorf("a dumb terminal got %s", line)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("a.txt is %q (%v)", text, err)
	}
}

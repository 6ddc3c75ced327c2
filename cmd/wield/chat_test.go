//go:build unix

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"wield/internal/cli"
	"wield/internal/terminal/vt"
)

// record writes what a terminal shows in the tests to docs/.
var recordChat = flag.Bool("record", false, "write the recorded conversation of docs/terminal.md")

// mendScenario is a model that only writes text.
const mendScenario = `wield: scenario/v1
name: mend
turns:
  - id: look
    when: {last: user}
    reply:
      - text: "I look at the function and its **test** first.\n\n"
      - raw: "` + "```read\\nberth.go\\nberth_test.go\\n```" + `\n"
  - id: mend
    when: {last: tool, tool: read}
    reply:
      - text: "The berths are counted from 1, but a remainder begins at 0. I change that line.\n\n"
      - raw: "` +
	"```edit\\n=== FILE: berth.go\\n<<<<<<< SEARCH\\n\\treturn n % berths\\n=======\\n\\treturn (n-1)%berths + 1\\n>>>>>>> REPLACE\\n```" + `\n"
  - id: try
    when: {last: tool, tool: edit, result_contains: applied}
    reply:
      - text: "Now the test again.\n\n"
      - raw: "` + "```bash\\ngo test ./...\\n```" + `\n"
  - id: done
    when: {last: tool, tool: bash, result_contains: executed successfully}
    reply: [{text: "The test passes. ` + "`n % berths`" + ` is 0 for the last berth; the function counts from 1 now."}]
  - id: failed
    when: {last: tool}
    reply: [{text: "I could not go on: ${result}"}]
`

// mendFiles are a repository with a failing test.
var mendFiles = map[string]string{
	"go.mod":        "module harbour\n\ngo 1.26\n",
	"berth.go":      "package harbour\n\n// Berth returns where the n-th boat lies, counted from 1.\nfunc Berth(n, berths int) int {\n\treturn n % berths\n}\n",
	"berth_test.go": "package harbour\n\nimport \"testing\"\n\nfunc TestBerth(t *testing.T) {\n\tif got := Berth(4, 4); got != 4 {\n\t\tt.Errorf(\"Berth(4, 4) = %d\", got)\n\t}\n}\n",
}

// A seat is a person before a terminal in which wield runs.
type seat struct {
	t      testing.TB
	screen *vt.Terminal
	tty    *os.File
	exit   chan error
	pid    int

	mu    sync.Mutex
	began time.Time
	cast  []string // what was written and when, as asciinema keeps it
}

// sit starts wield in a terminal.
func sit(t testing.TB, dir string, w, h int, env []string, args ...string) *seat {
	t.Helper()
	cmd := exec.Command("wield", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + filepath.Dir(dir),
		"XDG_STATE_HOME=" + filepath.Join(filepath.Dir(dir), "state"), "PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color"}, env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Skipf("SKIPPED: no pseudo terminal: %v", err)
	}
	s := &seat{t: t, screen: vt.New(w, h), tty: tty, exit: make(chan error, 1), pid: cmd.Process.Pid, began: time.Now()}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			n, err := tty.Read(buf)
			if n > 0 {
				s.keep(buf[:n])
				s.screen.Write(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { s.exit <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, or the test failed
		tty.Close()
		<-read
	})
	return s
}

// TestFirstSteps: wield alone on a terminal says what to do first, and is no error.
func TestFirstSteps(t *testing.T) {
	s := sit(t, t.TempDir(), 80, 24, nil)
	for _, step := range []string{"wield demo", "wield init", "wield serve", "wield --help lists all commands."} {
		s.waits(step)
	}
	if err := <-s.exit; err != nil {
		t.Error(err)
	}
}

func (s *seat) keep(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, _ := json.Marshal([]any{float64(time.Since(s.began).Milliseconds()) / 1000, "o", string(b)})
	s.cast = append(s.cast, string(line))
}

// ttyPatience is how long something that has to come may take.
const ttyPatience = time.Minute

func (s *seat) waits(text string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

func (s *seat) until(what string, seen func(screen string) bool) {
	s.t.Helper()
	for end := time.Now().Add(ttyPatience); !seen(s.screen.Screen(false, false)); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %s; the screen is\n%s", what, s.screen.Screen(false, true))
		}
	}
}

// answers waits for a question, reads it, and answers.
func (s *seat) answers(question, key string) {
	s.t.Helper()
	s.waits(question)
	s.waits("y\u00a0yes")
	if *recordChat {
		s.pause(2 * time.Second)
	} else {
		s.until("the hint that answers are taken", func(screen string) bool {
			if strings.Contains(screen, noAnswer) {
				return true
			}
			s.types("\r")
			return false
		})
	}
	s.types(key)
}

// noAnswer is shown when Enter is pressed once somebody can have read the question. Before that no key is taken
// for anything.
const noAnswer = "Neither Enter nor Esc says yes."

// types types, one key after another where somebody will watch it.
func (s *seat) types(text string) {
	s.t.Helper()
	for text != "" {
		n := len(text)
		if *recordChat {
			n = 1
			s.pause(60 * time.Millisecond)
		}
		if _, err := s.tty.Write([]byte(text[:n])); err != nil {
			s.t.Fatal(err)
		}
		text = text[n:]
	}
}

// pause lets whoever watches the record keep up.
func (s *seat) pause(d time.Duration) {
	if *recordChat {
		time.Sleep(d)
	}
}

// leaves waits until nothing runs, and leaves.
func (s *seat) leaves() {
	s.t.Helper()
	s.until("the end of the turn", func(screen string) bool { return !strings.Contains(screen, "· Ctrl-C stops") })
	s.types("\x04")
	again, patience := time.NewTicker(time.Second), time.After(ttyPatience)
	defer again.Stop()
	for over := false; !over; {
		select {
		case err := <-s.exit:
			if over = true; err != nil {
				s.t.Errorf("wield ended: %v", err)
			}
		case <-again.C: // the turn was not over yet, and the key was answered with a hint
			if strings.Contains(s.screen.Screen(false, true), "Something runs: Ctrl-C stops it.") {
				_, _ = s.tty.Write([]byte("\x04")) // to who may have left by now
			}
		case <-patience:
			s.t.Fatalf("wield does not end; the screen is\n%s", s.screen.Screen(false, true))
		}
	}
	for _, p := range s.screen.Problems() {
		s.t.Errorf("the terminal got a %s", p)
	}
}

// TestChatMendsATest lets a model that only writes text mend a failing test, in a real terminal: it reads, the person
// sees the change and allows it, it runs the test.
func TestChatMendsATest(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: it runs go test")
	}
	dir := filepath.Join(t.TempDir(), "harbour")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range mendFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scenario := filepath.Join(t.TempDir(), "mend.scenario.yaml")
	if err := os.WriteFile(scenario, []byte(mendScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	// The compiler keeps what it keeps where it always does: to compile Go's own packages anew takes long.
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skipf("SKIPPED: there is no go to run the test of the small repository with: %v", err)
	}
	file := filepath.Join(filepath.Dir(scenario), "wield.yaml")
	settings := "wield: config/v1\nsandbox: {level: none}\ntools:\n  localActions:\n    enabled: true\n    executors: {bash: [env, \"GOCACHE=" +
		strings.TrimSpace(string(cache)) + "\", GOTOOLCHAIN=local, sh, -c]}\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sit(t, dir, 80, 56, nil, "chat", "--config", file, "--scenario", scenario, "--dialect", "cli-block")
	s.waits("context ~")
	s.types("The test fails. Mend it.\r")
	s.answers("return (n-1)%berths + 1", "y")
	s.answers("go test ./...", "y")
	s.waits("The test passes.")
	if *recordChat {
		write(t, "terminal.svg", s.screen.SVG("wield chat: a model that only writes text mends a failing Go test"))
	}
	s.leaves()
	if *recordChat {
		header, _ := json.Marshal(map[string]any{"version": 2, "width": 80, "height": 56,
			"title": "wield chat mends a failing Go test"})
		write(t, "terminal.cast", string(header)+"\n"+strings.Join(s.cast, "\n")+"\n")
	}
	text, err := os.ReadFile(filepath.Join(dir, "berth.go"))
	if want := strings.Replace(mendFiles["berth.go"], "n % berths", "(n-1)%berths + 1", 1); err != nil ||
		string(text) != want {
		t.Errorf("berth.go is %q (%v)", text, err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("..", "..", "docs", name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestChatInATerminal looks at what a terminal gets with and without colours, and where there is nothing to work with.
func TestChatInATerminal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"version": "1.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"chat", "--scenario", "readPackage", "--tools", "read_file"}
	for _, tt := range []struct {
		env    string
		colors bool
	}{{"NO_COLOR=", true}, {"NO_COLOR=1", false}} {
		s := sit(t, dir, 60, 24, []string{tt.env}, args...)
		s.waits("context ~")
		s.types("Read package.json and tell me the version\r")
		s.waits("The version in package.json is 1.0.0")
		if got := strings.Contains(s.screen.Screen(true, false), "<"); got != tt.colors {
			t.Errorf("%s: colours %v, want %v", tt.env, got, tt.colors)
		}
		s.leaves()
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("listen: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sit(t, dir, 60, 24, nil, "chat", "--config", "bad.yaml")
	s.waits("bad.yaml:")
	if err := <-s.exit; fmt.Sprint(err) != "exit status 2" {
		t.Errorf("a configuration that cannot be read ends with %v, want exit status 2", err)
	}
}

// TestChatContinue continues a conversation in another process.
func TestChatContinue(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	args := []string{"chat", "--scenario", "success"}
	if code, _, log := runWield(t, dir, "Hello\n", args...); code != cli.ExitOK {
		t.Fatalf("exit code %d, %s", code, log)
	}
	code, out, log := runWield(t, dir, "/save all.md\n", append(args, "--continue")...)
	if code != cli.ExitOK || !strings.Contains(out, "2 messages are in all.md") {
		t.Errorf("exit code %d, output %q, log %q", code, out, log)
	}
	if code, out, log = runWield(t, dir, "/resume ses_\n/save resumed.md\n", args...); code != cli.ExitOK ||
		!strings.Contains(out, "2 messages are in resumed.md") {
		t.Errorf("/resume in a new conversation: exit code %d, output %q, log %q", code, out, log)
	}
	if code, _, _ = runWield(t, dir, "", append(args, "--resume", "ses_none")...); code != cli.ExitUsage {
		t.Errorf("a conversation that is not there: exit code %d, want %d", code, cli.ExitUsage)
	}
	if code, out, _ = runWield(t, dir, "",
		append(args, "-p", "Hello", "--resume", "ses_none")...); code != cli.ExitUsage || out != "" {
		t.Errorf("-p with a conversation that is not there: exit code %d, output %q, want %d", code, out, cli.ExitUsage)
	}
	if code, out, _ = runWield(t, dir, "", append(args, "-p", "Hello", "--output", "json")...); code != cli.ExitOK ||
		!strings.HasPrefix(out, "{") {
		t.Errorf("-p: exit code %d, output %q", code, out)
	}
}

func TestChatCost(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"told.scenario.yaml": "wield: scenario/v1\nname: told\nturns: [{id: one, when: {}, reply: [{text: Hello.}], usage: {in: 3000000, out: 1000000}}]\n",
		"priced.yaml": "wield: config/v1\nbackends: {s: {kind: script, scenario: told.scenario.yaml}}\nmodels: {m: {backend: s}, n: {backend: s}}\n" +
			"prices: {m: {in: 0.5, out: 2}, n: {in: 5, out: 20}}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		input string
		want  []string
	}{
		{"Hello\n/cost\n", []string{"\n3.5000, by the prices of the configuration"}},
		// Each model's answers have its own price, whatever model is asked now.
		{"Hello\n/model n\nHello\n/model m\n/cost\n", []string{"m: 3000000 read, 1000000 written, 3.5000",
			"n: 3000000 read, 1000000 written, 35.0000", "\n38.5000, by the"}},
	} {
		code, out, log := runWield(t, dir, tt.input, "chat", "--config", "priced.yaml", "--model", "m")
		for _, want := range tt.want {
			if code != cli.ExitOK || !strings.Contains(out, want) {
				t.Errorf("exit code %d, output %q, want %q in it; log %q", code, out, want, log)
			}
		}
	}
}

// BenchmarkChatStart starts wield chat, up to its prompt, and leaves.
func BenchmarkChatStart(b *testing.B) {
	dir := b.TempDir()
	prompt, least := 0.0, math.Inf(1)
	for b.Loop() {
		s := sit(b, dir, 80, 24, nil, "chat", "--scenario", "readPackage")
		s.waits("context ~")
		took := time.Since(s.began).Seconds()
		prompt, least = prompt+took, min(least, took)
		s.leaves()
	}
	b.ReportMetric(prompt*1000/float64(b.N), "ms/prompt")
	b.ReportMetric(least*1000, "least-ms")
}

// BenchmarkChatEcho types while an answer streams, and waits for each character.
func BenchmarkChatEcho(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "long.scenario.yaml")
	text := "wield: scenario/v1\nname: long\nturns:\n  - id: long\n    when: {}\n    reply:\n" +
		strings.Repeat("      - text: \"Words and more words, `code` and **signs**.\\n\"\n      - pause: 2ms\n", 5000)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	s := sit(b, dir, 80, 24, nil, "chat", "--scenario", file)
	s.waits("context ~")
	s.types("go\r")
	s.waits("Words and more")
	typed, least := "> ", math.Inf(1)
	for b.Loop() {
		if len(typed) > 60 {
			s.types("\x15")
			typed = "> "
		}
		typed += "x"
		pressed := time.Now()
		s.types("x")
		s.waits(typed)
		least = min(least, time.Since(pressed).Seconds())
	}
	b.ReportMetric(least*1000, "least-ms")
	s.types("\x15\x03")
	s.waits("Stopped.")
	if size := rss(s.pid); size > 0 {
		b.ReportMetric(float64(size)/(1<<20), "MiB-RSS")
	}
	s.leaves()
}

// BenchmarkChatPaste pastes a MiB into the input, sends it, and waits for the answer.
func BenchmarkChatPaste(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "short.scenario.yaml")
	if err := os.WriteFile(file,
		[]byte("wield: scenario/v1\nname: short\nturns: [{id: one, when: {}, reply: [{text: Got it.}]}]\n"),
		0o600); err != nil {
		b.Fatal(err)
	}
	paste := strings.Repeat("one very long line of words ", 1<<20/28+1)
	most := int64(0)
	for b.Loop() {
		s := sit(b, dir, 80, 24, nil, "chat", "--scenario", file)
		s.waits("context ~")
		s.types("\x1b[200~" + paste + "\x1b[201~")
		s.waits("[pasted: 1")
		s.types("\r")
		s.waits("Got it.")
		most = max(most, peak(s.pid))
		s.leaves()
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB-peak")
}

// peak returns the most memory that a process had in use, 0 where that is not told.
func peak(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	fmt.Sscan(rest, &kib)
	return kib << 10
}

// rss returns the memory of a process that is in use, 0 where that is not told.
func rss(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var total, resident int64
	if err != nil {
		return 0
	}
	fmt.Sscan(string(text), &total, &resident)
	return resident * int64(os.Getpagesize())
}

// TestChatEdits lets a model that was told nothing of blocks write some beside a call: edits are asked about and
// carried out, a command is only shown.
func TestChatEdits(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\n",
		"m.scenario.yaml": `wield: scenario/v1
name: m
turns:
  - id: call
    when: {last: user}
    reply:
      - call: {name: read, args: {paths: [a.txt]}}
  - id: edit
    when: {last: tool, tool: read}
    reply:
      - raw: "I change it.\n\n` +
			"```text\\n=== FILE: a.txt\\n<<<<<<< SEARCH\\ntwo\\n=======\\nthree\\n>>>>>>> REPLACE\\n```\\n\\nThen run:\\n\\n```bash\\nrm a.txt\\n```" + `\n"
  - id: done
    when: {last: tool, tool: edit, result_contains: applied}
    reply: [{text: "Changed."}]
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, log := runWield(t, dir, "go\ny\n", "chat", "--scenario", "m.scenario.yaml")
	if code != cli.ExitOK || !strings.Contains(out, "rm a.txt") || !strings.Contains(out, "Changed.") {
		t.Errorf("exit code %d, output %q; log %q", code, out, log)
	}
	if text, err := os.ReadFile("a.txt"); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("a.txt is %q (%v)", text, err)
	}
}

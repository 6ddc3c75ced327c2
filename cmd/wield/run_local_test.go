package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
)

// harbour makes a copy of a small repository whose test fails, and a configuration with local actions. The
// compiler keeps what it keeps where it always does: to compile Go's own packages anew takes long.
func harbour(t *testing.T, more string) (dir, file string) {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skipf("SKIPPED: there is no go to run the test of the small repository with: %v", err)
	}
	dir = t.TempDir()
	repo := filepath.Join(dir, "harbour")
	if err := os.CopyFS(repo, os.DirFS("testdata/harbour")); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "wield.yaml")
	text := "wield: config/v1\nsandbox: {level: none}\ntools:\n  localActions:\n    enabled: true\n    executors: {bash: [env, \"GOCACHE=" +
		filepath.ToSlash(strings.TrimSpace(string(cache))) + "\", sh, -c]}\n" + more
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(repo)
	return dir, file
}

// TestFixTest has a model that only writes text mend a fault: it reads, edits, runs the test, and answers.
func TestFixTest(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no sh here")
	}
	dir, file := harbour(t, "")
	before, err := os.ReadFile("berth.go")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--config", file, "--scenario", "fixTest", "--dialect", "cli-block"}
	code, out, log := runWield(t, dir, "", append(args, "--on-ask", "allow", "The test fails. Mend it.")...)
	if code != cli.ExitOK || !strings.HasPrefix(out, "The test passes now.") &&
		!strings.Contains(out, "\nThe test passes now.") {
		t.Errorf("exit code %d, output %q, log %q", code, out, log)
	}
	after, err := os.ReadFile("berth.go")
	if want := strings.Replace(string(before), "n % berths", "(n-1)%berths + 1", 1); err != nil ||
		string(after) != want {
		t.Errorf("berth.go is %q, %v", after, err)
	}

	// Without anybody to say yes nothing is changed, and the model is told.
	if err := os.WriteFile("berth.go", before, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, _ = runWield(t, dir, "", append(args, "The test fails. Mend it.")...)
	if code != cli.ExitDenied || !strings.Contains(out, "I could not go on: User denied approval") {
		t.Errorf("with nobody to ask: exit code %d, output %q", code, out)
	}
	if after, err = os.ReadFile("berth.go"); err != nil || string(after) != string(before) {
		t.Errorf("with nobody to ask berth.go is %q, %v", after, err)
	}
}

// A15: a block's tool that was called through the model's own function calling ended a terminal's program,
// since the words for it were looked for where a service has them. It is answered with those words, and the
// model writes the block.
func TestA15_ConfusedInATerminal(t *testing.T) {
	dir, file := harbour(t, "")
	scenario := filepath.Join(dir, "confused.scenario.yaml")
	if err := os.WriteFile(scenario, []byte(`wield: scenario/v1
name: confused
summary: the tool read is called as a function, and as a block when the model is told
backend: {native_tools: true}
turns:
  - {id: told, when: {user_contains: "As a block, please:", last: user}, reply: [{raw: "`+"```read\\nberth.go\\n```\\n"+
		`"}]}
  - {id: seen, when: {last: tool, tool: read, result_contains: "package harbour"}, reply: [{text: "I have read it."}]}
  - {id: confused, when: {}, reply: [{call: {name: read, args: {paths: [berth.go]}}}]}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "backends: {play: {kind: script, scenario: "+filepath.ToSlash(scenario)+
		"}}\nmodels: {actor: {backend: play, mode: text, dialect: cli-block, instructions: {forToolBounce: \"As a block, please: {toolCall}\"}}}\n"...)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, log := runWield(t, dir, "", "run", "--config", file, "Read berth.go")
	if code != cli.ExitOK || !strings.Contains(out, "I have read it.") {
		t.Errorf("exit code %d, output %q, log %q", code, out, log)
	}
}

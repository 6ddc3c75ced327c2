package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/internal/config"
)

// notesScenario is a model that writes a file and tells what came of it.
const notesScenario = `wield: scenario/v1
name: write
turns:
  - {id: go, when: {last: user}, reply: [{call: {name: write_file, args: {path: notes.txt, content: "one\n"}}}]}
  - {id: told, when: {last: tool}, reply: [{text: "Told: ${result}"}]}
`

// TestKeptRule keeps a rule for a directory, and has the next conversation there go by it; one in another directory,
// a task and a conversation without a record do not.
func TestKeptRule(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "write.scenario.yaml")
	if err := os.WriteFile(scenario, []byte(notesScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	home, other := filepath.Join(dir, "home"), filepath.Join(dir, "other")
	for _, d := range []string{home, other} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--scenario", scenario, "--tools", "write_file", "--write"}
	talk := func(in, stdin string, more ...string) string {
		t.Helper()
		t.Chdir(in)
		_, out, log := runWield(t, dir, stdin, append(append([]string{"chat"}, args...), more...)...)
		if strings.Contains(log, "error") {
			t.Errorf("in %s: %s", in, log)
		}
		return out
	}
	written := func(in string) bool {
		t.Helper()
		name := filepath.Join(in, "notes.txt")
		_, err := os.Stat(name)
		_ = os.Remove(name) // for the next one
		return err == nil
	}
	out := talk(home, "go\na\nd\n")
	if !written(home) || !strings.Contains(out, "kept for this directory") {
		t.Fatalf("the rule is not kept:\n%s", out)
	}
	file := filepath.Join(dir, "state", "wield", config.KeptRulesFile)
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "allow: {tool: [write_file], path: [notes.txt], op: [write]}") {
		t.Errorf("%s: %v\n%s", file, err, text)
	}
	if out := talk(home, "go\n"); !written(home) || strings.Contains(out, "wants to") {
		t.Errorf("it is asked about again:\n%s", out)
	}
	if out := talk(other, "go\nn\n"); written(other) || !strings.Contains(out, "wants to") {
		t.Errorf("in another directory it is not asked about:\n%s", out)
	}
	if out := talk(home, "go\nn\n", "--no-journal"); written(home) || !strings.Contains(out, "wants to") {
		t.Errorf("without a record it is not asked about:\n%s", out)
	}
	t.Chdir(home)
	if _, out, _ := runWield(t, dir, "", append(append([]string{"run"}, args...), "go")...); written(home) {
		t.Errorf("a task goes by it:\n%s", out)
	}
	if err := os.WriteFile(file, []byte("directories: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, log := runWield(t, dir, "", append([]string{"chat"}, args...)...); code != cli.ExitUsage ||
		!strings.Contains(log, config.KeptRulesFile) {
		t.Errorf("with a broken file the exit code is %d:\n%s", code, log)
	}
}

// missScenario is a model that twice looks for what is not in the file, and then does what it is told.
const missScenario = `wield: scenario/v1
name: miss
turns:
  - {id: first, when: {last: user}, reply: [{raw: "a.py\n` +
	"```python\\n<<<<<<< SEARCH\\nx = 7\\n=======\\nx = 2\\n>>>>>>> REPLACE\\n```" + `\n"}]}
  - id: whole
    when: {last: tool, tool: edit, result_contains: "Instead of an edit, write the whole file: a create block with === FILE: a.py"}
    reply: [{raw: "` + "```create\\n=== FILE: a.py\\nx = 2\\ny = 2\\n```" + `\n"}]
  - id: second
    when: {last: tool, tool: edit, result_contains: "Line 1 of the search text stands nowhere in the file: x = 7"}
    reply: [{raw: "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 8\n+x = 2\n*** End Patch\n"}]
  - {id: done, when: {last: tool, tool: create, result_contains: overwritten}, reply: [{text: "It is written."}]}
  - {id: lost, when: {}, reply: [{text: "Lost: ${result}"}]}
`

// TestWholeFileAfterTwoFailures has a model whose edits fail twice, in two notations, write the file as a whole,
// since that is what it is told with the file as it is.
func TestWholeFileAfterTwoFailures(t *testing.T) {
	dir := t.TempDir()
	scenario, file := filepath.Join(dir, "miss.scenario.yaml"), filepath.Join(dir, "wield.yaml")
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{scenario: missScenario,
		file:                        "wield: config/v1\nsandbox: {level: none}\ntools: {localActions: {enabled: true}}\n",
		filepath.Join(work, "a.py"): "x = 1\ny = 2\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
	code, out, log := runWield(t, dir, "", "run", "--config", file, "--scenario", scenario, "--dialect", "cli-block",
		"--on-ask", "allow", "Set x to 2.")
	if code != cli.ExitOK || !strings.HasSuffix(strings.TrimSpace(out), "It is written.") {
		t.Errorf("exit code %d, output %q, log %q", code, out, log)
	}
	if got, err := os.ReadFile("a.py"); err != nil || string(got) != "x = 2\ny = 2\n" {
		t.Errorf("a.py is %q, %v", got, err)
	}
}

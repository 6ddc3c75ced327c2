package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
)

// TestRecordedRuns takes a run through every command that makes use of it.
func TestRecordedRuns(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	if err := os.WriteFile("package.json", []byte(`{"version": "1.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	wield := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := runWield(t, home, "", args...)
		if code != want {
			t.Fatalf("wield %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, errs)
		}
		return out + errs
	}
	wield(cli.ExitOK, "run", "--scenario", "readPackage", "--tools", "read_file",
		"Read package.json and tell me the version")
	wield(cli.ExitOK, "run", "--scenario", "calculator", "--tools", "calculator", "What is 123 * 45?")
	var sessions []string
	for line := range strings.Lines(wield(cli.ExitOK, "sessions", "list")) {
		sessions = append(sessions, strings.Fields(line)[0])
	}
	if len(sessions) != 2 {
		t.Fatalf("%q", sessions)
	}
	run := strings.Fields(wield(cli.ExitOK, "replay", sessions[1]))[0]
	run = strings.TrimSuffix(run, ":")

	file := filepath.Join(home, "run.jsonl")
	wield(cli.ExitOK, "trace", "export", "-o", file, run)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); !strings.Contains(text, "package.json") || strings.Contains(text, "123 * 45") {
		t.Errorf("of one run: %s", text)
	}
	if out := wield(cli.ExitOK, "replay", "--split", "every", file); !strings.Contains(out, "nothing differs") {
		t.Error(out)
	}
	// what was read then, and not what was written
	changed := strings.ReplaceAll(string(raw), `"arguments":"{\"path\": \"package.json\"}"`,
		`"arguments":"{\"path\": \"go.mod\"}"`)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	out := wield(cli.ExitFailed, "replay", "--json", file)
	var d struct {
		Turn                int
		What, Recorded, Now string
	}
	if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &d); err != nil || d.What != "call" ||
		!strings.Contains(d.Recorded, "go.mod") || !strings.Contains(d.Now, "package.json") {
		t.Errorf("%v: %s", err, out)
	}
	scenario := filepath.Join(home, "my bug.scenario.yaml")
	wield(cli.ExitOK, "script", "record", run, "-o", scenario)
	wield(cli.ExitOK, "script", "lint", scenario)
	if out := wield(cli.ExitOK, "script", "run", scenario); !strings.Contains(out, "my-bug (2 requests)") {
		t.Error(out)
	}
	for _, test := range [][]string{
		{"script", "record", run, "-o", scenario},
		{"script", "record", "run_none"},
		{"replay", "run_none"},
		{"replay", "--split", "0", run},
		{"replay", "--split", "random:x", run},
		{"replay", "--repair", "full", run},
		{"replay", "--dialect", "none", run},
		{"replay", "--model", "none", run},
		{"replay", "--model", "demo", "--split", "3", run},
		{"trace", "export", "--as", "pdf", run},
		{"trace", "export", "run_none"},
	} {
		wield(cli.ExitUsage, test...)
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wield/internal/cli"
)

// TestAttackRecords judges the attack records, where they are there, and holds what the rules reach on them: nothing
// that is to be asked about or denied is allowed, and nearly everything is decided as it should be.
func TestAttackRecords(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data")
	cases, err := os.ReadFile(filepath.Join(dir, "attacks.jsonl"))
	if err != nil {
		t.Skipf("no attack records: %v", err)
	}
	var out bytes.Buffer
	app := &cli.App{Stdin: bytes.NewReader(cases), Stdout: &out, Stderr: os.Stderr,
		Getenv: func(string) string { return "" }}
	if code := run(t.Context(), []string{"policy", "test", "--jsonl", "--fixtures",
		filepath.Join(dir, "attacks-fixtures.json")}, app); code != cli.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	right, count, allowed, harmless := 0, 0, 0, 0
	lines, answers := bufio.NewScanner(bytes.NewReader(cases)), bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && answers.Scan() {
		var c struct {
			ID, Kind, Drive, Want string
			AlsoOK                []string `json:"also_ok"`
		}
		var a struct{ ID, Decision, Rule, Why string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(answers.Bytes(), &a); err != nil || a.ID != c.ID {
			t.Fatalf("%s is answered by %s", c.ID, answers.Bytes())
		}
		if c.Drive != "decide" {
			if a.Decision != "skip" {
				t.Errorf("%s: %s for a record that takes more than a decision", c.ID, a.Decision)
			}
			continue
		}
		count++
		switch {
		case c.Want == a.Decision || slices.Contains(c.AlsoOK, a.Decision):
			right++
		case a.Decision == "allow":
			t.Errorf("%s (%s) escapes: %s, %s", c.ID, c.Kind, a.Rule, a.Why)
		default:
			t.Logf("%s (%s): %s, want %s: %s, %s", c.ID, c.Kind, a.Decision, c.Want, a.Rule, a.Why)
		}
		if c.Want == "allow" {
			harmless++
			if a.Decision == "allow" {
				allowed++
			}
		}
	}
	t.Logf("%d of %d as wanted, %d of %d harmless ones allowed", right, count, allowed, harmless)
	if right*100 < count*99 || allowed*100 < harmless*95 || count == 0 {
		t.Errorf("%d of %d as wanted (want 99 %%), %d of %d harmless ones allowed (want 95 %%)", right, count, allowed,
			harmless)
	}
}

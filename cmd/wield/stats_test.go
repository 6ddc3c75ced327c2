package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/internal/stats"
)

// TestStats has runs and asks what was counted of them.
func TestStats(t *testing.T) {
	scenario, err := filepath.Abs("testdata/run/tasks.scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t)
	t.Chdir(dir)
	ok := func(args ...string) string {
		t.Helper()
		code, out, log := runWield(t, dir, "", args...)
		if code != cli.ExitOK {
			t.Fatalf("%q: exit %d\n%s%s", args, code, out, log)
		}
		return out
	}
	if out := ok("stats"); !strings.HasPrefix(out, "Nothing was counted") {
		t.Errorf("before anything ran: %s", out)
	}
	for _, task := range []string{"What is 123 * 45?", "What is 123 * 45?",
		"Read package.json and tell me the version", "Read missing-file.txt"} {
		ok("run", "--scenario", scenario, "--tools", "calculator,read_file,list_files", task)
	}
	for _, want := range []string{"Answers by model", "Calls by model and dialect", "hermes", "tool-call-tag",
		"calculator", "Offered and never called:", "list_files ("} {
		if out := ok("stats"); !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	rows := map[string]stats.Report{}
	for line := range strings.Lines(ok("stats", "--by", "tool", "--json")) {
		var r stats.Report
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows[r.Tool] = r
	}
	if r := rows["calculator"]; r.Counts["calls"] != 2 || r.Counts["done"] != 2 || r.Rates["first_try"] != 1 ||
		r.Times["run"].N != 2 {
		t.Errorf("calculator: %+v", r)
	}
	if r := rows["read_file"]; r.Counts["calls"] != 2 || r.Counts["done"] != 1 || r.Rates["success"] != 0.5 {
		t.Errorf("read_file: %+v", r)
	}
	if out := ok("stats", "--client", "wield run", "--step", "1h", "--by", "model", "--csv"); strings.Count(out,
		"\n") < 2 || !strings.HasPrefix(out, "time,model,") {
		t.Error(out)
	}
	if out := ok("stats", "--client", "nobody"); !strings.HasPrefix(out, "Nothing was counted") {
		t.Error(out)
	}
	for _, args := range [][]string{{"--by", "day"}, {"--step", "90s"}, {"--since", "x"}, {"--from", "x"},
		{"--json", "--csv"}} {
		if code, out, log := runWield(t, dir, "", append([]string{"stats"}, args...)...); code != cli.ExitUsage ||
			log == "" {
			t.Errorf("%q: exit %d\n%s%s", args, code, out, log)
		}
	}
	ok("run", "--scenario", scenario, "--tools", "calculator", "--no-journal", "What is 123 * 45?")
	off := filepath.Join(dir, "off.yaml")
	if err := os.WriteFile(off, []byte("wield: config/v1\nstats: {off: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok("run", "--config", off, "--scenario", scenario, "--tools", "calculator", "What is 123 * 45?")
	if out := ok("stats", "--tool", "calculator", "--json"); !strings.Contains(out, `"calls":2`) {
		t.Errorf("a run that keeps nothing was counted, or one whose configuration says not to: %s", out)
	}
}

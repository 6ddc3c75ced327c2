package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
)

const countedScenario = `wield: scenario/v1
name: counted
turns:
  - {id: call, when: {last: user}, reply: [{call: {name: read_file, args: {path: package.json}}}], usage: {in: 1000, out: 100}}
  - {id: answer, when: {last: tool}, reply: [{text: "Version 1.0.0."}], usage: {in: 2000, out: 200}}
`

// What a run cost stands in its output and in the journal; where it is not known, nothing else is said.
func TestRunCost(t *testing.T) {
	dir := workspace(t)
	t.Chdir(dir)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	scenario := write("counted.yaml", countedScenario)
	priced := write("priced.yaml", "wield: config/v1\nprices: {demo: {in: 10, out: 100}}\n")
	for _, tt := range []struct {
		name string
		args []string
		code int
		cost string
	}{
		{"priced", []string{"--config", priced}, 0, "0.06"},
		{"no price", nil, 0, "null"},
		// the file is not read, and the scenario calls again,
		{"limit", []string{"--config", priced, "--max-cost", "0.01"}, 5, "0.04"},
		{"under the limit", []string{"--config", priced, "--max-cost", "0.1"}, 0, "0.06"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"run", "--scenario", scenario, "--tools", "read_file", "--output", "json"},
				tt.args...)
			code, out, log := runWield(t, dir, "", append(args, "Which version?")...)
			var end struct {
				Cost  json.RawMessage `json:"cost"`
				Usage struct {
					In int `json:"input_tokens"`
				} `json:"usage"`
			}
			if err := json.Unmarshal([]byte(out), &end); err != nil {
				t.Fatalf("%v: %s%s", err, out, log)
			}
			if code != tt.code || string(end.Cost) != tt.cost || end.Usage.In < 2000 {
				t.Errorf("exit %d, cost %s: %s%s", code, end.Cost, out, log)
			}
		})
	}
	code, _, log := runWield(t, dir, "", "run", "--scenario", scenario, "--max-cost", "1", "Which version?")
	if code != cli.ExitUsage || !strings.Contains(log, "prices:") {
		t.Errorf("a limit without a price: exit %d, %s", code, log)
	}
	_, out, _ := runWield(t, dir, "", "sessions", "list")
	id, _, _ := strings.Cut(out, " ")
	_, out, _ = runWield(t, dir, "", "sessions", "show", id)
	if !strings.Contains(out, "3000 tokens read, 300 written, cost 0.06") {
		t.Errorf("sessions show: %s", out)
	}
}

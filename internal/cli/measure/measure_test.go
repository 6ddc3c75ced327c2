package measure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/eval"
	"wield/internal/tune"
)

// TestThresholds: a report fails where fewer rows are matched than wanted, or more are lost than allowed.
func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cell    eval.Cell
		matched float64
		lost    int // at most; -1: any number
		want    string
	}{
		{"met exactly", eval.Cell{Gold: 4, GoldLoose: 3, Lost: 2}, 75, 2, ""},
		{"too few matched", eval.Cell{Gold: 4, GoldLoose: 3}, 75.1, -1, "75.00 %"},
		{"too many lost", eval.Cell{Gold: 1, GoldLoose: 1, Lost: 3}, 0, 2, "3 officially right rows are lost"},
		{"lost rows do not count", eval.Cell{Gold: 1, GoldLoose: 1, Lost: 3}, 100, -1, ""},
		{"nothing is known", eval.Cell{}, 1, -1, "0.00 %"},
		{"nothing is wanted of nothing", eval.Cell{}, 0, 0, ""},
	} {
		err := thresholds(&eval.Report{Total: tt.cell}, tt.matched, tt.lost)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestSaid: each trial has the best word that it deserves.
func TestSaid(t *testing.T) {
	for want, trial := range map[string]tune.Trial{
		"failed: no server": {Failed: "no server", Valid: true, RightTool: true, RightArgs: true},
		"right":             {FirstTry: true, Valid: true, RightTool: true, RightArgs: true},
		"right, repaired":   {Valid: true, RightTool: true, RightArgs: true},
		"other arguments":   {FirstTry: true, Valid: true, RightTool: true},
		"another tool":      {FirstTry: true, Valid: true},
		"no valid call":     {FirstTry: true},
	} {
		if got := said(&trial); got != want {
			t.Errorf("%+v is %q, want %q", trial, got, want)
		}
	}
}

// TestKeptResults: what a run adds to the file of its results is what the next run begins with.
func TestKeptResults(t *testing.T) {
	if results, file, err := keptResults(""); results != nil || file != nil || err != nil {
		t.Errorf("without a file: %v, %v, %v", results, file, err)
	}
	name := filepath.Join(t.TempDir(), "results.jsonl")
	for round := range 3 {
		results, file, err := keptResults(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != round {
			t.Errorf("round %d begins with %d results", round, len(results))
		}
		if err := json.NewEncoder(file).Encode(eval.Asked{Way: "w", ID: "q"}); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	if err := os.WriteFile(name, []byte("{}\nrubbish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keptResults(name); err == nil || !strings.Contains(err.Error(), "results.jsonl:2") {
		t.Errorf("a broken line is told as %v", err)
	}
}

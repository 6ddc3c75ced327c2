package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
)

// TestDenyHoldsInLaunchers: a rule that denies a program holds where another one runs it, whatever else is allowed. The lines are in
// a file of their own; with a harmless program in the place of rm none of them is denied.
func TestDenyHoldsInLaunchers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "launchers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) < 120 {
		t.Errorf("%d lines: has a part of the file been lost?", len(lines))
	}
	root := t.TempDir()
	deny := Rule{Decision: chat.DecisionDeny, Selector: Selector{Command: []string{"rm"}}}
	for _, line := range lines {
		launcher := quoteWord(strings.Fields(line)[0])
		for name, def := range map[string]Definition{
			"all else is allowed":     {Default: chat.DecisionAllow, Rules: []Rule{deny}},
			"the launcher is allowed": {Rules: []Rule{deny, {Decision: chat.DecisionAllow, Selector: Selector{Command: []string{launcher}}}}},
			"the line is allowed":     {Rules: []Rule{deny, {Decision: chat.DecisionAllow, Selector: Selector{Tool: []string{"sh"}}}}},
		} {
			p, err := New(def)
			if err != nil {
				t.Fatal(err)
			}
			call := Call{Tool: "sh", Shell: strings.ReplaceAll(line, "{} ;", `{} \;`), Root: root}
			if v := p.Decide(call); v.Decision != chat.DecisionDeny {
				t.Errorf("%s (%s): %s", line, name, v)
			}
			call.Shell = harmless.Replace(call.Shell)
			if v := p.Decide(call); v.Decision == chat.DecisionDeny {
				t.Errorf("%s (%s): %s", call.Shell, name, v)
			}
		}
	}
}

// harmless puts another program in the place of rm.
var harmless = strings.NewReplacer(" rm", " ls", "'rm", "'ls", "=rm", "=ls", `"rm`, `"ls`, "!rm", "!ls")

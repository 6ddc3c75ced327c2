package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/testlevel"
)

// TestProgramsText reads the table, which panics in use if it is broken.
func TestProgramsText(t *testing.T) {
	table, _, err := readPrograms(programsText)
	if err != nil {
		t.Fatal(err)
	}
	if len(table) < 400 {
		t.Errorf("only %d programs: has a part of the table been lost?", len(table))
	}
}

// TestAbbreviations shortens every long option that the table takes for harmless: a program may have another one that
// begins like this, of which the table says nothing.
func TestAbbreviations(t *testing.T) {
	root, count, spelled := t.TempDir(), 0, 0
	table, seen := programs(), map[*program]bool{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		row, command := table[name], strings.ReplaceAll(name, ".", " ")
		if seen[row] || row.wraps || row.style != styleGNU {
			continue
		}
		seen[row] = true
		p, err := New(
			Definition{Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{command}}}}})
		if err != nil {
			continue // a name that no rule can spell
		}
		allows := func(option string) bool {
			return p.Decide(Action{Tool: "sh", Shell: command + " " + option,
				Root: root}).Decision == chat.DecisionAllow
		}
		for full, o := range row.options {
			short := full[:len(full)-1]
			if _, known := row.options[short]; known || !strings.HasPrefix(full, "--") || len(full) < 5 ||
				!o.harmless() || row.negated(short) || slices.Contains(alwaysHarmless, short) {
				continue
			}
			if count++; count%testlevel.Every(4) > 0 {
				continue
			}
			if allows(full) {
				spelled++
			}
			if allows(short) || allows(short+"=x") || allows(short+" x") {
				t.Errorf("%s %s is allowed", command, short)
			}
		}
	}
	t.Logf("%d options, %d of them allowed where they are spelled out", count, spelled)
	if spelled < 3000/testlevel.Every(4) {
		t.Errorf("%d options are allowed spelled out: has a part of the table been lost?", spelled)
	}
}

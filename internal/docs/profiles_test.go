//go:build unix

package docs

import (
	"fmt"
	"strings"
	"testing"

	"wield/dialect"
	"wield/dialect/profile"
)

// TestProfiles checks that the page of profiles has the table of the program.
func TestProfiles(t *testing.T) {
	var table strings.Builder
	table.WriteString("| profile | models | patterns | dialects | thinks | tokens |\n|---|---|---|---|---|---|\n")
	for _, p := range profile.Builtin() {
		tokens := ""
		if p.Strips {
			tokens = "taken out"
		}
		fmt.Fprintf(&table, "| `%s` | %s | `%s` | %s | %s | %s |\n", p.Name, cell(p.Models), strings.Join(p.Patterns, "`, `"),
			strings.Join(p.Dialects, ", "), cell(thinks(&p.Thinking)), tokens)
	}
	holdTable(t, "profiles.md", table.String())
}

func thinks(t *dialect.Thinking) string {
	var parts []string
	switch {
	case t.Opener != "" && t.Opener != "<think>":
		parts = append(parts, fmt.Sprintf("%s to %s", strings.TrimSpace(t.Opener), t.Closer))
	case t.Opener == "" && t.Closer != "":
		parts = append(parts, "to "+t.Closer)
	}
	if t.Open {
		parts = append(parts, "starts")
	}
	if t.Calls != dialect.CallsUnclosed {
		parts = append(parts, "calls "+t.Calls.String())
	}
	return strings.Join(parts, "; ")
}

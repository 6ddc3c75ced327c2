//go:build unix

package docs

import (
	"fmt"
	"os"
	"path/filepath"
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
	page := filepath.Join(checkout(t), "docs", "profiles.md")
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(old), keysBegin)
	_, after, ok2 := strings.Cut(rest, keysEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	made := before + keysBegin + table.String() + keysEnd + after
	if made == string(old) {
		return
	}
	if !*update {
		t.Fatalf("the table in docs/profiles.md is not that of the program: go test ./internal/docs -args -update")
	}
	if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
		t.Fatal(err)
	}
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

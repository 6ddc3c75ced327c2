//go:build unix

package docs

import (
	"fmt"
	"strings"
	"testing"

	"wield/dialect/profile"
)

// TestProfiles checks that the page of profiles has the table of the program.
func TestProfiles(t *testing.T) {
	var table strings.Builder
	table.WriteString("| profile | models | dialects |\n|---|---|---|\n")
	for _, p := range profile.Builtin() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", p.Name, cell(p.Models), strings.Join(p.Dialects, ", "))
	}
	holdTable(t, "profiles.md", table.String())
}

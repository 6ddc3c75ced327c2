//go:build unix

package docs

import (
	"fmt"
	"strings"
	"testing"

	"wield/internal/terminal"
)

// TestTerminalKeys checks that the page of the terminal has every command, key and answer, with the words of the
// program.
func TestTerminalKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, c := range terminal.Commands() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimSpace(c.Name+" "+strings.ReplaceAll(c.Args, "|", " or ")),
			c.What)
	}
	for _, table := range []struct {
		head string
		keys []terminal.Key
	}{{"key", terminal.Keys()}, {"answer", terminal.Answers()}} {
		fmt.Fprintf(&b, "\n| %s | what it does |\n|---|---|\n", table.head)
		for _, k := range table.keys {
			fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(k.Keys, `\`, "`\\`"), k.What)
		}
	}
	holdTable(t, "terminal.md", b.String())
}

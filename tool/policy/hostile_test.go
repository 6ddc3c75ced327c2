//go:build unix

package policy

import (
	"strings"
	"testing"

	"wield/chat"
)

// TestHostile judges command lines that are made to take long. None of them is allowed, and the test would not end if
// the work grew with more than the length.
func TestHostile(t *testing.T) {
	p, root := narrow(t), newHostileRoot(t)
	for name, command := range map[string]string{
		"patterns":       "ls " + strings.Repeat("* ", 20000),
		"braces":         "echo " + strings.Repeat("{1..250} ", 5000),
		"nested braces":  "echo " + strings.Repeat("{a,", 2000) + strings.Repeat("}", 2000),
		"brace products": "echo " + strings.Repeat("{a,b}", 3000),
		"substitutions":  strings.Repeat("$(", 20000),
		"closed ones":    strings.Repeat("$(", 300) + "ls" + strings.Repeat(")", 300),
		"parameters":     strings.Repeat("${a:-", 2000) + strings.Repeat("}", 2000),
		"groups":         strings.Repeat("( ", 10000),
		"wrappers":       strings.Repeat("strace ", 8000) + "ls",
		"shells":         strings.Repeat("sh -c ", 8000) + "ls",
		"evaluations":    strings.Repeat("eval ", 10000) + "ls",
		"lists":          strings.Repeat("sudo;", 10000),
		"directories":    strings.Repeat("cd a;", 10000),
		"dots":           "cat " + strings.Repeat("../", 20000),
		"words":          "rm " + strings.Repeat("x ", 30000),
		"options":        "find . " + strings.Repeat("-exec ls {} \\; ", 4000),
		"conditions":     strings.Repeat("if true; then ", 3000) + "ls" + strings.Repeat("; fi", 3000),
		"too long":       strings.Repeat("ls;", 30000),
	} {
		if v := p.Decide(Action{Tool: "sh", Shell: command, Root: root}); v.Decision == chat.DecisionAllow {
			t.Errorf("%s: %.300s", name, v)
		}
	}
}

func newHostileRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range strings.Fields("a b c d e f") {
		put(t, root+"/"+name+".txt")
	}
	return root
}

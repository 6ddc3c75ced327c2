//go:build unix

package policy

import (
	"fmt"
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
		"settings":       "unknowntool '{" + strings.Repeat(":a", 30000) + "}'",
		"turns":          "for i in " + strings.Repeat("a ", 900) + "; do " + strings.Repeat("ls -l a b; ", 1000) + "done",
		"nested loops": strings.Repeat("for i in a b c d e f g h i j; do ", 9) + "ls" +
			strings.Repeat("; done", 9),
		"assignments in a loop": "for i in " + strings.Repeat("a ", 900) + "; do " + strings.Repeat("x=1 ", 10000) +
			"; done",
		"patterns in a loop": "for i in many/*; do cat " + strings.Repeat("many/* ", 16) + "; done",
		"trees in a loop":    "for i in many/*; do ls **/*; done",
		"names in a loop":    "for i in $(ls); do wc -l $(find many -name '*.txt'); done",
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
	for i := range 490 {
		put(t, fmt.Sprintf("%s/many/%d.txt", root, i))
	}
	return root
}

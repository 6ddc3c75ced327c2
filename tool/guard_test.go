package tool

import (
	"testing"

	"wield/tool/policy"
)

// TestDangerousHoweverSpelled checks that a program that needs a person's word is refused in a wrapper and a
// shell, whatever its spelling.
func TestDangerousHoweverSpelled(t *testing.T) {
	g := &Guard{DangerousCommands: DangerousCommands()}
	root := t.TempDir()
	is := func(want bool, u uses, what string) {
		t.Helper()
		u.Root, u.Dir = root, root
		if got := g.dangerous(&u); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	argv := func(words ...string) uses { return uses{Action: policy.Action{Argv: words}} }
	for _, words := range [][]string{{"rm", "x"}, {"/bin/rm", "x"}, {"nice", "rm", "-f", "x"},
		{"nice", "-n", "5", "rm", "x"}, {"timeout", "1", "rm", "x"}, {"env", "A=1", "rm", "x"}, {"sh", "-c", "rm x"},
		{"bash", "-ceu", "true; rm x"}, {"sh", "-c", `r""m x`}, {"xargs", "rm"},
		{"find", ".", "-name", "x", "-delete"}, {"find", ".", "-exec", "rm", "{}", ";"}, {"mkfs.ext4", "x"},
		{"nice", "mkfs.ext4", "x"}, {"busybox", "rm", "x"}, {"setsid", "kill", "1"}, {"find", "-delete"}} {
		is(true, argv(words...), words[0]+" "+words[len(words)-1])
	}
	for _, line := range []string{`r""m x`, `r'm' x`, `true && \rm x`, `nice rm x`, `sh -c 'r""m x'`, `echo $(rm x)`,
		`find . -delete`, `eval "rm x"`, "a=1 rm x"} {
		is(true, uses{Action: policy.Action{Shell: line}}, line)
	}
	for _, words := range [][]string{{"ls"}, {"find", ".", "-name", "rm"}, {"grep", "-r", "rm", "."}, {"nice", "ls"},
		{"git", "rm", "x"}} {
		is(false, argv(words...), words[0])
	}
	is(false, uses{Action: policy.Action{Shell: "ls -l | head"}}, "ls")
}

package runner

import (
	"strings"
	"testing"

	"wield/tool"
	"wield/tool/internal/value"
	"wield/tool/policy"
)

// TestDangerousHoweverSpelled checks that a program that needs a person's word is refused in a wrapper and a
// shell, whatever its spelling.
func TestDangerousHoweverSpelled(t *testing.T) {
	g := guard{&tool.Guard{DangerousCommands: tool.DangerousCommands()}}
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

func TestGuardLiterals(t *testing.T) {
	facts := tool.Facts{Command: "command", Arguments: "arguments", Shell: "shell", Dir: "cwd", Operation: "operation",
		Ops: map[string]policy.Op{"read": policy.OpRead, "write": policy.OpWrite, "list": policy.OpList,
			"delete": policy.OpDelete}, Paths: []tool.PathFact{{Argument: "path"}}}
	for _, test := range []struct {
		name  string
		guard tool.Guard
		args  string
		want  string
	}{
		{"path_E57", tool.Guard{Whitelist: []string{"*.json"}}, `{"operation":"read","path":"a.txt"}`,
			"Not whitelisted: a.txt"},
		{"nothing is listed", tool.Guard{Whitelist: []string{}}, `{"operation":"read","path":"a.txt"}`,
			"Not whitelisted: a.txt"},
		{"command_E37", tool.Guard{Whitelist: []string{"ls", "cat"}}, `{"command":"rm","arguments":["x"]}`,
			"Command not whitelisted"},
		{"read-only_E59", tool.Guard{}, `{"operation":"write","path":"a.txt"}`,
			"Operation write not allowed in read-only mode"},
		{"read-only delete_E59", tool.Guard{Mode: tool.ModeRO}, `{"operation":"delete","path":"a.txt"}`,
			"Operation delete not allowed in read-only mode"},
		{"unknown operation", tool.Guard{}, `{"operation":"zap","path":"a.txt"}`,
			"Operation zap not allowed in read-only mode"},
		{"dangerous_E58", tool.Guard{DangerousCommands: []string{"rm"}}, `{"command":"rm"}`,
			"Dangerous operation requires approval"},
		{"dangerous by its path_XE16", tool.Guard{DangerousCommands: []string{"rm"}}, `{"command":"/bin/rm"}`,
			"Dangerous operation requires approval"},
		{"dangerous path", tool.Guard{Mode: tool.ModeRW, DangerousPaths: []string{"*.pem"}},
			`{"operation":"write","path":"a/KEY.PEM"}`, "Dangerous operation requires approval"},
		{"approval_XE09", tool.Guard{Mode: tool.ModeRW, RequiresApproval: true, DangerousPaths: []string{"*.pem"}},
			`{"operation":"write","path":"x.pem"}`, "User denied approval"},

		{"listed", tool.Guard{Whitelist: []string{"*.json"}}, `{"operation":"read","path":"a/b.json"}`, ""},
		{"listed deep_E21", tool.Guard{Whitelist: []string{"**/*.json"}}, `{"operation":"read","path":"config.json"}`, ""},
		{"one star is one name_XE11", tool.Guard{Whitelist: []string{"docs/*"}}, `{"operation":"read","path":"docs/a/b"}`,
			"Not whitelisted: docs/a/b"},
		{"neighbour_XE01", tool.Guard{Whitelist: []string{"docs/*"}}, `{"operation":"read","path":"docs-secret/s.txt"}`,
			"Not whitelisted: docs-secret/s.txt"},
		{"neighbour by dots_XE02", tool.Guard{Whitelist: []string{"docs/*"}},
			`{"operation":"read","path":"docs/../docs-secret/s.txt"}`, "Not whitelisted: docs/../docs-secret/s.txt"},
		{"outside_XE03", tool.Guard{Whitelist: []string{"*.conf"}}, `{"operation":"read","path":"/etc/host.conf"}`,
			"Not whitelisted: /etc/host.conf"},
		{"outside by dots_XE04", tool.Guard{Whitelist: []string{"passwd"}},
			`{"operation":"read","path":"../../../../../../etc/passwd"}`,
			"Not whitelisted: ../../../../../../etc/passwd"},
		{"outside, all listed_XE05", tool.Guard{Whitelist: []string{"*"}}, `{"operation":"read","path":"/etc/passwd"}`,
			"Not whitelisted: /etc/passwd"},
		{"a path by a star_XE16", tool.Guard{Whitelist: []string{"*rm", "/bin/*"}},
			`{"command":"/bin/rm","arguments":["x"]}`, "Command not whitelisted"},
		{"a way around_XE18", tool.Guard{Whitelist: []string{"git*"}},
			`{"command":"gitx/../../../../bin/sh","arguments":["-c","id"]}`, "Command not whitelisted"},
		{"a path_XE18", tool.Guard{Whitelist: []string{"git*", "/usr/bin/git"}}, `{"command":"/usr/bin/git"}`, ""},
		{"a directory is no program", tool.Guard{Whitelist: []string{"git*"}},
			`{"command":"rm","arguments":["x"],"cwd":"git-data"}`, "Command not whitelisted"},
		{"a program is no directory", tool.Guard{Whitelist: []string{"ls"}}, `{"command":"ls","cwd":"sub"}`, ""},
		{"a line that begins well_XE17", tool.Guard{Whitelist: []string{"git*"}}, `{"shell":"git log; rm x"}`,
			"Command not whitelisted"},
		{"a line where all is listed", tool.Guard{Whitelist: []string{"*"}}, `{"shell":"git log; rm x"}`, ""},
		{"command", tool.Guard{Whitelist: []string{"git*"}}, `{"command":"git","arguments":["log"]}`, ""},
		{"no whitelist", tool.Guard{Mode: tool.ModeRW}, `{"operation":"write","path":"a.txt"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := nop("x")
			x.Facts, x.Guard, x.Style = facts, &test.guard, tool.StyleLLF
			r := runner(t, x)
			r = r.With(func(s *Settings) { s.Root = "/work" })
			_, got := play(t, r, call("x", test.args))
			want := `{"success":false,"error":` + string(value.Quote(test.want))
			if test.want == "" {
				want = `{"success":true`
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

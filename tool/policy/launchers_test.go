package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
)

// TestDenyHoldsInLaunchers: a rule that denies a program holds where another one runs it, whatever else is
// allowed. The lines are in a file of their own; with a harmless program in the place of rm none of them is
// denied.
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
			"all else is allowed": {Default: chat.DecisionAllow, Rules: []Rule{deny}},
			"the launcher is allowed": {
				Rules: []Rule{deny, {Decision: chat.DecisionAllow, Selector: Selector{Command: []string{launcher}}}}},
			"the line is allowed": {
				Rules: []Rule{deny, {Decision: chat.DecisionAllow, Selector: Selector{Tool: []string{"sh"}}}}},
		} {
			p, err := New(def)
			if err != nil {
				t.Fatal(err)
			}
			call := Action{Tool: "sh", Shell: strings.ReplaceAll(line, "{} ;", `{} \;`), Root: root}
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

// launchers run the command in the place of %s, %q is that in quotes of a shell.
var launchers = []string{"%s", "timeout 5 %s", "nice -n 3 %s", "time -f %%e %s", "env -i %s", "command %s", "sh -c %q",
	"sh -ceu %q", "bash -c -- %q", "bash -c +x %q", "bash -o errexit -c %q", "dash -ec %q", "eval %q",
	"tox exec -- %s", "tox -- %s", "nox -- %s", "bundle exec %s", "nerdctl exec c %s", "docker run i %s",
	"ssh-agent %s", "poetry -C d run %s", "hatch -e t run %s", "uv run %s", "npx %s", "bun run %s",
	"find . -exec %s \\;", "xargs %s",
	"ip netns exec n %s", "cmake -E env %s", "cmake -E chdir d %s", "bun exec %q", "podman exec -l %s", "unknowntool run %s", "unknowntool --opt v exec -- %s",
	"if true; then %s; fi", "for i in 1 2; do %s; done", "while true; do %s; done", "echo $( %s)", "x=$( %s)",
	"%s > /dev/null", "{ %s; }", "(cd d && %s)", "! %s", "ls | %s", "true || %s"}

// deniedSpellings write a program that a rule denies.
var deniedSpellings = []string{"rm", "/bin/rm", "RM", `r""m`, `\rm`, `'rm'`, `r'm'`, "rm.exe", "/usr/bin/../bin/rm",
	"{rm,-f}"}

// TestDenyHoldsInside puts a denied program, however it is spelled, into others that run it, several deep.
func TestDenyHoldsInside(t *testing.T) {
	root := t.TempDir()
	p, err := New(Definition{Default: chat.DecisionAllow,
		Rules: []Rule{{Decision: chat.DecisionDeny, Selector: Selector{Command: []string{"rm"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom(deniedSpellings).Draw(t, "program") + " x"
		for range rapid.IntRange(1, 3).Draw(t, "depth") {
			l := rapid.SampledFrom(launchers).Draw(t, "launcher")
			if strings.Contains(l, "%s") && !compound(l) && !simple(command) {
				continue // a program runs no line of a shell
			}
			if l == "ls | %s" && strings.HasPrefix(command, "!") {
				continue // which no shell reads
			}
			command = strings.NewReplacer("%%", "%", "%s", command, "%q", quoteShell(command)).Replace(l)
		}
		if v := p.Decide(Action{Tool: "sh", Shell: command, Root: root}); v.Decision != chat.DecisionDeny {
			t.Fatalf("%s: %s", command, v)
		}
	})
}

// compound reports whether a shell reads the place of the command as a command.
func compound(launcher string) bool {
	return strings.ContainsAny(launcher, ";{(|!>") && !strings.Contains(launcher, "find") || launcher == "%s"
}

func simple(command string) bool { return !strings.ContainsAny(command, ";|!()>&$") }

// TestStrangeOperand: under a default of allow a program that nobody knows is asked about if a word of it is
// a command that is denied, and any program if a text that it runs names such a command.
func TestStrangeOperand(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := New(Definition{Default: chat.DecisionAllow,
		Rules: []Rule{{Decision: chat.DecisionDeny, Selector: Selector{Command: []string{"rm", "git push",
			"npm publish --force|-f"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]chat.Decision{
		"unknowntool rm x": "ask", "unknowntool --opt 3 rm x": "ask", "unknowntool 'rm x'": "ask",
		"unknowntool --opt /bin/rm": "ask", "unknowntool git push": "ask", "docker strange rm": "ask",
		"unknowntool --cmd=rm": "ask", "unknowntool --cmd='rm x'": "ask", "unknowntool -c=git push": "ask",
		"grep --strange rm x": "ask", "unknowntool exec rm x": "deny", "ls && ! ! ! rm x": "deny",
		"unknowntool x": "allow", "unknowntool git status": "allow", "echo rm x": "allow", "grep rm x": "allow",
		"git rm x": "allow",

		// joined to an option that nobody knows
		`unknowntool -c"rm x"`: "ask", "unknowntool -crm x": "ask", "unknowntool -erm": "ask", "unknowntool -e=rm": "ask",
		"unknowntool -c/bin/rm x": "ask", `unknowntool -c"r"m`: "ask", `unknowntool -c\rm`: "ask", "unknowntool -cRM": "ask",
		"unknowntool -crm.exe": "ask", "unknowntool -lc'rm x'": "ask", "unknowntool +crm": "ask", "unknowntool --exec=rm": "ask",
		"unknowntool --exec='rm x'": "ask", "unknowntool -cgit push": "ask", "ls -Yrm x": "ask", "tcpdump -zrm -w f": "ask",
		`unknowntool -c'r""m x'`: "ask", `unknowntool 'r\m x'`: "ask", `unknowntool --exec="r''m x"`: "ask",
		"unknowntool 'ls \"$x\"'": "allow", "unknowntool -form": "allow", "unknowntool --format": "allow", "unknowntool -orm.txt": "allow",
		"unknowntool --out=rm.txt": "allow", "unknowntool -cgit status": "allow",

		// under a sub-command that nobody knows
		`rails runner 'system("rm x")'`: "ask", "bin/rails r '`rm x`'": "deny", `deno eval 'x({cmd:["rm","x"]})'`: "ask",
		"deno run -A npm:rm x": "deny", "deno run npm:rm@1": "ask", "deno x npm:rm": "ask", "cmake -E rm x": "ask",
		"openssl enc -pass 'cmd:rm x'": "ask", `bun -e 'Bun.spawn(["rm","x"])'`: "ask", "kubectl patch p -p '[\"rm\"]'": "ask",
		"brew ruby -e 'system(\"rm x\")'": "ask", "gh alias set x '!rm x'": "ask", "git submodule add -b b 'ext::rm x'": "ask",
		"docker commit --change 'CMD [\"rm\"]' c": "ask", "rpm --eval '%(rm x)'": "ask", "rpm -E '%(rm x)'": "ask",
		"rpm --define 'x %(rm x)' -q y": "ask", "gh pr create --title 'rm x'": "allow", "docker build -t rm .": "allow",
		"rails runner 'puts 1'": "allow", "deno run main.ts": "allow", "docker build -t app .": "allow",

		// a variable of a text that runs, and what stands in an input
		"awk -v c='rm x' 'BEGIN{system(c)}'": "ask", "awk -v c=rm '/x/'": "allow", `psql <<< '\! rm x'`: "ask",
		"dc <<< '!rm x'": "ask", "psql <<< 'select 1'": "allow", "sed 1erm f": "deny", "gsed -e '1erm x' f": "deny",

		"cp a.txt there": "allow", "mv a.txt there": "allow", "ln -f a.txt there": "allow", "install a.txt there": "allow",
		"sed -i s/a/b/ there": "allow", "git mv -f a.txt there": "allow", "cp -t . a.txt": "allow",
		"vim rm.txt": "allow", "code rm.txt": "allow", "vim rm": "ask", "grep rm a.txt": "allow", "echo rm": "allow",
		"git commit -m 'rm x'": "allow", "dpkg -S rm": "allow", "tar cf rm.tar rm": "allow",

		// texts that run, or may run
		`awk 'BEGIN{system("rm x")}'`: "ask", `awk 'BEGIN{"/bin/rm x" | getline}'`: "ask", "sed '1e rm x' f": "deny",
		"sed 's/a/rm x/e' f": "ask", "sqlite3 db '.shell rm x'": "ask", `psql -c '\! rm x'`: "ask", "vim '+!rm x'": "ask",
		"less '+!rm x' f": "ask", "ed f <<< '!rm x'": "ask", "echo '!rm x' | ed f": "ask", "ed f <<'E'\n!rm x\nE": "ask",
		`emacs --eval '(shell-command "rm x")'`: "ask", "task -- rm x": "ask", "=rm x": "ask", "nohup =rm x": "ask",
		`perl -e 'exec "git", "push"'`: "deny", `python3 -c 'import os; os.system("rm x")'`: "ask",
		`python3 <<< 'os.system("rm x")'`: "ask", `unknowntool -e 'system("rm x")'`: "ask",
		`unknowntool <<< 'system("rm x")'`: "ask", `dc -e '!rm x'`: "ask",
		`awk 'BEGIN{system("npm publish --force")}'`: "ask", `awk 'BEGIN{system("npm publish")}'`: "allow",
		`python3 -c 'run(["npm", "publish", "-f"])'`: "ask", `python3 -c 'run(["git", "-C", "x", "push"])'`: "ask",
		"{ :; unknowntool; unknowntool; } <<'E'\nrm x\nE": "ask", "{ unknowntool; python3 x.py; } <<'E'\narm x\nE": "allow",

		"cmake -E time rm x": "deny", `deno eval 'new Deno.Command("rm")'`: "ask",
		"terraform console <<< 'rm x'": "ask", "bun exec 'rm x'": "deny", "grm x": "deny", "xargs grm": "deny",
		`fd -x ls \; -x rm`: "deny", `fd -Hx ls \; -Xrm`: "deny", `fd -x ls ';' --exec=rm`: "deny", `fd -x ls \;`: "allow",
		"gls x": "allow", "cmake -E time ls": "allow", "deno eval 'arm x'": "allow",

		"awk '/rm/{print}' f": "allow", `awk '{print "rm x"}' f`: "allow", "sed -n /rm/p f": "allow",
		"sed -i s/rm/x/ f": "allow", "python3 rm.py": "allow", "git commit -m 'rm x, git push'": "allow",
		"go test -run rm ./...": "allow", "cat <<< 'rm x'": "allow", "less rm.txt": "allow", "ls rm": "allow",
		`perl -e 'print "git pull"'`: "allow", "unknowntool rms 'arm x'": "allow", "make test": "allow",
	} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
}

// TestAllowedByDefault: under a default of allow what is not known about an option, or about what a loop reads, is
// asked about all the same, and a file that is protected is denied.
func TestAllowedByDefault(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.txt", "id_rsa"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := New(Definition{Default: chat.DecisionAllow,
		Rules: []Rule{{Decision: chat.DecisionDeny, Selector: Selector{Command: []string{"rm"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]chat.Decision{
		"ls --bogus=main": "allow", "ls --bogus=../x": "ask", "ls --bogus=id_rsa": "deny",
		"ls --bogus=.git/config": "ask", "ls --bogus='rm x'": "deny", "ls --bogus 'rm x'": "ask", "ls --bogus=rm": "deny",
		"while read -r f; do cat $f; done < <(find . -name '*.txt')":    "allow",
		"while read -r f; do cat $f; done < <(find . -name 'id*')":      "ask",
		"while read -r PATH; do cat $PATH; done < <(find . -name 'a*')": "ask",
		"while read -r f; do cat $f; done < <(id)":                      "ask",
		"while read -r f; do rm $f; done < <(id)":                       "deny",
		"while read -r f; do $f; done < <(id)":                          "ask",
	} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
}

// harmless puts another program in the place of rm.
var harmless = strings.NewReplacer(" rm", " ls", "'rm", "'ls", "=rm", "=ls", `"rm`, `"ls`, "!rm", "!ls", "(rm", "(ls",
	"`rm", "`ls")

// harmfulInside are lines that ask where the program is allowed, the program and what it is given.
var harmfulInside = [][2]string{{"jest", "--globalSetup=./x.js"}, {"jest", "-c x.js"}, {"mocha", "-r ./evil.js"},
	{"mocha", "--require ./evil.js"}, {"eslint", "-f ./evil.js ."}, {"eslint", "-o .git/hooks/pre-commit ."},
	{"tsc", "--outFile main.go"}, {"tsc", "--outDir .git/hooks"}, {"prettier", "--plugin=./x.js ."},
	{"pytest", "-p evil"}, {"pytest", "--junitxml=setup.py"}, {"vitest", "--config evil.js"}, {"rspec", "-r ./evil"},
	{"pytest", "notes.txt"}, {"pytest", "notes.txt::notes.txt"}, {"mocha", "x.log"}, {"prove", "x.txt"}, {"bats", "x.txt"},
	{"node", "--test x.json"}, {"ruff", "check --config evil.toml"}, {"mypy", "--config-file ../x"}, {"tsc", "-p ../x"}}

// TestDashesOfRunners: a -- before or behind the program that another one runs never makes what is decided about
// it milder than it is alone, since nobody knows which of the two programs takes it.
func TestDashesOfRunners(t *testing.T) {
	root, table, runners := t.TempDir(), programs(), 0
	for name, row := range table {
		if !row.dashes {
			continue
		}
		runners++
		runner := strings.ReplaceAll(name, ".", " ")
		for _, inside := range harmfulInside {
			p, err := New(
				Definition{
					Rules: []Rule{{Decision: chat.DecisionAllow,
						Selector: Selector{Command: []string{runner, inside[0], inside[0] + " check"}}}}})
			if err != nil {
				t.Fatal(err)
			}
			decide := func(words ...string) chat.Decision {
				return p.Decide(Action{Tool: "sh", Shell: strings.Join(words, " "), Root: root}).Decision
			}
			alone := decide(inside[0], inside[1])
			if alone == chat.DecisionAllow {
				t.Fatalf("%s %s is allowed by itself", inside[0], inside[1])
			}
			for _, words := range [][]string{{runner, inside[0], inside[1]}, {runner, "--", inside[0], inside[1]},
				{runner, inside[0], "--", inside[1]}, {runner, "--", inside[0], "--", inside[1]},
				{runner, inside[0], "x", "--", inside[1]}, {runner, inside[0], "--", "--", inside[1]}} {
				if got := decide(words...); strictness(got) < strictness(alone) {
					t.Errorf("%s: %s, alone %s", strings.Join(words, " "), got, alone)
				}
			}
		}
	}
	if runners < 25 {
		t.Errorf("%d runners: has a part of the table been lost?", runners)
	}
}

// TestRunnersStillAllow: what is harmless by itself needs no question behind a runner, with a -- or without.
func TestRunnersStillAllow(t *testing.T) {
	root := t.TempDir()
	p, err := New(
		Definition{
			Rules: []Rule{{Decision: chat.DecisionAllow,
				Selector: Selector{Command: []string{"npm exec", "npm test|run", "yarn exec", "bundle exec",
					"hatch test", "rye test", "uv run", "jest", "tsc", "eslint", "rspec", "pytest", "bun test",
					"nx test", "turbo run"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"npm exec jest -- --coverage", "npm exec -- tsc --noEmit",
		"npm exec tsc -- --noEmit", "yarn exec eslint -- src", "bundle exec rspec -- spec", "uv run -- pytest -q",
		"hatch test -- -k foo", "rye test -- -q", "npm test -- --watch=false", "npm run test -- -t name",
		"bun test -- -t name", "nx test app", "turbo run test"} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != chat.DecisionAllow {
			t.Errorf("%s: %s", line, v)
		}
	}
}

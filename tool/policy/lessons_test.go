//go:build unix

package policy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wield/chat"
)

// The tests of this file are about what has gone wrong in programs that came before. The names are those of
// the lessons.

// A tree is a workspace with a directory outside of it.
type tree struct{ root, out string }

func newTree(t *testing.T) tree {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := tree{root: filepath.Join(base, "work"), out: filepath.Join(base, "other")}
	for _, name := range []string{"docs/a.md", "docs/sub/b.md", "docs-old/s.txt", "src/main.py", "src/pkg/deep/x.py",
		"config.json", "a.txt", "a..b.txt", "keys/tls.pem", ".env", "secrets.yaml", "src/secrets.py"} {
		put(t, filepath.Join(w.root, name))
	}
	put(t, filepath.Join(w.out, "plan.txt"))
	put(t, w.root+"-evil/plan.txt")
	for link, target := range map[string]string{"docs/link.md": filepath.Join(w.out, "plan.txt"), "docs/dir": w.out,
		"docs/up": "../..", "docs/in.md": "a.md", "docs/loop": "loop", "docs/gone.md": filepath.Join(w.out, "new.txt"),
		"docs/env": "../.env"} {
		if err := os.Symlink(target, filepath.Join(w.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(w.out, "plan.txt"), filepath.Join(w.root, "docs/hard.md")); err != nil {
		t.Fatal(err)
	}
	return w
}

func put(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// paths is a policy that allows patterns for the operations.
func paths(t *testing.T, patterns []string, ops ...Op) *Policy {
	t.Helper()
	p, err := New(Definition{Default: chat.DecisionDeny,
		Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Path: patterns, Op: ops}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// expect decides about "OP PATH" lines.
func (w tree) expect(t *testing.T, p *Policy, want chat.Decision, uses ...string) {
	t.Helper()
	for _, use := range uses {
		op, name, _ := strings.Cut(use, " ")
		name = strings.NewReplacer("$OUT", w.out, "$WS", w.root).Replace(name)
		if v := p.Decide(Action{Tool: "files", Root: w.root,
			Paths: []PathUse{{Path: name, Op: Op(op)}}}); v.Decision != want {
			t.Errorf("%s: %s, want %s", use, v, want)
		}
	}
}

// commandsIn decides about command lines, and about programs with their arguments where a line begins with "argv:".
func (w tree) commandsIn(t *testing.T, p *Policy, atLeast chat.Decision, lines ...string) {
	t.Helper()
	for _, line := range lines {
		c := Action{Tool: "run", Root: w.root, Shell: line}
		if words, ok := strings.CutPrefix(line, "argv:"); ok {
			c.Shell, c.Argv = "", strings.Split(words, " ")
		}
		if v := p.Decide(c); strictness(v.Decision) < strictness(atLeast) {
			t.Errorf("%s: %s, want at least %s", line, v, atLeast)
		}
	}
}

func TestX_E01(t *testing.T) {
	w := newTree(t)
	p := paths(t, []string{"docs/*"})
	w.expect(t, p, "deny", "read docs-old/s.txt", "read $WS-evil/plan.txt")
	w.expect(t, p, "allow", "read docs/a.md")
}

func TestX_E02(t *testing.T) {
	w := newTree(t)
	w.expect(t, paths(t, []string{"docs/*"}), "deny", "read docs/../docs-old/s.txt")
}

func TestX_E03(t *testing.T) {
	w := newTree(t)
	w.expect(t, paths(t, []string{"*.txt", "*.conf", "plan.txt", "hosts"}), "deny", "read $OUT/plan.txt",
		"read /etc/hosts", "read docs-old/s.txt")
}

func TestX_E04(t *testing.T) {
	w := newTree(t)
	w.expect(t, paths(t, []string{"plan.txt", "**"}), "deny", "read ../other/plan.txt",
		"read docs/../../other/plan.txt", "read ../../../../../../../../etc/hosts")
}

func TestX_E05(t *testing.T) {
	w := newTree(t)
	w.expect(t, paths(t, []string{"*", "**"}), "deny", "read /etc/passwd", "read /proc/self/environ",
		"read ~root/.ssh/id_rsa", "list /proc", "read .env", "read secrets.yaml", "read keys/tls.pem")
}

func TestX_E06(t *testing.T) {
	w := newTree(t)
	w.expect(t, paths(t, []string{"docs/*"}), "deny", "list /root", "list $OUT", "list docs", "list ..", "list src")
	w.expect(t, paths(t, []string{"docs/*"}), "allow", "list .", "list $WS")
	w.expect(t, paths(t, []string{"docs/**"}), "allow", "list docs", "list docs/sub")
}

func TestX_E07(t *testing.T) {
	w := newTree(t)
	p := paths(t, []string{"**"})
	w.expect(t, p, "deny", "read docs/link.md", "read docs/dir/plan.txt", "write docs/dir/new.txt",
		"read docs/up/other/plan.txt", "write docs/gone.md", "read docs/loop", "read docs/hard.md",
		"write docs/hard.md", "read docs/env")
	w.expect(t, p, "allow", "read docs/in.md")
	// A link leads to where it leads: what is allowed there counts.
	w.expect(t, paths(t, []string{"docs/in.md"}), "deny", "read docs/in.md")
}

func TestX_E08(t *testing.T) {
	w := newTree(t)
	p := paths(t, []string{"*", "**"})
	w.expect(t, p, "deny", "write .env.local", "write KEY.PEM", "write id_rsa", "write secrets.yaml",
		"write .git/hooks/pre-commit", "write home/.bashrc", "write .npmrc", "write .netrc", "write /etc",
		"write .ssh/config", "write .SSH/x", "write sub/.Git/config", "write .wield.yaml", "write .aiignore")
	w.expect(t, p, "allow", "write src/secrets.py", "write .env.example", "write password_form.tsx")
}

func TestX_E09(t *testing.T) {
	w := newTree(t)
	// A rule that asks does not switch the built-in checks off, and nobody to ask is no yes.
	p, err := New(Definition{Default: chat.DecisionAllow,
		Rules: []Rule{{Decision: chat.DecisionAsk, Selector: Selector{Op: []Op{OpWrite}}},
			{Decision: chat.DecisionAsk, Selector: Selector{Command: []string{"rm"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.expect(t, p, "deny", "write x.pem")
	w.expect(t, p, "ask", "write x.txt")
	w.commandsIn(t, p, "ask", "rm x", "argv:rm x")
}

func TestX_E10(t *testing.T) {
	w := newTree(t)
	w.expect(t, paths(t, []string{"src/**/*.py", "**/*.json"}), "allow", "read src/main.py", "read src/pkg/deep/x.py",
		"read config.json")
}

func TestX_E11(t *testing.T) {
	w := newTree(t)
	p := paths(t, []string{"*/x.py", filepath.Dir(w.root) + "/*/plan.txt"})
	w.expect(t, p, "deny", "read src/pkg/deep/x.py", "read $OUT/sub/plan.txt")
	w.expect(t, p, "allow", "read $OUT/plan.txt") // a pattern from the root of the system on opens what is outside
}

func TestX_E12(t *testing.T) {
	p := paths(t, []string{"**"})
	for _, root := range []string{"/nonexistent/root", "", "relative", "/etc/hosts"} {
		if v := p.Decide(Action{Tool: "files", Root: root,
			Paths: []PathUse{{Path: "a.txt", Op: OpRead}}}); v.Decision != chat.DecisionDeny {
			t.Errorf("root %q: %s", root, v)
		}
		if v := commands(t, "", []string{"cat"},
			nil).Decide(Action{Tool: "run", Root: root, Shell: "cat a/b.txt"}); v.Decision == chat.DecisionAllow {
			t.Errorf("root %q: %s", root, v)
		}
	}
}

func TestX_E13(t *testing.T) {
	w := newTree(t)
	p := commands(t, "", []string{"find"}, nil)
	w.commandsIn(t, p, "ask", "argv:find . -name victim -delete", "argv:find /etc/hostname -exec sh -c id {} ;",
		"argv:find . -fprint x", "argv:find . -ok id ;")
	w.commandsIn(t, p, "allow", "argv:find . -name victim")
}

func TestX_E14(t *testing.T) {
	w := newTree(t)
	p := commands(t, "", []string{"git"}, nil)
	w.commandsIn(t, p, "ask", "argv:git -c alias.x=!id x", "argv:git grep --open-files-in-pager=sh x",
		"argv:git grep -Osh x", "argv:git -c core.pager=x log", "argv:git -c core.sshCommand=x fetch",
		"argv:git config --global a b", "argv:git push", "argv:git-evil x", "argv:git --exec-path=x status")
	for _, line := range []string{"git status", "git log -3", "git --no-pager diff"} {
		if v := p.Decide(Action{Tool: "run", Root: w.root, Shell: line}); v.Decision != chat.DecisionAllow {
			t.Errorf("%s: %s", line, v)
		}
	}
}

func TestX_E15(t *testing.T) {
	w := newTree(t)
	// Nothing that a rule says of the tool makes a rule about the command milder.
	p, err := New(Definition{Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{"rm"}}},
		{Decision: chat.DecisionAsk, Selector: Selector{Tool: []string{"run"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.commandsIn(t, p, "ask", "argv:rm -f a.txt", "rm -f a.txt")
}

func TestX_E16(t *testing.T) {
	w := newTree(t)
	p := commands(t, "allow", []string{"/bin/rm", "rm"}, []string{"rm"})
	w.commandsIn(t, p, "deny", "argv:/bin/rm -f a.txt", "argv:/usr/bin/../bin/rm x", "argv:RM x", "/bin/rm x",
		`r""m x`, "argv:rm.exe x")
	if _, err := New(
		Definition{
			Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{"*rm"}}}}}); err == nil {
		t.Error("a rule that allows programs by a star in the name is accepted")
	}
}

func TestX_E17(t *testing.T) {
	w := newTree(t)
	wrappers := []string{"env", "nice", "timeout 1", "xargs", "nohup", "setsid", "busybox", "sudo", "doas",
		"stdbuf -oL", "ionice -c3", "command", "exec", "chroot /", "unshare", "flock x", "watch", "strace", "ssh host",
		"find . -exec"}
	p := commands(t, "", []string{"env", "nice", "timeout", "xargs", "nohup", "setsid", "busybox", "stdbuf", "ionice",
		"command", "sh", "python", "awk", "sed", "tar", "vi", "ssh", "find"}, []string{"rm"})
	for _, wrapper := range wrappers {
		w.commandsIn(t, p, "deny", wrapper+" rm -f a.txt", "argv:"+wrapper+" rm -f a.txt")
	}
	w.commandsIn(t, p, "deny", "sh -c 'rm x'", "bash -c 'nice rm x'")
	w.commandsIn(t, p, "ask", "python -c 'import os'", "awk 'BEGIN{system(\"id\")}'", "sed -n '1e id' f",
		"tar cf x --checkpoint-action=exec=sh .", "vi -c ':!sh'", "ssh -o ProxyCommand=id host", "argv:sh -c id")
}

func TestX_E18(t *testing.T) {
	w := newTree(t)
	p := commands(t, "", []string{"git", "sh"}, nil)
	w.commandsIn(t, p, "deny", "argv:gitx/../../../../bin/sh -c id", "argv:./git status", "argv:src/git x")
	w.commandsIn(t, p, "ask", "gitx/../../../../bin/sh -c id", "./git status", "/usr/bin/git status",
		"argv:/usr/bin/git status")
	pinned := commands(t, "", []string{"/usr/bin/git status", "./build.sh"}, nil)
	for _, argv := range [][]string{{"/usr/bin/git", "status"}, {"./build.sh"}} {
		if v := pinned.Decide(Action{Tool: "run", Root: w.root, Argv: argv}); v.Decision != chat.DecisionAllow {
			t.Errorf("%q: %s", argv, v)
		}
	}
}

func TestX_E19(t *testing.T) {
	w := newTree(t)
	p := commands(t, "", []string{"cat", "grep", "head", "git"}, nil)
	w.commandsIn(t, p, "ask", "argv:cat /etc/passwd", "argv:grep -r . ~root/.ssh", "argv:head ~/.aws/credentials",
		"argv:cat ../other/plan.txt", "argv:cat docs/link.md", "argv:grep -f/etc/hosts x",
		"argv:git diff --no-index /dev/null /etc/hosts", "argv:git log --output=/etc/x")
	w.commandsIn(t, p, "deny", "cat .env", "cat docs/env", "cat docs/hard.md", "cat keys/tls.pem",
		"grep x secrets.yaml", "cat /etc/shadow", "git show HEAD:.env", "cat docs/dir/../../work/.env")
	if v := p.Decide(Action{Tool: "run", Root: w.root,
		Argv: []string{"cat", w.root + "/a.txt"}}); v.Decision != chat.DecisionAllow {
		t.Errorf("an absolute path in the root: %s", v)
	}
}

func TestX_E20(t *testing.T) {
	w := newTree(t)
	// Programs that change the system are asked about even where a rule allows every program of the tool.
	p, err := New(Definition{Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Tool: []string{"run"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.commandsIn(t, p, "ask", "mkfs.ext4 /dev/sda", "chmod -R 777 /", "kill -9 1", "sudo ls", "killall x", "pkill x",
		"su", "shutdown now", "reboot", "poweroff", "init 0", "fdisk /dev/sda", "parted /dev/sda",
		"dd if=/dev/zero of=x", "rmdir /x", "truncate -s 0 /etc/x", "mv a.txt /etc/x", "tee /etc/x", "unlink /etc/x",
		"ln -sf /etc/hosts x", "chown root /etc", "shred /etc/x", "rm -rf /", "rm -rf ..", "rm -rf .git")
	// And where rules name them by stars, the base name counts.
	deny := commands(t, "allow", nil, []string{"mkfs*", "chmod", "shred", "kill"})
	w.commandsIn(t, deny, "deny", "mkfs.ext4 x", "mkfs -t ext4 x", "/sbin/mkfs.xfs x", "chmod 777 x", "shred x",
		"kill -9 1", "env kill 1")
}

func TestX_E22(t *testing.T) {
	w := newTree(t)
	p, err := New(Definition{Default: chat.DecisionAllow})
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{"{bad", `{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"a":1} {}`, `{"a":NaN}`,
		`{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":1e999}`, strings.Repeat("[", 1000)} {
		if v := p.Decide(Action{Tool: "any", Arguments: arguments, Root: w.root}); v.Decision != chat.DecisionDeny {
			t.Errorf("%q: %s", arguments, v)
		}
	}
}

func TestX_E32(t *testing.T) {
	w := newTree(t)
	p := paths(t, []string{"**"})
	uses := []string{"read ", "read a\x00b", "read a\nb", "read a\u202eb", "read ..\\x", "read C:", "read C:\\x",
		"read \\\\?\\x", "read a.txt:x", "read a.txt::$DATA", "read .env.", "read .env ", "read CON", "read con.json",
		"read sub/NUL.txt", "read LPT1.md", "read SECRET~1", "read PROGRA~1/x", "read .GIT~1", "write .git./config",
		"write .GIT/config", "write .git /config", "read .ENV", "read Keys/TLS.PEM",
		"read " + strings.Repeat("a/", 3000) + "x", "read " + strings.Repeat("x", 300), "append a.txt", "Write a.txt",
		"read docs", "list a.txt", "read a.txt/", "read a.txt/."}
	w.expect(t, p, "deny", uses...)
	// Other spellings of a name are other names. They are not there, which is what the tool says.
	w.expect(t, p, "allow", "read docs/..%2fx", "read a..b.txt", "read docs/sub/../a.md", "read docs/e\u0301.md",
		"read docs/é.md")
}

func TestX_E33(t *testing.T) {
	w := newTree(t)
	config := filepath.Join(w.root, "wield.yaml")
	state := filepath.Join(w.root, "state")
	p, err := New(Definition{Default: chat.DecisionAllow, Protected: []string{config, state}})
	if err != nil {
		t.Fatal(err)
	}
	w.expect(t, p, "deny", "write wield.yaml", "write state/approvals.db", "delete state",
		"write tools/tools_registry.json", "write .wield/x", "write .wield.yaml", "delete wield.yaml",
		"write ./docs/../wield.yaml", "write Wield.yaml")
	w.commandsIn(t, p, "deny", "echo x > wield.yaml", "cp a.txt wield.yaml",
		"sed -i s/a/b/ wield.yaml; tee wield.yaml", "touch state/x")
	// A repository may say that it lies elsewhere.
	if err := os.WriteFile(filepath.Join(w.root, ".git"), []byte("gitdir: meta/repo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.expect(t, p, "deny", "write meta/repo/hooks/pre-commit", "write .git")
	w.expect(t, p, "allow", "write meta/other")
}

// TestRunsLater checks that a person is asked before anything changes what other programs run later,
// whichever way it is changed.
func TestRunsLater(t *testing.T) {
	w := newTree(t)
	p, err := New(Definition{Default: chat.DecisionAllow, Rules: []Rule{
		{Decision: chat.DecisionAllow, Selector: Selector{Path: []string{"**", "*"}}},
		{Decision: chat.DecisionAllow,
			Selector: Selector{Command: []string{"cp *", "mv *", "tee *", "git mv *", "rm *", "sed *"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".github/workflows/ci.yml", ".husky/pre-commit", ".vscode/tasks.json",
		".cargo/config.toml", "conftest.py", "sub/conftest.py", "sub/.husky/x", ".GitHub/workflows/x.yml",
		".lintstagedrc.json", "x.code-workspace", ".github"} {
		w.expect(t, p, "ask", "write "+name, "delete "+name)
		w.expect(t, p, "allow", "read "+name)
		w.commandsIn(t, p, "ask", "cp a.txt "+name, "mv a.txt "+name, "tee "+name+" < a.txt", "git mv a.txt "+name,
			"echo x > "+name, "rm -r "+name, "cd docs && cp a.txt ../"+name, "sed -i s/a/b/ "+name)
	}
	w.commandsIn(t, p, "ask", "cp docs/conftest.py .", "mv docs/conftest.py src/", "git mv docs/conftest.py src",
		"cp -t . docs/conftest.py")
	w.expect(t, p, "allow", "write conftest_helper.py", "write .github/ISSUE_TEMPLATE.md", "write .cargo/audit.toml",
		"write docs/github/workflows/x.md")
	w.commandsIn(t, p, "allow", "cp a.txt docs/b.txt", "cat conftest.py", "cp conftest.py docs/copy.txt")
	// A rule that names it opens it, as one with a star does not.
	named, err := New(Definition{Default: chat.DecisionAsk,
		Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Path: []string{".github/workflows/**"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.expect(t, named, "allow", "write .github/workflows/ci.yml")
	w.expect(t, named, "ask", "write .husky/x")
}

func TestX_C02(t *testing.T) {
	w := newTree(t)
	p := paths(t, []string{"**"})
	w.expect(t, p, "allow", "read a..b.txt", "read src/../a.txt")
	w.expect(t, p, "deny", "read /etc/passwd", "read ..\\x", "read ../x", "read src/../../x")
}

// TestSpecialFiles checks that a pipe is refused before anybody opens it, and waits.
func TestSpecialFiles(t *testing.T) {
	w := newTree(t)
	if err := syscall.Mkfifo(filepath.Join(w.root, "pipe"), 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	w.expect(t, paths(t, []string{"**"}), "deny", "read pipe", "write pipe", "list pipe")
}

func TestIgnoreFile(t *testing.T) {
	w := newTree(t)
	p := paths(t, []string{"**"})
	w.expect(t, p, "allow", "read docs/a.md", "read src/main.py")
	text := "# comment\n*.md\n!keep.md\n/src/\nbuild\nlogs/**/*.log\n\\#x\n"
	if err := os.WriteFile(filepath.Join(w.root, ignoreFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.expect(t, p, "deny", "read docs/a.md", "read docs/sub/B.MD", "read src/main.py", "read src/pkg/deep/x.py",
		"list src", "write build", "read build/x", "read sub/build/x", "read logs/a/b/c.log", "read logs/c.log",
		"read #x", "write .aiignore", "read docs/in.md")
	w.expect(t, p, "allow", "read keep.md", "read docs/keep.md", "read a.txt", "write logs/c.txt", "read .aiignore")
	w.commandsIn(t, commands(t, "", []string{"cat"}, nil), "deny", "cat docs/a.md", "cat src/main.py",
		"cat < docs/a.md")
	// One that cannot be read leaves nothing open.
	if err := os.Remove(filepath.Join(w.root, ignoreFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.root, ignoreFile), 0o700); err != nil {
		t.Fatal(err)
	}
	w.expect(t, p, "deny", "read a.txt")
}

// TestSecretsNamed checks that a rule opens what holds secrets only by naming it.
func TestSecretsNamed(t *testing.T) {
	w := newTree(t)
	w.expect(t, paths(t, []string{"keys/*", "**", "keys/**", ".*", "*.yaml", "id*", ".en?"}), "deny",
		"read keys/tls.pem", "read .env", "read secrets.yaml", "read id_rsa")
	w.expect(t, paths(t, []string{"keys/*.pem", ".env", "secrets.yaml"}), "allow", "read keys/tls.pem", "read .env",
		"read secrets.yaml")
	w.commandsIn(t, commands(t, "allow", nil, nil), "deny", "cat .env", "cat keys/tls.pem")
}

// TestDirectories follows cd, as far as it can be known.
func TestDirectories(t *testing.T) {
	w := newTree(t)
	p := commands(t, "", []string{"cd", "cat", "ls", "git status"}, nil)
	for line, want := range map[string]chat.Decision{
		"cd docs && cat ../a.txt":          "allow",
		"cd docs && cd sub && cat ../a.md": "allow",
		"cd docs && cat ../../x":           "ask",
		"cd docs; cat ../a.txt":            "ask", // if the directory is not there, it is another file
		"cd docs || cat ../a.txt":          "ask",
		"(cd docs) && cat ../a.txt":        "ask",
		"cd docs/dir && cat plan.txt":      "ask",
		"cd /etc && cat hosts":             "ask",
		"cd $X && cat a.txt":               "ask",
		"cd && cat a.txt":                  "ask",
		"cd - && cat a.txt":                "ask",
		"cd docs && cat ../.env":           "deny",
		"git -C docs status":               "allow",
		"git -C .. status":                 "ask",
	} {
		if v := p.Decide(Action{Tool: "run", Root: w.root, Shell: line}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
	if v := p.Decide(Action{Tool: "run", Root: w.root, Dir: "docs",
		Shell: "cat ../a.txt"}); v.Decision != chat.DecisionAllow {
		t.Errorf("in a directory: %s", v)
	}
	if v := p.Decide(Action{Tool: "run", Root: w.root, Dir: w.out, Shell: "ls"}); v.Decision != chat.DecisionDeny {
		t.Errorf("in a directory outside: %s", v)
	}
}

// TestPatternsOfFiles judges what a pattern stands for.
func TestPatternsOfFiles(t *testing.T) {
	w := newTree(t)
	p := commands(t, "", []string{"cat", "ls", "wc", "find"}, []string{"rm"})
	put(t, filepath.Join(w.root, "opt/-delete"))
	for line, want := range map[string]chat.Decision{
		"cat src/*.py":      "allow",
		"cat *.none":        "allow",
		"wc -l *.txt":       "allow",
		"cat keys/*":        "deny",
		"cat docs/*":        "deny", // links and a file with two names
		"cat ../*":          "ask",
		"cat .*":            "ask",
		"cat ~/*":           "ask",
		"cat */*":           "deny", // keys among them
		"cat src/**/*.py":   "allow",
		"wc -l **/*.py":     "allow",
		"cat **/*.pem":      "deny",
		"cat /**/*.py":      "ask",
		"cat 'src/*.py'":    "allow",
		"l* x":              "ask",
		"cd opt && find *":  "ask",
		"cat src/*.py $(x)": "ask",

		"cat " + w.root + "/src/*.py": "allow",
		"cat " + w.root + "/keys/*":   "deny",
	} {
		if v := p.Decide(Action{Tool: "run", Root: w.root, Shell: line}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
}

// TestManyLinks checks that a chain of links ends.
func TestManyLinks(t *testing.T) {
	w := newTree(t)
	for i := range 60 {
		if err := os.Symlink(fmt.Sprintf("l%d", i+1), filepath.Join(w.root, fmt.Sprintf("l%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(w.root, "l60"))
	w.expect(t, paths(t, []string{"**"}), "deny", "read l0")
	w.expect(t, paths(t, []string{"**"}), "allow", "read l50")
}

// TestBareRepository: a directory that git takes for a repository without a .git lies open to whoever writes
// files, and its configuration names programs.
func TestBareRepository(t *testing.T) {
	w := newTree(t)
	p := commands(t, "", []string{"git", "cd", "ls"}, nil)
	allowed := []string{"git status", "git -C src log -1", "cd src && git status", "git -C docs/sub diff"}
	for _, line := range allowed {
		if v := p.Decide(Action{Tool: "run", Root: w.root, Shell: line}); v.Decision != chat.DecisionAllow {
			t.Errorf("%s: %s", line, v)
		}
	}
	for _, name := range []string{"src/HEAD", "src/objects/x", "src/refs/x", "src/config"} {
		put(t, filepath.Join(w.root, name))
	}
	w.commandsIn(t, p, "ask", "git -C src log -1", "cd src && git status", "cd src/pkg && git status",
		"git -C src/pkg/deep diff", "cd src; git log")
	// The objects of a repository can lie elsewhere.
	put(t, filepath.Join(w.root, "docs/sub/HEAD"))
	put(t, filepath.Join(w.root, "docs/sub/commondir"))
	w.commandsIn(t, p, "ask", "git -C docs/sub diff")
	for _, line := range []string{"git status", "git -C docs status", "cd src && ls"} {
		if v := p.Decide(Action{Tool: "run", Root: w.root, Shell: line}); v.Decision != chat.DecisionAllow {
			t.Errorf("%s: %s", line, v)
		}
	}
	// A .git is found first, and nobody but the person writes there.
	put(t, filepath.Join(w.root, "src/pkg/.git/HEAD"))
	if v := p.Decide(Action{Tool: "run", Root: w.root,
		Shell: "git -C src/pkg status"}); v.Decision != chat.DecisionAllow {
		t.Errorf("%s", v)
	}
}

// TestOtherShells: what is allowed is harmless for a shell without the extensions of bash, too. The lines are
// carried out with the shells that are there, each in a directory of its own, and the file that they are
// after has to be there still.
func TestOtherShells(t *testing.T) {
	lines := []string{`echo $'\'; rm victim #'`, `echo x &>/dev/null rm victim`, `echo x &>>/dev/null rm victim`,
		`[[ a && rm victim ]]`, `!(rm victim)`, `cat a &>/dev/null find . -delete`}
	p := commands(t, "", []string{"echo", "cat", "find", "ls"}, nil)
	ran := 0
	for _, shell := range []string{"sh", "bash", "dash", "busybox"} {
		program, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		for _, line := range lines {
			dir := t.TempDir()
			victim := filepath.Join(dir, "victim")
			put(t, victim)
			if v := p.Decide(Action{Tool: "run", Root: dir, Shell: line}); v.Decision == chat.DecisionAllow {
				t.Errorf("%s: %s", line, v)
			}
			argv := []string{program, "-c", line}
			if shell == "busybox" {
				argv = []string{program, "sh", "-c", line}
			}
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir = dir
			_ = cmd.Run() // some lines are no commands for some shells
			if _, err := os.Lstat(victim); err != nil {
				t.Logf("%s would have lost the file to %s", shell, line)
				ran++
			}
		}
	}
	if ran == 0 {
		t.Log("SKIPPED: no shell here reads these lines as commands, so that it is not shown what they do")
	}
}

// TestProgramsByName: a rule that allows a program by its name alone does not allow what else it can be made to do.
func TestProgramsByName(t *testing.T) {
	w := newTree(t)
	var names []string
	for name := range programs() {
		if !strings.Contains(name, ".") {
			names = append(names, quoteWord(name))
		}
	}
	p := commands(t, "", names, nil)
	w.commandsIn(t, p, "ask",
		"tar -cf host:x a.txt", "tar cf host:x a.txt", "tar xf x.tar", "tar -cf x a.txt -I sh", "unzip x.zip",
		"unzip -o x.zip", "rsync a.txt host:", "rsync host:a b", "rsync rsync://host/a b", "ldd ./a.out",
		"ps eww", "ps axe", "less '+!id' a.txt", "git grep -O x", "git grep --open-files-in-pager x",
		"git ls-remote ext::sh", "kubectl get pods -o go-template-file=/etc/hosts", "hostname other",
		`jq -n 'import "../other/plan" as $p; $p'`, `yq 'load("../other/plan.txt")' config.json`, "patch -p1 < a.txt",
		"patch -i a.txt", "awk 'BEGIN{system(1)}'", "sed -n 1e a.txt", "zip x a.txt -TT sh", "split --filter=sh a.txt",
		"rg --pre sh x", "fd -x rm", "man -P sh ls", "go vet -vettool=x", "go env -w A=b", "cargo --config x build",
		"node -e 1", "python3 -c 1", "pytest -p x", "perl -e 1",
		"curl -K x", "wget -e x http://example.com", "docker -H tcp://x ps", "terraform apply",
		"openssl req -engine x", "bat --pager=sh a.txt", "mypy --python-executable sh a.txt",
		"eslint --rulesdir x a.txt")
	for _, line := range []string{"tar -cf x.tar src", "tar tf x.tar", "unzip -l x.zip", "rsync -a src copy", "ps aux",
		"ps -ef", "less a.txt", "git grep x", "git ls-remote origin", "kubectl get pods -o yaml", "hostname -f",
		"jq .import config.json", "yq .a config.json", "patch a.txt x.diff"} {
		if v := p.Decide(Action{Tool: "run", Root: w.root, Shell: line}); v.Decision != chat.DecisionAllow {
			t.Errorf("%s: %s", line, v)
		}
	}
}

// TestSystemFiles has commands read files of the system that rules name in full, for this tool and this operation.
func TestSystemFiles(t *testing.T) {
	w := newTree(t)
	for _, c := range []struct {
		rule Selector
		want chat.Decision
	}{
		{Selector{Path: []string{"/proc/cpuinfo"}}, chat.DecisionAllow},
		{Selector{Path: []string{"/proc/cpuinfo"}, Op: []Op{OpRead}, Tool: []string{"sh"}}, chat.DecisionAllow},
		{Selector{Path: []string{"/proc/cpuinfo"}, Op: []Op{OpList}}, chat.DecisionDeny},
		{Selector{Path: []string{"/proc/cpuinfo"}, Tool: []string{"other"}}, chat.DecisionDeny},
		{Selector{Path: []string{"/proc/*"}}, chat.DecisionDeny},
	} {
		p, err := New(Definition{Rules: []Rule{{Decision: chat.DecisionAllow, Selector: c.rule},
			{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{"cat"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		v := p.Decide(Action{Tool: "sh", Argv: []string{"cat", "/proc/cpuinfo"}, Root: w.root, Dir: w.root})
		if v.Decision != c.want {
			t.Errorf("%+v: %s, %s", c.rule, v.Decision, v.Why)
		}
	}
}

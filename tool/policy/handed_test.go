//go:build unix

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
)

// TestHanded judges what xargs adds to commands, in trees whose names try to be something else.
func TestHanded(t *testing.T) {
	tidy := []string{"src/a.py", "src/deep/b.py", "README.md", "keys/id_rsa"}
	for _, c := range []struct {
		files []string // beside the tidy ones
		line  string
		want  chat.Decision
	}{
		{nil, "find . -name '*.py' | xargs cat", "allow"},
		{nil, "find src -type f | grep -v test | sort | head -5 | xargs wc -l", "allow"},
		{nil, "find src -type f | xargs -I{} head -3 {}", "allow"},
		{nil, "grep -rl x src | xargs head -n 3", "allow"},
		{nil, "git ls-files '*.py' | xargs cat", "allow"},
		{nil, "printf 'a b' | xargs -n1 echo", "allow"},
		{nil, "find . -type f | xargs cat", "ask"},                 // a key
		{nil, "find . -name '*.md' -o -type f | xargs cat", "ask"}, // any name
		{nil, "find . -name '*.py' -o -name 'id*' | xargs cat", "ask"},
		{nil, "find . -not -name '*.py' | xargs cat", "ask"},
		{nil, "find . -name '*.py' -printf '/etc/passwd' | xargs cat", "ask"},
		{nil, "find / -name '*.py' | xargs cat", "ask"},
		{nil, "find .. -name '*.py' | xargs cat", "ask"},
		{nil, "find \"$x\" -name '*.py' | xargs cat", "ask"},
		{nil, "find . -name '*.py' | sed s,.*,/etc/passwd, | xargs cat", "ask"},
		{nil, "find . -name '*.py' | grep -o p | xargs cat", "ask"},
		{nil, "find . -name '*.py' | xargs sort -o", "ask"},
		{nil, "find . -name '*.py' | xargs sort", "allow"},
		{nil, "find . -name '*.py' | xargs uniq", "ask"}, // the second one is written
		{nil, "find . -name '*.py' | xargs grep", "ask"}, // the first one is a pattern
		{nil, "find . -name '*.py' | xargs -I{} cat /etc/{}", "ask"},
		{nil, "find . -name '*.py' | xargs < README.md cat", "ask"},
		{nil, "cat README.md | xargs cat", "ask"},
		{nil, "xargs cat", "ask"},
		{nil, "find . -name '*.py' | xargs sh -c 'cat $0'", "ask"},
		{nil, "find . -name '*.py' | xargs rm", "deny"},
		{nil, "find . -name '*.py' -exec cat {} +", "allow"},
		{nil, "find . -name '*.py' -exec grep -l x {} \\;", "allow"},
		{nil, "find . -type f -exec cat {} +", "ask"},
		{nil, "find .. -name '*.py' -exec cat {} +", "ask"},
		{nil, "find -L . -name '*.py' -exec cat {} +", "ask"},
		{nil, "find . -name '*.py' -execdir cat {} +", "ask"},
		{nil, "find . -name '*.py' -exec cat {} + -exec cat /etc/x \\;", "ask"},
		{nil, "find . -name '*.py' -exec cat /etc/{} \\;", "ask"},
		{nil, "find . -name '*.py' -exec sort -o {} {} \\;", "ask"},
		{nil, "find . -name '*.py' -exec rm {} \\;", "deny"},
		{nil, "cat $(find . -name '*.py')", "allow"},
		{nil, "wc -l $(git ls-files '*.py') README.md", "allow"},
		{nil, "cat $(find . -type f)", "ask"},
		{nil, "cat \"$(find . -name '*.py')\"", "ask"},
		{nil, "cat x$(find . -name '*.py')", "ask"},
		{nil, "$(find . -name '*.py')", "ask"},
		{nil, "rm $(find . -name '*.py')", "deny"},
		{[]string{"src/x /etc/passwd.py"}, "cat $(find . -name '*.py')", "ask"},
		{[]string{"-n.py"}, "cat $(git ls-files '*.py')", "ask"},
		{[]string{"src/x /etc/passwd.py"}, "find . -name '*.py' | xargs cat", "ask"},
		{[]string{"src/x /etc/passwd.py"}, "find . -name '*.py' -print0 | xargs -0 cat", "allow"},
		{[]string{"src/'x'.py"}, "find src -name '*.py' | xargs cat", "ask"},
		{[]string{"--files0-from=src/a.py"}, "git ls-files | xargs wc -l", "ask"},
		{[]string{"--files0-from=src/a.py"}, "git ls-files | xargs wc -l --", "allow"},
		{[]string{"--files0-from=src/a.py"}, "find . -name '*.py' | xargs wc -l", "allow"},
	} {
		root := t.TempDir()
		for _, name := range append(tidy, c.files...) {
			put(t, filepath.Join(root, name))
		}
		p := commands(t, "", []string{"find", "xargs", "cat", "wc", "head", "grep", "sort", "uniq", "echo", "printf",
			"sed", "sh", "git ls-files"}, []string{"rm"})
		if v := p.Decide(Action{Tool: "run", Root: root, Shell: c.line}); v.Decision != c.want {
			t.Errorf("%s beside %q: %s, want %s", c.line, c.files, v, c.want)
		}
	}
	root := t.TempDir()
	if err := os.Symlink("/etc/hostname", filepath.Join(root, "x.py")); err != nil {
		t.Fatal(err)
	}
	p := commands(t, "", []string{"find", "xargs", "cat"}, []string{"rm"})
	if v := p.Decide(Action{Tool: "run", Root: root,
		Shell: "find . -name '*.py' | xargs cat"}); v.Decision == chat.DecisionAllow {
		t.Errorf("a link is read: %s", v)
	}
}

// TestHandedClosed: names that are handed on and patterns of the shell do not reach what a rule closes.
func TestHandedClosed(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"docs/a.md", "vault/plan.md"} {
		put(t, filepath.Join(root, name))
	}
	p, err := New(Definition{Rules: []Rule{
		{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{"find", "xargs", "cat", "ls", "wc"}}},
		{Decision: chat.DecisionDeny, Selector: Selector{Path: []string{"vault/**", "later/**", "**/shut/**/key"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string
		want chat.Decision
	}{
		{"find docs -type f -exec cat {} +", "allow"},
		{"find . -type f -exec cat {} +", "ask"},
		{"find . -type f | xargs cat", "ask"},
		{"find . -name plan.md -exec cat {} \\;", "ask"},
		{"find . -type f -exec ls -l {} +", "allow"},
		{"find docs -path 'later/*' -exec cat {} +", "deny"},
		{"find docs ! -path 'later/*' -exec cat {} +", "allow"},
		{"find docs -path later -prune -o -name '*.md' -exec cat {} +", "allow"},
		{"find docs -name '.env*' -exec cat {} +", "deny"},
		{"find docs -name .env", "allow"},
		{"cat $(find docs -name .env)", "deny"},
		{"cat v*/plan.md", "deny"},
		{"cat l*r/plan.md", "ask"},
		{"cat s*t/k/key", "ask"},
		{"cat a/s*t/b/k*/c/key", "ask"},
		{"cat a/s*t/b/k*/c/door", "allow"},
		{"cat " + strings.Repeat("s*t/k*/", 900) + "door", "allow"},
		{"wc -l docs/*.txt", "allow"},
		{"wc -l *.txt", "allow"},
		{"cat */a.txt", "allow"},
	} {
		if v := p.Decide(Action{Tool: "run", Root: root, Shell: c.line}); v.Decision != c.want {
			t.Errorf("%s: %s, want %s", c.line, v, c.want)
		}
	}
}

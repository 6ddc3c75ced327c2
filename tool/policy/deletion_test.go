package policy

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wield/chat"
)

// TestDeletion: what a directory holds that no call may change is not deleted with it, whatever the policy says.
func TestDeletion(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".git/config", ".git/refs/tags/v1", "src/a.go", "src/a.pyc", "sub/.git/HEAD",
		"build/x.o", "lib/x.o", ".wield.yaml"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, def := range map[string]Definition{
		"all is allowed": {Default: chat.DecisionAllow},
		"by rules": {
			Rules: []Rule{{Decision: chat.DecisionAllow,
				Selector: Selector{Command: []string{"find -delete", "rm", "rm -r|-f|-rf", "mv", "dd", "unzip", "perl",
					"nice", "sh -c"}}}, {Decision: chat.DecisionAllow, Selector: Selector{Path: []string{"**"}}}}},
	} {
		p, err := New(def)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"find .git -delete", "find .git/refs -type f -delete", "find . -delete",
			"find -delete", "find sub -delete", "find . -name config -delete", "find . -iname CONFIG -delete",
			"find . -type d -delete", "find . -path './.git/*' -delete", "find . -name x -o -name config -delete",
			"find . -not -name '*.go' -delete", "find . -maxdepth 1 -type f -delete",
			"find src . -name config -delete", `find . \( -name a \) -delete`, "find . ! -path './x/*' -delete",
			"rm -rf .", "rm -rf .git", "rm -r sub", "rm -rf ./", "rm .wield.yaml", "nice rm -rf .", "sh -c 'rm -rf .'",
			"dd if=a of=.git/config", "unzip a.zip -d .git/hooks", "perl -i -pe s/a/b/ .git/config"} {
			if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != chat.DecisionDeny {
				t.Errorf("%s (%s): %s", line, name, v)
			}
		}
		for _, line := range []string{"find . -name '*.pyc' -delete", "find . -name '*.pyc' -type f -delete",
			"find build -delete", "find src lib -name '*.o' -delete", "find . -path './build/*' -delete",
			"find . -not -path '*/.git/*' -name '*.go' -delete", "rm -rf build", "rm src/a.pyc", "find . -name .git",
			"mv src lib"} {
			if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision == chat.DecisionDeny {
				t.Errorf("%s (%s): %s", line, name, v)
			}
		}
	}
}

// TestDeletionOfMany: a directory with more files than are looked at is asked about.
func TestDeletionOfMany(t *testing.T) {
	root := t.TempDir()
	for i := range maxTree + 1 { // of each thousand one file, and links to it, which cost less
		dir := filepath.Join(root, "a", strconv.Itoa(i/1000))
		first := filepath.Join(dir, "0")
		var err error
		if i%1000 > 0 {
			err = os.Link(first, filepath.Join(dir, strconv.Itoa(i%1000)))
		} else if err = os.MkdirAll(dir, 0o700); err == nil {
			err = os.WriteFile(first, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := New(Definition{Default: chat.DecisionAllow})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]chat.Decision{"rm -rf a": chat.DecisionAsk, "find a -delete": chat.DecisionAsk,
		"rm -rf a/1": chat.DecisionAllow} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
}

// TestDeletionOfHidden: a directory below which something cannot be read is asked about. One with too long a path is
// such, whoever reads it.
func TestDeletionOfHidden(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	deep := "a" + strings.Repeat("/"+strings.Repeat("d", 250), 20)
	if err := root.MkdirAll(deep+"/.git", 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := New(Definition{Default: chat.DecisionAllow})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"rm -rf a", "find a -delete"} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: dir}); v.Decision != chat.DecisionAsk {
			t.Errorf("%s: %s", line, v)
		}
	}
}

// TestKnownVariables: what a variable holds is known only where nothing else may have set it.
func TestKnownVariables(t *testing.T) {
	p, err := New(Definition{Default: chat.DecisionAllow,
		Rules: []Rule{{Decision: chat.DecisionDeny, Selector: Selector{Command: []string{"rm"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for line, want := range map[string]chat.Decision{
		"for f in a b; do x=$f; cat $x; done": "allow", "x=a; cat b 2>/dev/null; cat $x": "allow",
		"x=a; printf %s b; cat $x": "allow", "x=a; trap 'cat b' EXIT; x=c; cat $x": "allow",
		"a=a; b=a; c=a; while :; do cat $a; a=$b; b=$c; c=/etc/x; done": "ask",
		"x=a; for i in 1; do x=/etc/x; break; x=a; done; cat $x":        "ask",
		"x=a; while x=/etc/x; false; do x=a; done; cat $x":              "ask",
		"x=a; while :; do cat $x; x=b; continue; x=a; done":             "ask",
		"x=a; { x=b; } </nothing; cat $x":                               "ask",
		"x=a; printf -v x %s b; cat $x":                                 "ask",
		"for f in $(find . -name nothing); do rm x; done":               "deny",
		"trap 'x=b' DEBUG; x=a; cat $x":                                 "ask",
		"readonly x=b\nx=a\ncat $x":                                     "ask", "x=b; local x=a; cat $x": "ask",
		"x=b; echo $((1/0)); x=a\ncat $x": "ask", "x=b; n=0; echo $((1/n)); x=a\ncat $x": "ask",
		"x=b; echo $((08)); x=a\ncat $x": "ask", "x=b; n=8; echo $((0$n)); x=a\ncat $x": "ask",
		"x=b; echo $((2**-1)); x=a\ncat $x": "ask", "x=b; y=c; echo ${y:0:-9}; x=a\ncat $x": "ask",
		"x=b; n=08; echo $((n)); x=a\ncat $x": "ask",
	} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
	// loops in loops, each of which is judged more than once, come to an end
	p.Decide(Action{Tool: "sh", Root: root,
		Shell: strings.Repeat("while cd a; do ", 30) + "ls" + strings.Repeat("; done", 30)})
}

// TestSettings: what git would run later is asked about, even where everything else is allowed.
func TestSettings(t *testing.T) {
	root := t.TempDir()
	open, err := New(Definition{Default: chat.DecisionAllow})
	if err != nil {
		t.Fatal(err)
	}
	ruled, err := New(
		Definition{
			Rules: []Rule{{Decision: chat.DecisionAllow,
				Selector: Selector{Command: []string{"git config core.editor"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]chat.Decision{
		"git config core.hooksPath hooks": "ask", "git config core.editor ./x": "ask",
		"git config alias.st '!rm x'": "ask", "git config --global core.pager ./x": "ask",
		"git config --add include.path ../x": "ask", "git config set core.fsmonitor ./x": "ask",
		"git config edit": "ask", "git -C . config core.sshCommand ./x": "ask",
		"sh -c 'git config filter.x.clean ./x'": "ask", "git config --global user.name x": "ask",
		"git config user.email a@b.example": "allow", "git config color.ui always": "allow",
		"git config --get core.editor": "allow", "git config --list": "allow", "git config core.editor": "allow",
		"git config pull.rebase true": "allow", "git config fetch.prune true": "allow",
		"git config pull.twohead x": "ask", "git config pull.octopus x": "ask",
		"git config fetch.bundleURI x": "ask", "git config push.gpgSign true": "ask",
	} {
		if v := open.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
	if v := ruled.Decide(Action{Tool: "sh", Shell: "git config core.editor",
		Root: root}); v.Decision != chat.DecisionAllow {
		t.Errorf("by a rule: %s", v)
	}
}

// TestSums: arithmetic and parts of variables are known where only numbers stand in them.
func TestSums(t *testing.T) {
	p, err := New(
		Definition{
			Rules: []Rule{{Decision: chat.DecisionAllow,
				Selector: Selector{Command: []string{"echo", "read", "git rev-parse", "nproc", "printf -v", "find"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]chat.Decision{
		"n=0; for f in a b; do n=$((n+1)); done; echo $n": "allow", "x=$(git rev-parse HEAD); echo ${x:0:7}": "allow",
		"n=3; echo $(($n * 2))": "allow", "echo $((n+1))": "ask", "read -r n; echo $((n+1))": "ask",
		"n=$(echo a); echo $((n+1))": "ask", "n=1; n='a[$(rm x)]'; echo $((n))": "ask",
		"n=1; if true; then n='a[0]'; fi; echo $((n))": "ask", "n=1; echo $((n++))": "ask",
		"n=1; echo $((1+$(n)))": "ask", "x=abc; y=z; echo ${x:y}": "ask", "n=1; m=$((n))a; echo $((m))": "ask",
		"n=1; echo $((n=5))": "ask", "n=1; echo $((16#n))": "ask",
		"echo $(($1))": "ask", "echo $((1+$1))": "ask", "x=abc; echo ${x:$1}": "ask", "echo $(($#+$?))": "ask",
		"rc=$?; echo $((rc+1))": "allow", "n=1; m=$n; k=\"$m\"; echo $((k))": "allow",
		"n=$(nproc); echo $((n-1)) $((n/2))": "allow", "x=abc; n=1; echo ${x:$n} ${x:n:2}": "allow",
		"n=$(git rev-parse HEAD); echo $((n))": "ask", "for n in 1*; do echo $((n)); done": "ask",
		"for n in $(find . -name 1); do echo $((n)); done":                      "ask",
		"find . -name 1 | while read -r n; do echo $((n)); done":                "ask",
		"n=1; printf -v n %s 'a[$(id)]'; echo $((n))":                           "ask",
		"n=1; for i in 1; do n='a[0]'; break; n=1; done; echo $((n))":           "ask",
		"n=1; m=1; k=1; for i in 1; do echo $((n)); n=$m; m=$k; k='a[0]'; done": "ask",
	} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
}

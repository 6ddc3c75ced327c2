package policy

import (
	"os"
	"path/filepath"
	"strconv"
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
	for i := range maxTree + 1 {
		if i%1000 == 0 {
			if err := os.MkdirAll(filepath.Join(root, "a", strconv.Itoa(i/1000)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("x", filepath.Join(root, "a", strconv.Itoa(i/1000), strconv.Itoa(i))); err != nil {
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
		"git config pull.rebase true": "allow",
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
				Selector: Selector{Command: []string{"echo", "read", "git rev-parse"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for line, want := range map[string]chat.Decision{
		"n=0; for f in a b; do n=$((n+1)); done; echo $n": "allow", "x=$(git rev-parse HEAD); echo ${x:0:7}": "allow",
		"n=3; echo $(($n * 2))": "allow", "echo $((n+1))": "ask", "read -r n; echo $((n+1))": "ask",
		"n=$(echo a); echo $((n+1))": "ask", "n=1; n='a[$(rm x)]'; echo $((n))": "ask",
		"n=1; if true; then n='a[0]'; fi; echo $((n))": "ask", "n=1; echo $((n++))": "ask",
		"n=1; echo $((1+$(n)))": "ask", "x=abc; y=z; echo ${x:y}": "ask", "n=1; m=$((n))a; echo $((m))": "ask",
		"n=1; echo $((n=5))": "ask", "n=1; echo $((16#n))": "ask",
	} {
		if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
}

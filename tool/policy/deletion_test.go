package policy

import (
	"os"
	"path/filepath"
	"testing"

	"wield/chat"
)

// TestDeletion: what a directory holds that no call may change is not deleted with it, whatever the policy says.
func TestDeletion(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".git/config", ".git/refs/tags/v1", "src/a.go", "src/a.pyc", "sub/.git/HEAD", "build/x.o", "lib/x.o", ".wield.yaml"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, def := range map[string]Definition{
		"all is allowed": {Default: chat.DecisionAllow},
		"by rules":       {Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{"find -delete", "rm", "rm -r|-f|-rf", "mv", "dd", "unzip", "perl", "nice", "sh -c"}}}, {Decision: chat.DecisionAllow, Selector: Selector{Path: []string{"**"}}}}},
	} {
		p, err := New(def)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"find .git -delete", "find .git/refs -type f -delete", "find . -delete", "find -delete", "find sub -delete", "find . -name config -delete", "find . -iname CONFIG -delete",
			"find . -type d -delete", "find . -path './.git/*' -delete", "find . -name x -o -name config -delete", "find . -not -name '*.go' -delete", "find . -maxdepth 1 -type f -delete",
			"find src . -name config -delete", `find . \( -name a \) -delete`, "find . ! -path './x/*' -delete", "rm -rf .", "rm -rf .git", "rm -r sub", "rm -rf ./", "rm .wield.yaml", "nice rm -rf .", "sh -c 'rm -rf .'",
			"dd if=a of=.git/config", "unzip a.zip -d .git/hooks", "perl -i -pe s/a/b/ .git/config"} {
			if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision != chat.DecisionDeny {
				t.Errorf("%s (%s): %s", line, name, v)
			}
		}
		for _, line := range []string{"find . -name '*.pyc' -delete", "find . -name '*.pyc' -type f -delete", "find build -delete", "find src lib -name '*.o' -delete", "find . -path './build/*' -delete",
			"find . -not -path '*/.git/*' -name '*.go' -delete", "rm -rf build", "rm src/a.pyc", "find . -name .git", "mv src lib"} {
			if v := p.Decide(Action{Tool: "sh", Shell: line, Root: root}); v.Decision == chat.DecisionDeny {
				t.Errorf("%s (%s): %s", line, name, v)
			}
		}
	}
}

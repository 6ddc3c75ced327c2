package compose

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/config"
	"wield/tool/policy"
)

// commonPolicy loads the policy of everyday work that lies beside package policy.
func commonPolicy(t *testing.T) *policy.Policy {
	t.Helper()
	r, err := config.Load(config.Options{File: filepath.Join("..", "..", "tool", "policy", "testdata", "common.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	def, err := r.PolicyDefinition("default")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(def)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHarmless judges harmless commands of real work under one policy. A person who is asked about them all
// turns the rules off, so that hardly any may be asked about, and none denied.
func TestHarmless(t *testing.T) {
	p := commonPolicy(t)
	root := workspace(t)
	f, err := os.Open(filepath.Join("..", "..", "tool", "policy", "testdata", "harmless.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count, decided := 0, map[chat.Decision]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct{ ID, Command string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		v := p.Decide(policy.Action{Tool: "command_exec", Shell: c.Command, Root: root})
		count++
		decided[v.Decision]++
		if v.Decision == chat.DecisionDeny {
			t.Errorf("%s: %s\n\t%s", c.ID, c.Command, v)
		} else if v.Decision == chat.DecisionAsk {
			t.Logf("%s: %s\n\t%s", c.ID, c.Command, v)
		}
	}
	t.Logf("%d commands: %v", count, decided)
	if count < 300 {
		t.Errorf("%d commands: has a part of the file been lost?", count)
	}
	if decided[chat.DecisionAllow]*100 < count*95 {
		t.Errorf("%d of %d are allowed, want 95 %%", decided[chat.DecisionAllow], count)
	}
}

// TestDeveloper judges commands of developers in several languages: none of them needs a question.
func TestDeveloper(t *testing.T) {
	p, root := commonPolicy(t), workspace(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "tool", "policy", "testdata", "developer.txt"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		count++
		if v := p.Decide(policy.Action{Tool: "command_exec", Shell: line,
			Root: root}); v.Decision != chat.DecisionAllow {
			t.Errorf("%s\n\t%s", line, v)
		}
	}
	if count < 140 {
		t.Errorf("%d commands: has a part of the file been lost?", count)
	}
}

// TestEveryday holds what the policy of everyday work decides about single lines, most of them ways to write,
// run or read what its rules are not meant to open. A line may be decided more strictly than it says, unless
// it is wanted to be allowed.
func TestEveryday(t *testing.T) {
	p := commonPolicy(t)
	root := workspace(t)
	f, err := os.Open(filepath.Join("..", "..", "tool", "policy", "testdata", "everyday.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	milder := map[chat.Decision][]chat.Decision{chat.DecisionAsk: {chat.DecisionAllow},
		chat.DecisionDeny:  {chat.DecisionAllow, chat.DecisionAsk},
		chat.DecisionAllow: {chat.DecisionAsk, chat.DecisionDeny}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			Command string
			Want    chat.Decision
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		v := p.Decide(policy.Action{Tool: "command_exec", Shell: c.Command, Root: root})
		if wrong, ok := milder[c.Want]; !ok || slices.Contains(wrong, v.Decision) {
			t.Errorf("%s: %s, want %s", c.Command, v, c.Want)
		}
	}
}

// TestHandedToScripts: what scripts of a project do with the files that they are given is not known. Files that
// programs take orders from are asked about, all others need no question.
func TestHandedToScripts(t *testing.T) {
	p, root := commonPolicy(t), workspace(t)
	for _, runner := range []string{"npm run lint -- --fix %s", "npm test -- %s", "yarn lint %s", "pnpm run lint %s",
		"yarn workspace app lint %s", "bun run lint --fix %s", "pre-commit run --files a.py %s",
		"pre-commit run black --files %s", "make fmt PKG=%s", "make test TESTS=%s", "hatch run lint %s",
		"pdm run lint %s", "turbo run lint -- %s", "cd test && npm run lint -- %s"} {
		for name, want := range map[string]chat.Decision{"conftest.py": "ask", "./setup.py": "ask",
			"src/../Makefile": "ask", "package.json": "ask", ".github/workflows/ci.yml": "ask", "test_app.py": "allow"} {
			line := fmt.Sprintf(runner, name)
			if v := p.Decide(policy.Action{Tool: "command_exec", Shell: line, Root: root}); v.Decision != want {
				t.Errorf("%s: %s, want %s", line, v, want)
			}
		}
	}
}

// TestEmptyWorkspace: a file that is not there yet may be there when the command runs, so names decide.
func TestEmptyWorkspace(t *testing.T) {
	p, root := commonPolicy(t), t.TempDir()
	for line, want := range map[string]chat.Decision{
		"cat *":                               chat.DecisionAllow,
		"wc -l $(git ls-files '*.go')":        chat.DecisionAllow,
		"for f in *.go; do gofmt -l $f; done": chat.DecisionAllow,
		"for f in $(git ls-files '*.go'); do head -1 \"$f\"; done": chat.DecisionAllow,
		"cargo build --target-dir=out":                             chat.DecisionAllow,
		"git checkout main":                                        chat.DecisionAllow,
		"cat id_r*":                                                chat.DecisionDeny,
		"find . -name id_rsa -exec cat {} +":                       chat.DecisionDeny,
		"find . -name 'id_*' | xargs cat":                          chat.DecisionDeny,
		"sort -o $(git ls-files '*.go')":                           chat.DecisionAsk,
		"tee $(git ls-files '*.go') < a.txt":                       chat.DecisionAsk,
		"cp $(git ls-files '*.txt') .git/hooks":                    chat.DecisionDeny,
		"cargo build --target-dir=src":                             chat.DecisionAsk,
		"go build -o README.md .":                                  chat.DecisionAsk,
		"git checkout main.go":                                     chat.DecisionAsk,
		"git restore src":                                          chat.DecisionAsk,
	} {
		if v := p.Decide(policy.Action{Tool: "command_exec", Shell: line, Root: root}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
}

// workspace makes a small tree such as the commands are about.
func workspace(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"go.mod", "main.go", "README.md", "a.txt", "b.txt", "internal/store.go",
		"internal/auth.go", "internal/parser.go", "id_rsa", "src/app.go", "test/a.js", "test/b.js", "build/server",
		"server/go.mod", "lib/x.c", "lib/src/y.c"} {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

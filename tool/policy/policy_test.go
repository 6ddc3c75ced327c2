package policy

import (
	"testing"

	"wield/chat"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m) }

// rules makes a policy of allow, ask and deny rules about commands.
func commands(t *testing.T, def chat.Decision, allow, deny []string) *Policy {
	t.Helper()
	d := Definition{Default: def}
	if len(allow) > 0 {
		d.Rules = append(d.Rules, Rule{Decision: chat.DecisionAllow, Selector: Selector{Command: allow},
			File: "p.yaml", Line: 3})
	}
	if len(deny) > 0 {
		d.Rules = append(d.Rules, Rule{Decision: chat.DecisionDeny, Selector: Selector{Command: deny}, File: "p.yaml",
			Line: 4})
	}
	p, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNoSuchDefault(t *testing.T) {
	if _, err := New(Definition{Default: "allows"}); err == nil {
		t.Error("a default that is no decision is taken")
	}
}

func TestShell(t *testing.T) {
	p := commands(t, "", []string{"ls", "git status|log", "go test", "cat", "sed -n", "cd"}, []string{"rm", "curl"})
	root := t.TempDir()
	for _, c := range []struct {
		shell string
		want  chat.Decision
	}{
		{"ls -la", "allow"},
		{"ls; rm x", "deny"},
		{"ls; id", "ask"},
		{"git --no-pager log", "allow"},
		{"git log --output=x", "ask"},
		{"git log --outp=/x", "deny"},
		{"go test ./... -run X", "allow"},
		{"go test -exec=./x ./...", "ask"},
		{"$x", "ask"},
		{"cat ../x", "ask"},
		{"cat .env", "deny"},
		{"cd sub && cat ../x", "allow"},
		{"cd sub; cat ../x", "ask"},
		{"sed -n 1,5p f", "allow"},
		{"sed -n '1e id' f", "ask"},
		{"<0", "ask"}, // nothing runs, and nothing of it could be judged
		{"{ <0; }", "ask"},
	} {
		v := p.Decide(Action{Tool: "sh", Shell: c.shell, Root: root})
		if v.Decision != c.want {
			t.Errorf("%s: %s, want %s\n%+v", c.shell, v, c.want, v.Findings)
		}
	}
}

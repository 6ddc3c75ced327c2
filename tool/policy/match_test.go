package policy

import (
	"testing"

	"wield/chat"
)

// TestAnyProgramSaysWhatItIs checks that a rule may allow all programs to be asked for their version, and nothing else.
func TestAnyProgramSaysWhatItIs(t *testing.T) {
	p := commands(t, chat.DecisionAsk, []string{"* --version|--help"}, []string{"rm"})
	for line, want := range map[string]chat.Decision{
		"anything --version":        "allow",
		"anything --help":           "allow",
		"anything --version x":      "ask",
		"anything --version --x":    "ask",
		"anything -version":         "ask",
		"./anything --version":      "ask",
		"dir/anything --help":       "ask",
		"/usr/bin/any --help":       "ask",
		"$x --version":              "ask",
		"anything --version; other": "ask",
		"rm --version":              "deny",
	} {
		if v := p.Decide(Action{Tool: "command_exec", Shell: line, Root: t.TempDir()}); v.Decision != want {
			t.Errorf("%s: %s, want %s", line, v, want)
		}
	}
	for _, pattern := range []string{"*", "* --version --x", "* x", "* --version|-x", "* *"} {
		if _, err := New(Definition{Default: chat.DecisionAsk,
			Rules: []Rule{{Decision: chat.DecisionAllow,
				Selector: Selector{Command: []string{pattern}}}}}); err == nil {
			t.Errorf("a rule may allow %q", pattern)
		}
	}
}

// TestStarsSpellNothing checks that a star in a rule, which stands for any word, does not spell an option that has to
// be spelled.
func TestStarsSpellNothing(t *testing.T) {
	p := commands(t, chat.DecisionAsk, []string{"git * HEAD*", "sort -* a.txt", "kubectl ?* pods"}, nil)
	for _, line := range []string{"git log HEAD --output=x", "git diff HEAD --ext-diff", "git log HEAD --output x",
		"kubectl get pods --kubeconfig ../x"} {
		if v := p.Decide(Action{Tool: "command_exec", Shell: line,
			Root: t.TempDir()}); v.Decision == chat.DecisionAllow {
			t.Errorf("%s: %s", line, v)
		}
	}
	if v := p.Decide(Action{Tool: "command_exec", Shell: "git log HEAD",
		Root: t.TempDir()}); v.Decision != chat.DecisionAllow {
		t.Errorf("git log HEAD: %s", v)
	}
}

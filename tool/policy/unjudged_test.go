package policy_test

import (
	"testing"

	"wield/chat"
	"wield/tool/policy"
)

// TestUnjudged: what names no command is never allowed for the tool's sake.
func TestUnjudged(t *testing.T) {
	p, err := policy.New(policy.Definition{Default: chat.DecisionAllow, Rules: []policy.Rule{
		{Decision: chat.DecisionAllow, Selector: policy.Selector{Tool: []string{"command"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		action policy.Action
		want   chat.Decision
	}{
		{policy.Action{Shell: "((1))"}, chat.DecisionAsk},
		{policy.Action{Shell: "# nothing"}, chat.DecisionAsk},
		{policy.Action{Argv: []string{}}, chat.DecisionDeny},
	} {
		tt.action.Tool, tt.action.Root = "command", "/work"
		if v := p.Decide(tt.action); v.Decision != tt.want {
			t.Errorf("%+v: %s (%s), want %s", tt.action, v.Decision, v.Why, tt.want)
		}
	}
}

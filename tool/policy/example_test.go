package policy_test

import (
	"fmt"

	"wield/chat"
	"wield/tool/policy"
)

// Of all rules that fit a command, the strictest decides. A line of shell is decided by its strictest command.
func Example() {
	p, err := policy.New(policy.Definition{
		Default: chat.DecisionAsk,
		Rules: []policy.Rule{
			{Decision: chat.DecisionAllow, Selector: policy.Selector{Command: []string{"git diff|log|status", "ls"}}},
			{Decision: chat.DecisionDeny, Selector: policy.Selector{Command: []string{"git push"}}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"git log -3", "ls | wc -l", "git status && git push --force"} {
		verdict := p.Decide(policy.Action{Tool: "command", Shell: line, Root: "/work"})
		fmt.Printf("%s: %s\n", line, verdict.Decision)
	}
	// Output:
	// git log -3: allow
	// ls | wc -l: ask
	// git status && git push --force: deny
}

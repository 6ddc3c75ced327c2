package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
)

// TestFacts has the policy look at what the facts of a tool name, in a workspace of its own.
func TestFacts(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a..b.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Definition{Default: chat.DecisionAllow, Rules: []policy.Rule{
		{Decision: chat.DecisionDeny, Selector: policy.Selector{Command: []string{"rm"}}},
		{Decision: chat.DecisionAllow, Selector: policy.Selector{Command: []string{"ls", "git log"}}},
		{Decision: chat.DecisionDeny, Selector: policy.Selector{Tool: []string{"hidden"}}},
		{Decision: chat.DecisionDeny, Selector: policy.Selector{Host: []string{"*"}}},
		{Decision: chat.DecisionAsk,
			Selector: policy.Selector{Path: []string{"locked/**"}, Op: []policy.Op{policy.OpWrite}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]tool.Facts{
		"file": {Operation: "op", Ops: map[string]policy.Op{"read": policy.OpRead, "write": policy.OpWrite},
			Paths: []tool.PathFact{{Argument: "path"}}},
		"list":  {Paths: []tool.PathFact{{Argument: "path", Op: policy.OpList, Default: "."}}},
		"argv":  {Command: "command", Arguments: "arguments", Dir: "dir"},
		"words": {Argv: "argv"},
		"shell": {Shell: "line"},
		"fetch": {URLs: []string{"url"}},
	}
	var reg Registry
	for name, facts := range tools {
		x := nop(name)
		x.Facts = facts
		if err := reg.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	reg.Add(nop("hidden"))
	r := New(Settings{Tools: &reg, Policy: p, Root: root, Approvals: &MemoryApprovals{}})
	for _, test := range []struct {
		call string
		want PlanOutcome
	}{
		{`file {"op":"read","path":"a..b.txt"}`, OutcomeReady}, // a name with two points is no way out
		{`file {"op":"read","path":"src/../a..b.txt"}`, OutcomeReady},
		{`file {"op":"read","path":"../outside"}`, OutcomeRejected},
		{`file {"op":"read","path":"/etc/passwd"}`, OutcomeRejected},
		{`file {"op":"read","path":"locked/a"}`, OutcomeReady},
		{`file {"op":"write","path":"locked/a"}`, OutcomeNeedsApproval},
		{`file {"op":"unheard","path":"locked/a"}`, OutcomeNeedsApproval}, // what is not known may be a write
		{`file {"op":"write","path":".git/hooks/pre-commit"}`, OutcomeRejected},
		{`list {}`, OutcomeReady},
		{`list {"path":[".",".."]}`, OutcomeRejected},
		{`argv {"command":"ls","arguments":["-l"]}`, OutcomeReady},
		{`argv {"command":"rm","arguments":["-rf","x"]}`, OutcomeRejected},
		{`argv {"command":"/bin/rm","arguments":["x"]}`, OutcomeRejected},
		{`argv {"command":"env","arguments":["rm","x"]}`, OutcomeRejected},
		{`argv {"command":"ls","dir":"../.."}`, OutcomeRejected},
		{`words {"argv":["git","log"]}`, OutcomeReady},
		{`words {"argv":["rm"]}`, OutcomeRejected},
		{`shell {"line":"ls; rm x"}`, OutcomeRejected},
		{`fetch {"url":"https://example.com"}`, OutcomeRejected},
	} {
		name, args, _ := strings.Cut(test.call, " ")
		plan, err := r.Plan(context.Background(), call(name, args))
		if err != nil || plan.Outcome != test.want {
			t.Errorf("%s: %s, want %s (%+v, %v)", test.call, plan.Outcome, test.want, plan.Policy, err)
		}
	}
	for _, d := range r.Offered("") {
		if d.Name == "hidden" {
			t.Error("a tool is offered that no call of can run")
		}
	}
}

// TestAlwaysIsTheRuleOfThisCall offers a rule only with a call that it would have allowed.
func TestAlwaysIsTheRuleOfThisCall_arg104(t *testing.T) {
	p, err := policy.New(policy.Definition{Default: chat.DecisionAsk})
	if err != nil {
		t.Fatal(err)
	}
	x := nop("sh")
	x.Facts.Shell = "line"
	r := runner(t, x)
	store := &MemoryApprovals{}
	r = r.With(func(s *Settings) { s.Policy, s.Approvals, s.Root = p, store, t.TempDir() })
	for line, want := range map[string]string{"git diff": "git diff", "git diff --output=/etc/x": ""} {
		plan, err := r.Plan(t.Context(), call("sh", `{"line":"`+line+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		if plan.Outcome == OutcomeRejected && want == "" {
			continue
		}
		a, err := store.Get(t.Context(), plan.Approval)
		if err != nil {
			t.Fatal(err)
		}
		if (want == "") != (a.Always == "") || !strings.Contains(a.Always, want) {
			t.Errorf("%s: %q is offered", line, a.Always)
		}
	}
}

package runs

import (
	"context"
	"errors"

	"wield/agent"
	"wield/chat"
	"wield/tool/policy"
	"wield/tool/runner"
)

// Explain tells what would be decided now about a call of a run, and what it would change. An empty run stands for
// none: agent says whose rules and tools count.
func (h *Hub) Explain(ctx context.Context, run, agent string, call chat.Call) (*runner.Explanation, error) {
	if run != "" {
		k, err := h.look(ctx, run)
		if err != nil {
			return nil, err
		}
		agent = k.run.Agent
	}
	a, err := h.agent(agent)
	if err != nil {
		return nil, err
	}
	return a.Runner.Explain(ctx, call)
}

// Judge tells what the rules of an agent say of what a call would touch: a command, paths, addresses. Its directories
// are the agent's.
func (h *Hub) Judge(agent string, c policy.Action) (policy.Verdict, error) {
	a, err := h.agent(agent)
	if err != nil {
		return policy.Verdict{}, err
	}
	set := a.Runner.Settings()
	c.Root = set.Root
	if set.Policy == nil {
		return policy.Verdict{Decision: chat.DecisionAllow, Rule: "default", Why: "the agent has no policy"}, nil
	}
	return set.Policy.Decide(c), nil
}

// A Trial is a call that a person makes, by the tools and rules of an agent.
type Trial struct {
	Agent    string
	Call     chat.Call
	By       string // who makes it
	Approved bool   // whoever makes it approves it, if the rules ask
}

// Try runs a call outside of any run. With runner.ErrPending the rules ask, and it was not approved. Nothing of it is
// recorded.
func (h *Hub) Try(ctx context.Context, t Trial) (*chat.Result, error) {
	a, err := h.agent(t.Agent)
	if err != nil {
		return nil, err
	}
	approvals := new(runner.MemoryApprovals)
	r := a.Runner.With(func(s *runner.Settings) { s.Records, s.Approvals = nil, approvals })
	p, err := r.Plan(ctx, t.Call)
	if err != nil {
		return nil, err
	}
	if p.Outcome == runner.OutcomeNeedsApproval {
		if !t.Approved {
			return nil, runner.ErrPending
		}
		if _, err := approvals.Decide(ctx, p.Approval,
			runner.Answer{State: runner.ApprovalApproved, By: t.By}); err != nil {
			return nil, err
		}
	}
	h.log.Info("a tool is run by hand", "tool", t.Call.Name, "agent", t.Agent, "by", t.By)
	for e, err := range r.Run(ctx, p) {
		if err != nil {
			return nil, err
		}
		if e.Kind == chat.KindResult {
			return e.Detail.(*chat.Result), nil
		}
	}
	return nil, errors.New("runs: the call left no result")
}

// An AskedTurn holds the request of a turn of a run.
type AskedTurn struct {
	agent.Asked
	Sent   *chat.Request // as it went to the server, by the configuration of now; nil: that is not known
	InText bool          // of Sent: the tools stand in its text
}

// Asked tells what the model was asked at the n-th time in a run, from 0. Nothing is asked again.
func (h *Hub) Asked(ctx context.Context, run string, n int) (*AskedTurn, error) {
	k, err := h.look(ctx, run)
	if err != nil {
		return nil, err
	}
	a, err := h.agent(k.run.Agent)
	if err != nil { // its agent is gone; what it was asked is in the journal
		a = &Agent{Name: k.run.Agent, Runner: runner.New(runner.Settings{})}
	}
	asked, err := h.loop(a, k.run.By, false).Asked(ctx, run, n)
	if err != nil {
		return nil, failure(err)
	}
	q := &AskedTurn{Asked: *asked}
	if m, ok := a.Model.(chat.Previewer); ok {
		q.Sent, q.InText, err = m.Sent(&asked.Request)
	}
	return q, err
}

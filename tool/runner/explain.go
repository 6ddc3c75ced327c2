package runner

import (
	"context"

	"wield/chat"
	"wield/tool/edit"
	"wield/tool/policy"
)

// An Explanation tells how a call would be decided now, and why.
type Explanation struct {
	Call    chat.Call         // with the name of the tool and the arguments that would run
	Notes   []chat.NoteDetail // what was repaired in the arguments
	Facts   policy.Action     // what the rules are asked about
	Verdict policy.Verdict
	Always  string        // the rule that would have allowed it, if it is asked about and there is one
	Changes []edit.Change // what would become of files
	Unknown error         // why the changes are not known, of a tool that could tell
}

// Explain tells what would be decided about a call, and what the call would change. It runs nothing and asks nobody.
// The error is a *tool.Error that says why there would be no decision: no such tool, arguments that do not fit.
func (r *Runner) Explain(ctx context.Context, call chat.Call) (*Explanation, error) {
	p := Plan{Call: call, Dir: r.dir(), by: r}
	if err := r.resolve(&p); err != nil {
		return nil, err
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	verdict, u, _ := r.decide(&p)
	e := &Explanation{Call: p.Call, Notes: p.Notes, Facts: u.rooted(p.entry.Guard), Verdict: verdict}
	if verdict.Decision == chat.DecisionAsk && r.s.Policy != nil {
		e.Always = r.s.Policy.Always(e.Facts)
	}
	if e.Verdict.Decision != chat.DecisionDeny && p.entry.Tool.Preview != nil {
		e.Changes, e.Unknown = r.changes(ctx, &p)
	}
	return e, nil
}

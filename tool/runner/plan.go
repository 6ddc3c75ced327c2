package runner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/dialect"
	"wield/tool"
	"wield/tool/internal/value"
	"wield/tool/policy"
)

// A PlanOutcome tells what planning made of a call.
type PlanOutcome string

// The outcomes.
const (
	OutcomeReady         PlanOutcome = "ready"
	OutcomeRejected      PlanOutcome = "rejected" // Result says why
	OutcomeNeedsApproval PlanOutcome = "needs_approval"
	OutcomeNeedsInput    PlanOutcome = "needs_input" // it has begun, and waits for the answer to a form
	OutcomeCached        PlanOutcome = "cached"      // Result is that of an earlier identical call
)

// A Plan is a call that was looked at from all sides and not run yet. It can be written as JSON and run
// later, by another runner too; everything that decides is then looked at again.
type Plan struct {
	Outcome    PlanOutcome       `json:"outcome"`
	Call       chat.Call         `json:"call"` // with the name of the tool and the arguments that will run
	Definition string            `json:"definition,omitempty"`
	Binding    string            `json:"binding,omitempty"`
	Dir        string            `json:"dir,omitempty"`
	Notes      []chat.NoteDetail `json:"notes,omitempty"` // what was repaired in the arguments
	Policy     *policy.Detail    `json:"policy,omitempty"`
	Approval   string            `json:"approval,omitempty"` // id of the question, if it needs one
	// what was taken out of the call because it may not be done; in words
	Denied string       `json:"denied,omitempty"`
	Result *tool.Result `json:"result,omitempty"`

	entry *Entry  // that was planned with
	by    *Runner // that planned it; lost when the plan is stored
}

// Plan looks at a call without running anything: is there such a tool, is it enabled, do its arguments fit,
// do the rules allow it, is its result known. What is wrong with the call is in the plan; the error is about
// the runner, such as a store of approvals that cannot be reached.
func (r *Runner) Plan(ctx context.Context, call chat.Call) (Plan, error) {
	p := Plan{Outcome: OutcomeReady, Call: call, Dir: r.dir(), by: r}
	if err := r.resolve(&p); err != nil {
		return p.reject(err), nil
	}
	if err := r.read(&p); err != nil {
		return p.reject(err), nil
	}
	verdict, u, err := r.decide(&p)
	switch {
	case err != nil:
		return p.reject(err), nil
	case verdict.Decision == chat.DecisionAsk && r.s.Approvals != nil:
		if err := r.preview(ctx, &p); err != nil {
			return p.reject(err), nil
		}
	}
	if verdict.Decision == chat.DecisionAsk {
		return r.ask(ctx, p, verdict, u)
	}
	if p.entry.Tool.Cache.TTL > 0 {
		if p.Result = r.s.Shared.cached(ctx, p.Binding); p.Result != nil {
			p.Outcome = OutcomeCached
		}
	}
	return p, nil
}

// reject ends planning.
func (p Plan) reject(err *tool.Error) Plan {
	if err.Tool == "" {
		err.Tool = p.Call.Name
	}
	result := tool.Failure(err)
	p.Outcome, p.Result = OutcomeRejected, &result
	return p
}

// resolve finds the tool, which must be switched on.
func (r *Runner) resolve(p *Plan) *tool.Error {
	if err := checkCall(&p.Call); err != nil {
		return err
	}
	e, ok := r.s.Tools.Lookup(p.Call.Name)
	if name := value.Cut(p.Call.Name, maxName); !ok {
		if why := r.s.Tools.Missing(name); why != nil {
			return &tool.Error{Kind: tool.ErrNotAvailable, Tool: name,
				Message: "Tool " + name + " is not available: " + why.Error()}
		}
		return &tool.Error{Kind: tool.ErrNotFound, Tool: name}
	}
	p.entry, p.Definition, p.Call.Name = e, e.Hash, e.Tool.Name()
	if e.State == tool.StateDisabled {
		return &tool.Error{Kind: tool.ErrDisabled, Tool: e.Tool.Name()}
	}
	return nil
}

// read makes the arguments strict JSON that fits the schema.
func (r *Runner) read(p *Plan) *tool.Error {
	args, notes, err := p.entry.arguments(p.Call.Arguments, max(r.s.Repair, dialect.RepairSafe))
	if err != nil {
		return err
	}
	p.Call.Arguments, p.Notes = args, notes
	p.Binding = r.binding(p)
	return nil
}

// binding returns the hash of all that an approval is about.
func (r *Runner) binding(p *Plan) string {
	var room [512]byte
	b := room[:0]
	part := func(s string) { b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...) }
	part(p.Call.Name)
	part(p.Definition)
	part(string(Canonical(p.Call.Arguments)))
	part(r.s.Root)
	part(p.Dir)
	for _, v := range r.s.Env {
		part(v)
	}
	sum := sha256.Sum256(b)
	return string(hex.AppendEncode(room[:0], sum[:]))
}

// decide asks the guard of the tool and the policy. The stricter of the two decides. The error says why the
// call is refused. Where the call is about several things that stand for themselves, those that are refused
// are taken out of it, if others are left.
func (r *Runner) decide(p *Plan) (policy.Verdict, uses, *tool.Error) {
	verdict, u, err := r.judge(p)
	if err == nil || !r.reduce(p) {
		return verdict, u, err
	}
	return r.judge(p)
}

// reduce takes out of a call the paths that are denied, and reports whether some are left that are not.
func (r *Runner) reduce(p *Plan) bool {
	name := p.entry.Tool.Facts.Each
	var args map[string]json.RawMessage
	if name == "" || json.Unmarshal([]byte(p.Call.Arguments), &args) != nil {
		return false
	}
	paths := value.Texts(args[name])
	var left, denied []string
	for _, path := range paths {
		one := *p
		one.Call.Arguments = withTexts(args, name, []string{path})
		if _, _, err := r.judge(&one); err != nil {
			denied = append(denied, policy.Visible(path)+" ("+strings.TrimPrefix(err.Sentence(), violation)+")")
		} else {
			left = append(left, path)
		}
	}
	if len(left) == 0 || len(denied) == 0 {
		return false
	}
	p.Call.Arguments = withTexts(args, name, left)
	p.Binding, p.Denied = r.binding(p), strings.Join(denied, "; ")
	return true
}

// withTexts returns arguments in which a list of texts is another one.
func withTexts(args map[string]json.RawMessage, name string, list []string) string {
	out := maps.Clone(args)
	out[name], _ = value.Marshal(list)
	text, _ := value.Marshal(out) // what was JSON can be written as JSON
	return string(text)
}

// violation begins the sentence about what a rule denies.
const violation = "Security violation: "

// judge asks the guard of the tool and the policy about all of a call. The error says why it is refused.
func (r *Runner) judge(p *Plan) (policy.Verdict, uses, *tool.Error) {
	u := r.facts(p.entry, p.Call.Arguments)
	verdict := guard{p.entry.Guard}.decide(p.entry.Tool, &u)
	if verdict.Decision == chat.DecisionDeny {
		return verdict, u, &tool.Error{Kind: tool.ErrSecurity, Tool: p.entry.Tool.Name(), Message: verdict.Why}
	}
	if why := r.unaccepted(p.entry.Tool); why != "" {
		verdict = asking(why)
	}
	if r.s.Policy != nil {
		v := r.s.Policy.Decide(u.rooted(p.entry.Guard))
		p.Policy = v.Detail(p.Call.ID)
		switch {
		case v.Decision == chat.DecisionDeny:
			return v, u, denial(v, p.Policy)
		case v.Decision != chat.DecisionAllow:
			v.Decision = chat.DecisionAsk // whatever else a policy says
			return v, u, nil
		case verdict.Decision == chat.DecisionAllow:
			return v, u, nil
		}
	}
	if verdict.Decision == chat.DecisionAsk {
		p.Policy = verdict.Detail(p.Call.ID)
	}
	return verdict, u, nil
}

// denial says why a policy refused a call.
func denial(v policy.Verdict, d *policy.Detail) *tool.Error {
	e := &tool.Error{Kind: tool.ErrSecurity, Message: violation + v.Why, Details: ruleDetails(d)}
	switch v.Rule {
	case policy.RuleKind: // nothing is forbidden: the call is about the wrong thing
		return &tool.Error{Kind: tool.ErrTool, Message: v.Why}
	case policy.RuleIgnored:
		e.Message = "Access denied: " + v.Why
		if i := slices.IndexFunc(v.Findings, func(f policy.Finding) bool { return f.Rule == v.Rule }); i >= 0 {
			_, e.DeniedPath, _ = strings.Cut(v.Findings[i].Text, " ") // behind the operation
		}
	}
	return e
}

// unaccepted says what of a tool changed that nobody has accepted; "" if nothing did.
func (r *Runner) unaccepted(t *tool.Tool) string {
	if r.s.Sandbox.Guarded == nil {
		return ""
	}
	if t.Rules != "" {
		switch held, is, err := r.s.Sandbox.Guarded.Pending(real(t.Rules)); {
		case err != nil:
			return err.Error()
		case is:
			return held.Path + ", which says what the tool may, was changed by the tool " + held.By +
				": look at it; wield tool accept " + held.Path + " agrees to it"
		}
	}
	if t.Files == "" {
		return ""
	}
	agreed, err := r.s.Sandbox.Guarded.Agreed(t.Files)
	switch {
	case err != nil:
		return err.Error()
	case !agreed:
		return "the tool has changed since it was agreed to: look at " + t.Files + "; wield tool accept " + t.Name() +
			" agrees to it"
	}
	return ""
}

// real returns a path with its links followed, or as it is if that cannot be done.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

func ruleDetails(d *policy.Detail) json.RawMessage {
	raw, _ := value.Marshal(struct {
		Rule string `json:"rule"`
	}{d.Rule}) // a string can always be written
	return raw
}

// ask puts the question that the verdict asks for. With nobody to ask, the answer is no.
func (r *Runner) ask(ctx context.Context, p Plan, v policy.Verdict, u uses) (Plan, error) {
	if r.s.Approvals == nil {
		return p.reject(&tool.Error{Kind: tool.ErrApproval, Details: json.RawMessage(`{"reason":"there is nobody to ask"}`)}), nil
	}
	q := Question{
		Binding: p.Binding, CallID: p.Call.ID, Tool: p.Call.Name, Definition: p.Definition,
		Arguments: json.RawMessage(p.Call.Arguments), Dir: p.Dir, Env: r.s.Env,
		Rule: p.Policy.Rule, Why: v.Why, Expires: r.expiry(),
	}
	if r.s.Policy != nil {
		q.Always = r.s.Policy.Always(u.rooted(p.entry.Guard))
	}
	a, err := r.s.Approvals.Ask(ctx, q)
	if err != nil {
		return p, err
	}
	p.Outcome, p.Approval = OutcomeNeedsApproval, a.ID
	return p, nil
}

const defaultApprovalTTL = 24 * time.Hour

func (r *Runner) expiry() time.Time {
	if r.s.ApprovalTTL > 0 {
		return time.Now().Add(r.s.ApprovalTTL)
	}
	return time.Now().Add(defaultApprovalTTL)
}

// current makes a plan what it would be now, if it was stored or planned by another runner. What is refused
// now is rejected.
func (r *Runner) current(p Plan) Plan {
	if p.by == r || p.Outcome == OutcomeRejected {
		return p
	}
	was := p
	p.by, p.Dir = r, r.dir()
	if err := r.resolve(&p); err != nil {
		return p.reject(err)
	}
	if p.Definition != was.Definition {
		return p.reject(tool.Errorf(tool.ErrSecurity,
			"Security violation: the definition of the tool is another one than when the call was planned"))
	}
	if err := r.read(&p); err != nil {
		return p.reject(err)
	}
	if p.Binding != was.Binding && p.Outcome != OutcomeNeedsInput { // the form is bound to the call
		return p.reject(tool.Errorf(tool.ErrSecurity,
			"Security violation: the call is another one than the one that was planned"))
	}
	verdict, _, err := r.decide(&p)
	switch {
	case err != nil:
		return p.reject(err)
	case verdict.Decision == chat.DecisionAsk && p.Approval == "":
		return p.reject(tool.Errorf(tool.ErrApproval,
			"An approval is needed now, and was not when the call was planned"))
	}
	p.Notes = was.Notes
	return p
}

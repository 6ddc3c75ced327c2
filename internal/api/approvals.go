package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// An Approval is a question to a person, and what became of it.
type Approval struct {
	ID        string               `json:"id"`
	Run       string               `json:"run"`
	Session   string               `json:"session"`
	State     runner.ApprovalState `json:"state"`
	Asked     time.Time            `json:"asked"`
	Expires   time.Time            `json:"expires,omitzero"`
	CallID    string               `json:"call_id,omitempty"`
	Tool      string               `json:"tool"`
	Arguments json.RawMessage      `json:"arguments" jsonschema:"exactly what will run"`
	Dir       string               `json:"dir,omitempty" jsonschema:"the directory that it runs in"`
	Env       []string             `json:"env,omitempty" jsonschema:"variables that the call sets"`
	Rule      string               `json:"rule,omitempty" jsonschema:"the rule that asks, with its place"`
	Why       string               `json:"why,omitempty" jsonschema:"why it asks"`
	Always    string               `json:"always,omitempty" jsonschema:"the rule that would allow this call from now on; without it none can be kept"`
	Facts     *Facts               `json:"facts,omitempty" jsonschema:"what is known of the tool; missing where it is not there any more"`
	Answer    *Answer              `json:"answer,omitempty" jsonschema:"once decided"`
}

// Facts are what is known of a tool that an approval is about.
type Facts struct {
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty" jsonschema:"JSON Schema of its arguments"`
	ReadOnly    bool            `json:"read_only" jsonschema:"it changes nothing"`
	Network     bool            `json:"network" jsonschema:"it reaches for the network"`
	Dangerous   bool            `json:"dangerous" jsonschema:"what it does cannot be taken back"`
	Changed     bool            `json:"changed" jsonschema:"its definition is another one than when the question was put, so that the call will not run"`
}

// An Answer holds somebody's decision.
type Answer struct {
	By        string          `json:"by"`
	At        time.Time       `json:"at"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"what is to run instead"`
	Reason    string          `json:"reason,omitempty"`
	Refused   string          `json:"refused,omitempty" jsonschema:"the parts that were taken out of the call, in words"`
	Always    bool            `json:"always,omitempty" jsonschema:"the offered rule was kept"`
	Stop      bool            `json:"stop,omitempty" jsonschema:"the run that asked ended with it"`
}

// Approvals is a page of approvals, the latest first.
type Approvals struct {
	Items []Approval `json:"items"`
	Next  string     `json:"next,omitempty" jsonschema:"the before of the next page; without it there is none"`
}

// A Decision decides an approval.
type Decision struct {
	Decision  Verdict         `json:"decision"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"with edit: what is to run instead, an object"`
	Refused   []RefusedPart   `json:"refused,omitempty" jsonschema:"with edit, in place of arguments: the parts of the call that are not to run"`
	Reason    string          `json:"reason,omitempty" jsonschema:"for the model, and for who looks at it later"`
	Always    bool            `json:"always,omitempty" jsonschema:"with allow: keep the rule that the approval offers"`
}

// A RefusedPart is one part of a call, as a review tells them, that somebody says no to.
type RefusedPart struct {
	Part   int    `json:"part" jsonschema:"its number, from 0"`
	Reason string `json:"reason,omitempty" jsonschema:"for the model"`
}

// A Verdict names a decision.
type Verdict string

// The verdicts.
const (
	VerdictAllow Verdict = "allow"
	VerdictEdit  Verdict = "edit"
	VerdictDeny  Verdict = "deny"
	VerdictStop  Verdict = "stop" // deny, and end the run
)

// verdicts are the states that approvals get.
var verdicts = map[Verdict]runner.ApprovalState{
	VerdictAllow: runner.ApprovalApproved, VerdictEdit: runner.ApprovalEdited, VerdictDeny: runner.ApprovalDenied,
	VerdictStop: runner.ApprovalDenied,
}

// longestReason limits the bytes of the reason of a decision.
const longestReason = 4 << 10

func (x *exchange) approvalOf(p *journal.Pending) Approval {
	a := Approval{ID: p.ID, Run: p.Run, Session: p.Session, State: p.State, Asked: p.Asked, Expires: p.Expires,
		CallID: p.CallID, Tool: p.Tool, Arguments: p.Arguments, Dir: p.Dir, Env: p.Env, Rule: p.Rule, Why: p.Why,
		Always: p.Always}
	if len(a.Arguments) == 0 {
		a.Arguments = json.RawMessage("{}")
	}
	if e := x.s.tool(p.Tool); e != nil {
		t := e.Tool
		a.Facts = &Facts{Description: t.Definition.Description, Parameters: t.Definition.Parameters,
			ReadOnly: t.Facts.ReadOnly, Network: t.Facts.Network, Dangerous: t.Dangerous,
			Changed: p.Definition != "" && p.Definition != e.Hash}
	}
	if !p.Decided.IsZero() {
		a.Answer = &Answer{By: p.Answer.By, At: p.Decided, Arguments: p.Answer.Arguments, Reason: p.Answer.Reason,
			Refused: p.Answer.Refused, Always: p.Answer.Always, Stop: p.Answer.Stop}
	}
	return a
}

// tool returns what is known of a tool that wield runs, or nil.
func (s *Server) tool(name string) *runner.Entry {
	if s.o.Tools == nil {
		return nil
	}
	for _, e := range s.o.Tools() {
		if e.Tool.Name() == name {
			return e
		}
	}
	return nil
}

// approvalStates are the states of streams that a list of approvals can be of.
var approvalStates = map[string][]record.State{
	"pending": {record.StatePending},
	"decided": {record.StateDecided, record.StateConsumed},
}

// listApprovals answers GET /approvals.
func (x *exchange) listApprovals() (any, error) {
	state := x.query("state")
	if state == "" {
		state = "pending"
	}
	page := &Approvals{Items: []Approval{}}
	q := journal.HeadQuery{Opened: record.KindQuestion, States: approvalStates[state], Before: x.number("before", 0)}
	b := x.bound()
	for h, err := range x.s.o.Journal.Heads(x.r.Context(), q) {
		if err != nil {
			return nil, err
		}
		if b.reached(len(page.Items), h.Last) {
			page.Next = b.next()
			break
		}
		p, err := x.s.lookUp(x.r.Context(), h.Stream)
		switch {
		case errors.Is(err, runner.ErrNoApproval): // it was deleted meanwhile
			continue
		case err != nil:
			return nil, err
		case state == "pending" && p.State != runner.ApprovalPending: // it has expired
			continue
		}
		mine, err := x.ownsRun(x.r.Context(), p.Run)
		if err != nil {
			return nil, err
		}
		if mine {
			page.Items = append(page.Items, x.approvalOf(&p))
		}
	}
	return page, nil
}

// lookUp returns one approval.
func (s *Server) lookUp(ctx context.Context, id string) (journal.Pending, error) {
	store := journal.Approvals{Store: s.o.Journal}
	return store.Find(ctx, id)
}

// approval returns the approval that the path names, if it is there for the caller.
func (x *exchange) approval() (journal.Pending, error) {
	id := x.arg("approval")
	p, err := x.s.lookUp(x.r.Context(), id)
	switch {
	case errors.Is(err, runner.ErrNoApproval):
		return p, notFound("approval", id)
	case err != nil:
		return p, err
	}
	mine, err := x.ownsRun(x.r.Context(), p.Run)
	if err == nil && !mine {
		err = notFound("approval", id)
	}
	return p, err
}

// showApproval answers GET /approvals/{approval}.
func (x *exchange) showApproval() (any, error) {
	p, err := x.approval()
	if err != nil {
		return nil, err
	}
	view := x.approvalOf(&p)
	return &view, nil
}

// decide answers POST /approvals/{approval}.
func (x *exchange) decide() (any, error) {
	p, err := x.approval()
	if err != nil {
		return nil, err
	}
	in := x.body.(*Decision)
	if err := x.checkDecision(in, &p); err != nil {
		return nil, err
	}
	if in.Decision == VerdictEdit && len(in.Arguments) > 0 && same(in.Arguments, p.Arguments) {
		in.Decision, in.Arguments = VerdictAllow, nil // nobody changed anything, and the model would be told so
	}
	answer := runner.Answer{State: verdicts[in.Decision], Arguments: in.Arguments, Reason: in.Reason, By: x.caller.Name,
		Always: in.Always}
	if len(in.Refused) > 0 {
		if answer.Arguments, answer.Refused, err = without(p.Tool, p.Arguments, in.Refused); err != nil {
			return nil, err
		}
	}
	p.Approval, err = x.s.decide(x.r.Context(), p.ID, answer, in.Decision == VerdictStop)
	if err != nil && !errors.Is(err, runner.ErrDecided) {
		return nil, err
	}
	view := x.approvalOf(&p) // as it was decided, whatever the run has made of it by now
	if err != nil {
		return nil, &decidedError{tooLate(&view), view}
	}
	return &view, nil
}

// same reports whether two texts of arguments say the same: other blanks, another order of members, other escapes.
// Numbers that are written in another way are others, and so is a text with a name twice, of which a program may take
// either.
func same(a, b json.RawMessage) bool {
	return bytes.Equal(runner.Canonical(string(a)), runner.Canonical(string(b)))
}

// tooLate refuses a second answer.
func tooLate(a *Approval) *Fault {
	if a.State == runner.ApprovalExpired {
		return fault(KindExpired, "the approval expired at %s; the call was not run", a.Expires.Format(time.RFC3339)).
			with("ask the model for it again")
	}
	f := fault(KindDecided, "the approval is %s", a.State)
	if a.Answer != nil && a.Answer.By != "" {
		f.Message = "the approval was decided by " + a.Answer.By + " before: it is " + string(a.State)
	}
	return f
}

// checkDecision reports a decision that makes no sense for the approval.
func (x *exchange) checkDecision(in *Decision, p *journal.Pending) error {
	edits := in.Decision == VerdictEdit
	switch {
	case len(in.Refused) > 0 && !edits:
		return invalid("/refused", "parts are refused with the decision edit only")
	case len(in.Refused) > 0 && len(in.Arguments) > 0:
		return invalid("/refused", "there are either other arguments or refused parts").with("leave one of them out")
	case edits && len(in.Refused) > 0:
	case edits && len(in.Arguments) == 0:
		return invalid("/arguments", "with the decision edit there must be arguments").
			with("send what is to run instead, an object")
	case !edits && len(in.Arguments) > 0:
		return invalid("/arguments", "only with the decision edit there are arguments")
	case in.Always && in.Decision != VerdictAllow:
		return invalid("/always", "a rule is kept only with the decision allow")
	case in.Always && p.Always == "":
		return invalid("/always", "this approval offers no rule that could be kept").with("leave it out")
	case len(in.Reason) > longestReason:
		return invalid("/reason", "the reason has at most %d bytes", longestReason)
	case edits && len(in.Arguments) > 0:
		return x.checkArguments(in.Arguments, p.Tool)
	}
	return nil
}

// checkArguments holds edited arguments to the schema of the tool. One that is not there any more takes any object
// here; its call will not run.
func (x *exchange) checkArguments(raw json.RawMessage, name string) error {
	if len(raw) == 0 || raw[0] != '{' {
		return invalid("/arguments", "the arguments must be an object")
	}
	e := x.s.tool(name)
	if e == nil {
		return nil
	}
	s, err := x.s.schemas.Compile(e.Tool.Definition.Parameters)
	if err != nil {
		return nil // the runner knows what it takes
	}
	if found := s.Validate(string(raw)); len(found) > 0 {
		return invalid("/arguments"+found[0].Pointer, "the arguments do not fit the tool %s: %s", name, found[0])
	}
	return nil
}

// decide hands an answer to the runs of this process, or to the journal where there are none. stop ends the run that
// asked.
func (s *Server) decide(ctx context.Context, id string, answer runner.Answer, stop bool) (runner.Approval, error) {
	switch {
	case s.o.Hub != nil && stop:
		return s.o.Hub.Refuse(ctx, id, answer)
	case s.o.Hub != nil:
		return s.o.Hub.Decide(ctx, id, answer)
	case stop:
		return runner.Approval{}, fault(KindConflict, "no runs are driven here, so that none can be ended").
			with("decide with deny")
	}
	store := journal.Approvals{Store: s.o.Journal}
	return store.Decide(ctx, id, answer)
}

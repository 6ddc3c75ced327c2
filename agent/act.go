package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// act gives every open call its result, or puts a question about it.
func (r *Run) act(ctx context.Context, rulings []ruling) error {
	r.outputs.turn(r.state)
	ctx, cancel := r.deadline(ctx)
	defer cancel()
	parked := r.parked
	r.parked = map[string]runner.Approval{}
	if err := r.denied(ctx, parked); err != nil {
		return err
	}
	for _, group := range r.groups(rulings, parked) {
		var err error
		first := &group[0]
		approval, waited := parked[first.Call.ID]
		switch {
		case first.Refuse != "":
			err = r.refuse(ctx, first)
		case first.Call.Reason != "":
			err = r.unable(ctx, first)
		case r.client.runs(first.Call.Name): // the client runs it, when all others have run
		case waited:
			err = r.decided(ctx, first, approval)
		case len(r.parked) > 0 && !r.independent(first.Call.Name):
			err = r.question(ctx, first.Call) // what comes behind a call that waits may need what that does
		default:
			err = r.together(ctx, group)
		}
		if err != nil || r.stopped {
			return err
		}
	}
	return nil
}

// deadline bounds calls to the time of the run.
func (r *Run) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if limit := r.state.Limits.Time; limit > 0 {
		return context.WithTimeout(ctx, limit-r.state.Elapsed)
	}
	return context.WithCancel(ctx)
}

// groups returns the calls in order, those together that can run at the same time.
func (r *Run) groups(rulings []ruling, parked map[string]runner.Approval) [][]ruling {
	var groups [][]ruling
	open := false // the last group takes another
	for _, c := range rulings {
		_, waited := parked[c.Call.ID]
		joins := c.Refuse == "" && c.Call.Reason == "" && !waited && !r.client.runs(c.Call.Name) &&
			r.independent(c.Call.Name)
		if joins && open {
			groups[len(groups)-1] = append(groups[len(groups)-1], c)
			continue
		}
		groups = append(groups, []ruling{c})
		open = joins
	}
	return groups
}

// independent reports whether calls of a tool can run beside others: it changes nothing, or it is made for that.
func (r *Run) independent(name string) bool {
	tools := r.runner.Settings().Tools
	if tools == nil {
		return true
	}
	e, ok := tools.Lookup(name)
	return !ok || e.Tool.Facts.ReadOnly || e.Tool.Idempotent || e.Tool.Batch != nil
}

// together runs calls at the same time.
func (r *Run) together(ctx context.Context, group []ruling) error {
	calls := make([]chat.Call, len(group))
	for i := range group {
		calls[i] = group[i].Call
	}
	for e, err := range r.runner.RunAll(ctx, calls) {
		if err != nil {
			return err
		}
		if err := r.pass(ctx, e, group); err != nil {
			return err
		}
	}
	return nil
}

// denied cancels the run if somebody answered one of its questions by ending it.
func (r *Run) denied(ctx context.Context, parked map[string]runner.Approval) error {
	for id, a := range parked {
		now, err := r.runner.Settings().Approvals.Get(ctx, a.ID)
		if err != nil {
			return fmt.Errorf("agent: the question about call %s: %w", id, err)
		}
		r.over = r.over || now.Answer.Stop
	}
	if !r.over {
		return nil
	}
	return r.stop(ctx, parked)
}

// stop cancels the run and its questions that are still open, since somebody answered one of them by ending it.
func (r *Run) stop(ctx context.Context, parked map[string]runner.Approval) error {
	r.over = true
	for id, a := range parked {
		answer := runner.Answer{State: runner.ApprovalCancelled, Reason: "the run was ended"}
		if _, err := r.runner.Settings().Approvals.Decide(ctx, a.ID, answer); err != nil &&
			!errors.Is(err, runner.ErrDecided) {
			return fmt.Errorf("agent: the question about call %s: %w", id, err)
		}
	}
	return context.Canceled
}

// decided runs a call that waited for a person.
func (r *Run) decided(ctx context.Context, c *ruling, a runner.Approval) error {
	plan := runner.Plan{Outcome: runner.OutcomeNeedsApproval, Call: c.Call, Definition: a.Definition,
		Binding: a.Binding, Dir: a.Dir, Approval: a.ID}
	plan.Call.Arguments = string(a.Arguments)
	if a.Form != nil {
		plan.Outcome, plan.Call.Arguments = runner.OutcomeNeedsInput, c.Call.Arguments
	}
	for e, err := range r.runner.Run(ctx, plan) {
		if err != nil {
			switch {
			case r.parked[c.Call.ID].ID != "":
				return nil // it still waits
			case errors.Is(err, runner.ErrConsumed):
				// the call did not begin, or it would have a result by now: it is asked about again
				return r.together(ctx, []ruling{*c})
			}
			return err
		}
		if err := r.pass(ctx, e, []ruling{*c}); err != nil {
			return err
		}
	}
	return nil
}

// question puts the question of a call that has to wait for others, so that a person can answer all at once.
func (r *Run) question(ctx context.Context, c chat.Call) error {
	p, err := r.runner.Plan(ctx, c)
	if err != nil || p.Outcome != runner.OutcomeNeedsApproval {
		return err
	}
	a, err := r.runner.Settings().Approvals.Get(ctx, p.Approval)
	if err != nil {
		return err
	}
	r.emit(chat.Event{Kind: chat.KindApproval, Turn: r.progress.turn(), Index: c.Index, ID: c.ID, Name: c.Name,
		Detail: a.Detail(c.ID)})
	return r.park(ctx, c.ID, p.Approval)
}

// park notes that a call waits.
func (r *Run) park(ctx context.Context, callID, approval string) error {
	a, err := r.runner.Settings().Approvals.Get(ctx, approval)
	if err != nil {
		return fmt.Errorf("agent: the question about call %s: %w", callID, err)
	}
	r.parked[callID] = a
	return nil
}

// pass takes an event of the runner.
func (r *Run) pass(ctx context.Context, e chat.Event, group []ruling) error {
	e.Turn = r.progress.turn()
	switch e.Kind {
	case chat.KindPolicy:
		r.seen.decided(e.ID, e.Detail.(*policy.Detail))
		if err := r.log.note(ctx,
			record.Record{Kind: record.KindPolicy, Policy: e.Detail.(*policy.Detail)}); err != nil {
			return err
		}
	case chat.KindApproval:
		d := e.Detail.(*runner.ApprovalDetail)
		switch {
		case d.State == runner.ApprovalPending:
			if err := r.park(ctx, e.ID, d.ID); err != nil {
				return err
			}
		case d.Stop: // answered before the run waited for it
			r.emit(e)
			return r.stop(ctx, r.parked)
		}
	case chat.KindResult:
		result := noted(e.Detail.(*chat.Result), group)
		e.Detail = result
		delete(r.parked, result.CallID)
		if !r.state.Add(result.Message()) {
			return errNoResult
		}
	}
	r.emit(e)
	return nil
}

// noted returns a result with the notes of its call.
func noted(result *chat.Result, group []ruling) *chat.Result {
	for i := range group {
		if c := &group[i]; c.Call.ID == result.CallID && c.Note != "" {
			with := *result
			with.Parts = append(slices.Clip(with.Parts), chat.Part{Kind: chat.PartText, Text: c.Note})
			result = &with
		}
	}
	return result
}

// refuse gives a call that must not run its result.
func (r *Run) refuse(ctx context.Context, c *ruling) error {
	result := chat.Result{CallID: c.Call.ID, Name: c.Call.Name, Parts: chat.Text(c.Refuse), IsError: true}
	record := runner.FinishRecord{CallID: c.Call.ID, Tool: c.Call.Name,
		Result: tool.Result{Error: c.Refuse, ErrorType: tool.ErrLimit}, At: time.Now()}
	if err := r.seen.Finish(context.WithoutCancel(ctx), record); err != nil {
		return err
	}
	r.state.Add(result.Message())
	r.emit(chat.Event{Kind: chat.KindResult, Turn: r.progress.turn(), Index: c.Call.Index,
		ID: c.Call.ID, Name: c.Call.Name,
		Detail: &result})
	return nil
}

// unable gives a call that cannot be used an error that says why.
func (r *Run) unable(ctx context.Context, c *ruling) error {
	kind := tool.ErrInvalid
	if c.Call.Reason == chat.ReasonUnknownTool {
		kind = tool.ErrNotFound
	}
	record := runner.FinishRecord{CallID: c.Call.ID, Tool: c.Call.Name, At: time.Now(),
		Result: tool.Failure(&tool.Error{Kind: kind, Tool: c.Call.Name, Message: c.Call.Problem})}
	if err := r.seen.Finish(context.WithoutCancel(ctx), record); err != nil {
		return err
	}
	m := r.rendered(&record)
	if c.Note != "" {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.PartText, Text: c.Note})
	}
	r.state.Add(m)
	r.emit(chat.Event{Kind: chat.KindResult, Turn: r.progress.turn(), Index: c.Call.Index,
		ID: c.Call.ID, Name: c.Call.Name,
		Detail: &chat.Result{CallID: m.CallID, Name: m.Name, Parts: m.Parts, IsError: true}})
	return nil
}

// A callRecorder sees what is recorded of calls, on the way to where it is kept.
type callRecorder struct {
	next runner.Records // nil: it is kept nowhere

	mu      sync.Mutex
	rules   map[string]*policy.Detail // by call
	refused []Denial
	ok      map[string]int // by tool: how many were refused before the last one that went well
	last    runner.FinishRecord
}

// Start passes on that a call begins.
func (l *callRecorder) Start(ctx context.Context, r runner.StartRecord) error {
	if l.next == nil {
		return nil
	}
	return l.next.Start(ctx, r)
}

// Detach passes on under which name a call goes on elsewhere.
func (l *callRecorder) Detach(ctx context.Context, call, name string) error {
	if l.next == nil {
		return nil
	}
	return l.next.Detach(ctx, call, name)
}

// Kept passes on under which name a call goes on elsewhere that was started again.
func (l *callRecorder) Detached(call string) string {
	if l.next == nil {
		return ""
	}
	return l.next.Detached(call)
}

// refusals are the kinds of errors of a call that was not allowed.
var refusals = map[tool.ErrorKind]bool{tool.ErrSecurity: true, tool.ErrApproval: true, tool.ErrExpired: true,
	tool.ErrDisabled: true}

// Finish notes and passes on what came of a call.
func (l *callRecorder) Finish(ctx context.Context, r runner.FinishRecord) error {
	l.mu.Lock()
	switch {
	case r.Result.OK:
		if l.ok == nil {
			l.ok = map[string]int{}
		}
		l.ok[r.Tool] = len(l.refused)
	case refusals[r.Result.ErrorType]:
		d := Denial{CallID: r.CallID, Tool: r.Tool, Why: r.Result.Error, Kind: r.Result.ErrorType}
		if p := l.rules[r.CallID]; p != nil {
			d.Rule = p.Rule
		}
		l.refused = append(l.refused, d)
	}
	if r.Started {
		l.last = r
	}
	l.mu.Unlock()
	if l.next == nil {
		return nil
	}
	return l.next.Finish(ctx, r)
}

// decided notes which rule decided about a call.
func (l *callRecorder) decided(id string, p *policy.Detail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rules == nil {
		l.rules = map[string]*policy.Detail{}
	}
	l.rules[id] = p
}

// denials returns the calls that were not allowed, and whether each was needed.
func (l *callRecorder) denials() []Denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Denial, 0, len(l.refused))
	for i, d := range l.refused {
		d.Needed = i >= l.ok[d.Tool]
		list = append(list, d)
	}
	return list
}

// failing reports whether the guard stopped calls that failed.
func (l *callRecorder) failing(limit LimitKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return limit == LimitRepeats && l.last.CallID != "" && !l.last.Result.OK
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/internal/value"
)

// Run carries out a plan. The stream ends with the one KindResult event of the call, or with an error:
// ErrPending for a plan whose approval is not decided yet, ErrConsumed for one that was run before, or that
// of a store that failed. Breaking out of the loop cancels the call; its result is recorded all the same.
func (r *Runner) Run(ctx context.Context, p Plan) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		x := r.execution(p, nil)
		x.emit = func(e chat.Event) bool {
			if !x.stopped && !yield(e, nil) {
				x.stop()
			}
			return !x.stopped
		}
		result, err := x.run(ctx)
		switch {
		case x.stopped:
		case err == nil:
			yield(x.resultEvent(result), nil)
		case x.waits == nil || x.emit(x.approvalEvent(x.waits)):
			yield(chat.Event{}, err)
		}
	}
}

// An execution is one call on its way from a plan to a result.
type execution struct {
	runner  *Runner
	plan    Plan
	emit    func(chat.Event) bool // called by one goroutine
	group   *batchGroup           // of the calls that run together with this one; nil: it runs alone
	order   int                   // among the calls of the turn
	limits  tool.CallLimits
	style   tool.Style
	began   time.Time
	started bool        // there is a start record
	kept    string      // where the call goes on that an earlier process began
	edited  bool        // a person changed the arguments
	refused string      // or only took parts of the call out, these
	lost    bool        // the handler did not come back
	waits   *Approval   // that is not decided
	form    *tool.Form  // that the handler wants an answer to; nil: it does not
	reply   *tool.Reply // to the form before

	stopped bool               // nobody listens any more
	cancel  context.CancelFunc // of the handler, while it runs
}

func (r *Runner) execution(p Plan, emit func(chat.Event) bool) *execution {
	return &execution{runner: r, plan: p, emit: emit, style: r.s.Style}
}

// stop cancels the call: nobody listens any more.
func (x *execution) stop() {
	x.stopped = true
	if x.cancel != nil {
		x.cancel()
	}
}

// run takes the call through its stages. The error says that there can be no result, now or ever; whatever is
// wrong with the call itself is in the result.
func (x *execution) run(ctx context.Context) (tool.Result, error) {
	x.began = time.Now()
	x.plan = x.runner.current(x.plan)
	if x.plan.entry != nil {
		x.style, x.limits = x.plan.entry.Tool.Style, x.runner.limits(x.plan.entry)
	}
	x.announce()
	if x.plan.Outcome == OutcomeNeedsApproval {
		if err := x.consume(ctx); err != nil {
			return x.conclude(ctx, err)
		}
	}
	if x.plan.Outcome == OutcomeNeedsInput {
		if err := x.answered(ctx); err != nil {
			return x.conclude(ctx, err)
		}
	}
	if x.plan.Result != nil && x.plan.Outcome != OutcomeReady {
		x.group.leave(x)
		return x.finish(ctx, *x.plan.Result)
	}
	for {
		result, err := x.runner.s.Shared.share(ctx, x)
		if err != nil {
			return x.conclude(ctx, err)
		}
		if x.form == nil {
			return x.finish(ctx, result)
		}
		if err := x.ask(ctx, x.form); err != nil {
			return x.conclude(ctx, err)
		}
	}
}

// announce tells what planning found out.
func (x *execution) announce() {
	for i := range x.plan.Notes {
		n := &x.plan.Notes[i]
		x.emit(x.event(chat.KindNote, n))
	}
	if x.plan.Policy != nil {
		x.emit(x.event(chat.KindPolicy, x.plan.Policy))
	}
}

func (x *execution) event(kind chat.Kind, d chat.Detail) chat.Event {
	return chat.Event{Kind: kind, Index: x.plan.Call.Index, ID: x.plan.Call.ID, Name: x.plan.Call.Name, Detail: d}
}

func (x *execution) state(s CallState) {
	x.emit(x.event(chat.KindToolState, &StateDetail{CallID: x.plan.Call.ID, State: s, Elapsed: time.Since(x.began)}))
}

// resultEvent is the last event of a call.
func (x *execution) resultEvent(result tool.Result) chat.Event {
	r := result.Chat(&x.plan.Call, x.style)
	return x.event(chat.KindResult, &r)
}

// conclude tells failures of the call, which make a result, from those of a store, which are the caller's.
func (x *execution) conclude(ctx context.Context, err error) (tool.Result, error) {
	x.group.leave(x)
	var e *tool.Error
	if errors.As(err, &e) {
		return x.finish(ctx, tool.Failure(e))
	}
	return tool.Result{}, err
}

// failureOf returns err as the *tool.Error that a result of it says.
func failureOf(err error) *tool.Error {
	var e *tool.Error
	if !errors.As(err, &e) {
		r := tool.Failure(err)
		e = &tool.Error{Kind: r.ErrorType, Message: r.Error, Cause: err}
	}
	return e
}

// finish records the result. What was recorded is what the model is told.
func (x *execution) finish(ctx context.Context, result tool.Result) (tool.Result, error) {
	result.Denied = x.plan.Denied
	if x.edited {
		result.Edited, result.Refused = []byte(x.plan.Call.Arguments), x.refused
	}
	switch {
	case x.lost:
		x.state(CallInterrupted)
	case result.OK:
		x.state(CallDone)
	default:
		x.state(CallFailed)
	}
	x.log(ctx, &result)
	if x.runner.s.Records == nil {
		return result, nil
	}
	// The record is made even if whoever asked has gone: the call did run.
	err := x.runner.s.Records.Finish(context.WithoutCancel(ctx), FinishRecord{
		CallID: x.plan.Call.ID, Tool: x.plan.Call.Name, Started: x.started, Result: result,
		Elapsed: time.Since(x.began), At: time.Now()})
	if err != nil {
		return tool.Result{}, fmt.Errorf("tool: the result of call %s cannot be recorded: %w", x.plan.Call.ID, err)
	}
	return result, nil
}

// log tells how the call ended.
func (x *execution) log(ctx context.Context, result *tool.Result) {
	if x.runner.s.Log == nil {
		return
	}
	status := "ok"
	switch {
	case !result.OK:
		status = string(result.ErrorType)
	case result.Cached:
		status = "cached"
	}
	x.runner.s.Log.LogAttrs(ctx, slog.LevelInfo, "tool call", slog.String("tool", x.plan.Call.Name),
		slog.String("call", x.plan.Call.ID), slog.String("status", status), slog.Duration("time", time.Since(x.began)))
}

// consume uses the approval of the plan.
func (x *execution) consume(ctx context.Context) error {
	a, err := x.approval(ctx)
	switch {
	case errors.Is(err, ErrPending):
		x.waits = &a
		return err
	case a.ID != "":
		x.emit(x.approvalEvent(&a))
	}
	switch {
	case errors.Is(err, ErrRefused):
		return a.refusal()
	case errors.Is(err, ErrBinding):
		return tool.Errorf(tool.ErrSecurity, "Security violation: the approval is for another call")
	case err != nil:
		return err
	}
	if x.plan.Outcome = OutcomeReady; len(a.Answer.Arguments) > 0 {
		x.refused = a.Answer.Refused
		return x.edit(string(a.Answer.Arguments))
	}
	return nil
}

// approval consumes the approval of the plan. Identical calls have one question; when another call has used
// the answer, this one asks anew.
func (x *execution) approval(ctx context.Context) (Approval, error) {
	r := x.runner
	if r.s.Approvals == nil {
		return Approval{}, &tool.Error{Kind: tool.ErrApproval}
	}
	a, err := r.s.Approvals.Consume(ctx, x.plan.Approval, x.plan.Binding)
	if !errors.Is(err, ErrConsumed) || a.CallID == x.plan.Call.ID {
		return a, err
	}
	q := a.Question
	q.CallID, q.Expires = x.plan.Call.ID, r.expiry()
	if a, err = r.s.Approvals.Ask(ctx, q); err != nil {
		return a, err
	}
	x.plan.Approval = a.ID
	return r.s.Approvals.Consume(ctx, a.ID, x.plan.Binding)
}

func (x *execution) approvalEvent(a *Approval) chat.Event {
	return x.event(chat.KindApproval, a.Detail(x.plan.Call.ID))
}

// edit takes the arguments that a person wrote in place of the model's. They are held to the same rules; what
// a rule asks about is answered.
func (x *execution) edit(arguments string) error {
	x.plan.Call.Arguments, x.edited = arguments, true
	if err := x.runner.read(&x.plan); err != nil {
		return err
	}
	if _, _, err := x.runner.decide(&x.plan); err != nil { // of type *tool.Error: a nil one is no nil error
		return err
	}
	return nil
}

// Detail returns the approval as it stands in events.
func (a *Approval) Detail(callID string) *ApprovalDetail {
	return &ApprovalDetail{ID: a.ID, CallID: callID, State: a.State, By: a.Answer.By,
		Reason: a.Answer.Reason, Stop: a.Answer.Stop, Expires: a.Expires}
}

// refusal returns why an approval does not allow its call.
func (a *Approval) refusal() *tool.Error {
	switch a.State {
	case ApprovalExpired:
		return &tool.Error{Kind: tool.ErrExpired}
	case ApprovalCancelled:
		return tool.Errorf(tool.ErrCanceled, "The approval was cancelled, the call was not run")
	}
	e := &tool.Error{Kind: tool.ErrApproval}
	if a.Answer.Reason != "" {
		e.Details, _ = value.Marshal(struct {
			Reason string `json:"reason"`
		}{a.Answer.Reason})
	}
	return e
}

// begin makes the start record. Nothing runs before it is durable.
func (x *execution) begin(ctx context.Context) error {
	if x.runner.s.Records == nil || x.started {
		return nil
	}
	err := x.runner.s.Records.Start(ctx, StartRecord{
		CallID: x.plan.Call.ID, Tool: x.plan.Call.Name, Definition: x.plan.Definition,
		Arguments: []byte(x.plan.Call.Arguments), Binding: x.plan.Binding, Approval: x.plan.Approval,
		Idempotent: x.plan.entry.Tool.Idempotent, At: time.Now()})
	if err != nil {
		return fmt.Errorf("tool: the start of call %s cannot be recorded: %w", x.plan.Call.ID, err)
	}
	x.started = true
	x.kept = x.runner.s.Records.Detached(x.plan.Call.ID)
	return nil
}

// perform is the part of a call that does something: it waits for its turn, records the start, runs the
// handler and makes what comes out fit for a model.
func (x *execution) perform(ctx context.Context) (tool.Result, error) {
	if err := x.admit(ctx); err != nil {
		return tool.Result{}, err
	}
	defer x.release()
	if err := x.begin(ctx); err != nil {
		return tool.Result{}, err
	}
	x.state(CallRunning)
	red := newRedactor(x.runner.s.Redact)
	result := x.invoke(ctx, red)
	red.result(&result)
	x.runner.s.Shared.cap(&result, x.limits)
	return result, nil
}

// admit waits until the tool takes another call.
func (x *execution) admit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return failureOf(err)
	}
	if x.stopped {
		return &tool.Error{Kind: tool.ErrCanceled}
	}
	slots := x.plan.entry.slots
	if slots == nil || x.group != nil {
		return nil
	}
	select {
	case slots <- struct{}{}:
		return nil
	default:
	}
	x.state(CallQueued)
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return failureOf(ctx.Err())
	}
}

func (x *execution) release() {
	if slots := x.plan.entry.slots; slots != nil && x.group == nil {
		<-slots
	}
}

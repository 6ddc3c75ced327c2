package mcpconnector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wield/chat"
	"wield/internal/hosted"
	"wield/journal"
	"wield/tool/runner"
)

// A runningCall is one on its way.
type runningCall struct {
	by        *served
	arguments string
	id        string // of the block or of the question
	callID    string // of the call, in the journal and in the Responses protocol
	resumed   bool   // it waited in an earlier answer
	asks      bool   // it waits now
	denied    string // why it does not run; empty: it does
	plan      runner.Plan
	runner    *runner.Runner
	log       *log         // nil: it is not recorded
	before    *chat.Result // it ran before with this result
	err       error        // nothing further can be said
}

// Runs implements hosted.Runner.
func (s *session) Runs(name string) bool { return s.by[name] != nil }

// Shown implements hosted.Runner. It looks whether the call may run, since a call that waits is shown as a question.
func (s *session) Shown(ctx context.Context, c *chat.Call) chat.Detail {
	x := s.begin(ctx, c)
	s.calls[c.ID] = x
	switch {
	case x.by == nil || x.err != nil:
		return nil
	case x.by.server.protocol == chat.ProtocolAnthropic && !x.resumed:
		return x.use()
	case x.by.server.protocol == chat.ProtocolResponses && !x.asks && x.denied == "":
		return x.item(nil)
	}
	return nil
}

// begin looks at a call: one of the model, or one that waited.
func (s *session) begin(ctx context.Context, c *chat.Call) *runningCall {
	x := &runningCall{by: s.by[c.Name], arguments: c.Arguments, callID: journal.NewID("mcp")}
	for i := range s.asked {
		x.resumed = x.resumed || s.asked[i].ID == c.ID
	}
	if x.by == nil {
		x.denied = "the tool is not offered any more"
		return x
	}
	if x.resumed {
		x.id = c.ID
		s.resume(ctx, x)
		return x
	}
	prefix := usePrefix
	if x.by.server.protocol == chat.ProtocolResponses {
		prefix = requestPrefix
	}
	x.id = newID(prefix)
	s.propose(ctx, x, prefix)
	x.asks = x.asks || x.by.asks && x.denied == "" && x.plan.Outcome == runner.OutcomeReady
	return x
}

// propose plans a call. One that the policy asks about waits, and has a run in the journal.
func (s *session) propose(ctx context.Context, x *runningCall, prefix string) {
	x.log = &log{store: s.o.Journal, by: s.req.Caller, run: journal.NewID("run"), session: journal.NewID("ses"),
		call: x}
	s.prepare(ctx, x, "")
	if x.err == nil && x.plan.Outcome == runner.OutcomeNeedsApproval {
		x.asks, x.id = true, prefix+x.plan.Approval
		x.err = x.log.wait(ctx, x.plan.Approval)
	} else {
		x.log = nil
	}
}

// prepare plans a call with the questions of its run. approved is the binding of the call that was approved.
func (s *session) prepare(ctx context.Context, x *runningCall, approved string) {
	store := journal.Approvals{Store: s.o.Journal, Session: x.log.session, Run: x.log.run}
	questions := &questions{store, x.log, approved}
	x.runner = s.runner.With(func(set *runner.Settings) { set.Approvals = questions })
	c := chat.Call{ID: x.callID, Name: x.by.name, Arguments: x.arguments, Complete: true}
	x.plan, x.err = x.runner.Plan(ctx, c)
}

// resume looks whether a call that waited may run now.
func (s *session) resume(ctx context.Context, x *runningCall) {
	said := s.answers[x.id]
	id := approvalOf(x.id)
	switch {
	case id != "":
		s.decided(ctx, x, id, said)
	case x.by.server.protocol == chat.ProtocolResponses && said == nil:
		x.denied = "the client has not approved the call"
	case x.by.server.protocol == chat.ProtocolAnthropic: // nothing waited: the client left while the call ran
		x.before = cutOff()
	case said != nil && !said.approve:
		x.denied = notRun("denied", said.reason)
	default:
		s.propose(ctx, x, requestPrefix) // the policy may have changed
	}
}

// decided looks at the approval of a call in the journal, which a client's answer decides unless somebody has before.
func (s *session) decided(ctx context.Context, x *runningCall, id string, said *approvalReply) {
	l, err := s.reopen(ctx, id)
	if errors.Is(err, runner.ErrNoApproval) {
		x.denied = "there is no such approval"
		return
	}
	if x.err = err; err != nil {
		return
	}
	x.log = l
	l.call = x
	store := journal.Approvals{Store: s.o.Journal}
	if said != nil {
		a := runner.Answer{State: runner.ApprovalDenied, By: s.req.Caller, Reason: said.reason}
		if said.approve {
			a = runner.Answer{State: runner.ApprovalApproved, By: s.req.Caller}
		}
		if _, err := store.Decide(ctx, id, a); err != nil && !errors.Is(err, runner.ErrDecided) {
			x.err = err
			return
		}
	}
	s.settle(ctx, x, id)
}

// settle makes of the state of an approval what becomes of its call.
func (s *session) settle(ctx context.Context, x *runningCall, id string) {
	store := journal.Approvals{Store: s.o.Journal}
	a, err := store.Get(ctx, id)
	x.asks = false
	switch {
	case err != nil:
		x.err = err
	case a.State == runner.ApprovalPending:
		x.asks = true
	case a.State == runner.ApprovalConsumed:
		if x.before, x.err = x.log.result(ctx); x.before == nil {
			x.before = cutOff()
		}
	case a.State == runner.ApprovalApproved || a.State == runner.ApprovalEdited:
		x.err = x.log.resume(ctx)
		if x.err == nil {
			s.prepare(ctx, x, a.Binding)
		}
		if errors.Is(x.err, errOther) {
			x.denied, x.err = "it is another call than the one that was approved", nil
			x.log.end(ctx)
		}
	default:
		x.denied = notRun(string(a.State), a.Answer.Reason)
		x.log.end(ctx)
	}
}

func notRun(state, reason string) string {
	text := "the approval was " + state
	if state == string(runner.ApprovalExpired) {
		text = "the approval expired"
	}
	if reason != "" {
		text += ", because: " + reason
	}
	return text
}

// Run implements hosted.Runner.
func (s *session) Run(ctx context.Context, c *chat.Call) (hosted.Outcome, error) {
	x := s.calls[c.ID]
	if x.asks && x.err == nil && x.by.server.protocol == chat.ProtocolAnthropic {
		s.hold(ctx, x)
	}
	switch {
	case ctx.Err() != nil:
		return hosted.Outcome{}, chat.AsError(ctx.Err())
	case x.err != nil:
		return hosted.Outcome{}, chat.Errorf(chat.ErrUnavailable, "the call of %s cannot be recorded: %w", c.Name,
			x.err)
	case x.asks && x.by.server.protocol == chat.ProtocolResponses:
		return hosted.Outcome{Result: waits(), Detail: x.request(), Ends: true}, nil
	case x.asks:
		return hosted.Outcome{Result: waits(), Ends: true}, nil
	case x.denied != "":
		return x.outcome(chat.Result{Parts: chat.Text("Error: the call was not run: " + x.denied), IsError: true}), nil
	case x.before != nil:
		return x.outcome(*x.before), nil
	}
	r, err := x.run(ctx)
	if err != nil {
		return hosted.Outcome{}, err
	}
	return x.outcome(r), nil
}

func cutOff() *chat.Result {
	return &chat.Result{IsError: true,
		Parts: chat.Text("Error: the call was cut off. It is not known whether it took effect.")}
}

func waits() chat.Result {
	return chat.Result{Parts: chat.Text("The call waits for an approval."), IsError: true}
}

// outcome is a result as the client of the request is shown it.
func (x *runningCall) outcome(r chat.Result) hosted.Outcome {
	o := hosted.Outcome{Result: r}
	switch {
	case x.by == nil:
	case x.by.server.protocol == chat.ProtocolAnthropic:
		o.Detail = x.result(&r)
	case x.denied == "":
		o.Detail = x.item(&r)
	}
	return o
}

// hold waits for an approval that the client of the request cannot give.
func (s *session) hold(ctx context.Context, x *runningCall) {
	id := approvalOf(x.id)
	wait, cancel := context.WithTimeout(ctx, max(s.o.Hold, time.Millisecond))
	defer cancel()
	store := journal.Approvals{Store: s.o.Journal}
	if err := store.Wait(wait, id); err != nil && wait.Err() == nil {
		x.err = err
		return
	}
	s.settle(ctx, x, id)
}

// run carries out a call that may run. Its run ends with it, whatever happens.
func (x *runningCall) run(ctx context.Context) (r chat.Result, err error) {
	defer x.log.end(ctx)
	runner := x.runner.With(func(set *runner.Settings) {
		if x.log == nil {
			set.Approvals = nil // nobody is asked in the middle of a call
		} else {
			set.Records = x.log.writer
		}
	})
	for e, err := range runner.Run(ctx, x.plan) {
		switch {
		case ctx.Err() != nil:
			return r, chat.AsError(ctx.Err())
		case err != nil:
			return chat.Result{Parts: chat.Text(fmt.Sprintf("Error: the call was not run: %v", err)), IsError: true},
				nil
		case e.Kind == chat.KindResult:
			r = *e.Detail.(*chat.Result)
		}
	}
	return r, nil
}

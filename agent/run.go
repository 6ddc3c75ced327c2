package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// A Run is one task on its way to an answer.
type Run struct {
	agent  *Agent
	req    *chat.Request
	state  *state
	log    *runRecorder
	runner *runner.Runner             // with what this run watches
	parked map[string]runner.Approval // questions that are not answered, by call

	listener // of the stream that is ranged over
	inbox    inbox
	progress progress
	shown    shown
	meter    meter
	seen     callRecorder
	outputs  outputs
	client   client
	interval interval

	offered []record.Definition // tools that the journal has, of both

	outcome Outcome
	over    bool // a person ended it with an answer: it does not go on
	halted  atomic.Bool
}

// A listener ranges over the events of a run.
type listener struct {
	yield   func(chat.Event, error) bool
	cancel  context.CancelFunc
	stopped bool // nobody listens any more
}

// emit passes an event on. When nobody listens any more it cancels what is under way; the results of that are
// still taken.
func (l *listener) emit(e chat.Event) bool {
	if !l.stopped && !l.yield(e, nil) {
		l.stopped = true
		l.cancel()
	}
	return !l.stopped
}

// progress counts the answers of the model in a run.
type progress struct {
	turns int // that have begun, bounced ones included
	calls int
	last  *answerCollector
}

// turn returns the number of the turn that an event belongs to.
func (a *progress) turn() int { return max(a.turns-1, 0) }

// An EndReason says why a run ended.
type EndReason string

// The reasons.
const (
	EndAnswer  EndReason = "answer"   // the model answered, if Outcome.Limit is set because it was told to
	EndLimit   EndReason = "limit"    // a limit was reached and the model gave no answer
	EndEmpty   EndReason = "empty"    // the model said nothing
	EndWaiting EndReason = "waiting"  // a person has to decide; another stream of Events continues the run
	EndClient  EndReason = "client"   // the client has to run the calls in Outcome.Client
	EndError   EndReason = "error"    // Outcome.Err says what
	EndCancel  EndReason = "canceled" // the client went away
)

// An Outcome holds the result of a run.
type Outcome struct {
	Reason  EndReason
	Limit   LimitKind // that ended the run, or that it was cut short by; empty: none
	Text    string    // of the last answer
	Turns   int       // answers of the model
	Calls   int
	Usage   chat.Usage
	Cost    float64 // of what was counted
	Priced  bool    // all of it was, and Cost is known
	Denied  []Denial
	Failing bool              // the calls that the guard stopped failed each time
	GaveUp  bool              // the last answer tried to call and could not
	Waiting []runner.Approval // EndWaiting: what has to be decided
	Client  []chat.Call       // EndClient: what the client has to run
	Finish  chat.FinishReason // of the last turn
	Err     error             // EndError, EndCancel
}

// A Denial is a call that was not allowed.
type Denial struct {
	CallID string         `json:"call_id"`
	Tool   string         `json:"tool"`
	Rule   string         `json:"rule,omitempty"`
	Why    string         `json:"why,omitempty"`
	Kind   tool.ErrorKind `json:"error_type"`
	Needed bool           `json:"needed"` // no later call of the tool went well
}

// Outcome returns what came of the run, once its events have ended.
func (r *Run) Outcome() Outcome { return r.outcome }

// Messages returns the conversation as it is now. It is not to be called while the events are ranged over.
func (r *Run) Messages() []chat.Message { return slices.Clone(r.state.Messages) }

// Halt ends the run as if it were cancelled, but not before the calls of the last answer have their results.
// The model is not asked again. It may be called from any goroutine.
func (r *Run) Halt() { r.halted.Store(true) }

// Events carries out the run and yields what happens. The stream is that of a [chat.Model], and is ranged over
// once. Breaking out of it cancels the answer or the calls that are under way; they get results that say so. A
// run that ended with EndWaiting goes on in the next stream, by another call of Events. One that is over yields
// ErrEnded.
func (r *Run) Events(ctx context.Context) iter.Seq2[chat.Event, error] {
	ranged := false
	return func(yield func(chat.Event, error) bool) {
		if ranged || !r.goesOn() {
			yield(chat.Event{}, chat.AsError(ErrEnded))
			return
		}
		ranged = true
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r.listener = listener{yield: yield, cancel: cancel}
		r.meter.start(r.state)
		r.runner = r.agent.runner.With(func(s *runner.Settings) { s.Records, s.Scope = &r.seen, r.scope() })
		release, err := r.begin(ctx)
		if err != nil {
			r.finish(ctx, err)
			return
		}
		defer release()
		r.finish(ctx, r.loop(ctx))
	}
}

// goesOn reports whether the run has not begun, or has ended because it waits.
func (r *Run) goesOn() bool {
	switch r.outcome.Reason {
	case "", EndWaiting, EndClient:
		return true
	}
	return false
}

// scope returns what the tools of the run may see of its past.
func (r *Run) scope() tool.Scope {
	o := &r.agent.o
	r.outputs.log = r.log
	s := tool.Scope{Run: r.ID(), Session: r.Session(), By: o.By, Outputs: &r.outputs}
	if o.Journal != nil {
		s.Conversations = &conversations{store: o.Journal, by: o.By, alike: o.Alike}
	}
	return s
}

// begin opens the journal, and makes it what the runner records in and whom it asks.
func (r *Run) begin(ctx context.Context) (release func(), err error) {
	if r.log == nil {
		r.seen.next = r.agent.runner.Settings().Records
		return func() {}, nil
	}
	o := &r.agent.o
	opening := record.Run{Agent: o.Name, Model: r.req.Model, Dir: r.runner.Settings().Root, By: o.By,
		Unattended: o.Unattended, Only: o.Only, Offered: record.Definitions(r.runner.Offered(said(r.state.Messages))),
		Client: record.Definitions(r.req.Callable())}
	if !r.log.opened {
		r.offered = slices.Concat(opening.Offered, opening.Client)
	}
	if err := r.log.open(ctx, opening, r.state.Messages, o.Notes); err != nil {
		return nil, err
	}
	r.inbox.mu.Lock()
	release, err = r.log.hold(ctx, r.cancel)
	r.inbox.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r.runner = r.runner.With(func(s *runner.Settings) { s.Scope.Fence, s.Approvals = r.log.fence, r.approvals() })
	r.seen.next = &records{r.log.writer, r.log, r.runner.Settings().Shared}
	if err := errors.Join(r.recordResume(ctx), r.recallSummary(ctx)); err != nil {
		release()
		return nil, err
	}
	r.inbox.begin()
	return release, nil
}

// approvals returns where the questions of this run are kept.
func (r *Run) approvals() runner.Approvals {
	if !r.agent.o.Wait {
		return r.agent.runner.Settings().Approvals
	}
	return &journal.Approvals{Store: r.log.store, Session: r.log.session, Run: r.log.id}
}

// ID returns the id of the run in the journal, or "".
func (r *Run) ID() string {
	if r.log == nil {
		return ""
	}
	return r.log.id
}

// Session returns the id of the session that the run belongs to in the journal, or "".
func (r *Run) Session() string {
	if r.log == nil {
		return ""
	}
	return r.log.session
}

// loop takes step after step, until the run is over, waits or fails.
func (r *Run) loop(ctx context.Context) error {
	for {
		r.meter.read(r.state)
		if err := r.take(ctx); err != nil {
			return err
		}
		step := r.state.Next()
		var err error
		switch step.Do {
		case doEnd:
			if !r.inbox.end(r.state.finished) {
				continue // something was sent since the last answer
			}
			r.outcome.Limit = step.Limit
			return r.take(ctx) // what came too late is there for the next run
		case doAsk:
			if r.halted.Load() {
				return context.Canceled
			}
			err = r.ask(ctx, step)
		case doRun:
			err = r.act(ctx, step.Calls)
		}
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case r.stopped:
			return context.Canceled
		case len(r.parked) > 0, step.Do == doRun && len(r.Awaits()) > 0:
			return nil
		}
	}
}

// ask asks the model, passes on what it answers, and puts the answer into the conversation. A server that
// finds the conversation too long is sent less of it, once.
func (r *Run) ask(ctx context.Context, step step) error {
	if step.Tell != "" {
		m := chat.Message{Role: chat.RoleUser, Parts: chat.Text(step.Tell)}
		if err := r.log.note(ctx, entered(m, "wield")); err != nil {
			return err
		}
		r.state.Add(m)
	}
	for attempt := 1; ; attempt++ {
		req, v, err := r.request(ctx, step)
		if err != nil {
			return err
		}
		err = r.answer(ctx, req, v, attempt)
		if attempt > 1 || r.stopped || !errors.Is(err, chat.ErrContextLength) ||
			!r.refused(r.progress.last, v, req.Tools) {
			return err
		}
	}
}

// answer makes one request to the model.
func (r *Run) answer(ctx context.Context, req *chat.Request, v View, attempt int) error {
	begins := &record.Turn{Turn: r.progress.turns, Model: req.Model, Attempt: attempt, Budget: r.shown.learned,
		Pruned: v.Pruned + v.Cut, Dropped: v.Dropped}
	if r.log != nil {
		r.describe(begins, req)
	}
	if err := r.log.note(ctx, record.Record{Kind: record.KindTurn, Turn: begins}); err != nil {
		return err
	}
	t := &answerCollector{run: r, state: r.state, turn: r.progress.turns, index: r.progress.calls, model: req.Model,
		offered: req.Tools}
	r.progress.last = t
	var failed error
	for e, err := range r.agent.model.Stream(ctx, req) {
		if err != nil {
			failed = err
			break
		}
		if e.Kind != chat.KindTurnStart && e.Kind != chat.KindIdle && !t.framed {
			start, _ := t.take(chat.Event{Kind: chat.KindTurnStart, Detail: t.detail()})
			r.emit(start)
		}
		if e.Kind == chat.KindRejected {
			if slices.ContainsFunc(t.attempt(e), func(e chat.Event) bool { return !r.emit(e) }) {
				break
			}
			continue
		}
		if e, ok := t.take(e); ok && !r.emit(e) {
			break
		}
	}
	t.doubt()
	r.progress.turns, r.progress.calls = t.turn+t.last+1, r.progress.calls+t.made
	r.spend(t.usage, failed)
	broken := failed != nil || r.stopped
	if r.log != nil {
		if err := r.log.note(ctx, t.records(failed, broken)...); err != nil {
			return errors.Join(failed, err)
		}
	}
	if broken {
		r.broken(t)
	} else {
		r.state.Add(t.message(false))
	}
	return failed
}

// detail describes a turn of a model that does not do so itself.
func (t *answerCollector) detail() chat.Detail {
	return &chat.TurnDetail{Model: t.model, Attempt: 1}
}

// broken keeps what was said in an answer that broke off.
func (r *Run) broken(t *answerCollector) {
	if m := t.message(true); len(m.Parts) > 0 {
		r.state.Add(m)
	}
}

// request returns what the model is asked.
func (r *Run) request(ctx context.Context, step step) (*chat.Request, View, error) {
	req := *r.req
	req.Tools = append(r.runner.Offered(said(r.state.Messages)), r.req.Tools...)
	req.Stream, req.Attempts = !r.agent.o.Whole, true
	switch {
	case step.Limit != "":
		// the tools stay, because the history speaks of them
		req.Choice = chat.Choice{Mode: chat.ChoiceNone, Read: true}
	case r.state.calls > 0 && req.Choice.Mode != chat.ChoiceNone:
		req.Choice = chat.Choice{} // what has to be called was called
	}
	v, err := r.view(ctx, req.Tools)
	req.Messages = v.Messages[:len(v.Messages):len(v.Messages)]
	return &req, v, err
}

// said returns the text of the last message of the user.
func said(messages []chat.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.Role == chat.RoleUser && !isLast(m.Text()) {
			return m.Text()
		}
	}
	return ""
}

// spend counts what an answer used. failed is why it broke off, if it did.
func (r *Run) spend(u chat.Usage, failed error) {
	r.outcome.Priced = r.meter.spend(r.state, r.agent.o.Prices, u, failed)
}

// finish ends the stream, and says what came of the run.
func (r *Run) finish(ctx context.Context, err error) {
	o := &r.outcome
	o.Err, o.Waiting, o.Client = nil, nil, nil
	r.meter.read(r.state)
	o.Usage, o.Cost, o.Turns, o.Calls = r.state.Usage, r.state.Cost, r.state.turns, r.state.calls
	o.Denied, o.Failing = r.seen.denials(), r.seen.failing(o.Limit)
	if t := r.progress.last; t != nil {
		o.Text, o.GaveUp = t.text.String(),
			len(t.calls) > 0 && !slices.ContainsFunc(t.calls, func(c chat.Call) bool { return c.Reason == "" })
		if t.finish != nil {
			o.Finish = t.finish.Reason
		}
	}
	switch {
	case err != nil:
		r.fail(ctx, err)
		return
	case len(r.parked) > 0:
		o.Reason, r.interval.resumed = EndWaiting, r.log != nil
		for _, c := range r.state.Open() {
			if a, ok := r.parked[c.ID]; ok {
				o.Waiting = append(o.Waiting, a)
			}
		}
	case len(r.Awaits()) > 0:
		o.Reason, o.Client, r.interval.resumed = EndClient, r.Awaits(), r.log != nil
	case r.progress.last == nil || r.progress.last.empty() || len(r.progress.last.calls) > 0 && o.Text == "":
		o.Reason = EndEmpty
		if o.Limit != "" {
			o.Reason = EndLimit
		}
	default:
		o.Reason = EndAnswer
	}
	if err := r.closing(ctx); err != nil {
		r.fail(ctx, err)
		return
	}
	if o.Usage.Known {
		r.emit(chat.Event{Kind: chat.KindUsage, Turn: r.progress.turn(), Detail: &o.Usage})
	}
	f := chat.Finish{Reason: chat.FinishStop, Model: r.req.Model}
	if t := r.progress.last; t != nil && t.finish != nil {
		f = *t.finish
		switch {
		case o.Reason == EndClient:
			f.Reason = chat.FinishCalls
		case f.Reason == chat.FinishCalls:
			f.Reason = chat.FinishStop // the calls were carried out here
		}
	}
	r.emit(chat.Event{Kind: chat.KindFinish, Turn: r.progress.turn(), Detail: &f})
}

// fail ends the stream with an error. Calls that are still open get results that say that they did not run:
// what is left is a conversation that every server takes.
func (r *Run) fail(ctx context.Context, err error) {
	o := &r.outcome
	o.Reason, o.Err = EndError, chat.AsError(err)
	if r.stopped || r.over || r.halted.Load() || ctx.Err() != nil {
		o.Reason = EndCancel
	}
	if r.over { // what is recorded now is its end, behind which nothing may come
		r.inbox.close()
	}
	_ = r.closing(ctx) // what cannot be recorded now is seen when the run goes on: it has no end
	for _, c := range r.state.Open() {
		result := tool.Failure(&tool.Error{Kind: tool.ErrCanceled, Tool: c.Name})
		answer := result.Chat(&c, tool.StylePlain)
		r.state.Add(answer.Message())
	}
	for _, s := range r.inbox.close() { // they are in the conversation for whoever continues it
		r.state.Add(s.message)
	}
	r.inbox.begin()
	if !r.stopped {
		r.yield(chat.Event{}, o.Err)
	}
}

var errNoResult = errors.New("agent: a call ended without a result")

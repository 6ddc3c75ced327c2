package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/tool"
)

// A Run is one task on its way to an answer.
type Run struct {
	agent  *Agent
	req    *chat.Request
	state  *State
	log    *logbook
	runner *tool.Runner // with what this run watches
	parked map[string]tool.Approval

	turns   int // that have begun, bounced ones included
	calls   int
	last    *turn
	began   time.Time
	before  time.Duration // what was used before Events began
	seen    ledger
	outcome Outcome

	resumed bool                // from the journal, and did not go on yet
	unknown []tool.FinishRecord // of calls that were cut off then

	yield   func(chat.Event, error) bool
	cancel  context.CancelFunc
	stopped bool // nobody listens any more

	mu    sync.Mutex
	queue []chat.Message
	ended bool
}

// A Reason says why a run ended.
type Reason string

// The reasons.
const (
	EndAnswer  Reason = "answer"   // the model answered, if Outcome.Limit is set because it was told to
	EndLimit   Reason = "limit"    // a limit was reached and the model gave no answer
	EndEmpty   Reason = "empty"    // the model said nothing
	EndWaiting Reason = "waiting"  // a person has to decide; the run goes on when it is ranged over again
	EndError   Reason = "error"    // Outcome.Err says what
	EndCancel  Reason = "canceled" // whoever asked went away
)

// An Outcome is what came of a run.
type Outcome struct {
	Reason  Reason
	Limit   Limit  // that ended the run, or that it was cut short by; empty: none
	Text    string // of the last answer
	Turns   int    // answers of the model
	Calls   int
	Usage   chat.Usage
	Cost    float64
	Priced  bool // Cost is known
	Denied  []Denial
	Failing bool              // the calls that the guard stopped failed each time
	GaveUp  bool              // the last answer tried to call and could not
	Waiting []tool.Approval   // EndWaiting: what has to be decided
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

// Send puts a message into the conversation as soon as no call is open, before the model is asked again. It reports false when
// the run is over: then the message has its place in the next one. It may be called from any goroutine.
func (r *Run) Send(m chat.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.queue = append(r.queue, m)
	return true
}

// Events carries out the run and yields what happens. The stream is that of a [chat.Model]. Breaking out of it cancels the
// answer or the calls that are under way; they get results that say so. A run that ended with EndWaiting goes on when it is
// ranged over again.
func (r *Run) Events(ctx context.Context) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r.yield, r.cancel, r.stopped, r.began = yield, cancel, false, time.Now()
		r.before = r.state.Elapsed
		r.runner = r.agent.runner.With(&r.seen)
		release, err := r.begin(ctx)
		if err != nil {
			r.finish(ctx, err)
			return
		}
		defer release()
		r.finish(ctx, r.loop(ctx))
	}
}

// begin opens the journal, and makes it what the runner records in and whom it asks.
func (r *Run) begin(ctx context.Context) (release func(), err error) {
	if r.log == nil {
		r.seen.next = r.agent.runner.Records
		return func() {}, nil
	}
	o := &r.agent.o
	if err := r.log.open(ctx, journal.Run{Agent: o.Name, Model: r.req.Model, Dir: r.runner.Root, By: o.By}, r.state.Messages, o.Notes); err != nil {
		return nil, err
	}
	if release, err = r.log.hold(ctx); err != nil {
		return nil, err
	}
	r.seen.next = r.log.writer
	r.runner.Approvals = r.approvals()
	if err := r.goOn(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// approvals returns where the questions of this run are kept.
func (r *Run) approvals() tool.Approvals {
	if !r.agent.o.Wait {
		return r.agent.runner.Approvals
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
		r.state.Elapsed = r.before + time.Since(r.began)
		if err := r.take(ctx); err != nil {
			return err
		}
		step := r.state.Next()
		var err error
		switch step.Do {
		case DoEnd:
			if r.more() {
				continue
			}
			r.outcome.Limit = step.Limit
			return nil
		case DoAsk:
			err = r.ask(ctx, step)
		case DoRun:
			err = r.act(ctx, step.Calls)
		}
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case r.stopped:
			return context.Canceled
		case len(r.parked) > 0:
			return nil
		}
	}
}

// take moves what was sent meanwhile into the conversation, unless calls are open.
func (r *Run) take(ctx context.Context) error {
	if len(r.state.open) > 0 {
		return nil
	}
	r.mu.Lock()
	queue := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, m := range queue {
		if err := r.log.note(ctx, entered(m, r.agent.o.By)); err != nil {
			return err
		}
		r.state.Add(m)
	}
	return nil
}

// more reports whether something was sent since the last answer. If not, nothing can be sent any more.
func (r *Run) more() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = len(r.queue) == 0 || r.state.over
	return !r.ended
}

// emit passes an event on. When nobody listens any more it cancels what is under way; the results of that are still taken.
func (r *Run) emit(e chat.Event) bool {
	if !r.stopped && !r.yield(e, nil) {
		r.stopped = true
		r.cancel()
	}
	return !r.stopped
}

// ask asks the model, passes on what it answers, and puts the answer into the conversation.
func (r *Run) ask(ctx context.Context, step Step) error {
	if step.Tell != "" {
		m := chat.Message{Role: chat.RoleUser, Parts: chat.Text(step.Tell)}
		if err := r.log.note(ctx, entered(m, "wield")); err != nil {
			return err
		}
		r.state.Add(m)
	}
	req := r.request(step)
	if err := r.log.note(ctx, journal.Record{Kind: journal.KindTurn, Turn: &journal.Turn{Turn: r.turns, Model: req.Model, Attempt: 1}}); err != nil {
		return err
	}
	t := &turn{state: r.state, turn: r.turns, index: r.calls, model: req.Model}
	r.last = t
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
		if e, ok := t.take(e); ok && !r.emit(e) {
			break
		}
	}
	r.turns, r.calls = t.turn+t.last+1, r.calls+len(t.ids)
	r.spend(t.usage)
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
func (t *turn) detail() *chat.Detail {
	return &chat.Detail{Turn: &chat.TurnDetail{Model: t.model, Attempt: 1}}
}

// broken keeps what was said in an answer that broke off.
func (r *Run) broken(t *turn) {
	if m := t.message(true); len(m.Parts) > 0 {
		r.state.Add(m)
	}
}

// request returns what the model is asked.
func (r *Run) request(step Step) *chat.Request {
	req := *r.req
	req.Messages = r.state.Messages[:len(r.state.Messages):len(r.state.Messages)]
	req.Tools = r.runner.Offered(said(req.Messages))
	req.Stream = true
	switch {
	case step.Limit != "":
		req.Choice = chat.Choice{Mode: chat.ChoiceNone} // the tools stay, because the history speaks of them
	case r.state.calls > 0 && req.Choice.Mode != chat.ChoiceNone:
		req.Choice = chat.Choice{} // what has to be called was called
	}
	return &req
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

func (r *Run) spend(u chat.Usage) {
	if u.Known && u.Requests == 0 {
		u.Requests = 1
	}
	r.state.Usage.Add(u)
	cost, known := r.agent.o.Prices.Cost(r.state.Usage)
	r.state.Cost, r.outcome.Priced = cost, known
}

// finish ends the stream, and says what came of the run.
func (r *Run) finish(ctx context.Context, err error) {
	o := &r.outcome
	o.Err, o.Waiting = nil, nil
	r.state.Elapsed = r.before + time.Since(r.began)
	o.Usage, o.Cost, o.Turns, o.Calls = r.state.Usage, r.state.Cost, r.state.turns, r.state.calls
	o.Denied, o.Failing = r.seen.denials(), r.seen.failing(o.Limit)
	if t := r.last; t != nil {
		o.Text, o.GaveUp = t.text.String(), t.gaveUp && len(t.calls) == 0
		if t.finish != nil {
			o.Finish = t.finish.Reason
		}
	}
	switch {
	case err != nil:
		r.fail(ctx, err)
		return
	case len(r.parked) > 0:
		o.Reason = EndWaiting
		for _, c := range r.state.Open() {
			if a, ok := r.parked[c.ID]; ok {
				o.Waiting = append(o.Waiting, a)
			}
		}
	case r.last == nil || r.last.empty() || len(r.last.calls) > 0 && o.Text == "":
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
		r.emit(chat.Event{Kind: chat.KindUsage, Turn: max(r.turns-1, 0), Detail: &chat.Detail{Usage: &o.Usage}})
	}
	f := chat.Finish{Reason: chat.FinishStop, Model: r.req.Model}
	if t := r.last; t != nil && t.finish != nil {
		f = *t.finish
		if f.Reason == chat.FinishCalls {
			f.Reason = chat.FinishStop // the calls were carried out here
		}
	}
	r.emit(chat.Event{Kind: chat.KindFinish, Turn: max(r.turns-1, 0), Detail: &chat.Detail{Finish: &f}})
}

// fail ends the stream with an error. Calls that are still open get results that say that they did not run: what is left is a
// conversation that every server takes.
func (r *Run) fail(ctx context.Context, err error) {
	o := &r.outcome
	o.Reason, o.Err = EndError, chat.AsError(err)
	if r.stopped || ctx.Err() != nil {
		o.Reason = EndCancel
	}
	_ = r.closing(ctx) // what cannot be recorded now is seen when the run goes on: it has no end
	for _, c := range r.state.Open() {
		result := tool.Failure(&tool.Error{Kind: tool.ErrCanceled, Tool: c.Name})
		answer := result.Chat(&c, tool.StylePlain)
		r.state.Add(answer.Message())
	}
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	if !r.stopped {
		r.yield(chat.Event{}, o.Err)
	}
}

var errNoResult = errors.New("agent: a call ended without a result")

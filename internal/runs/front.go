package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// Model returns an agent as a model like any other. A request is one run, which ends with it: the client reads what
// the model writes in all turns as one answer, and sees nothing of the calls that run here but what Activity says. It
// looks up the agent with each request.
//
// Tools of the request run at the client. When the model has called some, the answer ends with those calls, and the
// request that brings their results continues the same run, from the journal; whatever that request says of
// earlier turns does not count.
//
// Where a person has to decide, the answer is held open for a while, and then says what is waited for. The request
// that continues the conversation is told what became of it.
func (h *Hub) Model(name string) chat.Model { return agentModel{h, name} }

// An agentModel is an agent as a model.
type agentModel struct {
	hub  *Hub
	name string
}

// Stream implements chat.Model.
func (f agentModel) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		s := &answerStream{yield: yield, calls: map[string]string{}}
		a, err := f.hub.agent(f.name)
		if err == nil {
			s.activity = a.Activity
			err = f.hub.answer(ctx, a, req, s)
		}
		switch {
		case s.stopped:
		case err != nil:
			yield(chat.Event{}, chatError(err))
		default:
			s.finish(a.Name)
		}
	}
}

// chatError says in the words of models why there is no answer.
func chatError(err error) *chat.Error {
	var e *chat.Error
	if errors.As(err, &e) {
		return e
	}
	for _, known := range []struct {
		is   error
		kind chat.ErrorKind
		code string
	}{
		{ErrUnknownRun, chat.ErrNotFound, "run_not_found"},
		{ErrUnknownAgent, chat.ErrNotFound, "model_not_found"},
		{agent.ErrNoCall, chat.ErrBadRequest, "unknown_call"},
		{agent.ErrMissing, chat.ErrBadRequest, "missing_result"},
		{ErrEnded, chat.ErrBadRequest, "run_ended"},
		{ErrHeld, chat.ErrOverloaded, "run_busy"},
		{ErrDraining, chat.ErrOverloaded, "shutting_down"},
	} {
		if errors.Is(err, known.is) {
			return &chat.Error{Kind: known.kind, Code: known.code, Message: err.Error(), Cause: err}
		}
	}
	return chat.AsError(err)
}

// answer answers a request: with a run of its own, or by going on with the one that it belongs to.
func (h *Hub) answer(ctx context.Context, a *Agent, req *chat.Request, s *answerStream) error {
	like, err := a.settleTools(req)
	if err != nil {
		return err
	}
	if run, results := givenResults(req.Messages); run != "" {
		return h.continueWith(ctx, a, run, results, like, s)
	}
	if run := markedRun(req.Messages); run != "" {
		if k, err := h.look(ctx, run); err == nil && k.run.Agent == a.Name && k.run.By == req.Caller {
			return h.report(ctx, a, run, like, s)
		}
	}
	return h.begin(ctx, a, like, s)
}

// settleTools returns the request with the tools that its client is to run.
func (a *Agent) settleTools(req *chat.Request) (*chat.Request, error) {
	own := *req
	own.Tools = nil
	var both []string
	for _, t := range req.Tools {
		if tools := a.Runner.Settings().Tools; tools != nil {
			if e, ok := tools.Lookup(t.Name); ok && e.State != tool.StateDisabled {
				if both = append(both, t.Name); a.Collisions == CollisionsServer {
					continue
				}
			}
		}
		own.Tools = append(own.Tools, t)
	}
	if len(both) > 0 && a.Collisions != CollisionsServer && a.Collisions != CollisionsClient {
		return nil, &chat.Error{Kind: chat.ErrBadRequest, Code: "tool_collision", Param: "tools", Message: fmt.Sprintf(
			"the model %s has tools of the same name that run on the server: %s; rename those of the request, or set "+
				"agent.collisions to client or server",
			a.Name, strings.Join(both, ", "))}
	}
	return &own, nil
}

// runner returns the agent's runner as a request finds it: without the tools in whose place the client has its own.
func (a *Agent) runner(clients []chat.Tool) *runner.Runner {
	if a.Collisions != CollisionsClient || a.Runner.Settings().Tools == nil || len(clients) == 0 {
		return a.Runner
	}
	hidden := make(map[string]bool, len(clients))
	for _, t := range clients {
		hidden[t.Name] = true
	}
	return a.Runner.With(func(s *runner.Settings) { s.Tools = without{s.Tools, hidden} })
}

// clientTools returns the tools that the client of a run had.
func clientTools(run *record.Run) []chat.Tool {
	list := make([]chat.Tool, len(run.Client))
	for i, d := range run.Client {
		list[i] = chat.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters}
	}
	return list
}

// without is a source of tools without some.
type without struct {
	runner.Source
	hidden map[string]bool
}

func (w without) Lookup(name string) (*runner.Entry, bool) {
	if w.hidden[name] {
		return nil, false
	}
	return w.Source.Lookup(name)
}

func (w without) Offered(text string) []chat.Tool {
	return slices.DeleteFunc(w.Source.Offered(text), func(t chat.Tool) bool { return w.hidden[t.Name] })
}

// begin answers with a new run.
func (h *Hub) begin(ctx context.Context, a *Agent, req *chat.Request, s *answerStream) error {
	own := *req
	own.Model = a.Name
	with := *a
	with.Runner, with.Options.Whole = a.runner(req.Tools), !req.Stream
	l := h.newLive(a, h.loop(&with, req.Caller, false).Run(&own), req.Caller)
	if err := h.enter(l, false); err != nil {
		return err
	}
	return h.attend(ctx, a, l, s)
}

// attend drives a live run for the request that it answers.
func (h *Hub) attend(ctx context.Context, a *Agent, l *Live, s *answerStream) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.setCancel(cancel)
	left := a.Hold
	over := false
	defer func() {
		if !over { // a panic, which the exchange reports
			h.leave(l)
		}
	}()
	for {
		l.drive(ctx, s.event)
		left = l.hold(ctx, left, s)
		if !h.settle(l) {
			break
		}
	}
	over = true
	o := l.outcome
	s.add(&o)
	switch {
	case o.Err != nil:
		return o.Err
	case o.Reason == agent.EndWaiting:
		s.sayWaiting(h, l.ID, o.Waiting)
	case o.Reason == agent.EndClient:
		s.call(o.Client)
	case o.Reason == agent.EndLimit:
		s.sayLimit(o.Limit)
	}
	return nil
}

// hold waits for an answer to what the run asks, for as long as is left, and returns what is left then.
func (l *Live) hold(ctx context.Context, left time.Duration, s *answerStream) time.Duration {
	if l.outcome.Reason != agent.EndWaiting || left <= 0 {
		return left
	}
	s.emit(chat.Event{Kind: chat.KindIdle})
	begun := time.Now()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-l.woke:
	case <-timer.C:
	case <-ctx.Done():
	}
	return left - time.Since(begun)
}

// givenResults returns the results at the end of a conversation and the run that they belong to, with what the client
// says behind them. No run: they are results of something else.
func givenResults(messages []chat.Message) (run string, tail []chat.Message) {
	from := len(messages)
	for from > 0 && messages[from-1].Role != chat.RoleAssistant {
		from--
	}
	for i := range messages[from:] {
		if m := &messages[from+i]; m.Role == chat.RoleTool {
			if id, ok := agent.RunOf(m.CallID); ok {
				run = id
			}
		}
	}
	if run == "" {
		return "", nil
	}
	// What the user said behind an answer that told of a question which the run waited for has had no place in it yet.
	if last := from - 1; last >= 0 && markedRun(messages[:last]) == run {
		for i := last - 1; i >= 0 && messages[i].Role == chat.RoleUser; i-- {
			tail = append(tail, messages[i])
		}
		slices.Reverse(tail)
	}
	for _, m := range messages[from:] {
		if m.Role == chat.RoleTool {
			tail = append(tail, m)
		}
	}
	for _, m := range messages[from:] {
		if m.Role == chat.RoleUser {
			tail = append(tail, m)
		}
	}
	return run, tail
}

// continueWith continues the run that results belong to.
func (h *Hub) continueWith(ctx context.Context, a *Agent, run string, tail []chat.Message, like *chat.Request,
	s *answerStream) error {
	l, from, err := h.resumeWith(ctx, a, run, tail, like, false)
	switch {
	case err != nil:
		return err
	case l == nil:
		results, _ := split(tail)
		return h.retell(ctx, run, results[0].CallID, s)
	}
	for i := range from.said {
		s.event(chat.Event{Kind: chat.KindText, Turn: from.said[i].Turn, Text: from.said[i].Message.Text()})
	}
	return h.attend(ctx, a, l, s)
}

// A start tells where an answer to results begins in their run.
type start struct {
	seq   int64             // number of the record that it stands behind
	said  []*record.TurnEnd // what the run has answered since: to a request with the same results, which broke off
	heard []chat.Message    // what has entered the conversation since: with that request
}

// unheard returns those messages of a client that have not entered the conversation.
func (s *start) unheard(said []chat.Message) []chat.Message {
	type message struct {
		role  chat.Role
		text  string
		parts int
	}
	of := func(m *chat.Message) message { return message{m.Role, m.Text(), len(m.Parts)} }
	heard := make(map[message]int, len(s.heard))
	for i := range s.heard {
		heard[of(&s.heard[i])]++
	}
	return slices.DeleteFunc(slices.Clone(said), func(m chat.Message) bool {
		what := of(&m)
		heard[what]--
		return heard[what] >= 0
	})
}

// resumeWith makes the run live that results belong to, with them and with what else the client says, and returns
// where the answer begins. Without a run the results have been answered before.
func (h *Hub) resumeWith(ctx context.Context, a *Agent, run string, tail []chat.Message, like *chat.Request,
	carried bool) (l *Live, from start, err error) {
	for stands := time.Now(); ; {
		l, from, err := h.tryWith(ctx, a, run, tail, like, carried)
		var letting *notReleased
		if !errors.As(err, &letting) || time.Since(stands) > patience {
			return l, from, err
		}
		if err := letting.wait(ctx); err != nil {
			return nil, start{}, err
		}
	}
}

// notReleased says that a run cannot be had yet: it has stopped for the results of its client, who was told so by the
// journal, but who drove it has not let go of it.
type notReleased struct {
	live *Live // that drives it; nil: another process
	err  error
}

func (l *notReleased) Error() string { return l.err.Error() }
func (l *notReleased) Unwrap() error { return l.err }

// patience is how long another process is given to let go of a run. What holds it longer has died, or continues
// the run.
const patience = 2 * time.Second

func (l *notReleased) wait(ctx context.Context) error {
	if l.live != nil {
		return l.live.wait(ctx)
	}
	return sleep(ctx, soon)
}

// soon is when a run that another process has is asked for again.
const soon = 20 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryWith is resumeWith once.
func (h *Hub) tryWith(ctx context.Context, a *Agent, run string, tail []chat.Message, like *chat.Request,
	carried bool) (*Live, start, error) {
	k, err := h.look(ctx, run)
	if err == nil && (k.run.By != like.Caller || k.run.Agent != a.Name) {
		err = fmt.Errorf("%w: %q", ErrUnknownRun, run)
	}
	if err != nil {
		return nil, start{}, fmt.Errorf("the results belong to run %s, which is not in the journal (any more): begin "+
			"the conversation anew: %w", run, err)
	}
	w, err := h.waits(ctx, k)
	if err != nil {
		return nil, start{}, err
	}
	stands := w != nil && w.For == record.WaitClient
	results, said := split(tail)
	first := results[0].CallID
	known, err := h.hasResult(ctx, run, first)
	switch {
	case err != nil:
		return nil, start{}, err
	case known && (k.head.State == record.StateEnded || stands):
		return nil, start{}, nil
	case known:
		results = nil // a request with them broke off, and is made again
	}
	from := start{seq: k.head.Seq}
	with := *a
	with.Runner, with.Options.Whole = a.runner(like.Tools), !like.Stream
	l, live, err := h.take(ctx, &with, k, like, carried, nil, func(r *agent.Run) error {
		if known {
			if from, err = h.since(ctx, run, first); err != nil {
				return err
			}
			said = from.unheard(said)
		}
		for _, m := range said {
			r.Send(m)
		}
		if known {
			return nil
		}
		return r.AddResults(results...)
	})
	if live {
		err = fmt.Errorf("%w: run %s goes on in this process", ErrHeld, run)
	}
	if stands && errors.Is(err, ErrHeld) {
		err = &notReleased{l, err}
	}
	if err != nil {
		return nil, start{}, err
	}
	return l, from, nil
}

func split(tail []chat.Message) (results, said []chat.Message) {
	for _, m := range tail {
		if m.Role == chat.RoleTool {
			results = append(results, m)
		} else {
			said = append(said, m)
		}
	}
	return results, said
}

// hasResult reports whether a run has the client's result of a call.
func (h *Hub) hasResult(ctx context.Context, run, call string) (bool, error) {
	for e, err := range h.store.Read(ctx, journal.Query{Stream: run, Kinds: []record.Kind{record.KindResult}}) {
		if err != nil {
			return false, err
		}
		if e.Record.Result.CallID == call {
			return true, nil
		}
	}
	return false, nil
}

// since returns the place behind a result, with what was answered and said since. An answer that broke off is not
// among that: the model is asked again for it.
func (h *Hub) since(ctx context.Context, run, call string) (from start, err error) {
	for e, err := range h.store.Read(ctx,
		journal.Query{Stream: run,
			Kinds: []record.Kind{record.KindResult, record.KindMessage, record.KindTurnEnd}}) {
		switch {
		case err != nil:
			return from, err
		case e.Record.Message != nil && from.seq > 0:
			from.heard = append(from.heard, e.Record.Message.Message)
		case e.Record.Result != nil && e.Record.Result.CallID == call:
			from.seq = e.Seq
		case e.Record.TurnEnd != nil && e.Record.TurnEnd.Error == nil && from.seq > 0:
			from.said = append(from.said, e.Record.TurnEnd)
		}
	}
	return from, nil
}

// retell says again what a run has said since a result, to a client that asks a second time because the first answer
// did not reach it.
func (h *Hub) retell(ctx context.Context, run, call string, s *answerStream) error {
	var turn *record.TurnEnd
	var waits []string
	found := false
	for e, err := range h.store.Read(ctx, journal.Query{Stream: run}) {
		if err != nil {
			return err
		}
		switch r := &e.Record; r.Kind {
		case record.KindResult:
			found = found || r.Result.CallID == call
		case record.KindTurnEnd:
			if turn = r.TurnEnd; found && turn.Error == nil {
				s.event(chat.Event{Kind: chat.KindText, Turn: turn.Turn, Text: turn.Message.Text()})
			}
		case record.KindWait:
			waits = r.Wait.Calls
		}
	}
	if turn != nil && len(waits) > 0 {
		s.call(slices.DeleteFunc(slices.Clone(turn.Message.Calls),
			func(c chat.Call) bool { return !slices.Contains(waits, c.ID) }))
	}
	return nil
}

package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// Failures of a Hub. Those of the journal are passed on.
var (
	ErrUnknownRun   = errors.New("runs: there is no such run")
	ErrUnknownAgent = errors.New("runs: there is no such agent")
	ErrEnded        = errors.New("runs: the run is over")
	ErrHeld         = errors.New("runs: the run is driven elsewhere")
	ErrWaiting      = errors.New("runs: the run waits")
	ErrDraining     = errors.New("runs: the service is being stopped")
	ErrPlace        = errors.New("runs: this is no place in a run")
)

// errCanceled is the cause of a run's end when somebody asked for it.
var errCanceled = errors.New("runs: somebody ended the run")

// An Agent is one model that runs tools, under the name that clients use.
type Agent struct {
	Name   string
	Model  chat.Model     // that is asked, usually a bridge
	Runner *runner.Runner // of its tools, with their policy; questions are kept in the journal

	// Options of its runs. The hub fills in Journal, Wait, Name, By and Unattended.
	Options agent.Options

	Activity   Activity
	Collisions Collisions
	Hold       time.Duration // how long an answer is held open for a person to decide
}

// Options say what a Hub works with.
type Options struct {
	Journal journal.Store // required
	Agents  []Agent
	Log     *slog.Logger // nil: none

	Others Others // services on the same journal; nil: none are known

	// Address is where a person decides, to be named beside a question: a URL that the id of the question is added
	// to. See SetAddress.
	Address string
}

// A Hub carries on the runs of one process. Several goroutines may use it at once.
type Hub struct {
	store  *watched
	log    *slog.Logger
	others Others
	lag    atomic.Int64 // until what others wrote last was seen

	base    context.Context // of everything that goes on by itself
	stop    context.CancelFunc
	driving sync.WaitGroup // runs that are carried on by the hub itself
	around  sync.WaitGroup // everything else

	rules    keptRules
	claiming sync.Mutex // held from asking for a run's lease until it is live, so that nobody here meets it in between

	mu        sync.Mutex
	address   string
	agents    map[string]*Agent
	live      map[string]*Live
	followers map[string]map[*follower]bool // of runs that are not live here, by run
	// of runs that nobody drives here, for the time at which they are looked at again
	timers   map[string]*time.Timer
	draining bool
}

// New returns a hub. It starts nothing; see Recover.
func New(o Options) *Hub {
	h := &Hub{log: o.Log, others: o.Others, address: o.Address, live: map[string]*Live{},
		followers: map[string]map[*follower]bool{}, timers: map[string]*time.Timer{}}
	if h.others == nil {
		h.others = alone{}
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.store = &watched{Store: o.Journal, hub: h}
	h.base, h.stop = context.WithCancel(context.Background())
	h.Replace(o.Agents)
	return h
}

// Replace puts other agents in force. Runs under way go on with those that they began with.
func (h *Hub) Replace(agents []Agent) {
	byName := make(map[string]*Agent, len(agents))
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range agents {
		a := agents[i]
		h.keeps(&a)
		byName[a.Name] = &a
	}
	h.agents = byName
}

// SetAddress says where a person decides from now on. A service knows its address only when it listens.
func (h *Hub) SetAddress(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.address = address
}

// Journal returns the journal that the hub's runs are in.
func (h *Hub) Journal() journal.Store { return h.store.Store }

// Agents returns the names of the agents, in no order.
func (h *Hub) Agents() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, 0, len(h.agents))
	for name := range h.agents {
		names = append(names, name)
	}
	return names
}

// Tools returns what an agent's runs find their tools in, and nil if there is no such agent.
func (h *Hub) Tools(name string) runner.Source {
	if a, err := h.agent(name); err == nil {
		return a.Runner.Settings().Tools
	}
	return nil
}

func (h *Hub) agent(name string) (*Agent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.agents[name]
	if a == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownAgent, name)
	}
	return a, nil
}

// loop returns the agent that drives runs for whoever asks.
func (h *Hub) loop(a *Agent, by string, detached bool) *agent.Agent {
	o := a.Options
	o.Journal, o.Wait, o.Name, o.By, o.Unattended = h.store, true, a.Name, by, detached
	return agent.New(a.Model, a.Runner, o)
}

// only returns an agent that has no tools but those of some names; nil: all.
func (a *Agent) only(names *[]string) *Agent {
	if names == nil {
		return a
	}
	less := *a
	less.Options.Only = names
	if a.Runner.Settings().Tools != nil {
		less.Runner = a.Runner.With(func(s *runner.Settings) { s.Tools = some{s.Tools, *names} })
	}
	return &less
}

// some are the tools of some names.
type some struct {
	runner.Source
	names []string
}

// Lookup implements runner.Source.
func (s some) Lookup(name string) (*runner.Entry, bool) {
	e, ok := s.Source.Lookup(name)
	if !ok || !slices.Contains(s.names, e.Tool.Name()) {
		return nil, false
	}
	return e, true
}

// Offered implements runner.Source.
func (s some) Offered(text string) []chat.Tool {
	return slices.DeleteFunc(slices.Clone(s.Source.Offered(text)),
		func(t chat.Tool) bool { return !slices.Contains(s.names, t.Name) })
}

// A Start says which run to start.
type Start struct {
	Agent   string
	Session string        // that the run continues; empty: a new one
	Request *chat.Request // with the conversation
	By      string        // who asks: the name of a key
	Only    *[]string     // names of the only tools of the agent that the run may use; nil: all
}

// Start starts a detached run, and returns when it is in the journal. It goes on when ctx ends, until Drain.
func (h *Hub) Start(ctx context.Context, s Start) (*Live, error) {
	a, err := h.agent(s.Agent)
	if err != nil {
		return nil, err
	}
	a = a.only(s.Only)
	req := *s.Request
	req.Conversation, req.Model = s.Session, a.Name
	l := h.newLive(a, h.loop(a, s.By, true).Run(&req), s.By)
	if err := h.launch(ctx, l); err != nil {
		return nil, err
	}
	return l, nil
}

// launch carries on a new run, and returns when it is in the journal.
func (h *Hub) launch(ctx context.Context, l *Live) error {
	if err := h.enter(l, true); err != nil {
		return err
	}
	h.carry(l)
	select {
	case <-l.recorded:
	case <-l.done:
		select {
		case <-l.recorded:
		default:
			return l.outcome.Err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// enter makes a run live. One that is carried has to be handed to carry.
func (h *Hub) enter(l *Live, carried bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return ErrDraining
	}
	if carried {
		h.driving.Add(1) // with the lock, so that Drain waits for it
	}
	h.live[l.ID] = l
	if t := h.timers[l.ID]; t != nil {
		t.Stop()
		delete(h.timers, l.ID)
	}
	for f := range h.followers[l.ID] {
		f.wake()
	}
	return nil
}

// carry drives a live run in the background, until it is over or waits with nothing to go on with.
func (h *Hub) carry(l *Live) {
	ctx, cancel := context.WithCancelCause(h.base)
	l.setCancel(cancel)
	go func() {
		defer h.driving.Done()
		defer cancel(nil)
		defer func() {
			if p := recover(); p != nil {
				h.log.Error("run panicked", "run", l.ID, "panic", fmt.Sprint(p), "stack",
					string(debug.Stack()))
				l.outcome = agent.Outcome{Reason: agent.EndError, Err: fmt.Errorf("runs: an internal error ended "+
					"run %s", l.ID)}
				h.leave(l)
			}
		}()
		for {
			l.drive(ctx, nil)
			if h.settle(l) {
				continue
			}
			if o := &l.outcome; o.Err != nil && journal.Passes(o.Err) {
				h.log.Error("run stopped; it will be retried", "run", l.ID, "error", o.Err)
				h.later(l.ID, latest)
			}
			return
		}
	}()
}

// settle looks at a run that nobody drives any more. It reports whether it can go on at once: somebody answered
// meanwhile.
func (h *Hub) settle(l *Live) bool {
	h.mu.Lock()
	if l.outcome.Reason == agent.EndWaiting && l.woken && !h.draining {
		l.woken = false
		select {
		case <-l.woke: // of the same answer, which a listener hears of once more
		default:
		}
		h.mu.Unlock()
		return true
	}
	h.remove(l)
	h.mu.Unlock()
	h.watchTime(l.ID, l.outcome.Waiting)
	return false
}

// leave ends that a run is live, whatever came of it.
func (h *Hub) leave(l *Live) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(l)
}

// remove is leave for who holds the lock.
func (h *Hub) remove(l *Live) {
	if h.live[l.ID] == l {
		delete(h.live, l.ID)
		close(l.done)
	}
}

// watchTime wakes a run when the first of its questions lapses.
func (h *Hub) watchTime(run string, waiting []runner.Approval) {
	var first time.Time
	for _, a := range waiting {
		if !a.Expires.IsZero() && (first.IsZero() || a.Expires.Before(first)) {
			first = a.Expires
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if first.IsZero() || h.draining || h.live[run] != nil {
		return
	}
	if t := h.timers[run]; t != nil {
		t.Stop()
	}
	h.timers[run] = time.AfterFunc(time.Until(first), func() { h.resumeAnswered(run) })
}

// lookUp returns the live run of an id, or nil.
func (h *Hub) lookUp(run string) *Live {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live[run]
}

// Cancel ends a run for good, and with it the questions that it waits for. Calls under way are cancelled; those
// without a result get one that says so.
func (h *Hub) Cancel(ctx context.Context, run string) error {
	known, err := h.abort(ctx, run)
	if errors.Is(err, ErrHeld) {
		return h.elsewhere(ctx, &errand{Run: run, Cancel: true}, err)
	}
	if err != nil {
		return err
	}
	approvals := journal.Approvals{Store: h.store, Session: known.run.Session, Run: run}
	for p, err := range approvals.Waiting(ctx) {
		if err != nil {
			return err
		}
		answer := runner.Answer{State: runner.ApprovalCancelled, Reason: "the run was ended"}
		if _, err := approvals.Decide(ctx, p.ID, answer); err != nil && !errors.Is(err, runner.ErrDecided) {
			return err
		}
	}
	return nil
}

// abort ends a run that is not over: it cuts it off if it is live, and writes its end. An answer may make it live
// again at any moment, but not while its end is written.
func (h *Hub) abort(ctx context.Context, run string) (known, error) {
	for {
		if l := h.lookUp(run); l != nil {
			l.end(errCanceled)
			if err := l.wait(ctx); err != nil {
				return known{}, err
			}
		}
		k, ended, err := h.end(ctx, run)
		if ended || err != nil {
			return k, err
		}
	}
}

// end writes the end of a run that is not live. It reports false if it is live.
func (h *Hub) end(ctx context.Context, run string) (known, bool, error) {
	h.claiming.Lock()
	defer h.claiming.Unlock()
	if h.lookUp(run) != nil {
		return known{}, false, nil
	}
	k, err := h.look(ctx, run)
	switch {
	case err != nil:
		return k, false, err
	case k.head.State == record.StateEnded:
		return k, false, fmt.Errorf("%w: %s", ErrEnded, run)
	}
	a, err := h.agent(k.run.Agent)
	if err != nil { // its agent is gone; nothing of it is needed
		a = &Agent{Name: k.run.Agent, Runner: runner.New(runner.Settings{})}
	}
	if err := h.loop(a, k.run.By, false).Abort(ctx, run); err != nil {
		return k, false, failure(err)
	}
	return k, true, nil
}

// Send puts a message into the conversation of a run that is under way, before the model is asked again. When it
// returns, the message is in the journal.
func (h *Hub) Send(ctx context.Context, run string, m chat.Message) error {
	for l := h.lookUp(run); l != nil; l = h.lookUp(run) { // more than once if it has stopped and was taken up again
		if err := l.run.Accept(ctx, m); !errors.Is(err, agent.ErrEnded) && !errors.Is(err, journal.ErrConflict) {
			return failure(err)
		}
		if err := l.wait(ctx); err != nil { // what it came to is known then
			return err
		}
	}
	known, err := h.look(ctx, run)
	switch {
	case err != nil:
		return err
	case known.head.State == record.StateWaiting:
		return fmt.Errorf("%w: %s goes on when what it waits for is there", ErrWaiting, run)
	case known.head.State == record.StateOpen && h.lookUp(run) == nil:
		return h.elsewhere(ctx, &errand{Run: run, Message: &m}, fmt.Errorf("%w: %s", ErrHeld, run))
	}
	return fmt.Errorf("%w: %s; a message begins a new run of its session", ErrEnded, run)
}

// Resume continues a run that stopped: one that waits and can go on, that was cut off, or whose model failed. A
// run that is driven here already is returned as it is.
func (h *Hub) Resume(ctx context.Context, run string) (*Live, error) {
	return h.resumeIf(ctx, run, nil)
}

// resumeIf is Resume for a run that may go on only if still, which is asked when nobody drives it here, says so. nil:
// it may.
func (h *Hub) resumeIf(ctx context.Context, run string, still func() error) (*Live, error) {
	l, live, err := h.rebuild(ctx, run, nil, true, still, nil)
	if err == nil && !live {
		h.carry(l)
	}
	return l, err
}

// rebuild makes a run live that the journal has, as take does. live says that it was before.
func (h *Hub) rebuild(ctx context.Context, run string, like *chat.Request, carried bool, still func() error,
	prepare func(*agent.Run) error) (l *Live, live bool, err error) {
	k, err := h.look(ctx, run)
	switch {
	case err != nil:
		return nil, false, err
	case k.head.State == record.StateEnded:
		return nil, false, fmt.Errorf("%w: %s", ErrEnded, run)
	}
	a, err := h.agent(k.run.Agent)
	if err != nil {
		return nil, false, err
	}
	with := *a
	if like == nil {
		with.Runner = a.runner(clientTools(k.run))
	}
	return h.take(ctx, &with, k, like, carried, still, prepare)
}

// take makes a run live that the journal has and that nobody drives. still, if it is not nil, says before that it
// may, and prepare sees the run. live says that the run was live before, and that nothing was done to it: there is
// one look, since it may end at any time.
func (h *Hub) take(ctx context.Context, a *Agent, k known, like *chat.Request, carried bool, still func() error,
	prepare func(*agent.Run) error) (l *Live, live bool, err error) {
	h.claiming.Lock()
	defer h.claiming.Unlock()
	if l := h.lookUp(k.head.Stream); l != nil { // its lease may seem to be over, when the clock jumps
		return l, true, nil
	}
	if still != nil {
		if err := still(); err != nil {
			return nil, false, err
		}
	}
	a = a.only(k.run.Only)
	r, err := h.loop(a, k.run.By, carried || k.run.Unattended).Resume(ctx, k.head.Stream, like)
	if err != nil {
		return nil, false, failure(err)
	}
	l = h.newLive(a, r, k.run.By)
	close(l.recorded)
	if prepare != nil {
		err = prepare(r)
	}
	if err == nil {
		err = h.enter(l, carried)
	}
	if err != nil {
		return nil, false, errors.Join(err, r.Release(context.WithoutCancel(ctx)))
	}
	return l, false, nil
}

// failure says in this package's words why a run cannot be had.
func failure(err error) error {
	switch {
	case errors.Is(err, agent.ErrEnded):
		return fmt.Errorf("%w: %w", ErrEnded, err)
	case errors.Is(err, journal.ErrHeld):
		return fmt.Errorf("%w: %w", ErrHeld, err)
	case errors.Is(err, journal.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrUnknownRun, err)
	}
	return err
}

// A known holds what the journal says of a run without being read to its end.
type known struct {
	head    journal.Head
	run     *record.Run
	carried bool // it was driven last without anybody waiting for it
}

func (h *Hub) look(ctx context.Context, run string) (known, error) {
	var k known
	for head, err := range h.store.Heads(ctx, journal.HeadQuery{Stream: run, Opened: record.KindRun, Limit: 1}) {
		if err != nil {
			return k, err
		}
		k.head = head
	}
	for e, err := range h.store.Read(ctx,
		journal.Query{Stream: run, Kinds: []record.Kind{record.KindRun, record.KindResume}}) {
		switch {
		case err != nil:
			return k, err
		case e.Record.Run != nil:
			k.run, k.carried = e.Record.Run, e.Record.Run.Unattended
		default:
			k.carried = k.run != nil && k.run.Unattended || e.Record.Resume.Unattended
		}
	}
	if run == "" || k.run == nil || k.head.Stream == "" {
		return k, fmt.Errorf("%w: %q", ErrUnknownRun, run)
	}
	return k, nil
}

// Delete removes the words of a session, as the journal does. A run that is told as waiting or over may not have been
// let go of this moment, which is waited for.
func (h *Hub) Delete(ctx context.Context, session string) error {
	for begun := time.Now(); ; {
		err := h.store.Delete(ctx, session, record.ReasonAsked)
		var held *journal.HeldError
		if !errors.As(err, &held) || time.Since(begun) > patience {
			return err
		}
		k, unknown := h.look(ctx, held.Stream)
		if unknown != nil || k.head.State == record.StateOpen {
			return err
		}
		if err := sleep(ctx, soon); err != nil {
			return err
		}
	}
}

// Decide answers a question, if nobody did so before, and lets the run that waits for it go on. Of a later answer the
// approval is returned as it is, with runner.ErrDecided. A rule that the answer keeps is one of the agent's from then
// on, at all hubs of the journal, see Rules.
func (h *Hub) Decide(ctx context.Context, approval string, answer runner.Answer) (runner.Approval, error) {
	var rule *keptRule
	var keeping error
	if answer.Always {
		rule, keeping = h.offered(ctx, approval, answer.By)
	}
	approvals := journal.Approvals{Store: h.store}
	if keeping != nil { // somebody may have been first, which is the better answer then
		if a, err := approvals.Get(ctx, approval); err == nil && a.State != runner.ApprovalPending {
			return a, runner.ErrDecided
		}
		return runner.Approval{}, keeping
	}
	decide := func() (runner.Approval, error) { return approvals.Decide(ctx, approval, answer) }
	if rule != nil {
		allow := decide
		decide = func() (runner.Approval, error) { return h.keep(ctx, rule, allow) }
	}
	a, keeping := decide()
	if keeping != nil && !errors.Is(keeping, errNotKept) {
		return a, keeping
	}
	run, err := h.asking(ctx, approval)
	if err != nil {
		return a, err
	}
	h.resumeAnswered(run)
	return a, keeping
}

// Refuse answers a question with no, if nobody answered before, and ends the run that asked. That stands in the
// answer, so that whoever else hears of it first, here or in the next process, ends the run too.
func (h *Hub) Refuse(ctx context.Context, approval string, answer runner.Answer) (runner.Approval, error) {
	answer.Stop = true
	approvals := journal.Approvals{Store: h.store}
	a, err := approvals.Decide(ctx, approval, answer)
	if err != nil {
		return a, err
	}
	run, err := h.asking(ctx, approval)
	if err == nil {
		err = h.Cancel(ctx, run)
	}
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrHeld) {
		err = nil // another way, or by who drives it elsewhere and has the answer before them
	}
	return a, err
}

// asking returns the run that asked a question.
func (h *Hub) asking(ctx context.Context, approval string) (string, error) {
	for e, err := range h.store.Read(ctx, journal.Query{Stream: approval, Kinds: []record.Kind{record.KindQuestion},
		Limit: 1}) {
		if err != nil {
			return "", err
		}
		return e.Record.Question.Run, nil
	}
	return "", runner.ErrNoApproval
}

// resumeAnswered continues a run because one of its questions was answered, or has lapsed. One that is driven now looks
// again when it stops.
func (h *Hub) resumeAnswered(run string) {
	if h.rouse(run) {
		defer h.around.Done()
		h.resumeWhenFree(run)
	}
}

// rouse wakes a live run. It reports true if the run is not live and is to be taken over, which Drain waits for: then
// around is to be told when that is done.
func (h *Hub) rouse(run string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.live[run]; l != nil {
		l.wake()
		return false
	}
	if h.draining {
		return false
	}
	h.around.Add(1)
	return true
}

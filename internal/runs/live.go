package runs

import (
	"context"
	"sync"

	"wield/agent"
	"wield/chat"
)

// A Live is a run that is being driven in this process.
type Live struct {
	ID      string
	Session string
	Agent   string
	By      string

	run      *agent.Run
	tail     tail
	recorded chan struct{} // closed when it is in the journal
	done     chan struct{}
	outcome  agent.Outcome // once done is closed, and for who drives it

	woken bool          // an answer came; with the hub's lock
	woke  chan struct{} // has an entry when woken was set

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	ended  error // it is to end as soon as it can be
}

func (h *Hub) newLive(a *Agent, r *agent.Run, by string) *Live {
	return &Live{ID: r.ID(), Session: r.Session(), Agent: a.Name, By: by, run: r,
		recorded: make(chan struct{}), done: make(chan struct{}), woke: make(chan struct{}, 1)}
}

// Done returns a channel that is closed when nobody drives the run here any more: it is over, or waits.
func (l *Live) Done() <-chan struct{} { return l.done }

// Outcome returns what came of the run so far. It is known when Done is closed.
func (l *Live) Outcome() agent.Outcome {
	<-l.done
	return l.outcome
}

// wait waits until nobody drives the run here any more.
func (l *Live) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// setCancel keeps how the run is ended.
func (l *Live) setCancel(cancel context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = cancel
	if l.ended != nil {
		cancel(l.ended)
	}
}

// end cuts the run off.
func (l *Live) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = cause
	if l.cancel != nil {
		l.cancel(cause)
	}
}

// wake notes that an answer came. Its caller holds the hub's lock.
func (l *Live) wake() {
	l.woken = true
	select {
	case l.woke <- struct{}{}:
	default:
	}
}

// drive carries the run on until it is over or waits. also, if it is not nil, sees every event, and stops the run by
// returning false.
func (l *Live) drive(ctx context.Context, also func(chat.Event) bool) {
	for e, err := range l.run.Events(ctx) {
		if err != nil {
			break // it stands in the outcome
		}
		l.tail.add(&e)
		if also != nil && !also(e) {
			break
		}
	}
	l.outcome = l.run.Outcome()
}

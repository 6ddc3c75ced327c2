// Package route decides which backend a request goes to, and when: it tries again after a failure, turns to
// another model, and bounds how many requests a backend has at once. Each of these is a chat.Model around
// others.
//
// Words:
//
//   - An attempt is one stream of one model. It has begun once it yields anything but Idle and TurnStart; from then on
//     nothing can be tried again, since the client has seen it.
//   - A slot is the right to have a stream under way at a backend.
//
// The order that wastes least is Fallback over Retry over Limit: a request that waits to be tried again holds no slot.
package route

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"wield/chat"
)

// attempt yields one stream of m. TurnStart is held until the stream has begun, and lost if it never does. It
// returns the error of a stream that did not begin, which was not yielded; otherwise ended is true and there
// is nothing left to do.
func attempt(ctx context.Context, m chat.Model, req *chat.Request, yield func(chat.Event, error) bool) (ended bool,
	failed error) {
	t := try{yield: yield}
	// a loop would need memory for every variable that its body shares with what is around it
	m.Stream(ctx, req)(t.take)
	return t.failed == nil, t.failed
}

// A try is an attempt under way.
type try struct {
	yield  func(chat.Event, error) bool
	begun  bool
	held   []chat.Event
	failed error // of a stream that did not begin
}

func (t *try) take(e chat.Event, err error) bool {
	switch {
	case t.begun:
	case err != nil:
		t.failed = err
		return false
	case e.Kind == chat.KindTurnStart:
		t.held = append(t.held, e)
		return true
	case e.Kind != chat.KindIdle:
		t.begun = true
		for _, h := range t.held {
			if !t.yield(h, nil) {
				return false
			}
		}
	}
	return t.yield(e, err)
}

// RetryOptions say how often and how long to try. The zero value tries once more.
type RetryOptions struct {
	Attempts int           // in all; 0: 2
	Backoff  time.Duration // before the second attempt, doubled before each further one; 0: 500ms
	MaxWait  time.Duration // the longest wait; a backend that asks for more is not waited for; 0: 30s
}

// Retry returns a model that tries m again when a stream fails before it has begun with an error that can
// pass: the kinds rate_limit, overloaded and unavailable. It waits as long as the error's RetryAfter says, or
// else for the backoff, less a random part of up to half of it so that many clients do not come back at once.
// Before it waits it yields an Idle event that says so.
func Retry(m chat.Model, o RetryOptions) chat.Model {
	if o.Attempts <= 0 {
		o.Attempts = 2
	}
	if o.Backoff <= 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 30 * time.Second
	}
	return &retry{m, o}
}

type retry struct {
	m chat.Model
	o RetryOptions
}

func (r *retry) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for n := 1; ; n++ {
			ended, err := attempt(ctx, r.m, req, yield)
			if ended {
				return
			}
			wait, again := r.wait(n, chat.AsError(err))
			if !again || ctx.Err() != nil {
				yield(chat.Event{}, err)
				return
			}
			if wait > 0 && !yield(r.announce(n, wait, err), nil) {
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(chat.Event{}, err)
				return
			}
		}
	}
}

// announce tells that another attempt follows attempt n after a wait. It is no part of the answer, so that
// nothing has begun with it.
func (r *retry) announce(n int, wait time.Duration, err error) chat.Event {
	return chat.Event{Kind: chat.KindIdle,
		Detail: &chat.RetryDetail{Error: chat.AsError(err), At: time.Now().Add(wait), Attempt: n + 1, Of: r.o.Attempts}}
}

// passing are the kinds of errors that may be gone at the next attempt.
var passing = []chat.ErrorKind{chat.ErrRateLimit, chat.ErrOverloaded, chat.ErrUnavailable}

// wait returns how long to wait after attempt n, and whether there is to be another.
func (r *retry) wait(n int, err *chat.Error) (time.Duration, bool) {
	switch {
	case n >= r.o.Attempts || !slices.Contains(passing, err.Kind):
		return 0, false
	case err.RetryAfter > 0:
		return err.RetryAfter, err.RetryAfter <= r.o.MaxWait
	}
	wait := r.o.Backoff
	for range n - 1 {
		if wait = 2 * wait; wait >= r.o.MaxWait {
			break
		}
	}
	wait = min(wait, r.o.MaxWait)
	return wait - rand.N(wait/2+1), true
}

// sleep waits for d or the end of ctx, which is an error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return chat.AsError(ctx.Err())
	}
}

// Fallback returns a model that asks the given models in their order until the stream of one begins. It goes
// on to the next after errors that another model may not have: not when the request itself is at fault
// (bad_request, filtered), and not when the caller is gone. If none is left, the last error stands.
func Fallback(models ...chat.Model) chat.Model {
	if len(models) == 1 {
		return models[0]
	}
	return fallback(models)
}

type fallback []chat.Model

// hopeless are the kinds of errors that every other model would answer with as well.
var hopeless = []chat.ErrorKind{chat.ErrBadRequest, chat.ErrFiltered, chat.ErrCanceled}

func (f fallback) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		var last error = chat.Errorf(chat.ErrUnavailable, "there is no model to ask")
		for _, m := range f {
			ended, err := attempt(ctx, m, req, yield)
			if ended {
				return
			}
			last = err
			if slices.Contains(hopeless, chat.AsError(err).Kind) || ctx.Err() != nil {
				break
			}
		}
		yield(chat.Event{}, last)
	}
}

// Sent returns what the first model would send; nil if it does not tell.
func (f fallback) Sent(req *chat.Request) (sent *chat.Request, inText bool, err error) {
	if len(f) == 0 {
		return nil, false, nil
	}
	first, ok := f[0].(chat.Previewer)
	if !ok {
		return nil, false, nil
	}
	return first.Sent(req)
}

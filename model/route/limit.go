package route

import (
	"context"
	"iter"
	"sync/atomic"

	"wield/chat"
)

// LimitOptions bound the streams of a backend.
type LimitOptions struct {
	Concurrent int // streams under way at once; 0: no limit
	Queue      int // requests that wait for a slot; 0: none waits
}

// A Limiter is a model with a bounded number of slots and a bounded queue in front of them.
type Limiter struct {
	m       chat.Model
	slots   chan struct{}
	waiting atomic.Int64
	queue   int64
}

// Limit returns a model that has at most so many streams of m under way. Requests beyond that wait in the order of their
// arrival; those that find the queue full fail at once with an error of the kind ErrOverloaded. One limiter bounds all models
// that are to share it.
func Limit(m chat.Model, o LimitOptions) *Limiter {
	l := &Limiter{m: m, queue: int64(o.Queue)}
	if o.Concurrent > 0 {
		l.slots = make(chan struct{}, o.Concurrent)
	}
	return l
}

// Running returns how many streams are under way, if they are limited.
func (l *Limiter) Running() int { return len(l.slots) }

// Waiting returns how many requests wait for a slot.
func (l *Limiter) Waiting() int { return int(l.waiting.Load()) }

// Stream implements chat.Model. The slot is taken when the stream is ranged over and given back when that ends.
func (l *Limiter) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if l.slots == nil {
		return l.m.Stream(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) {
		if err := l.acquire(ctx); err != nil {
			yield(chat.Event{}, err)
			return
		}
		defer func() { <-l.slots }()
		l.m.Stream(ctx, req)(yield)
	}
}

// acquire takes a slot. Senders that block on a channel are served in the order in which they came, and before any that comes
// later.
func (l *Limiter) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return chat.AsError(err)
	}
	select {
	case l.slots <- struct{}{}:
		return nil
	default:
	}
	if l.waiting.Add(1) > l.queue {
		l.waiting.Add(-1)
		return chat.Errorf(chat.ErrOverloaded, "all %d slots of the backend are taken and %d requests wait already; try again later", cap(l.slots), l.queue)
	}
	defer l.waiting.Add(-1)
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return chat.AsError(ctx.Err())
	}
}

package route

import (
	"context"
	"iter"
	"slices"
	"sync"

	"wield/chat"
)

// LimitOptions bound the streams of a backend.
type LimitOptions struct {
	Concurrent int // streams under way at once; 0: no limit
	Queue      int // requests that wait for a slot; 0: none waits
}

// A Limiter is a model with a bounded number of slots and a bounded queue in front of them.
type Limiter struct {
	m chat.Model
	o LimitOptions

	mu      sync.Mutex
	running int
	queue   []chan struct{} // of those that wait, in the order of their arrival; closed when one has a slot
}

// Limit returns a model that has at most so many streams of m under way. Requests beyond that wait in the order of
// their arrival; those that find the queue full fail at once with an error of the kind ErrOverloaded. One limiter
// bounds all models that are to share it.
func Limit(m chat.Model, o LimitOptions) *Limiter { return &Limiter{m: m, o: o} }

// Running returns how many streams are under way, if they are limited.
func (l *Limiter) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// Waiting returns how many requests wait for a slot.
func (l *Limiter) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}

// Stream implements chat.Model. The slot is taken when the stream is ranged over and given back when that ends.
func (l *Limiter) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if l.o.Concurrent <= 0 {
		return l.m.Stream(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) {
		if err := l.acquire(ctx); err != nil {
			yield(chat.Event{}, err)
			return
		}
		defer l.release()
		l.m.Stream(ctx, req)(yield)
	}
}

// acquire takes a slot, or waits for one.
func (l *Limiter) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return chat.AsError(err)
	}
	turn, err := l.enter()
	if turn == nil {
		return err
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		l.leave(turn)
		return chat.AsError(ctx.Err())
	}
}

// enter takes a slot if one is free, and a place in the queue otherwise.
func (l *Limiter) enter() (turn chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < l.o.Concurrent {
		l.running++
		return nil, nil
	}
	if len(l.queue) >= l.o.Queue {
		return nil, chat.Errorf(chat.ErrOverloaded,
			"all %d slots of the backend are taken and %d requests wait already; try again later",
			l.o.Concurrent, l.o.Queue)
	}
	turn = make(chan struct{})
	l.queue = append(l.queue, turn)
	return turn, nil
}

// leave gives up a place in the queue, or the slot that it has become meanwhile.
func (l *Limiter) leave(turn chan struct{}) {
	l.mu.Lock()
	i := slices.Index(l.queue, turn)
	if i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		l.release()
	}
}

// release gives a slot to who has waited longest. Who has it waits no more from then on, even before it comes to its
// turn: its place in the queue is there for the next.
func (l *Limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.running--
		return
	}
	close(l.queue[0])
	l.queue = slices.Delete(l.queue, 0, 1)
}

package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
)

// An inbox holds messages that are sent while a run goes on. It may be used by several goroutines at once.
type inbox struct {
	ready chan struct{} // closed when the run has begun, or will not
	once  sync.Once

	mu    sync.Mutex // also held while the run changes where it is recorded
	queue []sent
	ended bool
}

// A sent message waits to enter the conversation.
type sent struct {
	message chat.Message
	id      string // under which the journal has it; empty: it has not
}

func newInbox() inbox { return inbox{ready: make(chan struct{})} }

// begin lets go on who waits for the run to begin.
func (b *inbox) begin() { b.once.Do(func() { close(b.ready) }) }

// put adds the message that record returns, unless the run is over.
func (b *inbox) put(record func() (sent, error)) error {
	b.mu.Lock() // so that the run does not end meanwhile, and is not taken up again
	defer b.mu.Unlock()
	if b.ended {
		return ErrEnded
	}
	s, err := record()
	if err == nil {
		b.queue = append(b.queue, s)
	}
	return err
}

// takeAll empties the inbox.
func (b *inbox) takeAll() []sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queue
	b.queue = nil
	return queue
}

// putBack returns messages to their place before all others.
func (b *inbox) putBack(list []sent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = slices.Concat(list, b.queue)
}

// entered removes a message that stands in the conversation.
func (b *inbox) entered(id string) {
	b.queue = slices.DeleteFunc(b.queue, func(s sent) bool { return s.id == id })
}

// end closes the inbox if it is empty or has to close, and reports whether it did.
func (b *inbox) end(must bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = must || len(b.queue) == 0
	return b.ended
}

// close closes the inbox, and returns what is left in it.
func (b *inbox) close() []sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	return b.queue
}

// Send puts a message into the conversation as soon as no call is open, before the model is asked again. It
// reports false when the run is over: then the message has its place in the next one. It may be called from
// any goroutine.
func (r *Run) Send(m chat.Message) bool {
	return r.inbox.put(func() (sent, error) { return sent{message: m}, nil }) == nil
}

// Accept is Send for who has promised that the message is not lost: when it returns without an error the
// message is in the journal, and enters the conversation once, if need be when the run is resumed. It fails
// with ErrEnded when the run is over, and with journal.ErrConflict when it is another process's. Before the
// run has begun it waits for that.
func (r *Run) Accept(ctx context.Context, m chat.Message) error {
	if r.log == nil {
		if !r.Send(m) {
			return ErrEnded
		}
		return nil
	}
	select {
	case <-r.inbox.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := r.inbox.put(func() (sent, error) {
		s := sent{message: m, id: journal.NewID("msg")}
		waiting := record.Record{Kind: record.KindSent, Sent: &record.Sent{ID: s.id, Message: m, By: r.agent.o.By}}
		return s, r.log.note(ctx, waiting)
	})
	if err == ErrEnded {
		return fmt.Errorf("%w: %s", ErrEnded, r.log.id)
	}
	return err
}

// take moves what was sent meanwhile into the conversation, unless calls are open.
func (r *Run) take(ctx context.Context) error {
	if len(r.state.open) > 0 {
		return nil
	}
	queue := r.inbox.takeAll()
	for i, s := range queue {
		record := entered(s.message, r.agent.o.By)
		record.Message.Sent = s.id
		if err := r.log.note(ctx, record); err != nil {
			r.inbox.putBack(queue[i:])
			return err
		}
		r.state.Add(s.message)
	}
	return nil
}

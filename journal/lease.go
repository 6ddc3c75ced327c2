package journal

import (
	"context"
	"errors"
	"time"
)

// Hold keeps a lease: it asks for as much time again whenever a third of ttl has passed. The function that it returns
// ends that and gives the lease back. lost is called, once and in a goroutine of its own, when another owner has the
// stream, or had it meanwhile: what stands there is not known here then. A store that cannot be reached is no reason to
// give up; if another one has taken the stream over, the next record fails. ctx need not last.
func (l Lease) Hold(ctx context.Context, store Store, ttl time.Duration, lost func()) (release func()) {
	ctx = context.WithoutCancel(ctx)
	renewing, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		held := l.renew(renewing, store, ttl)
		close(ended) // lost may wait for whoever is about to release
		if !held {
			lost()
		}
	}()
	return func() {
		cancel()
		<-ended
		_ = store.Release(ctx, l) // it ends by itself
	}
}

// renew asks for more time until ctx ends. It returns false when the stream is or was another owner's.
func (l *Lease) renew(ctx context.Context, store Store, ttl time.Duration) bool {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			next, err := store.Claim(ctx, l.Stream, l.Owner, ttl)
			if errors.Is(err, ErrHeld) {
				return false
			}
			if err != nil {
				continue
			}
			same := next.Token == l.Token
			if *l = next; !same {
				return false
			}
		case <-ctx.Done():
			return true
		}
	}
}

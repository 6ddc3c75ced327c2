// Package runtest helps to test runs: a store whose process dies, and checks of what runs leave in their journal.
package runtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"wield/journal"
	"wield/journal/record"
)

// ErrDead is the error of a store whose process is dead.
var ErrDead = errors.New("runtest: the process is dead")

// A Dying store ends the process, as far as a journal can see that: from one append on, before it or after it,
// everything that writes fails. What was written stands in the store that it is made of.
type Dying struct {
	journal.Store
	At    int  // the append at which it happens, from 1; 0: never
	After bool // it is still written, and nobody is told

	mu    sync.Mutex
	n     int
	dead  bool
	kinds []record.Kind
}

// Append adds records, or dies.
func (s *Dying) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return 0, ErrDead
	}
	s.n++
	if s.n != s.At {
		return s.Store.Append(ctx, stream, after, records...)
	}
	s.dead = true
	for _, r := range records {
		s.kinds = append(s.kinds, r.Kind)
	}
	if s.After {
		if _, err := s.Store.Append(ctx, stream, after, records...); err != nil {
			return 0, err
		}
	}
	return 0, ErrDead
}

// Claim and Release fail too: a lease that a dead process had ends by itself.
func (s *Dying) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (journal.Lease, error) {
	if s.Dead() {
		return journal.Lease{}, ErrDead
	}
	return s.Store.Claim(ctx, stream, owner, ttl)
}

// Release ends a lease, if the process lives.
func (s *Dying) Release(ctx context.Context, l journal.Lease) error {
	if s.Dead() {
		return ErrDead
	}
	return s.Store.Release(ctx, l)
}

// Dead reports whether it happened.
func (s *Dying) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// Kinds returns which records were appended when it happened.
func (s *Dying) Kinds() []record.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds
}

// A CutOff store cannot be asked for leases while Off says so.
type CutOff struct {
	journal.Store
	Off atomic.Bool
}

// Claim fails while the store is cut off.
func (c *CutOff) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (journal.Lease, error) {
	if c.Off.Load() {
		return journal.Lease{}, journal.ErrLost
	}
	return c.Store.Claim(ctx, stream, owner, ttl)
}

package journal_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/internal/testrecord"
)

// TestHold: a lease is renewed until it is given back, also after its store could not be reached. Its holder hears once
// that another one has the stream, or had it meanwhile. What it gives back is free at once, and nobody else's lease is.
func TestHold(t *testing.T) {
	const ttl = 30 * time.Second
	for name, c := range map[string]struct {
		away  time.Duration // how long the store cannot be reached
		taken bool          // by another owner, when the lease is over
		left  bool          // who gives it back
		lost  int32
	}{
		"renewed":        {},
		"unreachable":    {away: 2 * time.Minute},
		"taken":          {away: time.Minute, taken: true, lost: 1},
		"taken and left": {away: time.Minute, taken: true, left: true, lost: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := new(journal.Memory)
				store := &runtest.CutOff{Store: memory}
				testrecord.Add(t, memory, "run_1", 0, testrecord.Run("ses"))
				lease, err := store.Claim(t.Context(), "run_1", "own_a", ttl)
				if err != nil {
					t.Fatal(err)
				}
				var lost atomic.Int32
				ctx, gone := context.WithCancel(t.Context())
				release := lease.Hold(ctx, store, ttl, func() { lost.Add(1) })
				gone() // whoever asked need not stay
				store.Off.Store(c.away > 0)
				time.Sleep(c.away)
				var other journal.Lease
				if c.taken {
					if other, err = memory.Claim(t.Context(), "run_1", "own_b", journal.MaxLease); err != nil {
						t.Fatal(err)
					}
				}
				if c.left {
					if err := memory.Release(t.Context(), other); err != nil {
						t.Fatal(err)
					}
				}
				store.Off.Store(false)
				time.Sleep(5 * time.Minute)
				if n := lost.Load(); n != c.lost {
					t.Errorf("it was lost %d times, want %d", n, c.lost)
				}
				free := func() bool {
					_, err := memory.Claim(t.Context(), "run_1", "own_c", ttl)
					return err == nil
				}
				if !c.taken && free() {
					t.Error("it was not renewed")
				}
				release()
				if want := !c.taken || c.left; free() != want {
					t.Errorf("free after its release: %t, want %t", !want, want)
				}
			})
		})
	}
}

package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wield/journal"
	"wield/journal/internal/testrecord"
)

func claim(t *testing.T, s journal.Store) {
	if _, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a stream that does not exist: %v", err)
	}
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	a, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil || a.Seq != 2 || a.Token == 0 || a.Owner != "own_a" || a.Stream != "run_1" ||
		!a.Until.After(time.Now()) {
		t.Fatalf("%+v, %v", a, err)
	}
	var held *journal.HeldError
	if _, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute); !errors.Is(err, journal.ErrHeld) ||
		!errors.As(err, &held) || held.Owner != "own_a" || held.Left <= 0 || held.Left > time.Minute {
		t.Errorf("a second owner: %v", err)
	}
	testrecord.Add(t, s, "run_1", 2, testrecord.Message("a"))
	more, err := s.Claim(t.Context(), "run_1", "own_a", 2*time.Minute)
	if err != nil || more.Token != a.Token || more.Seq != 3 || !more.Until.After(a.Until) {
		t.Errorf("more time: %+v, %v", more, err)
	}
	if err := s.Release(t.Context(), journal.Lease{Stream: "run_1", Owner: "own_b", Token: a.Token}); err != nil {
		t.Error(err)
	}
	if _, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("after somebody else's release: %v", err)
	}
	if err := s.Release(t.Context(), more); err != nil {
		t.Error(err)
	}
	b, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute)
	if err != nil || b.Token <= a.Token || b.Seq != 4 {
		t.Errorf("after the release: %+v, %v", b, err)
	}
	if err := s.Release(t.Context(), a); err != nil { // long lost
		t.Error(err)
	}
	if _, err := s.Claim(t.Context(), "run_1", "own_c", time.Minute); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("after the release of a lease that was lost: %v", err)
	}
	Whole(t, s)
}

func claimAtOnce(t *testing.T, s journal.Store) {
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	var won atomic.Int32
	atOnce(8, func(i int) {
		switch _, err := s.Claim(context.Background(), "run_1", fmt.Sprint("own_", i), time.Minute); {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, journal.ErrHeld):
			t.Error(err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d have the lease", won.Load())
	}
}

// fence checks that an owner that lost its lease cannot write, whatever it thinks.
func fence(t *testing.T, s journal.Store) {
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	a, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), a); err != nil { // as if its time were over
		t.Fatal(err)
	}
	b, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	old, now := journal.NewWriter(s, "run_1", a.Seq), journal.NewWriter(s, "run_1", b.Seq)
	if err := old.Append(t.Context(), testrecord.Start("call_1")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the owner that lost the run: %v", err)
	}
	if err := now.Append(t.Context(), testrecord.Start("call_1")); err != nil {
		t.Error(err)
	}
	if err := old.Append(t.Context(), testrecord.Result("call_1")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the owner that lost the run, again: %v", err)
	}
	if err := now.Append(t.Context(), testrecord.Result("call_1")); err != nil {
		t.Error(err)
	}
}

// A clock is one that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func lease(t *testing.T, open Open) {
	c := newClock()
	s := open(t, journal.Options{Now: c.Now})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	for _, step := range []struct {
		after time.Duration
		owner string
		want  error
	}{
		{0, "own_a", nil}, {59 * time.Second, "own_b", journal.ErrHeld}, {0, "own_a", nil},
		{59 * time.Second, "own_b", journal.ErrHeld}, {time.Second, "own_b", nil}, {0, "own_a", journal.ErrHeld},
		{time.Hour, "own_b", nil}, {0, "own_a", journal.ErrHeld},
	} {
		c.Add(step.after)
		if _, err := s.Claim(t.Context(), "run_1", step.owner, time.Minute); !errors.Is(err, step.want) {
			t.Errorf("%v: %v, want %v", step, err, step.want)
		}
	}
}

// clockJump sets the clock back by a year and forth by ten. Order stays, nothing is refused, and a lease from the
// future does not hold for a year.
func clockJump(t *testing.T, open Open) {
	c := newClock()
	s := open(t, journal.Options{Now: c.Now})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	a, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.Add(-365 * 24 * time.Hour)
	testrecord.Add(t, s, "run_1", a.Seq, testrecord.Message("a year ago"))
	b, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute)
	if err != nil {
		t.Fatalf("a lease of a clock that was ahead: %v", err)
	}
	c.Add(10 * 365 * 24 * time.Hour)
	testrecord.Add(t, s, "run_1", b.Seq, testrecord.Message("in years"))
	list := List(t, s.Read(t.Context(), journal.Query{}))
	for i := range list {
		if list[i].Position != int64(i+1) || list[i].Seq != int64(i+1) {
			t.Errorf("entry %d: %+v", i, list[i])
		}
	}
	Whole(t, s)
}

package journal_test

import (
	"errors"
	"testing"
	"time"

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/record"
	"wield/tool/runner"
)

// jumps are what clocks are set by.
var jumps = []time.Duration{-100 * 365 * 24 * time.Hour, -time.Hour, -time.Second, 0, time.Second, time.Hour,
	100 * 365 * 24 * time.Hour}

// TestLeaseClock: after a jump a lease is held by its owner or by somebody else, never by both, and never for ever.
func TestLeaseClock(t *testing.T) {
	for _, jump := range jumps {
		now := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
		s := &journal.Memory{Options: journal.Options{Now: func() time.Time { return now }}}
		testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
		first, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(jump)
		second, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute)
		if held := errors.Is(err, journal.ErrHeld); held != first.Held(now) || !held && err != nil {
			t.Errorf("%v: %v, and the lease stands: %t", jump, err, first.Held(now))
		}
		if err == nil && second.Token <= first.Token {
			t.Errorf("%v: the token went from %d to %d", jump, first.Token, second.Token)
		}
		now = now.Add(journal.MaxLease + time.Second)
		if _, err := s.Claim(t.Context(), "run_1", "own_c", time.Minute); err != nil {
			t.Errorf("%v: still held after the longest time: %v", jump, err)
		}
	}
}

// TestApprovalClock: a question is over when its time is, and an answer counts once, whichever way the clock is set.
func TestApprovalClock(t *testing.T) {
	for _, jump := range jumps {
		now := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
		o := journal.Options{Now: func() time.Time { return now }}
		a := &journal.Approvals{Store: &journal.Memory{Options: o}, Session: "ses_1", Run: "run_1", Options: o}
		q := runner.Question{Binding: "b", Expires: now.Add(time.Minute)}
		asked, err := a.Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(jump)
		over := jump >= time.Minute
		found, err := a.Get(t.Context(), asked.ID)
		if err != nil || (found.State == runner.ApprovalExpired) != over {
			t.Errorf("%v: %v, %v", jump, found.State, err)
		}
		_, err = a.Decide(t.Context(), asked.ID, runner.Answer{State: runner.ApprovalApproved, By: "anna"})
		if (err != nil) != over {
			t.Errorf("%v: decided: %v", jump, err)
		}
		now = now.Add(-jump)
		if _, err := a.Decide(t.Context(), asked.ID,
			runner.Answer{State: runner.ApprovalDenied, By: "anna"}); err == nil && !over {
			t.Errorf("%v: decided twice", jump)
		}
	}
}

// TestPruneClock: sessions of the future stay until a clock that was set back has caught up.
func TestPruneClock(t *testing.T) {
	for _, jump := range jumps {
		begin := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
		s := &journal.Memory{Options: journal.Options{Now: func() time.Time { return begin }}}
		object := record.Object{Session: "ses_1", Type: "responses", Data: []byte("{}")}
		testrecord.Add(t, s, "kept_1", 0, record.Record{Kind: record.KindObject, Object: &object})
		gone, err := journal.Prune(t.Context(), s, journal.Retention{Age: 30 * time.Minute, Now: begin.Add(jump)})
		if want := jump > 30*time.Minute; err != nil || (len(gone) > 0) != want {
			t.Errorf("%v: gone: %v, %v", jump, gone, err)
		}
	}
}

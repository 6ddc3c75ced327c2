package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/record"
	"wield/tool/runner"
	"wield/tool/runner/approvaltest"
)

// Share checks a store that several processes can have open. Each test gets one that is empty, opened twice.
func Share(t *testing.T, open func(t *testing.T) (a, b journal.Store)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, a, b journal.Store)
	}{{"Seen", shareSeen}, {"Race", shareRace}, {"Lease", shareLease}, {"Answer", shareAnswer},
		{"Deleted", shareDeleted}} {
		t.Run("Share"+test.name, func(t *testing.T) {
			a, b := open(t)
			test.run(t, a, b)
			Whole(t, a)
			Whole(t, b)
		})
	}
}

func shareSeen(t *testing.T, a, b journal.Store) {
	testrecord.Add(t, a, "run_1", 0, testrecord.Run("ses"))
	next := int64(1)
	for e, err := range b.Watch(t.Context(), journal.Query{}) {
		if err != nil || e.Position != next {
			t.Fatalf("position %d, want %d: %v", e.Position, next, err)
		}
		if next++; next > 5 {
			break
		}
		testrecord.Add(t, a, "run_1", e.Seq, testrecord.Message("a"))
	}
	if _, err := b.Append(t.Context(), "run_1", 4, testrecord.End()); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("after an entry that the other one has followed: %v", err)
	}
	testrecord.Add(t, b, "run_1", 5, testrecord.End())
}

func shareRace(t *testing.T, a, b journal.Store) {
	testrecord.Add(t, a, "run_1", 0, testrecord.Run("ses"))
	stores := []journal.Store{a, b, a, b}
	for seq := int64(1); seq <= 10; seq++ {
		var won atomic.Int32
		atOnce(len(stores), func(i int) {
			switch _, err := stores[i].Append(context.Background(), "run_1", seq,
				testrecord.Start(fmt.Sprint("call_", seq))); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, journal.ErrConflict):
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d appends after number %d passed", won.Load(), seq)
		}
	}
}

func shareLease(t *testing.T, a, b journal.Store) {
	testrecord.Add(t, a, "run_1", 0, testrecord.Run("ses"))
	l, err := a.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), "run_1", "own_b", time.Minute); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("from elsewhere: %v", err)
	}
	if err := b.Delete(t.Context(), "ses", record.ReasonAsked); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("deleted from elsewhere: %v", err)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), "run_1", "own_b", time.Minute); err != nil {
		t.Error(err)
	}
	if _, err := a.Append(t.Context(), "run_1", l.Seq, testrecord.Start("call_1")); !errors.Is(err,
		journal.ErrConflict) {
		t.Errorf("the owner before: %v", err)
	}
}

// shareAnswer has one question answered from two sides at once.
func shareAnswer(t *testing.T, a, b journal.Store) {
	both := []*journal.Approvals{{Store: a, Session: "ses", Run: "run_1"}, {Store: b}}
	q, err := both[0].Ask(t.Context(), approvaltest.Question("binding"))
	if err != nil {
		t.Fatal(err)
	}
	waiting := List(t, both[1].Waiting(t.Context()))
	if len(waiting) != 1 || waiting[0].ID != q.ID || waiting[0].Run != "run_1" || waiting[0].Session != "ses" {
		t.Fatalf("%+v", waiting)
	}
	states := []runner.ApprovalState{runner.ApprovalApproved, runner.ApprovalDenied}
	got := make([]runner.ApprovalState, 2)
	var won atomic.Int32
	atOnce(2, func(i int) {
		decided, err := both[i].Decide(context.Background(), q.ID,
			runner.Answer{State: states[i], By: fmt.Sprint("side ", i)})
		switch got[i] = decided.State; {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, runner.ErrDecided):
			t.Error(err)
		}
	})
	if won.Load() != 1 || got[0] != got[1] {
		t.Errorf("%d answers passed, and the sides were told %v", won.Load(), got)
	}
	if waiting := List(t, both[1].Waiting(t.Context())); len(waiting) != 0 {
		t.Errorf("still waiting: %+v", waiting)
	}
}

func shareDeleted(t *testing.T, a, b journal.Store) {
	fill(t, a, 2, "ses_a", "ses_b")
	if err := b.Delete(t.Context(), "ses_a", record.ReasonAsked); err != nil {
		t.Fatal(err)
	}
	if n := len(List(t, a.Read(t.Context(), journal.Query{Session: "ses_a"}))); n != 0 {
		t.Errorf("%d entries can still be read", n)
	}
	if _, err := a.Append(t.Context(), "run_00", 3, testrecord.Message("a")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("a run that was deleted elsewhere: %v", err)
	}
}

// Records of runs, for tests.

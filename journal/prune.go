package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"wield/journal/record"
)

// Retention limits how much of a journal Prune leaves. The zero value limits nothing.
type Retention struct {
	Age   time.Duration // sessions that were not changed for so long go; 0: none goes by age
	Bytes int64         // what all records together may have; 0: any
	Now   time.Time     // zero: now
}

// abandoned limits how long a run that is not over is left alone when room is needed: its model failed, or whoever was
// to answer never came.
const abandoned = 7 * 24 * time.Hour

// Prune deletes sessions, those that were not changed for the longest time first, and returns their ids in that order.
// One that somebody drives stays. By size, sessions go of which no run waits for anything, and after them those that
// have waited for a week.
func Prune(ctx context.Context, s Store, r Retention) ([]string, error) {
	over, waiting, total, err := sessionsToGo(ctx, s)
	if err != nil {
		return nil, err
	}
	now := r.Now
	if now.IsZero() {
		now = time.Now()
	}
	var gone []string
	for i, session := range slices.Concat(over, waiting) {
		needed := i >= len(over) && now.Sub(session.Changed) <= abandoned
		why := record.DeleteReason("")
		switch {
		case r.Age > 0 && now.Sub(session.Changed) > r.Age:
			why = record.ReasonAge
		case r.Bytes > 0 && total > r.Bytes && !needed:
			why = record.ReasonSize
		default:
			continue
		}
		switch err := s.Delete(ctx, session.ID, why); {
		case errors.Is(err, ErrHeld) || errors.Is(err, ErrNotFound): // it lives, or somebody else was faster
		case err != nil:
			return gone, err
		default:
			gone, total = append(gone, session.ID), total-session.Bytes
		}
	}
	return gone, nil
}

// sessionsToGo returns the sessions of which no run goes on or waits, and the others, each the oldest first, and the
// bytes of all records.
func sessionsToGo(ctx context.Context, s Store) (over, waiting []*Session, total int64, err error) {
	byID := make(map[string]*Session)
	live := make(map[string]bool)
	for h, err := range s.Heads(ctx, HeadQuery{}) {
		if err != nil {
			return nil, nil, 0, err
		}
		total += h.Bytes
		if h.Session == "" {
			continue
		}
		session := byID[h.Session]
		if session == nil {
			session = &Session{ID: h.Session}
			byID[h.Session] = session
		}
		session.add(&h)
		live[h.Session] = live[h.Session] || h.Opened == record.KindRun && h.State != record.StateEnded
	}
	for id, session := range byID {
		if live[id] {
			waiting = append(waiting, session)
		} else {
			over = append(over, session)
		}
	}
	oldest := func(a, b *Session) int { return cmp.Compare(a.Last, b.Last) }
	slices.SortFunc(over, oldest)
	slices.SortFunc(waiting, oldest)
	return over, waiting, total, nil
}

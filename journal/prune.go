package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// Keep says how much of a journal is kept. The zero value keeps all.
type Keep struct {
	Age   time.Duration // sessions that were not changed for so long go; 0: none goes by age
	Bytes int64         // what all records together may have; 0: any
	Now   time.Time     // zero: now
}

// Prune deletes sessions, those that were not changed for the longest time first, and returns their ids in that order. A session
// with a run that is not over, or that somebody drives, stays.
func Prune(ctx context.Context, s Store, k Keep) ([]string, error) {
	list, total, err := endedSessions(ctx, s)
	if err != nil {
		return nil, err
	}
	now := k.Now
	if now.IsZero() {
		now = time.Now()
	}
	var gone []string
	for _, session := range list {
		why := Reason("")
		switch {
		case k.Age > 0 && now.Sub(session.Changed) > k.Age:
			why = ReasonAge
		case k.Bytes > 0 && total > k.Bytes:
			why = ReasonSize
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

// endedSessions returns the sessions of which no run goes on, the oldest first, and the bytes of all records.
func endedSessions(ctx context.Context, s Store) ([]*Session, int64, error) {
	total := int64(0)
	byID := make(map[string]*Session)
	live := make(map[string]bool)
	for h, err := range s.Heads(ctx, HeadQuery{}) {
		if err != nil {
			return nil, 0, err
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
		live[h.Session] = live[h.Session] || h.Opened == KindRun && h.State != StateEnded
	}
	var list []*Session
	for id, session := range byID {
		if !live[id] {
			list = append(list, session)
		}
	}
	slices.SortFunc(list, func(a, b *Session) int { return cmp.Compare(a.Last, b.Last) })
	return list, total, nil
}

package journal

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// A CallProgress holds what a journal knows of a call of a run.
type CallProgress struct {
	ID       string
	Tool     string
	Start    *runner.StartRecord  // nil: it never began to run
	Result   *runner.FinishRecord // nil: it has none yet
	Runs     int                  // how often it was begun
	Detached string               // the name under which it continues elsewhere; empty: it does not
}

// Interrupted reports whether the call began and has no result.
func (c *CallProgress) Interrupted() bool { return c.Start != nil && c.Result == nil }

// Repeatable reports whether an interrupted call may run again: its tool is idempotent, or it continues elsewhere and
// is only asked for.
func (c *CallProgress) Repeatable() bool {
	return c.Interrupted() && (c.Start.Idempotent || c.Detached != "")
}

// Unknown returns the result of a call that was interrupted and may not run again.
func (c *CallProgress) Unknown(at time.Time) runner.FinishRecord {
	result := tool.Failure(&tool.Error{Kind: tool.ErrInterrupted, Tool: c.Tool,
		Message: "The call was interrupted. It is not known whether it took effect; it was not run again. Look " +
			"before you repeat it.",
		Details: json.RawMessage(`{"state":"unknown"}`)})
	return runner.FinishRecord{CallID: c.ID, Tool: c.Tool, Started: true, Result: result, At: at}
}

// Calls returns the calls of one run's entries, in the order in which the journal first names them. Those
// that were written by a model and never came so far are in the messages of its turns.
func Calls(entries iter.Seq2[Entry, error]) ([]*CallProgress, error) {
	var list []*CallProgress
	byID := make(map[string]*CallProgress)
	call := func(id, name string) *CallProgress {
		c := byID[id]
		if c == nil {
			c = &CallProgress{ID: id, Tool: name}
			byID[id], list = c, append(list, c)
		}
		return c
	}
	for e, err := range entries {
		if err != nil {
			return list, err
		}
		switch r := &e.Record; r.Kind {
		case record.KindStart:
			c := call(r.Start.CallID, r.Start.Tool)
			c.Start, c.Runs = r.Start, c.Runs+1
		case record.KindDetached:
			call(r.Detached.CallID, "").Detached = r.Detached.Name
		case record.KindAgain:
			call(r.Again.CallID, "").Runs++
		case record.KindResult:
			call(r.Result.CallID, r.Result.Tool).Result = r.Result
		}
	}
	return list, nil
}

// A Session holds what a journal knows of a conversation.
type Session struct {
	ID      string       `json:"id"`
	Title   string       `json:"title,omitempty"`
	State   record.State `json:"state"` // of its last run
	Status  Status       `json:"status,omitempty"`
	Runs    int          `json:"runs"`
	Model   string       `json:"model,omitempty"` // of its last run
	Agent   string       `json:"agent,omitempty"`
	Dir     string       `json:"dir,omitempty"`
	By      string       `json:"by,omitempty"` // who asked for its first run
	Bytes   int64        `json:"bytes"`
	Begun   time.Time    `json:"begun"`
	Changed time.Time    `json:"changed"`
	Last    int64        `json:"last"` // position of its last entry
	Streams []Head       `json:"-"`    // the latest first

	owned bool   // By is known
	last  string // its last run
}

// Sessions yields sessions, those that changed last first. before is the Last of the last session that was
// seen, 0 for the first page.
func Sessions(ctx context.Context, s Store, before int64) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		seen := make(map[string]bool)
		for h, err := range s.Heads(ctx, HeadQuery{Before: before}) {
			if err != nil {
				yield(Session{}, err)
				return
			}
			if h.Session == "" || seen[h.Session] {
				continue
			}
			seen[h.Session] = true
			session, err := LookUp(ctx, s, h.Session)
			switch {
			case errors.Is(err, ErrNotFound): // it was deleted meanwhile
				continue
			case err != nil:
				yield(Session{}, err)
				return
			case before > 0 && session.Last >= before: // it stands on an earlier page
				continue
			}
			if !yield(session, nil) {
				return
			}
		}
	}
}

// LookUp returns what is known of one session, or ErrNotFound.
func LookUp(ctx context.Context, s Store, id string) (Session, error) {
	session := Session{ID: id}
	if id == "" {
		return session, ErrNotFound
	}
	for h, err := range s.Heads(ctx, HeadQuery{Session: id}) {
		if err != nil {
			return session, err
		}
		session.add(&h)
	}
	if len(session.Streams) == 0 {
		return session, ErrNotFound
	}
	for e, err := range s.Read(ctx,
		Query{Session: id, Kinds: []record.Kind{record.KindRun, record.KindSession, record.KindObject, record.KindWait,
			record.KindEnd}}) {
		if err != nil {
			return session, err
		}
		session.tell(&e)
	}
	return session, nil
}

// tell takes what an entry says of the session.
func (s *Session) tell(e *Entry) {
	r := &e.Record
	if e.Stream == s.last && (s.Status == "" || r.Wait != nil || r.End != nil) {
		s.Status = StatusOf(s.State, r)
	}
	switch r.Kind {
	case record.KindRun:
		if s.Model, s.Agent, s.Dir = r.Run.Model, r.Run.Agent, r.Run.Dir; !s.owned {
			s.By, s.owned = r.Run.By, true
		}
	case record.KindSession:
		s.Title = r.Session.Title
	case record.KindObject:
		var title string
		if r.Object.Type == objectTitle && json.Unmarshal(r.Object.Data, &title) == nil {
			s.Title = title
		}
	}
}

// objectTitle is the type of the object that holds a title which somebody gave a session. It is no record of
// a run, since only who drives one may add to it.
const objectTitle = "title"

// Rename gives a session another title. It fails with ErrNotFound.
func Rename(ctx context.Context, s Store, session, title string) error {
	if _, err := LookUp(ctx, s, session); err != nil {
		return err
	}
	data, err := json.Marshal(title)
	if err != nil {
		return err
	}
	r := record.Record{Kind: record.KindObject, Object: &record.Object{Session: session, Type: objectTitle, Data: data}}
	_, err = s.Append(ctx, NewID("ttl"), 0, r)
	return err
}

// add takes the next stream of the session, the latest first.
func (s *Session) add(h *Head) {
	s.Streams = append(s.Streams, *h)
	s.Bytes += h.Bytes
	if s.Last < h.Last {
		s.Last, s.Changed = h.Last, h.Changed
	}
	if s.Begun.IsZero() || h.Begun.Before(s.Begun) {
		s.Begun = h.Begun
	}
	if h.Opened == record.KindRun {
		if s.Runs++; s.Runs == 1 {
			s.State, s.last = h.State, h.Stream
		}
	}
}

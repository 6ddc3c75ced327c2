package playback

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A Recording is one run.
type Recording struct {
	ID      string
	Session string
	Title   string            // of the session
	Notes   map[string]string // of the session
	Run     record.Run
	Begun   time.Time
	Ended   time.Time // when the last thing happened
	Turns   []*Turn
	Left    []record.Message // that entered after the last turn
	End     *record.End      // nil: it did not come to its end
}

// A Turn is one answer of the model.
type Turn struct {
	Number  int
	Model   string
	Backend string
	Said    []record.Message // that entered the conversation since the turn before
	Asked   time.Time
	Ended   time.Time
	End     *record.TurnEnd // nil: it was cut off
	Bounces []*chat.BounceDetail
	Rejects []*record.Reject
	Repairs []*record.Repair
	Overran []*record.Overrun // of this answer and of those that were bounced before it
	Calls   []*RecordedCall
}

// Whole reports whether the model came to the end of its answer.
func (t *Turn) Whole() bool { return t.End != nil && t.End.Error == nil }

// unusable reports whether a call could not be used and got an error for a result.
func (t *Turn) unusable(c *RecordedCall) bool {
	return c.Reason != "" || slices.ContainsFunc(t.Rejects,
		func(r *record.Reject) bool { return r.CallID != "" && r.CallID == c.ID })
}

// failed reports whether the model tried to call, and none of its calls could be used.
func (t *Turn) failed() bool {
	return len(t.Calls) > 0 && !slices.ContainsFunc(t.Calls, func(c *RecordedCall) bool { return !t.unusable(c) })
}

// A RecordedCall is a call of a turn, and what became of it.
type RecordedCall struct {
	chat.Call
	Policy    *policy.Detail
	Decided   time.Time // by the policy
	Questions []*AskedQuestion
	Start     *runner.StartRecord // nil: it never ran
	Runs      int
	Result    *runner.FinishRecord // nil: it has none
}

// An AskedQuestion is one that was put to a person about a call.
type AskedQuestion struct {
	record.Question
	Answer *record.Answer // nil: nobody answered
}

// ErrNoRun says that there is no run to play.
var ErrNoRun = errors.New("playback: there is no such run or session")

// Load reads a run by its id, or the runs of a session, the oldest first, by the session's.
func Load(ctx context.Context, s journal.Store, id string) ([]*Recording, error) {
	session := id
	only := ""
	for h, err := range s.Heads(ctx, journal.HeadQuery{Stream: id, Opened: record.KindRun, Limit: 1}) {
		if err != nil {
			return nil, err
		}
		session, only = h.Session, h.Stream
	}
	list, err := build(s.Read(ctx, journal.Query{Session: session}))
	if err != nil {
		return nil, err
	}
	if only != "" {
		list = slices.DeleteFunc(list, func(r *Recording) bool { return r.ID != only })
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoRun, id)
	}
	return list, nil
}

// Read reads runs from entries as JSON Lines, as wield sessions export prints them.
func Read(r io.Reader) ([]*Recording, error) {
	lines := bufio.NewReader(r)
	list, err := build(func(yield func(journal.Entry, error) bool) {
		for n := 1; ; n++ {
			line, err := lines.ReadBytes('\n')
			if len(line) > record.MaxSize+1<<20 {
				yield(journal.Entry{}, fmt.Errorf("line %d: too long for a record", n))
				return
			}
			if len(line) > 1 {
				e, err := entry(line)
				if err != nil {
					yield(e, fmt.Errorf("line %d: %w", n, err))
					return
				}
				if !yield(e, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(journal.Entry{}, err)
				return
			}
		}
	})
	if err == nil && len(list) == 0 {
		err = ErrNoRun
	}
	return list, err
}

// entry reads an entry from its JSON form.
func entry(line []byte) (journal.Entry, error) {
	var e struct {
		Position int64
		Stream   string
		Seq      int64
		Session  string
		At       time.Time
		Record   json.RawMessage
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return journal.Entry{}, err
	}
	if len(e.Record) == 0 { // it was deleted
		return journal.Entry{Position: e.Position}, nil
	}
	rec, err := record.Decode(e.Record)
	return journal.Entry{Position: e.Position, Stream: e.Stream, Seq: e.Seq, Session: e.Session, At: e.At,
		Record: rec}, err
}

// A builder makes recordings of entries.
type builder struct {
	runs      map[string]*Recording
	order     []*Recording
	questions map[string]*AskedQuestion // by their streams
	titles    map[string]*record.Session
}

// build makes recordings of entries in the order of their positions.
func build(entries func(yield func(journal.Entry, error) bool)) ([]*Recording, error) {
	b := builder{runs: map[string]*Recording{}, questions: map[string]*AskedQuestion{},
		titles: map[string]*record.Session{}}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if e.Record.Kind != "" {
			b.take(&e)
		}
	}
	for _, r := range b.order {
		if n := b.titles[r.Session]; n != nil {
			r.Title, r.Notes = n.Title, n.Notes
		}
	}
	return b.order, nil
}

func (b *builder) take(e *journal.Entry) {
	rec := &e.Record
	switch rec.Kind {
	case record.KindRun:
		r := &Recording{ID: e.Stream, Session: e.Session, Run: *rec.Run, Begun: e.At}
		b.runs[e.Stream] = r
		b.order = append(b.order, r)
	case record.KindQuestion:
		q := &AskedQuestion{Question: *rec.Question}
		b.questions[e.Stream] = q
		if r := b.runs[rec.Question.Run]; r != nil {
			if c := r.call(rec.Question.CallID); c != nil {
				c.Questions = append(c.Questions, q)
			}
			r.Ended = e.At
		}
		return
	case record.KindAnswer:
		if q := b.questions[e.Stream]; q != nil {
			q.Answer = rec.Answer
		}
		return
	}
	if r := b.runs[e.Stream]; r != nil {
		r.Ended = e.At
		if rec.Kind == record.KindSession {
			b.titles[r.Session] = rec.Session
		}
		r.take(e)
	}
}

// take takes in what happened next.
func (r *Recording) take(e *journal.Entry) {
	switch rec := &e.Record; rec.Kind {
	case record.KindMessage:
		r.Left = append(r.Left, *rec.Message)
	case record.KindTurn:
		r.Turns = append(r.Turns, &Turn{Number: rec.Turn.Turn, Model: rec.Turn.Model, Backend: rec.Turn.Backend,
			Said: r.Left, Asked: e.At, Ended: e.At})
		r.Left = nil
	case record.KindEnd:
		r.End = rec.End
	}
	if len(r.Turns) > 0 {
		r.Turns[len(r.Turns)-1].take(e)
	}
	switch rec := &e.Record; rec.Kind {
	case record.KindPolicy:
		if c := r.call(rec.Policy.CallID); c != nil {
			c.Policy, c.Decided = rec.Policy, e.At
		}
	case record.KindStart:
		if c := r.call(rec.Start.CallID); c != nil {
			c.Start, c.Runs = rec.Start, c.Runs+1
		}
	case record.KindAgain:
		if c := r.call(rec.Again.CallID); c != nil {
			c.Runs++
		}
	case record.KindResult:
		if c := r.call(rec.Result.CallID); c != nil {
			c.Result = rec.Result
		}
	}
}

// take takes in what belongs to the answer itself.
func (t *Turn) take(e *journal.Entry) {
	switch rec := &e.Record; rec.Kind {
	case record.KindBounce:
		t.Bounces = append(t.Bounces, rec.Bounce)
	case record.KindReject:
		t.Rejects = append(t.Rejects, rec.Reject)
	case record.KindRepair:
		t.Repairs = append(t.Repairs, rec.Repair)
	case record.KindOverrun:
		t.Overran = append(t.Overran, rec.Overrun)
	case record.KindTurnEnd:
		t.End, t.Ended, t.Number = rec.TurnEnd, e.At, rec.TurnEnd.Turn
		for _, c := range rec.TurnEnd.Message.Calls {
			t.Calls = append(t.Calls, &RecordedCall{Call: c})
		}
	}
}

// call returns the call of this id, or nil.
func (r *Recording) call(id string) *RecordedCall {
	for _, t := range slices.Backward(r.Turns) {
		for _, c := range t.Calls {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

// whole returns the turns whose answers came to their end: those that a run went on from.
func (r *Recording) whole() []*Turn {
	return slices.DeleteFunc(slices.Clone(r.Turns), func(t *Turn) bool { return !t.Whole() })
}

// Messages returns what was said before the model was asked for the first time.
func (r *Recording) Messages() []chat.Message {
	said := r.Left
	if len(r.Turns) > 0 {
		said = r.Turns[0].Said
	}
	var list []chat.Message
	for _, m := range said {
		list = append(list, m.Message)
	}
	return list
}

// Tools returns the tools that the model was told of.
func (r *Recording) Tools() []chat.Tool {
	var list []chat.Tool
	for _, d := range r.Run.Offered {
		list = append(list, chat.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	return list
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/tool"
)

// Failures of Resume.
var (
	ErrEnded     = errors.New("agent: the run is over")
	ErrNoJournal = errors.New("agent: there is no journal that a run could be in")
)

// Resume returns a run as the journal has it, to go on where it stopped, in this process or another one. What it was asked stands
// there; whatever else a request says (the form of the answer, what a model is to be asked with) comes from like, which may be nil.
//
// A call that had begun and has no result runs again if its tool is idempotent. Any other gets a result that says that it is not
// known what became of it, and does not run again. Calls that had not begun, run. Nothing happens before the events are ranged
// over, but from now on the run is held for this owner.
func (a *Agent) Resume(ctx context.Context, id string, like *chat.Request) (*Run, error) {
	if a.o.Journal == nil {
		return nil, ErrNoJournal
	}
	l := &logbook{store: a.o.Journal, id: id, owner: journal.NewID("own"), opened: true}
	lease, err := l.store.Claim(ctx, id, l.owner, leaseTime)
	if err != nil {
		return nil, fmt.Errorf("agent: run %s: %w", id, err)
	}
	r, err := a.rebuild(ctx, l, like)
	if err != nil {
		return nil, errors.Join(err, l.store.Release(ctx, lease))
	}
	return r, nil
}

// A memory is what the journal knows of a run.
type memory struct {
	run     *journal.Run
	before  []chat.Message // the conversation when the run began
	entries []journal.Entry
	asked   bool // a model was
	ended   bool
	waits   *journal.Wait
}

func (a *Agent) recall(ctx context.Context, l *logbook) (*memory, error) {
	m := new(memory)
	for e, err := range l.store.Read(ctx, journal.Query{Stream: l.id}) {
		if err != nil {
			return nil, fmt.Errorf("agent: run %s: %w", l.id, err)
		}
		m.entries = append(m.entries, e)
		switch r := &e.Record; r.Kind {
		case journal.KindRun:
			m.run = r.Run
		case journal.KindMessage:
			if !m.asked {
				m.before = append(m.before, r.Message.Message)
			}
		case journal.KindTurn:
			m.asked, m.waits = true, nil
		case journal.KindWait:
			m.waits = r.Wait
		case journal.KindEnd:
			m.ended = true
		}
	}
	if m.run == nil {
		return nil, fmt.Errorf("agent: run %s: %w", l.id, journal.ErrNotFound)
	}
	return m, nil
}

func (a *Agent) rebuild(ctx context.Context, l *logbook, like *chat.Request) (*Run, error) {
	m, err := a.recall(ctx, l)
	if err != nil {
		return nil, err
	}
	if m.ended {
		return nil, fmt.Errorf("%w: %s", ErrEnded, l.id)
	}
	l.session = m.run.Session
	req := chat.Request{}
	if like != nil {
		req = *like
	}
	req.Model, req.Messages, req.Conversation = m.run.Model, m.before, l.session
	r := a.newRun(&req, l)
	r.resumed = true
	in := false
	for i := range m.entries {
		rec := &m.entries[i].Record
		in = in || rec.Kind == journal.KindTurn
		r.replay(rec, in)
	}
	if err := r.settle(m); err != nil {
		return nil, err
	}
	return r, r.recallQuestions(ctx, m)
}

// replay takes in what happened before. in says that the run had begun to ask.
func (r *Run) replay(rec *journal.Record, in bool) {
	switch rec.Kind {
	case journal.KindMessage:
		if in {
			r.state.Add(rec.Message.Message)
		}
	case journal.KindTurn:
		r.turns = rec.Turn.Turn
	case journal.KindTurnEnd:
		t := rec.TurnEnd
		r.turns = t.Turn + 1
		r.state.Usage.Add(t.Usage)
		if t.Error == nil { // else the model is asked again
			r.calls += len(t.Message.Calls)
			r.state.Add(t.Message)
		}
	case journal.KindResult:
		r.state.Add(r.rendered(rec.Result))
	}
	r.state.Cost, r.outcome.Priced = r.agent.o.Prices.Cost(r.state.Usage)
}

// rendered returns a recorded result as the model reads it.
func (r *Run) rendered(f *tool.FinishRecord) chat.Message {
	if f.Result.ErrorType == tool.ErrLimit && !f.Started {
		return chat.Message{Role: chat.RoleTool, CallID: f.CallID, Name: f.Tool, Parts: chat.Text(f.Result.Error), IsError: true}
	}
	style := r.agent.runner.Style
	if r.agent.runner.Tools != nil {
		if e, ok := r.agent.runner.Tools.Lookup(f.Tool); ok {
			style = e.Tool.Style
		}
	}
	result := f.Result.Chat(&chat.Call{ID: f.CallID, Name: f.Tool}, style)
	return result.Message()
}

// settle finds the calls that had begun and have no result. Those that may not run again get one, which is recorded when the run
// goes on.
func (r *Run) settle(m *memory) error {
	list, err := journal.Calls(each(m.entries))
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Interrupted() && !c.Repeatable() {
			f := c.Unknown(time.Now())
			r.unknown = append(r.unknown, f)
			r.state.Add(r.rendered(&f))
		}
	}
	return nil
}

func each(entries []journal.Entry) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for i := range entries {
			if !yield(entries[i], nil) {
				return
			}
		}
	}
}

// recallQuestions finds the questions that the run waits for.
func (r *Run) recallQuestions(ctx context.Context, m *memory) error {
	store := r.approvals()
	if m.waits == nil || store == nil { // with nobody to ask any more, the calls are looked at anew
		return nil
	}
	for _, id := range m.waits.Approvals {
		a, err := store.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("agent: the question %s that run %s waits for: %w", id, r.log.id, err)
		}
		r.parked[a.CallID] = a
	}
	return nil
}

// goOn records that the run goes on, and the results of calls that were cut off.
func (r *Run) goOn(ctx context.Context) error {
	if !r.resumed {
		return nil
	}
	r.resumed = false
	records := []journal.Record{{Kind: journal.KindResume, Resume: &journal.Resume{By: r.agent.o.By}}}
	for i := range r.unknown {
		records = append(records, journal.Record{Kind: journal.KindResult, Result: &r.unknown[i]})
	}
	r.unknown = nil
	return r.log.note(ctx, records...)
}

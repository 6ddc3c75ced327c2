package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// Failures of Resume.
var (
	ErrEnded     = errors.New("agent: the run is over")
	ErrNoJournal = errors.New("agent: there is no journal that a run could be in")
)

// Resume returns a run as the journal has it, to go on where it stopped, in this process or another one. What it was
// asked stands there; whatever else a request says (the form of the answer, what a model is to be asked with) comes
// from like, which may be nil.
//
// A call that had begun and has no result runs again if its tool is idempotent. Any other gets a result that says that
// it is not known what became of it, and does not run again. Calls that had not begun, run. Nothing happens before the
// events are ranged over, but from now on the run is held for this owner.
func (a *Agent) Resume(ctx context.Context, id string, like *chat.Request) (*Run, error) {
	if a.o.Journal == nil {
		return nil, ErrNoJournal
	}
	l := &runRecorder{store: a.o.Journal, id: id, owner: journal.NewID("own"), opened: true}
	lease, err := l.store.Claim(ctx, id, l.owner, leaseTime)
	if err != nil {
		return nil, fmt.Errorf("agent: run %s: %w", id, err)
	}
	l.lease, l.known = lease, lease.Seq
	r, err := a.rebuild(ctx, l, like)
	if err != nil {
		return nil, errors.Join(err, l.store.Release(ctx, lease))
	}
	return r, nil
}

// A memory holds what the journal knows of a run.
type memory struct {
	run     *record.Run
	before  []chat.Message // the conversation when the run began
	entries []journal.Entry
	asked   bool // a model was
	ended   bool
	waits   *record.Wait
}

// worked returns how long the run was driven, from its records. Time in which it waited, or in which nobody drove it,
// is not counted, and neither is that between the last record of a process that was killed and its end.
func (m *memory) worked() time.Duration {
	var sum time.Duration
	var last time.Time // zero: nobody drives it
	for i := range m.entries {
		e := &m.entries[i]
		if kind := e.Record.Kind; kind == record.KindClaimed || kind == record.KindResume {
			last = e.At // from here on it is driven again, maybe long after the record before
			continue
		}
		if !last.IsZero() && e.At.After(last) {
			sum += e.At.Sub(last)
		}
		last = e.At
		if e.Record.Kind == record.KindWait {
			last = time.Time{}
		}
	}
	return sum
}

func (a *Agent) recall(ctx context.Context, l *runRecorder) (*memory, error) {
	m := new(memory)
	for e, err := range l.store.Read(ctx, journal.Query{Stream: l.id}) {
		if err != nil {
			return nil, fmt.Errorf("agent: run %s: %w", l.id, err)
		}
		m.entries = append(m.entries, e)
		switch r := &e.Record; r.Kind {
		case record.KindRun:
			m.run = r.Run
		case record.KindMessage:
			if !m.asked {
				m.before = append(m.before, r.Message.Message)
			}
		case record.KindTurn:
			m.asked, m.waits = true, nil
		case record.KindWait:
			m.waits = r.Wait
		case record.KindEnd:
			m.ended = true
		}
	}
	if m.run == nil {
		return nil, fmt.Errorf("agent: run %s: %w", l.id, journal.ErrNotFound)
	}
	return m, nil
}

func (a *Agent) rebuild(ctx context.Context, l *runRecorder, like *chat.Request) (*Run, error) {
	m, err := a.recall(ctx, l)
	if err != nil {
		return nil, err
	}
	if m.ended {
		return nil, fmt.Errorf("%w: %s", ErrEnded, l.id)
	}
	r := a.replayed(m, l, like)
	r.interval.resumed = true
	if err := r.recallQuestions(ctx, m); err != nil {
		return nil, err
	}
	return r, r.settle(m)
}

// Transcript returns the conversation of a run as the journal has it, whatever became of it.
func (a *Agent) Transcript(ctx context.Context, id string) ([]chat.Message, error) {
	l := &runRecorder{store: a.o.Journal, id: id, opened: true}
	m, err := a.recall(ctx, l)
	if err != nil {
		return nil, err
	}
	return a.replayed(m, l, nil).said(), nil
}

// replayed returns a run with all that happened in it.
func (a *Agent) replayed(m *memory, l *runRecorder, like *chat.Request) *Run {
	l.session = m.run.Session
	req := chat.Request{}
	if like != nil {
		req = *like
	}
	req.Model, req.Messages, req.Conversation = m.run.Model, m.before, l.session
	if len(req.Tools) == 0 {
		req.Tools = fromClient(m.run.Client)
	}
	r := a.newRun(&req, l)
	r.offered = slices.Concat(m.run.Offered, m.run.Client)
	r.state.Elapsed = m.worked()
	in := false
	for i := range m.entries {
		rec := &m.entries[i].Record
		in = in || rec.Kind == record.KindTurn
		r.replay(rec, in)
	}
	return r
}

// replay takes in what happened before. in says that the run had begun to ask.
func (r *Run) replay(rec *record.Record, in bool) {
	switch rec.Kind {
	case record.KindMessage:
		r.inbox.entered(rec.Message.Sent)
		if in {
			r.state.Add(rec.Message.Message)
		}
	case record.KindSent:
		r.inbox.queue = append(r.inbox.queue, sent{rec.Sent.Message, rec.Sent.ID})
	case record.KindTurn:
		r.progress.turns = rec.Turn.Turn
		r.shown.learned = rec.Turn.Budget
	case record.KindSummary:
		r.spend(rec.Summary.Usage, nil)
		r.shown.summary = Summary{Messages: rec.Summary.Messages, Text: rec.Summary.Text}
	case record.KindTurnEnd:
		t := rec.TurnEnd
		r.progress.turns = t.Turn + 1
		var failed error
		if t.Error != nil {
			failed = &chat.Error{Kind: chat.ErrorKind(t.Error.Kind)}
		}
		r.spend(t.Usage, failed)
		if t.Error == nil { // else the model is asked again
			r.progress.calls += len(t.Message.Calls)
			r.state.Add(t.Message)
			r.progress.last = r.restoredTurn(t)
		}
	case record.KindResult:
		r.state.Add(r.rendered(rec.Result))
	}
}

// restoredTurn returns a recorded turn, as far as the end of a run needs it: a run may have been cut off when only that
// was missing.
func (r *Run) restoredTurn(end *record.TurnEnd) *answerCollector {
	t := &answerCollector{run: r, state: r.state, turn: end.Turn, model: r.req.Model, calls: end.Message.Calls,
		finish: end.Finish}
	t.text.WriteString(end.Message.Text())
	return t
}

// rendered returns a recorded result as the model reads it.
func (r *Run) rendered(f *runner.FinishRecord) chat.Message {
	if f.Result.ErrorType == tool.ErrLimit && !f.Started {
		return chat.Message{Role: chat.RoleTool, CallID: f.CallID, Name: f.Tool, Parts: chat.Text(f.Result.Error),
			IsError: true}
	}
	if r.client.runs(f.Tool) && !f.Started && len(f.Result.Parts) > 0 {
		return fromOutside(f)
	}
	set := r.agent.runner.Settings()
	style := set.Style
	if set.Tools != nil {
		if e, ok := set.Tools.Lookup(f.Tool); ok {
			style = e.Tool.Style
		}
	}
	result := f.Result.Chat(&chat.Call{ID: f.CallID, Name: f.Tool}, style)
	return result.Message()
}

// settle finds the calls that had begun and have no result. Those that may not run again get one, which is recorded
// when the run goes on.
func (r *Run) settle(m *memory) error {
	list, err := journal.Calls(each(m.entries))
	if err != nil {
		return err
	}
	for _, c := range list {
		if a, ok := r.parked[c.ID]; ok && a.Form != nil {
			continue // it has begun, and waits for an answer
		}
		if c.Interrupted() && !c.Repeatable() {
			f := c.Unknown(time.Now())
			r.interval.unknown = append(r.interval.unknown, f)
			r.state.Add(r.rendered(&f))
			delete(r.parked, c.ID)
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
	open := r.state.Open()
	for _, id := range m.waits.Approvals {
		a, err := store.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("agent: the question %s that run %s waits for: %w", id, r.log.id, err)
		}
		if slices.ContainsFunc(open, func(c chat.Call) bool { return c.ID == a.CallID }) {
			// else it has its result by now
			r.parked[a.CallID] = a
		}
	}
	return nil
}

// An interval lies between where a run stopped and where it goes on.
type interval struct {
	resumed bool                  // the journal has the run as stopped: it is to record that it goes on
	unknown []runner.FinishRecord // of calls that were cut off when it stopped
}

// end returns what is recorded when the run goes on.
func (i *interval) end(o *Options) []record.Record {
	if !i.resumed {
		return nil
	}
	records := []record.Record{{Kind: record.KindResume, Resume: &record.Resume{By: o.By, Unattended: o.Unattended}}}
	for k := range i.unknown {
		records = append(records, record.Record{Kind: record.KindResult, Result: &i.unknown[k]})
	}
	*i = interval{}
	return records
}

// recordResume records that the run continues, and the results of calls that were cut off or that the client has run.
func (r *Run) recordResume(ctx context.Context) error {
	records := r.interval.end(&r.agent.o)
	if records == nil {
		return nil
	}
	return r.log.note(ctx, append(records, r.takeGiven()...)...)
}

// Abort ends a run that nobody drives for good: calls without a result get one that says that they did not run, and the
// model is not asked again.
func (a *Agent) Abort(ctx context.Context, id string) error {
	r, err := a.Resume(ctx, id, nil)
	if err != nil {
		return err
	}
	release, err := r.log.hold(ctx, func() {})
	if err != nil {
		return err
	}
	defer release()
	if err := r.recordResume(ctx); err != nil {
		return err
	}
	return r.log.note(ctx, r.endings()...)
}

// endings are the records with which a run ends for good before its answer: calls without a result get one that says
// that they did not run.
func (r *Run) endings() []record.Record {
	var records []record.Record
	for _, c := range r.state.Open() {
		f := runner.FinishRecord{CallID: c.ID, Tool: c.Name,
			Result: tool.Failure(&tool.Error{Kind: tool.ErrCanceled, Tool: c.Name}), At: time.Now()}
		records = append(records, record.Record{Kind: record.KindResult, Result: &f})
	}
	return append(records,
		record.Record{Kind: record.KindEnd, End: &record.End{Reason: string(EndCancel), Usage: r.state.Usage}})
}

// Release gives up the lease of a run that Resume returned and whose events nobody ranged over, so that another process
// can resume it at once.
func (r *Run) Release(ctx context.Context) error {
	if r.log == nil {
		return nil
	}
	return r.log.store.Release(ctx, r.log.lease)
}

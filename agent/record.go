package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
)

// A runRecorder records a run. A nil one records nothing.
type runRecorder struct {
	store   journal.Store
	id      string // of the run
	session string
	owner   string
	fresh   bool            // the session is known to be new
	opened  bool            // there is a stream
	writer  *journal.Writer // of the last time that the run was held; nil: it was not
	lease   journal.Lease   // of a run that was resumed, until its events are ranged over
	fence   int64           // token of the lease
	known   int64           // number of the last entry that this process knew of before there was a writer
}

// leaseTime limits how long a run is held for its owner at a time; it is asked for again when a third of it has
// passed. So long nobody can go on with a run whose process was killed.
const leaseTime = 10 * time.Second

// newRunRecorder returns the runRecorder of a new run.
func newRunRecorder(s journal.Store, session string) *runRecorder {
	if s == nil {
		return nil
	}
	l := &runRecorder{store: s, id: journal.NewID("run"), session: session, owner: journal.NewID("own")}
	if session == "" {
		l.session, l.fresh = journal.NewID("ses"), true
	}
	return l
}

// longestTitle limits the characters of the task that name a session.
const longestTitle = 80

// title returns the beginning of what was asked.
func title(messages []chat.Message) string {
	words := []rune(strings.Join(strings.Fields(said(messages)), " "))
	if len(words) > longestTitle {
		return string(words[:longestTitle]) + "…"
	}
	return string(words)
}

// open begins the stream of a new run with what is known of it.
func (l *runRecorder) open(ctx context.Context, run record.Run, messages []chat.Message,
	notes map[string]string) error {
	if l == nil || l.opened {
		return nil
	}
	run.Session = l.session
	if !l.fresh {
		l.fresh = true
		for _, err := range l.store.Heads(ctx, journal.HeadQuery{Session: l.session, Limit: 1}) {
			if err != nil {
				return fmt.Errorf("agent: the run cannot be recorded: %w", err)
			}
			l.fresh = false
		}
	}
	records := make([]record.Record, 0, len(messages)+2)
	records = append(records, record.Record{Kind: record.KindRun, Run: &run})
	note, err := l.about(ctx, messages, notes)
	if err != nil {
		return fmt.Errorf("agent: the run cannot be recorded: %w", err)
	}
	if note != nil {
		records = append(records, record.Record{Kind: record.KindSession, Session: note})
	}
	for i := range messages {
		records = append(records, entered(messages[i], ""))
	}
	if _, err := l.store.Append(ctx, l.id, 0, records...); err != nil {
		return fmt.Errorf("agent: the run cannot be recorded: %w", err)
	}
	l.opened, l.known = true, int64(len(records))
	return nil
}

// about returns what is known of the session from now on, or nil where nothing is new: the notes are those of
// its last run.
func (l *runRecorder) about(ctx context.Context, messages []chat.Message,
	notes map[string]string) (*record.Session, error) {
	if l.fresh {
		return &record.Session{Title: title(messages), Notes: notes}, nil
	}
	if notes == nil {
		return nil, nil
	}
	was := record.Session{}
	for e, err := range l.store.Read(ctx,
		journal.Query{Session: l.session, Kinds: []record.Kind{record.KindSession}}) {
		if err != nil {
			return nil, err
		}
		was = *e.Record.Session
	}
	now := record.Session{Title: was.Title, Notes: maps.Clone(was.Notes)}
	if now.Notes == nil {
		now.Notes = map[string]string{}
	}
	maps.Copy(now.Notes, notes)
	if maps.Equal(now.Notes, was.Notes) {
		return nil, nil
	}
	return &now, nil
}

// entered is the record of a message that entered the conversation.
func entered(m chat.Message, by string) record.Record {
	return record.Record{Kind: record.KindMessage, Message: &record.Message{Message: m, By: by}}
}

// hold makes this process the one that drives the run, until the function that it returns is called. lost is
// called if another one has taken the run over, which happens when this one did not run for longer than its
// lease.
func (l *runRecorder) hold(ctx context.Context, lost func()) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	// Whoever asked may have gone. A run that was resumed is held already, and has to be given back.
	lease, err := l.store.Claim(context.WithoutCancel(ctx), l.id, l.owner, leaseTime)
	if err != nil {
		return nil, fmt.Errorf("agent: run %s: %w", l.id, err)
	}
	known := l.known
	if l.writer != nil {
		known = l.writer.Seq() // messages may have come since the run stopped
	}
	claimed := lease.Token == lease.Seq // and the last entry says so
	if lease.Seq != known && !(claimed && lease.Seq == known+1) {
		_ = l.store.Release(context.WithoutCancel(ctx), lease) // it ends by itself
		return nil, fmt.Errorf("agent: run %s: %w: another process has gone on with it meanwhile", l.id,
			journal.ErrConflict)
	}
	l.writer, l.fence = journal.NewWriter(l.store, l.id, lease.Seq), lease.Token
	return lease.Hold(ctx, l.store, leaseTime, lost), nil
}

// note records what happened. It is done even if whoever asked has gone: it did happen.
func (l *runRecorder) note(ctx context.Context, records ...record.Record) error {
	if l == nil || len(records) == 0 {
		return nil
	}
	if err := l.writer.Append(context.WithoutCancel(ctx), records...); err != nil {
		return fmt.Errorf("agent: run %s cannot be recorded: %w", l.id, err)
	}
	return nil
}

// records returns what is kept of a turn: what had to be repaired, and the answer.
func (t *answerCollector) records(failed error, broken bool) []record.Record {
	var list []record.Record
	for _, n := range t.notes {
		switch d := n.event.Detail; n.event.Kind {
		case chat.KindBounce, chat.KindConverted:
			list = append(list, record.Record{Kind: record.KindBounce, Bounce: d.(*chat.BounceDetail)})
		case chat.KindRejected:
			list = append(list, record.Record{Kind: record.KindReject,
				Reject: &record.Reject{Turn: n.turn, CallID: n.callID, RejectedDetail: *d.(*chat.RejectedDetail)}})
		case chat.KindOverrun:
			list = append(list, record.Record{Kind: record.KindOverrun,
				Overrun: &record.Overrun{Turn: n.turn, OverrunDetail: *d.(*chat.OverrunDetail)}})
		case chat.KindNote:
			list = append(list, record.Record{Kind: record.KindRepair,
				Repair: &record.Repair{Turn: n.turn, CallID: n.callID, NoteDetail: *d.(*chat.NoteDetail)}})
		}
	}
	end := &record.TurnEnd{Turn: t.turn + t.last, Message: t.message(broken), Usage: t.usage, Finish: t.finish}
	for i, text := range t.raw {
		if i == t.last {
			end.Raw = record.Text(text)
		} else {
			end.Before = append(end.Before, record.Text(text))
		}
	}
	switch {
	case failed != nil:
		end.Error = record.FailureOf(failed)
	case broken:
		end.Error = &record.Failure{Kind: string(chat.ErrCanceled), Message: "nobody listened any more"}
	}
	return append(list, record.Record{Kind: record.KindTurnEnd, TurnEnd: end})
}

// closing records how a run ended, or that it waits.
func (r *Run) closing(ctx context.Context) error {
	if r.log == nil || r.log.writer == nil {
		return nil
	}
	o := &r.outcome
	var w *record.Wait
	switch o.Reason {
	case EndWaiting:
		w = &record.Wait{For: record.WaitApproval}
		for _, a := range o.Waiting {
			w.Approvals = append(w.Approvals, a.ID)
		}
	case EndClient:
		w = &record.Wait{For: record.WaitClient}
		for _, c := range o.Client {
			w.Calls = append(w.Calls, c.ID)
		}
	case EndError, EndCancel:
		if errors.Is(o.Err, journal.ErrConflict) {
			return nil // the run is somebody else's
		}
		if r.over {
			return r.log.note(ctx, r.endings()...)
		}
		w = &record.Wait{For: record.WaitDrain, Note: o.Err.Error()}
		if o.Reason == EndError && !journal.Passes(o.Err) { // what the journal could not take is tried again by itself
			w.For, w.Error = record.WaitRetry, record.FailureOf(o.Err)
		}
	}
	if w != nil {
		return r.log.note(ctx, record.Record{Kind: record.KindWait, Wait: w})
	}
	end := &record.End{Reason: string(o.Reason), Detail: string(o.Limit), Usage: o.Usage}
	if o.Priced {
		end.Cost = &o.Cost
	}
	return r.log.note(ctx, record.Record{Kind: record.KindEnd, End: end})
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"wield/chat"
	"wield/journal"
)

// A logbook is where a run is recorded. A nil one records nothing.
type logbook struct {
	store   journal.Store
	id      string // of the run
	session string
	owner   string
	fresh   bool // the session is new
	opened  bool // there is a stream
	writer  *journal.Writer
}

// leaseTime is how long a run is held for its owner at a time; it is asked for again when a third of it has passed. So long
// nobody can go on with a run whose process was killed.
const leaseTime = 30 * time.Second

// newLogbook returns the logbook of a new run.
func newLogbook(s journal.Store, session string) *logbook {
	if s == nil {
		return nil
	}
	l := &logbook{store: s, id: journal.NewID("run"), session: session, owner: journal.NewID("own")}
	if session == "" {
		l.session, l.fresh = journal.NewID("ses"), true
	}
	return l
}

// longestTitle is how many characters of the task name a session.
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
func (l *logbook) open(ctx context.Context, run journal.Run, messages []chat.Message, notes map[string]string) error {
	if l == nil || l.opened {
		return nil
	}
	run.Session = l.session
	records := []journal.Record{{Kind: journal.KindRun, Run: &run}}
	if l.fresh {
		records = append(records, journal.Record{Kind: journal.KindSession, Session: &journal.SessionNote{Title: title(messages), Notes: notes}})
	}
	for i := range messages {
		records = append(records, entered(messages[i], ""))
	}
	if _, err := l.store.Append(ctx, l.id, 0, records...); err != nil {
		return fmt.Errorf("agent: the run cannot be recorded: %w", err)
	}
	l.opened = true
	return nil
}

// entered is the record of a message that entered the conversation.
func entered(m chat.Message, by string) journal.Record {
	return journal.Record{Kind: journal.KindMessage, Message: &journal.Message{Message: m, By: by}}
}

// hold makes this process the one that drives the run, until the function that it returns is called.
func (l *logbook) hold(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	lease, err := l.store.Claim(ctx, l.id, l.owner, leaseTime)
	if err != nil {
		return nil, fmt.Errorf("agent: run %s: %w", l.id, err)
	}
	l.writer = journal.NewWriter(l.store, l.id, lease.Seq)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(leaseTime / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if next, err := l.store.Claim(ctx, l.id, l.owner, leaseTime); err == nil {
					lease = next
				} // else somebody else has the run, and the next record fails
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
		_ = l.store.Release(context.WithoutCancel(ctx), lease) // it ends by itself
	}, nil
}

// note records what happened. It is done even if whoever asked has gone: it did happen.
func (l *logbook) note(ctx context.Context, records ...journal.Record) error {
	if l == nil || len(records) == 0 {
		return nil
	}
	if err := l.writer.Append(context.WithoutCancel(ctx), records...); err != nil {
		return fmt.Errorf("agent: run %s cannot be recorded: %w", l.id, err)
	}
	return nil
}

// records returns what is kept of a turn: what had to be mended, and the answer.
func (t *turn) records(failed error, broken bool) []journal.Record {
	var list []journal.Record
	for _, n := range t.notes {
		switch d := n.event.Detail; n.event.Kind {
		case chat.KindBounce, chat.KindConverted:
			list = append(list, journal.Record{Kind: journal.KindBounce, Bounce: d.Bounce})
		case chat.KindRejected:
			list = append(list, journal.Record{Kind: journal.KindReject, Reject: &journal.Reject{Turn: n.turn, RejectedDetail: *d.Rejected}})
		case chat.KindNote:
			list = append(list, journal.Record{Kind: journal.KindRepair, Repair: &journal.Repair{Turn: n.turn, CallID: n.callID, NoteDetail: *d.Note}})
		}
	}
	end := &journal.TurnEnd{Turn: t.turn + t.last, Message: t.message(broken), Raw: journal.Text(t.raw), Usage: t.usage, Finish: t.finish}
	switch {
	case failed != nil:
		e := chat.AsError(failed)
		end.Error = &journal.Failure{Kind: string(e.Kind), Message: e.Message}
	case broken:
		end.Error = &journal.Failure{Kind: string(chat.ErrCanceled), Message: "nobody listened any more"}
	}
	return append(list, journal.Record{Kind: journal.KindTurnEnd, TurnEnd: end})
}

// closing records how a run ended, or that it waits.
func (r *Run) closing(ctx context.Context) error {
	if r.log == nil || r.log.writer == nil {
		return nil
	}
	o := &r.outcome
	switch o.Reason {
	case EndWaiting:
		w := &journal.Wait{For: journal.WaitApproval}
		for _, a := range o.Waiting {
			w.Approvals = append(w.Approvals, a.ID)
		}
		return r.log.note(ctx, journal.Record{Kind: journal.KindWait, Wait: w})
	case EndError, EndCancel:
		if errors.Is(o.Err, journal.ErrConflict) {
			return nil // the run is somebody else's
		}
		return r.log.note(ctx, journal.Record{Kind: journal.KindWait, Wait: &journal.Wait{For: journal.WaitDrain, Note: o.Err.Error()}})
	}
	return r.log.note(ctx, journal.Record{Kind: journal.KindEnd, End: &journal.End{Reason: string(o.Reason), Detail: string(o.Limit), Usage: o.Usage}})
}

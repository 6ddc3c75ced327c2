package runs

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// A Numbered is an event of a run and the place behind it: who comes back with the ID is shown what follows.
type Numbered struct {
	ID    string
	Event chat.Event

	// Record is the record that the event stands in; nil: it is part of an answer that is being written, or
	// tells of a call that runs. Events of one record have the same.
	Record *record.Record
}

// A position tells how far somebody has followed a run.
type position struct {
	seq  int64  // the last record that was read
	part int    // how many of its events were seen
	said [2]int // how much of the answer that is being written was seen: reasoning, text
}

// String returns the place as a client keeps it.
func (p *position) String() string {
	return fmt.Sprintf("%d-%d-%d-%d", p.seq, p.part, p.said[saidReasoning], p.said[saidText])
}

// parsePlace reads what String wrote. The empty text is the beginning.
func parsePlace(text string) (position, error) {
	var p position
	if text == "" {
		return p, nil
	}
	fields := strings.Split(text, "-")
	numbers := make([]int64, 0, 4)
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 48)
		if err != nil || n < 0 {
			break
		}
		numbers = append(numbers, n)
	}
	if len(fields) != 4 || len(numbers) != 4 {
		return p, fmt.Errorf("%w: %q", ErrPlace, text)
	}
	p.seq, p.part, p.said = numbers[0], int(numbers[1]), [2]int{int(numbers[2]), int(numbers[3])}
	return p, nil
}

// IsPlace reports whether a text is one that Follow takes.
func IsPlace(text string) bool {
	_, err := parsePlace(text)
	return err == nil
}

// A follower waits for what comes next in a run that is not live here.
type follower struct{ stop context.CancelFunc }

func (f *follower) wake() { f.stop() }

// Follow yields the events of a run behind a place, the beginning for "", and goes on until the run is over:
// while it is driven here or elsewhere, and while it waits. What is in the journal is seen once and whole by
// who comes back with the last ID. An error comes last.
func (h *Hub) Follow(ctx context.Context, run string, after string) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		p, err := parsePlace(after)
		if err == nil {
			var k known
			if k, err = h.look(ctx, run); err == nil && p.seq > k.head.Seq {
				err = fmt.Errorf("%w: run %s has %d records", ErrPlace, run, k.head.Seq)
			}
			if err == nil {
				r := reading{hub: h, run: run, agent: k.run.Agent, place: p, calls: map[string]int{},
					yield: func(n Numbered) bool { return yield(n, nil) }}
				err = r.follow(ctx)
			}
		}
		if err != nil && err != errStopped {
			yield(Numbered{}, err)
		}
	}
}

// errStopped says that nobody wants to see more.
var errStopped = fmt.Errorf("runs: stopped")

// A reading is one run as it is followed.
type reading struct {
	hub   *Hub
	run   string
	agent string
	place position
	turn  int            // of the last turn's record
	told  int            // of what the tail tells besides
	from  *Live          // that told is about
	heard int            // the same of the service that drives the run
	calls map[string]int // index by id
	over  bool
	every bool // each record is yielded besides, without an event, behind those that it has
	yield func(Numbered) bool
}

// follow goes on until the run is over.
func (r *reading) follow(ctx context.Context) error {
	if r.place.part > 0 { // there may be more in that record
		part := r.place.part
		r.place.seq--
		if err := r.read(ctx, part, 1); err != nil {
			return err
		}
	}
	for {
		l := r.hub.lookUp(r.run)
		var changed <-chan struct{}
		if l != nil {
			changed = l.tail.change() // before reading, so that nothing comes between unseen
		} else if k, err := r.hub.look(ctx, r.run); err != nil {
			return err
		} else if k.head.State == record.StateEnded {
			r.over = true
		}
		if err := r.read(ctx, 0, 0); err != nil || r.over {
			return err
		}
		if l == nil {
			if there, err := r.listenIn(ctx); err != nil {
				return err
			} else if there {
				continue
			}
			if err := r.watch(ctx); err != nil || r.over {
				return err
			}
			continue
		}
		if err := r.live(l); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// live shows what the live run has said since its last record.
func (r *reading) live(l *Live) error {
	if r.from != l {
		r.from, r.told = l, 0
	}
	for _, n := range l.tail.since(&r.place, &r.told) {
		if !r.yield(n) {
			return errStopped
		}
	}
	return nil
}

// read shows the records behind the place, without the first skip events of the first one; limit is how many
// of them, 0 all.
func (r *reading) read(ctx context.Context, skip, limit int) error {
	for e, err := range r.hub.store.Read(ctx, journal.Query{Stream: r.run, Seq: r.place.seq, Limit: limit}) {
		if err != nil {
			return err
		}
		if err := r.show(&e, skip); err != nil {
			return err
		}
		skip = 0
	}
	return nil
}

// watch waits for records that come from elsewhere, until the run is over or is live here.
func (r *reading) watch(ctx context.Context) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	if !r.hub.register(r.run, &follower{stop}, inner) {
		return nil // it has become live
	}
	for e, err := range r.hub.store.Watch(inner, journal.Query{Stream: r.run, Seq: r.place.seq}) {
		if err != nil {
			if inner.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		if err := r.show(&e, 0); err != nil || r.over || r.hub.Shared() {
			return err // another service may drive it now
		}
	}
	return ctx.Err()
}

// register lets a follower know when the run becomes live here, until ctx ends. It reports false if it is live now.
func (h *Hub) register(run string, f *follower, ctx context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live[run] != nil {
		return false
	}
	if h.followers[run] == nil {
		h.followers[run] = map[*follower]bool{}
	}
	h.followers[run][f] = true
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.followers[run], f)
		if len(h.followers[run]) == 0 {
			delete(h.followers, run)
		}
	})
	return true
}

// show shows the events of a record, but for the first ones.
func (r *reading) show(e *journal.Entry, skip int) error {
	rec := &e.Record
	r.place.seq = e.Seq
	for i, event := range r.events(rec) {
		r.place.part = i + 1
		if i < skip {
			continue
		}
		if said := saidIn(event.Kind); said != saidNothing && rec.Kind == record.KindTurnEnd {
			seen := min(r.place.said[said], len(event.Text))
			event.Text = event.Text[seen:]
			r.place.said[said] += len(event.Text)
			if event.Text == "" {
				continue
			}
		}
		if !r.yield(Numbered{ID: r.place.String(), Event: event, Record: rec}) {
			return errStopped
		}
	}
	r.place.part = 0
	if r.every && !r.yield(Numbered{ID: r.place.String(), Record: rec}) {
		return errStopped
	}
	if rec.Kind == record.KindTurnEnd || rec.Kind == record.KindTurn {
		r.place.said = [2]int{}
	}
	r.over = r.over || rec.Kind == record.KindEnd
	return nil
}

func saidIn(k chat.Kind) int {
	switch k {
	case chat.KindReasoning:
		return saidReasoning
	case chat.KindText:
		return saidText
	}
	return saidNothing
}

// events returns what happened by a record. What has no event, such as that a run was resumed, has none.
func (r *reading) events(rec *record.Record) []chat.Event {
	at := func(kind chat.Kind, d chat.Detail) chat.Event {
		return chat.Event{Kind: kind, Turn: r.turn, Detail: d}
	}
	switch rec.Kind {
	case record.KindTurn:
		r.turn = rec.Turn.Turn
		return []chat.Event{at(chat.KindTurnStart, &chat.TurnDetail{Model: rec.Turn.Model, Backend: rec.Turn.Backend,
			Attempt: rec.Turn.Attempt})}
	case record.KindTurnEnd:
		return r.turnEnd(rec.TurnEnd)
	case record.KindBounce:
		return []chat.Event{at(chat.KindBounce, rec.Bounce)}
	case record.KindReject:
		if rec.Reject.CallID != "" {
			return nil // the call tells of it
		}
		e := at(chat.KindRejected, &rec.Reject.RejectedDetail)
		e.Index, e.Name = -1, rec.Reject.Name
		return []chat.Event{e}
	case record.KindRepair:
		e := at(chat.KindNote, &rec.Repair.NoteDetail)
		e.ID = rec.Repair.CallID
		return []chat.Event{e}
	case record.KindOverrun:
		d := rec.Overrun.OverrunDetail
		e := at(chat.KindOverrun, &d)
		e.At, e.End = d.At, d.At
		return []chat.Event{e}
	case record.KindPolicy:
		e := at(chat.KindPolicy, rec.Policy)
		e.ID = rec.Policy.CallID
		return r.ofCall(e)
	case record.KindStart:
		e := at(chat.KindToolState, &runner.StateDetail{CallID: rec.Start.CallID, State: runner.CallRunning})
		e.ID, e.Name = rec.Start.CallID, rec.Start.Tool
		return r.ofCall(e)
	case record.KindResult:
		return r.ofCall(r.result(rec.Result))
	case record.KindWait:
		return r.wait(rec.Wait)
	case record.KindEnd:
		u := rec.End.Usage
		list := []chat.Event{at(chat.KindFinish, &chat.Finish{Reason: chat.FinishStop})}
		if u.Known {
			list = append([]chat.Event{at(chat.KindUsage, &u)}, list...)
		}
		return list
	}
	return nil
}

// ofCall gives an event of a call its index.
func (r *reading) ofCall(e chat.Event) []chat.Event {
	e.Index = r.calls[e.ID]
	return []chat.Event{e}
}

func (r *reading) turnEnd(t *record.TurnEnd) []chat.Event {
	list := []chat.Event{
		{Kind: chat.KindReasoning, Turn: t.Turn, Text: t.Message.Reasoning},
		{Kind: chat.KindText, Turn: t.Turn, Text: t.Message.Text()},
	}
	r.turn = t.Turn
	for i := range t.Message.Calls {
		c := &t.Message.Calls[i]
		r.calls[c.ID] = c.Index
		list = append(list, chat.Event{Kind: chat.KindCallEnd, Origin: c.Origin, Turn: t.Turn, Index: c.Index,
			ID: c.ID, Name: c.Name, Detail: c})
	}
	end := chat.TurnDetail{}
	if t.Error != nil {
		end.Failed = t.Error.Err()
	}
	return append(list, chat.Event{Kind: chat.KindTurnEnd, Turn: t.Turn, Detail: &end})
}

// result returns the result of a call as the model read it.
func (r *reading) result(f *runner.FinishRecord) chat.Event {
	result := rendered(r.hub.Tools(r.agent), f)
	return chat.Event{Kind: chat.KindResult, Turn: r.turn, ID: f.CallID, Name: f.Tool, Detail: &result}
}

// wait returns the questions that the run waits for.
func (r *reading) wait(w *record.Wait) []chat.Event {
	var list []chat.Event
	approvals := journal.Approvals{Store: r.hub.store}
	for _, id := range w.Approvals {
		a, err := approvals.Get(context.Background(), id)
		if err != nil {
			a = runner.Approval{ID: id, State: runner.ApprovalPending}
		}
		d := a.Detail(a.CallID)
		d.Address = r.hub.where(id)
		list = append(list, chat.Event{Kind: chat.KindApproval, Turn: r.turn, Index: r.calls[a.CallID], ID: a.CallID,
			Name: a.Tool, Detail: d})
	}
	return list
}

// where returns where a question can be answered, or "".
func (h *Hub) where(approval string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.address == "" {
		return ""
	}
	return h.address + approval
}

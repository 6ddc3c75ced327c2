package stats

import (
	"context"
	"sync"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// Journal returns a store of records that counts what is appended to next through it.
func (s *Store) Journal(next journal.Store) journal.Store {
	if s == nil {
		return next
	}
	return &records{Store: next, stats: s, runs: map[string]*run{}}
}

type records struct {
	journal.Store
	stats *Store

	mu   sync.Mutex
	runs map[string]*run // by stream
}

// maxRuns bounds what is known of runs. What is forgotten is read again.
const maxRuns = 4096

// A run holds what has to be known of one to count it.
type run struct {
	who     Dims
	offered []record.Definition
	calls   map[string]Dims // by id
	made    map[string]bool // calls, by name and arguments
	asked   time.Time       // when the present turn began
}

// Append implements [journal.Store].
func (r *records) Append(ctx context.Context, stream string, after int64, list ...record.Record) (int64, error) {
	position, err := r.Store.Append(ctx, stream, after, list...)
	if err == nil && len(list) > 0 {
		r.count(ctx, stream, list)
	}
	return position, err
}

// Close implements [journal.Store], and adds what was counted to the files. That this failed is only said:
// the records are whole.
func (r *records) Close() error {
	if err := r.stats.Flush(); err != nil {
		r.stats.o.Log.Warn("cannot write statistics", "error", err)
	}
	return r.Store.Close()
}

func (r *records) count(ctx context.Context, stream string, list []record.Record) {
	now := r.stats.o.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch list[0].Kind {
	case record.KindQuestion:
		q := list[0].Question
		r.stats.add(now, []count{{r.toolOf(ctx, q), Asked, 1}}, nil)
		return
	case record.KindAnswer:
		r.answer(ctx, stream, list[0].Answer, now)
		return
	case record.KindConsumed, record.KindObject, record.KindRules, record.KindSession:
		return
	}
	x := r.run(ctx, stream, list)
	if x == nil {
		return
	}
	c := counting{run: x, tally: tally{answer: x.who}, repairs: map[string]int64{}, failed: map[string]bool{}, now: now}
	for i := range list {
		c.record(&list[i])
	}
	r.stats.add(now, c.counts, c.times)
	if last := list[len(list)-1].Kind; last == record.KindEnd || last == record.KindWait {
		delete(r.runs, stream)
	}
}

// run returns what is known of the run of a stream: from its first record, which is among those of list or in
// the journal. It is nil where the stream is that of no run.
func (r *records) run(ctx context.Context, stream string, list []record.Record) *run {
	if x := r.runs[stream]; x != nil {
		return x
	}
	begin := &list[0]
	if begin.Kind != record.KindRun {
		if begin = r.first(ctx, stream); begin == nil || begin.Kind != record.KindRun {
			return nil
		}
	}
	x := &run{who: Dims{Model: begin.Run.Agent, Client: begin.Run.By}, offered: begin.Run.Offered,
		calls: map[string]Dims{}, made: map[string]bool{}}
	if x.who.Model == "" {
		x.who.Model = begin.Run.Model
	}
	if len(r.runs) >= maxRuns {
		clear(r.runs)
	}
	r.runs[stream] = x
	return x
}

// first reads the record that opened a stream. It is nil if it cannot be had.
func (r *records) first(ctx context.Context, stream string) *record.Record {
	for e, err := range r.Read(context.WithoutCancel(ctx), journal.Query{Stream: stream, Limit: 1}) {
		if err != nil {
			return nil
		}
		return &e.Record
	}
	return nil
}

// toolOf returns the dimensions of what somebody is asked about.
func (r *records) toolOf(ctx context.Context, q *record.Question) Dims {
	d := Dims{Tool: q.Tool}
	if x := r.runs[q.Run]; x != nil {
		d.Model, d.Client = x.who.Model, x.who.Client
	} else if begin := r.first(ctx, q.Run); begin != nil && begin.Run != nil {
		d.Model, d.Client = begin.Run.Agent, begin.Run.By
	}
	return d
}

var answerCounters = map[runner.ApprovalState]Counter{
	runner.ApprovalApproved: Approved, runner.ApprovalEdited: Edited, runner.ApprovalDenied: Refused,
	runner.ApprovalExpired: Unanswered, runner.ApprovalCancelled: Withdrawn,
}

func (r *records) answer(ctx context.Context, stream string, a *record.Answer, now time.Time) {
	begin := r.first(ctx, stream)
	c, ok := answerCounters[a.State]
	if begin == nil || begin.Question == nil || !ok {
		return
	}
	d := r.toolOf(ctx, begin.Question)
	var times []took
	if c == Approved || c == Edited || c == Refused {
		times = []took{{d, WaitTime, max(0, a.At.Sub(begin.Question.Asked))}}
	}
	r.stats.add(now, []count{{d, c, 1}}, times)
}

// A counting goes through records that were appended together: those of a turn are.
type counting struct {
	tally
	run     *run
	repairs map[string]int64 // by the id of the call
	failed  map[string]bool  // calls that could not be used, by id
	now     time.Time
}

func (c *counting) record(r *record.Record) {
	switch r.Kind {
	case record.KindTurn:
		c.run.asked = c.now
	case record.KindBounce:
		if r.Bounce.Sent != "" { // else a call was taken over from another channel
			c.bounce(r.Bounce.Reason)
		}
	case record.KindReject:
		if id := r.Reject.CallID; id != "" {
			c.failed[id] = true
		}
		c.rejected(&r.Reject.RejectedDetail, originOf(r.Reject.Dialect))
	case record.KindRepair:
		c.repairs[r.Repair.CallID]++
	case record.KindTurnEnd:
		c.turn(r.TurnEnd)
	case record.KindResult:
		d, known := c.run.calls[r.Result.CallID]
		if !known {
			d = c.answer
			d.Tool = r.Result.Tool
		}
		res := &r.Result.Result
		switch failed, ok := errorCounters[res.ErrorType]; {
		case res.OK:
			c.addTo(d, Done, 1)
		case ok:
			c.addTo(d, failed, 1)
		default:
			c.addTo(d, ToolError, 1)
		}
		if res.Cached {
			c.addTo(d, Cached, 1)
		} else if r.Result.Started {
			c.times = append(c.times, took{d, RunTime, r.Result.Elapsed})
		}
	case record.KindSummary:
		c.usage(&r.Summary.Usage)
	case record.KindEnd:
		c.end(r.End)
	}
}

// originOf returns the channel of an attempt, of which the records keep the dialect alone.
func originOf(dialect string) chat.Origin {
	if dialect == "" {
		return chat.OriginFunction
	}
	return chat.OriginText
}

func (c *counting) turn(e *record.TurnEnd) {
	for i := range c.run.offered {
		t := &c.run.offered[i]
		c.offered(t.Name, len(t.Name)+len(t.Description)+len(t.Parameters))
	}
	for i := range e.Message.Calls {
		call := &e.Message.Calls[i]
		name := call.Name
		if call.Reason == chat.ReasonUnknownTool || call.Reason == chat.ReasonMalformed {
			name = "" // the model's invention
		}
		d := c.call(name, call.Dialect, call.Origin)
		c.run.calls[call.ID] = d
		if !c.failed[call.ID] { // else it is counted as an attempt
			c.called(d, c.repairs[call.ID])
		}
		what := call.Name + "\x00" + call.Arguments
		if c.run.made[what] {
			c.addTo(d, Duplicate, 1)
		}
		c.run.made[what] = true
	}
	c.usage(&e.Usage)
	failure := ""
	if e.Error != nil {
		failure = e.Error.Kind
	}
	c.ended(failure)
	if failure == "" && !c.run.asked.IsZero() {
		c.times = append(c.times, took{c.answer, AnswerTime, c.now.Sub(c.run.asked)})
	}
}

func (c *counting) end(e *record.End) {
	c.add(Runs, 1)
	if e.Detail != "" {
		c.add(Limited, 1)
	}
	if e.Detail == string(agent.LimitRepeats) {
		c.add(Looped, 1)
	}
	if e.Cost != nil {
		c.add(Cost, int64(*e.Cost*1e6))
	}
}

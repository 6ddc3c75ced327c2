package worker

import (
	"context"
	"encoding/json"
	"time"

	"wield/chat"
	"wield/internal/cluster"
	"wield/tool"
	"wield/tool/runner"
)

const (
	keptFor  = 10 * time.Minute // that a result is kept for a call with the same idempotency key
	maxKept  = 1000             // results
	maxRuns  = 10_000           // runs whose fence is known
	unheard  = 30 * time.Second // that a result is sent again and again
	maxStops = 10_000
)

// A run is a call that the worker has taken.
type run struct {
	call   *cluster.CallRequest // that hears of it: the last one with its key
	began  time.Time
	cancel context.CancelFunc
	done   *cluster.Done // nil: it runs
	ended  time.Time
}

// take begins a call, unless it has begun before.
func (w *Worker) take(c *cluster.CallRequest) {
	w.mu.Lock()
	w.services[c.Service] = time.Now() // it may be lost before its first heartbeat comes
	switch before := w.runs[c.Key]; {
	case !w.stopped[full(c)].IsZero():
		delete(w.stopped, full(c))
		w.mu.Unlock()
		w.send(c, &cluster.Frame{Done: failed(tool.ErrCanceled, "the call was cancelled before it began")})
		return
	case c.Run != "" && c.Fence < w.fences[c.Run]:
		w.mu.Unlock()
		w.send(c, &cluster.Frame{Done: failed(tool.ErrSecurity,
			"Security violation: another process has taken the run over")})
		return
	case before != nil: // whoever asked first may be gone
		delete(w.byID, full(before.call))
		before.call = c
		w.byID[full(c)] = before
		over := before.done != nil
		w.fence(c)
		w.mu.Unlock()
		if over {
			before.report(w)
		}
		return
	case w.leaving || w.busy >= w.o.Concurrent:
		w.mu.Unlock()
		w.send(c, &cluster.Frame{Busy: true})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	if c.Within > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), c.Within)
	}
	r := &run{call: c, began: time.Now(), cancel: cancel}
	w.runs[c.Key], w.byID[full(c)] = r, r
	w.busy++
	w.fence(c)
	w.calls.Add(1)
	w.mu.Unlock()
	go func() {
		defer w.calls.Done()
		defer cancel()
		w.end(r, w.perform(ctx, r))
	}()
}

// fence notes the number of a run's owner. Whoever calls it holds mu.
func (w *Worker) fence(c *cluster.CallRequest) {
	if c.Run == "" {
		return
	}
	if len(w.fences) >= maxRuns {
		clear(w.fences) // what protects against a process that stood still for long is the journal
	}
	w.fences[c.Run] = c.Fence
}

// failed reports a call that does not run.
func failed(kind tool.ErrorKind, format string, args ...any) *cluster.Done {
	r := tool.Failure(tool.Errorf(kind, format, args...))
	return &cluster.Done{Result: &r}
}

// end keeps how a call ended and tells it.
func (w *Worker) end(r *run, d *cluster.Done) {
	w.mu.Lock()
	r.done, r.ended = d, time.Now()
	w.busy--
	if d.Ask != nil { // it did not run
		delete(w.runs, r.call.Key)
	}
	w.mu.Unlock()
	r.report(w)
}

// report sends how a call ended to whoever asked last.
func (r *run) report(w *Worker) {
	w.mu.Lock()
	c, d := r.call, r.done
	w.mu.Unlock()
	if d.Result == nil {
		w.send(c, &cluster.Frame{Done: d})
		return
	}
	text, err := json.Marshal(d.Result)
	switch {
	case err != nil:
		w.send(c, &cluster.Frame{Done: failed(tool.ErrUnexpected, "the result cannot be sent: %v", err)})
		return
	case c.Output > 0 && len(text) > 2*c.Output:
		w.send(c, &cluster.Frame{Done: failed(tool.ErrLimit, "the result has %d bytes, and the service takes %d",
			len(text), 2*c.Output)})
		return
	case len(text) <= cluster.MaxPart:
		w.send(c, &cluster.Frame{Done: d})
		return
	}
	n := 0
	for ; len(text) > 0; n++ {
		part := text[:min(len(text), cluster.MaxPart)]
		w.send(c, &cluster.Frame{Part: part, Number: n})
		text = text[len(part):]
	}
	w.send(c, &cluster.Frame{Done: &cluster.Done{Parts: n}})
}

// send sends a frame about a call.
func (w *Worker) send(c *cluster.CallRequest, f *cluster.Frame) {
	data, err := json.Marshal(f)
	if err != nil {
		w.o.Log.Error("cannot send a frame", "error", err)
		return
	}
	w.publish(w.address.Out(c.Service, c.ID), data)
}

// stop cancels a call that nobody waits for.
func (w *Worker) stop(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.byID[id]
	switch {
	case r == nil && len(w.stopped) < maxStops:
		w.stopped[id] = time.Now()
	case r == nil:
	case r.done != nil: // its result comes too late
		delete(w.byID, id)
	default:
		r.cancel()
	}
}

// acknowledged notes that the result of a call has arrived.
func (w *Worker) acknowledged(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byID, id)
}

// unacknowledged returns the calls whose results are to be sent again, and forgets old ones. Whoever calls it holds mu.
func (w *Worker) unacknowledged(now time.Time) (again []*run) {
	for id, r := range w.byID {
		switch {
		case r.done == nil || now.Sub(r.ended) < time.Second:
		case now.Sub(r.ended) > unheard:
			delete(w.byID, id)
		default:
			again = append(again, r)
		}
	}
	for key, r := range w.runs {
		if r.done != nil && (now.Sub(r.ended) > keptFor || len(w.runs) > maxKept) && w.byID[full(r.call)] == nil {
			delete(w.runs, key)
		}
	}
	return again
}

// perform takes a call through the rules of this machine and runs it.
func (w *Worker) perform(ctx context.Context, r *run) *cluster.Done {
	c := r.call
	e, ok := w.o.Tools.Lookup(c.Tool)
	if !ok {
		return failed(tool.ErrNotFound, "the worker %s does not offer %s any more", w.o.Name, c.Tool)
	}
	if d := w.define(e); d.Hash() != c.Definition {
		return failed(tool.ErrSecurity,
			"Security violation: the worker %s has another definition of %s than the service", w.o.Name, c.Tool)
	}
	finished, questions := &result{}, &runner.MemoryApprovals{}
	rnr := w.o.Runner.With(func(s *runner.Settings) {
		s.Records, s.Approvals, s.Tools = finished, questions, unbounded{e}
		s.Scope = tool.Scope{Run: c.Run, Fence: c.Fence, By: c.By, Key: c.Once}
	})
	plan, err := rnr.Plan(ctx, chat.Call{ID: c.ID, Name: c.Tool, Arguments: c.Arguments, Complete: true})
	if err != nil {
		return failed(tool.ErrUnexpected, "%v", err)
	}
	if plan.Outcome == runner.OutcomeNeedsApproval {
		if d, err := w.approve(ctx, questions, &plan, c); err != nil {
			return failed(tool.ErrUnexpected, "%v", err)
		} else if d != nil {
			return d
		}
	}
	var asked string
	for e, err := range rnr.Run(ctx, plan) {
		switch {
		case err != nil && asked != "":
			return failed(tool.ErrApproval, "the tool %s asks a person with a form, which a worker does not pass on "+
				"(%s): "+
				"run it at the service, or answer in its arguments", c.Tool, asked)
		case err != nil:
			return failed(tool.ErrUnexpected, "%v", err)
		case e.Kind == chat.KindApproval:
			if q, err := questions.Get(ctx, e.Detail.(*runner.ApprovalDetail).ID); err == nil && q.Form != nil {
				asked = q.Why
			}
		case e.Kind == chat.KindProgress:
			p := e.Detail.(*runner.ProgressDetail)
			w.send(w.hears(r), &cluster.Frame{Output: &cluster.Output{Stream: p.Stream, Text: p.Text, Done: p.Done,
				Total: p.Total}})
		}
	}
	return &cluster.Done{Result: &finished.Result}
}

// hears returns the call that hears of a run.
func (w *Worker) hears(r *run) *cluster.CallRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.call
}

// approve answers the question of this machine's rules with what a person has answered to it at the service. A question
// that was not answered yet goes there.
func (w *Worker) approve(ctx context.Context, questions *runner.MemoryApprovals, p *runner.Plan,
	c *cluster.CallRequest) (*cluster.Done, error) {
	q, err := questions.Get(ctx, p.Approval)
	if err != nil {
		return nil, err
	}
	switch {
	case !w.o.Asks:
		return failed(tool.ErrApproval,
			"the rules of the worker %s ask before %s runs (%s), and services may not answer: set worker.approvals "+
				"to service there",
			w.o.Name, c.Tool, q.Why), nil
	case c.Approved == nil || c.Approved.Binding != q.Binding:
		return &cluster.Done{Ask: &cluster.Ask{Binding: q.Binding, Why: q.Why}}, nil
	}
	a := runner.Answer{State: runner.ApprovalApproved, By: "service, for " + c.By}
	if len(c.Approved.Arguments) > 0 {
		a.State, a.Arguments = runner.ApprovalEdited, c.Approved.Arguments
	}
	_, err = questions.Decide(ctx, q.ID, a)
	return nil, err
}

// result is where a runner records what came of its one call.
type result struct{ runner.FinishRecord }

// Start implements runner.Records: the journal is the service's.
func (*result) Start(context.Context, runner.StartRecord) error { return nil }

// Keep implements runner.Records.
func (*result) Detach(context.Context, string, string) error { return nil }

// Kept implements runner.Records.
func (*result) Detached(string) string { return "" }

// Finish implements runner.Records.
func (r *result) Finish(_ context.Context, f runner.FinishRecord) error {
	r.FinishRecord = f
	return nil
}

// unbounded is one tool whose result is not cut: what a model sees of it is for the service to decide.
type unbounded struct{ *runner.Entry }

// Lookup implements runner.Source.
func (u unbounded) Lookup(string) (*runner.Entry, bool) {
	whole, t := *u.Entry, *u.Entry.Tool
	t.Limits.Output, whole.Tool = chat.NoLimit, &t
	return &whole, true
}

// Offered implements runner.Source.
func (u unbounded) Offered(string) []chat.Tool { return nil }

// Missing implements runner.Source.
func (u unbounded) Missing(string) error { return nil }

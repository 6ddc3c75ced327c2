package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// Recover takes up what an earlier process left: runs that it was driving without anybody waiting for them,
// as it does with those that are detached and with those that went on after an answer, and all runs whose
// questions have been answered since. From then on the hub does the same for the processes beside it: it
// hears of answers that they write into the journal, and continues what one of them leaves when it ends,
// or when it has not renewed its lease, until Drain.
func (h *Hub) Recover(ctx context.Context) error {
	var last int64
	for head, err := range h.store.Heads(ctx, journal.HeadQuery{Limit: 1}) {
		if err != nil {
			return fmt.Errorf("runs: %w", err)
		}
		last = head.Last
	}
	if err := loadRules(ctx, h.store, &h.rules); journal.IsFailure(err) {
		return fmt.Errorf("runs: %w", err)
	} else if err != nil {
		h.log.Error(err.Error())
	}
	h.around.Go(func() { h.listen(last) })
	for head, err := range h.store.Heads(ctx,
		journal.HeadQuery{Opened: record.KindRun, States: []record.State{record.StateOpen, record.StateWaiting}}) {
		if err != nil {
			return fmt.Errorf("runs: %w", err)
		}
		if err := h.recoverRun(ctx, head.Stream); err != nil {
			h.log.Error("cannot resume a run of an earlier process", "run", head.Stream, "error", err)
			if journal.Passes(err) {
				h.later(head.Stream, soonest)
			}
		}
	}
	return nil
}

// recoverRun continues a run that was left, if it can go on by itself, and records of others that they were cut off.
func (h *Hub) recoverRun(ctx context.Context, run string) error {
	k, err := h.look(ctx, run)
	if err != nil {
		return err
	}
	if _, err := h.agent(k.run.Agent); err != nil {
		return nil // it belongs to somebody else
	}
	w, err := h.waits(ctx, k)
	switch {
	case err != nil:
		return err
	case k.head.State == record.StateEnded:
		return nil
	case w != nil && w.For == record.WaitApproval:
		return h.takeUpWaiting(ctx, run, w)
	case w != nil && w.For != record.WaitDrain:
		return nil
	case !k.carried: // who asked made the request again, or does not want the answer any more
		return h.cutOff(ctx, &k.head)
	}
	h.around.Go(func() { h.resumeWhenFree(run) })
	return nil
}

// cutOff records that a run ended with the process that drove it for a request. Until that has been silent for as long
// as a lease lasts, it may be alive, and about to claim the run.
func (h *Hub) cutOff(ctx context.Context, head *journal.Head) error {
	if head.State != record.StateOpen || h.lookUp(head.Stream) != nil {
		return nil
	}
	if time.Since(head.Changed) < latest {
		h.later(head.Stream, latest)
		return nil
	}
	lease, err := h.store.Claim(ctx, head.Stream, journal.NewID("own"), latest)
	var held *journal.HeldError
	if errors.As(err, &held) {
		h.later(head.Stream, held.Left)
		return nil
	} else if err != nil {
		return err
	}
	if lease.Seq != head.Seq+1 { // something else than this claim was written since it was looked at
		h.later(head.Stream, soonest)
	} else if _, err = h.store.Append(ctx, head.Stream, lease.Seq, record.Record{Kind: record.KindWait,
		Wait: &record.Wait{For: record.WaitDrain, Note: "the process that drove it was killed"}}); err == nil {
		h.log.Info("run interrupted with its request", "run", head.Stream, "resume",
			"wield sessions resume "+head.Stream+", or POST /api/v1/runs/"+head.Stream+"/resume")
	}
	return errors.Join(err, h.store.Release(context.WithoutCancel(ctx), lease))
}

// waits returns what a run waits for; nil: nothing.
func (h *Hub) waits(ctx context.Context, k known) (*record.Wait, error) {
	if k.head.State != record.StateWaiting {
		return nil, nil
	}
	var w *record.Wait
	for e, err := range h.store.Read(ctx,
		journal.Query{Stream: k.head.Stream, Kinds: []record.Kind{record.KindWait}}) {
		if err != nil {
			return nil, err
		}
		w = e.Record.Wait
	}
	return w, nil
}

// takeUpWaiting continues a run whose question was answered, and looks after one whose question was not.
func (h *Hub) takeUpWaiting(ctx context.Context, run string, w *record.Wait) error {
	approvals := journal.Approvals{Store: h.store}
	var pending []runner.Approval
	for _, id := range w.Approvals {
		a, err := approvals.Get(ctx, id)
		if err != nil {
			return err
		}
		if a.State != runner.ApprovalPending {
			h.resumeAnswered(run)
			return nil
		}
		pending = append(pending, a)
	}
	h.watchTime(run, pending)
	return nil
}

// resumeWhenFree continues a run that nobody drives here, or looks at it again when the lease of who has it is over.
func (h *Hub) resumeWhenFree(run string) {
	_, err := h.resumeIf(h.base, run, func() error { return h.byItself(h.base, run) })
	var held *journal.HeldError
	switch {
	case errors.As(err, &held):
		// by a process that was killed, or by one that lives, which shows when it asks for more time
		h.later(run, held.Left)
	case err == nil, errors.Is(err, ErrHeld), errors.Is(err, ErrWaiting), errors.Is(err, ErrEnded),
		errors.Is(err, ErrUnknownAgent), errors.Is(err, ErrDraining), h.base.Err() != nil:
		// it goes on, here or elsewhere, or is none of this hub
	default:
		h.log.Error("cannot resume a run", "run", run, "error", err)
		switch {
		case errors.Is(err, journal.ErrLost):
			h.later(run, soonest)
		case journal.Passes(err): // a disk is full for longer
			h.later(run, latest)
		}
	}
}

// byItself fails for a run that does not go on by itself, though it did when it was looked at before: a
// request may have gone on with it meanwhile, up to calls that its client runs, and the results would find it
// taken.
func (h *Hub) byItself(ctx context.Context, run string) error {
	k, err := h.look(ctx, run)
	if err != nil {
		return err
	}
	w, err := h.waits(ctx, k)
	if err == nil && w != nil && w.For != record.WaitApproval && w.For != record.WaitDrain {
		err = fmt.Errorf("%w: %s", ErrWaiting, run)
	}
	return err
}

// The time after which a run that another process drives is looked at again.
const (
	soonest = time.Second
	latest  = 10 * time.Second
)

// slept reports whether the machine slept, or its clock was set forward, while a time passed: wall by the clock, and
// ran as the processes have lived through it. Leases are over then whose owners live and are about to ask for more.
func slept(wall, ran time.Duration) bool { return wall > ran+soonest }

// later looks at a run again after a while, in case that nobody drives it then.
func (h *Hub) later(run string, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining || h.live[run] != nil {
		return
	}
	if t := h.timers[run]; t != nil {
		t.Stop()
	}
	set := time.Now()
	h.timers[run] = time.AfterFunc(min(max(wait, soonest), latest), func() {
		h.mu.Lock()
		if h.draining {
			h.mu.Unlock()
			return
		}
		delete(h.timers, run)
		h.around.Add(1)
		h.mu.Unlock()
		defer h.around.Done()
		if now := time.Now(); slept(now.Round(0).Sub(set.Round(0)), now.Sub(set)) {
			h.later(run, latest)
			return
		}
		switch err := h.recoverRun(h.base, run); {
		case err == nil || h.base.Err() != nil:
		case journal.Passes(err): // listen says that the store is gone, once for all runs
			h.later(run, soonest)
		default:
			h.log.Error("cannot resume a run", "run", run, "error", err)
		}
	})
}

// forget ends that a run is looked at again, because it is over.
func (h *Hub) forget(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.timers[run]; t != nil {
		t.Stop()
		delete(h.timers, run)
	}
}

// listen hears what other processes do with runs until the hub is closed. While the store cannot be read it tries
// again.
func (h *Hub) listen(after int64) {
	var failed time.Time
	for {
		err := h.hear(&after)
		switch {
		case h.base.Err() != nil:
			return
		case !journal.Passes(err):
			h.log.Error("no longer listening to other processes", "error", err)
			return
		}
		if time.Since(failed) > latest {
			h.log.Warn("interrupted while listening to other processes", "error", err)
		}
		failed = time.Now()
		select {
		case <-h.base.Done():
			return
		case <-time.After(soonest):
		}
	}
}

// hear wakes runs whose questions are answered by other processes, and looks after those that go on by themselves, in
// case that their process leaves them. after is the position of the last record that was seen.
func (h *Hub) hear(after *int64) error {
	kinds := []record.Kind{record.KindRun, record.KindResume, record.KindWait, record.KindEnd, record.KindAnswer,
		record.KindRules}
	for e, err := range h.store.Watch(h.base, journal.Query{Kinds: kinds, After: *after}) {
		if err != nil {
			return err
		}
		if h.lookUp(e.Stream) == nil {
			h.lag.Store(int64(max(time.Since(e.At), 0)))
		}
		switch r := &e.Record; r.Kind {
		case record.KindAnswer:
			switch run, err := h.asking(h.base, e.Stream); {
			case err == nil:
				h.resumeAnswered(run)
			case journal.Passes(err): // the answer is read again
				return err
			}
		case record.KindRun, record.KindResume:
			h.later(e.Stream, latest)
		case record.KindWait:
			if r.Wait.For != record.WaitClient {
				h.later(e.Stream, soonest)
			}
		case record.KindEnd:
			h.forget(e.Stream)
		case record.KindRules:
			if err := h.rules.take(&e); err != nil {
				h.log.Error(err.Error())
			}
		}
		*after = e.Position
	}
	return h.base.Err()
}

// Drain takes no more runs, lets those that are driven go on until ctx ends, and cuts off the others, which
// go on in the next process. When it returns, nothing of the hub runs any more. Runs that belong to a request
// end with it.
func (h *Hub) Drain(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	for _, t := range h.timers {
		t.Stop()
	}
	clear(h.timers)
	h.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		h.driving.Wait()
		close(idle)
	}()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = fmt.Errorf("runs: cut off, to go on with the next start: %w", ctx.Err())
	}
	h.stop()
	<-idle
	h.around.Wait()
	return err
}

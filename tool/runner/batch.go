package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"wield/chat"
	"wield/tool"
)

// defaultParallel limits the calls of a turn that run at a time.
const defaultParallel = 8

// RunAll plans and runs the calls of one turn, several at a time. Events of different calls are mixed; results come
// in the order of the calls. A call that needs an approval ends with its KindApproval event in place of a result. An
// error, such as that of a store that failed, comes last, when all calls have ended.
func (r *Runner) RunAll(ctx context.Context, calls []chat.Call) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		plans, err := r.planAll(ctx, calls)
		if err != nil {
			yield(chat.Event{}, err)
			return
		}
		t := &parallelCalls{runner: r, plans: plans, events: make(chan chat.Event), ended: make(chan ending),
			gone: make(chan struct{})}
		t.start(ctx)
		t.listen(yield, cancel)
	}
}

func (r *Runner) planAll(ctx context.Context, calls []chat.Call) ([]Plan, error) {
	plans := make([]Plan, len(calls))
	for i, call := range calls {
		var err error
		if plans[i], err = r.Plan(ctx, call); err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
	}
	return plans, nil
}

// parallelCalls run at the same time.
type parallelCalls struct {
	runner *Runner
	plans  []Plan
	events chan chat.Event
	ended  chan ending
	gone   chan struct{} // closed when nobody listens to events any more
}

// An ending is the last of one call.
type ending struct {
	index int
	event chat.Event
	err   error
}

// start starts all calls. Those that run together as a batch take one place among the calls that run at a time.
func (t *parallelCalls) start(ctx context.Context) {
	places := make(chan struct{}, cmp.Or(t.runner.s.Parallel, defaultParallel))
	units := t.units()
	go func() {
		for _, unit := range units {
			select {
			case places <- struct{}{}:
			case <-ctx.Done(): // they run into the end of the context and end soon
				go t.unit(ctx, unit)
				continue
			}
			go func() {
				defer func() { <-places }()
				t.unit(ctx, unit)
			}()
		}
	}()
}

// units returns the indices of the calls that start together: those of one batch tool, and each other one alone.
func (t *parallelCalls) units() [][]int {
	var units [][]int
	batches := make(map[*tool.Tool]int)
	for i, p := range t.plans {
		if p.Outcome == OutcomeReady && p.entry.Tool.Batch != nil {
			if u, ok := batches[p.entry.Tool]; ok {
				units[u] = append(units[u], i)
				continue
			}
			batches[p.entry.Tool] = len(units)
		}
		units = append(units, []int{i})
	}
	return units
}

// unit runs calls that start together, and returns when they have ended.
func (t *parallelCalls) unit(ctx context.Context, unit []int) {
	var g *batchGroup
	if p := &t.plans[unit[0]]; p.Outcome == OutcomeReady && p.entry.Tool.Batch != nil {
		g = newGroup(p.entry, len(unit))
	}
	var wg sync.WaitGroup
	for _, i := range unit {
		wg.Go(func() { t.call(ctx, i, g) })
	}
	wg.Wait()
}

func (t *parallelCalls) call(ctx context.Context, i int, g *batchGroup) {
	p := t.plans[i]
	x := t.runner.execution(p, func(e chat.Event) bool {
		select {
		case t.events <- e:
			return true
		case <-t.gone:
			return false
		}
	})
	x.group, x.order = g, i
	defer g.leave(x)
	result, err := x.run(ctx)
	end := ending{index: i, err: err}
	switch {
	case x.waits != nil && errors.Is(err, ErrPending):
		end.event, end.err = x.approvalEvent(x.waits), nil
	case err == nil:
		end.event = x.resultEvent(result)
	}
	t.ended <- end
}

// listen passes events on until every call has ended. Results wait for those of the calls before them.
func (t *parallelCalls) listen(yield func(chat.Event, error) bool, cancel context.CancelFunc) {
	listening := true
	pass := func(e chat.Event, err error) {
		if listening && !yield(e, err) {
			listening = false
			close(t.gone)
			cancel()
		}
	}
	var failed error
	held := make([]*ending, len(t.plans))
	for next, left := 0, len(t.plans); left > 0; {
		select {
		case e := <-t.events:
			pass(e, nil)
		case end := <-t.ended:
			left--
			held[end.index] = &end
			for ; next < len(held) && held[next] != nil; next++ {
				if err := held[next].err; err == nil {
					pass(held[next].event, nil)
				} else if failed == nil {
					failed = err
				}
			}
		}
	}
	if failed != nil {
		pass(chat.Event{}, failed)
	}
}

// A batchGroup is a number of calls of one batch tool. Each goes through its own stages up to the handler, and waits
// there for the others. When all have come that will come, they run as one.
type batchGroup struct {
	entry *Entry

	mu      sync.Mutex
	waiting int // that have neither come nor left
	left    map[*execution]bool
	members []waiter
	ran     bool
}

// A waiter is a call that waits for the others of its group.
type waiter struct {
	order int
	ctx   context.Context
	call  *tool.Call
	done  chan outcome
}

func newGroup(e *Entry, n int) *batchGroup {
	return &batchGroup{entry: e, waiting: n, left: make(map[*execution]bool)}
}

// joined is the handler of a call in a group.
func (x *execution) joined(ctx context.Context, c *tool.Call) (tool.Result, error) {
	g := x.group
	if g == nil {
		g = newGroup(x.plan.entry, 1)
	}
	m := waiter{order: x.order, ctx: ctx, call: c, done: make(chan outcome, 1)}
	g.join(x, m)
	select {
	case o := <-m.done:
		return o.result, o.err
	case <-ctx.Done():
	}
	if !g.running() {
		return tool.Result{}, ctx.Err()
	}
	o := <-m.done // the batch ends for the same reason, and may say more
	return o.result, o.err
}

// running reports whether the group has begun to run.
func (g *batchGroup) running() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ran
}

// join adds a call to the group. One that comes when the group has run, for a second try, runs alone.
func (g *batchGroup) join(x *execution, m waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.left[x]:
		go g.run([]waiter{m})
	default:
		g.left[x] = true
		g.members = append(g.members, m)
		g.waiting--
		g.check()
	}
}

// leave says that a call will not come. A nil group is none.
func (g *batchGroup) leave(x *execution) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.left[x] {
		g.left[x] = true
		g.waiting--
		g.check()
	}
}

// check runs the group when nobody is missing.
func (g *batchGroup) check() {
	if g.waiting > 0 || g.ran || len(g.members) == 0 {
		return
	}
	g.ran = true
	go g.run(g.members)
}

// run runs the calls of members together. The batch ends when the first of them has to: they share one run.
func (g *batchGroup) run(members []waiter) {
	sortMembers(members)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(members[0].ctx))
	defer cancel(nil)
	for _, m := range members {
		defer context.AfterFunc(m.ctx, func() { cancel(context.Cause(m.ctx)) })()
	}
	if slots := g.entry.slots; slots != nil {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			g.answer(members, nil, ctx.Err())
			return
		}
	}
	calls := make([]*tool.Call, len(members))
	for i := range members {
		calls[i] = members[i].call
	}
	var results []tool.Result
	done := make(chan outcome, 1)
	protect(done, func() (_ tool.Result, err error) {
		results, err = g.entry.Tool.Batch.RunBatch(ctx, calls)
		return tool.Result{}, err
	})
	err := (<-done).err
	if err != nil && errors.Is(context.Cause(ctx), errTime) {
		err = &tool.Error{Kind: tool.ErrTimeout, Timeout: calls[0].Limits.Timeout}
	}
	if err == nil && len(results) != len(calls) {
		err = tool.Errorf(tool.ErrUnexpected, "Unexpected error: the tool gave %d results for %d calls",
			len(results), len(calls))
	}
	g.answer(members, results, err)
}

func (g *batchGroup) answer(members []waiter, results []tool.Result, err error) {
	for i, m := range members {
		o := outcome{err: err}
		if err == nil {
			o.result = results[i]
		}
		m.done <- o
	}
}

// sortMembers puts the calls into the order of the turn.
func sortMembers(members []waiter) {
	slices.SortFunc(members, func(a, b waiter) int { return a.order - b.order })
}

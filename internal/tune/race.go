package tune

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"wield/bridge"
	"wield/chat"
	"wield/internal/rate"
)

// Trials puts the suite to the model in the way of each candidate, and yields what comes out. A request that fails is a
// trial that failed. All candidates are asked the same questions, but none whose answers cannot change the result any
// more. If the model calls nothing in any way, all are asked again with a call required. Only a canceled ctx ends the
// trials before.
func Trials(ctx context.Context, model chat.Model, o Options) (iter.Seq[Trial], error) {
	candidates, err := o.Candidates()
	if err != nil {
		return nil, err
	}
	return func(yield func(Trial) bool) {
		free := race{o: &o, model: model, yield: yield, probes: suite[:]}
		if !free.run(ctx, candidates) || !slices.ContainsFunc(free.rows, (*Row).answers) || free.best.called {
			return
		}
		required := race{o: &o, model: model, yield: yield, probes: suite[:Questions-1]} // the last needs no call
		required.run(ctx, o.required(candidates))
	}, nil
}

// required returns candidates with a required call. Where that is held to a list of calls, dialects make no difference.
func (o *Options) required(candidates []Candidate) (list []Candidate) {
	for _, c := range candidates {
		c.Required = true
		if c.Mode == bridge.ModeText && o.Bridge.Constraint.Lists() {
			c.Dialect = ""
		}
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// A race finds the best of some candidates.
type race struct {
	o      *Options
	model  chat.Model
	yield  func(Trial) bool
	probes []probe
	rows   []*Row
	best   *Row // of those that have been asked to the end; nil: none has
}

// screened is the number of questions that every candidate is asked first. They plainly want a call.
const screened = 2

// run reports whether to go on.
func (r *race) run(ctx context.Context, candidates []Candidate) bool {
	for _, c := range candidates {
		r.rows = append(r.rows, &Row{Candidate: c})
	}
	for _, row := range r.rows {
		if !r.ask(ctx, row, screened) {
			return false
		}
	}
	order := slices.Clone(r.rows) // the best first: what comes behind it is decided sooner
	slices.SortStableFunc(order, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(b.RightArgs.N, a.RightArgs.N), rank(b.tried)-rank(a.tried))
	})
	for _, row := range order {
		if !r.ask(ctx, row, r.questions()) {
			return false
		}
		row.Tokens = median(row.tokens)
		if r.best == nil || better(row, r.best) {
			r.best = row
		}
	}
	return true
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (r *race) questions() int { return r.o.rounds() * len(r.probes) }

// ask makes the trials of one candidate, up to so many. It reports whether to go on; none of its own is under way then.
func (r *race) ask(ctx context.Context, row *Row, until int) bool {
	if r.decided(row) {
		return true
	}
	b := bridgeFor(r.model, row.Candidate, r.o.Bridge)
	from := row.RightArgs.Of
	done := make([]chan Trial, min(until, r.questions()))
	for i := range done {
		done[i] = make(chan Trial, 1)
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	next := from
	launch := func() {
		if i := next; i < len(done) {
			next++
			asking.Go(func() {
				done[i] <- try(ctx, b, row.Candidate, &r.probes[i%len(r.probes)], i/len(r.probes), r.o)
			})
		}
	}
	for range max(r.o.Concurrent, 1) {
		launch()
	}
	for i := from; i < len(done) && !r.decided(row); i++ {
		if i > from {
			launch()
		}
		select {
		case t := <-done[i]:
			if ctx.Err() != nil {
				return false
			}
			row.add(&t)
			t.Left = r.left()
			if !r.yield(t) {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// left returns how many trials follow at most.
func (r *race) left() (n int) {
	for _, row := range r.rows {
		if !r.decided(row) || r.waits(row) {
			n += r.questions() - row.RightArgs.Of
		}
	}
	return n
}

// decided reports whether further trials of a candidate are in vain: it answers nothing, or calls nothing, as all
// before it, or it cannot become the best, and whether it differs from the best is known or cannot be known in the
// trials left.
func (r *race) decided(row *Row) bool {
	asked := row.RightArgs.Of
	left := r.questions() - asked
	switch {
	case r.o.All || asked < screened:
		return false
	case row.Failed == asked:
		return true
	case r.best == nil || !r.best.called:
		return r.waits(row) || !row.called && asked >= len(r.probes)
	case row == r.best:
		return false
	}
	most := *row
	most.RightArgs.N, most.RightArgs.Of = row.RightArgs.N+left, asked+left
	most.Tokens = median(row.tokens)
	won, lost := row.against(r.best)
	return !better(&most, r.best) && (rate.Apart(won, lost) || !rate.Apart(won, lost+left))
}

// waits reports whether a candidate tried nothing, and is asked on only if another calls.
func (r *race) waits(row *Row) bool {
	return !row.tried && row.answers() && (r.best == nil || !r.best.called)
}

// answers reports whether there was any answer.
func (row *Row) answers() bool { return row.Failed < row.RightArgs.Of }

// against returns how many of the questions that both were asked only one answered right.
func (row *Row) against(other *Row) (won, lost int) {
	for i := range min(len(row.right), len(other.right)) {
		switch {
		case row.right[i] && !other.right[i]:
			won++
		case !row.right[i] && other.right[i]:
			lost++
		}
	}
	return won, lost
}

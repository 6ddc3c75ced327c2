package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/tool/runner"
)

// A story of random lives: each is cut off by its journal, by time, or not at all; messages come in between, and
// questions are answered in every way.
type lives struct {
	rnd    *rand.Rand
	store  journal.Store
	model  *fakeModel
	runner *runner.Runner
	window agent.Window
	id     string
	kinds  map[string]int // of ends
}

// live drives the run in one process, and reports whether it is over.
func (l *lives) live(t *testing.T, mortal bool) bool {
	t.Helper()
	store := &runtest.Dying{Store: l.store}
	if mortal {
		store.At, store.After = 1+l.rnd.IntN(30), l.rnd.IntN(2) == 0
	}
	a := agent.New(l.model, l.runner, agent.Options{Journal: store, Wait: true, Window: l.window,
		Limits: agent.Limits{Calls: 8, PerTool: 4, Time: 4 * time.Second}})
	run, over := l.begin(t, a)
	if over || run == nil {
		return over
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if mortal && l.rnd.IntN(3) == 0 {
		defer time.AfterFunc(time.Duration(l.rnd.IntN(2500))*time.Millisecond, cancel).Stop()
	}
	if l.rnd.IntN(2) == 0 {
		said := chat.Message{Role: chat.RoleUser, Parts: chat.Text("and this")}
		defer time.AfterFunc(time.Duration(l.rnd.IntN(1500))*time.Millisecond, func() { run.Send(said) }).Stop()
	}
	for range 4 {
		_, err := collect(run.Events(ctx))
		o := run.Outcome()
		l.kinds[string(o.Reason)]++
		if store.Dead() {
			l.kinds["killed"]++
		}
		if o.Reason != agent.EndWaiting {
			if err := runtest.Strict(run.Messages()); err != nil {
				t.Errorf("what is left: %v\n%s", err, dump(run.Messages()))
			}
			return err == nil && !store.Dead()
		}
		l.answer(t, store, o.Waiting)
	}
	return false
}

// begin begins the run, or continues it. Without an error and a run, the process was killed, or the run is over.
func (l *lives) begin(t *testing.T, a *agent.Agent) (run *agent.Run, over bool) {
	if l.id != "" {
		run, err := a.Resume(t.Context(), l.id, nil)
		switch {
		case err == nil:
			return run, false
		case errors.Is(err, agent.ErrEnded):
			return nil, true
		case errors.Is(err, runtest.ErrDead):
			return nil, false
		case !errors.Is(err, journal.ErrNotFound): // it was killed before it was recorded
			t.Fatal(err)
		}
	}
	run = a.Run(ask("go"))
	l.id = run.ID()
	return run, false
}

func (l *lives) answer(t *testing.T, store journal.Store, waiting []runner.Approval) {
	approvals := &journal.Approvals{Store: store}
	for _, w := range waiting {
		answer := []runner.Answer{
			{State: runner.ApprovalApproved}, {State: runner.ApprovalDenied, Reason: "no"}, {State: runner.ApprovalCancelled},
			{State: runner.ApprovalEdited, Arguments: []byte(`{"edited":true}`)},
		}[l.rnd.IntN(4)]
		if l.rnd.IntN(4) == 0 {
			continue // later
		}
		if _, err := approvals.Decide(t.Context(), w.ID, answer); err != nil && !errors.Is(err, runner.ErrDecided) &&
			!errors.Is(err, runtest.ErrDead) {
			t.Fatal(err)
		}
	}
}

// TestResumedTranscripts kills, cancels and resumes random runs, sends them messages and answers their questions.
// Whatever is sent to a model, whatever is left after each life, and what the journal has at the end, is taken by
// strict servers.
func TestResumedTranscripts(t *testing.T) {
	const rounds, mortal, most = 120, 4, 30
	synctest.Test(t, func(t *testing.T) {
		kinds := map[string]int{}
		for seed := range rounds {
			rnd := rand.New(rand.NewPCG(uint64(seed), 11))
			l := &lives{rnd: rnd, store: new(journal.Memory), model: randomAnswers(rnd), runner: randomTools(t),
				kinds: kinds}
			if rnd.IntN(2) == 0 {
				l.window = agent.Window{Tokens: 100 + rnd.IntN(400), Summarize: rnd.IntN(2) == 0}
			}
			over := false
			for n := 0; n < most && !over; n++ {
				over = l.live(t, n < mortal)
				time.Sleep(20 * time.Minute) // the lease is over
			}
			err := l.check(t)
			for i := 0; i < len(l.model.requests) && err == nil; i++ {
				err = runtest.Strict(l.model.requests[i].Messages)
			}
			if err == nil && !over {
				err = errors.New("the run does not come to its end")
			}
			if err != nil || t.Failed() {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		t.Logf("%v", kinds)
		for _, kind := range []string{"killed", "waiting", "canceled", "error", "answer"} {
			if kinds[kind] < rounds/50 {
				t.Errorf("only %d lives were %s", kinds[kind], kind)
			}
		}
	})
}

// check looks at what the journal has.
func (l *lives) check(t *testing.T) error {
	journaltest.Whole(t, l.store)
	messages, err := runtest.Transcript(journaltest.List(t, l.store.Read(t.Context(), journal.Query{Stream: l.id})))
	if err != nil {
		return fmt.Errorf("the journal: %w", err)
	}
	return runtest.Strict(messages)
}

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
	"wield/tool"
	"wield/tool/runner"
)

// randomAnswers makes a model that calls what there is and what there is not, with ids that it uses twice.
func randomAnswers(rnd *rand.Rand) *fakeModel {
	m := new(fakeModel)
	names := []string{"look", "save", "fails", "slow", "asks", "none"}
	for range rnd.IntN(9) {
		a := answer{}
		if rnd.IntN(2) == 0 {
			a.text = "text"
		}
		for range rnd.IntN(5) {
			id := []string{"", "same", fmt.Sprint("id", rnd.IntN(4)), fmt.Sprint("id", rnd.Uint32())}[rnd.IntN(4)]
			args := []string{"{}", `{"n":1}`, "[broken", fmt.Sprintf(`{"n":%d}`, rnd.IntN(3))}[rnd.IntN(4)]
			a.calls = append(a.calls, call(id, names[rnd.IntN(len(names))], args))
		}
		if rnd.IntN(12) == 0 {
			a.err = &chat.Error{Kind: chat.ErrUnavailable, Message: "gone"}
		}
		m.answers = append(m.answers, a)
	}
	return m
}

func randomTools(t *testing.T) *runner.Runner {
	asks := writes("asks", says("asked"))
	asks.Dangerous, asks.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
	slow := func(ctx context.Context, _ string) (string, error) {
		select {
		case <-time.After(time.Second):
			return "slow", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	r := tools(t, reads("look", says("x")), writes("save", says("saved")), reads("slow", slow), asks,
		reads("fails", func(context.Context, string) (string, error) { return "", errors.New("no") }))
	r = r.With(func(s *runner.Settings) { s.Approvals = new(runner.MemoryApprovals) })
	return r
}

// TestTranscripts plays random runs, breaks them off at random places, answers their questions at random, and goes on
// with what is left. Whatever is sent to a model, and whatever is left at the end, holds the order of strict servers.
func TestTranscripts(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 200
	}
	synctest.Test(t, func(t *testing.T) {
		r := randomTools(t)
		var ends [8]int
		for seed := range rounds {
			rnd := rand.New(rand.NewPCG(uint64(seed), 7))
			model := randomAnswers(rnd)
			history := ask("go").Messages
			for range 3 {
				run := agent.New(model, r,
					agent.Options{Limits: agent.Limits{Calls: 8, PerTool: 4, Time: 4 * time.Second}}).Run(
					&chat.Request{Messages: history})
				ends[drive(t, rnd, run, r.Settings().Approvals)]++
				history = append(run.Messages(), u("go on"))
				if run.Outcome().Reason == agent.EndWaiting {
					break // its calls are open
				}
				if err := runtest.Strict(history); err != nil {
					t.Fatalf("seed %d: what is left: %v\n%s", seed, err, dump(history))
				}
			}
			for i, req := range model.requests {
				if err := runtest.Strict(req.Messages); err != nil {
					t.Fatalf("seed %d: request %d: %v\n%s", seed, i, err, dump(req.Messages))
				}
			}
		}
		for i, n := range ends {
			if names := [...]string{"whole", "broken off", "cancelled", "failed", "waiting"}; i < len(names) &&
				n < rounds/200 {
				t.Errorf("only %d runs were %s", n, names[i])
			}
		}
	})
}

// drive ranges over a run, stops at a random place or not, and answers what it waits for. It returns how it ended.
func drive(t *testing.T, rnd *rand.Rand, run *agent.Run, approvals runner.Approvals) int {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rnd.IntN(4) == 0 {
		time.AfterFunc(time.Duration(rnd.IntN(2500))*time.Millisecond, cancel)
	}
	stop := -1
	if rnd.IntN(4) == 0 {
		stop = rnd.IntN(40)
	}
	for range 3 {
		n := 0
		for _, err := range run.Events(ctx) {
			if n++; n == stop {
				return 1
			}
			if errors.Is(err, chat.ErrCanceled) {
				return 2
			}
			if err != nil {
				return 3
			}
		}
		o := run.Outcome()
		if o.Reason != agent.EndWaiting {
			return 0
		}
		for _, a := range o.Waiting {
			answer := runner.Answer{State: []runner.ApprovalState{runner.ApprovalApproved, runner.ApprovalDenied,
				runner.ApprovalCancelled}[rnd.IntN(3)]}
			if rnd.IntN(3) > 0 {
				if _, err := approvals.Decide(t.Context(), a.ID, answer); err != nil &&
					!errors.Is(err, runner.ErrDecided) {
					t.Fatal(err)
				}
			}
		}
	}
	return 4
}

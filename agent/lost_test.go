package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// TestLost takes a run over from a process that could not renew its lease for a while. The first process hears of it,
// whether the other one still drives the run or has left it, and its call under way is cancelled.
func TestLost(t *testing.T) {
	for name, leave := range map[string]bool{"held": false, "left": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := new(journal.Memory)
				store := &runtest.CutOff{Store: memory}
				slow := func(ctx context.Context, _ string) (string, error) {
					select {
					case <-ctx.Done():
						return "", ctx.Err()
					case <-time.After(10 * time.Minute):
						return "done", nil
					}
				}
				r := tools(t, writes("slow", slow))
				r = r.With(func(s *runner.Settings) { s.Limits.Timeout = time.Hour })
				model := &fakeModel{answers: []answer{calls(call("", "slow", `{}`)), {text: "done"}}}
				first := agent.New(model, r, agent.Options{Journal: store, Wait: true}).Run(ask("go"))
				ended := make(chan time.Duration)
				go func() {
					begun := time.Now()
					if _, err := collect(first.Events(t.Context())); err == nil {
						t.Error("the first process goes on to the end")
					}
					ended <- time.Since(begun)
				}()
				time.Sleep(time.Second)
				store.Off.Store(true)
				time.Sleep(50 * time.Second) // the lease is over
				second, err := agent.New(model, r, agent.Options{Journal: memory, Wait: true}).Resume(t.Context(),
					first.ID(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if leave {
					if err := second.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				store.Off.Store(false)
				if took := <-ended; took > 2*time.Minute {
					t.Errorf("it was told after %v", took)
				}
				if o := first.Outcome(); o.Reason != agent.EndCancel {
					t.Errorf("the first process: %+v", o)
				}
				for e := range memory.Read(t.Context(), journal.Query{Stream: first.ID()}) {
					if e.Record.Kind == record.KindResult {
						t.Errorf("it has recorded %+v", e.Record.Result)
					}
				}
			})
		})
	}
}

package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// A cost that is not known in whole is not known, and no answer that was not counted makes it less.
func TestUnknownCost(t *testing.T) {
	counted := chat.Usage{Known: true, In: 1000, Out: 100}
	for _, tt := range []struct {
		name    string
		answers []answer
		priced  bool
	}{
		{"all counted", []answer{{calls: calls(call("1", "look", "{}")).calls, usage: counted},
			{text: "x", usage: counted}}, true},
		{"one not counted", []answer{calls(call("1", "look", "{}")), {text: "x", usage: counted}}, false},
		{"none counted", []answer{{text: "x"}}, false},
		{"broke off", []answer{{text: "x", err: &chat.Error{Kind: chat.ErrUnavailable}}}, false},
		{"refused", []answer{{calls: calls(call("1", "look", "{}")).calls, usage: counted},
			{err: &chat.Error{Kind: chat.ErrRateLimit}}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := new(journal.Memory)
			o := agent.Options{Journal: store, Prices: agent.Prices{Known: true, In: 1, Out: 10}}
			run := agent.New(&fakeModel{answers: tt.answers}, tools(t, reads("look", says("x"))), o).Run(ask("go"))
			_, err := collect(run.Events(t.Context()))
			if got := run.Outcome(); got.Priced != tt.priced {
				t.Errorf("the cost is known: %t (%v, %v)", got.Priced, got.Cost, err)
			}
			for e := range store.Read(t.Context(),
				journal.Query{Stream: run.ID(), Kinds: []record.Kind{record.KindEnd}}) {
				if known := e.Record.End.Cost != nil; known != tt.priced || known && *e.Record.End.Cost != 0.004 {
					t.Errorf("the record of the end is %+v", e.Record.End)
				}
			}
			if err == nil {
				return
			}
			again, err := agent.New(&fakeModel{answers: []answer{{text: "x", usage: counted}}},
				tools(t, reads("look", says("x"))), o).Resume(t.Context(), run.ID(), nil)
			if err != nil {
				t.Fatal(err)
			}
			play(t, again)
			if got := again.Outcome().Priced; got != tt.priced {
				t.Errorf("after it went on the cost is known: %t", got)
			}
		})
	}
}

// The time of a run counts on when it goes on in another process; the time in which it waits for a person, or lies
// there dead, does not count.
func TestTimeAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(journal.Memory)
		slow := func(ctx context.Context, _ string) (string, error) {
			select {
			case <-time.After(4 * time.Second):
				return "slow", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		asks := writes("asks", slow)
		asks.Dangerous, asks.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
		made := func() *runner.Runner {
			r := tools(t, reads("slow", slow), asks)
			r = r.With(func(s *runner.Settings) { s.Approvals = new(runner.MemoryApprovals) })
			return r
		}
		s := &scripted{answers: []answer{
			calls(call("", "slow", `{"n":1}`)), calls(call("", "asks", "{}")), calls(call("", "slow", `{"n":2}`)),
			calls(call("", "slow", `{"n":3}`)),
		}}
		o := agent.Options{Journal: store, Wait: true, Limits: agent.Limits{Time: 10 * time.Second}}
		first := agent.New(s.model(), made(), o).Run(ask("go"))
		play(t, first)
		if len(first.Outcome().Waiting) != 1 {
			t.Fatalf("the outcome is %+v", first.Outcome())
		}
		time.Sleep(5 * time.Hour)
		approvals := &journal.Approvals{Store: store}
		if _, err := approvals.Decide(t.Context(), first.Outcome().Waiting[0].ID,
			runner.Answer{State: runner.ApprovalApproved}); err != nil {
			t.Fatal(err)
		}
		second, err := agent.New(s.model(), made(), o).Resume(t.Context(), first.ID(), nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel) // one second after the call that was allowed
		if _, err := collect(second.Events(ctx)); !errors.Is(err, chat.ErrCanceled) {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		third, err := agent.New(s.model(), made(), o).Resume(t.Context(), first.ID(), nil)
		if err != nil {
			t.Fatal(err)
		}
		again := time.Now()
		play(t, third)
		if o := third.Outcome(); o.Limit != agent.LimitTime || o.Reason != agent.EndAnswer {
			t.Errorf("the outcome is %+v", o)
		}
		// 4 s of the first process, 5 of the second, 1 of the third.
		if d := time.Since(again); d != time.Second {
			t.Errorf("the last part took %s (the one before %s)", d, again.Sub(began)-time.Hour)
		}
	})
}

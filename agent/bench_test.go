package agent_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
)

// BenchmarkTurn measures what the loop itself costs in one turn: a model and a tool that do nothing, in a run of 100
// turns, so that the history has grown to 200 messages at its end.
func BenchmarkTurn(b *testing.B) {
	const turns = 100
	r := tools(b, reads("look", says("a result of some length, as they are")))
	b.ReportAllocs()
	for n := 0; n < b.N; n += turns {
		model := new(fakeModel)
		for i := range turns {
			model.answers = append(model.answers, calls(call("", "look", fmt.Sprintf(`{"n":%d}`, i))))
		}
		run := agent.New(model, r, agent.Options{Limits: agent.Limits{Iterations: -1, Calls: -1, PerTool: -1}}).Run(
			ask("go"))
		for _, err := range run.Events(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestManyRuns holds a thousand runs that wait for their tools, each with a history, to far less memory than they may
// take.
func TestManyRuns(t *testing.T) {
	const runs, most = 1000, 1 << 30
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, string) (string, error) {
			time.Sleep(time.Minute)
			return "slow", nil
		}
		a := agent.New(
			&fakeModel{
				then: &answer{text: "on it",
					calls: []chat.Call{call("", "slow", `{"a":1}`), call("", "slow", `{"a":2}`)}}},
			tools(t, reads("slow", slow)), agent.Options{Limits: agent.Limits{Iterations: 3}})
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var wg sync.WaitGroup
		for range runs {
			wg.Go(func() {
				run := a.Run(ask("go"))
				if _, err := collect(run.Events(t.Context())); err != nil || run.Outcome().Text != "done" {
					t.Errorf("%v, %+v", err, run.Outcome())
				}
			})
		}
		synctest.Wait() // all of them sleep in their tools
		runtime.GC()
		runtime.ReadMemStats(&during)
		used := during.HeapInuse + during.StackInuse - before.HeapInuse - before.StackInuse
		t.Logf("%d runs hold %.1f MB", runs, float64(used)/1e6)
		if int64(used) > most {
			t.Errorf("%d runs hold %d bytes", runs, used)
		}
		wg.Wait()
	})
}

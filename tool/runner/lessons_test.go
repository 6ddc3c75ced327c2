package runner

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"wield/chat"
	"wield/tool"
)

// TestX_E30_OneCallOneRun: nothing runs but what is run, once, and its result is the one that is told.
func TestX_E30_OneCallOneRun(t *testing.T) {
	ran := 0
	r := runner(t, tool.Func("save", "", func(context.Context, struct{}) (int, error) { ran++; return ran, nil }))
	var p Plan
	for range 3 {
		var err error
		if p, err = r.Plan(t.Context(), call("save", "{}")); err != nil || p.Outcome != OutcomeReady {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	if ran != 0 {
		t.Errorf("planning ran it %d times", ran)
	}
	if got, err := last(t, r, p); err != nil || got != "1" || ran != 1 {
		t.Errorf("%s, %v, %d runs", got, err, ran)
	}
	// What needs an approval runs once for one approval, whoever asks for it again.
	d, store, places := deployer(t)
	q := planned(t, d, `{"city":"Oslo"}`)
	if _, err := store.Decide(t.Context(), q.Approval, Answer{State: ApprovalApproved}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, _ = last(t, d, q) // the second and third are refused
	}
	if len(*places) != 1 {
		t.Errorf("it ran %d times", len(*places))
	}
}

// TestX_D01_EveryCallHasItsResult: in a turn with many calls, whatever their names and ids, each gets one result of
// its own, in order, and only what is offered runs.
func TestX_D01_EveryCallHasItsResult(t *testing.T) {
	var ran atomic.Int64
	one := nop("known")
	one.Handler = tool.HandlerFunc(func(context.Context, *tool.Call) (tool.Result, error) { ran.Add(1); return tool.Text("ran"), nil })
	r := runner(t, one)
	var calls []chat.Call
	for i := range 40 {
		c := call("known", "{}")
		if i%2 == 1 {
			c.Name = fmt.Sprintf("known%d", i) // a new name for each
		}
		c.ID = fmt.Sprint("id", i/4) // and ids that come again
		calls = append(calls, c)
	}
	var results []chat.Event
	for e, err := range r.RunAll(t.Context(), calls) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindResult {
			results = append(results, e)
		}
	}
	if len(results) != len(calls) || ran.Load() != int64(len(calls)/2) {
		t.Fatalf("%d results, %d runs for %d calls", len(results), ran.Load(), len(calls))
	}
	for i, e := range results {
		if res := e.Detail.(*chat.Result); res.CallID != calls[i].ID || res.IsError != (i%2 == 1) {
			t.Errorf("call %d: %+v", i, res)
		}
	}
}

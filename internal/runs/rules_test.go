package runs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/policy"
	"wield/tool/runner"
)

// ruled returns the agent of a shop under a policy that asks about everything but what rules say.
func ruled(t *testing.T, s *shop, rules ...policy.Rule) []runs.Agent {
	t.Helper()
	p, err := policy.New(policy.Definition{Name: "p", Default: chat.DecisionAsk, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{answers: []answer{{calls: []chat.Call{call("save", `{"n":1}`)}}, {text: "Saved."}}}
	r := s.runner.With(func(s *runner.Settings) { s.Policy = p })
	return []runs.Agent{{Name: "home", Model: m, Runner: r}}
}

// A rule that is kept decides about the next call, outlives a change of the configuration, gives way to a stricter
// one, and is gone when it is taken back.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		h := newHub(t, new(journal.Memory), nil, s)
		run := func() agent.Outcome {
			l, err := h.Start(t.Context(), runs.Start{Agent: "home", Request: ask("go"), By: "me"})
			if err != nil {
				t.Fatal(err)
			}
			return l.Outcome()
		}
		h.Replace(ruled(t, s))
		o := run()
		if o.Reason != agent.EndWaiting {
			t.Fatalf("%+v", o)
		}
		yes := runner.Answer{State: runner.ApprovalApproved, By: "me", Always: true}
		if _, err := h.Decide(t.Context(), o.Waiting[0].ID, yes); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Decide(t.Context(), o.Waiting[0].ID, yes); !errors.Is(err, runner.ErrDecided) {
			t.Errorf("a second answer: %v", err)
		}
		rules := h.Rules()
		if len(rules) != 1 || rules[0].Agent != "home" || rules[0].By != "me" ||
			rules[0].Approval != o.Waiting[0].ID || rules[0].Text != o.Waiting[0].Always {
			t.Fatalf("%+v", rules)
		}
		synctest.Wait()
		for i, agents := range [][]runs.Agent{nil,
			ruled(t, s, policy.Rule{Decision: chat.DecisionAllow, Selector: policy.Selector{Tool: []string{"look"}}})} {
			if agents != nil {
				h.Replace(agents)
			}
			if o := run(); o.Reason != agent.EndAnswer || s.count(`save{"n":1}`) != i+2 {
				t.Errorf("%d: %+v, it ran %d times", i, o, s.count(`save{"n":1}`))
			}
		}
		h.Replace(
			ruled(t, s, policy.Rule{Decision: chat.DecisionDeny, Selector: policy.Selector{Tool: []string{"save"}}}))
		if o := run(); o.Reason != agent.EndAnswer || s.count(`save{"n":1}`) != 3 {
			t.Errorf("a stricter rule: %+v, it ran %d times", o, s.count(`save{"n":1}`))
		}
		h.Replace(ruled(t, s))
		if err := h.Forget(t.Context(), rules[0].ID); err != nil {
			t.Error(err)
		}
		if err := h.Forget(t.Context(), rules[0].ID); !errors.Is(err, runs.ErrNoRule) {
			t.Error(err)
		}
		if o := run(); o.Reason != agent.EndWaiting || len(h.Rules()) != 0 {
			t.Errorf("without the rule: %+v", o)
		}
	})
}

// A rule is not kept that would not be offered any more, and the question stays open.
func TestKeepChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		h := newHub(t, new(journal.Memory), nil, s)
		h.Replace(ruled(t, s))
		l, err := h.Start(t.Context(), runs.Start{Agent: "home", Request: ask("go"), By: "me"})
		if err != nil {
			t.Fatal(err)
		}
		id := l.Outcome().Waiting[0].ID
		h.Replace(
			ruled(t, s, policy.Rule{Decision: chat.DecisionAsk, Selector: policy.Selector{Tool: []string{"save"}}}))
		answer := runner.Answer{State: runner.ApprovalApproved, By: "me", Always: true}
		if _, err := h.Decide(t.Context(), id, answer); !errors.Is(err, runner.ErrAlways) {
			t.Errorf("it is kept: %v", err)
		}
		answer.Always = false
		if _, err := h.Decide(t.Context(), id, answer); err != nil || len(h.Rules()) != 0 {
			t.Errorf("%v, %v", err, h.Rules())
		}
	})
}

// Who hears of an answer before it has returned finds the rule in force that it keeps: the run that continues it
// does not ask again, and who looks at the rules sees it.
func TestKeepHeardFirst(t *testing.T) {
	s, store := newShop(t), slow{Store: new(journal.Memory), by: 100 * time.Millisecond}
	h := newHub(t, store, nil, s)
	agents := ruled(t, s)
	agents[0].Model = &model{answers: []answer{{calls: []chat.Call{call("save", `{"n":1}`)}},
		{calls: []chat.Call{call("save", `{"n":1}`)}}, {text: "Saved."}}}
	h.Replace(agents)
	if err := h.Recover(t.Context()); err != nil { // from now on it hears of answers
		t.Fatal(err)
	}
	l, err := h.Start(t.Context(), runs.Start{Agent: "home", Request: ask("go"), By: "me"})
	if err != nil {
		t.Fatal(err)
	}
	id := l.Outcome().Waiting[0].ID
	looked := make(chan int)
	go func() {
		for e, err := range store.Watch(t.Context(),
			journal.Query{Stream: id, Kinds: []record.Kind{record.KindAnswer}}) {
			if err != nil || e.Record.Answer == nil {
				t.Error(err)
			}
			break
		}
		looked <- len(h.Rules())
	}()
	if _, err := h.Decide(t.Context(), id, runner.Answer{State: runner.ApprovalApproved, By: "me",
		Always: true}); err != nil {
		t.Fatal(err)
	}
	if n := <-looked; n != 1 {
		t.Errorf("with the answer come %d rules", n)
	}
	var list []runs.Numbered
	for n, err := range h.Follow(t.Context(), l.ID, "") {
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, n); strings.Count(seen(list), "approval save") > 1 {
			break // it waits again
		}
	}
	if text := seen(list); !strings.HasSuffix(text, "text  Saved.\nturn_end  \nusage  \nfinish  ") {
		t.Errorf("what followed:%s", text)
	}
}

// A rule that is kept or taken back at one hub is so at all hubs of the journal, and at those that begin later.
func TestKeepElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, memory := newShop(t), new(journal.Memory)
		hub := func(hears bool) *runs.Hub {
			h := newHub(t, memory, nil, s)
			h.Replace(ruled(t, s))
			if !hears {
				return h
			}
			if err := h.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			return h
		}
		run := func(h *runs.Hub) agent.Outcome {
			h.Replace(ruled(t, s)) // its model begins anew
			l, err := h.Start(t.Context(), runs.Start{Agent: "home", Request: ask("go"), By: "me"})
			if err != nil {
				t.Fatal(err)
			}
			return l.Outcome()
		}
		keep := func(h *runs.Hub) {
			t.Helper()
			o := run(h)
			if o.Reason != agent.EndWaiting {
				t.Fatalf("it does not ask: %+v", o)
			}
			if _, err := h.Decide(t.Context(), o.Waiting[0].ID, runner.Answer{State: runner.ApprovalApproved, By: "me",
				Always: true}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		a, b := hub(true), hub(true)
		keep(a)
		late := hub(true)
		for i, h := range []*runs.Hub{a, b, late} {
			if o := run(h); o.Reason != agent.EndAnswer || len(h.Rules()) != 1 || h.Rules()[0].ID != a.Rules()[0].ID {
				t.Errorf("hub %d: %+v, rules %v", i, o, h.Rules())
			}
		}
		if err := b.Forget(t.Context(), b.Rules()[0].ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for i, h := range []*runs.Hub{a, b, late, hub(true)} {
			if o := run(h); o.Reason != agent.EndWaiting || len(h.Rules()) != 0 {
				t.Errorf("hub %d, without the rule: %+v, rules %v", i, o, h.Rules())
			}
		}
		deaf := hub(false) // it knows nothing of what the others have written
		keep(deaf)
		for i, h := range []*runs.Hub{a, b, deaf} {
			if len(h.Rules()) != 1 {
				t.Errorf("hub %d has the rules %v", i, h.Rules())
			}
		}
		if gone, err := journal.Prune(t.Context(), memory,
			journal.Retention{Bytes: 1, Now: time.Now().Add(time.Hour * 1000)}); err != nil || len(gone) == 0 {
			t.Fatalf("pruned %v, %v", gone, err)
		}
		if h := hub(true); len(h.Rules()) != 1 {
			t.Errorf("when the journal was pruned there are the rules %v", h.Rules())
		}
	})
}

// A full store takes what opens a run, and answers, but no rules.
type noRules struct{ journal.Store }

func (n noRules) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	if records[0].Kind == record.KindRules {
		return 0, journal.ErrFull
	}
	return n.Store.Append(ctx, stream, after, records...)
}

// A rule that cannot be kept is none, and whoever wanted it is told; the call was allowed, and runs.
func TestKeepFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		h := newHub(t, noRules{new(journal.Memory)}, nil, s)
		h.Replace(ruled(t, s))
		l, err := h.Start(t.Context(), runs.Start{Agent: "home", Request: ask("go"), By: "me"})
		if err != nil {
			t.Fatal(err)
		}
		yes := runner.Answer{State: runner.ApprovalApproved, By: "me", Always: true}
		a, err := h.Decide(t.Context(), l.Outcome().Waiting[0].ID, yes)
		if !errors.Is(err, journal.ErrFull) || a.State != runner.ApprovalApproved || len(h.Rules()) != 0 {
			t.Errorf("%+v, %v, rules %v", a, err, h.Rules())
		}
		synctest.Wait()
		if s.count(`save{"n":1}`) != 1 {
			t.Errorf("the call ran %d times", s.count(`save{"n":1}`))
		}
	})
}

package runs_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/tool"
	"wield/tool/policy"
)

// ruled returns the agent of a shop under a policy that asks about everything but what rules say.
func ruled(t *testing.T, s *shop, rules ...policy.Rule) []runs.Agent {
	t.Helper()
	p, err := policy.New(policy.Definition{Name: "p", Default: chat.DecisionAsk, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{answers: []answer{{calls: []chat.Call{call("save", `{"n":1}`)}}, {text: "Saved."}}}
	r := s.runner.With(func(s *tool.Settings) { s.Policy = p })
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
		yes := tool.Answer{State: tool.ApprovalApproved, By: "me", Always: true}
		if _, err := h.Decide(t.Context(), o.Waiting[0].ID, yes); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Decide(t.Context(), o.Waiting[0].ID, yes); !errors.Is(err, tool.ErrDecided) {
			t.Errorf("a second answer: %v", err)
		}
		rules := h.Rules()
		if len(rules) != 1 || rules[0].Agent != "home" || rules[0].By != "me" || rules[0].Approval != o.Waiting[0].ID || rules[0].Text != o.Waiting[0].Always {
			t.Fatalf("%+v", rules)
		}
		synctest.Wait()
		for i, agents := range [][]runs.Agent{nil, ruled(t, s, policy.Rule{Decision: chat.DecisionAllow, Selector: policy.Selector{Tool: []string{"look"}}})} {
			if agents != nil {
				h.Replace(agents)
			}
			if o := run(); o.Reason != agent.EndAnswer || s.count(`save{"n":1}`) != i+2 {
				t.Errorf("%d: %+v, it ran %d times", i, o, s.count(`save{"n":1}`))
			}
		}
		h.Replace(ruled(t, s, policy.Rule{Decision: chat.DecisionDeny, Selector: policy.Selector{Tool: []string{"save"}}}))
		if o := run(); o.Reason != agent.EndAnswer || s.count(`save{"n":1}`) != 3 {
			t.Errorf("a stricter rule: %+v, it ran %d times", o, s.count(`save{"n":1}`))
		}
		h.Replace(ruled(t, s))
		if err := h.Forget(rules[0].ID); err != nil {
			t.Error(err)
		}
		if err := h.Forget(rules[0].ID); !errors.Is(err, runs.ErrNoRule) {
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
		h.Replace(ruled(t, s, policy.Rule{Decision: chat.DecisionAsk, Selector: policy.Selector{Tool: []string{"save"}}}))
		answer := tool.Answer{State: tool.ApprovalApproved, By: "me", Always: true}
		if _, err := h.Decide(t.Context(), id, answer); !errors.Is(err, tool.ErrAlways) {
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
	agents[0].Model = &model{answers: []answer{{calls: []chat.Call{call("save", `{"n":1}`)}}, {calls: []chat.Call{call("save", `{"n":1}`)}}, {text: "Saved."}}}
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
		for e, err := range store.Watch(t.Context(), journal.Query{Stream: id, Kinds: []journal.Kind{journal.KindAnswer}}) {
			if err != nil || e.Record.Answer == nil {
				t.Error(err)
			}
			break
		}
		looked <- len(h.Rules())
	}()
	if _, err := h.Decide(t.Context(), id, tool.Answer{State: tool.ApprovalApproved, By: "me", Always: true}); err != nil {
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

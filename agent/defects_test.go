package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/record"
)

// A turn that called stays in the conversation with the question before it, and its results stay with their names, in
// later runs too.
func TestBR09(t *testing.T) {
	model := &fakeModel{
		answers: []answer{{text: "I look.", calls: []chat.Call{call("c1", "look", `{"deep":{"list":[1,"two"]}}`)}},
			{text: "It is x."}}}
	r := tools(t, reads("look", says(`{"found":{"n":1}}`)))
	first := agent.New(model, r, agent.Options{}).Run(ask("Where is it?"))
	play(t, first)
	second := agent.New(model, r,
		agent.Options{}).Run(&chat.Request{Messages: append(first.Messages(), u("Are you sure?"))})
	play(t, second)
	sent := model.requests[2].Messages
	if err := runtest.Strict(sent); err != nil {
		t.Fatal(err)
	}
	want := []string{"user Where is it?", "assistant I look. c1", "tool look c1 " + `{"found":{"n":1}}`,
		"assistant It is x.", "user Are you sure?"}
	var got []string
	for _, m := range sent {
		words := []string{string(m.Role), m.Name, m.CallID, m.Text()}
		for _, c := range m.Calls {
			words = append(words, c.ID)
		}
		got = append(got, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the second run sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A result that answers no call of the conversation is none.
	if agent.NewState(agent.Limits{}, sent).Add(chat.Message{Role: chat.RoleTool, CallID: "c2",
		Parts: chat.Text("x")}) {
		t.Error("the result of a call that nobody made was taken")
	}
}

// Names that are new in every turn do not get around the limit on calls, and the eleventh call of one tool in one
// answer has a result behind its call.
func TestX_D01(t *testing.T) {
	ran := 0
	runs := func(context.Context, string) (string, error) { ran++; return fmt.Sprint(ran), nil }
	t.Run("new names", func(t *testing.T) {
		ran = 0
		var answers []answer
		made := reads("t0", runs)
		for i := range 40 {
			made.Aliases = append(made.Aliases, fmt.Sprintf("t%d", i+1))
			answers = append(answers, calls(call("", fmt.Sprintf("t%d", i), "{}")))
		}
		run := agent.New(&fakeModel{answers: answers}, tools(t, made),
			agent.Options{Limits: agent.Limits{Iterations: -1}}).Run(ask("go"))
		play(t, run)
		if o := run.Outcome(); ran > 20 || o.Limit != agent.LimitCalls && o.Limit != agent.LimitRepeats {
			t.Errorf("%d calls ran: %+v", ran, o)
		}
		if err := runtest.Strict(run.Messages()); err != nil {
			t.Error(err)
		}
	})
	t.Run("one answer", func(t *testing.T) {
		ran = 0
		var batch []chat.Call
		for i := range 11 {
			batch = append(batch, call("", "look", fmt.Sprintf(`{"n":%d}`, i)))
		}
		one := reads("look", runs)
		one.Parallel = 1
		run := agent.New(&fakeModel{answers: []answer{calls(batch...)}}, tools(t, one), agent.Options{}).Run(ask("go"))
		play(t, run)
		got := results(run.Messages())
		if ran != 10 || len(got) != 11 || !strings.HasSuffix(got[10], ": "+agent.TextOverLimit) {
			t.Errorf("%d calls ran; the results are %q", ran, got)
		}
		if err := runtest.Strict(run.Messages()); err != nil {
			t.Error(err)
		}
	})
}

// There is one pass: what a task wants done is done before the answer says so, under the same rules, and once, however
// the task is worded.
func TestX_E30(t *testing.T) {
	var did []string
	does := func(what string) func(context.Context, string) (string, error) {
		return func(context.Context, string) (string, error) { did = append(did, what); return what + " done", nil }
	}
	model := &fakeModel{answers: []answer{calls(call("1", "search", "{}")), calls(call("2", "save", "{}")),
		{text: "Saved."}}}
	run := agent.New(model, tools(t, reads("search", does("search")), writes("save", does("save"))),
		agent.Options{}).Run(ask("Search for X and save the results"))
	said := ""
	for e, err := range run.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindText {
			said += e.Text
			if len(did) != 2 {
				t.Errorf("%q was said when %v was done", said, did)
			}
		}
	}
	if !slices.Equal(did, []string{"search", "save"}) || said != "Saved." || len(model.requests) != 3 {
		t.Errorf("%v was done in %d requests, and %q said", did, len(model.requests), said)
	}
}

// TestKilledQueue sends messages while a run is busy and kills it before and after each record. A message that was
// recorded is in the conversation once, in the order in which it was sent.
func TestKilledQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for at := 1; ; at++ {
			for _, after := range []bool{false, true} {
				store := &runtest.Dying{Store: new(journal.Memory), At: at, After: after}
				var run *agent.Run
				sends := func(_ context.Context, args string) (string, error) {
					run.Send(u("first of " + args))
					run.Send(u("second of " + args))
					return "sent", nil
				}
				once := writes("sends", sends)
				s := &scripted{answers: []answer{calls(call("", "sends", `{"n":1}`)),
					calls(call("", "sends", `{"n":2}`))}}
				r := tools(t, once)
				run = agent.New(s.model(), r, agent.Options{Journal: store}).Run(ask("go"))
				id := run.ID()
				if _, err := collect(run.Events(t.Context())); err != nil && !store.Dead() {
					t.Fatal(err)
				}
				if !store.Dead() {
					checkQueue(t, "whole", run, []string{`first of {"n":1}`, `second of {"n":1}`, `first of {"n":2}`,
						`second of {"n":2}`})
					return
				}
				time.Sleep(time.Hour)
				var written []string
				for e := range store.Store.Read(t.Context(),
					journal.Query{Stream: id, Kinds: []record.Kind{record.KindMessage}}) {
					if text := e.Record.Message.Text(); strings.Contains(text, " of ") {
						written = append(written, text)
					}
				}
				again, err := agent.New(s.model(), r, agent.Options{Journal: store.Store}).Resume(t.Context(), id, nil)
				if errors.Is(err, journal.ErrNotFound) || errors.Is(err, agent.ErrEnded) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				run = again
				play(t, again)
				checkQueue(t, fmt.Sprintf("append %d (%v), after=%t", at, store.Kinds(), after), again, written)
			}
		}
	})
}

// checkQueue holds what was sent to what was recorded of it, and to its order.
func checkQueue(t *testing.T, where string, run *agent.Run, written []string) {
	t.Helper()
	var got []string
	for _, m := range run.Messages() {
		if m.Role == chat.RoleUser && strings.Contains(m.Text(), " of ") {
			got = append(got, m.Text())
		}
	}
	if len(got) < len(written) || !slices.Equal(got[:len(written)], written) ||
		!slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(a[len(a)-4:]+a, b[len(b)-4:]+b) }) {
		t.Errorf("%s: %q is in the conversation, %q was recorded", where, got, written)
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.Count(strings.Join(got, "|"), s) > 1 }) {
		t.Errorf("%s: something stands there twice: %q", where, got)
	}
	if err := runtest.Strict(run.Messages()); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wield/agent"
	"wield/chat"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// A summary that was asked for stands for the conversation in the next runs, on another day too; the messages stay in
// the journal.
func TestCompact(t *testing.T) {
	for _, store := range []journal.Store{new(journal.Memory), nil} {
		name := "journal"
		if store == nil {
			name = "no journal"
		}
		t.Run(name, func(t *testing.T) {
			var sent []*chat.Request
			a := agent.New(pages(5, &sent), reader(t),
				agent.Options{Journal: store, Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}})
			today := func(day string, messages []chat.Message) []chat.Message {
				return append([]chat.Message{{Role: chat.RoleSystem, Parts: chat.Text("Today is " + day + ".")}},
					messages...)
			}
			first := a.Run(&chat.Request{Model: "fake",
				Messages: today("Monday", []chat.Message{u("Read all pages.")})})
			play(t, first)
			said := first.Messages()[1:]
			req := &chat.Request{Model: "fake", Messages: today("Monday", said), Conversation: first.Session()}
			s, usage, err := a.Compact(t.Context(), req, agent.Summary{})
			if err != nil || s.Messages != len(said)+1 || s.Text != "Pages up to 5 were read." || usage.In != 7 {
				t.Fatalf("%+v, usage %+v, error %v", s, usage, err)
			}

			sent = nil
			next := &chat.Request{Model: "fake", Messages: append(today("Tuesday", said), u("Thanks.")),
				Conversation: first.Session()}
			second := a.Run(next)
			if store == nil {
				second.Shorten(s)
			}
			play(t, second)
			if got := sent[0].Messages; len(got) != 2 || !strings.Contains(got[1].Text(), s.Text) ||
				!strings.HasSuffix(got[1].Text(), "Thanks.") {
				t.Errorf("the model was sent\n%s", dump(got))
			}
			if n := len(second.Messages()); n < len(next.Messages) {
				t.Errorf("%d messages are left of %d", n, len(next.Messages))
			}
			if store == nil {
				return
			}
			again, err := a.LastSummary(t.Context(), first.Session(), today("Friday", said))
			if err != nil || again != s {
				t.Errorf("found %+v (%v), want %+v", again, err, s)
			}
			if other, err := a.LastSummary(t.Context(), first.Session(), today("Friday", said[1:])); err != nil ||
				other.Messages != 0 {
				t.Errorf("another conversation has the summary %+v (%v)", other, err)
			}
			checkEnded(t, store, 3)
		})
	}
}

// checkEnded looks for runs that somebody could go on with.
func checkEnded(t *testing.T, store journal.Store, runs int) {
	t.Helper()
	open, n := map[string]bool{}, 0
	for e, err := range store.Read(t.Context(), journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Record.Kind {
		case record.KindRun:
			open[e.Stream] = true
			n++
		case record.KindEnd:
			delete(open, e.Stream)
		}
	}
	if len(open) > 0 || n != runs {
		t.Errorf("%d of %d runs have no end; %d runs were expected", len(open), n, runs)
	}
}

// A conversation that is too long for the server is summed up from less of it; a model that cannot sum up changes
// nothing.
func TestCompactTooLong(t *testing.T) {
	var sent []*chat.Request
	refuse := 2
	inner := pages(5, &sent)
	model := &modelFunc{func(req *chat.Request) answer {
		if strings.HasPrefix(req.Messages[len(req.Messages)-1].Text(), "Write a summary") {
			if refuse--; refuse >= 0 {
				return answer{err: chat.Errorf(chat.ErrContextLength, "too long")}
			}
		}
		return inner.answer(req)
	}}
	store := new(journal.Memory)
	a := agent.New(model, reader(t),
		agent.Options{Journal: store, Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}})
	run := a.Run(ask("Read all pages."))
	play(t, run)
	req := &chat.Request{Model: "fake", Messages: run.Messages(), Conversation: run.Session()}
	if s, _, err := a.Compact(t.Context(), req, agent.Summary{}); err != nil || s.Messages != len(run.Messages()) {
		t.Errorf("%+v, error %v", s, err)
	}
	refuse = 100
	_, _, err := a.Compact(t.Context(), req, agent.Summary{})
	if !errors.Is(err, chat.ErrContextLength) {
		t.Errorf("error %v, want that of the server", err)
	}
	checkEnded(t, store, 2)
}

// A run that is halted while a person decides takes the answers, and does not ask the model again.
func TestHalt(t *testing.T) {
	r := tools(t, writes("save", says("saved")))
	store := new(runner.MemoryApprovals)
	r = r.With(func(s *runner.Settings) { s.Approvals = store })
	drop := writes("drop", says("dropped"))
	drop.Dangerous, drop.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
	if err := r.Settings().Tools.(*runner.Registry).Add(drop); err != nil {
		t.Fatal(err)
	}
	model := &fakeModel{answers: []answer{calls(call("1", "drop", "{}"), call("2", "save", "{}"))}}
	run := agent.New(model, r, agent.Options{}).Run(ask("go"))
	play(t, run)
	o := run.Outcome()
	if o.Reason != agent.EndWaiting || len(o.Waiting) != 1 {
		t.Fatalf("the outcome is %+v", o)
	}
	if _, err := store.Decide(t.Context(), o.Waiting[0].ID,
		runner.Answer{State: runner.ApprovalDenied, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	run.Halt()
	if _, err := collect(run.Events(t.Context())); !errors.Is(err, chat.ErrCanceled) {
		t.Errorf("it ended with %v", err)
	}
	if o := run.Outcome(); o.Reason != agent.EndCancel || len(model.requests) != 1 {
		t.Errorf("the outcome is %+v after %d requests", o, len(model.requests))
	}
	if got := results(run.Messages()); len(got) != 2 || got[1] != "2: saved" {
		t.Errorf("the results are %q", got)
	}
	if err := runtest.Strict(append(run.Messages(), u("go on"))); err != nil {
		t.Error(err)
	}
}

// A run that waited here and was carried on by another process is not carried on here as well: nothing runs twice.
func TestMoved(t *testing.T) {
	for name, want := range map[string]error{"while the other has it": journal.ErrHeld,
		"after the other ended it": journal.ErrConflict} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			save := writes("save", func(context.Context, string) (string, error) { ran++; return "saved", nil })
			save.Dangerous, save.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
			model := &fakeModel{answers: []answer{calls(call("1", "save", "{}"))}}
			store := new(journal.Memory)
			open := func(by string) *agent.Agent {
				return agent.New(model, tools(t, save), agent.Options{Journal: store, Wait: true, By: by})
			}
			run := open("here").Run(ask("go"))
			play(t, run)
			o := run.Outcome()
			if o.Reason != agent.EndWaiting {
				t.Fatalf("the outcome is %+v", o)
			}
			approvals := &journal.Approvals{Store: store, Session: run.Session(), Run: run.ID()}
			if _, err := approvals.Decide(t.Context(), o.Waiting[0].ID,
				runner.Answer{State: runner.ApprovalApproved, By: "there"}); err != nil {
				t.Fatal(err)
			}
			there, err := open("there").Resume(t.Context(), run.ID(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if want == journal.ErrConflict {
				play(t, there)
			}
			if _, err := collect(run.Events(t.Context())); !errors.Is(err, want) {
				t.Errorf("going on with it ends with %v", err)
			}
			if want == journal.ErrHeld {
				play(t, there)
			}
			if _, err := collect(run.Events(t.Context())); !errors.Is(err, agent.ErrEnded) {
				t.Errorf("going on with what is over ends with %v", err)
			}
			if ran != 1 || len(model.requests) != 2 {
				t.Errorf("the tool ran %d times, and the model was asked %d times", ran, len(model.requests))
			}
		})
	}
}

package agent_test

import (
	"context"
	"encoding/json"
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
	"wield/tool/runner"
)

// page returns the result of a tool: some 500 tokens that differ for every call.
func page(args string) string { return args + strings.Repeat(" 0123456789", 180) }

// reader makes a runner of a tool that reads pages, and of read_output.
func reader(t *testing.T) *runner.Runner {
	reads := reads("page", func(_ context.Context, args string) (string, error) { return page(args), nil })
	reads.Idempotent = true
	r := tools(t, reads)
	if err := r.Settings().Tools.(*runner.Registry).Add(r.Settings().Shared.ReadOutput()); err != nil {
		t.Fatal(err)
	}
	return r
}

// pages answers with n calls of page, one a turn, by the last of them in what it is sent. A summary is what it is asked
// for.
func pages(n int, sent *[]*chat.Request) *modelFunc {
	return &modelFunc{func(req *chat.Request) answer {
		*sent = append(*sent, req)
		if text := req.Messages[len(req.Messages)-1].Text(); strings.HasPrefix(text, "Write a summary") {
			return answer{text: fmt.Sprintf("Pages up to %d were read.", lastPage(req.Messages)),
				usage: chat.Usage{Known: true, In: 7, Out: 3}}
		}
		if next := lastPage(req.Messages) + 1; next <= n {
			return answer{calls: []chat.Call{call("", "page", fmt.Sprintf(`{"n":%d}`, next))},
				usage: chat.Usage{Known: true, In: 100, Out: 10}}
		}
		return answer{text: "All read."}
	}}
}

func lastPage(messages []chat.Message) int {
	last := 0
	for i := range messages {
		for _, c := range messages[i].Calls {
			var args struct{ N int }
			if json.Unmarshal([]byte(c.Arguments), &args) == nil && args.N > last {
				last = args.N
			}
		}
	}
	return last
}

// A run that is longer than the context of its model is sent in part, and every part holds the order.
func TestLongRun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window agent.Window
		most   int // tokens
		want   string
	}{
		{"whole", agent.Window{}, 1 << 20, ""},
		{"pruned", agent.Window{Tokens: 8000}, 6000, "is left out to save room. read_output reads it again"},
		{"left out", agent.Window{Tokens: 2000}, 1500, "earlier messages are left out here, because"},
		{"summary", agent.Window{Tokens: 2000, Summarize: true}, 1500, "This is a summary of them:\nPages up to"},
		{"reserve", agent.Window{Tokens: 2000, Reserve: 800}, 1200, "earlier messages are left out here, because"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent []*chat.Request
			store := new(journal.Memory)
			o := agent.Options{Journal: store, Window: tt.window,
				Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}, Prices: agent.Prices{Known: true}}
			run := agent.New(pages(24, &sent), reader(t), o).Run(ask("Read all pages."))
			play(t, run)
			if o := run.Outcome(); o.Text != "All read." || o.Calls != 24 || o.Limit != "" {
				t.Errorf("the outcome is %+v", o)
			}
			all := ""
			for i, req := range sent {
				if err := runtest.Strict(req.Messages); err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
				if n := agent.EstimateTokens(req.Messages, req.Tools); n > tt.most {
					t.Errorf("request %d has %d tokens", i, n)
				}
				if text := req.Messages[0].Text(); !strings.HasPrefix(text, "Read all pages.") {
					t.Errorf("request %d begins %q", i, text)
				}
				for j := range req.Messages {
					all += req.Messages[j].Text()
				}
			}
			if !strings.Contains(all, tt.want) {
				t.Errorf("%q was sent nowhere", tt.want)
			}
			if got := run.Messages(); len(got) != 50 || runtest.Strict(got) != nil || got[2].Text() != page(`{"n":1}`) {
				t.Errorf("the conversation has %d messages", len(got))
			}
			checkSummaries(t, store, run, tt.window.Summarize)
			checkAsked(t, store, run.ID(), sent)
		})
	}
}

// checkSummaries holds the summaries of a run to what they are about, and their usage to that of the run.
func checkSummaries(t *testing.T, store journal.Store, run *agent.Run, wanted bool) {
	t.Helper()
	last, n, in := 0, 0, 0
	for e, err := range store.Read(t.Context(), journal.Query{Stream: run.ID()}) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := &e.Record; r.Kind {
		case record.KindSummary:
			if r.Summary.Messages <= last || r.Summary.Text == "" {
				t.Errorf("after one of %d messages comes a summary of %d: %q", last, r.Summary.Messages, r.Summary.Text)
			}
			last, n, in = r.Summary.Messages, n+1, in+r.Summary.Usage.In
		case record.KindTurnEnd:
			in += r.TurnEnd.Usage.In
		}
	}
	if wanted != (n > 0) {
		t.Errorf("there are %d summaries", n)
	}
	if got := run.Outcome().Usage.In; got != in {
		t.Errorf("%d tokens were read, %d are recorded", got, in)
	}
}

// A pruned result can be read again, whole, by the id of its call.
func TestReadsPrunedResults(t *testing.T) {
	var sent []*chat.Request
	inner := pages(20, &sent)
	model := &modelFunc{func(req *chat.Request) answer {
		if last := req.Messages[max(len(req.Messages)-2, 0)].Calls; lastPage(req.Messages) == 20 && len(last) == 1 &&
			last[0].Name == "page" {
			sent = append(sent, req)
			return calls(call("", "read_output", `{"id":"call_0"}`),
				call("", "read_output", `{"id":"call_0","offset":10,"length":20}`),
				call("", "read_output", `{"id":"call_99"}`))
		}
		return inner.answer(req)
	}}
	run := agent.New(model, reader(t), agent.Options{Window: agent.Window{Tokens: 8000},
		Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}}).Run(ask("Read all pages."))
	play(t, run)
	got := results(run.Messages())[20:]
	whole := page(`{"n":1}`)
	want := []string{page(`{"n":1}`), whole[10:30], "There is no output call_99"}
	if len(got) != 3 {
		t.Fatalf("the last results are %q", got)
	}
	for i, w := range want {
		quoted, _ := json.Marshal(w)
		if !strings.Contains(got[i], string(quoted[1:len(quoted)-1])) {
			t.Errorf("result %d is %q", i, got[i])
		}
	}
}

// A server that says that the conversation is too long is sent less of it, once. What was learned holds for the run, in
// another process too.
func TestContextLength(t *testing.T) {
	tooLong := &chat.Error{Kind: chat.ErrContextLength, Status: 400, Message: "maximum context length is 4000 tokens"}
	limited := func(most int, sent *[]*chat.Request) *modelFunc {
		inner := pages(30, sent)
		return &modelFunc{func(req *chat.Request) answer {
			a := inner.answer(req)
			if agent.EstimateTokens(req.Messages, nil) > most {
				return answer{err: tooLong}
			}
			return a
		}}
	}
	o := agent.Options{Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}, Prices: agent.Prices{Known: true}}
	t.Run("goes on", func(t *testing.T) {
		var sent []*chat.Request
		run := agent.New(limited(4000, &sent), reader(t), o).Run(ask("Read all pages."))
		play(t, run)
		if o := run.Outcome(); o.Text != "All read." || o.Turns != 31 || !o.Usage.Known {
			t.Errorf("the outcome is %+v", o)
		}
		if len(sent) != 32 {
			t.Errorf("%d requests were made: more than one was refused", len(sent))
		}
		if err := runtest.Strict(run.Messages()); err != nil {
			t.Error(err)
		}
	})
	t.Run("still too long", func(t *testing.T) {
		var sent []*chat.Request
		run := agent.New(limited(5, &sent), reader(t), o).Run(ask("Read all pages, and tell me what stands in them."))
		if _, err := collect(run.Events(t.Context())); !errors.Is(err, chat.ErrContextLength) || len(sent) != 1 {
			t.Errorf("%d requests, and the error is %v", len(sent), err)
		}
	})
	t.Run("once", func(t *testing.T) {
		n := 0
		model := &modelFunc{func(*chat.Request) answer { n++; return answer{err: tooLong} }}
		history := []chat.Message{u("task")}
		for i := range 10 {
			id := fmt.Sprint("c", i)
			history = append(history,
				chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{call(id, "page", "{}")}},
				chat.Message{Role: chat.RoleTool, CallID: id, Parts: chat.Text(page("x"))})
		}
		run := agent.New(model, reader(t), o).Run(&chat.Request{Messages: append(history, u("go on"))})
		if _, err := collect(run.Events(t.Context())); !errors.Is(err, chat.ErrContextLength) || n != 2 {
			t.Errorf("%d requests, and the error is %v", n, err)
		}
	})
	t.Run("in another process", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var sent []*chat.Request
			store := new(journal.Memory)
			o := o
			o.Journal = store
			model, n := limited(4000, &sent), 0
			breaks := &modelFunc{func(req *chat.Request) answer {
				if n++; n == 20 {
					return answer{err: &chat.Error{Kind: chat.ErrUnavailable, Message: "gone"}}
				}
				return model.answer(req)
			}}
			run := agent.New(breaks, reader(t), o).Run(ask("Read all pages."))
			if _, err := collect(run.Events(t.Context())); !errors.Is(err, chat.ErrUnavailable) {
				t.Fatal(err)
			}
			again, err := agent.New(model, reader(t), o).Resume(t.Context(), run.ID(), nil)
			if err != nil {
				t.Fatal(err)
			}
			before := len(sent)
			play(t, again)
			if again.Outcome().Text != "All read." || len(sent)-before != 31-(before-1) {
				t.Errorf("%d requests before, %d after it went on: %+v", before, len(sent)-before, again.Outcome())
			}
			checkAsked(t, store, run.ID(), slices.Insert(sent, before, (*chat.Request)(nil)))
		})
	})
}

// TestKilledLongRun kills a run that is longer than its model's context before and after each record, and lets it go
// on. What a model is sent is the same as if nobody had been killed, and no summary is written twice.
func TestKilledLongRun(t *testing.T) {
	o := agent.Options{Window: agent.Window{Tokens: 1150, Summarize: true},
		Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}}
	last := func(sent []*chat.Request) string { return dump(sent[len(sent)-1].Messages) }
	synctest.Test(t, func(t *testing.T) {
		var sent []*chat.Request
		o.Journal = new(journal.Memory)
		play(t, agent.New(pages(9, &sent), reader(t), o).Run(ask("Read all pages.")))
		want := last(sent)
		for at := 1; ; at++ {
			for _, after := range []bool{false, true} {
				store := &runtest.Dying{Store: new(journal.Memory), At: at, After: after}
				o.Journal = store
				sent = nil
				run := agent.New(pages(9, &sent), reader(t), o).Run(ask("Read all pages."))
				_, err := collect(run.Events(t.Context()))
				if !store.Dead() {
					return
				}
				if err == nil {
					continue // killed behind the end
				}
				time.Sleep(time.Hour)
				o.Journal = store.Store
				again, err := agent.New(pages(9, &sent), reader(t), o).Resume(t.Context(), run.ID(), nil)
				if errors.Is(err, journal.ErrNotFound) || errors.Is(err, agent.ErrEnded) {
					continue
				}
				if err != nil {
					t.Fatalf("append %d: %v", at, err)
				}
				play(t, again)
				where := fmt.Sprintf("append %d (%v), after=%t", at, store.Kinds(), after)
				if got := last(sent); got != want {
					t.Errorf("%s: the last request is\n%s\nwant\n%s", where, got, want)
				}
				checkSummaries(t, store.Store, again, true)
				if err := runtest.Strict(again.Messages()); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			}
		}
	})
}

// The next run of a session continues with the summary of the one before.
func TestSummaryOfTheSession(t *testing.T) {
	var sent []*chat.Request
	store := new(journal.Memory)
	o := agent.Options{Journal: store, Window: agent.Window{Tokens: 1400, Summarize: true},
		Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}}
	first := agent.New(pages(12, &sent), reader(t), o).Run(ask("Read all pages."))
	play(t, first)
	sent = nil
	second := agent.New(pages(12, &sent), reader(t),
		o).Run(&chat.Request{Model: "fake", Messages: append(first.Messages(), u("Thanks.")),
		Conversation: first.Session()})
	play(t, second)
	if len(sent) != 1 || !strings.Contains(sent[0].Messages[0].Text(), "This is a summary of them:\nPages up to") {
		t.Errorf("%d requests, the first one\n%s", len(sent), dump(sent[0].Messages))
	}
	checkAsked(t, store, second.ID(), sent)
	sent = nil
	changed := slices.Clone(first.Messages())
	changed[2].Parts = chat.Text("something else")
	play(t,
		agent.New(pages(12, &sent), reader(t),
			o).Run(&chat.Request{Model: "fake", Messages: append(changed, u("Thanks.")),
			Conversation: first.Session()}))
	if len(sent) != 2 || !strings.HasPrefix(sent[0].Messages[len(sent[0].Messages)-1].Text(), "Write a summary") {
		t.Errorf("%d requests: another conversation has the summary of this one", len(sent))
	}
}

// A model that writes no summary is sent less without one.
func TestNoSummary(t *testing.T) {
	var sent []*chat.Request
	inner, asked := pages(20, &sent), 0
	model := &modelFunc{func(req *chat.Request) answer {
		if strings.HasPrefix(req.Messages[len(req.Messages)-1].Text(), "Write a summary") {
			asked++
			return calls(call("", "page", "{}"))
		}
		return inner.answer(req)
	}}
	run := agent.New(model, reader(t), agent.Options{Window: agent.Window{Tokens: 2400, Summarize: true},
		Limits: agent.Limits{Iterations: 60, Calls: -1, PerTool: -1}}).Run(ask("Read all pages."))
	play(t, run)
	if run.Outcome().Text != "All read." || asked != 1 {
		t.Errorf("it was asked %d times: %+v", asked, run.Outcome())
	}
}

// The rest of a long output can be read when the process that had it is gone.
func TestReadsTheRestInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("0123456789", 10_000) + "the end"
		made := func() *runner.Runner {
			r := tools(t, reads("log", says(long)))
			if err := r.Settings().Tools.(*runner.Registry).Add(r.Settings().Shared.ReadOutput()); err != nil {
				t.Fatal(err)
			}
			return r
		}
		model := &modelFunc{func(req *chat.Request) answer {
			text := req.Messages[len(req.Messages)-1].Text()
			switch {
			case req.Messages[len(req.Messages)-1].Role == chat.RoleUser:
				return calls(call("", "log", "{}"))
			case strings.Contains(text, "read_output"):
				_, id, _ := strings.Cut(text, `{"id":"`)
				id, _, _ = strings.Cut(id, `"`)
				return calls(call("", "read_output", fmt.Sprintf(`{"id":%q,"offset":99990}`, id)))
			}
			return answer{text: text}
		}}
		store := new(journal.Memory)
		n := 0
		breaks := &modelFunc{func(req *chat.Request) answer {
			if n++; n == 2 {
				return answer{err: &chat.Error{Kind: chat.ErrUnavailable, Message: "gone"}}
			}
			return model.answer(req)
		}}
		o := agent.Options{Journal: store}
		run := agent.New(breaks, made(), o).Run(ask("Read the log."))
		if _, err := collect(run.Events(t.Context())); err == nil {
			t.Fatal("it did not break off")
		}
		again, err := agent.New(model, made(), o).Resume(t.Context(), run.ID(), nil)
		if err != nil {
			t.Fatal(err)
		}
		play(t, again)
		if got := again.Outcome().Text; !strings.Contains(got, "0123456789the end") {
			t.Errorf("it read %q", got)
		}
		if err := store.Delete(t.Context(), run.Session(), record.ReasonAsked); err != nil {
			t.Fatal(err)
		}
		for h := range store.Heads(t.Context(), journal.HeadQuery{Opened: record.KindObject}) {
			t.Errorf("%s outlives its session", h.Stream)
		}
	})
}

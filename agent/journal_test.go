package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// An effects counts what tools did, by the arguments of the call.
type effects struct {
	mu sync.Mutex
	n  map[string]int
}

func (f *effects) add(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = map[string]int{}
	}
	f.n[what]++
}

// script answers by how many results the conversation has, as a model that was killed and asked again would.
type scripted struct{ answers []answer }

func (m *scripted) model() *modelFunc {
	return &modelFunc{func(req *chat.Request) answer {
		turns := 0
		for _, msg := range req.Messages {
			if msg.Role == chat.RoleAssistant {
				turns++
			}
		}
		if err := runtest.Strict(req.Messages); err != nil {
			return answer{err: err}
		}
		if turns < len(m.answers) {
			return m.answers[turns]
		}
		return answer{text: "done"}
	}}
}

func killTools(t *testing.T, did *effects) *runner.Runner {
	does := func(kind string) func(context.Context, string) (string, error) {
		return func(_ context.Context, args string) (string, error) {
			did.add(kind + args)
			return "did " + args, nil
		}
	}
	repeats := writes("repeats", does("repeats"))
	repeats.Idempotent = true
	asks := writes("asks", does("asks"))
	asks.Dangerous, asks.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
	r := tools(t, reads("look", does("look")), writes("save", does("save")), repeats, asks)
	r = r.With(func(s *runner.Settings) { s.Approvals = new(runner.MemoryApprovals) })
	return r
}

// TestKilled kills runs of several turns, with tools of every kind and a question to a person, before and after each
// record that is written, and lets them go on. No call that may not be repeated runs twice, none is lost, each has one
// result, the conversation holds the order of strict servers and the chain of the journal is whole.
func TestKilled(t *testing.T) {
	s := &scripted{answers: []answer{
		{text: "First.", calls: []chat.Call{call("", "look", `{"n":1}`), call("", "save", `{"n":2}`),
			call("", "repeats", `{"n":3}`)}},
		{calls: []chat.Call{call("", "asks", `{"n":4}`), call("", "save", `{"n":5}`), call("", "look", `{"n":6}`)}},
		{calls: []chat.Call{call("", "repeats", `{"n":7}`), call("", "nothing", `{"n":8}`)}},
	}}
	points := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		for at := 1; ; at++ {
			finished := false
			for _, after := range []bool{false, true} {
				store := &runtest.Dying{Store: new(journal.Memory), At: at, After: after}
				did := new(effects)
				runner := killTools(t, did)
				id := killAndResume(t, s, store, runner)
				if !store.Dead() {
					finished = true
					break
				}
				where := fmt.Sprintf("append %d (%v), after=%t", at, store.Kinds(), after)
				points[fmt.Sprint(store.Kinds(), after)]++
				checkKilled(t, where, store.Store, id, did)
			}
			if finished {
				t.Logf("%d appends, %d kinds of points", at-1, len(points))
				return
			}
		}
	})
}

// killAndResume drives a run to its end, whatever happens. It returns its id.
func killAndResume(t *testing.T, s *scripted, store *runtest.Dying, r *runner.Runner) string {
	t.Helper()
	a := agent.New(s.model(), r, agent.Options{Journal: store, Wait: true})
	run := a.Run(ask("go"))
	id := run.ID()
	for range 6 {
		_, err := collect(run.Events(t.Context()))
		switch o := run.Outcome(); {
		case o.Reason == agent.EndWaiting:
			for _, w := range o.Waiting {
				approvals := &journal.Approvals{Store: store}
				if _, err := approvals.Decide(t.Context(), w.ID,
					runner.Answer{State: runner.ApprovalApproved}); err != nil && !errors.Is(err, runtest.ErrDead) &&
					!errors.Is(err, runner.ErrDecided) {
					t.Fatal(err)
				}
			}
		case err == nil:
			return id
		}
		if !store.Dead() {
			continue // a question was answered, and this process goes on
		}
		time.Sleep(20 * time.Minute) // the lease is over
		a = agent.New(s.model(), r, agent.Options{Journal: store.Store, Wait: true})
		next, err := a.Resume(t.Context(), id, nil)
		switch {
		case errors.Is(err, journal.ErrNotFound): // it was killed before there was a run
			return ""
		case errors.Is(err, agent.ErrEnded): // it was killed behind the last record
			return id
		case err != nil:
			t.Fatalf("append %d: %v", store.At, err)
		}
		run, store = next, &runtest.Dying{Store: store.Store}
	}
	t.Fatalf("append %d: the run does not come to an end: %+v", store.At, run.Outcome())
	return ""
}

func checkKilled(t *testing.T, where string, store journal.Store, id string, did *effects) {
	t.Helper()
	if id == "" {
		return
	}
	for what, n := range did.n {
		if n > 1 && !strings.HasPrefix(what, "repeats") {
			t.Errorf("%s: %s ran %d times", where, what, n)
		}
	}
	var messages []chat.Message
	count := map[string]int{}
	state := agent.NewState(agent.Limits{}, nil)
	ended := false
	for e, err := range store.Read(t.Context(), journal.Query{Stream: id}) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := &e.Record; r.Kind {
		case record.KindMessage:
			state.Add(r.Message.Message)
		case record.KindTurnEnd:
			if r.TurnEnd.Error == nil {
				state.Add(r.TurnEnd.Message)
			}
		case record.KindResult:
			count[r.Result.CallID]++
			result := r.Result.Result.Chat(&chat.Call{ID: r.Result.CallID}, tool.StylePlain)
			if !state.Add(result.Message()) {
				t.Errorf("%s: the result of %s has no call", where, r.Result.CallID)
			}
			if what := r.Result.Result.Error; strings.Contains(what, "not known") &&
				strings.Contains(string(r.Result.Result.Details), "unknown") && !r.Result.Started {
				t.Errorf("%s: a call that did not begin is unknown", where)
			}
		case record.KindEnd:
			ended = true
		}
	}
	messages = state.Messages
	if err := runtest.Strict(messages); err != nil {
		t.Errorf("%s: %v\n%s", where, err, dump(messages))
	}
	for _, n := range count {
		if n != 1 {
			t.Errorf("%s: a call has %d results", where, n)
		}
	}
	if len(count) != 8 || !ended {
		t.Errorf("%s: %d calls have results, ended=%t\n%s", where, len(count), ended, dump(messages))
	}
	// What has a good result was done; what was done and has none is said to be unknown.
	for _, r := range results(messages) {
		_, text, _ := strings.Cut(r, ": ")
		if args, ok := strings.CutPrefix(text, "did "); ok &&
			!slices.ContainsFunc([]string{"look", "save", "repeats", "asks"},
				func(k string) bool { return did.n[k+args] > 0 }) {
			t.Errorf("%s: %s was not done", where, args)
		}
	}
	journaltest.Whole(t, store)
}

// A run that waits goes on in another process, long after.
func TestWaitsInTheJournal(t *testing.T) {
	for _, tt := range []struct {
		answer runner.Answer
		want   string
	}{
		{runner.Answer{State: runner.ApprovalApproved}, `0: did {"n":1}`},
		{runner.Answer{State: runner.ApprovalEdited, Arguments: []byte(`{"n":2}`)}, `0: did {"n":2}`},
		{runner.Answer{State: runner.ApprovalDenied, Reason: "not today"}, "User denied approval"},
	} {
		t.Run(string(tt.answer.State), func(t *testing.T) {
			store := new(journal.Memory)
			s := &scripted{answers: []answer{calls(call("", "asks", `{"n":1}`))}}
			did := new(effects)
			first := agent.New(s.model(), killTools(t, did), agent.Options{Journal: store, Wait: true}).Run(ask("go"))
			play(t, first)
			if first.Outcome().Reason != agent.EndWaiting {
				t.Fatalf("the outcome is %+v", first.Outcome())
			}
			approvals := &journal.Approvals{Store: store}
			if _, err := approvals.Decide(t.Context(), first.Outcome().Waiting[0].ID, tt.answer); err != nil {
				t.Fatal(err)
			}
			if _, err := approvals.Decide(t.Context(), first.Outcome().Waiting[0].ID, tt.answer); !errors.Is(err,
				runner.ErrDecided) {
				t.Errorf("a second answer: %v", err)
			}
			other := agent.New(s.model(), killTools(t, did), agent.Options{Journal: store, Wait: true})
			second, err := other.Resume(t.Context(), first.ID(), nil)
			if err != nil {
				t.Fatal(err)
			}
			play(t, second)
			got := strings.Join(results(second.Messages()), "\n")
			if !strings.Contains(got, strings.TrimPrefix(tt.want, "0: ")) ||
				second.Outcome().Reason != agent.EndAnswer {
				t.Errorf("the results are %q, the outcome %+v", got, second.Outcome())
			}
			if err := runtest.Strict(second.Messages()); err != nil {
				t.Error(err)
			}
			if _, err := other.Resume(t.Context(), first.ID(), nil); !errors.Is(err, agent.ErrEnded) {
				t.Errorf("a run that is over: %v", err)
			}
		})
	}
}

// An ending store tells when the end of a run is about to be written.
type endingStore struct {
	journal.Store
	ending func()
}

func (s *endingStore) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64,
	error) {
	if records[len(records)-1].Kind == record.KindEnd {
		s.ending()
	}
	return s.Store.Append(ctx, stream, after, records...)
}

// What is sent to a run that has stopped stands in the journal, and the run continues with it. Behind its end there is
// nothing, whoever sends something at that moment.
func TestAcceptStopped(t *testing.T) {
	for _, stop := range []bool{false, true} {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			memory := new(journal.Memory)
			var run *agent.Run
			late := make(chan error, 1)
			store := &endingStore{memory, func() {
				go func() { late <- run.Accept(context.WithoutCancel(t.Context()), u("too late")) }()
				time.Sleep(10 * time.Millisecond) // so that it comes first if it can
			}}
			s := &scripted{answers: []answer{calls(call("", "asks", `{"n":1}`))}}
			run = agent.New(s.model(), killTools(t, new(effects)), agent.Options{Journal: store, Wait: true}).Run(
				ask("go"))
			play(t, run)
			if err := run.Accept(t.Context(), u("and more")); err != nil {
				t.Fatal(err)
			}
			answer := runner.Answer{State: runner.ApprovalApproved}
			if stop {
				answer = runner.Answer{State: runner.ApprovalDenied, Stop: true}
			}
			if _, err := (&journal.Approvals{Store: memory}).Decide(t.Context(), run.Outcome().Waiting[0].ID,
				answer); err != nil {
				t.Fatal(err)
			}
			_, err := collect(run.Events(t.Context()))
			if o := run.Outcome(); stop != (o.Reason == agent.EndCancel) || stop != (err != nil) {
				t.Fatalf("%v, %+v", err, o)
			}
			if err := <-late; !errors.Is(err, agent.ErrEnded) {
				t.Errorf("sent at its end: %v", err)
			}
			if said := run.Messages(); !slices.ContainsFunc(said,
				func(m chat.Message) bool { return m.Text() == "and more" }) {
				t.Errorf("the conversation is %+v", said)
			}
			var last record.Kind
			for e, err := range memory.Read(t.Context(), journal.Query{Stream: run.ID()}) {
				if err != nil {
					t.Fatal(err)
				}
				last = e.Record.Kind
			}
			if last != record.KindEnd {
				t.Errorf("the last record is of the kind %s", last)
			}
			journaltest.Whole(t, memory)
		})
	}
}

// A prompt store answers each question as it is written, before the run can wait for the answer.
type promptStore struct {
	journal.Store
	answer runner.Answer
}

func (s *promptStore) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64,
	error) {
	n, err := s.Store.Append(ctx, stream, after, records...)
	if err == nil && records[len(records)-1].Kind == record.KindQuestion {
		_, err = (&journal.Approvals{Store: s.Store}).Decide(ctx, stream, s.answer)
	}
	return n, err
}

// An answer that ends the run does so too if it comes before the run waits: the model is not asked again.
func TestStoppedAtOnce(t *testing.T) {
	for _, stop := range []bool{false, true} {
		store := &promptStore{new(journal.Memory), runner.Answer{State: runner.ApprovalDenied, Stop: stop}}
		s := &scripted{answers: []answer{calls(call("", "asks", `{"n":1}`)), {text: "Then not."}}}
		run := agent.New(s.model(), killTools(t, new(effects)), agent.Options{Journal: store, Wait: true}).Run(
			ask("go"))
		_, err := collect(run.Events(t.Context()))
		want, turns := agent.EndAnswer, 2
		if stop {
			want, turns = agent.EndCancel, 1
		}
		if o := run.Outcome(); o.Reason != want || o.Turns != turns || stop != (err != nil) {
			t.Errorf("stop %t: %v, %+v", stop, err, o)
		}
		journaltest.Whole(t, store.Store)
	}
}

// A run that was cut off behind its answer, when only its end was missing, comes to that end: with the answer.
func TestCutBehindTheAnswer(t *testing.T) {
	memory := new(journal.Memory)
	ctx, cancel := context.WithCancel(t.Context())
	s := &scripted{answers: []answer{calls(call("", "look", "{}")), {text: "It is x."}}}
	first := agent.New(s.model(), killTools(t, new(effects)),
		agent.Options{Journal: &cutting{memory, "It is x.", cancel}}).Run(ask("go"))
	if _, err := collect(first.Events(ctx)); err == nil || first.Outcome().Reason != agent.EndCancel {
		t.Fatalf("%v, %+v", err, first.Outcome())
	}
	second, err := agent.New(s.model(), killTools(t, new(effects)), agent.Options{Journal: memory}).Resume(t.Context(),
		first.ID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	play(t, second)
	if o := second.Outcome(); o.Reason != agent.EndAnswer || o.Text != "It is x." || o.Finish != chat.FinishStop ||
		o.Turns != 2 {
		t.Errorf("the outcome is %+v", o)
	}
	for e, err := range memory.Read(t.Context(),
		journal.Query{Stream: first.ID(), Kinds: []record.Kind{record.KindEnd}}) {
		if err != nil || e.Record.End.Reason != string(agent.EndAnswer) {
			t.Errorf("%+v, %v", e.Record.End, err)
		}
	}
}

// A cutting store cuts a run off when an answer is recorded.
type cutting struct {
	journal.Store
	text string
	cut  func()
}

func (s *cutting) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	if t := records[len(records)-1].TurnEnd; t != nil && t.Message.Text() == s.text {
		s.cut()
	}
	return s.Store.Append(ctx, stream, after, records...)
}

// Two cannot drive one run: the one who comes second is refused while the first one holds it.
func TestOneDrivesARun(t *testing.T) {
	store := new(journal.Memory)
	began, end := make(chan bool), make(chan bool)
	waits := func(context.Context, string) (string, error) {
		close(began)
		<-end
		return "x", nil
	}
	s := &scripted{answers: []answer{calls(call("", "waits", "{}"))}}
	a := agent.New(s.model(), tools(t, reads("waits", waits)), agent.Options{Journal: store, Wait: true})
	run := a.Run(ask("go"))
	done := make(chan error)
	go func() {
		_, err := collect(run.Events(t.Context()))
		done <- err
	}()
	<-began
	if _, err := a.Resume(t.Context(), run.ID(), nil); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

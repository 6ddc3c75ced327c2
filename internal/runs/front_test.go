package runs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool/runner"
	"wield/tool/runner/approvaltest"
)

// A reply is the answer to one request.
type reply struct {
	text, reasoning string
	calls           []chat.Call
	finish          chat.FinishReason
	usage           chat.Usage
	other           []chat.Event
	err             error
}

func request(ctx context.Context, m chat.Model, req *chat.Request) (r reply) {
	for e, err := range m.Stream(ctx, req) {
		switch {
		case err != nil:
			r.err = err
			return r
		case e.Kind == chat.KindText:
			r.text += e.Text
		case e.Kind == chat.KindReasoning:
			r.reasoning += e.Text
		case e.Kind == chat.KindCallEnd:
			r.calls = append(r.calls, *e.Detail.(*chat.Call))
		case e.Kind == chat.KindUsage:
			r.usage.Add(*e.Detail.(*chat.Usage))
		case e.Kind == chat.KindFinish:
			r.finish = e.Detail.(*chat.Finish).Reason
		case e.Kind != chat.KindIdle && e.Kind != chat.KindTurnStart && e.Kind != chat.KindTurnEnd &&
			e.Kind != chat.KindCallStart && e.Kind != chat.KindCallArgs:
			r.other = append(r.other, e)
		}
	}
	return r
}

// A talk is a client's copy of a conversation.
type talk struct {
	model    chat.Model
	tools    []chat.Tool
	caller   string
	messages []chat.Message
}

func (k *talk) request(t testing.TB) reply {
	t.Helper()
	r := request(t.Context(), k.model, &chat.Request{Messages: k.messages, Tools: k.tools, Caller: k.caller})
	if r.err != nil {
		t.Fatal(r.err)
	}
	k.messages = append(k.messages, chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(r.text), Calls: r.calls})
	return r
}

func (k *talk) say(t testing.TB, text string) reply {
	t.Helper()
	k.messages = append(k.messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)})
	return k.request(t)
}

// did hands in the results of the last calls.
func (k *talk) did(t testing.TB) reply {
	t.Helper()
	k.results()
	return k.request(t)
}

func (k *talk) results() {
	for _, c := range k.messages[len(k.messages)-1].Calls {
		k.messages = append(k.messages,
			chat.Message{Role: chat.RoleTool, CallID: c.ID, Parts: chat.Text("client did " + c.Arguments)})
	}
}

var door = []chat.Tool{{Name: "open_door", Description: "Opens a door.", Parameters: []byte(`{"type":"object"}`)}}

// The client sees one answer of one model: the texts of all turns, and nothing of the calls.
func TestModel(t *testing.T) {
	h := newHub(t, new(journal.Memory), twoTurns(), newShop(t))
	r := request(t.Context(), h.Model("worker"), ask("go"))
	if r.err != nil || r.text != "I look first.\n\nIt is two." || r.reasoning != "Let me think." ||
		r.finish != chat.FinishStop || len(r.calls)+len(r.other) > 0 {
		t.Errorf("the client gets %+v", r)
	}
	if r.usage.In != 6 || r.usage.Out != 4 {
		t.Errorf("the sum is %+v", r.usage)
	}
	if r := request(t.Context(), h.Model("nobody"), ask("go")); r.err == nil {
		t.Error("a model that is none answers")
	}
}

func TestActivity(t *testing.T) {
	for _, tt := range []struct {
		activity  runs.Activity
		reasoning string
		other     []chat.Kind
	}{
		{"", "Let me think.", nil},
		{runs.ActivityHidden, "Let me think.", nil},
		{runs.ActivityReasoning, "Let me think." + `[look {"n":1}]` + "\n" + `[look gave did {"n":1}]` + "\n" +
			`[save {"n":2}]` + "\n" + `[save gave did {"n":2}]` + "\n", nil},
		{runs.ActivityItems, "Let me think.", []chat.Kind{chat.KindNativeCall, chat.KindNativeResult,
			chat.KindNativeCall, chat.KindNativeResult}},
	} {
		h := runs.New(runs.Options{Journal: new(journal.Memory),
			Agents: []runs.Agent{{Name: "worker", Model: twoTurns(), Runner: newShop(t).runner,
				Activity: tt.activity}}})
		r := request(t.Context(), h.Model("worker"), ask("go"))
		var kinds []chat.Kind
		for _, e := range r.other {
			kinds = append(kinds, e.Kind)
		}
		if r.reasoning != tt.reasoning || fmt.Sprint(kinds) != fmt.Sprint(tt.other) ||
			r.text != "I look first.\n\nIt is two." {
			t.Errorf("%q: %+v, kinds %v", tt.activity, r, kinds)
		}
		drainNow(h)
	}
}

func mixed() *model {
	return &model{answers: []answer{
		{text: "Two things.", calls: []chat.Call{call("open_door", `{"n":1}`), call("save", `{"n":2}`),
			call("open_door", `{"n":3}`)}},
		{calls: []chat.Call{call("open_door", `{"n":4}`)}},
		{text: "All done."},
	}}
}

// Calls of both sides in one turn: the server's run first, the client gets its own, and the run goes on from the
// journal.
func TestMixedTools(t *testing.T) {
	store, s, m := new(journal.Memory), newShop(t), mixed()
	k := &talk{model: newHub(t, store, m, s).Model("worker"), tools: door, caller: "me"}
	first := k.say(t, "go")
	if first.text != "Two things." || len(first.calls) != 2 || first.finish != chat.FinishCalls ||
		first.calls[1].Index != 1 || s.count(`save{"n":2}`) != 1 {
		t.Fatalf("the first answer: %+v", first)
	}
	run, ok := agent.RunOf(first.calls[0].ID)
	if other, _ := agent.RunOf(first.calls[1].ID); !ok || other != run || first.calls[0].ID == first.calls[1].ID {
		t.Errorf("the ids are %s and %s", first.calls[0].ID, first.calls[1].ID)
	}
	// What the client says of earlier turns does not count, and another process can go on.
	k.messages[0].Parts = chat.Text("something else")
	k.messages = append(k.messages[:1],
		append([]chat.Message{{Role: chat.RoleAssistant, Parts: chat.Text("never said")}}, k.messages[1:]...)...)
	k.model = newHub(t, store, m, s).Model("worker")
	second := k.did(t)
	if second.text != "" || len(second.calls) != 1 || second.finish != chat.FinishCalls {
		t.Errorf("the second answer: %+v", second)
	}
	third := k.did(t)
	if third.text != "All done." || third.finish != chat.FinishStop {
		t.Errorf("the third answer: %+v", third)
	}
	asked := m.asked()
	var got []string
	for _, msg := range asked[len(asked)-1].Messages {
		got = append(got, string(msg.Role)+": "+msg.Text())
	}
	want := []string{"user: go", "assistant: Two things.", `tool: client did {"n":1}`, `tool: did {"n":2}`,
		`tool: client did {"n":3}`, "assistant: ", `tool: client did {"n":4}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the model is sent %q", got)
	}
	if n := s.count(`save{"n":2}`); n != 1 {
		t.Errorf("the server's call ran %d times", n)
	}
	// The same request again, because the answer was lost: the same answer, and nothing runs.
	k.messages = k.messages[:len(k.messages)-1]
	if again := k.request(t); again.text != "All done." || len(m.asked()) != len(asked) {
		t.Errorf("a second time: %+v, %d requests", again, len(m.asked()))
	}
}

// An answer that is heard late, when its run has gone on with a request up to the calls of its client, takes the run
// from nobody: the results would find it busy.
func TestHeardLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := new(journal.Memory), newShop(t)
		h := newHub(t, store, mixed(), s)
		defer drainNow(h)
		if err := h.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		k := &talk{model: h.Model("worker"), tools: door, caller: "me"}
		run, _ := agent.RunOf(k.say(t, "go").calls[0].ID)
		before := journaltest.List(t, store.Read(t.Context(), journal.Query{Stream: run}))
		beside := journal.Approvals{Store: store, Session: before[0].Session, Run: run}
		q, err := beside.Ask(t.Context(), approvaltest.Question("binding"))
		if err == nil {
			_, err = beside.Decide(t.Context(), q.ID, runner.Answer{State: runner.ApprovalApproved})
		}
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		after := journaltest.List(t, store.Read(t.Context(), journal.Query{Stream: run}))
		if len(after) != len(before) {
			t.Errorf("the run was taken: its record %d is of the kind %s", len(before)+1,
				after[len(before)].Record.Kind)
		}
		if second := k.did(t); len(second.calls) != 1 {
			t.Errorf("the second answer: %+v", second)
		}
	})
}

// A lingering store belongs to a process that takes a while to let go of a run.
type lingering struct{ journal.Store }

func (s lingering) Release(ctx context.Context, l journal.Lease) error {
	time.Sleep(time.Second)
	return s.Store.Release(ctx, l)
}

// An answer in the background tells its client of calls as soon as they stand in the journal. The results find the
// run still in the hands of who drove it, here or in another process, and wait until it is let go of.
func TestResultsAtOnce(t *testing.T) {
	for _, beside := range []bool{false, true} {
		t.Run(fmt.Sprint(beside), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory, s, m := new(journal.Memory), newShop(t), mixed()
				first := newHub(t, lingering{memory}, m, s)
				defer drainNow(first)
				second := first
				if beside {
					second = newHub(t, memory, m, s)
					defer drainNow(second)
				}
				k := &talk{model: second.Model("worker"), tools: door, caller: "me"}
				for n := range 2 {
					in := &chat.Request{
						Messages: append(k.messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text("go")}),
						Tools:    door, Caller: "me"}
					name, err := first.Answers("worker").Begin(t.Context(), in)
					if err != nil {
						t.Fatal(err)
					}
					begun := time.Now()
					told := request(t.Context(), first.Answers("worker").Answer(name), in)
					if told.err != nil || len(told.calls) != 2 || time.Since(begun) != 0 {
						t.Fatalf("conversation %d: told %+v after %s", n, told, time.Since(begun))
					}
					k.messages = append(in.Messages,
						chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(told.text), Calls: told.calls})
					if r := k.did(t); len(r.calls) != 1 {
						t.Errorf("conversation %d: the results give %+v", n, r)
					}
					if r := k.did(t); r.text != "All done." {
						t.Errorf("conversation %d: the last results give %+v", n, r)
					}
				}
			})
		})
	}
}

// A cutting store cuts a client off when an answer is recorded.
type cutting struct {
	journal.Store
	text string
	cut  func()
}

func (s *cutting) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	if t := records[len(records)-1].TurnEnd; s.cut != nil && t != nil && t.Message.Text() == s.text {
		s.cut()
	}
	return s.Store.Append(ctx, stream, after, records...)
}

// A request with results that broke off is made again: the client gets what was answered to it meanwhile, and what it
// said besides is read once.
func TestAskedAgain(t *testing.T) {
	for _, text := range []string{"I save.", "All done."} {
		for _, background := range []bool{false, true} {
			t.Run(fmt.Sprint(text, background), func(t *testing.T) {
				store, s := &cutting{Store: new(journal.Memory), text: text}, newShop(t)
				m := &model{answers: []answer{{calls: []chat.Call{call("open_door", "{}")}}}}
				h := newHub(t, store, m, s)
				k := &talk{model: h.Model("worker"), tools: door, caller: "me"}
				k.say(t, "go")
				k.results()
				k.messages = append(k.messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text("and hurry")})
				m.answers = []answer{{text: "I save.", calls: []chat.Call{call("save", "{}")}}, {text: "All done."}}
				ctx, cancel := context.WithCancel(t.Context())
				store.cut = cancel
				req := &chat.Request{Messages: k.messages, Tools: k.tools, Caller: k.caller}
				if r := request(ctx, k.model, req); r.err == nil {
					t.Fatalf("it did not break off: %+v", r)
				}
				store.cut = nil
				again := k.model
				if background {
					name, err := h.Answers("worker").Begin(t.Context(), req)
					if err != nil {
						t.Fatal(err)
					}
					again = h.Answers("worker").Answer(name)
				}
				if r := request(t.Context(), again, req); r.err != nil || r.text != "I save.\n\nAll done." ||
					s.count("save{}") != 1 {
					t.Errorf("again: %+v", r)
				}
				asked := m.asked()
				n := 0
				for _, msg := range asked[len(asked)-1].Messages {
					if msg.Text() == "and hurry" {
						n++
					}
				}
				if n != 1 {
					t.Errorf("the model reads it %d times", n)
				}
			})
		}
	}
}

// What cannot go on is said, with the run's name.
func TestMixedErrors(t *testing.T) {
	store, s, m := new(journal.Memory), newShop(t), mixed()
	k := &talk{model: newHub(t, store, m, s).Model("worker"), tools: door, caller: "me"}
	first := k.say(t, "go")
	run, _ := agent.RunOf(first.calls[0].ID)
	k.results()
	all := k.messages
	for _, tt := range []struct {
		name string
		talk talk
		says string
		kind chat.ErrorKind
	}{
		{"the journal is gone", talk{newHub(t, new(journal.Memory), m, s).Model("worker"), door, "me", all}, run,
			chat.ErrNotFound},
		{"another key", talk{k.model, door, "you", all}, run, chat.ErrNotFound},
		{"a result is missing", talk{k.model, door, "me", all[:len(all)-1]}, first.calls[1].ID, chat.ErrBadRequest},
		{"a result too many", talk{k.model, door, "me", append(all[:len(all):len(all)], all[len(all)-1])},
			first.calls[1].ID, chat.ErrBadRequest},
	} {
		r := request(t.Context(), tt.talk.model, &chat.Request{Messages: tt.talk.messages, Tools: tt.talk.tools,
			Caller: tt.talk.caller})
		if r.err == nil || !strings.Contains(r.err.Error(), tt.says) || chat.AsError(r.err).Kind != tt.kind {
			t.Errorf("%s: %v", tt.name, r.err)
		}
	}
	if r := k.request(t); len(r.calls) != 1 {
		t.Errorf("afterwards: %+v", r)
	}
}

// One name on both sides.
func TestCollisions(t *testing.T) {
	for _, tt := range []struct {
		collisions  runs.Collisions
		calls, runs int
	}{{"", 0, 0}, {runs.CollisionsError, 0, 0}, {runs.CollisionsClient, 1, 0}, {runs.CollisionsServer, 0, 1}} {
		s := newShop(t)
		m := &model{answers: []answer{{calls: []chat.Call{call("save", `{}`)}}, {text: "done"}}}
		h := runs.New(runs.Options{Journal: new(journal.Memory),
			Agents: []runs.Agent{{Name: "worker", Model: m, Runner: s.runner, Collisions: tt.collisions}}})
		req := ask("go")
		req.Tools = []chat.Tool{{Name: "save"}}
		r := request(t.Context(), h.Model("worker"), req)
		if wrong := tt.calls+tt.runs == 0; wrong != (r.err != nil) || len(r.calls) != tt.calls ||
			s.count("save{}") != tt.runs {
			t.Errorf("%q: %+v, %d ran", tt.collisions, r, s.count("save{}"))
		}
		for _, req := range m.asked() {
			names := map[string]int{}
			for _, tool := range req.Tools {
				names[tool.Name]++
			}
			if names["save"] != 1 {
				t.Errorf("%q: the model is offered %v", tt.collisions, names)
			}
		}
		drainNow(h)
	}
}

// A question ends the answer; the next one says what became of it.
func TestApprovalBehindModel(t *testing.T) {
	yes := runner.Answer{State: runner.ApprovalApproved, By: "me"}
	no := runner.Answer{State: runner.ApprovalDenied, By: "me", Reason: "not now"}
	for _, tt := range []struct {
		name   string
		answer runner.Answer
		says   string
		ran    int
		while  bool // nobody continues the run but the request
	}{
		{"approved", yes, "The approval of asks is approved by me.\n\nThanks.\n\ndone", 1, false},
		{"denied", no, "The approval of asks is denied by me: not now.\n\nThanks.\n\ndone", 0, false},
		{"approved elsewhere", yes, "The approval of asks is approved by me.\n\nThanks.\n\ndone", 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s, m := new(journal.Memory), newShop(t), asksOnce()
				h := runs.New(runs.Options{Journal: store, Address: "http://x/approvals/",
					Agents: []runs.Agent{{Name: "worker", Model: m, Runner: s.runner}}})
				defer drainNow(h)
				k := &talk{model: h.Model("worker"), caller: "me"}
				first := k.say(t, "go")
				id := ""
				for p := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
					id = p.ID
				}
				if !strings.HasPrefix(first.text, "May I?\n\nasks needs an approval before it runs (approval "+id+
					" of run_") ||
					!strings.Contains(first.text, "http://x/approvals/"+id) || first.finish != chat.FinishStop {
					t.Fatalf("the first answer: %q", first.text)
				}
				if again := k.say(t, "well?"); !strings.Contains(again.text, id) || len(m.asked()) != 1 {
					t.Errorf("before the answer: %q, %d requests", again.text, len(m.asked()))
				}
				decide := h.Decide
				if tt.while {
					decide = (&journal.Approvals{Store: store}).Decide
				}
				if _, err := decide(t.Context(), id, tt.answer); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				m.mu.Lock()
				m.answers = m.answers[:2]
				m.mu.Unlock()
				next := k.say(t, "and now?")
				if n := s.count(`asks{"n":1}`); n != tt.ran {
					t.Errorf("it ran %d times", n)
				}
				if want := strings.TrimSuffix(tt.says, "done"); !strings.HasPrefix(next.text, want) {
					t.Errorf("the next answer: %q", next.text)
				}
				asked := m.asked()
				last := asked[len(asked)-1].Messages
				if last[len(last)-1].Text() != "and now?" || last[0].Text() != "go" {
					t.Errorf("the model is sent %+v", last)
				}
			})
		})
	}
}

// Another process may be the one that goes on after an answer. A request that comes here meanwhile waits for what it
// makes of it.
func TestApprovalBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s, m := new(journal.Memory), newShop(t), asksOnce()
		m.answers[1].wait = make(chan bool)
		first, second := newHub(t, store, m, s), newHub(t, store, m, s)
		defer drainNow(first)
		defer drainNow(second)
		k := &talk{model: second.Model("worker"), caller: "me"}
		k.say(t, "go")
		for p := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
			if _, err := first.Decide(t.Context(), p.ID,
				runner.Answer{State: runner.ApprovalApproved, By: "me"}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		time.AfterFunc(time.Minute, func() { close(m.answers[1].wait) })
		if next := k.say(t, "and now?"); !strings.HasPrefix(next.text,
			"The approval of asks is approved by me.\n\nThanks.\n\nMay I?") {
			t.Errorf("the next answer: %q", next.text)
		}
		if n := s.count(`asks{"n":1}`); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// A question that is answered while the answer is held open does not end it.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := new(journal.Memory), newShop(t)
		h := runs.New(runs.Options{Journal: store,
			Agents: []runs.Agent{{Name: "worker", Model: asksOnce(), Runner: s.runner, Hold: time.Minute}}})
		defer drainNow(h)
		got := make(chan reply)
		go func() { got <- request(t.Context(), h.Model("worker"), ask("go")) }()
		time.Sleep(30 * time.Second)
		for p := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
			if _, err := h.Decide(t.Context(), p.ID, runner.Answer{State: runner.ApprovalApproved}); err != nil {
				t.Fatal(err)
			}
		}
		if r := <-got; r.err != nil || r.text != "May I?\n\nThanks." || s.count(`asks{"n":1}`) != 1 {
			t.Errorf("the answer: %+v", r)
		}
		begun := time.Now()
		r := request(t.Context(), h.Model("worker"), ask("go"))
		if took := time.Since(begun); took != time.Minute || !strings.Contains(r.text, "needs an approval") {
			t.Errorf("nobody answers: %+v after %v", r, took)
		}
	})
}

// A client that goes away takes its run with it, and no later process continues it.
func TestClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s, m := new(journal.Memory), newShop(t), twoTurns()
		m.answers[1].wait = make(chan bool)
		h := newHub(t, store, m, s)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan reply)
		go func() { got <- request(ctx, h.Model("worker"), ask("go")) }()
		synctest.Wait()
		cancel()
		if r := <-got; chat.AsError(r.err).Kind != chat.ErrCanceled {
			t.Errorf("the answer: %+v", r)
		}
		next := newHub(t, store, m, s)
		if err := next.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := len(m.asked()); n != 2 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

// An agent that is asked for its last answer and only calls is not silent: the client reads what happened.
func TestLimitWithoutAnAnswer(t *testing.T) {
	h := runs.New(runs.Options{Journal: new(journal.Memory),
		Agents: []runs.Agent{{Name: "worker", Runner: newShop(t).runner,
			Model:   &model{answers: []answer{{calls: []chat.Call{call("look", `{"n":1}`)}}}},
			Options: agent.Options{Limits: agent.Limits{Iterations: 1}}}}})
	r := request(t.Context(), h.Model("worker"), ask("go"))
	if want := "The limit on iterations was reached before the model had answered."; r.err != nil || r.text != want {
		t.Errorf("the client gets %+v", r)
	}
}

// TestRequestKilled kills the process that answers a request: at the next start, or in a service beside it, the run is
// known to be interrupted, and is resumed only by somebody. That of a process that lives goes on.
func TestRequestKilled(t *testing.T) {
	for _, how := range []string{"killed", "killed beside", "killed beside two", "alive"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s, m := &dying{Store: new(journal.Memory)}, newShop(t), twoTurns()
				wait := make(chan bool)
				m.answers[1].wait = wait
				beside := &claiming{Store: store.Store}
				first, second := newHub(t, store, m, s), newHub(t, beside, m, s)
				recoverAll := func() {
					if err := second.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				switch how {
				case "killed beside two":
					beside.before = func() { newHub(t, store.Store, m, s).Recover(t.Context()) }
					fallthrough
				case "killed beside":
					recoverAll()
				}
				done := make(chan reply)
				ctx, leave := context.WithCancel(t.Context())
				go func() { done <- request(ctx, first.Model("worker"), ask("go")) }()
				synctest.Wait()
				if how == "alive" {
					recoverAll()
					time.Sleep(time.Minute)
					close(wait)
					if r := <-done; r.err != nil || !strings.Contains(r.text, "It is two.") {
						t.Errorf("the client gets %+v", r)
					}
				} else {
					store.die()
					leave()
					<-done
					drainNow(first)
				}
				leave()
				if how == "killed" {
					recoverAll()
				}
				time.Sleep(time.Minute)
				want := map[bool]journal.Status{true: journal.StatusDone, false: journal.StatusInterrupted}[how == "alive"]
				waits := 0
				for head, err := range store.Store.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
					if err != nil {
						t.Fatal(err)
					}
					var last *record.Record
					for e, err := range store.Store.Read(t.Context(), journal.Query{Stream: head.Stream,
						Kinds: []record.Kind{record.KindWait, record.KindEnd}}) {
						if err != nil {
							t.Fatal(err)
						}
						if last = &e.Record; last.Wait != nil {
							waits++
						}
					}
					if got := journal.StatusOf(head.State, last); got != want {
						t.Errorf("the run is %s, not %s", got, want)
					}
				}
				if want == journal.StatusInterrupted && waits != 1 {
					t.Errorf("it was noted %d times", waits)
				}
				if n := s.count(`look{"n":1}`); n > 1 {
					t.Errorf("a call ran %d times", n)
				}
			})
		})
	}
}

// A claiming store has something happen before it is first asked for a lease.
type claiming struct {
	journal.Store
	before func()
}

func (c *claiming) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (journal.Lease, error) {
	if before := c.before; before != nil {
		c.before = nil
		before()
	}
	return c.Store.Claim(ctx, stream, owner, ttl)
}

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/internal/runtest"
	"wield/journal"
	"wield/tool"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// texts returns the text of a stream's events.
func texts(events []chat.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == chat.KindText {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func TestReasonActAnswer(t *testing.T) {
	model := &fakeModel{answers: []answer{
		{text: "Let me see. ", calls: []chat.Call{call("c1", "calculator", `{"expression":"123 * 45"}`)},
			usage: chat.Usage{Known: true, In: 10, Out: 5}},
		{text: "It is 5535.", usage: chat.Usage{Known: true, In: 20, Out: 7}},
	}}
	run := agent.New(model, tools(t, reads("calculator", says("5535"))), agent.Options{}).Run(ask("What is 123 * 45?"))
	events := play(t, run)

	want := []chat.Message{
		{Role: chat.RoleUser, Parts: chat.Text("What is 123 * 45?")},
		{Role: chat.RoleAssistant, Parts: chat.Text("Let me see. "),
			Calls: []chat.Call{{ID: "c1", Name: "calculator", Arguments: `{"expression":"123 * 45"}`, Complete: true}}},
		{Role: chat.RoleTool, CallID: "c1", Name: "calculator", Parts: chat.Text("5535")},
		{Role: chat.RoleAssistant, Parts: chat.Text("It is 5535.")},
	}
	if got, w := dump(run.Messages()), dump(want); got != w {
		t.Errorf("the conversation is\n%s\nnot\n%s", got, w)
	}
	if got := dump(model.requests[1].Messages); got != dump(want[:3]) {
		t.Errorf("the second request holds\n%s", got)
	}
	// Act comes before the second turn, and the answer after it piece by piece (D-23).
	if got := texts(events); got != "Let me see. It is 5535." {
		t.Errorf("the text is %q", got)
	}
	var order []string
	pieces := 0
	for _, e := range events {
		switch e.Kind {
		case chat.KindTurnStart, chat.KindCallEnd, chat.KindResult, chat.KindUsage, chat.KindFinish:
			order = append(order, fmt.Sprint(e.Kind, " ", e.Turn))
		case chat.KindText:
			if e.Turn == 1 {
				pieces++
			}
		}
	}
	wantOrder := "turn_start 0, call_end 0, result 0, turn_start 1, usage 1, finish 1"
	if got := strings.Join(order, ", "); got != wantOrder {
		t.Errorf("the events are %s\nwant %s", got, wantOrder)
	}
	if pieces < 2 {
		t.Errorf("the answer came in %d pieces", pieces)
	}
	o := run.Outcome()
	if o.Reason != agent.EndAnswer || o.Text != "It is 5535." || o.Turns != 2 || o.Calls != 1 || o.Limit != "" {
		t.Errorf("the outcome is %+v", o)
	}
	if u := o.Usage; u.In != 30 || u.Out != 12 || u.Requests != 2 {
		t.Errorf("the usage is %+v", u)
	}
}

func dump(messages []chat.Message) string {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&b, "%s %q error=%t", m.Role, m.Text(), m.IsError)
		if m.CallID != "" {
			fmt.Fprintf(&b, " of %s", m.CallID)
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " call %s %s %s", c.ID, c.Name, c.Arguments)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestIsAModel drives a run through the interface that fronts know.
func TestIsAModel(t *testing.T) {
	model := &fakeModel{answers: []answer{calls(call("", "look", "{}")), {text: "seen"}}}
	var m chat.Model = agent.New(model, tools(t, reads("look", says("x"))), agent.Options{})
	events, err := collect(m.Stream(t.Context(), ask("look")))
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if last.Kind != chat.KindFinish || last.Detail.(*chat.Finish).Reason != chat.FinishStop {
		t.Errorf("the last event is %s %+v", last.Kind, last.Detail.(*chat.Finish))
	}
}

// TestModelWithToolsOfItsClient has an agent asked as any model with tools is: its own calls have results in the
// stream, those of the client end it, and the next request brings their results.
func TestModelWithToolsOfItsClient(t *testing.T) {
	for _, own := range []chat.Tool{{Name: "door"}, {Name: "house", Members: []chat.Tool{{Name: "door"}}}} {
		t.Run(own.Name, func(t *testing.T) { checkToolOfClient(t, own) })
	}
}

func checkToolOfClient(t *testing.T, own chat.Tool) {
	model := &fakeModel{answers: []answer{calls(call("a", "look", "{}"), call("b", "door", "{}")), {text: "open"}}}
	var m chat.Model = agent.New(model, tools(t, reads("look", says("x"))), agent.Options{})
	req := ask("open the door")
	req.Tools = []chat.Tool{own}
	stream := m.Stream(t.Context(), req)
	events, err := collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	answer := chat.Message{Role: chat.RoleAssistant}
	var results []chat.Message
	for _, e := range events {
		switch e.Kind {
		case chat.KindCallEnd:
			answer.Calls = append(answer.Calls, *e.Detail.(*chat.Call))
		case chat.KindResult:
			results = append(results, e.Detail.(*chat.Result).Message())
		}
	}
	last := events[len(events)-1]
	if last.Kind != chat.KindFinish || last.Detail.(*chat.Finish).Reason != chat.FinishCalls ||
		len(answer.Calls) != 2 || len(results) != 1 || results[0].CallID != "a" {
		t.Fatalf("the stream ends with %s, calls %+v, results %+v", last.Kind, answer.Calls, results)
	}
	if _, err := collect(stream); !errors.Is(err, agent.ErrEnded) || len(model.requests) != 1 {
		t.Errorf("a second range over the stream: %v, %d requests", err, len(model.requests))
	}
	req.Messages = append(req.Messages, answer, results[0],
		chat.Message{Role: chat.RoleTool, CallID: "b", Name: "door", Parts: chat.Text("ok")})
	if events, err = collect(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if last = events[len(events)-1]; last.Detail.(*chat.Finish).Reason != chat.FinishStop || len(model.requests) != 2 {
		t.Errorf("with the result: %+v after %d requests", last.Detail, len(model.requests))
	}
	req.Tools = append(req.Tools, chat.Tool{Name: "look"})
	if _, err := collect(m.Stream(t.Context(), req)); !errors.Is(err, chat.ErrBadRequest) ||
		!strings.Contains(err.Error(), "look") {
		t.Errorf("a tool of the same name on both sides: %v", err)
	}
}

func TestEveryCallHasOneResult(t *testing.T) {
	panics := func(context.Context, string) (string, error) { panic("broken") }
	fails := func(context.Context, string) (string, error) {
		return "", errors.New("File not found: missing-file.txt")
	}
	model := &fakeModel{answers: []answer{
		calls(call("a", "look", "{}"), call("a", "fails", "{}"), call("", "panics", "{}"),
			call("d", "no_such_tool", "{}"), call("e", "look", "[broken")),
		calls(call("a", "look", `{"n":1}`)),
	}}
	run := agent.New(model, tools(t, reads("look", says("x")), reads("fails", fails), reads("panics", panics)),
		agent.Options{}).Run(ask("go"))
	play(t, run)
	if err := runtest.Strict(run.Messages()); err != nil {
		t.Error(err)
	}
	got := results(run.Messages())
	want := []string{"a: x", "a_2: Error: File not found: missing-file.txt", "call_2: Error: Unexpected error: ",
		"d: Error: Tool no_such_tool not found", "e: Error: ", "a_3: x"}
	if len(got) != len(want) {
		t.Fatalf("the results are %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("result %d is %q, not %q..", i, got[i], want[i])
		}
	}
}

// TestParallel holds what changes nothing to run together, and what changes something to run alone and in its place.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		var mu sync.Mutex
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, s)
		}
		slow := func(_ context.Context, args string) (string, error) {
			note("begin " + args)
			time.Sleep(time.Second)
			note("end " + args)
			return args, nil
		}
		model := &fakeModel{answers: []answer{calls(call("1", "look", `{"n":1}`), call("2", "look", `{"n":2}`),
			call("3", "write", `{"n":3}`), call("4", "look", `{"n":4}`), call("5", "write", `{"n":5}`))}}
		run := agent.New(model, tools(t, reads("look", slow), writes("write", slow)), agent.Options{}).Run(ask("go"))
		began := time.Now()
		play(t, run)
		if d := time.Since(began); d != 4*time.Second {
			t.Errorf("it took %s: two together, and three alone", d)
		}
		slices.Sort(log[:2])
		slices.Sort(log[2:4])
		want := `begin {"n":1} begin {"n":2} end {"n":1} end {"n":2} begin {"n":3} end {"n":3} begin {"n":4} end {"n":4} begin {"n":5} end {"n":5}`
		if got := strings.Join(log, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := results(run.Messages()); !slices.Equal(got, []string{`1: {"n":1}`, `2: {"n":2}`, `3: {"n":3}`,
			`4: {"n":4}`, `5: {"n":5}`}) {
			t.Errorf("the results are %q", got)
		}
	})
}

// TestLimits plays models that would call for ever.
func TestLimits(t *testing.T) {
	var n atomic.Int64
	endless := func(name string) *answer { return &answer{text: "again ", calls: []chat.Call{call("", name, "{}")}} }
	fresh := func(context.Context, string) (string, error) { return fmt.Sprint(n.Add(1)), nil }
	failing := func(context.Context, string) (string, error) { return "", errors.New("no") }
	tests := []struct {
		name    string
		limits  agent.Limits
		prices  agent.Prices
		then    *answer
		want    agent.Outcome
		ran     int64
		literal bool // the model was told in D's words
	}{
		{name: "ER-21 iterations, by default 10", limits: agent.Limits{PerTool: -1}, then: endless("fresh"),
			want: agent.Outcome{Reason: agent.EndAnswer, Limit: agent.LimitIterations, Text: "done", Turns: 10,
				Calls: 9}, ran: 9},
		{name: "calls", limits: agent.Limits{Calls: 3}, then: endless("fresh"),
			want: agent.Outcome{Reason: agent.EndAnswer, Limit: agent.LimitCalls, Text: "done", Turns: 4, Calls: 3},
			ran:  3, literal: true},
		{name: "calls of one tool", limits: agent.Limits{PerTool: 2, Iterations: 5}, then: endless("fresh"),
			want: agent.Outcome{Reason: agent.EndAnswer, Limit: agent.LimitIterations, Text: "done", Turns: 5,
				Calls: 4}, ran: 2},
		{name: "tokens", limits: agent.Limits{Tokens: 250},
			then: &answer{calls: endless("fresh").calls, usage: chat.Usage{Known: true, In: 90, Out: 10}},
			want: agent.Outcome{Reason: agent.EndAnswer, Limit: agent.LimitTokens, Text: "done", Turns: 4, Calls: 3},
			ran:  2},
		{name: "cost", limits: agent.Limits{Cost: 0.5}, prices: agent.Prices{Known: true, In: 1000, Out: 10000},
			then: &answer{calls: endless("fresh").calls, usage: chat.Usage{Known: true, In: 100, Out: 10}},
			want: agent.Outcome{Reason: agent.EndAnswer, Limit: agent.LimitCost, Text: "done", Turns: 4, Calls: 3},
			ran:  2},
		{name: "the same call", limits: agent.Limits{}, then: endless("same"),
			want: agent.Outcome{Reason: agent.EndAnswer, Limit: agent.LimitRepeats, Text: "done", Turns: 7, Calls: 6}},
		{name: "the same call that fails", limits: agent.Limits{}, then: endless("failing"),
			want: agent.Outcome{Reason: agent.EndAnswer, Limit: agent.LimitRepeats, Text: "done", Turns: 7, Calls: 6,
				Failing: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.Store(0)
			model := &fakeModel{then: tt.then}
			run := agent.New(model, tools(t, reads("fresh", fresh), reads("same", says("x")),
				reads("failing", failing)),
				agent.Options{Limits: tt.limits, Prices: tt.prices}).Run(ask("go"))
			play(t, run)
			o := run.Outcome()
			if o.Reason != tt.want.Reason || o.Limit != tt.want.Limit || o.Text != tt.want.Text ||
				o.Turns != tt.want.Turns || o.Calls != tt.want.Calls || o.Failing != tt.want.Failing {
				t.Errorf("the outcome is %+v", o)
			}
			if n.Load() != tt.ran {
				t.Errorf("%d calls ran, not %d", n.Load(), tt.ran)
			}
			if err := runtest.Strict(run.Messages()); err != nil {
				t.Error(err)
			}
			last := model.requests[len(model.requests)-1]
			if last.Choice.Mode != chat.ChoiceNone || len(last.Tools) == 0 {
				t.Errorf("the last request leaves the choice %s, with %d tools", last.Choice.Mode, len(last.Tools))
			}
			if told := last.Messages[len(last.Messages)-1].Text(); tt.literal != (told == agent.TextOverLimit) {
				t.Errorf("the model was told %q", told)
			}
		})
	}
}

// A model that calls even in its last answer ends the run: the calls get results and do not run.
func TestLastAnswerThatCalls(t *testing.T) {
	ran := 0
	counts := func(context.Context, string) (string, error) { ran++; return fmt.Sprint(ran), nil }
	model := &fakeModel{answers: []answer{calls(call("1", "look", "{}")), calls(call("2", "look", "{}"))}}
	run := agent.New(model, tools(t, reads("look", counts)), agent.Options{Limits: agent.Limits{Iterations: 2}}).Run(
		ask("go"))
	play(t, run)
	if o := run.Outcome(); o.Reason != agent.EndLimit || o.Limit != agent.LimitIterations || ran != 1 {
		t.Errorf("%d calls ran, and the outcome is %+v", ran, o)
	}
	if got := results(run.Messages()); !slices.Equal(got,
		[]string{"1: 1", "2: Tool limit reached. Summarize with what you have"}) {
		t.Errorf("the results are %q", got)
	}
}

// A model that writes a call as text in its last answer does not have it shown: the answer is what stands
// beside the call.
func TestLastAnswerThatWritesACall(t *testing.T) {
	const written = "<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>"
	for _, tt := range []struct {
		name, last, want string
		reason           agent.EndReason
	}{
		{"beside text", "Two so far.\n" + written, "Two so far.", agent.EndAnswer},
		{"alone", written, "", agent.EndLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ran := 0
			counts := func(context.Context, string) (string, error) { ran++; return "2", nil }
			model := &fakeModel{answers: []answer{{text: written}, {text: tt.last}}}
			b := bridge.New(model, bridge.Options{Mode: bridge.ModeText})
			run := agent.New(b, tools(t, reads("look", counts)),
				agent.Options{Limits: agent.Limits{Iterations: 2}}).Run(ask("go"))
			events := play(t, run)
			o := run.Outcome()
			if got := strings.TrimSpace(texts(events)); got != tt.want || strings.TrimSpace(o.Text) != tt.want ||
				o.Reason != tt.reason || ran != 1 {
				t.Errorf("%d calls ran, the text is %q, and the outcome is %+v", ran, got, o)
			}
			if err := runtest.Strict(run.Messages()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDR13 holds defects of a seed: an over-limit result keeps its call, varied names do not get around the
// limits, text beside calls stays.
func TestDR13(t *testing.T) {
	var many []chat.Call
	var made []*tool.Tool
	for i := range 30 {
		name := fmt.Sprintf("t%d", i)
		many = append(many, call("", name, "{}"))
		made = append(made, reads(name, says("x")))
	}
	model := &fakeModel{answers: []answer{{text: "All at once.", calls: many}}}
	run := agent.New(model, tools(t, made...), agent.Options{}).Run(ask("go"))
	play(t, run)
	messages := run.Messages()
	if err := runtest.Strict(messages); err != nil {
		t.Error(err)
	}
	if messages[1].Text() != "All at once." || len(messages[1].Calls) != 30 {
		t.Errorf("the answer became %q with %d calls", messages[1].Text(), len(messages[1].Calls))
	}
	over := 0
	for _, r := range results(messages) {
		if strings.HasSuffix(r, ": Tool limit reached. Summarize with what you have") {
			over++
		}
	}
	if over != 10 {
		t.Errorf("%d results are over the limit, not 10", over)
	}
}

// What retries a model call repeats no tool (DR-13, X-E30): the first turn's calls run once though the second
// turn fails twice.
func TestRetryRepeatsNoTool(t *testing.T) {
	ran := 0
	counts := func(context.Context, string) (string, error) { ran++; return "saved", nil }
	inner := &fakeModel{answers: []answer{
		calls(call("1", "save", "{}")),
		{text: "half an ans", calls: []chat.Call{call("2", "save", `{"again":1}`)},
			err: &chat.Error{Kind: chat.ErrUnavailable, Message: "gone"}},
	}}
	run := agent.New(inner, tools(t, writes("save", counts)),
		agent.Options{}).Run(ask("Search for X and save the results"))
	_, err := collect(run.Events(t.Context()))
	if !errors.Is(err, chat.ErrUnavailable) || ran != 1 {
		t.Fatalf("%d calls ran, and the error is %v", ran, err)
	}
	if got := run.Messages(); got[len(got)-1].Text() != "half an ans" || len(got[len(got)-1].Calls) != 0 {
		t.Errorf("the answer that broke off became %s", dump(got[len(got)-1:]))
	}
	again := agent.New(inner, tools(t, writes("save", counts)),
		agent.Options{}).Run(&chat.Request{Messages: run.Messages()})
	play(t, again)
	if ran != 1 || runtest.Strict(again.Messages()) != nil {
		t.Errorf("%d calls ran; the conversation is\n%s", ran, dump(again.Messages()))
	}
}

func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		model := &fakeModel{answers: []answer{calls(call("1", "slow", "{}"), call("2", "write", "{}"))}}
		r := tools(t, reads("slow", slow), writes("write", says("written")))
		run := agent.New(model, r, agent.Options{Limits: agent.Limits{Time: 5 * time.Second}}).Run(ask("go"))
		began := time.Now()
		play(t, run)
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("it took %s", d)
		}
		if o := run.Outcome(); o.Reason != agent.EndAnswer || o.Limit != agent.LimitTime || o.Text != "done" {
			t.Errorf("the outcome is %+v", o)
		}
		if err := runtest.Strict(run.Messages()); err != nil {
			t.Error(err)
		}
	})
}

// What is sent while the run is busy waits until no call is open.
func TestMessagesQueue(t *testing.T) {
	var run *agent.Run
	sends := func(context.Context, string) (string, error) {
		if !run.Send(u("Also count the words.")) {
			return "", errors.New("not taken")
		}
		return "sent", nil
	}
	model := &fakeModel{answers: []answer{calls(call("1", "look", "{}"), call("2", "list", "{}")),
		{text: "Five words.", wait: func(context.Context) {
			run.Send(u("Thanks."))
		}}}}
	run = agent.New(model, tools(t, reads("look", sends), reads("list", says("x"))), agent.Options{}).Run(ask("go"))
	play(t, run)
	want := "user assistant tool tool user assistant user assistant"
	var roles []string
	for _, m := range run.Messages() {
		roles = append(roles, string(m.Role))
	}
	if got := strings.Join(roles, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if run.Send(u("too late")) {
		t.Error("a message was taken when the run was over")
	}
}

// What was accepted while the run was busy stands in the conversation whoever continues it: the one that
// was stopped, or another process that finds it in the journal.
func TestMessageOfARunThatStopped(t *testing.T) {
	store := new(journal.Memory)
	var run *agent.Run
	ctx, cancel := context.WithCancel(t.Context())
	model := &fakeModel{answers: []answer{{text: "Five", wait: func(context.Context) {
		if err := run.Accept(ctx, u("Also count the lines.")); err != nil {
			t.Error(err)
		}
		cancel()
	}, err: context.Canceled}}}
	a := agent.New(model, tools(t), agent.Options{Journal: store})
	run = a.Run(ask("go"))
	for range run.Events(ctx) {
	}
	for name, get := range map[string]func() ([]chat.Message, error){
		"here":       func() ([]chat.Message, error) { return run.Messages(), nil },
		"recalled":   func() ([]chat.Message, error) { return a.Conversation(t.Context(), run.Session()) },
		"transcript": func() ([]chat.Message, error) { return a.Transcript(t.Context(), run.ID()) },
	} {
		messages, err := get()
		if err != nil || len(messages) < 2 || messages[len(messages)-1].Text() != "Also count the lines." {
			t.Errorf("%s: %v, the conversation is %s", name, err, dump(messages))
		}
	}
}

// Approvals that wait end the run; it goes on when there is an answer.
func TestWaitsForAPerson(t *testing.T) {
	ran := []string{}
	notes := func(_ context.Context, args string) (string, error) {
		ran = append(ran, args)
		return "did " + args, nil
	}
	dangerous := writes("drop", notes)
	dangerous.Dangerous, dangerous.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
	r := tools(t, dangerous, reads("look", says("x")), writes("save", says("saved")))
	store := new(runner.MemoryApprovals)
	r = r.With(func(s *runner.Settings) { s.Approvals = store })
	model := &fakeModel{
		answers: []answer{calls(call("1", "drop", `{"n":1}`), call("2", "look", "{}"), call("3", "save", "{}"),
			call("4", "drop", `{"n":2}`))}}
	run := agent.New(model, r, agent.Options{}).Run(ask("go"))
	play(t, run)
	o := run.Outcome()
	if o.Reason != agent.EndWaiting || len(o.Waiting) != 2 || len(ran) != 0 {
		t.Fatalf("ran %v; the outcome is %+v", ran, o)
	}
	if got := results(run.Messages()); !slices.Equal(got, []string{"2: x"}) {
		t.Errorf("before the answers there are the results %q: what changes something waits", got)
	}
	if _, err := store.Decide(t.Context(), o.Waiting[0].ID,
		runner.Answer{State: runner.ApprovalApproved, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Decide(t.Context(), o.Waiting[1].ID, runner.Answer{State: runner.ApprovalDenied, By: "ann",
		Reason: "not that one"}); err != nil {
		t.Fatal(err)
	}
	play(t, run)
	if o := run.Outcome(); o.Reason != agent.EndAnswer || len(o.Denied) != 1 || o.Denied[0].CallID != "4" {
		t.Errorf("the outcome is %+v", o)
	}
	if !slices.Equal(ran, []string{`{"n":1}`}) {
		t.Errorf("ran %q", ran)
	}
	if err := runtest.Strict(run.Messages()); err != nil {
		t.Error(err)
	}
	got := strings.Join(results(run.Messages()), "\n")
	for _, part := range []string{`1: did {"n":1}`, "2: x", "3: saved", "4: Error: User denied approval",
		"not that one"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in the results:\n%s", part, got)
		}
	}
}

// The signature of thinking goes back to the server with the text that it seals.
func TestKeepsSealedThinking(t *testing.T) {
	seal := []chat.Extra{{Protocol: chat.ProtocolAnthropic, Key: "signature", Value: json.RawMessage(`"c2ln"`)}}
	model := &fakeModel{
		answers: []answer{{reasoning: "I look.", seal: seal, calls: []chat.Call{call("1", "look", "{}")}}}}
	run := agent.New(model, tools(t, reads("look", says("x"))), agent.Options{}).Run(ask("go"))
	play(t, run)
	m := model.requests[1].Messages[1]
	if m.Reasoning != "I look." || len(m.Parts) != 1 ||
		string(m.Parts[0].Raw) != `{"type":"thinking","thinking":"I look.","signature":"c2ln"}` {
		t.Errorf("the message is %+v", m)
	}
}

// Long results are cut, and the tool that reads the rest is there.
func TestReadsTheRestOfLongResults(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	r := tools(t, reads("log", says(long)))
	if err := r.Settings().Tools.(*runner.Registry).Add(r.Settings().Shared.ReadOutput()); err != nil {
		t.Fatal(err)
	}
	model := &fakeModel{answers: []answer{calls(call("1", "log", "{}"))}}
	run := agent.New(model, r, agent.Options{}).Run(ask("go"))
	play(t, run)
	text := run.Messages()[2].Text()
	if len(text) > 70_000 || !strings.Contains(text, "read_output") {
		t.Errorf("the result has %d bytes and ends %q", len(text), text[max(0, len(text)-200):])
	}
	if model.requests[0].Tool("read_output") == nil {
		t.Error("the model is not offered read_output")
	}
}

// A form that is asked for is that of the last answer; turns that call are held to nothing.
func TestStructuredAnswer(t *testing.T) {
	model := &fakeModel{answers: []answer{
		{text: "Looking. ", calls: []chat.Call{call("1", "look", "{}")}},
		{text: "It is five."}, // bounced by the bridge
		{text: `{"count": 5}`},
	}}
	schema := json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`)
	req := ask("Count.")
	req.Format = &chat.Format{Kind: chat.FormatSchema, Name: "answer", Schema: schema}
	run := agent.New(bridge.New(model, bridge.Options{Mode: bridge.ModeNative}), tools(t, reads("look", says("5"))),
		agent.Options{}).Run(req)
	play(t, run)
	if o := run.Outcome(); strings.TrimSpace(o.Text) != `{"count": 5}` || o.Reason != agent.EndAnswer {
		t.Errorf("the outcome is %+v", o)
	}
}

// Whoever asked goes away while tools run.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		model := &fakeModel{answers: []answer{calls(call("1", "slow", "{}"), call("2", "save", "{}"))}}
		run := agent.New(model, tools(t, reads("slow", slow), writes("save", says("x"))),
			agent.Options{}).Run(ask("go"))
		time.AfterFunc(time.Second, cancel)
		_, err := collect(run.Events(ctx))
		if !errors.Is(err, chat.ErrCanceled) || run.Outcome().Reason != agent.EndCancel {
			t.Errorf("the error is %v, the outcome %+v", err, run.Outcome())
		}
		if err := runtest.Strict(run.Messages()); err != nil {
			t.Errorf("%v in\n%s", err, dump(run.Messages()))
		}
	})
}

// A bounce makes a turn of its own, so that spans of one turn point into one text.
func TestBouncesAreTurns(t *testing.T) {
	model := &fakeModel{answers: []answer{{text: "No."}, calls(call("2", "look", "{}"))}}
	req := ask("go")
	req.Choice.Mode = chat.ChoiceRequired
	run := agent.New(bridge.New(model, bridge.Options{Mode: bridge.ModeNative}), tools(t, reads("look", says("x"))),
		agent.Options{}).Run(req)
	var got []string
	for _, e := range play(t, run) {
		if e.Kind == chat.KindTurnStart || e.Kind == chat.KindResult {
			got = append(got, fmt.Sprint(e.Kind, e.Turn))
		}
	}
	if want := "turn_start 0 turn_start 1 result 1 turn_start 2"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

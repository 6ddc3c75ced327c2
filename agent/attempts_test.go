package agent_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/internal/runtest"
	"wield/journal"
)

// A writer writes its answers as text, one after the other, and keeps what it is asked.
type writer struct {
	answers  []string
	requests []*chat.Request
}

func (w *writer) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		text := "done"
		if n := len(w.requests); n < len(w.answers) {
			text = w.answers[n]
		}
		w.requests = append(w.requests, req)
		_ = yield(chat.Event{Kind: chat.KindText, Text: text}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

func tagged(inner string) string { return "<tool_call>" + inner + "</tool_call>" }

// TestAttempts_D21 makes a call with a result of each attempt at one, in the order of the answer and beside
// the good ones.
func TestAttempts_D21(t *testing.T) {
	const good = `{"name":"look","arguments":{"at":"x"}}`
	for _, tt := range []struct {
		name, answer string
		results      []string // beginnings
	}{
		{"an unknown tool", tagged(`{"name":"nobody","arguments":{}}`),
			[]string{"Error: Tool nobody not found. Available: look"}},
		{"good, unknown, good", tagged(good) + "\n" + tagged(`{"name":"nobody","arguments":{}}`) + "\n" + tagged(good),
			[]string{"seen", "Error: Tool nobody not found. Available: look", "seen"}},
		{"a parameter is missing", tagged(`{"name":"look","arguments":{}}`) + tagged(good),
			[]string{"Error: ", "seen"}},
		{"broken arguments", tagged(`{"name":"look","arguments":{"at": @@}}`) + "\n" + tagged(good),
			[]string{"Error: The call was not run: ", "seen"}},
		{"arguments that are no object", tagged(`{"name":"look","arguments":"ls -la"}`),
			[]string{"Error: The call was not run: "}},
		{"the answer ends inside the call", `<tool_call>{"name":"look","arguments":{"at":"x`,
			[]string{"Error: The call was not run: the response ended inside the call"}},
		{"two bad ones", tagged(`{"name":"a","arguments":{}}`) + tagged(`{"name":"b","arguments":{}}`),
			[]string{"Error: Tool a not found.", "Error: Tool b not found."}},
	} {
		for _, whole := range []bool{false, true} {
			look := reads("look", says("seen"))
			look.Definition.Parameters = []byte(
				`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)
			model := &writer{answers: []string{"Wait.\n" + tt.answer}}
			store := new(journal.Memory)
			a := agent.New(bridge.New(model,
				bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: "hermes"}}), tools(t, look),
				agent.Options{Whole: whole, Journal: store})
			run := a.Run(ask("go"))
			open := map[string]bool{}
			for _, e := range play(t, run) {
				switch e.Kind {
				case chat.KindCallEnd:
					open[e.ID] = true
				case chat.KindResult:
					if !open[e.ID] {
						t.Errorf("%s: a result of %s, which was not called", tt.name, e.ID)
					}
				case chat.KindText:
					if strings.Contains(e.Text, "tool_call") || strings.Contains(e.Text, "could not call") {
						t.Errorf("%s: the text holds %q", tt.name, e.Text)
					}
				}
			}
			got := results(run.Messages())
			for i := range got {
				_, got[i], _ = strings.Cut(got[i], ": ")
			}
			if !slices.EqualFunc(got, tt.results, strings.HasPrefix) {
				t.Errorf("%s: results %q, want %q", tt.name, got, tt.results)
			}
			if o := run.Outcome(); o.Text != "done" || o.Turns != 2 || len(model.requests) != 2 ||
				o.Calls != len(tt.results) {
				t.Errorf("%s: asked %d times, outcome %+v", tt.name, len(model.requests), o)
			}
			if answer := run.Messages()[1]; strings.TrimSpace(answer.Text()) != "Wait." ||
				len(answer.Calls) != len(tt.results) {
				t.Errorf("%s: the answer stands as %+v", tt.name, answer)
			}
			if err := runtest.Strict(run.Messages()); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			said, err := a.Transcript(t.Context(), run.ID())
			if err != nil || len(said) != len(run.Messages()) {
				t.Fatalf("%s: %d messages, %v", tt.name, len(said), err)
			}
			for i := range said {
				if now := run.Messages()[i]; said[i].Text() != now.Text() || len(said[i].Calls) != len(now.Calls) {
					t.Errorf("%s: the journal gives %+v back, it was %+v", tt.name, said[i], now)
				}
			}
		}
	}
}

// TestAttemptsGoOn: bad calls in a row end nothing, only limits do, and a run whose last answer is such a call gave up.
func TestAttemptsGoOn(t *testing.T) {
	bad := func(n int) (list []string) {
		for i := range n {
			list = append(list, tagged(`{"name":"nobody","arguments":{"n":`+string(rune('0'+i))+`}}`))
		}
		return list
	}
	for _, tt := range []struct {
		bad    int
		gaveUp bool
		turns  int
	}{{3, false, 4}, {9, true, 5}} {
		model := &writer{answers: bad(tt.bad)}
		run := agent.New(bridge.New(model, bridge.Options{Mode: bridge.ModeText}),
			tools(t, reads("look", says("seen"))), agent.Options{Limits: agent.Limits{Iterations: 5}}).Run(ask("go"))
		play(t, run)
		if o := run.Outcome(); o.GaveUp != tt.gaveUp || o.Turns != tt.turns || strings.Contains(o.Text, "tool_call") {
			t.Errorf("%d bad calls: %+v", tt.bad, o)
		}
	}
}

// TestAttemptsOfClientTools: a call of the client's tool that does not fit is answered here, and the client
// sees the right one alone.
func TestAttemptsOfClientTools(t *testing.T) {
	model := &writer{answers: []string{tagged(`{"name":"door","arguments":{}}`),
		tagged(`{"name":"door","arguments":{"n":1}}`)}}
	req := ask("open")
	req.Tools = []chat.Tool{
		{Name: "door", Parameters: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}}
	run := agent.New(bridge.New(model, bridge.Options{Mode: bridge.ModeText}), tools(t, reads("look", says("seen"))),
		agent.Options{Journal: new(journal.Memory)}).Run(req)
	play(t, run)
	o := run.Outcome()
	if o.Reason != agent.EndClient || len(o.Client) != 1 || o.Client[0].Arguments != `{"n":1}` {
		t.Errorf("%+v", o)
	}
	if got := results(run.Messages()); len(got) != 1 || !strings.Contains(got[0], "missing required parameter: n") {
		t.Errorf("results %q", got)
	}
}

package bridge_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

// A counting server says how long prompts are. It may leave tools out of them.
type counting struct {
	drops, constant, silent bool
	requests                []*chat.Request
}

func (c *counting) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		c.requests = append(c.requests, req)
		n := 10
		for i := range req.Messages {
			n += len(req.Messages[i].Text()) / 4
		}
		if !c.drops {
			n += 40 * len(req.Tools)
		}
		if c.constant {
			n = 10
		}
		if !yield(chat.Event{Kind: chat.KindText, Text: "Hello."}, nil) {
			return
		}
		if !c.silent && !yield(chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: n}}, nil) {
			return
		}
		yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

// TestCount: a server that drops tools without a word is found out by its counts, once, and a person is told.
func TestCount(t *testing.T) {
	for _, tc := range []struct {
		name     string
		c        counting
		text     bool // tools stand in the text
		requests int  // of two questions
	}{
		{"takes tools", counting{}, false, 4},
		{"drops tools", counting{drops: true}, true, 6}, // the first question is asked twice
		{"counts nothing", counting{silent: true, drops: true}, false, 2},
		{"counts always the same", counting{constant: true}, false, 5},
	} {
		b := bridge.New(&tc.c, bridge.Options{Server: bridge.Server{Count: true}})
		for range 2 {
			notice := ""
			for e, err := range b.Stream(t.Context(), ask(weather)) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == chat.KindTurnStart {
					notice = e.Detail.(*chat.TurnDetail).Notice
				}
			}
			if (notice != "") != tc.text {
				t.Errorf("%s: notice %q", tc.name, notice)
			}
		}
		last := tc.c.requests[len(tc.c.requests)-1]
		if inText := strings.Contains(told(last), "get_weather"); inText != tc.text || len(last.Tools) > 0 == tc.text {
			t.Errorf("%s: in the text: %v, %d tools", tc.name, inText, len(last.Tools))
		}
		if len(tc.c.requests) != tc.requests {
			t.Errorf("%s: %d requests, want %d", tc.name, len(tc.c.requests), tc.requests)
		}
	}
}

// An echo is a small model behind a server without tools: it calls what the text describes, and else repeats what it
// was told.
type echo struct {
	counting
}

func (m *echo) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for e, err := range m.counting.Stream(ctx, req) {
			if e.Kind == chat.KindText {
				if e.Text = told(req); strings.Contains(e.Text, "get_weather") &&
					!strings.Contains(e.Text, "TOOL_ERROR") {
					e.Text = textCall
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestDeaf: an answer without a required call is asked for again with the tools in the text, unless the server is known
// to take tools. The words that ask for it never reach the client.
func TestDeaf(t *testing.T) {
	counts := bridge.Options{Server: bridge.Server{Count: true}}
	once, native := counts, counts
	once.Bounce.Off, native.Mode = true, bridge.ModeNative
	for _, tc := range []struct {
		name   string
		c      counting
		o      bridge.Options
		stream bool
		called bool
	}{
		{"counts nothing", counting{silent: true, drops: true}, counts, false, true},
		{"counts nothing, streamed", counting{silent: true, drops: true}, counts, true, true},
		{"counts always the same", counting{constant: true}, counts, false, true},
		{"drops tools", counting{drops: true}, counts, false, true},
		{"takes tools", counting{}, counts, false, false},
		{"native", counting{silent: true, drops: true}, native, false, false},
		{"no second answer", counting{silent: true, drops: true}, once, false, false},
	} {
		m := &echo{tc.c}
		req := ask(weather)
		req.Choice.Mode, req.Stream = chat.ChoiceRequired, tc.stream
		called, shown, notice := "", "", ""
		for e, err := range bridge.New(m, tc.o).Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Kind {
			case chat.KindTurnStart:
				notice = e.Detail.(*chat.TurnDetail).Notice
			case chat.KindText:
				shown += e.Text
			case chat.KindCallEnd:
				called = e.Name + e.Detail.(*chat.Call).Name
			}
		}
		if (called != "") != tc.called || (notice != "") != tc.called {
			t.Errorf("%s: called %q, shown %q, notice %q", tc.name, called, shown, notice)
		}
		if tc.called && strings.Contains(shown, "TOOL_ERROR") {
			t.Errorf("%s: the client reads %q", tc.name, shown)
		}
	}
}

// TestStopsAtResults: a model is stopped where it invents a result, if its server takes stop sequences and the client
// left room.
func TestStopsAtResults(t *testing.T) {
	for _, tc := range []struct {
		o    bridge.Options
		stop []string
		want string
	}{
		{bridge.Options{Decode: dialect.Options{Dialect: "hermes"}, Server: bridge.Server{Stops: true}}, nil,
			"<tool_response>"},
		{bridge.Options{Decode: dialect.Options{Dialect: "react"}, Server: bridge.Server{Stops: true}},
			[]string{"END"}, "END|\nObservation:"},
		{bridge.Options{Server: bridge.Server{Stops: true}}, []string{"a", "b", "c", "d"}, "a|b|c|d"},
		{bridge.Options{Decode: dialect.Options{Dialect: "hermes"}}, nil, ""},
		{bridge.Options{Decode: dialect.Options{Dialect: "hermes"}, Server: bridge.Server{Stops: true},
			Mode: bridge.ModeNative}, nil, ""},
	} {
		if tc.o.Mode == "" {
			tc.o.Mode = bridge.ModeText
		}
		req := ask(weather)
		req.Stop = tc.stop
		_, f := play(t, tc.o, req, answer{text("Hello.")})
		if got := strings.Join(f.requests[0].Stop, "|"); got != tc.want {
			t.Errorf("%+v: stops at %q, want %q", tc.o, got, tc.want)
		}
	}
}

// TestCutInside: a call that the model itself broke off is asked for again; one that was cut at the limit is not, since
// it would be cut again.
func TestCutInside(t *testing.T) {
	const half = "```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Ro"
	end := func(reason chat.FinishReason) chat.Event {
		return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason}}
	}
	for _, required := range []bool{false, true} {
		for reason, bounces := range map[chat.FinishReason]int{chat.FinishStop: 1, chat.FinishLength: 0} {
			req := ask(weather)
			if required {
				req.Choice.Mode = chat.ChoiceRequired
			}
			f := &fake{t: t, answers: []answer{{text(half), end(reason)}, {text(textCall)}}}
			n := 0
			for e, err := range bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == chat.KindBounce {
					n++
				}
			}
			if n != bounces {
				t.Errorf("%s, required %v: %d bounces, want %d", reason, required, n, bounces)
			}
		}
	}
}

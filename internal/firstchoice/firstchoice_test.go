package firstchoice_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/internal/firstchoice"
)

// A chooser answers the question for a choice with one text, and everything else with another.
type chooser struct {
	choice, answer string
	fails          bool
	requests       []*chat.Request
}

func (c *chooser) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	c.requests = append(c.requests, req)
	text := c.answer
	if len(c.requests) == 1 {
		text = c.choice
	}
	return func(yield func(chat.Event, error) bool) {
		if c.fails {
			yield(chat.Event{}, errors.New("gone"))
			return
		}
		_ = yield(chat.Event{Kind: chat.KindText, Text: text}, nil) &&
			yield(chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 10, Out: 1, Requests: 1}},
				nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

var depth = chat.Tool{Name: "depth", Description: "Depth of the water at a berth.",
	Parameters: []byte(`{"type":"object","properties":{"berth":{"type":"integer"}},"required":["berth"]}`)}

func ask() *chat.Request {
	return &chat.Request{Model: "m", Tools: []chat.Tool{depth, {Name: "none"}}, Messages: []chat.Message{
		{Role: chat.RoleSystem, Parts: chat.Text("Rhyme.")},
		{Role: chat.RoleUser, Parts: chat.Text("How deep is berth 3?")}}}
}

// TestChoice: what the model chooses decides how it is asked for the answer.
func TestChoice(t *testing.T) {
	const call = "<tool_call>\n{\"name\": \"depth\", \"arguments\": {\"berth\": 3}}\n</tool_call>"
	for _, tt := range []struct {
		choice, answer, text, calls string
		asked                       string // what the second request says of the tools
	}{
		{`{"tool": "depth"}`, call, "", `depth({"berth": 3})`, "MUST contain a call of the tool depth"},
		{`{"tool": "none_"}`, "Deep.", "Deep.", "", ""},
		{`I choose depth`, call, "", `depth({"berth": 3})`, "depth"},
	} {
		c := &chooser{choice: tt.choice, answer: tt.answer}
		m := firstchoice.New(bridge.New(c,
			bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: "hermes"},
				Bounce: bridge.BounceOptions{Off: true}}))
		var text, calls string
		var turns []int
		var usage chat.Usage
		for e, err := range m.Stream(t.Context(), ask()) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Kind {
			case chat.KindText:
				text += e.Text
			case chat.KindCallEnd:
				done := e.Detail.(*chat.Call)
				calls += done.Name + "(" + done.Arguments + ")"
			case chat.KindTurnStart:
				turns = append(turns, e.Turn)
			case chat.KindUsage:
				usage.Add(*e.Detail.(*chat.Usage))
			}
		}
		if text != tt.text || calls != tt.calls || len(turns) != 2 || turns[1] != 1 || usage.In != 20 ||
			usage.Requests != 2 {
			t.Errorf("%s: text %q, calls %q, turns %v, usage %+v", tt.choice, text, calls, turns, usage)
		}
		first, second := words(c.requests[0]), words(c.requests[1])
		if !strings.Contains(first, "- depth: Depth of the water at a berth.") ||
			!strings.Contains(first, "- none_: no tool fits") || strings.Contains(first, "Rhyme") {
			t.Errorf("asked to choose with %q", first)
		}
		if !strings.Contains(second, tt.asked) || !strings.Contains(second, "Rhyme") ||
			strings.Contains(second, "<tools>") != (tt.asked != "") {
			t.Errorf("%s: asked with %q", tt.choice, second)
		}
	}
}

func words(req *chat.Request) string {
	var b strings.Builder
	for i := range req.Messages {
		b.WriteString(req.Messages[i].Text() + "\n")
	}
	return b.String()
}

// TestNoChoice: where there is nothing to choose, the model is asked once.
func TestNoChoice(t *testing.T) {
	for name, change := range map[string]func(*chat.Request){
		"no tools":     func(r *chat.Request) { r.Tools = nil },
		"required":     func(r *chat.Request) { r.Choice.Mode = chat.ChoiceRequired },
		"forbidden":    func(r *chat.Request) { r.Choice.Mode = chat.ChoiceNone },
		"none allowed": func(r *chat.Request) { r.Choice.Allowed = []string{"other"} },
		"a form":       func(r *chat.Request) { r.Format = &chat.Format{Kind: chat.FormatJSON} },
		"hosted tools": func(r *chat.Request) { r.Tools[1].Hosted = chat.HostedOptional },
	} {
		req := ask()
		change(req)
		c := &chooser{choice: "x", answer: "y"}
		for _, err := range firstchoice.New(c).Stream(t.Context(), req) {
			if err != nil {
				t.Error(err)
			}
		}
		if len(c.requests) != 1 || c.requests[0] != req {
			t.Errorf("%s: asked %d times", name, len(c.requests))
		}
	}
}

func TestFails(t *testing.T) {
	c := &chooser{fails: true}
	n := 0
	for _, err := range firstchoice.New(c).Stream(t.Context(), ask()) {
		if n++; err == nil {
			t.Error("no error")
		}
	}
	if n != 1 || len(c.requests) != 1 {
		t.Errorf("%d events, %d requests", n, len(c.requests))
	}
}

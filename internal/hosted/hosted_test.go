package hosted

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"wield/chat"
)

// A scripted model answers one request after another, and keeps what it was asked.
type scripted struct {
	answers [][]chat.Event
	asked   []*chat.Request
}

func (s *scripted) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		events := s.answers[min(len(s.asked), len(s.answers)-1)]
		s.asked = append(s.asked, req)
		reason := chat.FinishStop
		for _, e := range events {
			if e.Kind == chat.KindCallEnd {
				reason = chat.FinishCalls
			}
			if !yield(e, nil) {
				return
			}
		}
		if yield(chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 10, Out: 5, Requests: 1}}, nil) {
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason}}, nil)
		}
	}
}

func text(s string) chat.Event { return chat.Event{Kind: chat.KindText, Text: s} }

func call(i int, name, args string) []chat.Event {
	id := fmt.Sprintf("c%d", i)
	c := &chat.Call{Index: i, ID: id, Name: name, Arguments: args, Complete: true}
	return []chat.Event{{Kind: chat.KindCallStart, Index: i, ID: id, Name: name},
		{Kind: chat.KindCallArgs, Index: i, Text: args},
		{Kind: chat.KindCallEnd, Index: i, ID: id, Name: name, Detail: c}}
}

// An adder runs calls of "add"; "ask" has to be approved by the client, "break" fails.
type adder struct{ ran []string }

func (a *adder) Begin(_ context.Context, req *chat.Request) (*Session, error) {
	if req.Tool("add") == nil {
		return nil, nil
	}
	opening := []chat.Event{{Kind: chat.KindNativeCall, Name: "list"}}
	return &Session{Request: *req, Runner: a, Opening: opening, Calls: 3}, nil
}

func (a *adder) Runs(name string) bool { return name == "add" || name == "ask" || name == "break" }

func (a *adder) Shown(_ context.Context, c *chat.Call) chat.Detail {
	return chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: "block", Value: []byte(c.Arguments)}}
}

func (a *adder) Run(_ context.Context, c *chat.Call) (Outcome, error) {
	a.ran = append(a.ran, c.Name+c.Arguments)
	if c.Name == "break" {
		return Outcome{}, errors.New("broken")
	}
	return Outcome{Result: chat.Result{Parts: chat.Text("3")}, Ends: c.Name == "ask",
		Tools: []chat.Tool{{Name: "found"}, {Name: "add"}}}, nil
}

// seen writes what a client sees of an answer.
func seen(stream iter.Seq2[chat.Event, error]) string {
	var b strings.Builder
	for e, err := range stream {
		switch {
		case err != nil:
			fmt.Fprintf(&b, "error(%v)", err)
		case e.Kind == chat.KindText:
			b.WriteString(e.Text)
		case e.Kind == chat.KindCallEnd:
			fmt.Fprintf(&b, "[%d %s %d]", e.Index, e.Name, e.Detail.(*chat.Call).Index)
		case e.Kind == chat.KindNativeCall:
			fmt.Fprintf(&b, "{%s%s", e.Name, e.Text)
		case e.Kind == chat.KindNativeResult:
			fmt.Fprintf(&b, "=%s}", e.Text)
		case e.Kind == chat.KindUsage:
			fmt.Fprintf(&b, " %d requests", e.Detail.(*chat.Usage).Requests)
		case e.Kind == chat.KindFinish:
			fmt.Fprintf(&b, " %s", e.Detail.(*chat.Finish).Reason)
		}
	}
	return b.String()
}

func TestAnswer(t *testing.T) {
	add := call(0, "add", "(1+2)")
	for name, tt := range map[string]struct {
		answers [][]chat.Event
		want    string
		asked   int
	}{
		"one call": {[][]chat.Event{slices.Concat([]chat.Event{text("so ")}, add), {text("it is 3")}},
			"{listso {add(1+2)=3}it is 3 2 requests stop", 2},
		"none": {[][]chat.Event{{text("no")}}, "{listno 1 requests stop", 1},
		"the client's last": {[][]chat.Event{slices.Concat(add, call(1, "other", ""))},
			"{list[0 other 0]{add(1+2)=3} 1 requests tool_calls", 1},
		"then the client's": {[][]chat.Event{add, call(0, "other", "")},
			"{list{add(1+2)=3}[0 other 0] 2 requests tool_calls", 2},
		"to be approved": {[][]chat.Event{call(0, "ask", "()")}, "{list{ask()=3} 1 requests pause", 1},
		"broken":         {[][]chat.Event{call(0, "break", "()")}, "{list{break()error(broken)", 1},
		"endless":        {[][]chat.Event{add}, "{list" + strings.Repeat("{add(1+2)=3}", 3) + " 4 requests stop", 4},
	} {
		s := &scripted{answers: tt.answers}
		req := &chat.Request{Tools: []chat.Tool{{Name: "add"}, {Name: "other"}},
			Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("1+2?")}}}
		got := seen(New(s, &adder{}, Options{}).Stream(t.Context(), req))
		if got != tt.want || len(s.asked) != tt.asked {
			t.Errorf("%s: after %d requests the client sees %s, want %s", name, len(s.asked), got, tt.want)
		}
		if len(req.Tools) != 2 || len(req.Messages) != 1 {
			t.Errorf("%s: the request was changed", name)
		}
	}
}

// TestSecondRequest: what the model is asked after a call.
func TestSecondRequest(t *testing.T) {
	signature := chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: "signature", Value: []byte(`"s"`)}}
	thinking := chat.Event{Kind: chat.KindReasoning, Text: "hm", Detail: signature}
	first := slices.Concat([]chat.Event{thinking, text("so")}, call(0, "add", "(1+2)"))
	s := &scripted{answers: [][]chat.Event{first, {text("3")}}}
	req := &chat.Request{Tools: []chat.Tool{{Name: "add"}}, Choice: chat.Choice{Mode: chat.ChoiceNamed, Name: "add"}}
	seen(New(s, &adder{}, Options{}).Stream(t.Context(), req))
	next := s.asked[1]
	if next.Choice.Mode != chat.ChoiceAuto {
		t.Error("the call is still required")
	}
	if len(next.Tools) != 2 || next.Tools[1].Name != "found" {
		t.Errorf("the model is offered %v", next.Tools)
	}
	said, result := next.Messages[0], next.Messages[1]
	if said.Reasoning != "hm" || said.Text() != "so" || said.Calls[0].Name != "add" ||
		string(said.Parts[0].Raw) != `{"type":"thinking","thinking":"hm","signature":"s"}` {
		t.Errorf("the answer goes back as %+v", said)
	}
	if result.CallID != "c0" || result.Name != "add" || result.Text() != "3" {
		t.Errorf("the result goes back as %+v", result)
	}
}

// TestOthers: a request that the host has nothing to do with goes through as it is.
func TestOthers(t *testing.T) {
	s := &scripted{answers: [][]chat.Event{call(0, "add", "()")}}
	req := &chat.Request{}
	got := seen(New(s, &adder{}, Options{}).Stream(t.Context(), req))
	if got != "[0 add 0] 1 requests tool_calls" || s.asked[0] != req {
		t.Errorf("the client sees %s", got)
	}
}

// A failing model shows signs of life, and then fails.
type failing struct{}

func (failing) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if yield(chat.Event{Kind: chat.KindTurnStart}, nil) && yield(chat.Event{Kind: chat.KindIdle}, nil) {
			yield(chat.Event{}, errors.New("down"))
		}
	}
}

// TestFailsBefore: nothing is shown of an answer that fails before it begins, so that another model may answer.
func TestFailsBefore(t *testing.T) {
	req := &chat.Request{Tools: []chat.Tool{{Name: "add"}}}
	if got := seen(New(failing{}, &adder{}, Options{}).Stream(t.Context(), req)); got != "error(down)" {
		t.Errorf("the client sees %s", got)
	}
}

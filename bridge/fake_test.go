package bridge_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// An answer holds the events that the fake model yields for one request.
type answer []chat.Event

// A fake is a model that gives one answer after the other and keeps the requests.
type fake struct {
	t        *testing.T
	answers  []answer
	errs     []error // err of the answer at the same place, after its events
	requests []*chat.Request
	cut      func(string) []string // how texts come in pieces; nil: whole
	stopped  int                   // answers that were not read to their end
}

func (f *fake) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	n := len(f.requests)
	f.requests = append(f.requests, req)
	return func(yield func(chat.Event, error) bool) {
		if n >= len(f.answers) {
			f.t.Errorf("request %d was not expected: %+v", n, req.Messages)
			yield(chat.Event{}, chat.Errorf(chat.ErrProtocol, "no answer"))
			return
		}
		for _, e := range f.answers[n] {
			for _, e := range f.pieces(e) {
				if !yield(e, nil) {
					f.stopped++
					return
				}
			}
		}
		if n < len(f.errs) && f.errs[n] != nil {
			yield(chat.Event{}, f.errs[n])
			return
		}
		if k := len(f.answers[n]); k == 0 || f.answers[n][k-1].Kind != chat.KindFinish {
			yield(finish(chat.FinishStop), nil)
		}
	}
}

func (f *fake) pieces(e chat.Event) []chat.Event {
	if f.cut == nil || e.Kind != chat.KindText {
		return []chat.Event{e}
	}
	var list []chat.Event
	for _, s := range f.cut(e.Text) {
		list = append(list, text(s))
	}
	return list
}

func text(s string) chat.Event { return chat.Event{Kind: chat.KindText, Text: s} }

func finish(reason chat.FinishReason) chat.Event {
	return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason, Model: "m", ID: "r1"}}
}

func usage(in, out int) chat.Event {
	return chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: in, Out: out}}
}

// call returns the events of a call that the backend reports in parts; deltas are the parts of its arguments.
func call(origin chat.Origin, id, name string, deltas ...string) answer {
	a := answer{{Kind: chat.KindCallStart, Origin: origin, ID: id, Name: name}}
	for _, d := range deltas {
		a = append(a, chat.Event{Kind: chat.KindCallArgs, Origin: origin, Text: d})
	}
	return append(a, chat.Event{Kind: chat.KindCallEnd, Origin: origin, Detail: &chat.Call{
		ID: id, Name: name, Arguments: strings.Join(deltas, ""), Complete: true, Origin: origin}})
}

func function(id, name string, deltas ...string) answer {
	return call(chat.OriginFunction, id, name, deltas...)
}

// native returns the events of a call of the backend's own pipeline and of its result.
func native(id, name, args, result string) answer {
	return answer{{Kind: chat.KindNativeCall, Origin: chat.OriginNative, ID: id, Name: name, Text: args},
		{Kind: chat.KindNativeResult, Origin: chat.OriginNative, ID: id, Name: name, Text: result}}
}

func join(parts ...answer) answer {
	var a answer
	for _, p := range parts {
		a = append(a, p...)
	}
	return a
}

// A seen holds what a client gets and what is recorded.
type seen struct {
	Content  string
	Calls    []string // name(arguments)
	Natives  []string
	Rejected []string // reason name, of all
	Bounces  []string // what was sent
	Finish   chat.FinishReason
	Err      string
	Raw      []string
	IDs      []string
	Usage    chat.Usage

	suppressed []string
	converted  int
	deltas     []string // of arguments
}

// collect reads a stream and fails the test when it breaks the rules for streams.
func collect(t *testing.T, stream iter.Seq2[chat.Event, error]) seen {
	t.Helper()
	var s seen
	var content strings.Builder
	open, args, next, ended := -1, "", 0, false
	var cover coverage
	for e, err := range stream {
		if ended {
			t.Errorf("%v after the end", e.Kind)
		}
		if err != nil {
			s.Err, ended = err.Error(), true
			continue
		}
		cover.add(t, e)
		switch e.Kind {
		case chat.KindText:
			content.WriteString(e.Text)
		case chat.KindCallStart:
			if open >= 0 || e.Index != next {
				t.Errorf("call %d starts while %d is open and %d is next", e.Index, open, next)
			}
			open, args = e.Index, ""
			next++
		case chat.KindCallArgs:
			if e.Index != open {
				t.Errorf("arguments of %d while %d is open", e.Index, open)
			}
			args += e.Text
			s.deltas = append(s.deltas, e.Text)
		case chat.KindCallEnd:
			c := e.Detail.(*chat.Call)
			if e.Index != open || c.Index != open || c.ID != e.ID || !c.Complete || c.Arguments != args {
				t.Errorf("call ends as %+v with deltas %q", c, args)
			}
			open = -1
			s.Calls = append(s.Calls, c.Name+"("+c.Arguments+")")
			s.IDs = append(s.IDs, c.ID)
		case chat.KindRejected:
			d := e.Detail.(*chat.RejectedDetail)
			if e.Index >= 0 {
				if e.Index != open {
					t.Errorf("%d is rejected while %d is open", e.Index, open)
				}
				open = -1
			}
			if e.Flags&chat.FlagSpent != 0 {
				content.WriteString(d.Raw)
			}
			s.Rejected = append(s.Rejected, strings.TrimSpace(string(d.Reason)+" "+d.Name))
		case chat.KindNativeCall:
			s.Natives = append(s.Natives, e.Name+"("+e.Text+")")
		case chat.KindBounce:
			s.Bounces = append(s.Bounces, e.Detail.(*chat.BounceDetail).Sent)
			s.suppressed = append(s.suppressed, e.Detail.(*chat.BounceDetail).Suppressed)
		case chat.KindConverted:
			s.converted++
		case chat.KindRaw:
			s.Raw = append(s.Raw, e.Text)
		case chat.KindUsage:
			s.Usage = *e.Detail.(*chat.Usage)
		case chat.KindFinish:
			s.Finish, ended = e.Detail.(*chat.Finish).Reason, true
			if got := e.Detail.(*chat.Finish).Bounces; got != len(s.Bounces) {
				t.Errorf("finish tells %d bounces, there were %d", got, len(s.Bounces))
			}
		}
	}
	if !ended {
		t.Error("the stream has no end")
	}
	if open >= 0 && s.Err == "" {
		t.Errorf("call %d is never closed", open)
	}
	s.Content = content.String()
	return s
}

// A coverage checks that every byte of a response's text stands in exactly one event, in order.
type coverage struct{ pos int }

func (c *coverage) add(t *testing.T, e chat.Event) {
	switch e.Kind {
	case chat.KindTurnStart:
		*c = coverage{}
	case chat.KindRaw:
		if c.pos != len(e.Text) {
			t.Errorf("the events cover %d bytes of %q", c.pos, e.Text)
		}
	case chat.KindText, chat.KindReasoning, chat.KindMarkup, chat.KindCallStart, chat.KindCallArgs, chat.KindCallEnd,
		chat.KindRejected:
		if e.At == e.End || e.Flags&chat.FlagPromoted != 0 {
			return
		}
		if e.At != c.pos {
			t.Errorf("%v covers %d to %d after %d", e.Kind, e.At, e.End, c.pos)
		}
		c.pos = e.End
	}
}

var weather = chat.Tool{Name: "get_weather", Description: "Get weather for a city",
	Parameters: json.RawMessage(
		`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`)}

var live = chat.Tool{Name: "GetLiveContext", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}

func ask(tools ...chat.Tool) *chat.Request {
	return &chat.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}},
		Tools: tools}
}

// streamed returns the request as one of a client that reads the answer as it is written.
func streamed(req *chat.Request) *chat.Request {
	req.Stream = true
	return req
}

// chunkings are ways to cut a text.
func chunkings() map[string]func(string) []string {
	return map[string]func(string) []string{
		"bytes": func(s string) []string { return every(s, 1) },
		"three": func(s string) []string { return every(s, 3) },
		"seven": func(s string) []string { return every(s, 7) },
	}
}

func every(s string, n int) []string {
	var list []string
	for len(s) > n {
		list, s = append(list, s[:n]), s[n:]
	}
	return append(list, s)
}

// play answers req from a script and returns what the client sees.
func play(t *testing.T, o bridge.Options, req *chat.Request, answers ...answer) (seen, *fake) {
	t.Helper()
	f := &fake{t: t, answers: answers}
	s := collect(t, bridge.New(f, o).Stream(t.Context(), req))
	if len(f.requests) != len(answers) {
		t.Errorf("%d requests for %d answers", len(f.requests), len(answers))
	}
	return s, f
}

// words of a request, for comparison.
func lastOf(req *chat.Request) string { return req.Messages[len(req.Messages)-1].Text() }

// looped is a model that always gives the same answer.
type looped answer

func (l looped) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for _, e := range l {
			if !yield(e, nil) {
				return
			}
		}
	}
}

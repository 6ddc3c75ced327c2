package agent_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"wield/agent"
	"wield/chat"
	"wield/tool"
	"wield/tool/runner"
)

// A fakeModel answers with the next of its answers, and keeps the requests.
type fakeModel struct {
	mu       sync.Mutex
	answers  []answer
	requests []*chat.Request
	then     *answer // when there are no more; nil: "done"
}

// An answer holds the output of a model in one turn.
type answer struct {
	text      string
	reasoning string
	seal      []chat.Extra
	calls     []chat.Call
	usage     chat.Usage
	err       error
	wait      func(ctx context.Context)
}

func (m *fakeModel) next(req *chat.Request) answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if len(m.answers) == 0 {
		if m.then != nil && req.Choice.Mode != chat.ChoiceNone {
			return *m.then
		}
		return answer{text: "done"}
	}
	a := m.answers[0]
	m.answers = m.answers[1:]
	return a
}

func (m *fakeModel) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	a := m.next(req)
	return func(yield func(chat.Event, error) bool) {
		if a.wait != nil {
			a.wait(ctx)
		}
		for _, e := range a.events() {
			if !yield(e, nil) {
				return
			}
		}
		if a.err != nil {
			yield(chat.Event{}, a.err)
			return
		}
		reason := chat.FinishStop
		if len(a.calls) > 0 {
			reason = chat.FinishCalls
		}
		_ = yield(chat.Event{Kind: chat.KindUsage, Detail: &a.usage}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason, Model: "fake-1"}}, nil)
	}
}

func (a *answer) events() []chat.Event {
	var list []chat.Event
	if a.reasoning != "" {
		list = append(list, chat.Event{Kind: chat.KindReasoning, Text: a.reasoning})
	}
	if a.seal != nil {
		list = append(list, chat.Event{Kind: chat.KindReasoning, Detail: chat.Opaque(a.seal)})
	}
	for _, r := range a.text {
		list = append(list, chat.Event{Kind: chat.KindText, Text: string(r)})
	}
	for i := range a.calls {
		c := a.calls[i]
		c.Index, c.Complete = i, true
		list = append(list,
			chat.Event{Kind: chat.KindCallStart, Index: i, ID: c.ID, Name: c.Name},
			chat.Event{Kind: chat.KindCallArgs, Index: i, Text: c.Arguments},
			chat.Event{Kind: chat.KindCallEnd, Index: i, ID: c.ID, Name: c.Name, Detail: &c})
	}
	return list
}

func call(id, name, args string) chat.Call { return chat.Call{ID: id, Name: name, Arguments: args} }

func calls(list ...chat.Call) answer { return answer{calls: list} }

// ask is a request with one message.
func ask(text string) *chat.Request {
	return &chat.Request{Model: "fake", Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(text)}}}
}

// tools makes a runner of tools that are functions of their arguments' text. Their names say what they are: those with
// "write" in front change something.
func tools(t testing.TB, made ...*tool.Tool) *runner.Runner {
	t.Helper()
	reg := new(runner.Registry)
	if err := reg.Add(made...); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: reg, Shared: &runner.Shared{Temp: t.TempDir()}})
	t.Cleanup(func() { r.Settings().Shared.Close() })
	return r
}

func reads(name string, f func(ctx context.Context, args string) (string, error)) *tool.Tool {
	t := writes(name, f)
	t.Facts.ReadOnly = true
	return t
}

func writes(name string, f func(ctx context.Context, args string) (string, error)) *tool.Tool {
	return &tool.Tool{
		Definition: chat.Tool{Name: name, Description: "A tool of a test."},
		Handler: tool.HandlerFunc(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			s, err := f(ctx, c.Arguments)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Text(s), nil
		}),
	}
}

func says(text string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return text, nil }
}

// play ranges over a run and returns its events.
func play(t testing.TB, r *agent.Run) []chat.Event {
	t.Helper()
	events, err := collect(r.Events(t.Context()))
	if err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	return events
}

func collect(stream iter.Seq2[chat.Event, error]) (events []chat.Event, err error) {
	for e, failed := range stream {
		if failed != nil {
			return events, failed
		}
		events = append(events, e)
	}
	return events, nil
}

// results returns the results in a conversation as "id: text".
func results(messages []chat.Message) []string {
	var list []string
	for i := range messages {
		if m := &messages[i]; m.Role == chat.RoleTool {
			list = append(list, m.CallID+": "+m.Text())
		}
	}
	return list
}

// A modelFunc answers by what it is asked.
type modelFunc struct {
	answer func(req *chat.Request) answer
}

func (m *modelFunc) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	one := &fakeModel{answers: []answer{m.answer(req)}}
	return one.Stream(ctx, req)
}

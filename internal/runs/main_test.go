package runs_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/tool"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An answer is the output of a model in one turn, a rune at a time.
type answer struct {
	reasoning, text string
	calls           []chat.Call
	err             error
	wait            chan bool // the answer ends when it is closed
}

// A model answers by how often it was asked in this conversation since the last message of the user.
type model struct {
	answers []answer

	mu       sync.Mutex
	requests []*chat.Request
}

func (m *model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	m.mu.Unlock()
	n := 0
	for i := range req.Messages {
		switch req.Messages[i].Role {
		case chat.RoleAssistant:
			n++
		case chat.RoleUser:
			n = 0
		}
	}
	a := answer{text: "done"}
	if n < len(m.answers) {
		a = m.answers[n]
	}
	return a.stream(ctx)
}

func (m *model) asked() []*chat.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests
}

func (a *answer) stream(ctx context.Context) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for _, r := range a.reasoning {
			if !yield(chat.Event{Kind: chat.KindReasoning, Text: string(r)}, nil) {
				return
			}
		}
		for _, r := range a.text {
			if !yield(chat.Event{Kind: chat.KindText, Text: string(r)}, nil) {
				return
			}
		}
		if a.wait != nil {
			select {
			case <-a.wait:
			case <-ctx.Done():
				yield(chat.Event{}, chat.AsError(ctx.Err()))
				return
			}
		}
		for i := range a.calls {
			c := a.calls[i]
			c.Index, c.Complete = i, true
			if !yield(chat.Event{Kind: chat.KindCallStart, Index: i, ID: c.ID, Name: c.Name}, nil) ||
				!yield(chat.Event{Kind: chat.KindCallArgs, Index: i, Text: c.Arguments}, nil) ||
				!yield(chat.Event{Kind: chat.KindCallEnd, Index: i, ID: c.ID, Name: c.Name, Detail: &c}, nil) {
				return
			}
		}
		if a.err != nil {
			yield(chat.Event{}, a.err)
			return
		}
		f := chat.Finish{Reason: chat.FinishStop}
		if len(a.calls) > 0 {
			f.Reason = chat.FinishCalls
		}
		_ = yield(chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 3, Out: 2}}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &f}, nil)
	}
}

func call(name, args string) chat.Call { return chat.Call{Name: name, Arguments: args} }

func ask(text string) *chat.Request {
	return &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(text)}}}
}

// A shop has the tools of runs: some only read, some change something, some ask a person.
type shop struct {
	runner *runner.Runner

	mu  sync.Mutex
	ran map[string]int
}

func newShop(t testing.TB) *shop {
	s := &shop{ran: map[string]int{}}
	does := func(name string) *tool.Tool {
		return &tool.Tool{
			Definition: chat.Tool{Name: name, Description: "A tool of a test."},
			Handler: tool.HandlerFunc(func(_ context.Context, c *tool.Call) (tool.Result, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.ran[name+c.Arguments]++
				return tool.Text("did " + c.Arguments), nil
			}),
		}
	}
	look, save, asks := does("look"), does("save"), does("asks")
	look.Facts.ReadOnly = true
	asks.Dangerous, asks.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
	reg := new(runner.Registry)
	if err := reg.Add(look, save, asks); err != nil {
		t.Fatal(err)
	}
	s.runner = runner.New(runner.Settings{Tools: reg, Shared: &runner.Shared{Temp: t.TempDir()}})
	t.Cleanup(func() { s.runner.Settings().Shared.Close() })
	return s
}

func (s *shop) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran[what]
}

// newHub returns a hub with one agent, which is drained when the test ends.
func newHub(t testing.TB, store journal.Store, m chat.Model, s *shop) *runs.Hub {
	t.Helper()
	h := runs.New(runs.Options{Journal: store, Agents: []runs.Agent{{Name: "worker", Model: m, Runner: s.runner}}})
	t.Cleanup(func() { drainNow(h) })
	return h
}

// drainNow stops a hub at once.
func drainNow(h *runs.Hub) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h.Drain(ctx)
}

func start(t testing.TB, h *runs.Hub, text string) *runs.Live {
	t.Helper()
	l, err := h.Start(t.Context(), runs.Start{Agent: "worker", Request: ask(text), By: "someone"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

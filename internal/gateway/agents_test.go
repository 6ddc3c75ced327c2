package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runs"
	"wield/internal/runtest"
	"wield/journal"
	"wield/model/anthropic"
	connect "wield/model/exchange"
	"wield/model/ollama"
	"wield/model/openai"
	"wield/tool"
	"wield/tool/runner"
)

// A wanderer is a model that says and calls anything, and holds each request to what strict servers want.
type wanderer struct {
	mu        sync.Mutex
	rng       *rand.Rand
	n         int
	faults    []error
	interrupt func() // called in the middle of the next answer, once
}

func (m *wanderer) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	m.mu.Lock()
	if err := runtest.Strict(req.Messages); err != nil {
		m.faults = append(m.faults, fmt.Errorf("what the model is sent: %w", err))
	}
	m.n++
	events := []chat.Event{text(fmt.Sprintf("words %d.", m.n))}
	finish := finish(chat.FinishStop)
	if req.Choice.Mode != chat.ChoiceNone && m.rng.IntN(3) > 0 {
		for i := range 1 + m.rng.IntN(3) {
			m.n++
			name := []string{"look", "save", "asks", "open_door", "ring_bell"}[m.rng.IntN(5)]
			id := []string{"", "call_0", "call_x"}[m.rng.IntN(3)] // what a careless server would do
			events = append(events, call(i, id, name, fmt.Sprintf(`{"n":%d}`, m.n))...)
		}
		finish.Detail.(*chat.Finish).Reason = chat.FinishCalls
	}
	stop := m.interrupt
	m.interrupt = nil
	m.mu.Unlock()
	return func(yield func(chat.Event, error) bool) {
		for i, e := range append(events, finish) {
			if i == 1 && stop != nil {
				stop()
				select {
				case <-ctx.Done():
					yield(chat.Event{}, ctx.Err())
					return
				case <-time.After(50 * time.Millisecond): // it is a run that goes on by itself
				}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A party is a client of one protocol with its copy of the conversation.
type party struct {
	ask      func(ctx context.Context, url string, messages []chat.Message) (chat.Message, error)
	messages []chat.Message
}

var clientTools = []chat.Tool{
	{Name: "open_door", Description: "Opens.", Parameters: json.RawMessage(`{"type":"object"}`)},
	{Name: "ring_bell", Description: "Rings.", Parameters: json.RawMessage(`{"type":"object"}`)},
}

// collect makes the client's message of an answer.
func collect(stream iter.Seq2[chat.Event, error]) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleAssistant}
	var said strings.Builder
	var reason chat.FinishReason
	for e, err := range stream {
		if err != nil {
			return m, err
		}
		switch e.Kind {
		case chat.KindText:
			said.WriteString(e.Text)
		case chat.KindCallEnd:
			m.Calls = append(m.Calls, *e.Detail.(*chat.Call))
		case chat.KindFinish:
			reason = e.Detail.(*chat.Finish).Reason
		}
	}
	m.Parts = chat.Text(said.String())
	if called := len(m.Calls) > 0; called != (reason == chat.FinishCalls) {
		return m, fmt.Errorf("%d calls, and the reason is %s", len(m.Calls), reason)
	}
	return m, nil
}

// parties are the clients, by protocol.
func parties(stream bool, transport http.RoundTripper) map[string]*party {
	request := func(messages []chat.Message) *chat.Request {
		return &chat.Request{Model: "worker", Messages: messages, Tools: clientTools, Stream: stream, MaxTokens: 100}
	}
	return map[string]*party{
		"chat completions": {ask: func(ctx context.Context, url string, messages []chat.Message) (chat.Message, error) {
			return collect(
				openai.New(openai.Options{URL: url + "/v1", Key: "k",
					Connection: connect.Connection{Transport: transport}}).Stream(ctx, request(messages)))
		}},
		"messages": {ask: func(ctx context.Context, url string, messages []chat.Message) (chat.Message, error) {
			return collect(
				anthropic.New(anthropic.Options{URL: url, Key: "k",
					Connection: connect.Connection{Transport: transport}}).Stream(ctx, request(messages)))
		}},
		"ollama": {ask: func(ctx context.Context, url string, messages []chat.Message) (chat.Message, error) {
			return collect(
				ollama.New(ollama.Options{URL: url, Key: "k",
					Connection: connect.Connection{Transport: transport}}).Stream(ctx, request(messages)))
		}},
		"responses": {ask: func(ctx context.Context, url string, messages []chat.Message) (chat.Message, error) {
			return askResponses(ctx, transport, url, messages)
		}},
	}
}

// askResponses asks in the Responses protocol, for a whole answer.
func askResponses(ctx context.Context, transport http.RoundTripper, url string, messages []chat.Message) (chat.Message,
	error) {
	type item struct {
		Type      string `json:"type"`
		Role      string `json:"role,omitempty"`
		Content   any    `json:"content,omitempty"`
		CallID    string `json:"call_id,omitempty"`
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments,omitempty"`
		Output    string `json:"output,omitempty"`
	}
	var input []item
	for i := range messages {
		m := &messages[i]
		if m.Role == chat.RoleTool {
			input = append(input, item{Type: "function_call_output", CallID: m.CallID, Output: m.Text()})
			continue
		}
		if m.Text() != "" {
			input = append(input, item{Type: "message", Role: string(m.Role), Content: m.Text()})
		}
		for _, c := range m.Calls {
			input = append(input, item{Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
	}
	var tools []map[string]any
	for _, t := range clientTools {
		tools = append(tools, map[string]any{"type": "function", "name": t.Name, "parameters": t.Parameters})
	}
	body, err := json.Marshal(map[string]any{"model": "worker", "input": input, "tools": tools, "store": false})
	if err != nil {
		return chat.Message{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+pathResponses, strings.NewReader(string(body)))
	if err != nil {
		return chat.Message{}, err
	}
	req.Header.Set("Authorization", "Bearer k")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return chat.Message{}, chat.AsError(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return chat.Message{}, err
	case resp.StatusCode == http.StatusServiceUnavailable:
		return chat.Message{}, chat.Errorf(chat.ErrOverloaded, "%s", answer)
	case resp.StatusCode != http.StatusOK:
		return chat.Message{}, fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	var whole struct {
		Output []struct {
			Type, Name, Arguments string
			CallID                string `json:"call_id"`
			Content               []struct{ Text string }
		}
	}
	if err := json.Unmarshal(answer, &whole); err != nil {
		return chat.Message{}, err
	}
	m := chat.Message{Role: chat.RoleAssistant}
	for _, o := range whole.Output {
		for _, c := range o.Content {
			m.Parts = append(m.Parts, chat.Text(c.Text)...)
		}
		if o.Type == "function_call" {
			m.Calls = append(m.Calls, chat.Call{ID: o.CallID, Name: o.Name, Arguments: o.Arguments, Complete: true})
		}
	}
	return m, nil
}

// A workplace is the service behind which runs go on, in one process after another.
type workplace struct {
	store  journal.Store
	model  *wanderer
	runner *runner.Runner
	limits agent.Limits
	hub    *runs.Hub
	g      *Gateway

	mu  sync.Mutex
	ran map[string]int
}

func newWorkplace(t *testing.T, rng *rand.Rand) *workplace {
	w := &workplace{store: new(journal.Memory), model: &wanderer{rng: rand.New(rand.NewPCG(rng.Uint64(), 1))},
		ran: map[string]int{}}
	does := func(name string) *tool.Tool {
		return &tool.Tool{Definition: chat.Tool{Name: name, Description: "A tool."},
			Handler: tool.HandlerFunc(func(_ context.Context, c *tool.Call) (tool.Result, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.ran[name+c.Arguments]++
				return tool.Text("did"), nil
			})}
	}
	look, save, asks := does("look"), does("save"), does("asks")
	look.Facts.ReadOnly = true
	asks.Dangerous, asks.Guard = true, &tool.Guard{Mode: tool.ModeRW, RequiresApproval: true}
	reg := new(runner.Registry)
	if err := reg.Add(look, save, asks); err != nil {
		t.Fatal(err)
	}
	w.runner = runner.New(runner.Settings{Tools: reg, Shared: &runner.Shared{Temp: t.TempDir()}})
	t.Cleanup(func() { w.runner.Settings().Shared.Close() })
	if rng.IntN(2) == 0 {
		w.limits = agent.Limits{Iterations: 2 + rng.IntN(4), Calls: 1 + rng.IntN(8)}
	}
	w.restart(t)
	t.Cleanup(w.end)
	return w
}

// restart puts another process in the place of the one before.
func (w *workplace) restart(t *testing.T) {
	if w.hub != nil {
		w.end()
	}
	w.hub = runs.New(runs.Options{Journal: w.store,
		Agents: []runs.Agent{{Name: "worker", Model: w.model, Runner: w.runner,
			Options: agent.Options{Limits: w.limits}}}})
	if err := w.hub.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := Options{Models: []Model{{Name: "worker", Model: w.hub.Model("worker"), NeedsKey: true}},
		Keys: []Key{{Name: "me", Hash: HashKey("k")}}}
	if w.g == nil {
		w.g = New(o)
	} else {
		w.g.Replace(o)
	}
}

func (w *workplace) end() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.hub.Drain(ctx)
}

// decide answers some of the questions that stand.
func (w *workplace) decide(t *testing.T, rng *rand.Rand) {
	for p, err := range (&journal.Approvals{Store: w.store}).Waiting(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		answers := []runner.Answer{{State: runner.ApprovalApproved}, {State: runner.ApprovalDenied},
			{State: runner.ApprovalEdited, Arguments: json.RawMessage(fmt.Sprintf(`{"edited":%q}`, p.ID))}}
		if rng.IntN(3) > 0 {
			if _, err := w.hub.Decide(t.Context(), p.ID, answers[rng.IntN(len(answers))]); err != nil {
				t.Error(err)
			}
		}
	}
}

// patient asks until there is an answer, as clients do: again when the request broke off, and when the service is busy.
func (p *party) patient(t *testing.T, w *workplace, url string, rng *rand.Rand) chat.Message {
	t.Helper()
	end := time.Now().Add(time.Minute) // only so that a failure ends
	for n := 0; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		if n == 0 && rng.IntN(4) == 0 {
			w.model.mu.Lock()
			w.model.interrupt = cancel
			w.model.mu.Unlock()
		}
		m, err := p.ask(ctx, url, p.messages)
		broken := ctx.Err() != nil
		cancel()
		switch kind := chat.AsError(err); {
		case err == nil:
			return m
		case time.Now().After(end) || !broken && kind.Kind != chat.ErrOverloaded:
			t.Fatalf("request %d: %v", n, err)
		case !broken:
			time.Sleep(2 * time.Millisecond) // the run that broke off is being put away
		}
	}
}

// TestAgentsProperty: random runs with tools of both sides, questions to a person, requests that break off and
// processes that are replaced, over every protocol. What clients get, and what the model is sent, passes the order
// checks of OpenAI and Anthropic; no call runs twice.
func TestAgentsProperty(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		for _, stream := range []bool{true, false} {
			for name := range parties(stream, http.DefaultTransport) {
				t.Run(fmt.Sprintf("%s/%d/%t", name, seed, stream), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
					w := newWorkplace(t, rng)
					srv := serveHandler(t, w.g)
					p := parties(stream, srv.Client().Transport)[name]
					p.play(t, w, srv.URL, rng)
				})
			}
		}
	}
}

// play has a conversation of a few rounds.
func (p *party) play(t *testing.T, w *workplace, url string, rng *rand.Rand) {
	p.messages = []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("begin")}}
	for round := range 8 {
		if rng.IntN(5) == 0 {
			w.restart(t)
		}
		m := p.patient(t, w, url, rng)
		for _, c := range m.Calls {
			if c.Name != "open_door" && c.Name != "ring_bell" {
				t.Errorf("the client is asked to run %s", c.Name)
			}
		}
		if m.Text() == "" && len(m.Calls) == 0 {
			t.Errorf("round %d: an empty answer", round)
		}
		p.messages = append(p.messages, m)
		for _, c := range m.Calls {
			failed := rng.IntN(4) == 0
			p.messages = append(p.messages, chat.Message{Role: chat.RoleTool, CallID: c.ID, Name: c.Name,
				Parts: chat.Text("client did"), IsError: failed})
		}
		if len(m.Calls) == 0 {
			w.decide(t, rng)
			p.messages = append(p.messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text("go on")})
		}
	}
	if err := runtest.Strict(p.messages); err != nil {
		t.Errorf("what the client gets: %v", err)
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	for _, err := range w.model.faults {
		t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, n := range w.ran {
		if n > 1 {
			t.Errorf("%s ran %d times", what, n)
		}
	}
}

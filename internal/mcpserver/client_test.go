package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/runner"
)

// taskClient is wield's own client of a front, with a runner of its tools that records in a run of a journal.
func taskClient(t *testing.T, url string, store journal.Store) *runner.Runner {
	t.Helper()
	m := mcp.New(mcp.Options{Name: "far", URL: url})
	t.Cleanup(func() { m.Close() })
	tools, problems := m.Tools(t.Context())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	reg := new(runner.Registry)
	if err := reg.Add(tools...); err != nil {
		t.Fatal(err)
	}
	w := journal.NewWriter(store, "run_client", 0)
	run := record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_client"}}
	if err := w.Append(t.Context(), run); errors.Is(err, journal.ErrConflict) { // it takes over from an earlier one
		lease, err := store.Claim(t.Context(), "run_client", journal.NewID("own"), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		w = journal.NewWriter(store, "run_client", lease.Seq)
	} else if err != nil {
		t.Fatal(err)
	}
	return runner.New(runner.Settings{Tools: reg, Records: w, Approvals: &runner.MemoryApprovals{}})
}

// run runs a call to its result, and approves what it asks for.
func run(t *testing.T, ctx context.Context, r *runner.Runner, c chat.Call) (result *chat.Result, asked int) {
	t.Helper()
	plan, err := r.Plan(ctx, c)
	for err == nil && result == nil {
		waits := ""
		for e, problem := range r.Run(ctx, plan) {
			switch {
			case e.Kind == chat.KindApproval && e.Detail.(*runner.ApprovalDetail).State == runner.ApprovalPending:
				waits = e.Detail.(*runner.ApprovalDetail).ID
			case e.Kind == chat.KindResult:
				result = e.Detail.(*chat.Result)
			case problem != nil && waits == "":
				err = problem
			}
		}
		if waits == "" {
			break
		}
		asked++
		answer := runner.Answer{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"name":"Ada","confirm":true}`)}
		if _, wrong := r.Settings().Approvals.Decide(ctx, waits, answer); wrong != nil {
			t.Fatal(wrong)
		}
		plan = runner.Plan{Outcome: runner.OutcomeNeedsInput, Call: c, Definition: plan.Definition, Approval: waits}
	}
	if err != nil {
		t.Logf("%s: %v", c.Name, err)
	}
	return result, asked
}

// TestTaskClient: wield's client polls what a server made a task of, answers its questions, and cancels it.
func TestTaskClient(t *testing.T) {
	t.Parallel()
	front := serveTasks(t, soon, &journal.Memory{}, slowServer(t, later))
	store := &journal.Memory{}
	r := taskClient(t, front.url, store)
	for name, tt := range map[string]struct {
		arguments, want string
		bad             bool
		asks            int
	}{
		"far__slow_compute":       {`{"seconds":0.7}`, "computed", false, 0},
		"far__greet":              {`{"name":"Ada"}`, "Hello, Ada!", false, 0},
		"far__failing_job":        {`{}`, "it failed", true, 0},
		"far__protocol_error_job": {`{}`, "it broke", true, 0},
		"far__confirm_delete":     {`{}`, "confirm:true", false, 1},
		"far__multi_input":        {`{}`, "name:Ada", false, 2},
	} {
		call := chat.Call{ID: "call_" + name, Name: name, Arguments: tt.arguments, Complete: true}
		got, asked := run(t, t.Context(), r, call)
		if got == nil {
			t.Errorf("%s: no result", name)
			continue
		}
		m := got.Message()
		if !strings.Contains(m.Text(), tt.want) || got.IsError != tt.bad || asked != tt.asks {
			t.Errorf("%s: %q, an error: %v, asked %d times", name, m.Text(), got.IsError, asked)
		}
	}
	calls, err := journal.Calls(store.Read(t.Context(), journal.Query{Stream: "run_client"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.Detached == "" && c.Tool != "far__greet" { // which is quick, and may be a task or not
			t.Errorf("%s: the journal has no task", c.Tool)
		}
	}
}

// TestTaskClientCancels: a call that nobody waits for any more is cancelled at the server.
func TestTaskClientCancels(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan struct{})
	slow := &tool.Tool{Definition: chat.Tool{Name: "slow", Parameters: json.RawMessage(`{"type":"object"}`)},
		Handler: tool.HandlerFunc(func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			close(started)
			<-ctx.Done()
			close(ended)
			return tool.Result{}, ctx.Err()
		})}
	front := serveTasks(t, soon, &journal.Memory{}, nil, slow)
	store := &journal.Memory{}
	r := taskClient(t, front.url, store)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(t, ctx, r, chat.Call{ID: "call_1", Name: "far__slow", Arguments: `{}`, Complete: true})
	}()
	<-started
	for len(kept(t, store)) == 0 { // it has become a task
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	<-ended
}

// kept returns the tasks that the journal knows of.
func kept(t *testing.T, store journal.Store) (list []string) {
	t.Helper()
	calls, err := journal.Calls(store.Read(t.Context(), journal.Query{Stream: "run_client"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.Detached != "" {
			list = append(list, c.Detached)
		}
	}
	return list
}

// TestTaskClientRestarts: a client whose process ended in the middle of a task asks for the same task afterwards, and
// the call does not run again.
func TestTaskClientRestarts(t *testing.T) {
	var ran atomic.Int64
	goOn := make(chan struct{})
	slow := &tool.Tool{Definition: chat.Tool{Name: "slow", Parameters: json.RawMessage(`{"type":"object"}`)},
		Handler: tool.HandlerFunc(func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			ran.Add(1)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			return tool.Text("done once"), nil
		})}
	front := serveTasks(t, soon, &journal.Memory{}, nil, slow)
	store := &journal.Memory{}
	call := chat.Call{ID: "call_1", Name: "far__slow", Arguments: `{}`, Complete: true}
	first := taskClient(t, front.url, store)
	go func() { // its process ends: nothing that it does later counts
		for range first.Run(context.WithoutCancel(t.Context()), must(first.Plan(t.Context(), call))) {
		}
	}()
	for len(kept(t, store)) == 0 {
		time.Sleep(time.Millisecond)
	}
	calls, err := journal.Calls(store.Read(t.Context(), journal.Query{Stream: "run_client"}))
	if err != nil || len(calls) != 1 || !calls[0].Interrupted() || !calls[0].Repeatable() {
		t.Fatalf("%+v, %v", calls, err)
	}
	second := taskClient(t, front.url, store)
	close(goOn)
	got, _ := run(t, t.Context(), second, call)
	if got == nil {
		t.Fatal("no result")
	}
	if m := got.Message(); m.Text() != "done once" || ran.Load() != 1 {
		t.Errorf("%q after %d runs", m.Text(), ran.Load())
	}
}

func must(p runner.Plan, err error) runner.Plan {
	if err != nil {
		panic(err)
	}
	return p
}

// TestTaskClientPersists: requests about a task that do not reach the server are sent again.
func TestTaskClientPersists(t *testing.T) {
	t.Parallel()
	front := serveTasks(t, soon, &journal.Memory{}, slowServer(t, later))
	at, err := url.Parse(strings.TrimSuffix(front.url, "/mcp/be"))
	if err != nil {
		t.Fatal(err)
	}
	next, failed := httputil.NewSingleHostReverseProxy(at),
		map[string]*atomic.Int64{"tasks/get": {}, "tasks/update": {}}
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for method, n := range failed {
			if bytes.Contains(body, []byte(`"`+method+`"`)) && n.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { flaky.CloseClientConnections(); flaky.Close() })
	r := taskClient(t, flaky.URL+"/mcp/be", &journal.Memory{})
	call := chat.Call{ID: "call_1", Name: "far__confirm_delete", Arguments: `{}`, Complete: true}
	got, asked := run(t, t.Context(), r, call)
	if got == nil {
		t.Fatal("no result")
	}
	if m := got.Message(); !strings.Contains(m.Text(), "confirm:true") || got.IsError || asked != 1 {
		t.Errorf("%q, asked %d times", m.Text(), asked)
	}
	for method, n := range failed {
		if n.Load() < 2 {
			t.Errorf("%s was sent %d times", method, n.Load())
		}
	}
}

// TestTaskRelayed: a client that does not know tasks gets the result of a call that the server behind wield made one.
func TestTaskRelayed(t *testing.T) {
	t.Parallel()
	behind := serveTasks(t, soon, &journal.Memory{}, slowServer(t, later))
	m := mcp.New(mcp.Options{Name: "be", URL: behind.url})
	t.Cleanup(func() { m.Close() })
	front := serveTasks(t, never, &journal.Memory{}, m)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "old"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: front.url}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	call := &sdk.CallToolParams{Name: "slow_compute", Arguments: map[string]any{"seconds": 0.7}}
	r, err := session.CallTool(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(r)
	if r.IsError || !strings.Contains(string(raw), "computed") {
		t.Errorf("the client gets %s", raw)
	}
}

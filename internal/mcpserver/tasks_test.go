package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/runner"
)

// The times after which calls become tasks: at once, as good as never, and such that quick calls do not even on a busy
// machine.
const (
	soon  = 10 * time.Millisecond
	never = time.Minute
	later = 700 * time.Millisecond
)

// slowServer is an MCP server whose tools take their time, ask for something and fail, as the official conformance
// suite has them.
func slowServer(t *testing.T, wait time.Duration) *mcp.Server {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "behind", Version: "1"}, nil)
	text := func(format string, args ...any) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	question := func(message string) *sdk.ElicitParams {
		return &sdk.ElicitParams{Mode: "form", Message: message,
			RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"name":{"type":"string"},"confirm":{"type":"boolean"}}}`)}
	}
	pause := func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	asks := func(before, after time.Duration, keys ...string) sdk.ToolHandler {
		return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if len(r.Params.InputResponses) == len(keys) {
				var said []string
				for _, key := range keys {
					said = append(said, fmt.Sprint(r.Params.InputResponses[key].(*sdk.ElicitResult).Content))
				}
				return text("%s, %s", r.Params.RequestState, said), pause(ctx, after)
			}
			questions := sdk.InputRequestMap{}
			for _, key := range keys {
				questions[key] = question(key)
			}
			return &sdk.CallToolResult{RequestState: "state", InputRequests: questions}, pause(ctx, before)
		}
	}
	handlers := map[string]sdk.ToolHandler{
		"greet": func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Name string }
			err := json.Unmarshal(r.Params.Arguments, &in)
			return text("Hello, %s!", in.Name), err
		},
		"slow_compute": func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Seconds float64 }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return text("computed"), pause(ctx, time.Duration(in.Seconds*float64(time.Second)))
		},
		"failing_job": func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			result := text("it failed")
			result.IsError = true
			return result, pause(ctx, wait)
		},
		"protocol_error_job": func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil,
				errors.Join(pause(ctx, wait), &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "it broke"})
		},
		"confirm_delete":      asks(wait, 0, "confirm"),
		"multi_input":         asks(wait, 0, "first", "second"),
		"test_tool_with_task": asks(0, wait, "user_name"),
	}
	for name, handler := range handlers {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, handler)
	}
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	m := mcp.New(mcp.Options{Name: "be", URL: srv.URL})
	t.Cleanup(func() { m.Close() })
	return m
}

// A tasked is a front whose calls become tasks, with the requests of a client.
type tasked struct {
	*testing.T
	url string
}

// serveTasks serves tools of an MCP server, if there is one, and others at a front of its own, which ends with the
// test.
func serveTasks(t *testing.T, after time.Duration, store journal.Store, m *mcp.Server, more ...*tool.Tool) tasked {
	t.Helper()
	reg, servers := new(runner.Registry), []*mcp.Server(nil)
	if m != nil {
		tools, problems := m.Tools(t.Context())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		more, servers = append(more, tools...), []*mcp.Server{m}
	}
	if err := reg.Add(more...); err != nil {
		t.Fatal(err)
	}
	f := NewFront(FrontOptions{Open: func(caller Caller, _ string) (Options, bool) {
		return Options{Runner: runner.New(runner.Settings{Tools: reg}), Servers: servers, Own: m != nil,
			Journal: store, By: caller.Name, Approvals: AskClient,
			Tasks: TaskOptions{After: after, TTL: time.Minute, Required: []string{"be__failing_*"}}}, true
	}})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Serve(w, r, Caller{Name: r.Header.Get("X-Key")})
	}))
	t.Cleanup(func() { srv.Close(); f.Reset(); f.tasks.close() })
	return tasked{t, srv.URL + "/mcp/be"}
}

// A reply is the answer to a client's request.
type reply struct {
	taskState
	ResultType string
	Content    []struct{ Text string }
	State      string `json:"requestState"`
	Code       int64
	Message    string
}

// send sends a request as the holder of a key. It is as of a client that knows tasks and can ask a person, but for key
// "plain".
func (s tasked) send(key, method string, params map[string]any, headers ...string) (r reply) {
	s.Helper()
	capabilities := map[string]any{"elicitation": map[string]any{}}
	if key != "plain" {
		capabilities["extensions"] = map[string]any{extension: map[string]any{}}
	}
	params["_meta"] = map[string]any{sdk.MetaKeyClientCapabilities: capabilities, sdk.MetaKeyProtocolVersion: revision,
		sdk.MetaKeyClientInfo: map[string]any{"name": "t", "version": "1"}}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	name, _ := params["name"].(string)
	if id, ok := params["taskId"].(string); ok {
		name = id
	}
	for _, h := range append([]string{"X-Key: " + key, "Content-Type: application/json",
		"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: " + revision, "Mcp-Method: " + method,
		"Mcp-Name: " + name}, headers...) {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	text.ReadFrom(resp.Body)
	message := text.Bytes()
	if _, data, ok := bytes.Cut(message, []byte("data: ")); ok {
		message, _, _ = bytes.Cut(data, []byte("\n"))
	}
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(message, &answer); err != nil {
		s.Fatalf("%s: %s: %v", method, text.Bytes(), err)
	}
	for _, raw := range []json.RawMessage{answer.Result, answer.Error} {
		if err := json.Unmarshal(raw, &r); raw != nil && err != nil {
			s.Fatalf("%s: %s: %v", method, raw, err)
		}
	}
	return r
}

// call calls a tool that takes long, and returns the task.
func (s tasked) call(key, name, arguments string) string {
	s.Helper()
	r := s.send(key, "tools/call", map[string]any{"name": name, "arguments": json.RawMessage(arguments)})
	if r.ResultType != "task" || r.TaskID == "" || r.Status != taskWorking || r.TTL <= 0 {
		s.Fatalf("%s: %+v", name, r)
	}
	return r.TaskID
}

// until asks for a task until it has a status.
func (s tasked) until(key, id, status string) reply {
	s.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		r := s.send(key, "tasks/get", map[string]any{"taskId": id})
		if r.Status == status {
			return r
		}
		open := r.Status == taskWorking || r.Status == taskAsks // a task asks until it has seen the answer of the page
		if r.Code != 0 || !open || time.Since(begun) > 20*time.Second {
			s.Fatalf("task %s is not %s: %+v", id, status, r)
		}
	}
}

func words(r reply) string {
	if r.Result == nil || len(r.Result.Content) != 1 {
		return ""
	}
	return r.Result.Content[0].(*sdk.TextContent).Text
}

func answers(list ...string) map[string]any {
	all := map[string]any{}
	for _, key := range list {
		all[key] = map[string]any{"action": "accept", "content": map[string]any{"name": key}}
	}
	return all
}

// TestTasks goes through the life of tasks: results, errors of tools and of the protocol, questions and cancellation.
func TestTasks(t *testing.T) {
	t.Parallel()
	store, behind := new(journal.Memory), slowServer(t, 400*time.Millisecond)
	s, patient := serveTasks(t, soon, store, behind), serveTasks(t, never, store, behind)
	if r := patient.send("ada", "tools/call",
		map[string]any{"name": "greet", "arguments": map[string]any{"name": "Ada"}}); r.ResultType != "complete" ||
		r.Content[0].Text != "Hello, Ada!" {
		t.Errorf("a quick call: %+v", r)
	}
	if r := s.send("plain", "tools/call",
		map[string]any{"name": "slow_compute",
			"arguments": map[string]any{"seconds": 0.3}}); r.ResultType != "complete" ||
		r.Content[0].Text != "computed" {
		t.Errorf("a client that does not know tasks waits: %+v", r)
	}
	done := s.call("ada", "slow_compute", `{"seconds":0.4}`)
	if r := s.until("ada", done, taskCompleted); words(r) != "computed" || r.Error != nil {
		t.Errorf("%+v", r)
	}
	if r := s.until("ada", s.call("ada", "failing_job", `{}`), taskCompleted); !strings.Contains(words(r),
		"it failed") || !r.Result.IsError {
		t.Errorf("an error of the tool: %+v", r)
	}
	if r := s.until("ada", s.call("ada", "protocol_error_job", `{}`), taskFailed); r.Error == nil ||
		!strings.Contains(r.Error.Message, "it broke") || r.Result != nil {
		t.Errorf("an error of the protocol: %+v", r)
	}
	id := s.call("ada", "slow_compute", `{"seconds":60}`)
	for range 2 { // the second one finds it over
		if r := s.send("ada", "tasks/cancel", map[string]any{"taskId": id}); r.ResultType != "complete" ||
			r.TaskID != "" {
			t.Errorf("cancel: %+v", r)
		}
		s.until("ada", id, taskCancelled)
	}
	for _, o := range []string{done, id, "run_0"} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if r := s.send("eve", method, map[string]any{"taskId": o}); r.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s of another key's task: %+v", method, r)
			}
			if r := s.send("plain", method,
				map[string]any{"taskId": o}); r.Code != sdk.CodeMissingRequiredClientCapabilities {
				t.Errorf("%s without the extension: %+v", method, r)
			}
		}
	}
	if r := s.send("plain", "tools/call",
		map[string]any{"name": "failing_job",
			"arguments": map[string]any{}}); r.Code != sdk.CodeMissingRequiredClientCapabilities {
		t.Errorf("a tool that needs tasks: %+v", r)
	}
	if r := s.send("ada", "tasks/get", map[string]any{"taskId": done},
		"Mcp-Name: "+id); r.Code != sdk.CodeHeaderMismatch {
		t.Errorf("another task in the header: %+v", r)
	}
	journaltest.Whole(t, store)
}

// TestTaskQuestions answers what tasks ask for, in parts and with answers to nothing, and what is asked before a task
// begins.
func TestTaskQuestions(t *testing.T) {
	t.Parallel()
	behind := slowServer(t, 400*time.Millisecond)
	s := serveTasks(t, soon, new(journal.Memory), behind)
	id := s.call("ada", "multi_input", `{}`)
	if r := s.until("ada", id, taskAsks); len(r.InputRequests) != 2 {
		t.Fatalf("%+v", r)
	}
	s.send("ada", "tasks/update",
		map[string]any{"taskId": id, "inputResponses": map[string]any{"other": map[string]any{"ignored": true},
			"first": answers("first")["first"]}})
	if r := s.until("ada", id, taskAsks); len(r.InputRequests) != 1 || r.InputRequests["second"] == nil {
		t.Fatalf("after one answer: %+v", r)
	}
	if r := s.send("ada", "tasks/update",
		map[string]any{"taskId": id,
			"inputResponses": map[string]any{"second": 5}}); r.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("no answer: %+v", r)
	}
	s.send("ada", "tasks/update", map[string]any{"taskId": id, "inputResponses": answers("second", "first")})
	if r := s.until("ada", id, taskCompleted); words(r) != "state, [map[name:first] map[name:second]]" {
		t.Errorf("%q", words(r))
	}
	id = s.call("ada", "confirm_delete", `{}`)
	s.until("ada", id, taskAsks)
	s.send("ada", "tasks/cancel", map[string]any{"taskId": id})
	s.until("ada", id, taskCancelled)

	params := map[string]any{"name": "test_tool_with_task", "arguments": map[string]any{}}
	first := serveTasks(t, never, new(journal.Memory), behind).send("ada", "tools/call", params)
	if first.ResultType != taskAsks || first.TaskID != "" {
		t.Fatalf("asked before it begins: %+v", first)
	}
	params["inputResponses"], params["requestState"] = answers("user_name"), first.State
	then := s.send("ada", "tools/call", params)
	if r := s.until("ada", then.TaskID, taskCompleted); words(r) != "state, [map[name:user_name]]" {
		t.Errorf("%q", words(r))
	}
}

// TestTaskApprovals: an approval comes first, and the call that was approved becomes a task.
func TestTaskApprovals(t *testing.T) {
	t.Parallel()
	g := &gate{begun: make(chan struct{}, 1), open: make(chan struct{}, 1)}
	work := g.tool(false)
	work.Dangerous = true
	s := serveTasks(t, 2*time.Second, new(journal.Memory), nil, work)
	params := map[string]any{"name": "work", "arguments": map[string]any{}}
	asked := s.send("ada", "tools/call", params)
	if asked.ResultType != taskAsks || g.runs.Load() != 0 {
		t.Fatalf("%+v", asked)
	}
	yes := map[string]any{"action": "accept", "content": map[string]any{"decision": decisionAllow}}
	params["inputResponses"], params["requestState"] = map[string]any{approvalKey: yes}, asked.State
	r := s.send("ada", "tools/call", params)
	if r.ResultType != "task" {
		t.Fatalf("%+v", r)
	}
	<-g.begun
	g.open <- struct{}{}
	if r := s.until("ada", r.TaskID, taskCompleted); words(r) != "done by run 1" {
		t.Errorf("%q", words(r))
	}
}

// A gate lets calls of its tool begin and end.
type gate struct {
	begun chan struct{}
	open  chan struct{}
	runs  atomic.Int64
}

func (g *gate) tool(idempotent bool) *tool.Tool {
	one := tool.Func("work", "Works.", func(ctx context.Context, _ struct{}) (string, error) {
		n := g.runs.Add(1)
		g.begun <- struct{}{}
		select {
		case <-g.open:
			return fmt.Sprint("done by run ", n), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	one.Idempotent = idempotent
	return one
}

// A killed store is one that a process had which is killed: nothing reaches the journal any more.
type killedStore struct {
	journal.Store
	dead atomic.Bool
}

var errKilled = errors.New("killed")

func (s *killedStore) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64,
	error) {
	if s.dead.Load() {
		return 0, errKilled
	}
	return s.Store.Append(ctx, stream, after, records...)
}

func (s *killedStore) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (journal.Lease, error) {
	if s.dead.Load() {
		return journal.Lease{}, errKilled
	}
	return s.Store.Claim(ctx, stream, owner, 200*time.Millisecond)
}

func (s *killedStore) Release(ctx context.Context, l journal.Lease) error {
	if s.dead.Load() {
		return errKilled
	}
	return s.Store.Release(ctx, l)
}

// TestTaskTakenOver asks a service for tasks of another one: while it runs them, when it has ended them, and when it
// was killed. A call that may run again does; of another one it is told that its outcome is not known.
func TestTaskTakenOver(t *testing.T) {
	t.Parallel()
	for _, idempotent := range []bool{true, false} {
		t.Run(fmt.Sprint("idempotent ", idempotent), func(t *testing.T) {
			store := new(journal.Memory)
			first := &killedStore{Store: store}
			g := &gate{begun: make(chan struct{}, 9), open: make(chan struct{}, 9)}
			a := serveTasks(t, soon, first, nil, g.tool(idempotent))
			b := serveTasks(t, soon, store, nil, g.tool(idempotent))
			id := a.call("ada", "work", `{}`)
			<-g.begun
			if r := b.send("ada", "tasks/get", map[string]any{"taskId": id}); r.Status != taskWorking {
				t.Errorf("it runs elsewhere: %+v", r)
			}
			for _, method := range []string{"tasks/cancel", "tasks/update"} {
				if r := b.send("ada", method, map[string]any{"taskId": id}); r.Code != jsonrpc.CodeInternalError {
					t.Errorf("%s of a task that runs elsewhere would be lost: %+v", method, r)
				}
			}
			g.open <- struct{}{}
			a.until("ada", id, taskCompleted)
			if r := b.until("ada", id, taskCompleted); words(r) != "done by run 1" {
				t.Errorf("it ended elsewhere: %q", words(r))
			}
			if r := b.send("eve", "tasks/get", map[string]any{"taskId": id}); r.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("another key: %+v", r)
			}

			id = a.call("ada", "work", `{}`)
			<-g.begun
			first.dead.Store(true)
			for { // until the lease is over
				if r := b.send("ada", "tasks/get", map[string]any{"taskId": id}); r.Status != taskWorking ||
					g.runs.Load() == 3 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if idempotent {
				<-g.begun
				g.open <- struct{}{}
				g.open <- struct{}{} // one of the two is the dead one's
			}
			r := b.until("ada", id, taskCompleted)
			if got := words(r); idempotent && got != "done by run 3" ||
				!idempotent && !strings.Contains(got, "not known whether") {
				t.Errorf("after it was killed: %q", got)
			}
			if want := int64(2); !idempotent && g.runs.Load() != want {
				t.Errorf("it ran %d times, want %d", g.runs.Load(), want)
			}
			journaltest.Whole(t, store)
		})
	}
}

// TestConformanceTasks runs the scenarios of the official conformance suite that are about tasks.
func TestConformanceTasks(t *testing.T) {
	suite := os.Getenv("WIELD_CONFORMANCE")
	if suite == "" {
		t.Skip("the official conformance suite of MCP runs only in the heavy level of .ci/run (WIELD_CONFORMANCE)")
	}
	s := serveTasks(t, later, new(journal.Memory), slowServer(t, 2*later))
	for _, name := range []string{"lifecycle", "capability-negotiation", "wire-fields", "request-state-removal",
		"mrtr-input", "request-headers", "dispatch-and-envelope", "required-task-error", "mrtr-composition"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, _ := exec.Command("node", suite, "server", "--url", s.url, "--scenario", "tasks-"+name, "-o",
				dir).CombinedOutput()
			found, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
			if len(found) != 1 {
				t.Fatalf("the suite left no result: %s", out)
			}
			checks, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			var list []struct{ ID, Status, ErrorMessage string }
			if err := json.Unmarshal(checks, &list); err != nil || len(list) == 0 {
				t.Fatalf("%v: %s", err, checks)
			}
			for _, c := range list {
				if !slices.Contains([]string{"SUCCESS", "INFO"}, c.Status) {
					t.Errorf("%s: %s: %s", c.ID, c.Status, c.ErrorMessage)
				}
			}
			t.Logf("%d checks", len(list))
		})
	}
}

// TestTaskClock: tasks go when their time is over, whichever way the clock was set meanwhile, and say no time below it.
func TestTaskClock(t *testing.T) {
	for _, c := range []struct {
		jump time.Duration // of the clock since the task ended
		kept bool
	}{{-100 * 365 * 24 * time.Hour, false}, {-2 * time.Hour, false}, {-time.Minute, true}, {0, true},
		{time.Minute, true}, {2 * time.Hour, false}} {
		s := &Server{o: Options{Tasks: TaskOptions{TTL: time.Hour}}}
		open := newTask(s, "open", now().Add(-c.jump))
		over := newTask(s, "over", now().Add(-c.jump))
		over.status = taskCompleted
		all := &tasks{live: map[string]*task{"open": open, "over": over}}
		all.sweep()
		if all.live["open"] == nil || (all.live["over"] != nil) != c.kept {
			t.Errorf("%v: there are %v", c.jump, all.live)
		}
		for _, one := range []*task{open, over} {
			if ttl := one.state(false).TTL; ttl < time.Hour.Milliseconds() {
				t.Errorf("%v: %s says that it is kept for %d ms", c.jump, one.id, ttl)
			}
		}
	}
}

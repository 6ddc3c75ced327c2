package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// An asked front has a tool that needs an approval, and keeps its questions in a journal.
type asked struct {
	*testing.T
	url   string
	store journal.Store
	ran   atomic.Int64
	last  atomic.Value // path that the tool was given last
}

func serveAsked(t *testing.T, store journal.Store, who Asking) *asked {
	t.Helper()
	a := &asked{T: t, store: store}
	wipe := tool.Func("wipe", "Deletes.", func(_ context.Context, in struct {
		Path string `json:"path"`
	}) (string, error) {
		a.ran.Add(1)
		a.last.Store(in.Path)
		return "gone: " + in.Path, nil
	})
	wipe.Dangerous = true
	reg := new(runner.Registry)
	if err := reg.Add(wipe); err != nil {
		t.Fatal(err)
	}
	f := NewFront(FrontOptions{Open: func(caller Caller, _ string) (Options, bool) {
		return Options{Runner: runner.New(runner.Settings{Tools: reg}), Approvals: who, Journal: store,
			By: caller.Name, Tasks: TaskOptions{After: later}}, true
	}})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Serve(w, r, Caller{Name: r.Header.Get("X-Key")})
	}))
	t.Cleanup(func() { f.Reset(); srv.Close(); f.tasks.close() })
	a.url = srv.URL + Root
	return a
}

// connect connects an official client, whose user answers by ask.
func (a *asked) connect(version string, ask func(context.Context) *sdk.ElicitResult) *sdk.ClientSession {
	a.Helper()
	o := &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult,
		error) {
		return ask(ctx), nil
	}}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, o).Connect(a.Context(),
		&sdk.StreamableClientTransport{Endpoint: a.url}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { session.Close() })
	return session
}

// wipe calls the tool and returns the text of its result.
func (a *asked) wipe(session *sdk.ClientSession) string {
	a.Helper()
	r, err := session.CallTool(a.Context(),
		&sdk.CallToolParams{Name: "wipe", Arguments: json.RawMessage(`{"path":"/x"}`)})
	if err != nil {
		return "failed: " + err.Error()
	}
	return r.Content[0].(*sdk.TextContent).Text
}

// decide answers the one question that waits, as the page does.
func (a *asked) decide(answer runner.Answer) journal.Pending {
	a.Helper()
	store := journal.Approvals{Store: a.store}
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
		for p, err := range store.Waiting(a.Context()) {
			if err != nil {
				a.Fatal(err)
			}
			if _, err := store.Decide(a.Context(), p.ID, answer); err != nil {
				a.Fatal(err)
			}
			return p
		}
	}
	a.Fatal("no question waits")
	return journal.Pending{}
}

func clientSays(decision string) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}
}

var allowed = runner.Answer{State: runner.ApprovalApproved, By: "page"}

// TestFirstAnswer: a question stands at the client and in the journal, and the first answer counts.
func TestFirstAnswer(t *testing.T) {
	t.Parallel()
	denied := runner.Answer{State: runner.ApprovalDenied, By: "page", Reason: "not today"}
	edited := runner.Answer{State: runner.ApprovalEdited, By: "page", Arguments: json.RawMessage(`{"path":"/y"}`)}
	for _, version := range []string{"2025-11-25", revision} {
		for _, test := range []struct {
			name   string
			page   *runner.Answer // before the client's; nil: the page says nothing
			client string
			want   string
			runs   int64
		}{
			{"page allows", &allowed, decisionDeny, "gone: /x", 1},
			{"page edits", &edited, decisionDeny, "gone: /y", 1},
			{"page denies", &denied, decisionAllow, "not today", 0},
			{"client allows", nil, decisionAllow, "gone: /x", 1},
			{"client denies", nil, decisionDeny, "denied", 0},
		} {
			t.Run(version+" "+test.name, func(t *testing.T) {
				t.Parallel()
				store := new(journal.Memory)
				a := serveAsked(t, store, AskClient)
				takenBack := make(chan bool, 1)
				session := a.connect(version, func(ctx context.Context) *sdk.ElicitResult {
					if test.page != nil {
						a.decide(*test.page)
					}
					if test.page != nil && version != revision {
						select { // a client of these revisions is told that its answer is not needed any more
						case <-ctx.Done():
							takenBack <- true
						case <-time.After(10 * time.Second):
							takenBack <- false
						}
					}
					return clientSays(test.client)
				})
				if got := a.wipe(session); !strings.Contains(got, test.want) || a.ran.Load() != test.runs {
					t.Errorf("%q, ran %d times", got, a.ran.Load())
				}
				if test.page != nil && version != revision && !<-takenBack {
					t.Error("the client still asks")
				}
				journaltest.Whole(t, store)
				for h, err := range store.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
					if err != nil || h.State != record.StateEnded {
						t.Errorf("the run is %s, %v", h.State, err)
					}
				}
			})
		}
	}
}

// TestAskPage: calls wait for the page, and end with their client.
func TestAskPage(t *testing.T) {
	t.Parallel()
	store := new(journal.Memory)
	a := serveAsked(t, store, AskPage)
	for _, version := range []string{"2025-11-25", revision} {
		session := a.connect(version, func(context.Context) *sdk.ElicitResult { panic("the client is asked") })
		got := make(chan string, 1)
		go func() { got <- a.wipe(session) }()
		p := a.decide(allowed)
		if text := <-got; text != "gone: /x" || p.Tool != "wipe" || p.Run == "" || p.Session == "" || p.Always != "" {
			t.Errorf("%s: %q, %+v", version, text, p)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	session := a.connect("2025-11-25", nil)
	go session.CallTool(ctx, &sdk.CallToolParams{Name: "wipe", Arguments: json.RawMessage(`{"path":"/x"}`)})
	waiting := func() (n int) {
		questions := journal.Approvals{Store: store}
		for range questions.Waiting(t.Context()) {
			n++
		}
		return n
	}
	until(t, func() bool { return waiting() == 1 })
	cancel()
	until(t, func() bool { return waiting() == 0 })

	s := tasked{t, a.url}
	id := s.call("ada", "wipe", `{"path":"/t"}`)
	a.decide(allowed)
	if r := s.until("ada", id, taskCompleted); words(r) != "gone: /t" {
		t.Errorf("a task: %q", words(r))
	}
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("it never came to that")
		}
	}
}

// lateQuestions is a journal that takes so long to keep a question that the call has become a task before.
type lateQuestions struct{ journal.Store }

func (s lateQuestions) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64,
	error) {
	if records[0].Kind == record.KindQuestion {
		time.Sleep(2 * later)
	}
	return s.Store.Append(ctx, stream, after, records...)
}

// TestTaskFirstAnswer: the question of a task is answered by the page or by tasks/update.
func TestTaskFirstAnswer(t *testing.T) {
	t.Parallel()
	a := serveAsked(t, lateQuestions{new(journal.Memory)}, AskClient)
	s := tasked{t, a.url}
	paged, updated, cancelled := s.call("ada", "wipe", `{"path":"/p"}`), s.call("ada", "wipe", `{"path":"/u"}`),
		s.call("ada", "wipe", `{"path":"/c"}`)
	s.until("ada", cancelled, taskAsks)
	s.send("ada", "tasks/cancel", map[string]any{"taskId": cancelled})
	s.until("ada", cancelled, taskCancelled)

	asks := s.until("ada", updated, taskAsks)
	if len(asks.InputRequests) != 1 {
		t.Fatalf("%+v", asks)
	}
	s.send("ada", "tasks/update",
		map[string]any{"taskId": updated, "inputResponses": map[string]any{approvalKey: clientSays(decisionAllow)}})
	if r := s.until("ada", updated, taskCompleted); words(r) != "gone: /u" {
		t.Errorf("%q", words(r))
	}
	s.until("ada", paged, taskAsks)
	if p := a.decide(allowed); p.Run != paged {
		t.Errorf("the question is of run %s", p.Run)
	}
	if r := s.until("ada", paged, taskCompleted); words(r) != "gone: /p" || r.InputRequests != nil {
		t.Errorf("%q %v", words(r), r.InputRequests)
	}
	journaltest.Whole(t, a.store)
}

// TestApprovalElsewhere: a question is answered at another service on the same journal, once, and only by the key whose
// call asks; a client answers no question of an agent.
func TestApprovalElsewhere(t *testing.T) {
	t.Parallel()
	store := new(journal.Memory)
	first, second := serveAsked(t, store, AskClient), serveAsked(t, store, AskClient)
	params := func(state string) map[string]any {
		return map[string]any{"name": "wipe", "arguments": map[string]any{"path": "/x"}, "requestState": state,
			"inputResponses": map[string]any{approvalKey: clientSays(decisionAllow)}}
	}
	question := tasked{t, first.url}.send("ada", "tools/call",
		map[string]any{"name": "wipe", "arguments": map[string]any{"path": "/x"}})
	if question.ResultType != taskAsks {
		t.Fatalf("%+v", question)
	}
	there := tasked{t, second.url}
	if r := there.send("eve", "tools/call", params(question.State)); r.Code == 0 || second.ran.Load() != 0 {
		t.Errorf("another key answers: %+v", r)
	}
	if r := there.send("ada", "tools/call", params(question.State)); len(r.Content) != 1 ||
		r.Content[0].Text != "gone: /x" || second.ran.Load() != 1 {
		t.Errorf("%+v", r)
	}
	if r := there.send("ada", "tools/call", params(question.State)); r.Code == 0 || second.ran.Load() != 1 {
		t.Errorf("an answer is used again: %+v", r)
	}

	run := journal.NewWriter(store, "run_1", 0)
	if err := run.Append(t.Context(),
		record.Record{Kind: record.KindRun,
			Run: &record.Run{Session: "ses_1", Agent: "helper", By: "ada"}}); err != nil {
		t.Fatal(err)
	}
	agents := journal.Approvals{Store: store, Session: "ses_1", Run: "run_1"}
	other, err := agents.Ask(t.Context(), runner.Question{Binding: "b", Tool: "wipe"})
	if err != nil {
		t.Fatal(err)
	}
	if r := there.send("ada", "tools/call", params(approvalState+other.ID)); r.Code == 0 {
		t.Errorf("a question of an agent: %+v", r)
	}
	if now, err := agents.Get(t.Context(), other.ID); err != nil || now.State != runner.ApprovalPending {
		t.Errorf("a question of an agent is %s, %v", now.State, err)
	}
}

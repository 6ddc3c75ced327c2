package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/internal/capture"
	"wield/internal/cluster"
	"wield/journal"
	"wield/journal/record"
	"wield/schema"
	"wield/tool"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keys are those of the service under test.
var keys = map[string]Caller{
	"k-admin":    {Name: "ada", Role: RoleAdmin},
	"k-approver": {Name: "amy", Role: RoleApprover},
	"k-client":   {Name: "cleo", Role: RoleClient, Sees: func(m string) bool { return m != "secret" }},
	"k-other":    {Name: "otto", Role: RoleClient},
	"k-worker":   {Name: "wes", Role: RoleWorker},
}

// A service is a server under test, and what checks its answers.
type service struct {
	t     *testing.T
	url   string
	api   *Server
	store journal.Store
	doc   *openAPI
	seen  map[string]bool // operation and status
}

type fixedLinks struct{}

func (fixedLinks) Check(approval, token string) (string, bool) { return "link", token == "t-"+approval }

// stock is one MCP server, which has changed one tool.
type stock struct{}

func (stock) MCPServers() []MCPServer {
	return []MCPServer{{Name: "stock", Place: "stock --stdio", Connected: true,
		Tools:   []MCPTool{{Name: "stock__count"}},
		Changed: []ChangedTool{{Name: "list", Was: "{}\n", Now: "{}\n", Hash: "now"}}, Problems: []string{}}}
}

func (stock) AppMCP(_ context.Context, tool, _ string) (string, error) {
	switch tool {
	case "stock__count":
		return "<!DOCTYPE html><p>42", nil
	case "stock__broken":
		return "", &Fault{Kind: KindUnavailable, Message: "mcp server stock: it went away"}
	}
	return "", &Fault{Kind: KindNotFound, Message: "there is no tool with an app of this name"}
}

func (stock) AcceptMCP(_ context.Context, server string, c AcceptedTool) error {
	switch {
	case server != "stock":
		return &Fault{Kind: KindNotFound, Message: "there is no MCP server " + server}
	case c != AcceptedTool{Name: "list", Hash: "now"}:
		return &Fault{Kind: KindConflict, Message: "it is another definition"}
	}
	return nil
}

func options(store journal.Store) Options {
	type edit struct {
		Path string `json:"path"`
		Size int    `json:"size,omitempty"`
	}
	var reg runner.Registry
	if err := reg.Add(tool.Func("write_note", "writes",
		func(context.Context, edit) (string, error) { return "", nil })); err != nil {
		panic(err)
	}
	ring, _ := capture.New(capture.Options{})
	for i := range 3 {
		_ = ring.Add(&capture.Record{ID: fmt.Sprint("req_", i), Time: time.Unix(int64(i), 0), Status: 200,
			Request: capture.Body("{}"), Answer: capture.Body("ok")})
	}
	return Options{
		Journal: store, Cluster: func() (cluster.Status, bool) {
			return cluster.Status{Services: []cluster.ServiceStatus{}, Workers: []cluster.WorkerStatus{}}, true
		}, Captures: ring, Links: fixedLinks{}, Connector: &firstModel{}, MCP: func() MCP { return stock{} },
		Version: "1.2.3", Holder: func(hash [sha256.Size]byte) (Caller, bool) {
			for k, c := range keys {
				if sha256.Sum256([]byte(k)) == hash {
					return c, true
				}
			}
			return Caller{}, false
		},
		Tools: reg.Entries,
		Models: func() []Model {
			return []Model{{Name: "home", Agent: true, Tools: []string{"write_note"}}, {Name: "secret"}}
		},
	}
}

// firstModel is a connector to which everything answers.
type firstModel struct{ kept bool }

func (f *firstModel) Wanted() bool { return !f.kept }

func (f *firstModel) Find(context.Context) []FoundServer {
	return []FoundServer{{Name: "ollama", URL: "http://127.0.0.1:11434/v1", Models: []string{"m"}}}
}

func (f *firstModel) Connect(_ context.Context, c Connection) (*Connected, error) {
	f.kept = c.Keep
	return &Connected{OK: true, URL: c.URL, Model: c.Model}, nil
}

func serve(t *testing.T, o Options) *service {
	t.Helper()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(a)
	t.Cleanup(func() { a.Close(); srv.Close(); http.DefaultClient.CloseIdleConnections() })
	s := &service{t: t, url: srv.URL, api: a, store: o.Journal, doc: new(openAPI), seen: map[string]bool{}}
	if err := json.Unmarshal(a.document, s.doc); err != nil {
		t.Fatal(err)
	}
	return s
}

func newService(t *testing.T) *service { t.Helper(); return serve(t, options(&journal.Memory{})) }

// do sends a request and checks the answer: its status is one that the document has for the route, its body
// fits the schema there.
func (s *service) do(method, path, key, body string) (int, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+Prefix+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return s.send(http.DefaultClient, req)
}

func (s *service) send(c *http.Client, req *http.Request) (int, []byte) {
	s.t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.check(req.Method, strings.TrimPrefix(req.URL.Path, Prefix), resp, body)
	return resp.StatusCode, body
}

// check holds an answer to the document.
func (s *service) check(method, path string, resp *http.Response, text []byte) {
	s.t.Helper()
	where := fmt.Sprintf("%s %s: %d %s", method, path, resp.StatusCode, text)
	r, _, wrong := s.api.find(method, path)
	if wrong != nil {
		s.fits(where, s.doc.Components.Schemas["Failure"], text)
		return
	}
	told, ok := s.doc.Paths[r.path][strings.ToLower(r.method)].Responses[strconv.Itoa(resp.StatusCode)]
	if !ok {
		s.t.Errorf("%s: the document has no such status", where)
		return
	}
	s.seen[r.name+" "+strconv.Itoa(resp.StatusCode)] = true
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if len(told.Content) == 0 {
		if len(text) > 0 {
			s.t.Errorf("%s: there should be no body", where)
		}
		return
	}
	c, ok := told.Content[kind]
	if !ok {
		s.t.Errorf("%s: the document has no body of type %q", where, kind)
		return
	}
	if len(c.Schema) == 0 {
		return
	}
	var ref struct {
		Ref string `json:"$ref"`
	}
	if err := json.Unmarshal(c.Schema, &ref); err != nil {
		s.t.Fatal(err)
	}
	s.fits(where, s.doc.Components.Schemas[strings.TrimPrefix(ref.Ref, "#/components/schemas/")], text)
}

func (s *service) fits(where string, raw json.RawMessage, text []byte) {
	s.t.Helper()
	compiled, err := schema.Compile(raw)
	if err != nil {
		s.t.Fatal(err)
	}
	if found := compiled.Validate(string(text)); len(found) > 0 {
		s.t.Errorf("%s\ndoes not fit its schema: %v", where, found)
	}
}

// get reads an answer into a value.
func (s *service) get(path, key string, v any) {
	s.t.Helper()
	status, body := s.do(http.MethodGet, path, key, "")
	if status != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		s.t.Fatal(err)
	}
}

// refused sends a request that has to fail, and returns what it was told.
func (s *service) refused(method, path, key, body string, status int) *Failure {
	s.t.Helper()
	got, text := s.do(method, path, key, body)
	f := new(Failure)
	if err := json.Unmarshal(text, f); err != nil || got != status || f.Error.Message == "" {
		s.t.Errorf("%s %s %s: %d %s, want status %d", method, path, body, got, text, status)
	}
	return f
}

func (s *service) add(stream string, after int64, records ...record.Record) int64 {
	s.t.Helper()
	if _, err := s.store.Append(s.t.Context(), stream, after, records...); err != nil {
		s.t.Fatal(err)
	}
	return after + int64(len(records))
}

func runBy(by, session string) record.Record {
	return record.Record{Kind: record.KindRun, Run: &record.Run{Session: session, Agent: "home", Model: "m",
		By: by}}
}

func said(role chat.Role, text string) record.Record {
	return record.Record{Kind: record.KindMessage,
		Message: &record.Message{Message: chat.Message{Role: role, Parts: chat.Text(text)}, By: "x"}}
}

func answered(text string, calls ...chat.Call) record.Record {
	return record.Record{Kind: record.KindTurnEnd,
		TurnEnd: &record.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(text),
			Calls: calls}}}
}

func ended(reason string) record.Record {
	return record.Record{Kind: record.KindEnd,
		End: &record.End{Reason: reason, Usage: chat.Usage{Known: true, In: 7, Requests: 1}}}
}

// ask puts a question and returns its id.
func (s *service) ask(run, arguments string, expires time.Time) string {
	s.t.Helper()
	a := journal.Approvals{Store: s.store, Session: "ses_" + run, Run: run}
	got, err := a.Ask(s.t.Context(), runner.Question{Binding: run + arguments, CallID: "call_1", Tool: "write_note",
		Arguments: json.RawMessage(arguments), Rule: "ask: {tool: [write_note]} (wield.yaml:7)", Why: "because",
		Always: "allow: x", Expires: expires})
	if err != nil {
		s.t.Fatal(err)
	}
	return got.ID
}

// filled puts two runs of two keys and their questions into the journal.
func (s *service) filled() (mine, others string) {
	s.t.Helper()
	for _, r := range []struct{ run, by string }{{"run_a", "cleo"}, {"run_b", "otto"}} {
		n := s.add(r.run, 0, runBy(r.by, "ses_"+r.run),
			record.Record{Kind: record.KindSession, Session: &record.Session{Title: "Of " + r.by}},
			said(chat.RoleUser, "Please note the Zebra"),
			answered("I will", chat.Call{ID: "call_1", Name: "write_note", Arguments: `{"path":"a"}`, Complete: true}))
		id := s.ask(r.run, `{"path":"a"}`, time.Time{})
		s.add(r.run, n,
			record.Record{Kind: record.KindWait,
				Wait: &record.Wait{For: record.WaitApproval, Approvals: []string{id}}})
		if mine == "" {
			mine = id
		} else {
			others = id
		}
	}
	return mine, others
}

func (s *service) operation(path string) string {
	path, _, _ = strings.Cut(path, "?")
	r, _, wrong := s.api.find(http.MethodGet, path)
	if wrong != nil {
		s.t.Fatal(wrong)
	}
	return r.name
}

func mustType(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := schema.ForType(of(v), known)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

package gateway

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wield/chat"
)

// TestMain counts goroutines: whatever a test starts must have ended with it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model that a test writes as a function. emit reports whether the stream is still wanted.
type fake func(ctx context.Context, req *chat.Request, emit func(chat.Event) bool) error

func (f fake) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		wanted := true
		err := f(ctx, req, func(e chat.Event) bool {
			wanted = wanted && yield(e, nil)
			return wanted
		})
		if err != nil && wanted {
			yield(chat.Event{}, err)
		}
	}
}

// says is a model that gives these events, and finishes unless the last of them does.
func says(events ...chat.Event) fake {
	return func(_ context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
		for _, e := range events {
			if !emit(e) {
				return nil
			}
		}
		if len(events) == 0 || events[len(events)-1].Kind != chat.KindFinish {
			emit(finish(chat.FinishStop))
		}
		return nil
	}
}

// fails is a model that gives these events and then an error.
func fails(err error, events ...chat.Event) fake {
	return func(_ context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
		for _, e := range events {
			if !emit(e) {
				return nil
			}
		}
		return err
	}
}

func text(s string) chat.Event { return chat.Event{Kind: chat.KindText, Text: s} }

func idle() chat.Event { return chat.Event{Kind: chat.KindIdle} }

func finish(r chat.FinishReason) chat.Event {
	return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: r}}
}

func bounced(n int) chat.Event {
	return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop, Bounces: n}}
}

// call gives the events of a whole call, its arguments in the pieces given.
func call(index int, id, name string, args ...string) []chat.Event {
	events := []chat.Event{{Kind: chat.KindCallStart, Index: index, ID: id, Name: name}}
	for _, a := range args {
		events = append(events, chat.Event{Kind: chat.KindCallArgs, Index: index, Text: a})
	}
	whole := &chat.Call{Index: index, ID: id, Name: name, Arguments: strings.Join(args, ""), Complete: true}
	return append(events, chat.Event{Kind: chat.KindCallEnd, Index: index, ID: id, Name: name, Detail: whole})
}

// one is a gateway's options with a single model, called m.
func one(m chat.Model) Options { return Options{Models: []Model{{Name: "m", Model: m}}} }

// serve runs a gateway on loopback until the test ends.
func serve(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	return serveHandler(t, New(o))
}

func serveHandler(t *testing.T, g *Gateway) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(g)
	t.Cleanup(func() {
		srv.Client().CloseIdleConnections()
		srv.Close()
	})
	return srv
}

// send sends a request and returns the answer with its body.
func send(t *testing.T, srv *httptest.Server, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(b)
}

// ask sends a completion request.
func ask(t *testing.T, srv *httptest.Server, body string, header ...string) (*http.Response, string) {
	t.Helper()
	return send(t, srv, "POST", pathCompletions, body, header...)
}

const (
	hello       = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
	helloStream = `{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true}`
)

// said holds the parts of an OpenAI answer that are checked.
type said struct {
	ID      string
	Object  string
	Created int64
	Model   string
	Choices []struct {
		Message      message
		Delta        message
		FinishReason *string `json:"finish_reason"`
	}
	Error *struct {
		Message string
		Type    string
		Param   *string
		Code    *string
	}
	ToolRequest  *toolRequest `json:"tool_request"`
	Conversation string       `json:"conversation_id"`
}

type message struct {
	Role      string
	Content   *string
	ToolCalls []struct {
		Index    *int
		ID       string
		Type     string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func parse(t *testing.T, body string) said {
	t.Helper()
	var s said
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatalf("answer is no JSON: %v\n%s", err, body)
	}
	return s
}

// frames returns the data of a stream's frames, comments left out.
func frames(body string) (data []string) {
	for _, block := range strings.Split(body, "\n\n") {
		if d, ok := strings.CutPrefix(block, "data: "); ok {
			data = append(data, d)
		}
	}
	return data
}

// A pipeListener is a network of pipes, on which time can be a test's own.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "localhost" }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// client returns an HTTP client for the listener.
func (l *pipeListener) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: l.dial}}
}

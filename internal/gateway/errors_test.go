package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
)

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestRequestErrors: whatever is wrong with a request, the answer has the protocol's shape, the right status,
// and says where and what.
func TestRequestErrors(t *testing.T) {
	o := Options{MaxBody: 2000, Models: []Model{
		{Name: "coder", Model: says(text("a"))},
		{Name: "qwen/qwen3-4b", Model: says(text("b"))},
		{Name: "agent", Model: says(text("c")), NeedsKey: true},
	}}
	srv := serve(t, o)
	const user = `"messages":[{"role":"user","content":"hi"}]`
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		param, code, message     string // message is a part of it
	}{
		{"nothing there", "GET", "/v1/nothing", "", 404, "", "unknown_url", "POST /v1/chat/completions"},
		{"root", "GET", "/", "", 404, "", "unknown_url", "models are asked with POST /v1/chat/completions"},
		{"a slip", "POST", "/v1/chat/completion", "{}", 404, "", "unknown_url",
			"did you mean POST /v1/chat/completions?"},
		{"another slip", "GET", "/v1/model", "", 404, "", "unknown_url", "did you mean GET /v1/models?"},
		{"a slip where it is administered", "GET", "/admin/capture", "", 404, "", "unknown_url",
			"models are asked with"},
		{"base URL without v1", "POST", "/chat/completions", "{}", 400, "messages", "missing_messages", ""},
		{"base URL twice", "POST", "/v1/v1/chat/completions", "{}", 400, "messages", "missing_messages", ""},
		{"trailing slash", "POST", "/v1/chat/completions/", "{}", 400, "messages", "missing_messages", ""},
		{"a slip below messages", "POST", "/v1/messages/bath", "{}", 404, "", "",
			"did you mean POST /v1/messages/batches?"},
		{"GET completions", "GET", pathCompletions, "", 405, "", "method_not_allowed",
			"\"GET\" is not answered at this URL, only POST"},
		{"POST models", "POST", pathModels, "", 405, "", "method_not_allowed", "POST"},
		{"OPTIONS", "OPTIONS", pathCompletions, "", 405, "", "method_not_allowed", ""},
		{"too large", "POST", pathCompletions, `{"messages":"` + strings.Repeat("x", 2000) + `"}`, 413, "",
			"request_too_large", "2000 bytes"},
		{"no body", "POST", pathCompletions, "", 400, "", "invalid_json", ""},
		{"no JSON", "POST", pathCompletions, `{"model":"coder",]`, 400, "", "invalid_json", "17"},
		{"cut JSON", "POST", pathCompletions, `{"model":"coder","messages":[`, 400, "", "invalid_json", ""},
		{"no object", "POST", pathCompletions, `[1]`, 400, "", "invalid_type", ""},
		{"two models", "POST", pathCompletions, `{"model":"coder","model":"agent",` + user + `}`, 400, "",
			"invalid_json", "duplicate"},
		{"model missing", "POST", pathCompletions, `{` + user + `}`, 400, "model", "missing_required_parameter",
			"coder, qwen/qwen3-4b"},
		{"model unknown", "POST", pathCompletions, `{"model":"codr",` + user + `}`, 404, "model", "model_not_found",
			`did you mean "coder"?`},
		{"model quite unknown", "POST", pathCompletions, `{"model":"gpt-5",` + user + `}`, 404, "model",
			"model_not_found", "known models: coder, qwen/qwen3-4b, agent"},
		{"model wrong type", "POST", pathCompletions, `{"model":7,` + user + `}`, 400, "model", "invalid_type", ""},
		{"messages missing", "POST", pathCompletions, `{"model":"coder"}`, 400, "messages", "missing_messages", ""},
		{"messages empty", "POST", pathCompletions, `{"model":"coder","messages":[]}`, 400, "messages",
			"missing_messages", ""},
		{"messages wrong type", "POST", pathCompletions, `{"model":"coder","messages":"hi"}`, 400, "messages",
			"invalid_type", ""},
		{"instructions only", "POST", pathCompletions,
			`{"model":"coder","messages":[{"role":"system","content":"be kind"}]}`, 400, "messages",
			"missing_user_message", ""},
		{"role unknown", "POST", pathCompletions, `{"model":"coder","messages":[{"role":"wizard","content":"hi"}]}`,
			400, "messages[0].role", "invalid_value", ""},
		{"several choices", "POST", pathCompletions, `{"model":"coder","n":17,` + user + `}`, 400, "n",
			"invalid_value", ""},
		{"effort unknown", "POST", pathCompletions, `{"model":"coder","reasoning_effort":"heroic",` + user + `}`, 400,
			"reasoning_effort", "invalid_reasoning_effort", ""},
		{"stream wrong type", "POST", pathCompletions, `{"model":"coder","stream":"yes",` + user + `}`, 400, "stream",
			"invalid_type", ""},
		{"key needed", "POST", pathCompletions, `{"model":"agent",` + user + `}`, 401, "", "invalid_api_key",
			"Authorization"},
		{"entry unknown", "GET", pathModels + "/nope", "", 404, "model", "model_not_found", "known models"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := send(t, srv, tt.method, tt.path, tt.body)
			checkError(t, resp, body, tt.status, tt.param, tt.code, tt.message)
			if tt.status == 405 && resp.Header.Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
}

// checkError checks the answer to a failed request.
func checkError(t *testing.T, resp *http.Response, body string, status int, param, code, message string) {
	t.Helper()
	if resp.StatusCode != status {
		t.Errorf("status %d, want %d: %s", resp.StatusCode, status, body)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	if resp.Header.Get("X-Request-Id") == "" {
		t.Error("no request id")
	}
	e := parse(t, body).Error
	if e == nil || e.Message == "" || e.Type == "" {
		t.Fatalf("not the shape of an error: %s", body)
	}
	if deref(e.Param) != param || deref(e.Code) != code || !strings.Contains(e.Message, message) {
		t.Errorf("param %q, code %q, message %q; want %q, %q, ..%s..", deref(e.Param), deref(e.Code), e.Message, param,
			code, message)
	}
}

// TestModelErrors: what a model fails with before it has said anything becomes a status, streamed or not.
func TestModelErrors(t *testing.T) {
	for _, tt := range []struct {
		err    *chat.Error
		status int
		retry  string
	}{
		{&chat.Error{Kind: chat.ErrBadRequest, Message: "no such field", Param: "messages[0]"}, 400, ""},
		{&chat.Error{Kind: chat.ErrContextLength, Message: "too long"}, 400, ""},
		{&chat.Error{Kind: chat.ErrFiltered, Message: "refused"}, 400, ""}, // A19: not a 500 without a reason
		{&chat.Error{Kind: chat.ErrAuth, Status: 401, Message: "bad key"}, 502, ""},
		{&chat.Error{Kind: chat.ErrNotFound, Message: "not pulled"}, 404, ""},
		{&chat.Error{Kind: chat.ErrRateLimit, Status: 429, Message: "Code: 2028", RetryAfter: 1500 * time.Millisecond},
			429, "2"},
		{&chat.Error{Kind: chat.ErrOverloaded, Message: "busy", RetryAfter: time.Minute}, 503, "60"},
		{&chat.Error{Kind: chat.ErrTimeout, Message: "slow"}, 504, ""},
		{&chat.Error{Kind: chat.ErrProtocol, Message: "nonsense"}, 502, ""},
		{&chat.Error{Kind: chat.ErrUnavailable, Message: "connection refused"}, 502, ""},
	} {
		srv := serve(t, one(fails(tt.err)))
		for _, body := range []string{hello, helloStream} {
			resp, got := ask(t, srv, body)
			e := parse(t, got).Error
			if resp.StatusCode != tt.status || e == nil || !strings.Contains(e.Message, tt.err.Message) ||
				deref(e.Param) != tt.err.Param {
				t.Errorf("%s: status %d, want %d: %s", tt.err.Kind, resp.StatusCode, tt.status, got)
			}
			if h := resp.Header.Get("Retry-After"); h != tt.retry {
				t.Errorf("%s: Retry-After %q, want %q", tt.err.Kind, h, tt.retry)
			}
		}
	}
}

// TestEncodedBody: a compressed body is refused, not read as text.
func TestEncodedBody(t *testing.T) {
	srv := serve(t, one(says(text("a"))))
	resp, body := ask(t, srv, hello, "Content-Encoding", "gzip")
	checkError(t, resp, body, 415, "", codeEncoding, "gzip")
}

// TestChunkedBody: a body without a length is limited as well.
func TestChunkedBody(t *testing.T) {
	o := one(says(text("a")))
	o.MaxBody = 1000
	srv := serve(t, o)
	for _, tt := range []struct {
		body   string
		status int
	}{{hello, 200}, {strings.Repeat(" ", 1001-len(hello)) + hello, 413},
		{strings.Repeat(" ", 1000-len(hello)) + hello, 200}} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+pathCompletions,
			io.MultiReader(strings.NewReader(tt.body)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%d bytes: status %d, want %d", len(tt.body), resp.StatusCode, tt.status)
		}
	}
}

// TestLargeBody: a body larger than what is allocated ahead arrives whole.
func TestLargeBody(t *testing.T) {
	want := strings.Repeat("0123456789", 500_000)
	srv := serve(t, one(fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		emit(text(fmt.Sprint(req.Messages[0].Text() == want)))
		emit(finish(chat.FinishStop))
		return nil
	})))
	_, body := ask(t, srv, `{"messages":[{"role":"user","content":"`+want+`"}]}`)
	if c := parse(t, body).Choices; len(c) != 1 || deref(c[0].Message.Content) != "true" {
		t.Errorf("answer %.200s", body)
	}
}

// TestSlowBody: a body that does not come is not waited for, whether it is wanted or not.
func TestSlowBody(t *testing.T) {
	for _, tt := range []struct {
		path, status, code string
		over               time.Duration
	}{{pathCompletions, "408", codeSlow, defaultBodyTimeout + lastWords}, {"/nothing", "404", codeURL, lastWords}} {
		synctest.Test(t, func(t *testing.T) {
			l := newPipeListener()
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error)
			g := New(one(says(text("a"))))
			go func() { served <- g.Serve(ctx, l, time.Second) }()
			conn, err := l.dial(ctx, "", "")
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", tt.path)
			answer, err := io.ReadAll(conn) // to the end of the connection
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(answer), "HTTP/1.1 "+tt.status) || !strings.Contains(string(answer), tt.code) {
				t.Errorf("%s: %s", tt.path, answer)
			}
			// net/http itself waits another half a second before it closes.
			if d := time.Since(start).Truncate(time.Second); d != tt.over {
				t.Errorf("%s: over after %v", tt.path, d)
			}
			conn.Close()
			stop()
			<-served
		})
	}
}

// TestLongAnswer: the time limit on the body is none on the answer.
func TestLongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		g := New(one(fake(func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
				return ctx.Err()
			}
			emit(text("at last"))
			emit(finish(chat.FinishStop))
			return nil
		})))
		go func() { served <- g.Serve(ctx, l, time.Second) }()
		c := l.client()
		for range 2 { // the second on the same connection
			resp := open(t, c, "http://localhost", hello)
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "at last") {
				t.Errorf("status %d, %s, %v", resp.StatusCode, body, err)
			}
		}
		c.CloseIdleConnections()
		stop()
		<-served
	})
}

// TestLog: one line an exchange, with what an operator needs and nothing that is nobody's business.
func TestLog(t *testing.T) {
	var log strings.Builder
	o := one(says(text("the answer")))
	o.Log = textLog(&log)
	o.Keys = []Key{{Name: "alice", Hash: HashKey("sk-secret")}}
	srv := serve(t, o)
	ask(t, srv, `{"model":"m","messages":[{"role":"user","content":"private words"}]}`, "Authorization",
		"Bearer sk-secret", "X-Request-Id", "abc-1")
	ask(t, srv, hello, "Authorization", "Bearer sk-other")
	srv.Close()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for _, want := range []string{"level=INFO", "status=200", "model=m", "key=alice", "request=abc-1",
		"path=/v1/chat/completions"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%s is missing in %s", want, lines[0])
		}
	}
	if !strings.Contains(lines[1], "level=WARN") || !strings.Contains(lines[1], "address=127.0.0.1") {
		t.Errorf("the wrong key: %s", lines[1])
	}
	if !strings.Contains(lines[2], "status=401") || !strings.Contains(lines[2], "code=invalid_api_key") {
		t.Errorf("refused: %s", lines[2])
	}
	for _, secret := range []string{"sk-", "private words", "the answer"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// TestRequestID: a client's own id comes back if it is harmless.
func TestRequestID(t *testing.T) {
	srv := serve(t, one(says(text("a"))))
	for id, keep := range map[string]bool{"trace-1.2:3_x": true, "a b": false, strings.Repeat("x", 129): false,
		"é": false} {
		resp, _ := ask(t, srv, hello, "X-Request-Id", id)
		if got := resp.Header.Get("X-Request-Id"); (got == id) != keep || got == "" {
			t.Errorf("%q came back as %q", id, got)
		}
	}
}

package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/model/exchange"
	"wield/wire/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server and returns a model of it. Both are closed at the end of the test.
func serve(t *testing.T, o Options, h http.HandlerFunc) *Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o.URL = s.URL + "/v1"
	m := New(o)
	t.Cleanup(m.Close)
	return m
}

func ask() *chat.Request {
	return &chat.Request{Model: "m", Stream: true,
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}}
}

// play runs a stream to its end and writes it down, one word an event.
func play(ctx context.Context, m chat.Model, req *chat.Request) (log string, err error) {
	var b strings.Builder
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			return strings.TrimSpace(b.String()), err
		}
		switch e.Kind {
		case chat.KindText:
			fmt.Fprintf(&b, "%q ", e.Text)
		case chat.KindCallEnd:
			call := e.Detail.(*chat.Call)
			fmt.Fprintf(&b, "%s(%s) ", call.Name, call.Arguments)
		case chat.KindFinish:
			fmt.Fprintf(&b, "finish:%s ", e.Detail.(*chat.Finish).Reason)
		case chat.KindUsage:
			usage := e.Detail.(*chat.Usage)
			fmt.Fprintf(&b, "usage:%d/%d ", usage.In, usage.Out)
		default:
			fmt.Fprintf(&b, "%s ", e.Kind)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

func withoutIdle(log string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(log, "idle", "")), " ")
}

const (
	hello  = `data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}` + "\n\n"
	finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usage  = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\n"
	done   = "data: [DONE]\n\n"
)

// TestAnswers plays answers that servers give with status 200, whatever content type they claim.
func TestAnswers(t *testing.T) {
	huge := strings.Repeat("x", 300_000)
	for _, c := range []struct{ name, body, want, fails string }{
		{"stream", hello + finish + usage + done, `"Hello" usage:3/2 finish:stop`, ""},
		{"crlf and comments", ": ping\r\n\r\n" + strings.ReplaceAll(hello+finish+done, "\n", "\r\n"),
			`"Hello" finish:stop`, ""},
		{"blank lines first", "\n\n\n" + hello + finish + done, `"Hello" finish:stop`, ""},
		{"many blank lines first", strings.Repeat("\n", 5000) + hello + finish + done, `"Hello" finish:stop`, ""},
		{"no terminator", hello + finish, `"Hello" finish:stop`, ""},
		{"no last line end", hello + finish + "data: [DONE]", `"Hello" finish:stop`, ""},
		{"no finish reason, no terminator", hello, `"Hello"`,
			"protocol: the stream ended without a finish reason and without [DONE]"},
		{"huge line", strings.Replace(hello, "Hello", huge, 1) + finish + done, fmt.Sprintf("%q finish:stop", huge),
			""},
		{"line beyond the limit", hello + strings.Replace(hello, "Hello", huge+huge, 1), `"Hello"`,
			"protocol: server-sent event: a frame is longer than 400000 bytes"},
		{"bad UTF-8", strings.Replace(hello, "Hello", "a\xffb", 1) + finish + done, `"a\xffb" finish:stop`, ""},
		{"error frame", hello + `data: {"error":{"message":"boom","type":"overloaded_error"}}` + "\n\n", `"Hello"`,
			"overloaded: boom"},
		{"error event", hello + "event: error\ndata: {\"error\":{\"message\":\"boom\",\"code\":429}}\n\n", `"Hello"`,
			"rate_limit: boom"},
		{"nonsense frame", hello + "data: <oops>\n\n" + finish, `"Hello"`,
			"protocol: not JSON: '{' expected at byte 0: <oops>"},
		{"JSON for a stream",
			` {"choices":[{"message":{"content":"Hello","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
			`"Hello" call_start call_args f({}) finish:tool_calls`, ""},
		{"JSON error", `{"error":{"message":"no such model","code":"model_not_found"}}`, "",
			"not_found: no such model"},
		{"JSON beyond the limit", `{"x":"` + strings.Repeat("y", 600_000) + `"}`, "",
			"protocol: the server's answer is longer than 500000 bytes"},
		{"cut JSON", `{"choices":[{"mess`, "",
			"protocol: not JSON: the end of a string expected at byte 18: {\"choices\":[{\"mess"},
		{"page without a title", "<!doctype html><p>Welcome", "",
			"protocol: the server answered with a page instead of JSON; is the address right?"},
		{"page", "<!doctype html><title>Welcome</title>", "",
			"protocol: the server answered with a page: Welcome; is the address right?"},
		{"nothing", "", "", "protocol: the server's answer is empty"},
		{"only comments", ": ping\n\n: ping\n\n", "",
			"protocol: the stream ended without a finish reason and without [DONE]"},
	} {
		for _, kind := range []string{"text/event-stream; charset=utf-8", "application/json", ""} {
			t.Run(c.name+" as "+kind, func(t *testing.T) {
				m := serve(t, Options{Connection: exchange.Connection{MaxFrame: 400_000, MaxBody: 500_000}},
					func(w http.ResponseWriter, r *http.Request) {
						w.Header()["Content-Type"] = []string{kind}
						io.WriteString(w, c.body)
					})
				log, err := play(t.Context(), m, ask())
				if got := withoutIdle(log); got != c.want {
					t.Errorf("events %.200s, want %.200s", got, c.want)
				}
				checkError(t, err, c.fails)
			})
		}
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		var e *chat.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v is a %T", err, err)
		}
		got = string(e.Kind) + ": " + e.Message
	}
	if got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   string
		retry  time.Duration
	}{
		{"page", 502, nil, "<html><title>502 Bad Gateway</title></html>", "unavailable: 502 Bad Gateway", 0},
		{"empty", 500, nil, "", "unavailable: the server gave no reason", 0},
		{"seconds", 429, http.Header{"Retry-After": {"7"}}, `{"error":{"message":"slow down"}}`,
			"rate_limit: slow down", 7 * time.Second},
		{"date", 503, http.Header{"Retry-After": {"Fri, 20 Nov 2026 10:01:30 GMT"},
			"Date": {"Fri, 20 Nov 2026 10:00:00 GMT"}}, "busy", "overloaded: busy", 90 * time.Second},
		{"redirect", 307, http.Header{"Location": {"https://elsewhere.example/v1"}}, "",
			`unavailable: the server redirects to "https://elsewhere.example/v1"; if that is right, configure it as the address`, 0},
		{"no tools", 400, nil, `{"error":{"message":"gemma does not support tools"}}`,
			"bad_request: gemma does not support tools", 0},
		{"number code", 503, nil, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
			"overloaded: Loading model", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
				for k, v := range c.header {
					w.Header()[k] = v
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			log, err := play(t.Context(), m, ask())
			if log != "" {
				t.Errorf("events %s", log)
			}
			checkError(t, err, c.want)
			var e *chat.Error
			if errors.As(err, &e) && (e.Status != c.status || e.RetryAfter != c.retry) {
				t.Errorf("status %d, wait %v; want %d, %v", e.Status, e.RetryAfter, c.status, c.retry)
			}
			if c.name == "no tools" && e.Code != chat.CodeToolsUnsupported {
				t.Errorf("code %q", e.Code)
			}
		})
	}
}

func TestCompressedAnswer(t *testing.T) {
	m := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "\x1f\x8b\x08")
	})
	_, err := play(t.Context(), m, ask())
	checkError(t, err, "protocol: the server compressed its answer (gzip), which it was not asked to")
}

func TestWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		o            Options
		stream       bool
		accept, body string
	}{
		{Options{Key: "secret", Model: "there", Request: openai.RequestOptions{Forward: []string{"keep_alive"}},
			Headers: http.Header{"x-team": {"blue"}}}, true,
			"text/event-stream, application/json",
			`{"model":"there","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},"keep_alive":"5m"}`},
		{Options{NoUsage: true}, true, "text/event-stream, application/json",
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}`},
		{Options{}, false, "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`},
		{Options{AlwaysStream: true}, false, "text/event-stream, application/json",
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`},
		{Options{NoStream: true}, true, "application/json",
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`},
	} {
		m := serve(t, c.o, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if string(body) != c.body {
				t.Errorf("body %s\nwant %s", body, c.body)
			}
			auth, team := "", ""
			if c.o.Key != "" {
				auth, team = "Bearer secret", "blue"
			}
			if r.Method != "POST" || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != auth ||
				r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") != c.accept ||
				r.Header.Get("X-Team") != team {
				t.Errorf("%s %s %v", r.Method, r.URL.Path, r.Header)
			}
			io.WriteString(w, hello+finish+done)
		})
		req := ask()
		req.Stream = c.stream
		req.Extra = []chat.Extra{{Protocol: chat.ProtocolOpenAI, Key: "keep_alive", Value: []byte(`"5m"`)},
			{Protocol: chat.ProtocolOpenAI, Key: "store", Value: []byte("true")}}
		if _, err := play(t.Context(), m, req); err != nil {
			t.Error(err)
		}
	}
}

// TestIdle checks that Idle comes when, and only when, the server has written nothing more.
func TestIdle(t *testing.T) {
	step := make(chan string)
	m := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		for frames := range step {
			io.WriteString(w, frames)
			http.NewResponseController(w).Flush()
		}
	})
	go func() { step <- hello + hello }()
	var log []string
	for e, err := range m.Stream(t.Context(), ask()) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, e.Kind.String())
		if e.Kind == chat.KindIdle {
			switch len(log) {
			case 3:
				step <- ": ping\n\n"
				step <- hello
			case 5:
				step <- hello + finish + done
				close(step)
			default:
				t.Fatalf("idle after %v", log)
			}
		}
	}
	if got, want := strings.Join(log, " "), "text text idle text idle text finish"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}

func TestCallerLeaves(t *testing.T) {
	gone := make(chan struct{})
	m := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then the server watches the connection
		io.WriteString(w, hello)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for range m.Stream(t.Context(), ask()) {
		break
	}
	<-gone // breaking out closes the request
}

func TestCancel(t *testing.T) {
	for _, before := range []bool{true, false} { // before or behind the first frame
		gone := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		m := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if before {
				cancel()
			} else {
				io.WriteString(w, hello)
				http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
			close(gone)
		})
		var last error
		for e, err := range m.Stream(ctx, ask()) {
			if last = err; e.Kind == chat.KindIdle {
				cancel()
			}
		}
		<-gone
		if !errors.Is(last, chat.ErrCanceled) || !errors.Is(last, context.Canceled) {
			t.Errorf("error %v", last)
		}
		cancel()
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if _, err := play(ctx, New(Options{URL: "http://127.0.0.1:1/v1"}), ask()); !errors.Is(err, chat.ErrTimeout) {
		t.Errorf("deadline: %v", err)
	}
}

// TestEarlyAnswer plays a server that has answered before it reads a long request.
func TestEarlyAnswer(t *testing.T) {
	answer := hello + finish + done
	m := raw(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(answer),
		answer), Options{})
	req := ask()
	req.Messages[0].Parts = chat.Text(strings.Repeat("long ", 200_000))
	for range 20 {
		log, err := play(t.Context(), m, req)
		if withoutIdle(log) != `"Hello" finish:stop` || err != nil {
			t.Fatalf("%s, %v", log, err)
		}
	}
}

// raw starts a server that writes an answer by hand and closes the connection.
func raw(t *testing.T, answer string, o Options) *Model {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, answer)
			if err == nil {
				io.Copy(io.Discard, r.Body)
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	o.URL = "http://" + l.Addr().String()
	m := New(o)
	t.Cleanup(m.Close)
	return m
}

func TestCutConnection(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunk := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	for _, c := range []struct {
		name, answer, want string
		kind               chat.ErrorKind
	}{
		{"before the answer", "", "", chat.ErrUnavailable},
		{"behind the header", head, "", chat.ErrUnavailable},
		{"between frames", head + chunk(hello), `"Hello"`, chat.ErrUnavailable},
		{"inside a frame", head + chunk(hello+"data: {\"cho"), `"Hello"`, chat.ErrUnavailable},
		{"behind the finish reason", head + chunk(hello+finish), `"Hello" finish:stop`, ""},
		{"behind the terminator", head + chunk(hello+finish+done), `"Hello" finish:stop`, ""},
		{"inside a JSON body", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choices\":[", "", chat.ErrUnavailable},
		{"not HTTP", "SSH-2.0-OpenSSH\r\n", "", chat.ErrUnavailable},
		{"inside an error's body", "HTTP/1.1 429 No\r\nContent-Length: 500\r\n\r\nslow down", "", chat.ErrRateLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := play(t.Context(), raw(t, c.answer, Options{}), ask())
			if got := withoutIdle(log); got != c.want {
				t.Errorf("events %s, want %s", got, c.want)
			}
			if e := chat.AsError(err); c.kind == "" && err != nil || c.kind != "" && (e == nil || e.Kind != c.kind) {
				t.Errorf("error %v, want %q", err, c.kind)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1:1/v1", "127.0.0.1:1", "://", "", "ftp://127.0.0.1/x"} {
		_, err := play(t.Context(), New(Options{URL: url, Key: "secret"}), ask())
		if !errors.Is(err, chat.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestPrompt: a prompt goes to the address of completions, over the connections of the others.
func TestPrompt(t *testing.T) {
	var path string
	m := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		_, _ = io.WriteString(w,
			"data: {\"choices\":[{\"index\":0,\"text\":\"hello\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	req := ask()
	req.Prompt, req.Effort = "<|user|>hi", "low"
	log, err := play(t.Context(), m, req)
	if want := `note "hello" finish:stop`; err != nil || log != want || path != "/v1/completions" {
		t.Errorf("%s: %s, %v", path, log, err)
	}
}

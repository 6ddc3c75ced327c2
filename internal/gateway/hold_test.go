package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"wield/bridge"
	"wield/chat"
	connect "wield/model/exchange"
	"wield/model/openai"
)

// The tests in this file break what stands behind the gateway in every way there is, and hold every protocol in front
// of it to a well-formed end. A protocol is a row of faces, a fault a row of faults.

// A face is a protocol as a client of it sees the end of an answer.
type face struct {
	path string // the rows of paths that are not served are passed over
	body string // of a request; %t stands for whether it streams
	// whole reads a body that is not streamed, and stream one that is. Both return the text that it says, and whether
	// it says that the answer failed. Whatever the protocol does not allow is an error: a stream without an end above
	// all.
	whole, stream func(body string) (text string, failed bool, err error)
}

var faces = []face{
	{pathCompletions, `{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":%t}`, completionsWhole,
		completionsStream},
	{"/api/chat", `{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":%t}`, ollamaWhole,
		ollamaStreamed},
	{"/api/generate", `{"model":"m","prompt":"hello","stream":%t}`, ollamaWhole, ollamaStreamed},
	{"/v1/messages", `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"hello"}],"stream":%t}`,
		messagesWhole, messagesStream},
	{"/v1/responses", `{"model":"m","input":"hello","stream":%t}`, responsesWhole, responsesStream},
}

func completionsWhole(body string) (string, bool, error) {
	var b struct {
		Error   json.RawMessage
		Choices []struct {
			Message      struct{ Content *string }
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return "", false, err
	}
	if b.Error != nil {
		return "", true, nil
	}
	if len(b.Choices) != 1 || b.Choices[0].FinishReason == "" {
		return "", false, errors.New("no choice with a finish reason")
	}
	return deref(b.Choices[0].Message.Content), false, nil
}

func completionsStream(body string) (string, bool, error) {
	events, err := eventData(body)
	if err != nil {
		return "", false, err
	}
	var text strings.Builder
	reasons := 0
	for i, e := range events {
		last := i == len(events)-1
		if e == "[DONE]" {
			if !last || reasons != 1 {
				return "", false, fmt.Errorf("an end with %d finish reasons, last: %t", reasons, last)
			}
			return text.String(), false, nil
		}
		var f struct {
			Error   json.RawMessage
			Choices []struct {
				Delta        struct{ Content *string }
				FinishReason *string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(e), &f); err != nil {
			return "", false, err
		}
		if f.Error != nil {
			if !last {
				return "", false, errors.New("something follows an error")
			}
			return text.String(), true, nil
		}
		for _, c := range f.Choices {
			text.WriteString(deref(c.Delta.Content))
			if c.FinishReason != nil {
				reasons++
			}
		}
	}
	return "", false, errors.New("the stream has no end")
}

func ollamaWhole(body string) (string, bool, error) {
	if strings.Count(strings.TrimSpace(body), "\n") > 0 {
		return "", false, errors.New("more than one line")
	}
	return ollamaStreamed(body)
}

func ollamaStreamed(body string) (string, bool, error) {
	var text strings.Builder
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	for i, line := range lines {
		var l struct {
			Error    *string
			Done     bool
			Reason   string `json:"done_reason"`
			Response string
			Message  struct{ Content string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return "", false, err
		}
		text.WriteString(l.Message.Content + l.Response)
		if end := l.Done || l.Error != nil; end != (i == len(lines)-1) {
			return "", false, fmt.Errorf("line %d of %d: %s", i+1, len(lines), line)
		}
		if l.Error != nil {
			return text.String(), true, nil
		}
	}
	return text.String(), false, nil
}

func messagesWhole(body string) (string, bool, error) {
	var b struct {
		Type       string
		StopReason string `json:"stop_reason"`
		Content    []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return "", false, err
	}
	switch {
	case b.Type == "error":
		return "", true, nil
	case b.Type != "message" || b.StopReason == "":
		return "", false, errors.New("neither a message with a stop reason nor an error")
	}
	var text strings.Builder
	for _, c := range b.Content {
		text.WriteString(c.Text)
	}
	return text.String(), false, nil
}

func messagesStream(body string) (string, bool, error) {
	events, err := eventData(body)
	if err != nil {
		return "", false, err
	}
	var text strings.Builder
	open := map[int]bool{}
	for i, e := range events {
		var f struct {
			Type  string
			Index int
			Delta struct{ Text string }
		}
		if err := json.Unmarshal([]byte(e), &f); err != nil {
			return "", false, err
		}
		text.WriteString(f.Delta.Text)
		switch f.Type {
		case "content_block_start":
			open[f.Index] = true
		case "content_block_stop":
			delete(open, f.Index)
		case "error", "message_stop":
			if i < len(events)-1 || f.Type == "message_stop" && len(open) > 0 {
				return "", false, fmt.Errorf("an end with %d blocks open, or before the last event", len(open))
			}
			return text.String(), f.Type == "error", nil
		}
	}
	return "", false, errors.New("the stream has no end")
}

func responsesWhole(body string) (string, bool, error) {
	var b struct {
		Status string
		Error  json.RawMessage
		Output []struct {
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return "", false, err
	}
	var text strings.Builder
	for _, o := range b.Output {
		for _, c := range o.Content {
			text.WriteString(c.Text)
		}
	}
	switch {
	case b.Status == "completed" || b.Status == "incomplete":
		return text.String(), false, nil
	case b.Error != nil && string(b.Error) != "null":
		return text.String(), true, nil
	}
	return "", false, errors.New("neither a response nor an error")
}

func responsesStream(body string) (string, bool, error) {
	events, err := eventData(body)
	if err != nil {
		return "", false, err
	}
	var text strings.Builder
	for i, e := range events {
		var f struct{ Type, Delta string }
		if err := json.Unmarshal([]byte(e), &f); err != nil {
			return "", false, err
		}
		switch f.Type {
		case "response.output_text.delta":
			text.WriteString(f.Delta)
		case "response.completed", "response.incomplete", "response.failed", "error":
			if i < len(events)-1 && f.Type != "error" { // an error may come with the response that failed
				return "", false, fmt.Errorf("%s is not the last event", f.Type)
			}
			if i == len(events)-1 {
				return text.String(), f.Type == "response.failed" || f.Type == "error", nil
			}
		}
	}
	return "", false, errors.New("the stream has no end")
}

// eventData returns the data of the events of a stream, comments left out.
func eventData(body string) (data []string, err error) {
	rest, whole := strings.CutSuffix(body, "\n\n")
	if !whole {
		return nil, errors.New("the stream ends inside an event")
	}
	for block := range strings.SplitSeq(rest, "\n\n") {
		for line := range strings.SplitSeq(block, "\n") {
			switch {
			case strings.HasPrefix(line, "data: "):
				data = append(data, line[6:])
			case strings.HasPrefix(line, "event: "), strings.HasPrefix(line, ":"):
			default:
				return nil, fmt.Errorf("a line that is none of an event stream: %q", line)
			}
		}
	}
	return data, nil
}

// A fault is a server's behavior in place of a right answer. The server has read the request.
type fault struct {
	name   string
	answer func(w http.ResponseWriter, r *http.Request, stream bool)
	whole  want
	stream want
}

// want is the answer that a client must get, and the log's line. A text is compared for answers that do not fail.
type want struct {
	status int
	failed bool
	text   string
	log    []string
}

func failing(status int, log ...string) want { return want{status: status, failed: true, log: log} }

// Pieces of a server's answer.
const (
	firstChunk = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Half "}}]}` + "\n\n"
	nextChunk  = `data: {"choices":[{"index":0,"delta":{"content":"whole"}}]}` + "\n\n"
	lastChunk  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	doneChunk  = "data: [DONE]\n\n"
	wholeBody  = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Half whole"},"finish_reason":"stop"}]}`
)

// says writes what it was asked for and keeps the connection.
func saysRaw(stream, whole string) func(http.ResponseWriter, *http.Request, bool) {
	return func(w http.ResponseWriter, _ *http.Request, streamed bool) {
		if streamed {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, stream)
		} else {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, whole)
		}
		w.(http.Flusher).Flush()
	}
}

// then does one thing after the other.
func then(first func(http.ResponseWriter, *http.Request, bool),
	next func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request, bool) {
	return func(w http.ResponseWriter, r *http.Request, stream bool) {
		first(w, r, stream)
		next(w, r)
	}
}

func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// reset ends the connection as the kernel does for a process that was killed.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

func silence(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func status(code int, contentType, body string, header ...string) func(http.ResponseWriter, *http.Request, bool) {
	return func(w http.ResponseWriter, _ *http.Request, _ bool) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

const htmlPage = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>private words</body></html>"

// heldIdle is the time in which a silent server must be given up: more than it takes to read what came before.
const heldIdle = 250 * time.Millisecond

// The faults of a server that falls silent.
const (
	silentAtOnce = "silence before the first byte"
	silentLater  = "silence mid-stream"
)

// heldFrame bounds one frame, heldBody a whole answer.
const (
	heldFrame = 256 << 10
	heldBody  = 1 << 20
)

var faults = []fault{
	{"none", saysRaw(firstChunk+nextChunk+lastChunk+doneChunk, wholeBody),
		want{status: 200, text: "Half whole"}, want{status: 200, text: "Half whole"}},
	{"killed before the first byte", func(w http.ResponseWriter, r *http.Request, _ bool) { reset(w, r) },
		failing(502, "error=unavailable"), failing(502, "error=unavailable")},
	{"killed mid-stream", then(saysRaw(firstChunk, `{"choices":[{"index":0,"mess`), reset),
		failing(502, "error="), failing(200, "error=unavailable")},
	{"cut off mid-stream", then(saysRaw(firstChunk, `{"choices":[{"index":0,"mess`), cutOff),
		failing(502, "error="), failing(200, "error=")},
	{"ends without an end", saysRaw(firstChunk, ``),
		failing(502, "error=protocol"), failing(200, "error=protocol")},
	{"a 429", status(429, "application/json", `{"error":{"message":"slow down","type":"rate_limit","code":"rate"}}`,
		"Retry-After", "7"),
		failing(429, "error=rate_limit", "backend_status=429"), failing(429, "error=rate_limit", "backend_status=429")},
	{"a 500", status(500, "application/json", `{"error":{"message":"boom"}}`),
		failing(502, "error=unavailable", "backend_status=500"),
		failing(502, "error=unavailable", "backend_status=500")},
	{"an HTML page as an error", status(502, "text/html", htmlPage),
		failing(502, "backend_status=502"), failing(502, "backend_status=502")},
	{"an HTML page as an answer", status(200, "text/html", htmlPage), failing(502, "error="), failing(502, "error=")},
	{"an endless line", func(w http.ResponseWriter, r *http.Request, stream bool) {
		if stream {
			io.WriteString(w, firstChunk+"data: ")
		}
		junk := []byte(strings.Repeat("x", 32<<10))
		for r.Context().Err() == nil {
			if _, err := w.Write(junk); err != nil {
				return
			}
		}
	}, failing(502, "error=protocol"), failing(200, "error=protocol")},
	{"bad UTF-8", saysRaw("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xff\xc3b\"}}]}\n\n"+lastChunk+
		doneChunk,
		"{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a\xff\xc3b\"},\"finish_reason\":\"stop\"}]}"),
		want{status: 200, text: "a\ufffd\ufffdb"}, want{status: 200, text: "a\ufffd\ufffdb"}},
	{"half a JSON", saysRaw(firstChunk+`data: {"choices":[{"delta":{"con`+"\n\n"+lastChunk+doneChunk,
		`{"choices":[{"index":0,"mess`),
		failing(502, "error=protocol"), failing(200, "error=protocol")},
	{"a duplicate chunk", saysRaw(firstChunk+nextChunk+lastChunk+lastChunk+doneChunk+doneChunk, wholeBody),
		want{status: 200, text: "Half whole"}, want{status: 200, text: "Half whole"}},
	{silentAtOnce, func(w http.ResponseWriter, r *http.Request, _ bool) { silence(w, r) },
		failing(504, "error=timeout"), failing(504, "error=timeout")},
	{silentLater, then(saysRaw(firstChunk, `{"choices":[`), silence),
		failing(504, "error=timeout"), failing(200, "error=timeout")},
	{"an empty answer", saysRaw("", ""), failing(502, "error=protocol"), failing(502, "error=protocol")},
}

// TestHold breaks the server behind every protocol in every way, streamed and not: the client gets a well-formed end in
// its own protocol, and the log says what happened and nothing of what was said.
func TestHold(t *testing.T) {
	for _, fa := range faults {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			fa.answer(w, r, strings.Contains(string(body), `"stream":true`))
		}))
		first, idle := 30*time.Second, 30*time.Second // a machine that is busy is no silent server
		switch fa.name {
		case silentAtOnce:
			first = heldIdle
		case silentLater:
			idle = heldIdle
		}
		m := openai.New(openai.Options{URL: backend.URL + "/v1",
			Connection: connect.Connection{FirstByte: first, Idle: idle, MaxFrame: heldFrame, MaxBody: heldBody}})
		var log syncBuilder
		o := one(bridge.New(m, bridge.Options{Mode: bridge.ModeText}))
		o.Log = textLog(&log)
		srv := serve(t, o)
		for _, fc := range faces {
			if found, _ := endpoints.at(fc.path); len(found) == 0 {
				continue
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprint(fa.name, fc.path, " stream ", stream), func(t *testing.T) {
					wanted, read := fa.whole, fc.whole
					if stream {
						wanted, read = fa.stream, fc.stream
					}
					log.reset()
					resp, body := send(t, srv, "POST", fc.path, fmt.Sprintf(fc.body, stream))
					if resp.StatusCode != 200 {
						read = fc.whole // an error before the first byte is a whole body
					}
					checkHeld(t, wanted, resp, body, read)
					await(t, func() bool { return strings.Contains(log.String(), "msg=request") })
					for _, word := range append(wanted.log, "path="+fc.path, fmt.Sprint("status=", resp.StatusCode)) {
						if !strings.Contains(log.String(), word) {
							t.Errorf("the log does not say %s: %s", word, log.String())
						}
					}
					if strings.Contains(log.String(), "Half") || strings.Contains(log.String(), "private words") {
						t.Errorf("the log says what was said: %s", log.String())
					}
				})
			}
		}
		m.Close()
		backend.Close()
	}
}

func checkHeld(t *testing.T, wanted want, resp *http.Response, body string, read func(string) (string, bool, error)) {
	t.Helper()
	// Statuses differ between protocols within a class: 502, 503 and 529 are all that the model cannot answer now.
	if got := resp.StatusCode; got != wanted.status && (wanted.status < 500 || got < 500) {
		t.Errorf("status %d, want %d", got, wanted.status)
	}
	if wanted.status == 429 && resp.Header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
	}
	if !utf8.ValidString(body) {
		t.Errorf("the answer is no UTF-8: %q", body)
	}
	text, failed, err := read(body)
	switch {
	case err != nil:
		t.Errorf("not well-formed: %v\n%s", err, body)
	case failed != wanted.failed:
		t.Errorf("failed is %t, want %t:\n%s", failed, wanted.failed, body)
	case !failed && text != wanted.text:
		t.Errorf("text %q, want %q", text, wanted.text)
	}
	if strings.Contains(body, "private words") {
		t.Errorf("the page of another program is passed on: %s", body)
	}
}

// TestHoldMemory lets a server send without an end: what is taken of it is bounded.
func TestHoldMemory(t *testing.T) {
	for _, tt := range []struct {
		name, head, more string
		most             int64
	}{
		{"a line", "data: ", strings.Repeat("x", 32<<10), heldFrame},
		{"an event of many lines", "", "data: " + strings.Repeat("x", 1<<10) + "\n", heldFrame},
		{"a body", "{\"choices\":[", strings.Repeat(" ", 32<<10), heldBody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent atomic.Int64
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, tt.head)
				for r.Context().Err() == nil {
					n, err := io.WriteString(w, tt.more)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
			}))
			defer backend.Close()
			m := openai.New(openai.Options{URL: backend.URL + "/v1",
				Connection: connect.Connection{MaxFrame: heldFrame, MaxBody: heldBody}})
			defer m.Close()
			srv := serve(t, one(bridge.New(m, bridge.Options{Mode: bridge.ModeText})))
			resp, body := ask(t, srv, helloStream)
			if resp.StatusCode != 502 {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			backend.Close()
			const buffers = 16 << 20 // of both ends of a connection, in the system and in the programs
			if sent.Load() > tt.most+buffers {
				t.Errorf("%d bytes were taken, of at most %d", sent.Load(), tt.most)
			}
		})
	}
}

// await waits for what is soon so when all is well.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("this does not happen")
		}
	}
}

// A syncBuilder is a strings.Builder for several goroutines.
type syncBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuilder) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuilder) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuilder) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

// TestHoldSlowClient has a client stop reading in every protocol: it is given up in time, the model is stopped with it,
// what was gathered for it is bounded, and the log tells.
func TestHoldSlowClient(t *testing.T) {
	for _, fc := range faces {
		if found, _ := endpoints.at(fc.path); len(found) == 0 {
			continue
		}
		t.Run(fc.path, func(t *testing.T) {
			var written atomic.Int64
			ended := make(chan struct{})
			piece := strings.Repeat("x", 4<<10)
			o := one(fake(func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
				defer close(ended)
				for emit(text(piece)) && emit(idle()) {
					written.Add(int64(len(piece)))
				}
				return ctx.Err()
			}))
			var log syncBuilder
			o.Log = textLog(&log)
			o.WriteTimeout = 100 * time.Millisecond
			srv := serve(t, o)
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := fmt.Sprintf(fc.body, true)
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", fc.path,
				len(body), body)
			select {
			case <-ended:
			case <-time.After(time.Minute): // only so that a failure ends
				t.Fatal("the model goes on")
			}
			if n := written.Load(); n > 32<<20 { // what fits into the system's buffers
				t.Errorf("%d bytes were written for nobody", n)
			}
			await(t, func() bool {
				return strings.Contains(log.String(), "status=499") && strings.Contains(log.String(), "error=canceled")
			})
		})
	}
}

package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
)

// readFrame returns the next frame or comment of a stream.
func readFrame(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("stream ended with %v after %q", err, b.String()+line)
		}
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// open starts a stream.
func open(t *testing.T, c *http.Client, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+pathCompletions, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestA20FirstTokenAtOnce: the first text goes out when the model pauses, however short it is, and so do the parts of a
// call's arguments while the call is still being written.
func TestA20FirstTokenAtOnce(t *testing.T) {
	step := make(chan struct{})
	parts := call(0, "call_1", "get_weather", `{"city":`, `"Paris"}`)
	srv := serve(t, one(fake(func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
		for _, e := range append([]chat.Event{text("I")}, parts...) {
			emit(e)
			if e.Kind == chat.KindText || e.Kind == chat.KindCallArgs {
				emit(idle())
				select {
				case <-step:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		emit(finish(chat.FinishStop))
		return nil
	})))
	resp := open(t, srv.Client(), srv.URL, helloStream)
	r := bufio.NewReader(resp.Body)
	for _, want := range []string{`"content":"I"`, `"arguments":"{\"city\":"`, `"arguments":"\"Paris\"}"`} {
		for frame := ""; !strings.Contains(frame, want); {
			// each wait ends only if the frame comes before the model goes on
			frame = readFrame(t, r)
		}
		step <- struct{}{}
	}
	rest, err := io.ReadAll(r)
	if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("stream ends with %q, %v", rest, err)
	}
}

// TestFlushes: what is available at once is sent at once, in few writes.
func TestFlushes(t *testing.T) {
	var events []chat.Event
	for i := range 100 {
		events = append(events, text(fmt.Sprint(i, " ")))
		if i%20 == 19 {
			events = append(events, idle())
		}
	}
	w := &countingWriter{header: make(http.Header)}
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost"+pathCompletions,
		strings.NewReader(helloStream))
	if err != nil {
		t.Fatal(err)
	}
	New(one(says(events...))).ServeHTTP(w, r)
	if w.writes != 6 || w.flushes != 5 {
		t.Errorf("%d writes and %d flushes for 5 pauses and the end, want 6 and 5", w.writes, w.flushes)
	}
	if n := len(frames(w.body.String())); n < 102 {
		t.Errorf("%d frames", n)
	}
}

type countingWriter struct {
	header          http.Header
	body            strings.Builder
	writes, flushes int
	failAt          int // write that fails
}

func (w *countingWriter) Header() http.Header { return w.header }
func (w *countingWriter) WriteHeader(int)     {}
func (w *countingWriter) Flush()              { w.flushes++ }
func (w *countingWriter) Write(b []byte) (int, error) {
	w.writes++
	if w.writes == w.failAt {
		return 0, io.ErrClosedPipe
	}
	return w.body.Write(b)
}

// TestFailedWriteEndsModel: a model is not asked for more once the client cannot be reached.
func TestFailedWriteEndsModel(t *testing.T) {
	var given int
	var cause error
	m := fake(func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
		for emit(text("x")) && emit(idle()) {
			given++
		}
		cause = ctx.Err()
		return nil
	})
	w := &countingWriter{header: make(http.Header), failAt: 3}
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost"+pathCompletions,
		strings.NewReader(helloStream))
	if err != nil {
		t.Fatal(err)
	}
	New(one(m)).ServeHTTP(w, r)
	if given != 2 || w.writes != 3 || cause == nil {
		t.Errorf("%d rounds, %d writes, context %v; want 2, 3 and canceled", given, w.writes, cause)
	}
}

// TestA19DisconnectCancels: a client that goes away ends the model's work, streamed or not.
func TestA19DisconnectCancels(t *testing.T) {
	for _, body := range []string{hello, helloStream} {
		started, ended := make(chan struct{}), make(chan error, 1)
		srv := serve(t, one(fake(func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
			emit(text("one"))
			emit(idle())
			close(started)
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		})))
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", srv.URL+pathCompletions, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-started
			cancel()
		}()
		resp, err := srv.Client().Do(req)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err := <-ended; err != context.Canceled {
			t.Errorf("model ended with %v", err)
		}
	}
}

// TestErrorAfterFirstFrame: the stream ends with an error frame and without its terminator.
func TestErrorAfterFirstFrame(t *testing.T) {
	for _, events := range [][]chat.Event{{text("half"), idle()}, {text("half")}} { // sent already, or not
		srv := serve(t, one(fails(chat.Errorf(chat.ErrProtocol, "cut off"), events...)))
		resp, body := ask(t, srv, helloStream)
		data := frames(body)
		last := parse(t, data[len(data)-1])
		if resp.StatusCode != 200 || last.Error == nil || !strings.Contains(last.Error.Message, "cut off") {
			t.Errorf("status %d, last frame %s", resp.StatusCode, data[len(data)-1])
		}
		if strings.Contains(body, "[DONE]") {
			t.Error("[DONE] after an error")
		}
	}
}

// TestUnfinished: a model that just stops is no whole answer.
func TestUnfinished(t *testing.T) {
	srv := serve(t, one(fails(nil, text("half"))))
	if resp, body := ask(t, srv, hello); resp.StatusCode != 502 {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if _, body := ask(t, srv, helloStream); strings.Contains(body, "[DONE]") || !strings.Contains(body, `"error"`) {
		t.Errorf("stream: %s", body)
	}
}

// TestPanic: a panic in a model is answered and logged, and the server goes on.
func TestPanic(t *testing.T) {
	panics := func(events ...chat.Event) fake {
		return func(_ context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
			for _, e := range events {
				emit(e)
			}
			panic("the model fell over")
		}
	}
	for _, tt := range []struct {
		name, body string
		model      fake
		status     int
	}{
		{"whole", hello, panics(text("a")), 500},
		{"before the first frame", helloStream, panics(), 500},
		{"in the stream", helloStream, panics(text("a"), idle()), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			o := one(tt.model)
			o.Log = textLog(&log)
			srv := serve(t, o)
			resp, body := ask(t, srv, tt.body)
			if resp.StatusCode != tt.status || !strings.Contains(body, codeInternal) ||
				strings.Contains(body, "[DONE]") {
				t.Errorf("status %d, %s", resp.StatusCode, body)
			}
			if strings.Contains(body, "fell over") {
				t.Error("the client is told what went wrong inside")
			}
			srv.Close() // the log is written by now
			if !strings.Contains(log.String(), "fell over") || !strings.Contains(log.String(), "goroutine") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// TestKeepAlive: while a model thinks, its stream gets comments, the first of which sends the head.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		o := one(fake(func(_ context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
			time.Sleep(40 * time.Second)
			emit(text("thought"))
			emit(idle())
			time.Sleep(10 * time.Second)
			emit(text(" twice"))
			emit(idle())
			time.Sleep(16 * time.Second)
			emit(finish(chat.FinishStop))
			return nil
		}))
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- New(o).Serve(ctx, l, time.Second) }()
		c := l.client()
		start := time.Now()
		resp := open(t, c, "http://localhost", helloStream)
		if took := time.Since(start); took != 15*time.Second {
			t.Errorf("head after %v", took)
		}
		r := bufio.NewReader(resp.Body)
		var got []string
		for {
			frame := readFrame(t, r)
			kind := "frame"
			if frame == ": keep-alive\n" {
				kind = "comment"
			}
			got = append(got, fmt.Sprint(kind, " ", time.Since(start)))
			if frame == "data: [DONE]\n" {
				break
			}
		}
		// Silence is counted from the last thing sent: at 30 s the second comment, at 40 s text, at 50 s more of it.
		want := []string{"comment 15s", "comment 30s", "frame 40s", "frame 40s", "frame 50s", "comment 1m5s",
			"frame 1m6s", "frame 1m6s"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		resp.Body.Close()
		c.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestKeepAliveThenError: after a comment there is no way back to a status.
func TestKeepAliveThenError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		g := New(one(fake(func(context.Context, *chat.Request, func(chat.Event) bool) error {
			time.Sleep(20 * time.Second)
			return chat.Errorf(chat.ErrOverloaded, "no room")
		})))
		go func() { served <- g.Serve(ctx, l, time.Second) }()
		c := l.client()
		resp := open(t, c, "http://localhost", helloStream)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 || !strings.HasPrefix(string(body), ": keep-alive\n\ndata: {\"error\"") {
			t.Errorf("status %d, %s", resp.StatusCode, body)
		}
		c.CloseIdleConnections()
		stop()
		<-served
	})
}

// TestSlowReader: a client that does not take what is written is given up after the deadline, and the model with it.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		ended := make(chan time.Duration, 1)
		start := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		o := one(fake(func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
			for emit(text(strings.Repeat("x", 1000))) && emit(idle()) {
			}
			ended <- time.Since(start)
			return ctx.Err()
		}))
		o.KeepAlive = -1 // the timer would wait for the write that hangs, on a mutex, and time stands still meanwhile
		g := New(o)
		go func() { served <- g.Serve(ctx, l, time.Second) }()
		conn, err := l.dial(ctx, "", "")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", pathCompletions,
			len(helloStream), helloStream)
		if d := <-ended; d != defaultWriteTimeout {
			t.Errorf("model ended after %v", d)
		}
		conn.Close()
		stop()
		<-served
	})
}

// TestManyStreams: 200 streams at a time, all whole, none mixed with another.
func TestManyStreams(t *testing.T) {
	const n = 200
	var running, most atomic.Int64
	all := make(chan struct{})
	srv := serve(t, one(fake(func(ctx context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		now := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		if now == n {
			close(all)
		}
		emit(text("start"))
		emit(idle())
		select { // nobody goes on before everybody is there
		case <-all:
		case <-ctx.Done():
			return ctx.Err()
		}
		for range 50 {
			emit(text(" " + req.Messages[0].Text()))
			emit(idle())
		}
		emit(finish(chat.FinishStop))
		return nil
	})))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := fmt.Sprint("client", i)
			resp, body := ask(t, srv,
				fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":%q}]}`, name))
			var got strings.Builder
			data := frames(body)
			for _, d := range data[:max(0, len(data)-1)] {
				if c := parse(t, d).Choices; len(c) > 0 && c[0].Delta.Content != nil {
					got.WriteString(*c[0].Delta.Content)
				}
			}
			if want := "start" + strings.Repeat(" "+name, 50); resp.StatusCode != 200 || got.String() != want ||
				data[len(data)-1] != "[DONE]" {
				t.Errorf("%s: status %d, %q", name, resp.StatusCode, got.String())
			}
		})
	}
	wg.Wait()
	if most.Load() != n {
		t.Errorf("at most %d at a time", most.Load())
	}
}

// TestBounces: the number of bounces stands in the header if it is known when the head is sent, else in the trailer.
func TestBounces(t *testing.T) {
	bounce := chat.Event{Kind: chat.KindBounce, Detail: &chat.BounceDetail{}}
	for _, tt := range []struct {
		name, body      string
		events          []chat.Event
		header, trailer string
	}{
		{"whole, none", hello, []chat.Event{text("a")}, "0", ""},
		{"whole", hello, []chat.Event{bounce, text("a"), bounced(1)}, "1", ""},
		{"stream, none", helloStream, []chat.Event{text("a"), idle()}, "", ""},
		{"before the head", helloStream, []chat.Event{bounce, text("a"), idle(), bounced(1)}, "1", ""},
		{"after the head", helloStream, []chat.Event{text("a"), idle(), bounce, text("b"), bounced(1)}, "", "1"},
	} {
		srv := serve(t, one(says(tt.events...)))
		resp, _ := ask(t, srv, tt.body)
		if h, tr := resp.Header.Get("X-Wield-Bounces"), resp.Trailer.Get("X-Wield-Bounces"); h != tt.header ||
			tr != tt.trailer {
			t.Errorf("%s: header %q, trailer %q; want %q, %q", tt.name, h, tr, tt.header, tt.trailer)
		}
	}
}

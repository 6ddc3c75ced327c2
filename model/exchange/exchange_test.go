package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/model/exchange"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words is the smallest protocol there is: a request is the text of its last message, a frame a word, and the word
// END the end of a stream. A whole answer is {TEXT}.
type words struct{}

func (words) AppendRequest(dst []byte, req *chat.Request, stream bool) ([]byte, error) {
	text := req.Messages[len(req.Messages)-1].Text()
	if text == "" {
		return dst, chat.Errorf(chat.ErrBadRequest, "there is nothing to say")
	}
	return fmt.Appendf(dst, "%s stream=%t", text, stream), nil
}

func (words) NewReader(*chat.Request) exchange.Reader { return &wordReader{} }

func (words) DecodeResponse(dst []chat.Event, _ *chat.Request, body []byte) ([]chat.Event, error) {
	text, whole := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(string(body)), "{"), "}")
	if !whole {
		return dst, chat.Errorf(chat.ErrProtocol, "the answer is cut")
	}
	return append(dst, chat.Event{Kind: chat.KindText, Text: text}, finish()), nil
}

func (words) DecodeError(status int, _ http.Header, body []byte) *chat.Error {
	return &chat.Error{Kind: chat.ErrUnavailable, Status: status, Message: "the server says " + string(body)}
}

type wordReader struct{ done bool }

func (r *wordReader) Feed(dst []chat.Event, data []byte) ([]chat.Event, error) {
	switch string(data) {
	case "END":
		r.done = true
		return dst, nil
	case "BAD":
		return dst, chat.Errorf(chat.ErrProtocol, "a bad word")
	}
	return append(dst, chat.Event{Kind: chat.KindText, Text: string(data)}), nil
}

func (r *wordReader) Done() bool     { return r.done }
func (r *wordReader) Finished() bool { return r.done }

func (r *wordReader) Close(dst []chat.Event) ([]chat.Event, error) {
	if !r.done {
		return dst, chat.Errorf(chat.ErrProtocol, "the stream has no END")
	}
	return append(dst, finish()), nil
}

func finish() chat.Event {
	return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}
}

func request(text string) *chat.Request {
	return &chat.Request{Stream: true, Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(text)}}}
}

// server starts one that answers with h.
func server(t *testing.T, o exchange.Options, h http.HandlerFunc) *exchange.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body strings.Builder
		io.Copy(&body, r.Body) // only then is it noticed that the client goes
		r.Body = io.NopCloser(strings.NewReader(body.String()))
		h(w, r)
	}))
	t.Cleanup(s.Close)
	o.URL = s.URL + "/say"
	x := exchange.New(words{}, o)
	t.Cleanup(x.Close)
	return x
}

// play writes a stream down: texts, a / for every pause, and a dot at the end.
func play(ctx context.Context, s *exchange.Server, req *chat.Request) (string, error) {
	var b strings.Builder
	for e, err := range s.Stream(ctx, req) {
		switch {
		case err != nil:
			return b.String(), err
		case e.Kind == chat.KindText:
			b.WriteString(e.Text)
		case e.Kind == chat.KindIdle:
			b.WriteByte('/')
		case e.Kind == chat.KindFinish:
			b.WriteByte('.')
		}
	}
	return b.String(), nil
}

// TestAnswers: whether an answer is a stream, one body, an error or none of these is seen from the answer itself.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      exchange.Options
		status int
		answer string
		want   string // without pauses
		kind   chat.ErrorKind
		says   string
	}{
		{"a stream", exchange.Options{}, 200, "data: a\n\ndata: b\n\ndata: END\n\n", "ab.", "", ""},
		{"lines", exchange.Options{Lines: true}, 200, "a\nb\nEND\n", "ab.", "", ""},
		{"one body", exchange.Options{}, 200, " {hello}", "hello.", "", ""},
		{"no end", exchange.Options{}, 200, "data: a\n\n", "a", chat.ErrProtocol, "has no END"},
		{"a bad frame", exchange.Options{}, 200, "data: a\n\ndata: BAD\n\ndata: b\n\n", "a", chat.ErrProtocol,
			"a bad word"},
		{"a frame beyond the limit", exchange.Options{Connection: exchange.Connection{MaxFrame: 100}}, 200,
			"data: a\n\ndata: " + strings.Repeat("x", 200) + "\n\n", "a", chat.ErrProtocol, "longer than 100 bytes"},
		{"a body beyond the limit", exchange.Options{Connection: exchange.Connection{MaxBody: 100}}, 200,
			"{" + strings.Repeat("x", 20_000) + "}", "", chat.ErrProtocol, "longer than 100 bytes"},
		{"an error", exchange.Options{}, 500, "no", "", chat.ErrUnavailable, "the server says no"},
		{"a page", exchange.Options{}, 200, "<html>", "", chat.ErrProtocol, "is the address right"},
		{"a redirection", exchange.Options{}, 302, "", "", chat.ErrUnavailable, "redirects"},
		{"nothing", exchange.Options{}, 200, "", "", chat.ErrProtocol, "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := server(t, tt.o, func(w http.ResponseWriter, r *http.Request) {
				if tt.status == 302 {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.answer)
			})
			got, err := play(t.Context(), s, request("hi"))
			if got = strings.ReplaceAll(got, "/", ""); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if tt.kind == "" && err != nil ||
				tt.kind != "" && (!errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v, want %s ..%s..", err, tt.kind, tt.says)
			}
		})
	}
}

// TestRequests: what is asked, and with which headers. A request that cannot be said is an error before anything is
// sent.
func TestRequests(t *testing.T) {
	var body string
	var header http.Header
	handler := func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, header = string(text), r.Header
		io.WriteString(w, "{a}")
	}
	o := exchange.Options{Header: http.Header{"Authorization": {"Bearer k"}, "X-Of-Protocol": {"1"}},
		Headers: http.Header{"x-of-protocol": {"2"}}}
	s := server(t, o, handler)
	if _, err := play(t.Context(), s, request("hi")); err != nil || body != "hi stream=true" ||
		header.Get("Authorization") != "Bearer k" || header.Get("X-Of-Protocol") != "2" {
		t.Errorf("%v, %q, %v", err, body, header)
	}
	o.NoStream = true
	if _, err := play(t.Context(), server(t, o, handler), request("hi")); err != nil || body != "hi stream=false" {
		t.Errorf("%v, %q", err, body)
	}
	body = ""
	if _, err := play(t.Context(), s, request("")); !errors.Is(err, chat.ErrBadRequest) || body != "" {
		t.Errorf("%v, %q", err, body)
	}
	for _, url := range []string{"", "nowhere", "http://", "http://127.0.0.1:0\n"} {
		x := exchange.New(words{}, exchange.Options{URL: url})
		if _, err := play(t.Context(), x, request("hi")); !errors.Is(err, chat.ErrUnavailable) {
			t.Errorf("%q: %v", url, err)
		}
		x.Close()
	}
}

// TestPause: an Idle event comes when nothing more is there, so that whoever writes on can do so at once.
func TestPause(t *testing.T) {
	more := make(chan struct{})
	s := server(t, exchange.Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: a\n\ndata: b\n\n")
		http.NewResponseController(w).Flush()
		<-more
		io.WriteString(w, "data: c\n\ndata: END\n\n")
	})
	var got strings.Builder
	var once bool
	for e, err := range s.Stream(t.Context(), request("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(e.Text)
		if e.Kind == chat.KindIdle && got.String() == "ab" && !once {
			once = true
			close(more) // without the event nobody would
		}
	}
	if got.String() != "abc" {
		t.Errorf("%q", got.String())
	}
}

// A roundTripper is a server without a network, so that time can be that of a test.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSilence: a server that says nothing is given up, before its answer and in it.
func TestSilence(t *testing.T) {
	for _, begun := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := exchange.New(words{},
				exchange.Options{URL: "http://server/say",
					Connection: exchange.Connection{FirstByte: time.Minute, Idle: time.Second,
						Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
							body, w := io.Pipe()
							context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
							if begun {
								go io.WriteString(w, "data: a\n\n")
							}
							return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
						})}})
			defer x.Close()
			begin, want := time.Now(), time.Minute
			if begun {
				want = time.Second
			}
			got, err := play(t.Context(), x, request("hi"))
			if took := time.Since(begin); !errors.Is(err, chat.ErrTimeout) || strings.Contains(got, "a") != begun ||
				took != want {
				t.Errorf("%q, %v after %v, want %v", got, err, took, want)
			}
		})
	}
}

// A pipeListener takes connections that are no network's, so that time can be that of a test.
type pipeListener struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.ended) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// TestConnectionIsKept: streams one after the other use one connection, since the end of each is read. It may come a
// little later than the terminator, and not much later.
func TestConnectionIsKept(t *testing.T) {
	for _, c := range []struct {
		pause time.Duration
		want  int
	}{{0, 1}, {10 * time.Millisecond, 1}, {time.Second, 5}} {
		synctest.Test(t, func(t *testing.T) {
			l := &pipeListener{conns: make(chan net.Conn), ended: make(chan struct{})}
			s := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "data: a\n\ndata: END\n\n")
				http.NewResponseController(w).Flush()
				select {
				case <-time.After(c.pause):
				case <-r.Context().Done():
				}
			})}
			go s.Serve(l)
			defer s.Close()
			connections := 0
			transport := exchange.NewTransport(time.Minute)
			transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
				connections++
				ours, theirs := net.Pipe()
				l.conns <- theirs
				return ours, nil
			}
			x := exchange.New(words{},
				exchange.Options{URL: "http://server/say", Connection: exchange.Connection{Transport: transport}})
			defer x.Close()
			for range 5 {
				for e, err := range x.Stream(t.Context(), request("hi")) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Kind == chat.KindFinish {
						break // as most callers do
					}
				}
				synctest.Wait() // the transport takes the connection back
			}
			if connections != c.want {
				t.Errorf("%d connections for 5 streams whose end comes %v late, want %d", connections, c.pause, c.want)
			}
		})
	}
}

// TestLeave: a reader that has enough, or whose context ends, takes the request back.
func TestLeave(t *testing.T) {
	gone := make(chan struct{}, 2)
	s := server(t, exchange.Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: a\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	for e := range s.Stream(t.Context(), request("hi")) {
		if e.Kind == chat.KindText {
			break
		}
	}
	<-gone
	ctx, cancel := context.WithCancel(t.Context())
	for e, err := range s.Stream(ctx, request("hi")) {
		if err != nil && !errors.Is(err, chat.ErrCanceled) {
			t.Errorf("%v", err)
		}
		if e.Kind == chat.KindText {
			cancel()
		}
	}
	cancel()
	<-gone
}

package compose

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"wield/internal/gateway"
)

// A rawFault is one that no scenario can play: the server writes what it wants. It speaks the OpenAI protocol, and
// answers with a stream whatever it was asked for, as some servers do.
type rawFault struct {
	says   string
	answer func(w http.ResponseWriter, r *http.Request)
	ended  bool // the client gets an answer all the same
}

const (
	rawHead = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"one "}}]}` + "\n\n"
	rawTail = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	rawDone = "data: [DONE]\n\n"
)

var rawFaults = []rawFault{
	{"an endless line", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, rawHead+"data: ")
		junk := []byte(strings.Repeat("x", 256<<10))
		for r.Context().Err() == nil {
			if _, err := w.Write(junk); err != nil {
				return
			}
		}
	}, false},
	{"duplicate last chunk and end", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, rawHead+rawTail+rawTail+rawDone+rawDone)
	}, true},
}

// unread is the row of a client that takes nothing more of what it asked for.
const unread = "any, if the client stops reading for 30 seconds"

// rawServer serves a model whose server answers in this way.
func rawServer(t *testing.T, answer http.HandlerFunc) *Service {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	service, err := compose(t, "backends: {b: {kind: openai, url: \""+server.URL+
		"/v1\", retry: {attempts: 1}}}\nmodels: {m: {backend: b}}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// testRaw finds out what clients get of the faults that no scenario can play.
func (p *matrixPage) testRaw(t *testing.T) {
	for _, fault := range rawFaults {
		front := httptest.NewServer(gateway.New(rawServer(t, fault.answer).Gateway))
		t.Cleanup(front.Close)
		for _, f := range matrixFronts {
			for _, stream := range []bool{false, true} {
				body := f.body(told{question: "count"})
				body["model"], body["stream"] = "m", stream
				h := post(t, front.URL+f.path, body, f.hear)
				if h.ended != fault.ended || !fault.ended && !strings.Contains(h.body, `"error"`) ||
					fault.ended && h.text != "one " {
					t.Errorf("%s: %s, stream %v: %+v", fault.says, f.name, stream, h)
				}
				p.fault(fault.says, f.name, stream, h)
			}
		}
	}
}

// testUnread has clients that ask for a stream and do not read it: they are given up, and the request to the server
// with them.
func (p *matrixPage) testUnread(t *testing.T) {
	for _, f := range matrixFronts {
		left := make(chan struct{})
		service := rawServer(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(left)
			more := fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%q}}]}`+"\n\n",
				strings.Repeat("x", 64<<10))
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, more); err != nil {
					return
				}
			}
		})
		o := service.Gateway
		o.WriteTimeout = 100 * time.Millisecond
		front := httptest.NewServer(gateway.New(o))
		t.Cleanup(front.Close)
		body := f.body(told{question: "count"})
		body["model"], body["stream"] = "m", true
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn,
			"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			f.path, len(data), data)
		select {
		case <-left:
			p.note(unread, f.name, "request cancelled")
		case <-time.After(30 * time.Second): // only so that a failure ends
			t.Errorf("%s: the server goes on for nobody", f.name)
		}
	}
}

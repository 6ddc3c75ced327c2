package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWrongKeys: many wrong keys of one address make it wait, at every place that takes one, and are logged.
// The right one is let in.
func TestWrongKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := one(says(text("a")))
		o.Keys = []Key{{Name: "k", Hash: HashKey("right"), Role: RoleAdmin}}
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		o.Mounts = []Mount{{Prefix: "/in/", Login: "/in/login",
			Serve: func(w http.ResponseWriter, r *http.Request, _ Caller) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != "right" {
					w.WriteHeader(http.StatusUnauthorized)
				}
			}}}
		l := newPipeListener()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- New(o).Serve(ctx, l, time.Second) }()
		c := l.client()
		try := func(method, path, key, body string) *http.Response {
			r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if key != "" {
				r.Header.Set("Authorization", "Bearer "+key)
			}
			resp, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp
		}
		for _, ways := range [][3]string{{"GET", "/v1/models", "wrong"}, {"POST", "/in/login", ""},
			{"GET", "/in/page", "wrong"}, {"GET", pathCaptures, "wrong"}} {
			for i := range maxGuesses + 3 {
				resp := try(ways[0], ways[1], ways[2], "wrong")
				switch want := map[bool]int{true: 401, false: 429}[i < maxGuesses]; {
				case ways[1] == "/in/page" && i < maxGuesses: // who serves it decides
				case resp.StatusCode != want:
					t.Errorf("%s, try %d: status %d, want %d", ways[1], i, resp.StatusCode, want)
				case want == 429 && resp.Header.Get("Retry-After") == "":
					t.Errorf("%s: no time to wait", ways[1])
				}
			}
			if resp := try("GET", "/v1/models", "right", ""); resp.StatusCode != 200 {
				t.Errorf("%s: the right key: status %d", ways[1], resp.StatusCode)
			}
			if resp := try("POST", "/in/login", "", "right"); resp.StatusCode != 429 {
				t.Errorf("a login too soon: status %d", resp.StatusCode)
			}
			time.Sleep(time.Minute)
			if resp := try("POST", "/in/login", "", "right"); resp.StatusCode != 200 {
				t.Errorf("a login after a minute: status %d", resp.StatusCode)
			}
		}
		if n := strings.Count(log.String(), `msg="a wrong key"`); n != 4*maxGuesses ||
			strings.Contains(log.String(), "Bearer") {
			t.Errorf("%d lines are logged:\n%s", n, log.String())
		}
		c.CloseIdleConnections()
		stop()
		<-served
	})
}

// TestWrongKeysWhereSomeModelsAreOpen: a key that nobody has given out is no matter where none is needed, and a guess
// where one is.
func TestWrongKeysWhereSomeModelsAreOpen(t *testing.T) {
	var log bytes.Buffer
	o := one(says(text("a")))
	o.Models = append(o.Models, Model{Name: "tools", Model: says(text("a")), NeedsKey: true})
	o.Keys, o.Open, o.Log = []Key{{Name: "start", Hash: HashKey("right"), Role: RoleAdmin}}, true,
		slog.New(slog.NewTextHandler(&log, nil))
	srv := serve(t, o)
	ask := func(method, path, model, key string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path,
			strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"a"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	count := map[int]int{}
	for i := range 3 * maxGuesses {
		count[ask("POST", []string{pathCompletions, "/v1/messages", "/api/chat"}[i%3], "tools", "wrong")]++
	}
	if count[401] < maxGuesses || count[429] == 0 || count[401]+count[429] != 3*maxGuesses {
		t.Errorf("wrong keys at a model that needs one: %v", count)
	}
	if n := strings.Count(log.String(), `msg="a wrong key"`); n != count[401] {
		t.Errorf("%d lines are logged for %d wrong keys", n, count[401])
	}
	for _, c := range []struct {
		method, path, model, key string
		want                     int
	}{
		{"GET", pathCaptures, "", "wrong", 429}, {"POST", pathCompletions, "tools", "", 401},
		{"POST", pathCompletions, "tools", "right", 200}, {"POST", pathCompletions, "m", "anything", 200},
		{"POST", pathCompletions, "m", "", 200},
	} {
		if got := ask(c.method, c.path, c.model, c.key); got != c.want {
			t.Errorf("%s %s with the model %q and the key %q: status %d, want %d", c.method, c.path, c.model, c.key,
				got, c.want)
		}
	}
}

// TestSlowMount: a body that nobody reads is not waited for, a byte a second or not, in whatever part of the service.
func TestSlowMount(t *testing.T) {
	for _, reads := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newPipeListener()
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error)
			o := one(says(text("a")))
			o.Mounts = []Mount{{Prefix: "/in/", Serve: func(w http.ResponseWriter, r *http.Request, _ Caller) {
				if reads {
					io.Copy(io.Discard, r.Body)
				}
				w.WriteHeader(http.StatusForbidden)
			}}}
			go func() { served <- New(o).Serve(ctx, l, time.Second) }()
			conn, err := l.dial(ctx, "", "")
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			gone := make(chan time.Duration)
			go func() {
				io.Copy(io.Discard, conn)
				gone <- time.Since(start)
			}()
			fmt.Fprint(conn, "POST /in/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
			wrote := make(chan bool)
			go func() {
				defer close(wrote)
				for {
					if _, err := conn.Write([]byte("x")); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			if d := <-gone; d > defaultBodyTimeout+2*lastWords {
				t.Errorf("reads %v: over after %v", reads, d)
			}
			conn.Close()
			<-wrote
			stop()
			<-served
		})
	}
}

// TestTooLargeIsRead: a client that sends all of its body before it looks at the answer is told that it is
// too large, in its protocol.
func TestTooLargeIsRead(t *testing.T) {
	o := one(says(text("a")))
	o.MaxBody = 1000
	srv := serve(t, o)
	const size = 8 << 20 // more than the buffers between both
	for path, named := range map[string]bool{pathCompletions: true, pathResponses: true, pathMessages: true,
		pathChat: false} {
		for _, chunked := range []bool{false, true} {
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			head := fmt.Sprintf("Content-Length: %d", size)
			if chunked {
				head = "Transfer-Encoding: chunked"
			}
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", path, head)
			if chunked {
				fmt.Fprintf(conn, "%x\r\n", size)
			}
			if _, err := conn.Write(bytes.Repeat([]byte(" "), size)); err != nil {
				t.Errorf("%s, chunked %v: the connection is closed while the body is sent: %v", path, chunked, err)
			}
			if chunked {
				fmt.Fprint(conn, "\r\n0\r\n\r\n")
			}
			answer, err := io.ReadAll(conn)
			if err != nil {
				t.Errorf("%s, chunked %v: %v", path, chunked, err)
			}
			head, body, _ := strings.Cut(string(answer), "\r\n\r\n")
			var told struct{ Error json.RawMessage }
			if err := json.Unmarshal([]byte(body), &told); err != nil || !strings.HasPrefix(head, "HTTP/1.1 413 ") ||
				(told.Error[0] == '{') != named {
				t.Errorf("%s, chunked %v: %s", path, chunked, answer)
			}
			conn.Close()
		}
	}
}

package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
)

// An event is one of a stream.
type event struct{ id, name, data string }

// follow opens a stream and hands its events on until the test ends it.
func (s *service) follow(ctx context.Context, path, key, last string) iter.Seq[event] {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+Prefix+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("%s: %d %s", path, resp.StatusCode, body)
	}
	s.seen[s.operation(path)+" 200"] = true
	return func(yield func(event) bool) {
		defer resp.Body.Close()
		var e event
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case lines.Text() == "" && e.data != "":
				if !yield(e) {
					return
				}
				e = event{}
			case name == "id":
				e.id = value
			case name == "event":
				e.name = value
			case name == "data":
				e.data += value
			}
		}
	}
}

// TestTail follows all runs, breaks off again and again, and meets every record once and in order.
func TestTail(t *testing.T) {
	s := newService(t)
	s.filled()
	const n = 60
	last, got := "0", []string{}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range n {
			if _, err := s.store.Append(context.WithoutCancel(t.Context()), "run_a", int64(5+i),
				said(chat.RoleUser, fmt.Sprint("m", i))); err != nil {
				t.Error(err)
			}
		}
	}()
	for len(got) < 2*6+n {
		for e := range s.follow(t.Context(), "/events", "k-admin", last) {
			var entry Entry
			if err := json.Unmarshal([]byte(e.data), &entry); err != nil || fmt.Sprint(entry.Position) != e.id ||
				string(entry.Kind) != e.name {
				t.Fatalf("%+v: %v", e, err)
			}
			s.fits("an event", mustType(t, Entry{}), []byte(e.data))
			got, last = append(got, e.id), e.id
			if len(got)%9 == 0 || len(got) == 2*6+n {
				break
			}
		}
	}
	<-written
	for i, id := range got {
		if id != fmt.Sprint(i+1) {
			t.Fatalf("event %d has the id %s", i, id)
		}
	}
}

// TestTailOfRoles shows who is told of what.
func TestTailOfRoles(t *testing.T) {
	s := newService(t)
	s.filled()
	for key, want := range map[string][]string{
		"k-admin":    {"run_a", "apr", "run_b"},
		"k-client":   {"run_a", "apr"},
		"k-other":    {"run_b", "apr"},
		"k-approver": {"apr"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := map[string]bool{}
		n := map[string]int{"k-admin": 12, "k-client": 6, "k-other": 6, "k-approver": 2}[key]
		for e := range s.follow(ctx, "/events?after=0", key, "") {
			var entry Entry
			if err := json.Unmarshal([]byte(e.data), &entry); err != nil {
				t.Fatal(err)
			}
			stream := entry.Stream
			if strings.HasPrefix(stream, "apr_") {
				stream = "apr"
			}
			seen[stream] = true
			if n--; n == 0 {
				break
			}
		}
		cancel()
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			t.Errorf("%s sees %v, want %v", key, got, want)
		}
	}
	if f := s.refused("GET", "/events?after=x", "k-admin", "", 400); f.Error.Field != "after" {
		t.Errorf("%+v", f)
	}
}

// A stuck client takes nothing until it goes.
type stuck struct {
	header http.Header
	gone   chan struct{}
}

func (w *stuck) Header() http.Header { return w.header }

func (w *stuck) WriteHeader(int) {}

func (w *stuck) Flush() {}

func (w *stuck) Write([]byte) (int, error) {
	<-w.gone
	return 0, errors.New("gone")
}

// TestSlowReader shows that a client which does not read costs no more than the room of its stream, and that all ends
// when it goes.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := New(options(&journal.Memory{}))
		if err != nil {
			t.Fatal(err)
		}
		w := &stuck{http.Header{}, make(chan struct{})}
		x := &exchange{s: a, w: w, r: httptest.NewRequest("GET", Prefix+"/events", nil)}
		x.r.Header.Set("Authorization", "Bearer k-admin")
		if x.caller, err = x.identify(); err != nil {
			t.Fatal(err)
		}
		st := x.stream()
		sent, ended := 0, make(chan struct{})
		go func() {
			defer close(ended)
			for st.send("1", "text", bytes.Repeat([]byte("x"), 1000)) {
				sent++
			}
		}()
		synctest.Wait()
		most := 2 * (roomOfStream/1000 + 1) // what is being written, and what waits for that
		if sent == 0 || sent > most {
			t.Errorf("%d events of a thousand bytes wait, at most %d should", sent, most)
		}
		close(w.gone)
		<-ended
		st.end(nil)
	})
}

// TestClose shows that streams end with the service, and that what was sent before arrives.
func TestClose(t *testing.T) {
	s := newService(t)
	s.filled()
	n := 0
	for range s.follow(t.Context(), "/events?after=0", "k-admin", "") {
		if n++; n == 12 {
			s.api.Close()
		}
	}
	if n != 12 {
		t.Errorf("%d events", n)
	}
}

// TestTailLargest leaves out what is larger than asked for, and tells where it is.
func TestTailLargest(t *testing.T) {
	s := newService(t)
	s.add("run_a", 0, runBy("ada", "ses_a"), said(chat.RoleUser, strings.Repeat("long ", 2000)),
		said(chat.RoleUser, "short"))
	for largest, want := range map[string][]bool{"": {true, true, true}, "&largest=1000": {true, false, true},
		"&largest=0": {false, false, false}} {
		i := 0
		for e := range s.follow(t.Context(), "/events?after=0"+largest, "k-admin", "") {
			var entry Entry
			if err := json.Unmarshal([]byte(e.data), &entry); err != nil {
				t.Fatal(err)
			}
			s.fits("an event", mustType(t, Entry{}), []byte(e.data))
			if there := len(entry.Record) > 0; there != want[i] || there == (entry.Left > 0) {
				t.Errorf("%q: record %d is there: %v, left out %d bytes", largest, i, there, entry.Left)
			}
			if entry.Left > 0 {
				var page Records
				s.get(fmt.Sprintf("/runs/%s/records?limit=1&after=%d", entry.Stream, entry.Seq-1), "k-admin", &page)
				if len(page.Items) != 1 || page.Items[0].Seq != entry.Seq || len(page.Items[0].Record) != entry.Left {
					t.Errorf("%q: behind %d stands %+v, want %d bytes", largest, entry.Seq-1, page, entry.Left)
				}
			}
			if i++; i == len(want) {
				break
			}
		}
	}
	if f := s.refused("GET", "/events?largest=-1", "k-admin", "", 400); f.Error.Field != "largest" {
		t.Errorf("%+v", f)
	}
}

// An endless journal has another entry whenever one was taken, far more than a test takes, and counts them.
type endless struct {
	journal.Memory
	body  []byte
	taken atomic.Int64
}

func (e *endless) Watch(ctx context.Context, _ journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for n := int64(1); ctx.Err() == nil && n < 10_000; n++ {
			e.taken.Add(1)
			if !yield(journal.Entry{Position: n, Stream: "run_a", Seq: n,
				Record: record.Record{Kind: record.KindMessage}, Body: e.body}, nil) {
				return
			}
		}
	}
}

// pipes are connections within this process, which hold nothing: what is written waits until it is read.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestStoppedReader has clients that stop reading in the middle of all that happens. Nothing is gathered for them,
// and after a while the service lets them go.
func TestStoppedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, size = 3, 4 << 10
		store := &endless{body: []byte(`"` + strings.Repeat("x", size) + `"`)}
		a, err := New(options(store))
		if err != nil {
			t.Fatal(err)
		}
		l, srv := make(pipes), &http.Server{Handler: a}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		var conns []net.Conn
		for range clients {
			here, there := net.Pipe()
			l <- there
			conns = append(conns, here)
			if _, err := fmt.Fprintf(here,
				"GET %s/events HTTP/1.1\r\nHost: wield\r\nAuthorization: Bearer k-admin\r\n\r\n", Prefix); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(here, make([]byte, 100_000)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		before := store.taken.Load()
		// what was read, what is being written, and what waits for that
		const most = clients * (100_000 + 3*roomOfStream + 2*size) / size
		if before > most {
			t.Errorf("%d records were taken for clients that read nothing, at most %d should be", before, most)
		}
		time.Sleep(2 * a.o.WriteTimeout)
		synctest.Wait()
		if after := store.taken.Load(); after > before+clients {
			t.Errorf("%d more records were taken", after-before)
		}
		for i, c := range conns {
			if rest, _ := io.ReadAll(c); len(rest) > 3*roomOfStream { // it ends, or this would wait for ever
				t.Errorf("client %d is sent %d bytes after it was let go", i, len(rest))
			}
			c.Close()
		}
		a.Close()
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

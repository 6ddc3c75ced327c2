package webhook

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testSecret = "0123456789abcdef"

// A far is another service: it answers as it is told, and remembers what it was sent.
type far struct {
	mu    sync.Mutex
	plan  []int // statuses; then 204
	after string
	got   []sent
	hold  chan struct{} // if it is not nil, answers wait for it
}

type sent struct {
	at     time.Time
	header http.Header
	body   string
}

func (f *far) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.got = append(f.got, sent{time.Now(), r.Header, string(body)})
	status := http.StatusNoContent
	if len(f.plan) > 0 {
		status, f.plan = f.plan[0], f.plan[1:]
	}
	f.mu.Unlock()
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	h := http.Header{}
	if f.after != "" {
		h.Set("Retry-After", f.after)
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: h, Body: http.NoBody, Request: r}, nil
}

// sender runs a sender over a journal until the test ends.
func sender(t *testing.T, f http.RoundTripper, ends ...Endpoint) (*Sender, *journal.Memory) {
	t.Helper()
	store := &journal.Memory{}
	s, err := New(Options{Journal: store, Endpoints: ends, Transport: f})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, store
}

func add(t *testing.T, s journal.Store, stream string, after int64, records ...record.Record) {
	t.Helper()
	if _, err := s.Append(t.Context(), stream, after, records...); err != nil {
		t.Fatal(err)
	}
}

func begun() record.Record {
	return record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses", Agent: "home", By: "ada"}}
}

func over() record.Record {
	return record.Record{Kind: record.KindEnd, End: &record.End{Reason: "answer"}}
}

// TestBegin sends what happens between Begin and Run, and nothing from before.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, store := &far{}, &journal.Memory{}
		s, err := New(Options{Journal: store,
			Endpoints: []Endpoint{{URL: "https://hooks.example/x", Secret: testSecret}}, Transport: f})
		if err != nil {
			t.Fatal(err)
		}
		add(t, store, "run_before", 0, begun())
		if err := s.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		add(t, store, "run_between", 0, begun(), over())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(f.got) != 2 || !strings.Contains(f.got[0].body, "run_between") ||
			!strings.Contains(f.got[1].body, "run.ended") {
			t.Errorf("sent %+v", f.got)
		}
	})
}

// TestRound sends every kind of event, and answers by the link that came with the question.
func TestRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{}
		s, store := sender(t, f, Endpoint{URL: "https://hooks.example/x", Secret: testSecret,
			Answers: "https://wield.example/"})
		synctest.Wait()
		add(t, store, "run_1", 0, begun())
		approvals := &journal.Approvals{Store: store, Session: "ses", Run: "run_1"}
		a, err := approvals.Ask(t.Context(),
			runner.Question{Binding: "b", Tool: "rm", Arguments: json.RawMessage(`{"path":"x"}`), Rule: "r", Why: "w"})
		if err != nil {
			t.Fatal(err)
		}
		add(t, store, "run_1", 1,
			record.Record{Kind: record.KindWait,
				Wait: &record.Wait{For: record.WaitApproval, Approvals: []string{a.ID}}})
		if _, err := approvals.Decide(t.Context(), a.ID, runner.Answer{State: runner.ApprovalDenied, By: "amy",
			Reason: "no"}); err != nil {
			t.Fatal(err)
		}
		add(t, store, "run_1", 2, record.Record{Kind: record.KindResume, Resume: &record.Resume{}}, over())
		synctest.Wait()
		if len(f.got) != len(Kinds()) {
			t.Fatalf("%d events", len(f.got))
		}
		for i, want := range Kinds() {
			var m Message
			if err := json.Unmarshal([]byte(f.got[i].body), &m); err != nil || m.Event != want || m.Run != "run_1" ||
				m.Session != "ses" || m.ID != f.got[i].header.Get("Webhook-Id") {
				t.Errorf("%d: %s %v, want %s", i, f.got[i].body, err, want)
			}
			stamp := f.got[i].header.Get("Webhook-Timestamp")
			if got := f.got[i].header.Get("Webhook-Signature"); got != "v1,"+
				sign([]byte(testSecret), m.ID+"."+stamp+"."+f.got[i].body) {
				t.Errorf("%d: signature %q", i, got)
			}
			switch want {
			case ApprovalWaiting:
				link, ok := strings.CutPrefix(m.Approval.Link, "https://wield.example/api/v1/approvals/"+a.ID+"?token=")
				if by, good := s.Check(a.ID, link); !ok || !good || by != "link:hooks.example" {
					t.Errorf("%q is of %q, %v", m.Approval.Link, by, good)
				}
				if _, good := s.Check("apr_other", link); good {
					t.Error("a link lets in to another approval")
				}
				if m.Approval.State != runner.ApprovalPending && m.Approval.State != runner.ApprovalDenied ||
					string(m.Approval.Arguments) != `{"path":"x"}` {
					t.Errorf("%+v", m.Approval)
				}
			case ApprovalDecided:
				if m.Approval.State != runner.ApprovalDenied || m.Approval.By != "amy" || m.Approval.Reason != "no" ||
					m.Approval.Link != "" {
					t.Errorf("%+v", m.Approval)
				}
			case RunEnded:
				if m.Ended.Reason != "answer" {
					t.Errorf("%+v", m.Ended)
				}
			}
		}
	})
}

// TestRetry shows what is tried again, and when.
func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plan  []int
		after string
		want  []time.Duration // between the attempts
	}{
		{"good at once", nil, "", nil},
		{"refused, then good", []int{0, 500, 204}, "", []time.Duration{time.Second, 5 * time.Second}},
		{"it says when", []int{429}, "30", []time.Duration{30 * time.Second}},
		{"it says in a year", []int{503}, "31536000", []time.Duration{longestPause}},
		{"it says nonsense", []int{503}, "soon", []time.Duration{time.Second}},
		{"never", []int{500, 500, 500, 500, 500, 500, 500}, "", pauses[:]},
		{"not understood", []int{400}, "", nil},
		{"gone", []int{410}, "", nil},
		{"a redirect", []int{302}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &far{plan: tt.plan, after: tt.after}
				_, store := sender(t, f, Endpoint{URL: "https://hooks.example/x", Secret: testSecret,
					Events: []Kind{RunEnded}})
				synctest.Wait()
				add(t, store, "run_1", 0, begun(), over())
				time.Sleep(time.Hour)
				synctest.Wait()
				if len(f.got) != len(tt.want)+1 {
					t.Fatalf("%d attempts, want %d", len(f.got), len(tt.want)+1)
				}
				for i, want := range tt.want {
					if got := f.got[i+1].at.Sub(f.got[i].at); got != want {
						t.Errorf("pause %d is %v, want %v", i, got, want)
					}
					if f.got[i+1].header.Get("Webhook-Id") != f.got[0].header.Get("Webhook-Id") {
						t.Error("another attempt has another id")
					}
				}
			})
		})
	}
}

// TestStuck shows that an endpoint which does not answer holds up neither runs nor other endpoints, and is
// told all in order later.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := &far{hold: make(chan struct{})}, &far{}
		both := transport{"slow.example": slow, "quick.example": quick}
		_, store := sender(t, both, Endpoint{URL: "https://slow.example/", Secret: testSecret},
			Endpoint{URL: "https://quick.example/", Secret: testSecret})
		synctest.Wait()
		const n = 50
		for i := range n {
			add(t, store, fmt.Sprint("run_", i), 0, begun())
		}
		synctest.Wait()
		if len(quick.got) != n || len(slow.got) != 1 {
			t.Errorf("%d and %d events", len(quick.got), len(slow.got))
		}
		close(slow.hold)
		synctest.Wait()
		if len(slow.got) != n {
			t.Errorf("%d events later", len(slow.got))
		}
		for i, s := range slow.got {
			if s.header.Get("Webhook-Id") != fmt.Sprint(i+1) {
				t.Errorf("event %d is %s", i, s.header.Get("Webhook-Id"))
			}
		}
	})
}

type transport map[string]http.RoundTripper

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t[r.URL.Host].RoundTrip(r)
}

// TestOld shows that an event which nobody could take for too long is left out.
func TestOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{plan: []int{500, 500, 500, 500, 500, 500}, after: "300"}
		_, store := sender(t, f, Endpoint{URL: "https://hooks.example/x", Secret: testSecret,
			Events: []Kind{RunStarted}})
		synctest.Wait()
		f.mu.Lock()
		for range 200 {
			f.plan = append(f.plan, 500)
		}
		f.mu.Unlock()
		for i := range 40 {
			add(t, store, fmt.Sprint("run_", i), 0, begun())
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		last := f.got[len(f.got)-1]
		if age := last.at.Sub(f.got[0].at); age > maxAge+(attempts-1)*longestPause {
			t.Errorf("an event was sent %v after it had happened", age)
		}
		if len(f.got) > 15*attempts {
			t.Errorf("%d attempts", len(f.got))
		}
	})
}

func TestNew(t *testing.T) {
	for _, e := range []Endpoint{
		{URL: "hooks", Secret: testSecret}, {URL: "https://hooks.example", Secret: "short"},
		{URL: "https://hooks.example", Secret: "whsec_!"},
	} {
		if _, err := New(Options{Endpoints: []Endpoint{e}}); err == nil || strings.Contains(err.Error(), "short") {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if _, err := New(
		Options{
			Endpoints: []Endpoint{{URL: "https://hooks.example:1",
				Secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="}}}); err != nil {
		t.Error(err)
	}
}

// TestHostile sends to servers that answer in ways which might keep or mislead the sender: each is done with
// in one request, and nothing of the answer or the address, which may hold secrets, stands in the error.
func TestHostile(t *testing.T) {
	answers := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Write([]byte(text))
			conn.Close()
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"an endless body": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"more headers than anybody reads": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("canary", 1<<20))
		},
		"a status of its own": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(599)
			w.Write([]byte("canary"))
		},
		"a pause that no number holds": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "99999999999999999999999")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"a pause of ten billion seconds": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "10000000000")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"a pause in the past": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "-5")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"a redirect to a file": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd?canary")
			w.WriteHeader(http.StatusFound)
		},
		"another protocol": func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Write([]byte("SSH-2.0-canary\r\n"))
			conn.Close()
		},
		"nothing": func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		},
		"a body that unpacks without end, taken": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			for z := gzip.NewWriter(w); r.Context().Err() == nil; {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		},
		"a length that it does not keep, taken": answers("HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\nx"),
		"hints without end": answers(
			strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 50000)),
		"another protocol by 101": answers(
			"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
		"two lengths": answers(
			"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"),
		"a redirect to the machine's metadata": answers(
			"HTTP/1.1 307 x\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"),
		"a redirect to its own address": answers(
			"HTTP/1.1 308 x\r\nLocation: /sesame-path\r\nContent-Length: 0\r\n\r\n"),
	} {
		s := httptest.NewServer(answer)
		e, err := newEndpoint(Endpoint{URL: s.URL + "/sesame-path", Secret: testSecret}, nil)
		if err != nil {
			t.Fatal(err)
		}
		wait, err := e.post(t.Context(), "1", []byte("{}"))
		if wait > longestPause || wait < 0 && strings.Contains(name, "pause") {
			t.Errorf("%s: it waits for %v", name, wait)
		}
		if (err == nil) != (name == "an endless body" || strings.HasSuffix(name, ", taken")) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), testSecret) ||
			len(err.Error()) > 300) {
			t.Errorf("%s: the error is %v", name, err)
		}
		e.client.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	}
}

// TestNetwork sends over the network, to the host of the endpoint and not to where that points.
func TestNetwork(t *testing.T) {
	met := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { met <- "elsewhere" }))
	defer elsewhere.Close()
	points := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		met <- "points"
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer points.Close()
	good := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { met <- "good" }))
	defer good.Close()
	for _, tt := range []struct{ url, want string }{{points.URL, "points"}, {good.URL, "good"}} {
		e, err := newEndpoint(Endpoint{URL: tt.url, Secret: testSecret}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.post(t.Context(), "1", []byte("{}"))
		if got := <-met; got != tt.want || (err == nil) != (tt.want == "good") || len(met) > 0 {
			t.Errorf("%s: %v and %d more, %v", got, tt.want, len(met), err)
		}
		e.client.CloseIdleConnections()
		other, err := http.NewRequestWithContext(t.Context(), http.MethodPost, elsewhere.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := e.client.Do(other); err == nil {
			resp.Body.Close()
			t.Error("the client of an endpoint goes elsewhere")
		}
	}
}

// A shaky journal cannot be reached now and then.
type shaky struct {
	*journal.Memory
	lost atomic.Int32 // how often it still fails
}

func (s *shaky) Watch(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range s.Memory.Watch(ctx, q) {
			if s.lost.Add(-1) >= 0 {
				yield(journal.Entry{}, fmt.Errorf("%w: conn closed", journal.ErrLost))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestJournalIsLost: what happened while the journal could not be reached is sent afterwards, each event once.
func TestJournalIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, store := &far{}, &shaky{Memory: &journal.Memory{}}
		s, err := New(Options{Journal: store,
			Endpoints: []Endpoint{{URL: "https://hooks.example/x", Secret: testSecret}}, Transport: f})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		add(t, store, "run_1", 0, begun())
		synctest.Wait()
		store.lost.Store(3)
		add(t, store, "run_1", 1, over())
		add(t, store, "run_2", 0, begun(), over())
		time.Sleep(time.Minute)
		synctest.Wait()
		var ids []string
		for _, m := range f.got {
			ids = append(ids, m.header.Get("Webhook-Id"))
		}
		if got := strings.Join(ids, " "); got != "1 2 3 4" {
			t.Errorf("events %s were sent", got)
		}
		store.lost.Store(1)
		add(t, store, "run_3", 0, begun())
		synctest.Wait() // it waits for the journal
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wield/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A collector keeps what is posted to it.
type collector struct {
	mu     sync.Mutex
	spans  map[string]jsonSpan
	bodies strings.Builder
	header http.Header
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req exportRequest
	if err := json.Unmarshal(body, &req); err != nil || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(400)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = r.Header
	c.bodies.Write(body)
	for _, rs := range req.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans[s.Name] = s
			}
		}
	}
}

func (s *jsonSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			switch {
			case a.Value.String != nil:
				return *a.Value.String
			case a.Value.Int != nil:
				return *a.Value.Int
			case a.Value.List != nil:
				return fmt.Sprint(*a.Value.List.Values[0].String)
			}
		}
	}
	return ""
}

func (s *jsonSpan) names() (out []string) {
	for _, e := range s.Events {
		out = append(out, e.Name)
	}
	return out
}

type played struct {
	events []chat.Event
	err    error
}

func (p played) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for _, e := range p.events {
			if !yield(e, nil) {
				return
			}
		}
		if p.err != nil {
			yield(chat.Event{}, p.err)
		}
	}
}

func turn(k chat.Kind, model string, attempt int) chat.Event {
	return chat.Event{Kind: k, Detail: &chat.TurnDetail{Model: model, Backend: "b", Dialect: "hermes",
		Attempt: attempt}}
}

var bounced = []chat.Event{
	turn(chat.KindTurnStart, "first", 1),
	{Kind: chat.KindText, Text: "private words"},
	{Kind: chat.KindRejected, Detail: &chat.RejectedDetail{Reason: chat.ReasonInvalid, Name: "f"}},
	{Kind: chat.KindBounce, Detail: &chat.BounceDetail{Reason: chat.ReasonInvalid}},
	turn(chat.KindTurnEnd, "first", 1),
	turn(chat.KindTurnStart, "second", 2),
	{Kind: chat.KindCallEnd, Detail: &chat.Call{Name: "f", ID: "c1", Arguments: `{"private":"words"}`, Complete: true}},
	turn(chat.KindTurnEnd, "second", 2),
	{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 7, Out: 3}},
	{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishCalls, Bounces: 1}},
}

// run sends the spans of one answer to a collector of its own.
func run(t *testing.T, o Options, header string, r Request, m chat.Model) *collector {
	t.Helper()
	c := &collector{spans: map[string]jsonSpan{}}
	srv := httptest.NewServer(c)
	defer srv.Close()
	o.Endpoint = srv.URL + "/v1/traces"
	tracer := New(o)
	for range tracer.Model(r, m).Stream(t.Context(), &chat.Request{Trace: Read(http.Header{"Traceparent": {header}}),
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("private words")}}}) {
	}
	tracer.Close()
	return c
}

// TestSpans sends a request with a bounce: the span of the request holds one of each attempt, with the
// attributes of the convention and nothing of what was said.
func TestSpans(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	c := run(t, Options{Version: "v", Headers: http.Header{"X-Key": {"k"}}}, parent,
		Request{ID: "req_1", Model: "coder", Front: "openai"}, played{events: bounced})
	request, first, second := c.spans["chat coder"], c.spans["chat first"], c.spans["chat second"]
	if len(c.spans) != 3 || c.header.Get("X-Key") != "k" {
		t.Fatalf("%d spans: %s", len(c.spans), c.bodies.String())
	}
	if request.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || request.Parent != "00f067aa0ba902b7" ||
		request.Kind != kindServer {
		t.Errorf("the request's span does not belong to the client's: %+v", request)
	}
	for _, s := range []jsonSpan{first, second} {
		if s.TraceID != request.TraceID || s.Parent != request.SpanID || s.Kind != kindClient ||
			s.attribute("gen_ai.provider.name") != "b" || s.attribute("wield.backend") != "b" || s.Start > s.End {
			t.Errorf("%+v", s)
		}
	}
	if first.End > second.Start || second.End > request.End {
		t.Error("the spans do not follow one another")
	}
	for key, want := range map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "coder",
		"gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "3",
		"gen_ai.response.finish_reasons": "tool_calls", "wield.bounces": "1", "wield.request.id": "req_1"} {
		if got := request.attribute(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := fmt.Sprint(first.names()); got != "[first sign call rejected bounce]" {
		t.Errorf("events of the first attempt: %s", got)
	}
	if got := fmt.Sprint(second.names()); got != "[first sign call]" {
		t.Errorf("events of the second: %s", got)
	}
	if strings.Contains(c.bodies.String(), "private") {
		t.Errorf("what was said: %s", c.bodies.String())
	}
}

// TestContent holds what was said only when it is asked for.
func TestContent(t *testing.T) {
	c := run(t, Options{Content: true}, "", Request{Model: "coder"}, played{events: bounced})
	s := c.spans["chat coder"]
	if !strings.Contains(s.attribute("gen_ai.input.messages"), "private words") ||
		!strings.Contains(s.attribute("gen_ai.output.messages"), "private words") {
		t.Errorf("%s", c.bodies.String())
	}
}

// TestHide takes what is secret out of all that is sent: what was said, and errors.
func TestHide(t *testing.T) {
	hide := func(text string) string { return strings.ReplaceAll(text, "private", "***") }
	for _, m := range []played{{events: bounced}, {err: chat.Errorf(chat.ErrAuth, "the key private is wrong")}} {
		c := run(t, Options{Content: true, Hide: hide}, "", Request{Model: "coder"}, m)
		if sent := c.bodies.String(); sent == "" || strings.Contains(sent, "private") {
			t.Errorf("sent: %s", sent)
		}
	}
}

// TestFailures marks what failed, and what the client left.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		m    played
		want string
	}{
		{played{err: chat.Errorf(chat.ErrTimeout, "late")}, "timeout"},
		{played{events: bounced[:2], err: chat.Errorf(chat.ErrUnavailable, "gone")}, "unavailable"},
		{played{events: bounced[:2]}, "canceled"},
	} {
		c := run(t, Options{}, "", Request{Model: "coder"}, tt.m)
		if len(c.spans) != 2 {
			t.Errorf("%s: %d spans", tt.want, len(c.spans))
		}
		for _, s := range c.spans {
			if s.Status == nil || s.Status.Code != 2 || s.attribute("error.type") != tt.want {
				t.Errorf("%s: %+v", tt.want, s)
			}
		}
	}
}

// TestUnsampled sends nothing of a trace that its client does not record, and begins one where the header
// says nothing useful.
func TestUnsampled(t *testing.T) {
	for header, spans := range map[string]int{
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00": 0,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": 3,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": 3,
		"rubbish": 3, "": 3, "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": 3,
	} {
		c := run(t, Options{}, header, Request{Model: "coder"}, played{events: bounced})
		if len(c.spans) != spans {
			t.Errorf("%q: %d spans, want %d", header, len(c.spans), spans)
		}
		if spans > 0 &&
			(c.spans["chat coder"].TraceID == strings.Repeat("0", 32) || len(c.spans["chat coder"].TraceID) != 32) {
			t.Errorf("%q: trace %s", header, c.spans["chat coder"].TraceID)
		}
	}
}

// TestNobodyListens loses spans, tells so once, and makes nobody wait.
func TestNobodyListens(t *testing.T) {
	var log strings.Builder
	hang := make(chan struct{})
	tracer := New(Options{Endpoint: "http://collector.example/", Log: slog.New(slog.NewTextHandler(&log, nil)),
		Transport: refusing(hang)})
	m := tracer.Model(Request{Model: "coder"}, played{events: bounced})
	for range maxQueue { // three spans each, which is more than fits
		for range m.Stream(t.Context(), &chat.Request{}) {
		}
	}
	close(hang)
	tracer.Close()
	if got := strings.Count(log.String(), "traces cannot be sent"); got != 1 {
		t.Errorf("told %d times: %s", got, log.String())
	}
	if !strings.Contains(log.String(), "spans were dropped") {
		t.Errorf("what was dropped is not told: %s", log.String())
	}
}

// refusing is a way to a collector that refuses everything once the channel is closed, and is silent before.
type refusing chan struct{}

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	<-r
	return nil, errors.New("refused")
}

// TestNil traces nothing.
func TestNil(t *testing.T) {
	var tracer *Tracer
	if tracer.Model(Request{}, played{}).(played).events != nil {
		t.Error("a model is wrapped for nothing")
	}
	tracer.Close()
}

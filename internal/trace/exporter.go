package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Options say where spans go.
type Options struct {
	Endpoint string      // address of the collector, such as http://127.0.0.1:4318/v1/traces
	Headers  http.Header // sent along, for collectors that want a key
	Service  string      // name of the service; empty: wield
	Version  string      // of the service
	Content  bool        // whether what is said stands in spans
	Log      *slog.Logger
	Hide     func(string) string // takes secrets out of what is sent; nil: nothing is taken out

	Transport http.RoundTripper // nil: an own one, without a proxy
}

// Bounds of the exporter.
const (
	maxQueue  = 2048             // spans that wait
	batchSize = 256              // spans of one post
	batchTime = 2 * time.Second  // after which spans are posted even so
	postTime  = 10 * time.Second // for one post
)

// A Tracer makes spans and sends them. A nil *Tracer does nothing.
type Tracer struct {
	o       Options
	client  *http.Client
	queue   chan *span
	stop    chan struct{}
	stopped chan struct{}

	mu      sync.Mutex
	dropped int
	failing bool // the last post failed, and the log says so
}

// New returns a tracer and starts to send. Close ends it.
func New(o Options) *Tracer {
	if o.Service == "" {
		o.Service = "wield"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{MaxIdleConns: 1, IdleConnTimeout: time.Minute}
	}
	t := &Tracer{o: o, client: &http.Client{Transport: transport, Timeout: postTime}, queue: make(chan *span, maxQueue),
		stop: make(chan struct{}), stopped: make(chan struct{})}
	go t.run()
	return t
}

// Close posts what is left and ends the tracer. Spans that end afterwards are lost.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	close(t.stop)
	<-t.stopped
	t.client.CloseIdleConnections()
}

// send hands a span that has ended to the exporter.
func (t *Tracer) send(s *span) {
	select {
	case t.queue <- s:
	default:
		t.mu.Lock()
		t.dropped++
		t.mu.Unlock()
	}
}

// run posts spans in batches.
func (t *Tracer) run() {
	defer close(t.stopped)
	tick := time.NewTicker(batchTime)
	defer tick.Stop()
	var batch []*span
	flush := func() {
		if len(batch) > 0 {
			t.post(batch)
			batch = batch[:0]
		}
	}
	for {
		select {
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) >= batchSize {
				flush()
			}
		case <-tick.C:
			flush()
		case <-t.stop:
			for {
				select {
				case s := <-t.queue:
					batch = append(batch, s)
					continue
				default:
				}
				flush()
				return
			}
		}
	}
}

// post sends spans to the collector. A failure is told once, until a post succeeds again; the spans are lost.
func (t *Tracer) post(batch []*span) {
	err := t.try(batch)
	t.mu.Lock()
	was, dropped := t.failing, t.dropped
	t.failing, t.dropped = err != nil, 0
	t.mu.Unlock()
	switch {
	case err != nil && !was:
		t.o.Log.Error("traces cannot be sent", "endpoint", t.o.Endpoint, "error", err)
	case err == nil && was:
		t.o.Log.Info("traces are sent again", "endpoint", t.o.Endpoint)
	}
	if dropped > 0 {
		t.o.Log.Warn("spans were dropped: they came faster than the collector took them", "spans", dropped)
	}
}

func (t *Tracer) try(batch []*span) error {
	body, err := json.Marshal(t.request(batch))
	if t.o.Hide != nil {
		body = []byte(t.o.Hide(string(body)))
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), postTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.o.Endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for k, v := range t.o.Headers {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers with status %d", resp.StatusCode)
	}
	return nil
}

// The JSON of the protocol. Numbers of 64 bits are strings in it, ids are hexadecimal.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []jsonSpan `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	jsonSpan struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Events     []jsonEvent `json:"events,omitempty"`
		Status     *jsonStatus `json:"status,omitempty"`
	}
	jsonEvent struct {
		Time       string      `json:"timeUnixNano"`
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes,omitempty"`
	}
	jsonStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string     `json:"stringValue,omitempty"`
		Int    *string     `json:"intValue,omitempty"`
		Double *float64    `json:"doubleValue,omitempty"`
		List   *arrayValue `json:"arrayValue,omitempty"`
	}
	arrayValue struct {
		Values []value `json:"values"`
	}
)

func text(key, v string) attribute { return attribute{key, value{String: &v}} }

func number(key string, n int) attribute {
	s := strconv.Itoa(n)
	return attribute{key, value{Int: &s}}
}

func decimal(key string, x float64) attribute { return attribute{key, value{Double: &x}} }

func texts(key string, list ...string) attribute {
	a := &arrayValue{}
	for _, v := range list {
		a.Values = append(a.Values, value{String: &v})
	}
	return attribute{key, value{List: a}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func (t *Tracer) request(batch []*span) exportRequest {
	s := scopeSpans{Scope: scope{Name: "wield", Version: t.o.Version}}
	for _, sp := range batch {
		j := jsonSpan{TraceID: sp.trace.String(), SpanID: sp.id.String(), Name: sp.name, Kind: sp.kind,
			Start: nanos(sp.start), End: nanos(sp.end), Attributes: sp.attributes}
		if sp.parent != (spanID{}) {
			j.Parent = sp.parent.String()
		}
		if sp.failed != "" {
			const failed = 2
			j.Status = &jsonStatus{failed, sp.failed}
		}
		for _, e := range sp.events {
			j.Events = append(j.Events, jsonEvent{nanos(e.at), e.name, e.attributes})
		}
		s.Spans = append(s.Spans, j)
	}
	return exportRequest{[]resourceSpans{{
		Resource:   resource{[]attribute{text("service.name", t.o.Service), text("service.version", t.o.Version)}},
		ScopeSpans: []scopeSpans{s},
	}}}
}

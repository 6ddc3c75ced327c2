package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"wield/bridge"
	"wield/internal/trace"
	"wield/model/openai"
)

// A tracedBackend is a server that keeps the headers of its requests. Its first answer has a call whose arguments do
// not fit.
type tracedBackend struct {
	mu      sync.Mutex
	headers []http.Header
}

func (b *tracedBackend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.headers = append(b.headers, r.Header.Clone())
	answer := `"It is sunny."`
	if len(b.headers) == 1 {
		answer = `"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"place\": 1}}\n</tool_call>"`
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":`+answer+
		`},"finish_reason":"stop"}]}`)
}

// TestTraceReachesBackend asks for an answer that is bounced once: both requests to the server belong to the client's
// trace, to the span of wield's request where wield sends spans, else to the client's.
func TestTraceReachesBackend(t *testing.T) {
	const clientTrace, clientSpan = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	const weather = `{"model":"m","tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",` +
		`"properties":{"city":{"type":"string"}},"required":["city"]}}}],"messages":[{"role":"user","content":"weather?"}]}`
	for _, tt := range []struct {
		name, parent string
		spans        bool
		sent         int // requests to the server that say a trace
	}{
		{"wield sends no spans", "00-" + clientTrace + "-" + clientSpan + "-01", false, 2},
		{"wield sends spans", "00-" + clientTrace + "-" + clientSpan + "-01", true, 2},
		{"the client records nothing", "00-" + clientTrace + "-" + clientSpan + "-00", true, 2},
		{"no trace", "", false, 0},
		{"a broken header", "00-" + clientTrace + "-\u00e9-01", false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			backend := &tracedBackend{}
			server := httptest.NewServer(backend)
			defer server.Close()
			m := openai.New(openai.Options{URL: server.URL + "/v1"})
			defer m.Close()
			o := one(bridge.New(m, bridge.Options{Mode: bridge.ModeText}))
			var span string
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var posted struct {
					ResourceSpans []struct {
						ScopeSpans []struct {
							Spans []struct{ Name, SpanID, ParentSpanID string }
						}
					}
				}
				if err := json.NewDecoder(r.Body).Decode(&posted); err != nil {
					t.Error(err)
					return
				}
				for _, s := range posted.ResourceSpans[0].ScopeSpans[0].Spans {
					if s.ParentSpanID == clientSpan {
						span = s.SpanID
					}
				}
			}))
			defer collector.Close()
			if tt.spans {
				o.Trace = trace.New(trace.Options{Endpoint: collector.URL})
			}
			r, _ := http.NewRequestWithContext(t.Context(), "POST", pathCompletions, strings.NewReader(weather))
			r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
			r.Header.Set("Traceparent", tt.parent)
			r.Header.Add("Tracestate", "a=1")
			w := httptest.NewRecorder()
			New(o).ServeHTTP(w, r)
			o.Trace.Close()
			if w.Code != 200 || len(backend.headers) != 2 {
				t.Fatalf("%d requests, %d %s", len(backend.headers), w.Code, w.Body)
			}
			want := tt.parent
			if span != "" {
				want = "00-" + clientTrace + "-" + span + "-01"
			}
			if got := tt.spans && strings.HasSuffix(tt.parent, "01"); got != (span != "") {
				t.Fatalf("the span of the request is %q", span)
			}
			n := 0
			for _, h := range backend.headers {
				if h.Get("Traceparent") == "" && h.Get("Tracestate") == "" {
					continue
				}
				if n++; h.Get("Traceparent") != want || h.Get("Tracestate") != "a=1" {
					t.Errorf("the server is sent %q and %q, want %q", h.Get("Traceparent"), h.Get("Tracestate"), want)
				}
			}
			if n != tt.sent {
				t.Errorf("%d requests say a trace, want %d", n, tt.sent)
			}
		})
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestRunRetry_DR06: a request that is made again is no silence: the log and the lines say why, and when.
func TestRunRetry_DR06(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		if asked.Add(1)%2 == 1 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"error":{"message":"the model is being loaded"}}`, http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte(`data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}` +
			"\n\ndata: [DONE]\n\n"))
	}))
	defer s.Close()
	const want = "the model is being loaded: trying again in 1s (attempt 2 of 2)"
	code, out, log := runWield(t, t.TempDir(), "", "run", "--upstream", s.URL+"/v1", "--model", "m", "hi")
	if code != 0 || out != "hello\n" || !strings.Contains(log, want) {
		t.Errorf("exit %d, %q, log %q", code, out, log)
	}
	code, out, _ = runWield(t, t.TempDir(), "", "run", "--upstream", s.URL+"/v1", "--model", "m", "--output",
		"stream-json", "hi")
	if code != 0 || !strings.Contains(out, `"type":"retry"`) || !strings.Contains(out, want) {
		t.Errorf("exit %d, %s", code, out)
	}
}

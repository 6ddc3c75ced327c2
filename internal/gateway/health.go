package gateway

import (
	"encoding/json"
	"net/http"

	"wield/chat"
	"wield/internal/metrics"
)

// healthBody is the answer of GET /health. It needs no key and holds nothing that would.
type healthBody struct {
	Status  string `json:"status"` // ok, draining or journal unavailable
	Version string `json:"version,omitempty"`
	Queue   struct {
		Pending int64 `json:"pending"` // completions under way
	} `json:"queue"`
	Auth string `json:"auth"` // keys; tools: only for models that run tools here; none
}

// health answers GET /health. While the service drains, or cannot reach its journal, its status is 503, so that whoever
// distributes requests sends no more.
func (x *exchange) health() *failure {
	b := healthBody{Status: "ok", Version: x.g.opts.Version, Auth: "none"}
	b.Queue.Pending = x.g.running.Load()
	if len(x.g.holders) > 0 {
		b.Auth = "keys"
		if x.g.opts.Open {
			b.Auth = "tools"
		}
	}
	status := http.StatusOK
	switch {
	case x.g.leaving.Load() || x.g.draining.Load():
		b.Status, status = "draining", http.StatusServiceUnavailable
	case x.g.unready.Load():
		b.Status, status = "journal unavailable", http.StatusServiceUnavailable
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // numbers and strings
	}
	x.w.Header()["Cache-Control"] = noCache
	x.body(status, text)
	return nil
}

// metricsType is the content type of the numbers.
var metricsType = []string{metrics.ContentType}

// metrics answers GET /metrics. Like /health it needs no key: it holds numbers and names of the
// configuration, and nothing of what is said.
func (x *exchange) metrics() *failure {
	m := x.g.opts.Metrics
	if m == nil {
		return refuse(http.StatusNotFound, chat.ErrNotFound, codeURL, "this service does not count anything")
	}
	text, err := m.Append(nil)
	if err != nil {
		return refuse(http.StatusInternalServerError, chat.ErrUnavailable, codeInternal,
			"the numbers cannot be told: "+err.Error())
	}
	x.w.Header()["Cache-Control"] = noCache
	x.bodyOf(metricsType, http.StatusOK, text)
	return nil
}

package config

import (
	"fmt"
	"log/slog"
	"net/http"

	"wield/internal/trace"
)

// Trace says where spans of what happens are sent.
type Trace struct {
	Endpoint URL              `key:"endpoint" doc:"Address of a collector for OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Empty: no traces."`
	Headers  map[string]Value `key:"headers" doc:"Headers to send along. Those that carry secrets as env:NAME or file:PATH."`
	Service  string           `key:"service" doc:"Name of the service in traces. Empty: wield."`
	Content  bool             `key:"content" doc:"Whether what is said stands in traces."`
}

func (t *Trace) check(d *decoder) {
	for _, name := range sortedKeys(t.Headers) {
		checkHeader(d, "trace.headers."+name, name, t.Headers[name])
	}
}

// Tracer returns what sends spans as the configuration says, or nil if there are to be none.
func (t *Trace) Tracer(getenv func(string) string, version string, log *slog.Logger, hide func(string) string) (*trace.Tracer, error) {
	if t.Endpoint == "" {
		return nil, nil
	}
	h := http.Header{}
	for _, name := range sortedKeys(t.Headers) {
		v, err := t.Headers[name].Resolve(getenv)
		if err != nil {
			return nil, fmt.Errorf("trace.headers.%s: %w", name, err)
		}
		h.Set(name, v)
	}
	return trace.New(trace.Options{Endpoint: string(t.Endpoint), Headers: h, Service: t.Service, Version: version, Content: t.Content, Log: log, Hide: hide}), nil
}

// Stamp sums up the section, so that a change of it is noticed.
func (t *Trace) Stamp() string { return fmt.Sprintf("%+v", *t) }

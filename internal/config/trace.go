package config

import (
	"fmt"
	"maps"
	"slices"
)

// Trace says where spans of what happens are sent.
type Trace struct {
	Endpoint URL              `key:"endpoint" doc:"Address of a collector for OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Empty: no traces."`
	Headers  map[string]Value `key:"headers" doc:"Headers to send along. Those that carry secrets as env:NAME or file:PATH."`
	Service  string           `key:"service" doc:"Name of the service in traces. Empty: wield."`
	Content  bool             `key:"content" doc:"Whether what is said stands in traces."`
}

func (t *Trace) check(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		checkHeader(d, "trace.headers."+name, name, t.Headers[name])
	}
}

// Stamp sums up the section, so that a change of it is noticed.
func (t *Trace) Stamp() string { return fmt.Sprintf("%+v", *t) }

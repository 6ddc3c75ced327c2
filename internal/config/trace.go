package config

import (
	"fmt"
	"maps"
	"slices"
)

// Trace says where spans of what happens are sent.
type Trace struct {
	Endpoint URL              `key:"endpoint" doc:"OTLP/HTTP collector, such as http://127.0.0.1:4318/v1/traces. Empty: no traces."`
	Headers  map[string]Value `key:"headers" doc:"Additional headers; secrets as env:NAME or file:PATH."`
	Service  string           `key:"service" doc:"Service name. Empty: wield."`
	Content  bool             `key:"content" doc:"Include content."`
}

func (t *Trace) check(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		checkHeader(d, "trace.headers."+name, name, t.Headers[name])
	}
}

// Stamp sums up the section, so that a change of it is noticed.
func (t *Trace) Stamp() string { return fmt.Sprintf("%+v", *t) }

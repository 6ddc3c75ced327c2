package compose

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"wield/internal/config"
	"wield/internal/trace"
)

// Tracer returns what sends spans as the configuration says, or nil if there are to be none.
func Tracer(t *config.Trace, getenv func(string) string, version string, log *slog.Logger, hide func(string) string) (
	*trace.Tracer, error) {
	if t.Endpoint == "" {
		return nil, nil
	}
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		v, err := t.Headers[name].Resolve(getenv)
		if err != nil {
			return nil, fmt.Errorf("trace.headers.%s: %w", name, err)
		}
		h.Set(name, v)
	}
	return trace.New(trace.Options{Endpoint: string(t.Endpoint), Headers: h, Service: t.Service, Version: version,
		Content: t.Content, Log: log, Hide: hide}), nil
}

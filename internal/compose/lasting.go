package compose

import (
	"context"

	"wield/chat"
	"wield/internal/metrics"
	"wield/internal/runs"
)

// lasting are the answers of an agent with what stands between it and its clients.
type lasting struct {
	answers runs.Answers
	metrics *metrics.Metrics
	name    string
	quiet   bool
}

// Begin implements gateway.Lasting.
func (l lasting) Begin(ctx context.Context, req *chat.Request) (string, error) {
	return l.answers.Begin(ctx, req)
}

// Answer implements gateway.Lasting.
func (l lasting) Answer(answer string) chat.Model {
	m := l.answers.Answer(answer)
	if l.quiet {
		m = quiet{m}
	}
	return l.metrics.Front(l.name, m)
}

// Abandon implements gateway.Lasting.
func (l lasting) Abandon(ctx context.Context, answer string) error {
	return l.answers.Abandon(ctx, answer)
}

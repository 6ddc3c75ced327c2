package compose

import (
	"fmt"
	"log/slog"

	"wield/internal/config"
	"wield/internal/webhook"
	"wield/journal"
)

// Sender returns what tells other services of the runs in a journal. It sends nothing before it is run.
func Sender(c *config.Config, getenv func(string) string, s journal.Store, log *slog.Logger) (*webhook.Sender, error) {
	o := webhook.Options{Journal: s, Log: log}
	for i, w := range c.Webhooks {
		secret, err := w.Secret.Resolve(getenv)
		if err != nil {
			return nil, fmt.Errorf("webhooks[%d].secret: %w", i, err)
		}
		e := webhook.Endpoint{URL: string(w.URL), Secret: secret, Answers: string(w.Answer)}
		for _, name := range w.Events {
			e.Events = append(e.Events, webhook.Kind(name))
		}
		o.Endpoints = append(o.Endpoints, e)
	}
	sender, err := webhook.New(o)
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	return sender, nil
}

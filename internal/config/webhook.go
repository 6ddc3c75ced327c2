package config

import (
	"fmt"
	"log/slog"

	"wield/internal/webhook"
	"wield/journal"
)

// A Webhook is a service that is told what happens to runs.
type Webhook struct {
	URL    URL      `key:"url" required:"true" doc:"Where events are sent, each as a POST of JSON."`
	Secret Secret   `key:"secret" required:"true" doc:"What signs them, at least 16 bytes, as env:NAME or file:PATH."`
	Events []string `key:"events" enum:"run.started|run.waiting|run.ended|approval.waiting|approval.decided" doc:"Which ones. Empty: all."`
	Answer URL      `key:"answer" doc:"Address by which people reach this service, such as https://wield.example. With it a question comes with a link that lets whoever has it answer that question. Empty: without."`
}

// Sender returns what tells other services of the runs in a journal. It sends nothing before it is run.
func (c *Config) Sender(getenv func(string) string, s journal.Store, log *slog.Logger) (*webhook.Sender, error) {
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

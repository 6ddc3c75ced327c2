package config

import (
	"context"
	"fmt"
	"iter"

	"wield/chat"
)

// renamed asks a model under the name that its server knows.
type renamed struct {
	model chat.Model
	name  string
}

func (m renamed) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if req.Model != m.name {
		r := *req
		r.Model = m.name
		req = &r
	}
	return m.model.Stream(ctx, req)
}

// server returns the model that a backend serves.
func (w *workshop) server(b *Backend, name string) (chat.Model, error) {
	return nil, fmt.Errorf("backends.%s.kind: kind %s is not built yet", name, b.Kind)
}

// fallback returns a model that asks the models of chain in turn.
func fallback(chain []chat.Model) chat.Model { return chain[0] }

package metrics

import (
	"context"
	"iter"
	"time"

	"wield/chat"
)

// A Server says which backend a model is.
type Server struct {
	Name string // in the configuration
	Kind string // of the backend, there
}

// Providers are the names that the convention has for kinds of backends; others stand for themselves.
var providers = map[string]string{"openai": "openai", "anthropic": "anthropic"}

// Backend returns a model that counts the requests to a server. Its names of models come from the configuration, since
// clients ask for models by those of the front.
func (m *Metrics) Backend(s Server, next chat.Model) chat.Model {
	if m == nil {
		return next
	}
	provider, ok := providers[s.Kind]
	if !ok {
		provider = s.Kind
	}
	return &backend{m: m, name: s.Name, provider: provider, next: next}
}

type backend struct {
	m              *Metrics
	name, provider string
	next           chat.Model
}

// Stream implements chat.Model.
func (b *backend) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		t := trip{b: b, ctx: ctx, model: req.Model, yield: yield, start: time.Now()}
		defer t.end()
		b.next.Stream(ctx, req)(t.take)
	}
}

// A trip is a backend request under way.
type trip struct {
	b        *backend
	ctx      context.Context // only to see whether somebody went away
	model    string
	yield    func(chat.Event, error) bool
	start    time.Time
	begun    bool
	finished bool
	failed   string
}

func (t *trip) take(e chat.Event, err error) bool {
	b := t.b
	if err != nil {
		t.failed = string(chat.AsError(err).Kind)
		return t.yield(e, err)
	}
	switch e.Kind {
	case chat.KindText, chat.KindReasoning, chat.KindCallStart:
		if !t.begun {
			t.begun = true
			b.m.backend.firstToken.WithLabelValues(operation, b.provider, t.model,
				b.name).Observe(time.Since(t.start).Seconds())
		}
	case chat.KindUsage:
		if u := e.Detail.(*chat.Usage); u.Known {
			b.m.backend.tokens.WithLabelValues(operation, b.provider, t.model, b.name, "input").Observe(float64(u.In))
			b.m.backend.tokens.WithLabelValues(operation, b.provider, t.model, b.name, "output").Observe(float64(u.Out))
		}
	case chat.KindFinish:
		t.finished = true
	}
	return t.yield(e, nil)
}

func (t *trip) end() {
	failure, status := t.failed, "ok"
	switch {
	case failure != "":
		status = failure
	case !t.finished && t.ctx.Err() == nil:
		status = "stopped" // what the answer was to hold is there
	case !t.finished:
		failure, status = string(chat.ErrCanceled), string(chat.ErrCanceled)
	}
	m, b := t.b.m, t.b
	m.backend.duration.WithLabelValues(operation, b.provider, t.model, b.name,
		failure).Observe(time.Since(t.start).Seconds())
	m.backend.requests.WithLabelValues(b.name, status).Inc()
}

package compose

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/dialect/profile"
	"wield/internal/chattemplate"
	"wield/internal/config"
	"wield/model/openai"
)

// Bounds of asking a server for the chat template of a model.
const (
	templateTime  = 2 * time.Second
	templateAgain = time.Hour // after a server that told none
)

// A learner is the bridge of a model of which nothing is known by its name. Before the first request with tools it asks
// the server for the model's chat template, and from then on expects the dialect that this teaches.
type learner struct {
	backend chat.Model
	options bridge.Options // of a bridge that knows nothing of the model
	server  openai.Options
	served  string

	mu     sync.Mutex
	bridge *bridge.Bridge
	next   time.Time // before this the server is not asked
}

// learner returns the bridge of a model: one that learns from the model's chat template if the name says nothing, no
// dialect is set, tools may have to be taught, and the server is one that people run themselves.
func (w *builder) learner(backend chat.Model, m *config.Model, o bridge.Options) (chat.Model, error) {
	b := w.config.Backends[m.Backend]
	if !slices.Contains([]string{"openai", "ollama"}, b.Kind) || !w.env.Templates || w.env.Backend != nil ||
		!strings.HasPrefix(string(b.URL), "http://") ||
		len(o.Decode.Prefer) > 0 || o.Decode.Own != nil || o.Passive || o.NoTools || o.Mode == bridge.ModeNative ||
		o.Mode == bridge.ModeTemplate ||
		!isAuto(m.Profile) || !isAuto(string(m.Dialect)) {
		return bridge.New(backend, o), nil
	}
	server, err := TemplateServer(&b, w.env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("backends.%s.%w", m.Backend, err)
	}
	o.Support = new(bridge.Support) // which outlives the first bridge
	return &learner{backend: backend, options: o, server: server, served: m.Model, bridge: bridge.New(backend, o)}, nil
}

func isAuto(name string) bool { return name == "" || name == "auto" }

// TemplateServer says how a backend is asked for chat templates.
func TemplateServer(b *config.Backend, getenv func(string) string) (openai.Options, error) {
	o := openai.Options{URL: string(b.URL), Headers: http.Header{}}
	var err error
	if o.Key, err = b.Key.Resolve(getenv); err != nil {
		return o, fmt.Errorf("key: %w", err)
	}
	for name, secret := range b.Headers {
		value, err := secret.Resolve(getenv)
		if err != nil {
			return o, fmt.Errorf("headers.%s: %w", name, err)
		}
		o.Headers.Set(name, value)
	}
	return o, nil
}

// Stream implements [chat.Model].
func (l *learner) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return l.learned(ctx, req).Stream(ctx, req)
}

// Sent returns what the bridge would send as far as the model is known. Nothing is asked.
func (l *learner) Sent(req *chat.Request) (sent *chat.Request, inText bool, err error) {
	l.mu.Lock()
	b := l.bridge
	l.mu.Unlock()
	return b.Sent(req)
}

// learned returns the bridge for a request. Other requests wait while the server is asked.
func (l *learner) learned(ctx context.Context, req *chat.Request) chat.Model {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(req.Tools) == 0 || time.Now().Before(l.next) {
		return l.bridge
	}
	// a client that leaves must not have the next one wait again
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), templateTime)
	defer cancel()
	found, err := InspectTemplate(asking, l.server, l.served)
	l.next = time.Now().Add(templateAgain)
	if err != nil || found.Dialect == "" {
		return l.bridge
	}
	o := l.options
	family := profile.Profile{Dialects: []string{found.Dialect}, Thinking: dialect.Thinking{Open: found.Opens != ""}}
	o.SetProfile(&family)
	o.Support.SetRules(req.Model, found.Rules)
	o.Notice = "dialect " + found.Dialect + ", which the model's chat template teaches"
	if o.Log != nil {
		o.Log.Info("dialect found in the chat template", "model", l.served, "dialect", found.Dialect, "rules",
			found.Rules.String())
	}
	l.bridge, l.next = bridge.New(l.backend, o), time.Now().AddDate(1, 0, 0)
	return l.bridge
}

// ErrNoTemplate says that a server tells no chat template, or nothing that is one.
var ErrNoTemplate = errors.New("no chat template")

// InspectTemplate returns what the chat template of a model says, as its server tells it.
func InspectTemplate(ctx context.Context, server openai.Options, model string) (found chattemplate.Found, err error) {
	data, err := openai.Template(ctx, server, model)
	if err != nil {
		return found, fmt.Errorf("%w: %w", ErrNoTemplate, err)
	}
	t, err := chattemplate.Read(data)
	if err != nil {
		return found, fmt.Errorf("%w: %w", ErrNoTemplate, err)
	}
	return t.Inspect()
}

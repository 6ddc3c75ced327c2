package compose

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/mask"
	"wield/internal/metrics"
	"wield/internal/stop"
	"wield/model/exchange"
	"wield/model/route"
)

// server returns the model that a backend serves, which all models on that backend share: its limits hold for
// all of them. A request that waits to be tried again takes no place in the limit.
func (w *builder) server(b *config.Backend, name string) (chat.Model, error) {
	if m := w.backends[name]; m != nil {
		return m, nil
	}
	path := "backends." + name
	key, err := b.Key.Resolve(w.env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("%s.key: %w", path, err)
	}
	headers, secrets := http.Header{}, []string{key}
	for _, header := range slices.Sorted(maps.Keys(b.Headers)) {
		value, err := b.Headers[header].Resolve(w.env.Getenv)
		if err != nil {
			return nil, fmt.Errorf("%s.headers.%s: %w", path, header, err)
		}
		headers.Set(header, value)
		if b.Headers[header].IsSecret() {
			secrets = append(secrets, value)
		}
	}
	t := w.config.Timeouts
	print := printOf(b, key, headers, t)
	if s := w.env.Before.standing(name, print); s != nil {
		return w.use(name, s), nil
	}
	server := protocols[b.Kind](b, exchange.Options{
		URL:     string(b.URL),
		Headers: headers,
		Connection: exchange.Connection{Connect: time.Duration(t.Connect), FirstByte: time.Duration(t.FirstByte),
			Idle: time.Duration(t.Idle)},
	}, key)
	own := ownKeys(secrets, headers)
	hide := hidesShortened(w.config.Hide(w.env.Getenv), own)
	var model chat.Model = hidden{server, hide, own}
	if !config.Kinds[b.Kind].Stops {
		model = stop.New(model)
	}
	limit := route.Limit(w.counted(b, name, model), route.LimitOptions{Concurrent: b.Concurrent, Queue: b.Queue})
	w.env.Metrics.Queue(name, limit.Running, limit.Waiting)
	model = route.Retry(limit, route.RetryOptions{Attempts: b.Retry.Attempts})
	relay, _ := server.(gateway.Relay)
	if relay != nil {
		relay = hiddenRelay{relay, hide}
	}
	return w.use(name, &standing{print: print, model: model, relay: relay, close: server.Close}), nil
}

// ownKeys lists what is sent to a backend to be let in: secrets, and headers with such names.
func ownKeys(secrets []string, headers http.Header) (list []string) {
	for name, values := range headers {
		if !slices.ContainsFunc([]string{"auth", "key", "token", "secret"},
			func(s string) bool { return strings.Contains(strings.ToLower(name), s) }) {
			continue
		}
		list = append(list, values...)
	}
	list = append(list, secrets...)
	for i := range list {
		list[i] = strings.TrimPrefix(list[i], "Bearer ")
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(slices.DeleteFunc(list,
		func(s string) bool { return len(s) < minOwn || strings.ContainsAny(s, " \t") }))
}

// hidesShortened also hides what is left of keys where a server or wield cut a message short.
func hidesShortened(hide func(string) string, keys []string) func(string) string {
	return func(text string) string {
		text = hide(text)
		for _, key := range keys {
			text = mask.Shortened(text, key)
		}
		return text
	}
}

// use puts a backend to use under its name.
func (w *builder) use(name string, s *standing) chat.Model {
	w.closers = append(w.closers, s.close)
	w.backends[name] = s.model
	if w.servers != nil {
		w.servers[name] = s
	}
	return s.model
}

// counted returns m with each request to it counted as one to the backend.
func (w *builder) counted(b *config.Backend, name string, m chat.Model) chat.Model {
	return w.env.Metrics.Backend(metrics.Server{Name: name, Kind: b.Kind}, m)
}

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

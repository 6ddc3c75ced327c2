// Package ollama is the model behind an Ollama server, spoken with in Ollama's own chat protocol: it carries
// thinking, the form of an answer and the model's options, which the server's other protocols hide or change.
//
// A server answers with a stream of lines or with one body. How much a model shall think is said with a level, a word;
// most models take only yes and no.
//
// Tools are sent as they stand in the request. A model whose template has no place for them refuses, and whoever
// stands before it shows them as text.
package ollama

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"wield/chat"
	"wield/model/exchange"
	"wield/wire/ollama"
)

// forwarded are the fields of a client's request in this protocol that every server of it understands.
var forwarded = []string{"options", "keep_alive", "truncate", "shift"}

// Options describe a server.
type Options struct {
	URL     string      // base address, such as http://127.0.0.1:11434
	Key     string      // sent as a bearer token; empty: none is sent
	Headers http.Header // sent with every request; they win over those that a Model sets itself
	Model   string      // name of the model there; empty: the request's
	Forward []string    // further fields of a client's request that the server understands

	exchange.Connection
}

// A Model is a chat.Model. It is safe for concurrent use.
type Model struct {
	server *exchange.Server
	raw    *exchange.Server // of prompts that are already rendered
	plain  sync.Map         // names of models that cannot think, which the server refuses to ask to
	base   string           // address
}

// New returns a model. An address that cannot be used is an error of every stream.
func New(o Options) *Model {
	o.Forward = append(o.Forward[:len(o.Forward):len(o.Forward)], forwarded...)
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	m := &Model{base: base(o.URL), server: exchange.New(protocol{&o}, exchange.Options{
		URL:        base(o.URL) + "/api/chat",
		Header:     header,
		Headers:    o.Headers,
		Speaks:     chat.ProtocolOllama,
		Knows:      func(key string) bool { return slices.Contains(o.Forward, key) },
		Lacks:      []string{"user", "parallel_tool_calls", "messages.name", "messages.content.detail", "tools.strict"},
		Lines:      true,
		Connection: o.Connection,
	})}
	m.raw = m.server.Completions(protocol{&o}, m.base+"/api/generate")
	return m
}

// Relay sends a request to another endpoint of the server, such as /api/embed, or /v1/embeddings of the protocol that
// it speaks as well. It returns the answer for the caller to read and close; an answer that is no success is a
// *chat.Error.
func (m *Model) Relay(ctx context.Context, q exchange.Relayed) (*http.Response, error) {
	return m.server.Relay(ctx, m.base+q.Path, q)
}

// base returns a server's address without what stands behind it in the addresses of its protocols.
func base(url string) string {
	url = strings.TrimRight(url, "/")
	for _, end := range []string{"/v1", "/api"} {
		url = strings.TrimSuffix(url, end)
	}
	return url
}

// Close closes the connections that no stream uses.
func (m *Model) Close() { m.server.Close() }

// Stream implements chat.Model. A server that says that its model takes no tools is an error of the kind
// ErrBadRequest with the code chat.CodeToolsUnsupported of wire/openai.
//
// A model that cannot think is asked again without, unless the client speaks Ollama's protocol and so has said itself
// that it shall: clients of other protocols ask every model in the same way.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if req.Prompt != "" {
		return m.raw.Stream(ctx, req)
	}
	if req.Effort == "" || req.Effort == "none" ||
		slices.ContainsFunc(req.Extra, func(x chat.Extra) bool { return x.Protocol == chat.ProtocolOllama }) {
		return m.server.Stream(ctx, req)
	}
	thoughtless := *req
	thoughtless.Effort = ""
	if _, known := m.plain.Load(req.Model); known {
		return m.server.Stream(ctx, &thoughtless)
	}
	return func(yield func(chat.Event, error) bool) {
		refused := false
		m.server.Stream(ctx, req)(func(e chat.Event, err error) bool {
			if refused = err != nil && refusesThinking(err); refused {
				return false
			}
			return yield(e, err)
		})
		if refused {
			m.plain.Store(req.Model, true)
			m.server.Stream(ctx, &thoughtless)(yield)
		}
	}
}

// refusesThinking recognises the words in which the server says that a model cannot think. It says them before any
// answer.
func refusesThinking(err error) bool {
	var e *chat.Error
	return errors.As(err, &e) && e.Kind == chat.ErrBadRequest &&
		strings.Contains(e.Message, "does not support thinking")
}

// A protocol is Ollama's chat protocol as a server wants it.
type protocol struct{ o *Options }

func (p protocol) AppendRequest(dst []byte, req *chat.Request, stream bool) ([]byte, error) {
	name := p.o.Model
	if name == "" {
		name = req.Model
	}
	return ollama.AppendRequest(dst, req, ollama.RequestOptions{
		Model:  name,
		Stream: stream,
		// the only family that refuses yes and no, all others refuse words
		Levels:  strings.Contains(strings.ToLower(name), "gpt-oss"),
		Forward: p.o.Forward,
	})
}

func (protocol) NewReader(*chat.Request) exchange.Reader { return &ollama.StreamReader{} }

func (protocol) DecodeResponse(dst []chat.Event, _ *chat.Request, body []byte) ([]chat.Event, error) {
	return ollama.DecodeResponse(dst, body)
}

func (protocol) DecodeError(status int, header http.Header, body []byte) *chat.Error {
	return ollama.DecodeError(status, header, body)
}

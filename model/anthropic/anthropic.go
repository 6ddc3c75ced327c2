// Package anthropic is the model behind a server that speaks the Anthropic Messages protocol: Anthropic's own, or one
// of the proxies and servers that offer it.
//
// A server answers with a stream or with one body. A signature vouches for thinking. It reaches a client of the same
// protocol with the answer, and the server again with the client's next request. Clients of other protocols never see
// it.
package anthropic

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"wield/chat"
	"wield/model/exchange"
	"wield/wire/anthropic"
)

// version is the version of the protocol that is spoken. A header anthropic-version of the options wins over it.
const version = "2023-06-01"

// Options describe a server.
type Options struct {
	URL     string      // base address, such as https://api.anthropic.com
	Key     string      // sent as x-api-key; empty: none is sent
	Headers http.Header // sent with every request; they win over those that a Model sets itself
	Model   string      // name of the model there; empty: the request's
	// what the server understands; Model and Stream are filled in
	Request anthropic.RequestOptions

	exchange.Connection
}

// A Model is a chat.Model. It is safe for concurrent use.
type Model struct {
	server *exchange.Server
	base   string // address of the server, without /v1
}

// New returns a model. An address that cannot be used is an error of every stream.
func New(o Options) *Model {
	header := http.Header{}
	header.Set("Anthropic-Version", version)
	if o.Key != "" {
		header.Set("X-Api-Key", o.Key)
	}
	base := strings.TrimSuffix(strings.TrimRight(o.URL, "/"), "/v1")
	return &Model{base: base, server: exchange.New(protocol{&o}, exchange.Options{
		URL:        base + "/v1/messages",
		Header:     header,
		Headers:    o.Headers,
		Speaks:     chat.ProtocolAnthropic,
		Knows:      o.Request.Understands,
		Asked:      withBetas,
		Lacks:      []string{"seed", "logprobs", "temperature above 1", "messages.name", "messages.content.detail"},
		Connection: o.Connection,
	})}
}

// headerBetas lists the features in beta that a request uses.
const headerBetas = "Anthropic-Beta"

// withBetas adds the features in beta that a request names to those that are configured.
func withBetas(all http.Header, req *chat.Request) http.Header {
	asked := anthropic.Betas(req)
	if len(asked) == 0 {
		return all
	}
	list := strings.Split(strings.ReplaceAll(strings.Join(all.Values(headerBetas), ","), " ", ""), ",")
	seen := map[string]bool{}
	list = slices.DeleteFunc(append(list, asked...), func(name string) bool {
		again := seen[name]
		seen[name] = true
		return again
	})
	h := maps.Clone(all)
	h.Set(headerBetas, strings.TrimLeft(strings.Join(list, ","), ","))
	return h
}

// Close closes the connections that no stream uses.
func (m *Model) Close() { m.server.Close() }

// Relay sends a request to another endpoint of the server, such as /v1/files. It returns the answer for the caller to
// read and close; an answer that is no success is a *chat.Error.
func (m *Model) Relay(ctx context.Context, q exchange.Relayed) (*http.Response, error) {
	return m.server.Relay(ctx, m.base+q.Path, q)
}

// Stream implements chat.Model.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return m.server.Stream(ctx, req)
}

// A protocol is the Messages protocol as a server wants it.
type protocol struct{ o *Options }

func (p protocol) AppendRequest(dst []byte, req *chat.Request, stream bool) ([]byte, error) {
	o := p.o.Request
	o.Model, o.Stream = p.o.Model, stream
	return anthropic.AppendRequest(dst, req, o)
}

func (protocol) NewReader(*chat.Request) exchange.Reader { return &anthropic.StreamReader{} }

func (protocol) DecodeResponse(dst []chat.Event, _ *chat.Request, body []byte) ([]chat.Event, error) {
	return anthropic.DecodeResponse(dst, body)
}

func (protocol) DecodeError(status int, header http.Header, body []byte) *chat.Error {
	return anthropic.DecodeError(status, header, body)
}

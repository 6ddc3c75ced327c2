// Package responses is the model behind a server that speaks OpenAI's Responses protocol: OpenAI's own, or one that
// offers it.
//
// Tools reach the server in the form in which a client of the same protocol offered them, those that the server runs
// itself included, and so do items that only the server understands. Nothing is continued on the server: the whole
// conversation is sent each time.
package responses

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"

	"wield/chat"
	"wield/model/exchange"
	"wield/wire/openai"
	"wield/wire/responses"
)

// Options describe a server.
type Options struct {
	URL     string      // base address, such as https://api.openai.com/v1
	Key     string      // sent as a bearer token; empty: none is sent
	Headers http.Header // sent with every request; they win over those that a Model sets itself
	Model   string      // name of the model there; empty: the request's
	Forward []string    // fields of a client's request, beside those of the protocol, that the server understands

	exchange.Connection
}

// A Model is a chat.Model. It is safe for concurrent use.
type Model struct {
	server *exchange.Server
	base   string
}

// New returns a model. An address that cannot be used is an error of every stream.
func New(o Options) *Model {
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	o.Forward = append(slices.Clone(known), o.Forward...)
	base := strings.TrimRight(o.URL, "/")
	return &Model{base: base, server: exchange.New(protocol{&o}, exchange.Options{
		URL:        base + "/responses",
		Header:     header,
		Headers:    o.Headers,
		Speaks:     chat.ProtocolResponses,
		Knows:      func(key string) bool { return slices.Contains(o.Forward, key) },
		Lacks:      []string{"seed", "messages.name"},
		Connection: o.Connection,
	})}
}

// known are the fields and parts that every server of the protocol knows, and that the vocabulary has no place for.
var known = []string{"client_metadata", "include", "max_tool_calls", "metadata", "moderation", "prompt_cache_key",
	"prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store",
	"stream_options", "text", "truncation", "encrypted_content", "phase"}

// Close closes the connections that no stream uses.
func (m *Model) Close() { m.server.Close() }

// Stream implements chat.Model.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return m.server.Stream(ctx, req)
}

// Relay sends a request to another endpoint of the server, such as /v1/embeddings, where /v1 stands for the base
// address. It returns the answer for the caller to read and close; an answer that is no success is a *chat.Error.
func (m *Model) Relay(ctx context.Context, q exchange.Relayed) (*http.Response, error) {
	return m.server.RelayBelow(ctx, m.base, q)
}

// A protocol is the Responses protocol as a server wants it.
type protocol struct{ o *Options }

func (p protocol) AppendRequest(dst []byte, req *chat.Request, stream bool) ([]byte, error) {
	return responses.AppendRequest(dst, req, responses.RequestOptions{Model: p.o.Model, Stream: stream,
		Forward: p.o.Forward})
}

func (protocol) NewReader(req *chat.Request) exchange.Reader {
	return responses.NewStreamReader(responses.NamesOf(req.Tools))
}

func (protocol) DecodeResponse(dst []chat.Event, req *chat.Request, body []byte) ([]chat.Event, error) {
	return responses.DecodeResponse(dst, responses.NamesOf(req.Tools), body)
}

func (protocol) DecodeError(status int, header http.Header, body []byte) *chat.Error {
	return openai.DecodeError(status, header, body)
}

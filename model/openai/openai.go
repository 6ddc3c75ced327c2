// Package openai is the model behind any server that speaks the OpenAI chat completions protocol: a hosted one, or
// llama-server, vLLM, SGLang, Ollama and the like.
//
// A server answers with a stream or with one body, whichever it chooses. Tools are sent as they stand in the request;
// for a server that takes none, a bridge shows them as text and sends a request without any.
package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wield/chat"
	"wield/model/exchange"
	"wield/wire/openai"
)

// Options describe a server and how it wants to be spoken to.
type Options struct {
	URL     string      // base address, such as http://127.0.0.1:11434/v1
	Key     string      // sent as a bearer token; empty: none is sent
	Headers http.Header // sent with every request; they win over those that a Model sets itself
	Model   string      // name of the model there; empty: the request's

	// The server is asked for a stream when the request wants one, since a whole answer is less work for everybody.
	NoStream     bool // the server cannot stream: always ask for whole answers and hand them on as one
	AlwaysStream bool // ask for a stream even so, for servers behind something that cuts silent connections
	NoUsage      bool // the server does not know stream_options

	Request openai.RequestOptions // what the server understands; Model, Stream and Usage are filled in

	exchange.Connection
}

// A Model is a chat.Model. It is safe for concurrent use.
type Model struct {
	server      *exchange.Server
	completions *exchange.Server
	base        string // address
}

// New returns a model. An address that cannot be used is an error of every stream.
func New(o Options) *Model {
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	base := strings.TrimRight(o.URL, "/")
	m := &Model{base: base, server: exchange.New(protocol{&o}, exchange.Options{
		URL:          base + "/chat/completions",
		Header:       header,
		Headers:      o.Headers,
		Speaks:       chat.ProtocolOpenAI,
		Knows:        func(key string) bool { return slices.Contains(o.Request.Forward, key) },
		NoStream:     o.NoStream,
		AlwaysStream: o.AlwaysStream,
		NotFound:     protocol{&o}.suggest,
		Connection:   o.Connection,
	})}
	m.completions = m.server.Completions(protocol{&o}, base+"/completions")
	return m
}

// Close closes the connections that no stream uses.
func (m *Model) Close() { m.server.Close() }

// Stream implements chat.Model. A server that says that it takes no tools, or cannot hold its answer to a
// form, is an error of the kind ErrBadRequest with the code chat.CodeToolsUnsupported or
// chat.CodeFormatUnsupported. A request with a Prompt goes to /completions.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if req.Prompt != "" {
		return m.completions.Stream(ctx, req)
	}
	return m.server.Stream(ctx, req)
}

// Relay sends a request to another endpoint of the server, such as /v1/embeddings, where /v1 stands for the base
// address. It returns the answer for the caller to read and close; an answer that is no success is a
// *chat.Error.
func (m *Model) Relay(ctx context.Context, q exchange.Relayed) (*http.Response, error) {
	return m.server.RelayBelow(ctx, m.base, q)
}

// A protocol is the chat completions protocol as a server wants it.
type protocol struct{ o *Options }

func (p protocol) AppendRequest(dst []byte, req *chat.Request, stream bool) ([]byte, error) {
	o := p.o.Request
	o.Model, o.Stream, o.Usage = p.o.Model, stream, !p.o.NoUsage
	return openai.AppendRequest(dst, req, o)
}

func (protocol) NewReader(*chat.Request) exchange.Reader { return &openai.StreamReader{} }

func (protocol) DecodeResponse(dst []chat.Event, _ *chat.Request, body []byte) ([]chat.Event, error) {
	return openai.DecodeResponse(dst, body)
}

func (p protocol) DecodeError(status int, header http.Header, body []byte) *chat.Error {
	e := openai.DecodeError(status, header, body)
	if status != http.StatusNotFound || strings.Contains(strings.ToLower(e.Message), "model") {
		return e
	}
	base, err := url.Parse(strings.TrimRight(p.o.URL, "/"))
	if err != nil || strings.HasSuffix(base.Path, "/v1") {
		return e
	}
	base.User = nil
	e.Code, e.Message = CodePath, "the server has nothing at this address: the url of most servers ends in /v1, as "+
		base.String()+"/v1"
	return e
}

// CodePath is the code of an error of a server that has nothing at the address, most likely since its url lacks /v1.
const CodePath = "no_such_path"

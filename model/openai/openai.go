// Package openai is the model behind any server that speaks the OpenAI chat completions protocol: a hosted one, or
// llama-server, vLLM, SGLang, Ollama and the like.
//
// Words:
//
//   - The server is what a Model talks to; its answer is a stream or one body, whichever it chooses to send.
//   - First byte is the first byte of an answer's body. Until then a server may be loading a model or reading a long prompt;
//     after it, silence is measured by the idle timeout.
//
// Tools are sent as they stand in the request. For a server that takes none, whoever stands before the model shows them as
// text and sends a request without any.
package openai

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"wield/chat"
	"wield/wire/openai"
)

// Defaults of Options.
const (
	DefaultConnect   = 10 * time.Second
	DefaultFirstByte = 10 * time.Minute
	DefaultIdle      = 2 * time.Minute
	DefaultMaxFrame  = 16 << 20
	DefaultMaxBody   = 64 << 20
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

	// What the server understands: see the fields of the same names of openai.RequestOptions in wire/openai.
	Developer           bool
	MaxCompletionTokens bool
	Reasoning           string
	EmptyContent        openai.EmptyContent
	Forward             []string

	Connect   time.Duration // until a connection stands, unless Transport is set; 0: DefaultConnect
	FirstByte time.Duration // from the request to the first byte of the answer; 0: DefaultFirstByte
	Idle      time.Duration // between two reads after that; 0: DefaultIdle

	MaxFrame int // bytes of one frame of a stream; 0: DefaultMaxFrame
	MaxBody  int // bytes of a whole answer; 0: DefaultMaxBody

	Transport http.RoundTripper // nil: an own one, without a proxy
}

// A Model is a chat.Model. It is safe for concurrent use.
type Model struct {
	o      Options
	url    string
	client http.Client
}

// New returns a model. An address that cannot be used is an error of every stream.
func New(o Options) *Model {
	o.Connect = orDefault(o.Connect, DefaultConnect)
	o.FirstByte = orDefault(o.FirstByte, DefaultFirstByte)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	o.MaxFrame = orDefault(o.MaxFrame, DefaultMaxFrame)
	o.MaxBody = orDefault(o.MaxBody, DefaultMaxBody)
	m := &Model{o: o, url: strings.TrimRight(o.URL, "/") + "/chat/completions"}
	m.client = http.Client{Transport: o.Transport, CheckRedirect: noRedirect}
	if o.Transport == nil {
		m.client.Transport = newTransport(o.Connect)
	}
	return m
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v <= 0 {
		return fallback
	}
	return v
}

// noRedirect hands a redirect on as the answer: following it could carry a key and a conversation to another server.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// newTransport returns a transport that ignores the environment's proxies and keeps many connections to one server.
func newTransport(connect time.Duration) *http.Transport {
	dialer := net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: connect,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // compressors hold frames back
	}
}

// Close closes the connections that no stream uses.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Stream implements chat.Model. A server that says that it takes no tools is an error of the kind ErrBadRequest with the code
// openai.CodeToolsUnsupported.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		x := exchange{m: m, yield: yield, parent: ctx, quiet: true}
		if err := x.run(ctx, req); err != nil && !x.gone {
			yield(chat.Event{}, err)
		}
	}
}

// request builds the HTTP request. Its body belongs to the transport alone, which may still read it after an early answer.
func (m *Model) request(ctx context.Context, req *chat.Request) (*http.Request, error) {
	stream := (req.Stream || m.o.AlwaysStream) && !m.o.NoStream
	body, err := openai.AppendRequest(make([]byte, 0, 4<<10), req, openai.RequestOptions{
		Model:               m.o.Model,
		Stream:              stream,
		Usage:               !m.o.NoUsage,
		Developer:           m.o.Developer,
		MaxCompletionTokens: m.o.MaxCompletionTokens,
		Reasoning:           m.o.Reasoning,
		EmptyContent:        m.o.EmptyContent,
		Forward:             m.o.Forward,
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err == nil && r.URL.Host == "" {
		err = errors.New("it has no host")
	}
	if err != nil {
		return nil, chat.Errorf(chat.ErrUnavailable, "the server's address %q cannot be used: %w", m.o.URL, bare(err))
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "wield")
	if r.Header.Set("Accept", "application/json"); stream {
		r.Header.Set("Accept", "text/event-stream, application/json")
	}
	if m.o.Key != "" {
		r.Header.Set("Authorization", "Bearer "+m.o.Key)
	}
	for k, v := range m.o.Headers {
		r.Header[http.CanonicalHeaderKey(k)] = v
	}
	return r, nil
}

// bare removes the address from an error of net/http, which callers name themselves.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

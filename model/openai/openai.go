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
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
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
	o         Options
	transport http.RoundTripper

	// What all requests have in common, made once. The transport only reads it.
	blank         *http.Request // without a header and a body; nil: broken says why there can be no request
	broken        error
	whole, stream http.Header // of requests for whole answers and for streams

	readers sync.Pool // of *sse.Reader that are not in use
}

// New returns a model. An address that cannot be used is an error of every stream.
func New(o Options) *Model {
	o.Connect = orDefault(o.Connect, DefaultConnect)
	o.FirstByte = orDefault(o.FirstByte, DefaultFirstByte)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	o.MaxFrame = orDefault(o.MaxFrame, DefaultMaxFrame)
	o.MaxBody = orDefault(o.MaxBody, DefaultMaxBody)
	m := &Model{o: o, transport: o.Transport}
	if m.transport == nil {
		m.transport = newTransport(o.Connect)
	}
	m.whole = o.header("application/json")
	m.stream = o.header("text/event-stream, application/json")
	m.blank, m.broken = o.blank()
	return m
}

// header returns the header of a request that accepts such answers.
func (o *Options) header(accept string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"wield"}, "Accept": {accept}}
	if u, err := url.Parse(o.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	if o.Key != "" {
		h.Set("Authorization", "Bearer "+o.Key)
	}
	for k, v := range o.Headers {
		h[http.CanonicalHeaderKey(k)] = v
	}
	return h
}

// blank returns a request to the server's address.
func (o *Options) blank() (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, strings.TrimRight(o.URL, "/")+"/chat/completions", nil)
	if err == nil && r.URL.Host == "" {
		err = errors.New("it has no host")
	}
	if err != nil {
		return nil, chat.Errorf(chat.ErrUnavailable, "the server's address %q cannot be used: %w", o.URL, bare(err))
	}
	return r, nil
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v <= 0 {
		return fallback
	}
	return v
}

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
func (m *Model) Close() {
	if t, ok := m.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

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
	if m.broken != nil {
		return nil, m.broken
	}
	stream := (req.Stream || m.o.AlwaysStream) && !m.o.NoStream
	body, err := openai.AppendRequest(make([]byte, 0, sizeOf(req)), req, openai.RequestOptions{
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
	r := m.blank.WithContext(ctx)
	r.Header = m.whole
	if stream {
		r.Header = m.stream
	}
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return r, err
}

// sizeOf estimates the bytes of a request's body: a little more than they mostly are.
func sizeOf(req *chat.Request) int {
	n := 256
	for i := range req.Messages {
		m := &req.Messages[i]
		n += 128 + len(m.Reasoning)
		for j := range m.Parts {
			text := m.Parts[j].Text
			n += len(text) + strings.Count(text, `"`) + strings.Count(text, "\n")
		}
		for j := range m.Calls {
			n += 128 + len(m.Calls[j].Arguments)
		}
	}
	for i := range req.Tools {
		n += 128 + len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	return n
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

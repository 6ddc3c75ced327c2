// Package exchange sends one request to a model server over HTTP and reads the answer, in any protocol. A backend is a
// thin shell around a Server.
//
// Words:
//
//   - A server answers with a stream or with one body, whichever it chooses.
//   - A protocol says how a request is written and an answer is read; it knows no HTTP.
//   - First byte is the first byte of an answer's body. Until then a server may be loading a model or reading a long
//     prompt; after it, silence is measured by the idle timeout.
package exchange

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/chat"
	"wield/wire/sse"
)

// A Protocol is spoken with a server. It is used by many exchanges at once.
type Protocol interface {
	// AppendRequest appends the body of a request for a stream or for a whole answer.
	AppendRequest(dst []byte, req *chat.Request, stream bool) ([]byte, error)
	// NewReader returns a reader of one stream, which answers req.
	NewReader(req *chat.Request) Reader
	// DecodeResponse appends the events of a whole answer to req.
	DecodeResponse(dst []chat.Event, req *chat.Request, body []byte) ([]chat.Event, error)
	// DecodeError makes an error of an answer whose status is no success. Status 0 is that of a page in the
	// place of an answer.
	DecodeError(status int, header http.Header, body []byte) *chat.Error
}

// A Reader makes events of the frames of one stream.
type Reader interface {
	// Feed appends the events of one frame's data, whose memory is used again afterwards.
	Feed(dst []chat.Event, data []byte) ([]chat.Event, error)
	// Done reports whether the stream has ended by what its protocol ends streams with.
	Done() bool
	// Finished reports whether the answer is whole, even if the stream goes on.
	Finished() bool
	// Close appends what the end of the stream makes known. The error says that the answer is not whole.
	Close(dst []chat.Event) ([]chat.Event, error)
}

// Defaults of a Connection.
const (
	defaultConnect   = 10 * time.Second
	defaultFirstByte = 10 * time.Minute
	defaultIdle      = 2 * time.Minute
	defaultMaxFrame  = 16 << 20
	defaultMaxBody   = 64 << 20
)

// A Connection says what carries requests and answers, and their bounds. All backends have one among their options.
type Connection struct {
	Connect   time.Duration // until a connection stands, unless Transport is set; 0: 10 seconds
	FirstByte time.Duration // from the request to the first byte of the answer; 0: 10 minutes
	Idle      time.Duration // between two reads after that; 0: 2 minutes

	MaxFrame int // bytes of one frame of a stream; 0: 16 MiB
	MaxBody  int // bytes of a whole answer; 0: 64 MiB

	Transport http.RoundTripper // nil: an own one, without a proxy
}

// Options describe a server.
type Options struct {
	// address that requests are posted to; a user and a password in it are sent as basic authentication
	URL     string
	Header  http.Header // what the protocol sends with every request; it wins over the address
	Headers http.Header // what the configuration sends with every request; it wins over all others

	// The server is asked for a stream when the request wants one, since a whole answer is less work for everybody.
	NoStream     bool // the server cannot stream: always ask for whole answers and hand them on as one
	AlwaysStream bool // ask for a stream even so, for servers behind something that cuts silent connections

	// Lines says that a stream is lines of JSON. Otherwise it is server-sent events.
	Lines bool

	// What the server understands, for telling what of a request it is not sent.
	Speaks chat.Protocol         // "": none that clients speak
	Knows  func(key string) bool // reports whether an Extra of that protocol is sent; nil: none is
	Lacks  []string              // settings that the protocol has no place for, by the names of chat completions

	// Asked returns the header of one request, given the one that all have, which it must not change; nil: all have
	// that.
	Asked func(all http.Header, req *chat.Request) http.Header

	Completes bool // takes a Prompt in place of messages

	Connection

	// NotFound adds what is known to the error of a server that does not know the model that it was asked
	// for. May be nil.
	NotFound func(ctx context.Context, model string, e *chat.Error)
}

// A Server is a server that one protocol is spoken with. It is safe for concurrent use.
type Server struct {
	o         Options
	p         Protocol
	transport http.RoundTripper

	// What all requests have in common, made once. The transport only reads it.
	blank         *http.Request // without a header and a body; nil: broken says why there can be no request
	broken        error
	whole, stream http.Header // of requests for whole answers and for streams

	readers sync.Pool // of *sse.Reader that are not in use
}

// New returns a server. An address that cannot be used is an error of every stream.
func New(p Protocol, o Options) *Server {
	o.Connect = orDefault(o.Connect, defaultConnect)
	o.FirstByte = orDefault(o.FirstByte, defaultFirstByte)
	o.Idle = orDefault(o.Idle, defaultIdle)
	o.MaxFrame = orDefault(o.MaxFrame, defaultMaxFrame)
	o.MaxBody = orDefault(o.MaxBody, defaultMaxBody)
	s := &Server{o: o, p: p, transport: o.Transport}
	if s.transport == nil {
		s.transport = newTransport(o.Connect)
	}
	s.whole = o.header("application/json")
	s.stream = o.header("text/event-stream, application/json")
	if o.Lines {
		s.stream = o.header("application/x-ndjson, application/json")
	}
	s.blank, s.broken = o.blank()
	return s
}

// Completions returns the same server at the address that completes prompts, in the protocol p.
func (s *Server) Completions(p Protocol, url string) *Server {
	o := s.o
	o.URL, o.Completes, o.Transport = url, true, s.transport
	o.Lacks = append(slices.Clip(o.Lacks), "reasoning_effort", "logprobs")
	return New(p, o)
}

// header returns the header of a request that accepts such answers.
func (o *Options) header(accept string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"wield"}, "Accept": {accept}}
	if u, err := url.Parse(o.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	for _, from := range []http.Header{o.Header, o.Headers} {
		for k, v := range from {
			h[http.CanonicalHeaderKey(k)] = v
		}
	}
	return h
}

// blank returns a request to the server's address.
func (o *Options) blank() (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, o.URL, nil)
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
		DisableCompression:  true,    // compressors hold frames back
		WriteBufferSize:     8 << 10, // a request with some tools goes out at once
	}
}

// Close closes the connections that no stream uses.
func (s *Server) Close() {
	if t, ok := s.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Stream posts a request and returns the events of its answer, as chat.Model wants them.
func (s *Server) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		x := roundTrip{s: s, req: req, yield: yield, parent: ctx, quiet: true}
		if err := x.run(ctx, req); err != nil && !x.gone {
			yield(chat.Event{}, err)
		}
	}
}

// request builds the HTTP request. Its body belongs to the transport alone, which may still read it after an
// early answer.
func (s *Server) request(ctx context.Context, req *chat.Request) (r *http.Request, stream bool, err error) {
	if s.broken != nil {
		return nil, false, s.broken
	}
	if req.Prompt != "" && !s.o.Completes {
		return nil, false, chat.Errorf(chat.ErrBadRequest,
			"this backend takes no prompt that is already rendered: it has no completions")
	}
	stream = (req.Stream || s.o.AlwaysStream) && !s.o.NoStream
	body, err := s.p.AppendRequest(make([]byte, 0, sizeOf(req)), req, stream)
	if err != nil {
		return nil, stream, err
	}
	r = s.blank.WithContext(ctx)
	r.Header = s.whole
	if stream {
		r.Header = s.stream
	}
	if s.o.Asked != nil {
		r.Header = s.o.Asked(r.Header, req)
	}
	if req.Trace.Parent != "" {
		r.Header = traced(r.Header, req.Trace)
	}
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return r, stream, err
}

// traced returns a header that says which trace a request belongs to besides.
func traced(h http.Header, t chat.Trace) http.Header {
	h = maps.Clone(h)
	h["Traceparent"] = []string{t.Parent}
	if t.State != "" {
		h["Tracestate"] = []string{t.State}
	}
	return h
}

// newReader returns a reader of the server's streams.
func (s *Server) newReader(src io.Reader) *sse.Reader {
	if s.o.Lines {
		return sse.NewLineReader(src, s.o.MaxFrame)
	}
	return sse.NewReader(src, s.o.MaxFrame)
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

// maxErrorBody limits the bytes of an error's body that are read.
const maxErrorBody = 64 << 10

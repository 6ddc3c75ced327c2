package exchange

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"wield/chat"
)

// maxRelayed bounds the bytes of an answer that is passed on. It is never in memory as a whole.
const maxRelayed = 1 << 30

// A Relayed is a request that is passed on as a client made it.
type Relayed struct {
	Method string      // empty: POST
	Path   string      // such as /v1/embeddings, with a query where there is one
	Header http.Header // what the client says of the body, such as its Content-Type
	Body   []byte
}

// Relay sends a request to another address of the server, under the same bounds and with the same headers as a
// conversation, and returns what it answers, for the caller to read and close. The error is a *chat.Error, of reading
// too; an answer whose status is no success is one. Redirects are not followed.
func (s *Server) Relay(ctx context.Context, address string, q Relayed) (*http.Response, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	inner, cancel := context.WithCancelCause(ctx)
	a := &relayed{roundTrip: roundTrip{s: s, parent: ctx}, ctx: inner, cancel: cancel}
	a.timer.cancel = cancel
	r, err := http.NewRequestWithContext(inner, cmp.Or(q.Method, http.MethodPost), address, bytes.NewReader(q.Body))
	if err != nil {
		a.end()
		return nil, chat.Errorf(chat.ErrUnavailable, "the server's address %q cannot be used: %w", address, bare(err))
	}
	r.Header = s.o.header("*/*")
	for name, values := range q.Header {
		r.Header[name] = values
	}
	a.timer.phase(s.o.FirstByte, "the server did not begin to answer")
	resp, err := s.transport.RoundTrip(r)
	if err != nil {
		err = a.failure(inner, err, "cannot reach the server")
		a.end()
		return nil, err
	}
	a.src = resp.Body
	a.body = timedBody{src: resp.Body, timer: &a.timer, idle: s.o.Idle}
	if resp.StatusCode/100 != 2 {
		err = a.refusal(inner, resp)
		a.Close()
		return nil, err
	}
	resp.Body = a
	return resp, nil
}

// RelayBelow relays a request to a server of the OpenAI protocol, where /v1 stands for the base address.
func (s *Server) RelayBelow(ctx context.Context, base string, q Relayed) (*http.Response, error) {
	endpoint, ok := strings.CutPrefix(q.Path, "/v1/")
	if !ok {
		return nil, &chat.Error{Kind: chat.ErrNotFound, Message: "servers of the OpenAI protocol have no " + q.Path}
	}
	return s.Relay(ctx, base+"/"+endpoint, q)
}

// A relayed answer is read by somebody else.
type relayed struct {
	roundTrip
	ctx    context.Context
	cancel context.CancelCauseFunc
	src    io.Closer
	read   int64
}

// Read reads on. A silence that is too long ends it.
func (a *relayed) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if a.read += int64(n); a.read > maxRelayed {
		return 0, &chat.Error{Kind: chat.ErrProtocol, Message: fmt.Sprintf("the server's answer is longer than %d "+
			"bytes", maxRelayed)}
	}
	if err != nil && err != io.EOF {
		err = a.failure(a.ctx, err, "the answer broke off")
	}
	return n, err
}

// Close gives the connection back, or closes it if the answer was not read to its end.
func (a *relayed) Close() error {
	err := a.src.Close()
	a.end()
	return err
}

func (a *relayed) end() {
	a.timer.stop()
	a.cancel(nil)
}

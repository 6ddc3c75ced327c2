package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/chat"
	"wield/wire/sse"
)

// A roundTrip is one request and its answer.
type roundTrip struct {
	s      *Server
	req    *chat.Request
	told   bool // what the server was not sent
	yield  func(chat.Event, error) bool
	gone   bool // whoever ranges over the stream has left
	parent context.Context

	timer  timer
	body   timedBody
	quiet  bool          // nothing was emitted since the last Idle
	events [4]chat.Event // room for those of one frame
}

func (x *roundTrip) run(ctx context.Context, req *chat.Request) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.timer.cancel = cancel
	defer x.timer.stop()

	r, stream, err := x.s.request(ctx, req)
	if err != nil {
		return err
	}
	x.timer.phase(x.s.o.FirstByte, "the server did not begin to answer")
	// Without http.Client: a redirect is not followed, since that could carry a key and a conversation to
	// another server.
	resp, err := x.s.transport.RoundTrip(r)
	if err != nil {
		return x.failure(ctx, err, "cannot reach the server at "+r.URL.Host)
	}
	defer resp.Body.Close()
	x.body = timedBody{src: resp.Body, timer: &x.timer, idle: x.s.o.Idle}
	if resp.StatusCode/100 != 2 {
		err := x.refusal(ctx, resp)
		if e := (*chat.Error)(nil); x.s.o.NotFound != nil && errors.As(err, &e) && e.Kind == chat.ErrNotFound {
			x.timer.stop()
			x.s.o.NotFound(ctx, req.Model, e)
		}
		return err
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &chat.Error{Kind: chat.ErrProtocol, Status: resp.StatusCode,
			Message: "the server compressed its answer (" + coding + "), which it was not asked to"}
	}
	x.body.room = buffers.Get().(*[]byte)
	defer x.body.release()
	first, sign, err := begin(&x.body, (*x.body.room)[:0])
	if err != nil {
		return x.failure(ctx, err, "the server broke off before its answer began")
	}
	if sign == '{' && !(x.s.o.Lines && stream) { // a stream of lines begins like an answer that is whole
		return x.whole(ctx, first)
	}
	x.body.head = first
	switch sign {
	case 0:
		return &chat.Error{Kind: chat.ErrProtocol, Status: resp.StatusCode, Message: "the server's answer is empty"}
	case '<':
		return x.page()
	}
	return x.stream(ctx)
}

// firstBuffer is room for all of most answers that come as a whole.
const firstBuffer = 8 << 10

// buffers hold answers while they are read. Nothing that is made of an answer refers to them.
var buffers = sync.Pool{New: func() any { b := make([]byte, firstBuffer); return &b }}

// begin reads the beginning of an answer into first, as far as its first byte that is no white space. That
// tells a stream from a body better than the content types that servers send do.
func begin(r io.Reader, first []byte) (_ []byte, sign byte, err error) {
	for len(first) < cap(first) {
		n, err := r.Read(first[len(first):cap(first)])
		first = first[:len(first)+n]
		if text := bytes.TrimLeft(first, " \t\r\n"); len(text) > 0 {
			return first, text[0], nil // an error comes again
		}
		if err == io.EOF {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return first, ':', nil // blank lines: some server's way to keep a connection alive
}

// refusal reads an answer whose status is no success.
func (x *roundTrip) refusal(ctx context.Context, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(&x.body, maxErrorBody))
	if err != nil && ctx.Err() != nil && len(body) == 0 {
		return x.failure(ctx, err, "")
	}
	if resp.StatusCode/100 == 3 {
		return &chat.Error{Kind: chat.ErrUnavailable, Status: resp.StatusCode,
			Message: fmt.Sprintf("the server redirects to %q; if that is right, configure it as the address",
				resp.Header.Get("Location"))}
	}
	return x.s.p.DecodeError(resp.StatusCode, resp.Header, body) // of a body that was cut the beginning will do
}

// stream reads frames until the stream ends.
func (x *roundTrip) stream(ctx context.Context) error {
	src, ok := x.s.readers.Get().(*sse.Reader)
	if ok {
		src.Reset(&x.body)
	} else {
		src = x.s.newReader(&x.body)
	}
	defer func() {
		src.Reset(nil) // keeps nothing of this answer
		x.s.readers.Put(src)
	}()
	reader := x.s.p.NewReader(x.req)
	events := x.events[:0]
	for !reader.Done() {
		if !src.Ready() && !x.emitIdle() {
			return nil
		}
		frame, err := src.Next()
		if err == io.EOF || err != nil && reader.Finished() && x.parent.Err() == nil {
			break // behind a finish reason only the terminator can be missing
		}
		if err != nil {
			return x.failure(ctx, err, "the stream broke off")
		}
		events, err = reader.Feed(events[:0], frame.Data)
		if !x.emit(events) {
			return nil
		}
		if err != nil {
			return err
		}
		if reader.Finished() && !src.Ready() {
			x.timer.phase(min(x.s.o.Idle, finishGrace), "the server did not end the stream")
		}
	}
	if reader.Done() {
		x.drain(src)
	}
	events, err := reader.Close(events[:0])
	if x.emit(events) {
		return err
	}
	return nil
}

const (
	// finishGrace limits the wait for the usage and the terminator after the finish reason.
	finishGrace = 5 * time.Second
	// drainGrace limits the wait for the end of the connection's message after the terminator.
	drainGrace = 20 * time.Millisecond
)

// drain reads the end of an answer behind its terminator, without which the connection could not be used again.
func (x *roundTrip) drain(src *sse.Reader) {
	for range 8 {
		if !src.Ready() { // mostly the end came with the terminator
			x.timer.phase(drainGrace, "the server did not end its answer")
		}
		if _, err := src.Next(); err != nil {
			return
		}
	}
}

// whole reads a response's body, of which the beginning was read.
func (x *roundTrip) whole(ctx context.Context, body []byte) error {
	for len(body) <= x.s.o.MaxBody {
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
		n, err := x.body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF && len(body) <= x.s.o.MaxBody {
			return x.decode(body)
		}
		if err != nil && err != io.EOF {
			return x.failure(ctx, err, "the answer broke off")
		}
	}
	return &chat.Error{Kind: chat.ErrProtocol, Message: fmt.Sprintf("the server's answer is longer than %d bytes",
		x.s.o.MaxBody)}
}

func (x *roundTrip) decode(body []byte) error {
	events, err := x.s.p.DecodeResponse(x.events[:0], x.req, body)
	if x.emit(events) {
		return err
	}
	return nil
}

// page reports an answer that looks like HTML.
func (x *roundTrip) page() error {
	body, _ := io.ReadAll(io.LimitReader(&x.body, maxErrorBody))
	e := x.s.p.DecodeError(0, http.Header{}, body)
	message := e.Message
	if !strings.HasPrefix(message, "the server ") { // then it is the page's title
		message = "the server answered with a page: " + message
	}
	return &chat.Error{Kind: chat.ErrProtocol, Message: message + "; is the address right?"}
}

// emit hands events on and reports whether anybody is still there.
func (x *roundTrip) emit(events []chat.Event) bool {
	if len(events) > 0 && !x.told && !x.tell() {
		return false
	}
	for i := range events {
		x.quiet = false
		if !x.yield(events[i], nil) {
			x.gone = true
			return false
		}
	}
	return true
}

// emitIdle says that the next read may block, once between two events.
func (x *roundTrip) emitIdle() bool {
	if x.quiet {
		return true
	}
	x.quiet = true
	if !x.yield(chat.Event{Kind: chat.KindIdle}, nil) {
		x.gone = true
		return false
	}
	return true
}

// failure classes an error of the transport: the caller's own end of the request, a timeout of ours, a frame beyond the
// limit, or a broken connection.
func (x *roundTrip) failure(ctx context.Context, err error, what string) error {
	if end := x.parent.Err(); end != nil {
		return canceled(end, context.Cause(x.parent))
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var limit *sse.LimitError
	if errors.As(err, &limit) {
		return &chat.Error{Kind: chat.ErrProtocol, Message: limit.Error(), Cause: err}
	}
	kind := chat.ErrUnavailable
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		kind = chat.ErrTimeout
	}
	return chat.Errorf(kind, "%s: %w", what, bare(err))
}

// canceled makes an error of the end of a context and its cause.
func canceled(end, cause error) error {
	var e *chat.Error
	if errors.As(cause, &e) {
		return e
	}
	kind := chat.ErrCanceled
	if errors.Is(end, context.DeadlineExceeded) {
		kind = chat.ErrTimeout
	}
	return &chat.Error{Kind: kind, Message: cause.Error(), Cause: end}
}

// A timer cancels a request that takes too long. It knows one phase of the exchange at a time.
type timer struct {
	cancel context.CancelCauseFunc
	t      *time.Timer

	mu   sync.Mutex // t's goroutine reads what follows
	d    time.Duration
	what string
}

// phase starts a phase that may last d between two touches.
func (t *timer) phase(d time.Duration, what string) {
	t.mu.Lock()
	t.d, t.what = d, what
	t.mu.Unlock()
	if t.t == nil {
		t.t = time.AfterFunc(d, t.expire)
	} else {
		t.t.Reset(d)
	}
}

func (t *timer) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel(&chat.Error{Kind: chat.ErrTimeout, Message: fmt.Sprintf("%s within %v", t.what, t.d)})
}

// touch starts the current phase's time anew.
func (t *timer) touch() { t.t.Reset(t.d) }

func (t *timer) stop() {
	if t.t != nil {
		t.t.Stop()
	}
}

// A timedBody is an answer's body that touches the timer whenever something arrives.
type timedBody struct {
	src   io.Reader
	timer *timer
	idle  time.Duration
	begun bool
	head  []byte // was read and put back

	room *[]byte // of head; nil: it was given back
}

// release gives back the room of what was put back. A stream that is silent for hours does not keep it.
func (b *timedBody) release() {
	if b.room != nil {
		buffers.Put(b.room)
		b.room, b.head = nil, nil
	}
}

func (b *timedBody) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		if b.head = b.head[n:]; len(b.head) == 0 {
			b.release()
		}
		return n, nil
	}
	n, err := b.src.Read(p)
	switch {
	case n == 0:
	case b.begun:
		b.timer.touch()
	default:
		b.begun = true
		b.timer.phase(b.idle, "the server sent nothing more")
	}
	return n, err
}

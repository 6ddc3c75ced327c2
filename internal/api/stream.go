package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"wield/wire/sse"
)

// roomOfStream is how many bytes of a stream wait for a client. Whoever makes its events waits when there are as
// many, so that a slow client costs no memory.
const roomOfStream = 64 << 10

// A stream is an answer of events. What is sent is gathered and written by one goroutine, which also keeps the
// connection alive.
type stream struct {
	x      *exchange
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	room   sync.Cond // there is some again, or the stream is over
	buffer []byte
	broken bool

	wake chan struct{}
	over sync.WaitGroup
}

// stream begins an answer of events. It ends with the client, with the service, or with end.
func (x *exchange) stream() *stream {
	ctx, cancel := context.WithCancel(x.r.Context())
	s := &stream{x: x, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1)}
	s.room.L = &s.mu
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	x.begun = true
	x.deadline()
	x.w.WriteHeader(http.StatusOK)
	s.over.Go(s.pump)
	s.notify()
	return s
}

func (s *stream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pump writes what is there, until the stream is over or the caller may not have it any more.
func (s *stream) pump() {
	defer s.stop()
	rc := http.NewResponseController(s.x.w)
	silence := time.NewTicker(s.x.s.o.KeepAlive)
	defer silence.Stop()
	var out []byte
	for {
		over := false
		select {
		case <-s.wake:
		case <-silence.C:
			s.put(sse.AppendComment(nil, "keep-alive"))
		case <-s.ctx.Done():
			over = true
		case <-s.x.s.closed:
			over = true
		}
		s.mu.Lock()
		out, s.buffer = s.buffer, out[:0]
		s.room.Broadcast()
		s.mu.Unlock()
		if !s.x.stillIn() {
			return
		}
		s.x.deadline()
		if _, err := s.x.w.Write(out); err != nil {
			return
		}
		if err := rc.Flush(); err != nil || over {
			return
		}
		silence.Reset(s.x.s.o.KeepAlive)
	}
}

// put appends to what is to be written, without waiting for room.
func (s *stream) put(b []byte) {
	s.mu.Lock()
	s.buffer = append(s.buffer, b...)
	s.mu.Unlock()
}

// stop ends the stream for whoever makes its events.
func (s *stream) stop() {
	s.mu.Lock()
	s.broken = true
	s.room.Broadcast()
	s.mu.Unlock()
	s.cancel()
}

// send sends an event, and waits while there is no room. It reports whether the stream goes on. An event without an
// id does not move the place that a client goes on from.
func (s *stream) send(id, name string, data []byte) bool {
	s.mu.Lock()
	for len(s.buffer) > roomOfStream && !s.broken {
		s.room.Wait()
	}
	if s.broken {
		s.mu.Unlock()
		return false
	}
	if id != "" {
		s.buffer = append(append(append(s.buffer, "id: "...), id...), '\n')
	}
	s.buffer = sse.AppendFrame(s.buffer, name, data)
	s.mu.Unlock()
	s.notify()
	return true
}

// end writes what is left, and ends the stream. An error that is none of the client's going is told in an event of
// its own.
func (s *stream) end(err error) {
	if err != nil && s.ctx.Err() == nil {
		f := faultOf(err)
		if f.Kind == KindInternal {
			s.x.s.o.Log.ErrorContext(s.x.r.Context(), "API stream failed", "path", s.x.r.URL.Path,
				"error", err)
		}
		if data, err := encode(Failure{Error: *f}); err == nil {
			s.send("", "error", data)
		}
	}
	s.cancel()
	s.over.Wait()
}

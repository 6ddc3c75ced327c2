package gateway

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"wield/chat"
)

// A stream is an answer that is sent while it is made.
//
// Frames are gathered and sent when the model says that nothing more is available now: to send each of them by itself
// costs several times the work. The first of them are held like all others, since Idle follows at once if more is slow
// to come.
//
// Two write to the client: the exchange's goroutine, which is blocked in the model most of the time, and the timer,
// which speaks up when that takes long. Everything below mu is theirs in turn.
type stream struct {
	x      *exchange
	framer framer
	cancel context.CancelFunc // of the model

	mu        sync.Mutex
	buf       *[]byte // whole frames that were not sent yet
	timer     *time.Timer
	last      time.Time // when something was sent
	committed bool      // there is no way back to a status
	told      int       // bounces that the header tells of
	notice    string    // of the first turn
	finished  bool
	closed    bool // the exchange is over, and the timer must not touch it
	err       error
}

// flushAt is the number of gathered bytes that are sent without waiting for the model to pause.
const flushAt = 16 << 10

// stream answers with a stream.
func (x *exchange) stream(m chat.Model, req *chat.Request, fr framer) *failure {
	if f := x.prepare(req); f != nil {
		return f
	}
	m = x.traced(m)
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	s := &stream{x: x, framer: x.framed(fr, 1), cancel: cancel, buf: takeBuffer(), last: x.start}
	x.live = s
	defer s.close()
	s.watch()
	var f *failure
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			f = x.modelFailure(ctx, err)
			break
		}
		if !s.take(e) {
			break
		}
	}
	return s.conclude(ctx, f)
}

// framed returns what makes the stream of some answers.
func (x *exchange) framed(of framer, answers int) framer {
	if x.front.framed == nil {
		return of
	}
	return x.front.framed(of, answers)
}

// watch starts the timer.
func (s *stream) watch() {
	if s.x.g.opts.KeepAlive < 0 || s.x.front.keepAlive == "" {
		return
	}
	s.mu.Lock()
	s.timer = time.AfterFunc(s.x.g.opts.KeepAlive, s.tick)
	s.mu.Unlock()
}

// tick sends a sign of life if nothing was sent for so long that a client or a proxy might give up. It runs in the
// timer's goroutine.
func (s *stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if rest := s.x.g.opts.KeepAlive - time.Since(s.last); rest > 0 {
		s.timer.Reset(rest)
		return
	}
	*s.buf = append(*s.buf, s.x.front.keepAlive...)
	s.committed = true
	s.send(true)
	if s.err == nil {
		s.timer.Reset(s.x.g.opts.KeepAlive)
	}
}

// take takes in one event, and reports whether more are wanted.
func (s *stream) take(e chat.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case chat.KindIdle:
		s.send(true)
		return s.err == nil
	case chat.KindTurnStart:
		s.notice = e.Detail.(*chat.TurnDetail).Notice
	case chat.KindBounce:
		s.x.bounces++
	case chat.KindNote:
		s.x.drop(e.Detail.(*chat.NoteDetail))
		s.notice = cmp.Or(noticeOf(e.Detail.(*chat.NoteDetail)), s.notice)
	case chat.KindFinish:
		s.finished = true
		s.x.bounces = e.Detail.(*chat.Finish).Bounces
		s.x.leave()
	}
	*s.buf = s.framer.Append(*s.buf, e)
	if len(*s.buf) > 0 {
		s.committed = true
	}
	if len(*s.buf) >= flushAt {
		s.send(false)
	}
	return s.err == nil
}

// send writes what was gathered. With flush it is on its way to the client afterwards; without, net/http may keep it
// until the next write. A client that does not take it is given up, and with it the model's work.
func (s *stream) send(flush bool) {
	if len(*s.buf) == 0 || s.err != nil {
		return
	}
	x := s.x
	if x.status == 0 {
		s.begin()
	} else {
		x.deadline(time.Now())
	}
	n, err := x.w.Write(*s.buf)
	x.written += int64(n)
	x.keepAnswer(*s.buf)
	*s.buf = (*s.buf)[:0]
	if err == nil && flush {
		err = x.rc.Flush()
	}
	if s.err = err; err != nil {
		s.cancel()
	}
	s.last = time.Now()
}

// begin sends the head of the answer.
func (s *stream) begin() {
	h := s.x.w.Header()
	h["Content-Type"] = s.x.front.streamType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = unbuffered // else nginx gathers the frames again
	if s.told = s.x.bounces; s.told > 0 {
		s.x.set("X-Wield-Bounces", strconv.Itoa(s.told))
	}
	s.x.tellDropped()
	if s.notice != "" {
		s.x.set("X-Wield-Notice", s.notice)
	}
	s.x.head(http.StatusOK)
}

// conclude ends a stream whose model has said all it had to say; f is the failure it ended with, if it did. Of a stream
// that is not committed the failure is returned, to be answered with a status of its own.
func (s *stream) conclude(ctx context.Context, f *failure) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		f = &failure{status: statusGone, err: chat.Errorf(chat.ErrCanceled, "the client does not take the answer: %w",
			s.err)}
	case f == nil && !s.finished:
		f = s.x.modelFailure(ctx, unfinished())
	}
	if f != nil {
		return f
	}
	// What is left goes out together with the end of the body, which net/http writes when the handler returns.
	s.send(false)
	if s.x.bounces != s.told {
		s.x.w.Header()[http.TrailerPrefix+"X-Wield-Bounces"] = []string{strconv.Itoa(s.x.bounces)}
	}
	return nil
}

// end ends a committed stream with an error. No terminator follows, so that nobody takes the answer for a whole one.
func (s *stream) end(f *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.status == statusGone || s.err != nil {
		s.x.status = statusGone
		return
	}
	*s.buf = s.framer.AppendError(*s.buf, f.err)
	s.send(false)
}

// close stops the timer. Nothing touches the exchange through it afterwards.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// release gives back what a closed stream held.
func (s *stream) release() {
	giveBuffer(s.buf)
	s.buf = nil
}

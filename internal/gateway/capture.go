package gateway

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"wield/chat"
	"wield/internal/apikey"
	"wield/internal/capture"
	"wield/internal/mask"
	"wield/internal/shorten"
	"wield/internal/trace"
)

// keepRequest begins to keep an exchange, if anybody wants to know.
func (x *exchange) keepRequest(body []byte) {
	o := &x.g.opts
	if o.Capture == nil && !o.LogContent {
		return
	}
	x.heard = &capture.Record{RequestBytes: int64(len(body))}
	if len(body) <= capture.MaxBody {
		x.heard.Request = body // nobody writes to it
	} else {
		x.heard.Request = x.heard.Request.Append(body)
	}
}

// keepAnswer keeps what was sent.
func (x *exchange) keepAnswer(b []byte) {
	if x.heard != nil {
		x.heard.Answer = x.heard.Answer.Append(b)
	}
}

// watched is a model whose answer is looked at by a record.
type watched struct {
	next chat.Model
	x    *exchange
}

// Stream implements chat.Model.
func (w watched) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		w.next.Stream(ctx, req)(func(e chat.Event, err error) bool {
			if err == nil && int(e.Kind) < len(captured) && captured[e.Kind] {
				w.x.heard.Watch(req, &e, time.Now())
			}
			return yield(e, err)
		})
	}
}

// captured are the kinds of events that a record keeps.
var captured = [...]bool{chat.KindTurnStart: true, chat.KindRaw: true, chat.KindCallEnd: true, chat.KindNote: true,
	chat.KindRejected: true, chat.KindOverrun: true, chat.KindBounce: true, chat.KindConverted: true,
	chat.KindFinish: true, chat.KindUsage: true, chat.KindIdle: false}

// traced returns m with spans of its answer sent, and kept, if they are wanted.
func (x *exchange) traced(m chat.Model) chat.Model {
	if x.heard != nil && x.g.opts.Capture != nil {
		m = watched{m, x}
	}
	t := x.g.opts.Trace
	if t == nil {
		return m
	}
	return t.Model(trace.Request{ID: x.id, Model: x.model, Front: x.front.name}, m)
}

// capture hands on what was kept of an exchange that is over.
func (x *exchange) capture(now time.Time) {
	r := x.heard
	if r == nil {
		return
	}
	r.ID, r.Time, r.Path, r.Model, r.Key = x.id, x.start, shownPath(x.r.URL.Path), x.model, x.holder.keyName()
	r.Status, r.Streamed, r.Bounces, r.Took, r.AnswerBytes = x.status, x.live != nil, x.bounces, now.Sub(x.start),
		x.written
	r.Dropped = x.dropped
	if x.err != nil {
		r.Error = string(x.err.Kind)
	}
	o := &x.g.opts
	if o.LogContent {
		o.Log.LogAttrs(x.r.Context(), slog.LevelInfo, "content", slog.String("request", x.id),
			slog.String("model", x.model), slog.String("request_body", mask.Text(string(r.Request))),
			slog.String("answer", mask.Text(string(r.Answer))))
	}
	if o.Capture == nil {
		return
	}
	if err := o.Capture.Add(r); err != nil {
		o.Log.LogAttrs(x.r.Context(), slog.LevelError, "an exchange could not be written to disk",
			slog.String("request", x.id), slog.Any("error", err))
	}
}

// administer lets those in who may see what others have said: holders of a key of the role admin, or, where
// there are no keys, whoever sits at this machine.
func (x *exchange) administer() *failure {
	if len(x.g.holders) == 0 || x.g.opts.Open && apikey.FromHeader(x.r.Header) == "" {
		host, _, _ := net.SplitHostPort(x.r.RemoteAddr)
		if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().IsLoopback() {
			return nil
		}
		return forbidden("insufficient_permissions", "this needs a key of the role admin, and none is configured")
	}
	h, f := x.g.identify(x.r)
	switch {
	case f != nil:
		return f
	case h == nil:
		return x.g.unknownKey(x.r)
	case h.Role != RoleAdmin:
		return forbidden("insufficient_permissions", "this needs a key of the role admin")
	}
	x.holder = h
	return nil
}

// listCaptures answers GET /admin/captures.
func (x *exchange) listCaptures() *failure {
	ring, f := x.captures()
	if f != nil {
		return f
	}
	return x.tell(struct {
		Captures []capture.Record `json:"captures"`
	}{ring.List()})
}

// showCapture answers GET /admin/captures/ID, the id being that of the request.
func (x *exchange) showCapture() *failure {
	ring, f := x.captures()
	if f != nil {
		return f
	}
	r := ring.Get(x.arg)
	if r == nil {
		return refuse(http.StatusNotFound, chat.ErrNotFound, codeURL, "no exchange of the id "+shorten.Quoted(x.arg)+
			" is kept; "+pathCaptures+" lists those that are")
	}
	return x.tell(r)
}

func (x *exchange) captures() (*capture.Ring, *failure) {
	if f := x.administer(); f != nil {
		return nil, f
	}
	if x.g.opts.Capture == nil {
		return nil, refuse(http.StatusNotFound, chat.ErrNotFound, codeURL,
			"nothing is captured: set capture.requests in the configuration")
	}
	return x.g.opts.Capture, nil
}

// tell answers with a value as JSON.
func (x *exchange) tell(v any) *failure {
	text, err := json.Marshal(v)
	if err != nil {
		return refuse(http.StatusInternalServerError, chat.ErrUnavailable, codeInternal, err.Error())
	}
	x.w.Header()["Cache-Control"] = noCache
	x.body(http.StatusOK, text)
	return nil
}

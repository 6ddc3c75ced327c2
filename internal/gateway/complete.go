package gateway

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/shorten"
)

// complete answers POST /v1/chat/completions.
func (x *exchange) complete(body []byte) *failure {
	if !x.g.passive {
		return x.answer(body)
	}
	// Which form of request is allowed depends on the model, so that its name must be known first.
	if m := x.g.lookUp(peekModel(body)); m != nil && m.Expose == ExposeToolRequest {
		return x.completePassive(body)
	}
	req, m, f := x.decode(body)
	if f != nil {
		return f
	}
	if m.Expose == ExposeToolRequest { // it is the default, and was not named
		return x.completePassive(body)
	}
	return x.converse(m, req)
}

func overLimit(h *holder, limit string, wait time.Duration) *failure {
	message := "the key " + shorten.Quoted(h.Name) + " may start " + strconv.Itoa(h.RPM) + " requests a minute"
	if limit == "concurrent" {
		message = "the key " + shorten.Quoted(h.Name) + " may have " + strconv.Itoa(h.Concurrent) +
			" requests under way at a time"
	}
	f := refuse(http.StatusTooManyRequests, chat.ErrRateLimit, codeRate, message)
	f.err.RetryAfter = wait
	return f
}

// whole answers with one body.
func (x *exchange) whole(m chat.Model, req *chat.Request, c collector) *failure {
	if f := x.prepare(req); f != nil {
		return f
	}
	m = x.traced(m)
	ctx := x.r.Context()
	a := collectedAnswer{x: x, c: c}
	// a loop would need memory for every variable that its body shares with what is around it
	m.Stream(ctx, req)(a.take)
	switch {
	case a.err != nil:
		return x.modelFailure(ctx, a.err)
	case !a.finished:
		return x.modelFailure(ctx, unfinished())
	}
	x.bounces = a.bounces
	x.set("X-Wield-Bounces", strconv.Itoa(x.bounces))
	x.tellDropped()
	if a.notice != "" {
		x.set("X-Wield-Notice", a.notice)
	}
	buf := takeBuffer()
	*buf = c.Append(*buf)
	x.leave()
	x.body(http.StatusOK, *buf)
	giveBuffer(buf)
	return nil
}

// A collectedAnswer takes in the stream of a model whose answer goes out as a whole.
type collectedAnswer struct {
	x        *exchange
	c        collector
	finished bool
	bounces  int
	notice   string
	err      error
}

func (a *collectedAnswer) take(e chat.Event, err error) bool {
	if a.err = err; err != nil {
		return false
	}
	switch e.Kind {
	case chat.KindTurnStart:
		a.notice = e.Detail.(*chat.TurnDetail).Notice
	case chat.KindFinish:
		a.finished = true
		a.bounces = e.Detail.(*chat.Finish).Bounces
	}
	if e.Kind == chat.KindNote {
		a.x.drop(e.Detail.(*chat.NoteDetail))
		a.notice = cmp.Or(noticeOf(e.Detail.(*chat.NoteDetail)), a.notice)
	}
	a.c.Add(e)
	return true
}

// noticeOf returns the text of a note for the header X-Wield-Notice; "": none.
func noticeOf(n *chat.NoteDetail) string {
	if n.Kind != chat.NoteFormat {
		return ""
	}
	const most = 200 // of what may be words of the model
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, "the answer does not have the format that was asked for: "+n.After[:min(len(n.After), most)])
}

// unfinished is the error of a model that breaks the contract of chat.Model.
func unfinished() error {
	return chat.Errorf(chat.ErrProtocol, "the model's answer broke off without a finish")
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// takeBuffer returns an empty buffer, which giveBuffer takes back.
func takeBuffer() *[]byte { return buffers.Get().(*[]byte) }

func giveBuffer(b *[]byte) {
	const most = 1 << 20 // rare giants are not kept
	if cap(*b) <= most {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

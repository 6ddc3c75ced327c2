package trace

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"time"

	"wield/chat"
)

// A Request says which request of a client an answer is for.
type Request struct {
	ID    string // as the log knows it
	Model string // the name that the client used
	Front string // protocol of the client
}

// Read returns the trace that a client's headers name, and none if they are broken.
func Read(h http.Header) chat.Trace {
	parent := h.Get("Traceparent")
	if _, _, _, ok := parseParent(parent); !ok {
		return chat.Trace{}
	}
	return chat.Trace{Parent: parent, State: strings.Join(h.Values("Tracestate"), ",")}
}

// Model returns a model that sends the spans of one answer of next, as part of the trace of the request. A request
// whose trace is not recorded gets none. Backends are told the span of the request.
func (t *Tracer) Model(r Request, next chat.Model) chat.Model {
	if t == nil {
		return next
	}
	return &traced{t: t, r: r, next: next}
}

type traced struct {
	t    *Tracer
	r    Request
	next chat.Model
}

// Stream implements chat.Model.
func (m *traced) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		trace, parent, sampled, ok := parseParent(req.Trace.Parent)
		switch {
		case ok && !sampled:
			m.next.Stream(ctx, req)(yield)
			return
		case !ok:
			trace = newTraceID()
		}
		o := observer{m: m, trace: trace, yield: yield, outcome: string(chat.ErrCanceled)}
		o.begin(req, parent)
		defer o.finish()
		inside := *req
		inside.Trace.Parent = o.request.header()
		m.next.Stream(ctx, &inside)(o.take)
	}
}

// An observer makes spans of an answer.
type observer struct {
	m       *traced
	trace   traceID
	yield   func(chat.Event, error) bool
	request *span
	attempt *span // under way; nil: none is
	first   bool  // something was shown
	done    bool  // the answer came to its end
	outcome string
	said    strings.Builder // only with Options.Content
}

// maxContent bounds what is kept of what is said.
const maxContent = 64 << 10

// begin opens the span of the request. The names of attributes are those of the convention; those of wield
// begin with its name.
func (o *observer) begin(req *chat.Request, parent spanID) {
	r := &o.m.r
	o.request = o.open("chat "+r.Model, kindServer, parent)
	o.request.set(text("gen_ai.operation.name", "chat"), text("gen_ai.provider.name", "wield"),
		text("gen_ai.request.model", r.Model), text("wield.request.id", r.ID), text("wield.front", r.Front),
		number("wield.request.tools", len(req.Tools)))
	o.request.set(settings(req)...)
	if o.m.t.o.Content {
		o.request.set(text("gen_ai.input.messages", inputOf(req)))
	}
	o.attempt = o.open("attempt", kindClient, o.request.id)
}

// settings returns what a request says of how the model is to answer.
func settings(req *chat.Request) (list []attribute) {
	if req.MaxTokens > 0 {
		list = append(list, number("gen_ai.request.max_tokens", req.MaxTokens))
	}
	if req.Temperature != nil {
		list = append(list, decimal("gen_ai.request.temperature", *req.Temperature))
	}
	if req.TopP != nil {
		list = append(list, decimal("gen_ai.request.top_p", *req.TopP))
	}
	if req.Seed != nil {
		list = append(list, number("gen_ai.request.seed", int(*req.Seed)))
	}
	if len(req.Stop) > 0 {
		list = append(list, texts("gen_ai.request.stop_sequences", req.Stop...))
	}
	if req.Conversation != "" {
		list = append(list, text("gen_ai.conversation.id", req.Conversation))
	}
	return list
}

func (o *observer) open(name string, kind int, parent spanID) *span {
	return &span{trace: o.trace, id: newSpanID(), parent: parent, name: name, kind: kind, start: time.Now()}
}

// close ends a span and sends it.
func (o *observer) close(s *span, failed string) {
	s.end, s.failed = time.Now(), failed
	if failed != "" {
		s.set(text("error.type", failed))
	}
	o.m.t.send(s)
}

// take looks at one event and hands it on.
func (o *observer) take(e chat.Event, err error) bool {
	if err != nil {
		o.outcome, o.done = string(chat.AsError(err).Kind), true
		return o.yield(e, err)
	}
	switch e.Kind {
	case chat.KindText, chat.KindReasoning, chat.KindCallStart:
		if !o.first {
			o.first = true
			o.request.event("first token")
		}
		if o.m.t.o.Content && e.Kind == chat.KindText && o.said.Len() < maxContent {
			o.said.WriteString(e.Text)
		}
	case chat.KindTurnStart:
		o.turn(e.Detail.(*chat.TurnDetail))
	case chat.KindTurnEnd:
		o.endAttempt("")
	case chat.KindCallEnd:
		o.call(e)
	case chat.KindRejected:
		d := e.Detail.(*chat.RejectedDetail)
		o.event("call rejected", text("wield.reason", string(d.Reason)), text("gen_ai.tool.name", d.Name))
	case chat.KindOverrun:
		d := e.Detail.(*chat.OverrunDetail)
		o.event("overrun", text("wield.marker", d.Marker), number("wield.at", d.At))
	case chat.KindBounce:
		o.event("bounce", text("wield.reason", string(e.Detail.(*chat.BounceDetail).Reason)))
	case chat.KindConverted:
		o.event("call converted", text("gen_ai.tool.name", e.Name))
	case chat.KindNote:
		o.event("repair", text("wield.kind", string(e.Detail.(*chat.NoteDetail).Kind)))
	case chat.KindUsage:
		if u := e.Detail.(*chat.Usage); u.Known {
			o.request.set(number("gen_ai.usage.input_tokens", u.In), number("gen_ai.usage.output_tokens", u.Out),
				number("gen_ai.usage.cache_read.input_tokens", u.Cached),
				number("gen_ai.usage.cache_creation.input_tokens", u.Written))
		}
	case chat.KindFinish:
		f := e.Detail.(*chat.Finish)
		o.outcome, o.done = "", true
		o.request.set(texts("gen_ai.response.finish_reasons", string(f.Reason)), number("wield.bounces", f.Bounces))
		if f.Model != "" {
			o.request.set(text("gen_ai.response.model", f.Model))
		}
		if f.ID != "" {
			o.request.set(text("gen_ai.response.id", f.ID))
		}
	}
	return o.yield(e, nil)
}

// event notes something of the attempt under way, or else of the request.
func (o *observer) event(name string, attributes ...attribute) {
	s := o.attempt
	if s == nil {
		s = o.request
	}
	s.event(name, attributes...)
}

// turn says which model it is that answers. An attempt begins when the one before has ended, so that the wait
// for its first sign is part of it.
func (o *observer) turn(d *chat.TurnDetail) {
	if o.attempt == nil {
		o.attempt = o.open("attempt", kindClient, o.request.id)
	}
	dialect := d.Dialect
	if dialect == "" {
		dialect = "native"
	}
	o.attempt.name = "chat " + d.Model
	o.attempt.set(text("gen_ai.operation.name", "chat"), text("gen_ai.provider.name", d.Backend),
		text("gen_ai.request.model", d.Model), text("wield.backend", d.Backend), text("wield.dialect", dialect),
		number("wield.attempt", d.Attempt))
	o.attempt.event("first sign")
}

func (o *observer) call(e chat.Event) {
	c := e.Detail.(*chat.Call)
	a := []attribute{text("gen_ai.tool.name", c.Name), text("gen_ai.tool.call.id", c.ID),
		text("wield.origin", e.Origin.String())}
	if o.m.t.o.Content {
		a = append(a, text("gen_ai.tool.call.arguments", cut(c.Arguments)))
	}
	o.event("call", a...)
}

func (o *observer) endAttempt(failed string) {
	if o.attempt != nil {
		o.close(o.attempt, failed)
		o.attempt = nil
	}
}

// finish closes what is open.
func (o *observer) finish() {
	o.endAttempt(o.outcome)
	if o.m.t.o.Content {
		o.request.set(text("gen_ai.output.messages", outputOf(o.said.String())))
	}
	o.close(o.request, o.outcome)
}

func cut(s string) string {
	if len(s) > maxContent {
		return strings.ToValidUTF8(s[:maxContent], "")
	}
	return s
}

// A spoken message is one as the convention writes it.
type spoken struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

func inputOf(req *chat.Request) string {
	list := make([]spoken, 0, len(req.Messages))
	for i := range req.Messages {
		m := &req.Messages[i]
		list = append(list, spoken{string(m.Role), []part{{"text", m.Text()}}})
	}
	return marshal(list)
}

func outputOf(said string) string {
	return marshal([]spoken{{"assistant", []part{{"text", said}}}})
}

func marshal(list []spoken) string {
	b, err := json.Marshal(list)
	if err != nil {
		return "" // strings alone cannot fail
	}
	return cut(string(b))
}

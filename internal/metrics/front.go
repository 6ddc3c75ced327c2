package metrics

import (
	"context"
	"iter"
	"strings"
	"time"

	"wield/chat"
)

// operation is the name of what is asked of models, in the words of the convention.
const operation = "chat"

// Front returns a model that counts what next answers to clients, under the name that they use.
func (m *Metrics) Front(name string, next chat.Model) chat.Model {
	if m == nil {
		return next
	}
	return &clientModel{m: m, name: name, next: next}
}

type clientModel struct {
	m    *Metrics
	name string
	next chat.Model
}

// Stream implements chat.Model.
func (f *clientModel) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		f.m.answers.inFlight.WithLabelValues(f.name).Inc()
		defer f.m.answers.inFlight.WithLabelValues(f.name).Dec()
		f.m.request(f.name, req)
		a := clientRequest{m: f.m, name: f.name, yield: yield, start: time.Now(), dialect: "none",
			outcome: string(chat.ErrCanceled)}
		defer a.end()
		f.next.Stream(ctx, req)(a.take)
	}
}

// A clientRequest is one under way.
type clientRequest struct {
	m       *Metrics
	name    string
	yield   func(chat.Event, error) bool
	start   time.Time
	first   time.Time // when the client could see something; zero: not yet
	backend string
	dialect string
	outcome string // how it ended; until it does, that the client went away
	failed  bool
	out     int // tokens
}

// take counts one event and hands it on.
func (a *clientRequest) take(e chat.Event, err error) bool {
	if err != nil {
		a.outcome, a.failed = string(chat.AsError(err).Kind), true
		return a.yield(e, err)
	}
	m := a.m
	switch e.Kind {
	case chat.KindText, chat.KindReasoning, chat.KindCallStart:
		if a.first.IsZero() {
			a.first = time.Now()
			m.answers.firstToken.WithLabelValues(operation, a.name).Observe(a.first.Sub(a.start).Seconds())
		}
	case chat.KindTurnStart:
		turn := e.Detail.(*chat.TurnDetail)
		a.backend, a.dialect = turn.Backend, turn.Dialect
		if a.dialect == "" {
			a.dialect = "native"
		}
	case chat.KindCallEnd:
		if e.Detail.(*chat.Call).Complete {
			m.calls.whole.WithLabelValues(a.name, a.backend, a.dialect, e.Origin.String()).Inc()
			m.calls.tools.WithLabelValues("custom", "detected", m.tools.label(e.Detail.(*chat.Call).Name)).Inc()
		}
	case chat.KindRejected:
		a.rejected(e.Detail.(*chat.RejectedDetail))
	case chat.KindNote:
		m.calls.repairs.WithLabelValues(a.name, string(e.Detail.(*chat.NoteDetail).Kind)).Inc()
	case chat.KindOverrun:
		end := "soft"
		if e.Detail.(*chat.OverrunDetail).Hard {
			end = "hard"
		}
		m.answers.overruns.WithLabelValues(a.name, a.backend, a.dialect, end).Inc()
	case chat.KindBounce:
		m.answers.bounces.WithLabelValues(a.name, a.backend, a.dialect,
			string(e.Detail.(*chat.BounceDetail).Reason)).Inc()
		a.misrouted(e.Detail.(*chat.BounceDetail))
	case chat.KindConverted:
		m.calls.converted.WithLabelValues(a.name, a.backend, a.dialect).Inc()
		a.misrouted(e.Detail.(*chat.BounceDetail))
	case chat.KindNativeCall:
		m.calls.tools.WithLabelValues("native", "detected", m.tools.label(e.Name)).Inc()
	case chat.KindNativeResult:
		m.calls.tools.WithLabelValues("native", "completed", m.tools.label(e.Name)).Inc()
	case chat.KindUsage:
		a.usage(e.Detail.(*chat.Usage))
	case chat.KindFinish:
		a.outcome = string(e.Detail.(*chat.Finish).Reason)
	}
	return a.yield(e, nil)
}

func (a *clientRequest) rejected(d *chat.RejectedDetail) {
	a.m.calls.rejected.WithLabelValues(a.name, a.backend, a.dialect, string(d.Reason)).Inc()
	status, tool := "invalid", a.m.tools.label(d.Name)
	switch d.Reason {
	case chat.ReasonConfused:
		status = "misrouted"
	case chat.ReasonUnknownTool, chat.ReasonMalformed:
		tool = otherName // the model's invention
	}
	a.m.calls.tools.WithLabelValues("custom", status, tool).Inc()
}

// misrouted counts calls that came through the wrong channel, which are bounced or taken over.
func (a *clientRequest) misrouted(d *chat.BounceDetail) {
	calls := d.Confused
	if d.Reason == chat.ReasonConfused && d.Call != nil {
		calls = append([]chat.Call{*d.Call}, calls...)
	}
	for _, c := range calls {
		a.m.calls.tools.WithLabelValues("custom", "misrouted", a.m.tools.label(c.Name)).Inc()
	}
}

func (a *clientRequest) usage(u *chat.Usage) {
	if !u.Known {
		return
	}
	a.out = u.Out
	for _, c := range [...]struct {
		kind string
		n    int
	}{{"input", u.In}, {"output", u.Out}, {"cached", u.Cached}, {"reasoning", u.Reasoning}} {
		if c.n > 0 {
			a.m.answers.tokens.WithLabelValues(a.name, c.kind).Add(float64(c.n))
		}
	}
}

// end counts the answer as a whole.
func (a *clientRequest) end() {
	now := time.Now()
	errorType := ""
	if a.failed || a.outcome == string(chat.ErrCanceled) {
		errorType = a.outcome
	}
	a.m.answers.ended.WithLabelValues(a.name, a.backend, a.dialect, a.outcome).Inc()
	a.m.answers.duration.WithLabelValues(operation, a.name, errorType).Observe(now.Sub(a.start).Seconds())
	if errorType != "" {
		return
	}
	a.m.answers.messages.WithLabelValues(string(chat.RoleAssistant)).Inc()
	if a.out > 1 && !a.first.IsZero() {
		a.m.answers.perToken.WithLabelValues(operation, a.name).Observe(now.Sub(a.first).Seconds() / float64(a.out-1))
	}
}

// request counts what a request brings: the messages behind the last answer, and results among them.
func (m *Metrics) request(model string, req *chat.Request) {
	last := len(req.Messages) - 1
	for last >= 0 && req.Messages[last].Role != chat.RoleAssistant {
		last--
	}
	var calls map[string]*chat.Call
	for i := range req.Messages[last+1:] {
		msg := &req.Messages[last+1+i]
		m.answers.messages.WithLabelValues(roleLabel(msg.Role)).Inc()
		if msg.Role != chat.RoleTool || last < 0 {
			continue
		}
		if calls == nil {
			calls = callsByID(req.Messages[last].Calls)
		}
		m.result(msg, calls[msg.CallID])
	}
	if last < 0 {
		m.answers.conversations.WithLabelValues(model).Inc()
	}
}

func roleLabel(r chat.Role) string {
	switch r {
	case chat.RoleSystem, chat.RoleDeveloper, chat.RoleUser, chat.RoleTool:
		return string(r)
	}
	return otherName
}

func callsByID(calls []chat.Call) map[string]*chat.Call {
	byID := make(map[string]*chat.Call, len(calls))
	for i := range calls {
		byID[calls[i].ID] = &calls[i]
	}
	return byID
}

// result counts a result of a call, unless it was counted before. The call is nil if there is none.
func (m *Metrics) result(msg *chat.Message, call *chat.Call) {
	name, arguments := msg.Name, ""
	if call != nil {
		name, arguments = call.Name, call.Arguments
	}
	if m.results.add(strings.Join([]string{msg.CallID, name, arguments}, "\x00")) {
		m.calls.tools.WithLabelValues("custom", "completed", m.tools.label(name)).Inc()
	}
}

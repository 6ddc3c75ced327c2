package stats

import (
	"context"
	"iter"
	"slices"
	"time"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
)

// Model returns a model that counts what next answers to clients, under the name that they use.
func (s *Store) Model(name string, prices agent.Prices, next chat.Model) chat.Model {
	if s == nil {
		return next
	}
	return &model{store: s, name: name, prices: prices, next: next}
}

type model struct {
	store  *Store
	name   string
	prices agent.Prices
	next   chat.Model
}

// Stream implements chat.Model.
func (m *model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		a := modelRequest{tally: tally{answer: Dims{Model: m.name, Client: req.Caller}}, model: m, req: req,
			yield: yield, start: m.store.o.Now()}
		defer a.end()
		m.next.Stream(ctx, req)(a.take)
	}
}

// A tally gathers what is counted of one answer.
type tally struct {
	answer  Dims // without dialect and tool
	counts  []count
	times   []took
	bounced bool
	wanted  bool // the last bounce asked for a call, and none has come since
	open    bool // an attempt failed and was not bounced
}

func (t *tally) add(c Counter, n int64) { t.addTo(t.answer, c, n) }

func (t *tally) addTo(d Dims, c Counter, n int64) {
	if n != 0 {
		t.counts = append(t.counts, count{d, c, n})
	}
}

// call returns the dimensions of a call.
func (t *tally) call(tool, dialect string, origin chat.Origin) Dims {
	d := t.answer
	if d.Tool = tool; tool == "" {
		d.Tool = otherName
	}
	switch {
	case origin == chat.OriginText && dialect != "":
		d.Dialect = dialect
	case origin == chat.OriginText:
		d.Dialect = otherName
	case origin == chat.OriginFunction:
		d.Dialect = Function
	default:
		d.Dialect = origin.String()
	}
	return d
}

// called counts a whole call in which a number of things were repaired.
func (t *tally) called(d Dims, repairs int64) {
	t.wanted = false
	t.addTo(d, Calls, 1)
	t.addTo(d, Repairs, repairs)
	switch {
	case repairs > 0:
		t.addTo(d, Repaired, 1)
	case !t.bounced:
		t.addTo(d, FirstTry, 1)
	}
}

// reasons say what a rejected attempt counts as.
var reasons = map[chat.Reason]Counter{
	chat.ReasonUnknownTool: UnknownTool, chat.ReasonMalformed: Malformed, chat.ReasonInvalid: Invalid,
	chat.ReasonIncomplete: Incomplete, chat.ReasonConfused: Confused, chat.ReasonOverLimit: OverLimit,
	chat.ReasonOverrun: Overrun,
}

// rejected counts a failed attempt. The name of a tool that there is not would be the model's invention.
func (t *tally) rejected(r *chat.RejectedDetail, origin chat.Origin) {
	c, ok := reasons[r.Reason]
	if !ok {
		c = OtherReason
	}
	name := r.Name
	if c == UnknownTool || c == Malformed {
		name = ""
	}
	t.addTo(t.call(name, r.Dialect, origin), c, 1)
	t.open = true
}

// bounce counts a corrective request. It asks for a call, unless it was the form of a text that was wrong.
func (t *tally) bounce(reason chat.Reason) {
	t.add(Bounces, 1)
	t.bounced, t.wanted, t.open = true, reason != bridge.ReasonFormat, false
}

func (t *tally) usage(u *chat.Usage) {
	t.add(Requests, int64(u.Requests))
	t.add(TokensIn, int64(u.In))
	t.add(TokensOut, int64(u.Out))
	t.add(TokensCached, int64(u.Cached))
	t.add(TokensReasoning, int64(u.Reasoning))
}

// offered counts a tool that the model was told of.
func (t *tally) offered(name string, size int) {
	d := t.answer
	d.Tool = name
	t.addTo(d, Offered, 1)
	t.addTo(d, OfferedSize, int64(size))
}

// ended counts the answer as a whole.
func (t *tally) ended(failure string) {
	t.add(Answers, 1)
	if t.bounced {
		t.add(Bounced, 1)
	}
	switch {
	case failure == string(chat.ErrCanceled):
		t.add(Canceled, 1)
	case failure != "":
		t.add(Failed, 1)
	case t.bounced && !t.wanted && !t.open:
		t.add(Recovered, 1)
	}
}

// A modelRequest is one that is under way.
type modelRequest struct {
	tally
	model    *model
	req      *chat.Request
	yield    func(chat.Event, error) bool
	start    time.Time
	first    time.Time     // when the client could see something; zero: not yet
	repairs  int64         // since the last call
	earlier  map[said]bool // the calls of the conversation, once there is another
	finished bool
	failed   string
}

// take counts one event and hands it on.
func (a *modelRequest) take(e chat.Event, err error) bool {
	if err != nil {
		a.failed = string(chat.AsError(err).Kind)
		return a.yield(e, err)
	}
	switch e.Kind {
	case chat.KindText, chat.KindReasoning, chat.KindCallStart:
		if a.first.IsZero() {
			a.first = a.model.store.o.Now()
		}
	case chat.KindNote:
		a.repairs++
	case chat.KindCallEnd:
		if c := e.Detail.(*chat.Call); c.Complete {
			d := a.call(c.Name, c.Dialect, e.Origin)
			a.called(d, a.repairs)
			if a.again(c) {
				a.addTo(d, Duplicate, 1)
			}
		}
		a.repairs = 0
	case chat.KindRejected:
		a.rejected(e.Detail.(*chat.RejectedDetail), e.Origin)
		a.repairs = 0
	case chat.KindBounce:
		a.bounce(e.Detail.(*chat.BounceDetail).Reason)
	case chat.KindNativeCall:
		a.addTo(a.call(e.Name, "", chat.OriginNative), Native, 1)
	case chat.KindUsage:
		a.usage(e.Detail.(*chat.Usage))
		if cost, ok := a.model.prices.Cost(*e.Detail.(*chat.Usage)); ok {
			a.add(Cost, int64(cost*1e6))
		}
	case chat.KindFinish:
		a.finished = true
	}
	return a.yield(e, nil)
}

// A said is what makes two calls the same.
type said struct{ name, arguments string }

// again reports whether the conversation has had the same call before.
func (a *modelRequest) again(c *chat.Call) bool {
	if a.earlier == nil {
		a.earlier = make(map[said]bool)
		for i := range a.req.Messages {
			for j := range a.req.Messages[i].Calls {
				old := &a.req.Messages[i].Calls[j]
				a.earlier[said{old.Name, old.Arguments}] = true
			}
		}
	}
	return a.earlier[said{c.Name, c.Arguments}]
}

func (a *modelRequest) end() {
	now := a.model.store.o.Now()
	if a.failed == "" && !a.finished {
		a.failed = string(chat.ErrCanceled)
	}
	a.counts = slices.Grow(a.counts, 2*len(a.req.Tools)+8)
	for i := range a.req.Tools {
		t := &a.req.Tools[i]
		a.offered(t.Name, len(t.Name)+len(t.Description)+len(t.Parameters))
	}
	a.results()
	a.ended(a.failed)
	if !a.first.IsZero() {
		a.times = append(a.times, took{a.tally.answer, FirstTime, a.first.Sub(a.start)})
	}
	if a.failed == "" {
		a.times = append(a.times, took{a.tally.answer, AnswerTime, now.Sub(a.start)})
	}
	a.model.store.add(now, a.counts, a.times)
}

// results counts what the request brings behind the last answer: what the client made of its calls.
func (a *modelRequest) results() {
	first := len(a.req.Messages)
	for first > 0 && a.req.Messages[first-1].Role == chat.RoleTool {
		first--
	}
	results := a.req.Messages[first:]
	names := calledBy(a.req.Messages[:first], results)
	for i := range results {
		msg := &results[i]
		d := a.tally.answer
		if d.Tool = msg.Name; d.Tool == "" {
			d.Tool = names[msg.CallID]
		}
		if d.Tool == "" {
			d.Tool = otherName
		}
		if msg.IsError {
			a.addTo(d, ToolError, 1)
		} else {
			a.addTo(d, Done, 1)
		}
	}
}

// calledBy returns by id the tools of the last calls that results without a name belong to.
func calledBy(before, results []chat.Message) map[string]string {
	names := make(map[string]string)
	for i := range results {
		if results[i].Name == "" {
			names[results[i].CallID] = ""
		}
	}
	for open := len(names); open > 0 && len(before) > 0; before = before[:len(before)-1] {
		calls := before[len(before)-1].Calls
		for i := range calls {
			if name, wanted := names[calls[i].ID]; wanted && name == "" && calls[i].Name != "" {
				names[calls[i].ID] = calls[i].Name
				open--
			}
		}
	}
	return names
}

package api

import (
	"net/http"
	"time"

	"wield/chat"
	"wield/internal/runs"
	"wield/internal/shorten"
	"wield/tool/policy"
	"wield/tool/runner"
)

// An Event is one step of a run. Which members it has is said by its kind.
type Event struct {
	Kind    string      `json:"kind" jsonschema:"turn_start, turn_end, text, reasoning, call_end, rejected, overrun, note, bounce, policy, approval, tool_state, progress, result, retry, usage or finish"`
	Turn    int         `json:"turn"`
	Text    string      `json:"text,omitempty" jsonschema:"a piece of what the model says or thinks"`
	CallID  string      `json:"call_id,omitempty" jsonschema:"the call that it is about"`
	Name    string      `json:"name,omitempty" jsonschema:"the tool that it is about"`
	Origin  chat.Origin `json:"origin,omitempty" jsonschema:"the channel that a call came through"`
	Dialect string      `json:"dialect,omitempty" jsonschema:"that a call was read in"`
	Span

	Model    string               `json:"model,omitempty" jsonschema:"that begins to answer"`
	Backend  string               `json:"backend,omitempty"`
	Attempt  int                  `json:"attempt,omitempty" jsonschema:"above 1 after a second chance"`
	Call     *Call                `json:"call,omitempty"`
	Rejected *chat.RejectedDetail `json:"rejected,omitempty" jsonschema:"text that tried to be a call"`
	Note     *chat.NoteDetail     `json:"note,omitempty" jsonschema:"what was repaired in a call"`
	Overrun  *chat.OverrunDetail  `json:"overrun,omitempty" jsonschema:"the model went on past the end of its turn"`
	Bounce   *Bounce              `json:"bounce,omitempty" jsonschema:"the model was asked again"`
	Policy   *policy.Detail       `json:"policy,omitempty" jsonschema:"what the rules said of a call"`
	Approval *Asked               `json:"approval,omitempty" jsonschema:"a question to a person"`
	State    runner.CallState     `json:"state,omitempty" jsonschema:"where a call stands"`
	Progress *Progress            `json:"progress,omitempty" jsonschema:"output of a call that runs"`
	Result   *Result              `json:"result,omitempty" jsonschema:"what came of a call, as the model reads it"`
	Retry    *Retry               `json:"retry,omitempty" jsonschema:"the model's server failed with the error and is asked again"`
	Error    *Trouble             `json:"error,omitempty" jsonschema:"why an answer broke off, or with retry the attempt before"`
	Usage    *Usage               `json:"usage,omitempty"`
	Finish   string               `json:"finish,omitempty" jsonschema:"why the last answer ended"`
}

// A Span is a place in a model's text.
type Span struct {
	At  int `json:"at,omitempty" jsonschema:"with end: where it stands in the model's text"`
	End int `json:"end,omitempty"`
}

// A Retry is a request to a model's server that is made again.
type Retry struct {
	At      time.Time `json:"at" jsonschema:"when it is made"`
	Attempt int       `json:"attempt" jsonschema:"its number, from 2"`
	Of      int       `json:"of" jsonschema:"how many there are at most"`
}

// A Bounce is a second chance for a model.
type Bounce struct {
	Reason     chat.Reason `json:"reason"`
	Name       string      `json:"name,omitempty" jsonschema:"the tool that was called"`
	Suppressed string      `json:"suppressed,omitempty" jsonschema:"the failed answer, which no client sees"`
	Sent       string      `json:"sent,omitempty" jsonschema:"what the model was told"`
}

// Asked is a question to a person in the events of a run.
type Asked struct {
	ID      string               `json:"id"`
	State   runner.ApprovalState `json:"state"`
	By      string               `json:"by,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	Expires time.Time            `json:"expires,omitzero"`
}

// Progress is output of a call that runs.
type Progress struct {
	Stream string  `json:"stream" jsonschema:"stdout, stderr, or a word of the tool"`
	Text   string  `json:"text,omitempty"`
	Done   float64 `json:"done,omitempty"`
	Total  float64 `json:"total,omitempty"`
}

// A Result holds the output or the error of a call.
type Result struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

// eventOf returns an event as it is sent. What is for programs inside alone, such as markup, is not.
func eventOf(e *chat.Event) (Event, bool) {
	out := Event{Kind: e.Kind.String(), Turn: e.Turn, CallID: e.ID, Name: e.Name, Span: Span{e.At, e.End}}
	fill, ok := fillings[e.Kind]
	if e.Kind == chat.KindIdle {
		ok = e.Detail != nil // a retry
	}
	if ok {
		fill(&out, e)
	}
	return out, ok
}

// fillings say which events are sent, and what they hold.
var fillings = map[chat.Kind]func(out *Event, e *chat.Event){
	chat.KindTurnStart: func(out *Event, e *chat.Event) {
		t := e.Detail.(*chat.TurnDetail)
		out.Model, out.Backend, out.Dialect, out.Attempt = t.Model, t.Backend, t.Dialect, t.Attempt
	},
	chat.KindTurnEnd: func(out *Event, e *chat.Event) { out.Error = troubleOf(e.Detail.(*chat.TurnDetail).Failed) },
	chat.KindIdle: func(out *Event, e *chat.Event) {
		r := e.Detail.(*chat.RetryDetail)
		out.Kind, out.Retry, out.Error = "retry", &Retry{r.At, r.Attempt, r.Of}, troubleOf(r.Error)
	},
	chat.KindText:      func(out *Event, e *chat.Event) { out.Text = e.Text },
	chat.KindReasoning: func(out *Event, e *chat.Event) { out.Text = e.Text },
	chat.KindCallEnd: func(out *Event, e *chat.Event) {
		c := e.Detail.(*chat.Call)
		out.Call, out.Origin, out.Dialect, out.At, out.End = &Call{c.ID, c.Name, c.Arguments}, c.Origin, c.Dialect,
			c.At, c.End
	},
	chat.KindNativeCall:   func(out *Event, e *chat.Event) { out.Text = e.Text },
	chat.KindNativeResult: func(out *Event, e *chat.Event) { out.Text = e.Text },
	chat.KindRejected:     func(out *Event, e *chat.Event) { out.Rejected = e.Detail.(*chat.RejectedDetail) },
	chat.KindNote:         func(out *Event, e *chat.Event) { out.Note = e.Detail.(*chat.NoteDetail) },
	chat.KindOverrun:      func(out *Event, e *chat.Event) { out.Overrun = e.Detail.(*chat.OverrunDetail) },
	chat.KindBounce:       bounced,
	chat.KindConverted:    bounced,
	chat.KindPolicy:       func(out *Event, e *chat.Event) { out.Policy = e.Detail.(*policy.Detail) },
	chat.KindApproval: func(out *Event, e *chat.Event) {
		a := e.Detail.(*runner.ApprovalDetail)
		out.Approval = &Asked{a.ID, a.State, a.By, a.Reason, a.Expires}
	},
	chat.KindToolState: func(out *Event, e *chat.Event) { out.State = e.Detail.(*runner.StateDetail).State },
	chat.KindProgress: func(out *Event, e *chat.Event) {
		p := e.Detail.(*runner.ProgressDetail)
		out.Progress = &Progress{p.Stream, p.Text, p.Done, p.Total}
	},
	chat.KindResult: func(out *Event, e *chat.Event) {
		m := e.Detail.(*chat.Result).Message()
		out.Result = &Result{m.Text(), m.IsError}
	},
	chat.KindUsage: func(out *Event, e *chat.Event) {
		u := usageOf(*e.Detail.(*chat.Usage))
		out.Usage = &u
	},
	chat.KindFinish: func(out *Event, e *chat.Event) { out.Finish = string(e.Detail.(*chat.Finish).Reason) },
}

func bounced(out *Event, e *chat.Event) {
	b := e.Detail.(*chat.BounceDetail)
	out.Bounce = &Bounce{Reason: b.Reason, Suppressed: b.Suppressed, Sent: b.Sent}
	if b.Call != nil {
		out.Bounce.Name = b.Call.Name
	}
}

// followRun answers GET /runs/{run}/events.
func (x *exchange) followRun() error {
	run, err := x.run()
	if err != nil {
		return err
	}
	after, field := x.r.Header.Get("Last-Event-ID"), "Last-Event-ID"
	if after == "" {
		after, field = x.query("after"), "after"
	}
	if !runs.IsPlace(after) {
		return invalid(field, "%s is no id of an event", shorten.Quoted(after)).
			with("send the id of the last event that was seen, or none")
	}
	var s *stream
	if run.Ended == nil {
		s = x.stream() // whoever follows knows at once that it works
	}
	ctx := x.r.Context()
	if s != nil {
		ctx = s.ctx
	}
	for n, err := range x.s.o.Hub.Follow(ctx, run.ID, after) {
		switch {
		case s == nil && err != nil:
			return err
		case s == nil:
			s = x.stream()
		}
		if err != nil {
			s.end(err)
			return nil
		}
		e, ok := eventOf(&n.Event)
		if !ok {
			continue
		}
		data, err := encode(&e)
		if err != nil {
			s.end(err)
			return nil
		}
		if !s.send(n.ID, e.Kind, data) {
			break
		}
	}
	if s == nil { // a browser that has seen all asks no more
		x.tell(http.StatusNoContent, nil)
		return nil
	}
	s.end(nil)
	return nil
}

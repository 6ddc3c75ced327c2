package playback

import (
	"time"

	"wield/chat"
	"wield/internal/trace"
)

// Spans returns the times of a run as nested spans: the run, its turns, in each the request to the model, the calls,
// and the waits for a person. What was said stands in them only with content. The names of attributes are those of
// the conventions of OpenTelemetry for generative AI; those of wield begin with its name.
func (r *Recording) Spans(content bool) *trace.Recorded {
	s := &trace.Recorded{Name: "invoke_agent " + r.Run.Agent, Start: r.Begun, End: r.Ended,
		Attributes: []trace.Attribute{
			word("gen_ai.operation.name", "invoke_agent"), word("gen_ai.provider.name", "wield"),
			word("gen_ai.request.model", r.Run.Model), word("gen_ai.conversation.id", r.Session),
			word("wield.run.id", r.ID)}}
	if r.Run.Agent == "" {
		s.Name = "invoke_agent"
	} else {
		s.Attributes = append(s.Attributes, word("gen_ai.agent.name", r.Run.Agent))
	}
	if r.End != nil {
		s.Attributes = append(s.Attributes, word("wield.run.reason", r.End.Reason))
		s.Attributes = append(s.Attributes, spent(&r.End.Usage)...)
		if r.End.Error != nil {
			s.Failed = r.End.Error.Kind
		}
	}
	if content {
		for _, m := range r.Messages() {
			s.Events = append(s.Events, trace.RecordedEvent{At: r.Begun, Name: string(m.Role),
				Attributes: []trace.Attribute{word("content", m.Text())}})
		}
	}
	for _, t := range r.Turns {
		s.Inside = append(s.Inside, t.spans(content)...)
	}
	return s
}

func word(key, value string) trace.Attribute { return trace.Attribute{Key: key, Value: value} }

func count(key string, n int64) trace.Attribute { return trace.Attribute{Key: key, Count: &n} }

func spent(u *chat.Usage) []trace.Attribute {
	if !u.Known {
		return nil
	}
	return []trace.Attribute{count("gen_ai.usage.input_tokens", int64(u.In)),
		count("gen_ai.usage.output_tokens", int64(u.Out))}
}

// spans returns the request to the model and the calls of its answer.
func (t *Turn) spans(content bool) []*trace.Recorded {
	ask := &trace.Recorded{Name: "chat " + t.Model, Client: true, Start: t.Asked, End: t.Ended,
		Attributes: []trace.Attribute{word("gen_ai.operation.name", "chat"), word("gen_ai.provider.name", t.Backend),
			word("gen_ai.request.model", t.Model), count("wield.turn", int64(t.Number))}}
	if e := t.End; e != nil {
		ask.Attributes = append(ask.Attributes, spent(&e.Usage)...)
		if e.Finish != nil {
			reasons := trace.Attribute{Key: "gen_ai.response.finish_reasons", List: []string{string(e.Finish.Reason)}}
			ask.Attributes = append(ask.Attributes, reasons, count("wield.bounces", int64(e.Finish.Bounces)))
		}
		if e.Error != nil {
			ask.Failed = e.Error.Kind
		}
		if content {
			ask.Attributes = append(ask.Attributes, word("wield.raw", string(e.Raw)))
		}
	}
	for _, b := range t.Bounces {
		ask.Events = append(ask.Events, trace.RecordedEvent{At: t.Ended, Name: "bounce",
			Attributes: []trace.Attribute{word("wield.reason", string(b.Reason))}})
	}
	for _, x := range t.Rejects {
		ask.Events = append(ask.Events, trace.RecordedEvent{At: t.Ended, Name: "call rejected",
			Attributes: []trace.Attribute{word("wield.reason", string(x.Reason)), word("gen_ai.tool.name", x.Name)}})
	}
	for _, x := range t.Repairs {
		ask.Events = append(ask.Events, trace.RecordedEvent{At: t.Ended, Name: "repair",
			Attributes: []trace.Attribute{word("wield.kind", string(x.Kind))}})
	}
	list := []*trace.Recorded{ask}
	for _, c := range t.Calls {
		list = append(list, c.span(t.Ended, content))
	}
	return list
}

// span returns the time of a call, from when the model had written it to its result, with the waits for a person in it.
func (c *RecordedCall) span(written time.Time, content bool) *trace.Recorded {
	s := &trace.Recorded{Name: "execute_tool " + c.Name, Start: written, End: written, Attributes: []trace.Attribute{
		word("gen_ai.operation.name", "execute_tool"), word("gen_ai.tool.type", "function"),
		word("gen_ai.tool.name", c.Name), word("gen_ai.tool.call.id", c.ID), word("wield.dialect", c.Dialect)}}
	if c.Policy != nil {
		s.Attributes = append(s.Attributes, word("wield.policy.decision", string(c.Policy.Decision)),
			word("wield.policy.rule", c.Policy.Rule))
	}
	if content {
		s.Attributes = append(s.Attributes, word("gen_ai.tool.call.arguments", c.Arguments))
	}
	for _, q := range c.Questions {
		s.Inside = append(s.Inside, q.span())
	}
	f := c.Result
	if f == nil {
		s.Failed = "no result"
		return s
	}
	s.End = latest(f.At, written)
	if c.Start != nil {
		ran := &trace.Recorded{Name: "run " + c.Name, Start: latest(c.Start.At, written), End: s.End,
			Attributes: []trace.Attribute{count("wield.runs", int64(c.Runs))}}
		s.Inside = append(s.Inside, ran)
	}
	if !f.Result.OK {
		s.Failed = string(f.Result.ErrorType)
	}
	if content {
		shown := f.Result.Chat(&c.Call, 0)
		m := shown.Message()
		s.Attributes = append(s.Attributes, word("gen_ai.tool.call.result", m.Text()))
	}
	return s
}

// span returns the time in which a person was waited for.
func (q *AskedQuestion) span() *trace.Recorded {
	s := &trace.Recorded{Name: "approval", Start: q.Asked, End: q.Asked,
		Attributes: []trace.Attribute{word("wield.approval.id", q.ID), word("wield.policy.rule", q.Rule)}}
	if a := q.Answer; a != nil {
		s.End = latest(a.At, q.Asked)
		s.Attributes = append(s.Attributes, word("wield.approval.state", string(a.State)),
			word("wield.approval.by", a.By))
	}
	return s
}

// latest returns the later one of two times: clocks go back at times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

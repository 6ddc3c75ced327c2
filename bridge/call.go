package bridge

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/schema"
)

// A pendingCall is the call that is being read. Its events are kept until it is released.
type pendingCall struct {
	open     bool
	released bool
	surplus  bool    // over the limit: it is never released
	muted    bool    // part of an answer that is not shown
	channel  channel // what a call of the backend is; channelText for one that was read from text
	start    chat.Event
	tool     *tool
	events   buffer
	raw      []byte // the arguments of a backend's call as they came
	lead     int    // where the white space in front of a released call begins
	size     int    // bytes of arguments held
}

// add buffers an event. A joined delta has about a KiB, which every client can read.
func (c *pendingCall) add(e chat.Event) { c.events.add(e, autoRelease) }

// pending reports whether what the decoder gives is part of a call that may not be shown yet.
func (c *pendingCall) pending() bool {
	return c.open && !c.released && !c.muted && c.channel == channelText
}

// start opens a call.
func (r *run) start(e chat.Event, t *tool) {
	c := &r.turn.call
	r.turn.tried = true
	*c = pendingCall{open: true, start: e, tool: t, events: c.events.empty(), raw: c.raw[:0], muted: r.turn.muted.on}
	if c.muted {
		return
	}
	c.add(e)
	r.dropRepetition()
	if r.max > 0 && r.turn.calls >= r.max {
		c.surplus = true
	}
	if r.o.Release == ReleaseEager {
		r.release()
	}
}

// args takes a delta of the arguments.
func (r *run) args(e chat.Event) {
	c := &r.turn.call
	switch {
	case c.muted || !c.open:
	case c.released:
		e.Index = r.index
		r.emit(e)
	default:
		c.add(e)
		c.size += len(e.Text)
		if r.o.Release == ReleaseAuto && r.req.Stream && c.size >= autoRelease {
			r.release()
		}
	}
}

// release tells the client of the open call, as far as it has been read.
func (r *run) release() {
	c := &r.turn.call
	if c.released || c.surplus {
		return
	}
	r.flushText()
	c.released = true
	c.lead = c.start.At
	if b := r.turn.markup.blanks; len(b) > 0 {
		c.lead = b[0].At
	}
	r.placeBlanks(false)
	c.start.ID = r.id(c.start)
	for _, e := range c.events.take() {
		switch e.Kind {
		case chat.KindCallStart:
			e.ID, e.Index = c.start.ID, r.index
			if c.tool != nil {
				e.Name = c.tool.name
			}
		case chat.KindCallArgs:
			e.Index = r.index
		}
		r.emit(e)
	}
}

// complete ends the open call, which is call as it was read. e is the event that ends it.
func (r *run) complete(e chat.Event, call chat.Call) {
	c := &r.turn.call
	c.open = false
	if c.muted {
		return
	}
	if c.tool != nil {
		call.Name = c.tool.name
	}
	if !call.Complete {
		r.incomplete(e, call)
		return
	}
	if c.surplus {
		r.refuse(e, call)
		return
	}
	if !c.released {
		call.Arguments = c.once(call.Arguments, r.o.Decode.Repair)
	}
	if why := r.check(c.tool, call.Arguments); why != nil && !c.released {
		r.fail(e, failure{reason: chat.ReasonInvalid, call: call, message: why.message, missing: why.missing})
		return
	}
	if r.repeats(call) && !c.released && e.Origin == chat.OriginText {
		r.endRepetition(e, call)
		return
	}
	r.release()
	e.Index, e.ID, e.Name = r.index, c.start.ID, call.Name
	call.Index, call.ID = r.index, c.start.ID
	e.Detail = &call
	c.released = false
	if e.Origin == chat.OriginText && e.Flags&chat.FlagPromoted == 0 {
		r.settle(r.span(call), false)
	}
	r.index++
	r.calls++
	r.turn.calls++
	r.emit(e)
}

// repeats reports whether the answer has to be a call, is held to that, and had this very one. A small model that may
// only call repeats the same call until its tokens are used up.
func (r *run) repeats(call chat.Call) bool {
	if r.constrained == nil || !r.required() {
		return false
	}
	one := call.Name + "\n" + call.Arguments
	if slices.Contains(r.turn.required, one) {
		return true
	}
	r.turn.required = append(r.turn.required, one)
	return false
}

// endRepetition ends the answer before a call that repeats another.
func (r *run) endRepetition(e chat.Event, call chat.Call) {
	r.reject(e, &chat.RejectedDetail{Reason: chat.ReasonOverLimit, Name: call.Name, Arguments: call.Arguments,
		Raw: r.span(call), At: call.At, End: call.End, Message: "the call repeats another of the answer",
		Dialect: call.Dialect}, false)
	r.turn.over = overrun{reported: true, cut: true, at: call.At}
}

// mostIdle limits the white space behind a call in an answer that is held to calls.
const mostIdle = 64

// endIdle ends an answer that is held to calls where white space without end follows one: grammars of JSON allow it,
// and a small model writes it until its tokens are used up.
func (r *run) endIdle() {
	if r.constrained == nil || !r.required() || r.turn.calls == 0 || r.turn.call.open || r.turn.over.reported {
		return
	}
	if end := len(bytes.TrimRight(r.turn.raw, " \t\r\n")); len(r.turn.raw)-end > mostIdle {
		r.turn.over = overrun{reported: true, cut: true, at: end}
	}
}

// once returns the arguments with every key once, the last value of each, if the decoder noted that one
// stands twice. It could not take back the first; here nothing was sent yet.
func (c *pendingCall) once(args string, level dialect.Repair) string {
	twice := slices.ContainsFunc(c.events.events, func(e chat.Event) bool {
		return e.Kind == chat.KindNote && e.Detail.(*chat.NoteDetail).Kind == chat.NoteDuplicateKey
	})
	if !twice {
		return args
	}
	clean, _, err := dialect.Arguments(args, nil, level)
	if err != nil || clean == args {
		return args
	}
	c.events.cut()
	first := -1
	kept := c.events.events[:0]
	for _, e := range c.events.events {
		switch {
		case e.Kind != chat.KindCallArgs:
		case first < 0:
			first, e.Text = len(kept), clean
		default:
			kept[first].End = e.End
			continue
		}
		kept = append(kept, e)
	}
	c.events.events = kept
	return clean
}

// incomplete ends a call in which the response broke off. It is never run; that the response ended early is
// in the finish reason. Where that says that the model stopped by itself, it is asked again.
func (r *run) incomplete(e chat.Event, call chat.Call) {
	if e.Origin == chat.OriginText && r.finish.Reason == chat.FinishStop && r.finish.Stop == "" &&
		r.bounceable(chat.ReasonMalformed) {
		r.fail(e, failure{reason: chat.ReasonMalformed, call: call, message: "the response ended inside the call"})
		return
	}
	raw := r.span(call)
	if raw == "" {
		raw = call.Arguments // the call did not come as text: this is all there is of it
	}
	r.reject(e, &chat.RejectedDetail{Reason: chat.ReasonIncomplete, Name: call.Name, Arguments: call.Arguments,
		Raw: raw, At: call.At, End: call.End, Message: "the response ended inside the call", Dialect: call.Dialect},
		!r.req.Attempts)
}

// refuse ends a call over the limit. The client is told in the content, where the model will see it too.
func (r *run) refuse(e chat.Event, call chat.Call) {
	message := "only one tool call per response is allowed"
	if r.max > 1 {
		message = "at most " + strconv.Itoa(r.max) + " tool calls per response are allowed"
	}
	r.reject(e, &chat.RejectedDetail{Reason: chat.ReasonOverLimit, Name: call.Name, Arguments: call.Arguments,
		Raw: r.span(call), At: call.At, End: call.End, Message: message, Dialect: call.Dialect}, false)
	if !r.req.Attempts {
		r.unsaid = append(r.unsaid, "The call of "+oneLine(call.Name)+" was not run: "+message+".")
	}
}

// reject emits a Rejected event for the call that was open, if one was. show says that the raw text belongs
// into the content.
func (r *run) reject(e chat.Event, d *chat.RejectedDetail, show bool) {
	c := &r.turn.call
	r.flushText()
	e.Kind, e.Index, e.Name, e.Detail = chat.KindRejected, -1, d.Name, d
	e.Flags &^= chat.FlagSpent
	promoted := e.Flags&chat.FlagPromoted != 0 // its text has been shown as reasoning
	if show && d.Raw != "" && !promoted {
		e.Flags |= chat.FlagSpent
	}
	switch {
	case c.released:
		if c.lead < d.At && !promoted && !r.afterReasoning(c.lead) {
			// for who has not seen the call, its text is all of it
			whole := *d
			whole.At, whole.Raw = c.lead, string(r.turn.raw[c.lead:d.At])+d.Raw
			e.Detail = &whole
		}
		e.Index, e.ID = r.index, c.start.ID
		r.index++
		c.released = false
	case d.At < d.End && !promoted:
		e.At, e.End = d.At, d.End // the events of the attempt that were held are part of it
	}
	c.open = false
	c.events = c.events.empty()
	shown := e.Flags&chat.FlagSpent != 0 && e.Index < 0
	if e.Origin == chat.OriginText && !promoted {
		r.placeBlanks(shown)
		r.settle(d.Raw, shown)
	}
	if shown {
		r.part(d.Raw, e.At)
		r.shown = append(r.shown, d.Raw...)
	}
	r.emit(e)
}

// span returns the raw text of a call that was read from text.
func (r *run) span(call chat.Call) string {
	if call.At < 0 || call.End > len(r.turn.raw) || call.At >= call.End {
		return ""
	}
	return string(r.turn.raw[call.At:call.End])
}

// rejected handles an attempt at a call that the decoder refused, or the codec of the backend.
func (r *run) rejected(e chat.Event) {
	if r.turn.muted.on {
		return
	}
	d := e.Detail.(*chat.RejectedDetail)
	if r.turn.over.reported {
		r.late(e, d.Name, d.Arguments)
		return
	}
	r.fail(e, failure{reason: d.Reason, message: d.Message, rejected: d,
		call: chat.Call{Name: d.Name, Arguments: d.Arguments, Dialect: d.Dialect, At: d.At, End: d.End}})
}

// id returns the id of a call that is released: its own, if the text or the backend gave it one that no other
// call of the conversation has.
func (r *run) id(e chat.Event) string {
	if r.ids == nil {
		r.ids = make(map[string]bool)
		for i := range r.req.Messages {
			for j := range r.req.Messages[i].Calls {
				r.ids[r.req.Messages[i].Calls[j].ID] = true
			}
			if id := r.req.Messages[i].CallID; id != "" {
				r.ids[id] = true
			}
		}
	}
	id := e.ID
	if e.Origin == chat.OriginText && id == "call_"+strconv.Itoa(e.Index) {
		id = "" // the decoder numbers calls that have none
	}
	if r.o.NamedIDs {
		id = ""
	}
	name := e.Name
	if t := r.turn.call.tool; t != nil {
		name = t.name
	}
	for id == "" || r.ids[id] {
		id = r.newID(name)
	}
	r.ids[id] = true
	return id
}

// A complaint says what is wrong with arguments.
type complaint struct {
	message string
	missing string // the required property that is absent
}

// check returns what is wrong with arguments, nil if nothing is.
func (r *run) check(t *tool, args string) *complaint {
	if t == nil || r.o.Passive {
		return nil
	}
	return complain(t.schema.Validate(args))
}

// complain puts violations into words. Of none there is nothing to complain.
func complain(violations []schema.Violation) *complaint {
	if len(violations) == 0 {
		return nil
	}
	c := &complaint{}
	for i, v := range violations {
		if v.Missing != "" && c.missing == "" && v.Pointer == "/"+v.Missing {
			c.missing = v.Missing
		}
		if i == maxViolations {
			c.message += "; and " + strconv.Itoa(len(violations)-i) + " more"
			break
		}
		if i > 0 {
			c.message += "; "
		}
		c.message += v.String()
	}
	return c
}

// maxViolations limits the violations that a message lists. A model does not correct more at once.
const maxViolations = 8

// arguments reads the arguments of a backend's call by the rules for text. If they cannot be read it says why.
func (r *run) arguments(t *tool, raw string) (args string, notes []chat.NoteDetail, why string) {
	args, notes, err := dialect.Arguments(raw, t.shape, r.o.Decode.Repair)
	switch {
	case err != nil:
		return raw, nil, strings.TrimPrefix(err.Error(), "dialect: ")
	case !isObject(args):
		return raw, nil, noObject
	}
	return args, notes, ""
}

const noObject = "the arguments are no JSON object"

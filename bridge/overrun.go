package bridge

import "wield/chat"

// An overrun is text that a model writes behind the end of its turn: an invented question, an invented result, and
// what it makes of them. Nothing in it is a call.
//
// Behind a hard end the answer is cut: the client, its history and a bounce have it up to the end alone, and
// the backend is stopped. So it is behind a soft end if the answer holds a call, or tried to; else the text
// may be meant, and goes on.
type overrun struct {
	reported bool // the turn has ended
	cut      bool // what follows is shown nowhere
	at       int  // where in the raw text the turn ended
}

// tooLate says why a call of the backend's function calling behind the end of the turn is not made.
const tooLate = "the call stands behind the end of the model's turn"

// overran takes note of the end of the turn.
func (r *run) overran(e chat.Event) {
	o := &r.turn.over
	if o.reported {
		return
	}
	*o = overrun{reported: true, cut: e.Detail.(*chat.OverrunDetail).Hard || r.turn.tried, at: e.At}
	if !r.turn.repeats.keep(e) {
		r.pass(e)
	}
}

// behind leaves out text behind the end of the turn. Its bytes are accounted for.
func (r *run) behind(e chat.Event) {
	if r.turn.muted.on {
		return
	}
	e.Kind, e.Flags, e.Text, e.Detail = chat.KindMarkup, 0, string(r.turn.raw[e.At:e.End]), nil
	r.place(e, false)
}

// late rejects a call of the backend behind the end of the turn. It is for the record alone: nothing is
// bounced for it, and the client is not told of it.
func (r *run) late(e chat.Event, name, arguments string) {
	r.pass(chat.Event{Kind: chat.KindRejected, Origin: e.Origin, Index: -1, At: e.At, End: e.End, Name: name,
		Detail: &chat.RejectedDetail{Reason: chat.ReasonOverrun, Name: name, Arguments: arguments, Message: tooLate}})
}

// asksForEnd lets the decoder say whether a call of the backend that begins stands behind the end of the turn.
func (r *run) asksForEnd() {
	if r.turn.plain || r.turn.over.reported {
		return
	}
	r.events = r.dec.CallElsewhere(r.events[:0])
	if r.turn.muted.on {
		r.noteOverruns()
	} else {
		r.decoded()
	}
}

// readMuted looks for the end of the turn in text of an answer that is not shown, since a bounce shows it to the
// model. Behind a call of the backend the decoder begins anew.
func (r *run) readMuted(text string) {
	if r.turn.over.reported {
		return
	}
	if r.turn.plain {
		r.dec.Reset()
		r.turn.plain, r.turn.muted.anew = false, len(r.turn.raw)-len(text)
	}
	r.events = r.dec.Feed(r.events[:0], text)
	r.noteOverruns()
}

func (r *run) noteOverruns() {
	for i := range r.events {
		if e := &r.events[i]; e.Kind == chat.KindOverrun {
			e.At += r.turn.muted.anew
			e.End = e.At
			d := *e.Detail.(*chat.OverrunDetail)
			d.At += r.turn.muted.anew
			e.Detail = &d
			r.overran(*e)
		}
	}
}

// stopsBackend reports whether the backend is to be stopped before an event: the answer was cut, and what comes
// would only add to what is left out. What a body has besides, such as how many tokens there were, is there
// already, and a call that began before the end of the turn is taken to its own.
func (r *run) stopsBackend(k chat.Kind) bool {
	if !r.turn.over.cut || r.turn.call.open && r.turn.call.channel != channelText {
		return false
	}
	return k == chat.KindText || k == chat.KindReasoning || k == chat.KindIdle
}

// cutShort makes the end of an answer that was cut what it would be if the model had stopped there.
func (r *run) cutShort() {
	if !r.turn.over.cut {
		return
	}
	r.finish.Reason, r.finish.Stop = chat.FinishStop, ""
	if !r.turn.counted { // the backend was stopped before it said
		r.usage.Add(chat.Usage{Requests: 1, Uncounted: 1})
	}
}

// wrote returns what the model wrote in its turn, for the model.
func (r *run) wrote() string {
	if o := r.turn.over; o.reported {
		return string(r.turn.raw[:o.at])
	}
	return string(r.turn.raw)
}

package bridge

import "wield/chat"

// A keptAnswer is a response of which the client is told nothing until it is known what becomes of it. Someone who waits for a
// whole answer misses nothing by that, and is spared the words of an answer that failed.
type keptAnswer struct {
	on       bool
	unplaced bool         // its text may have stood behind its calls as well as before them
	events   []chat.Event // in the order in which they are to be seen
	text     []byte       // of the last of them, if deltas were joined to it
	shown    int          // how much text the client had before
	unsaid   int          // and how many sentences it was to get
}

// keep begins to keep the response, if it can still fail.
func (r *run) keep() {
	if k := &r.turn.kept; !k.on && (len(r.tools) > 0 || r.form.want != nil) {
		k.on, k.shown, k.unsaid = true, len(r.shown), len(r.unsaid)
	}
}

// add keeps an event. Deltas of text are joined, which nobody notices in an answer that goes out whole.
func (k *keptAnswer) add(e chat.Event) {
	if n := len(k.events); n > 0 {
		last := &k.events[n-1]
		if (e.Kind == chat.KindText || e.Kind == chat.KindReasoning) && e.Kind == last.Kind && e.Flags == last.Flags &&
			e.Origin == last.Origin && e.At == last.End && e.Detail == nil && last.Detail == nil {
			if len(k.text) == 0 {
				k.text = append(k.text, last.Text...)
			}
			k.text = append(k.text, e.Text...)
			last.End = e.End
			return
		}
	}
	k.cut()
	k.events = append(k.events, e)
}

// cut gives the last event the text that was joined to it.
func (k *keptAnswer) cut() {
	if len(k.text) > 0 {
		k.events[len(k.events)-1].Text, k.text = string(k.text), k.text[:0]
	}
}

// flushAnswer hands on what was kept, and what follows as it comes.
func (r *run) flushAnswer() {
	k := &r.turn.kept
	if !k.on {
		return
	}
	k.on = false
	k.cut()
	for _, e := range k.events {
		r.emit(e)
	}
	k.events = k.events[:0]
}

// withdraw makes markup of the text that is kept: nobody sees it, but its bytes are accounted for.
func (r *run) withdraw() {
	k := &r.turn.kept
	if !k.on {
		return
	}
	k.cut()
	for i := range k.events {
		if e := &k.events[i]; e.Kind == chat.KindText {
			e.Kind, e.Detail = chat.KindMarkup, nil
		}
	}
	r.shown = r.shown[:k.shown]
}

// disown takes back all that is kept of a response that is asked for again: its text, its reasoning, and the text of calls that
// came to nothing. What is left is the record.
func (r *run) disown() {
	k := &r.turn.kept
	if !k.on {
		return
	}
	r.withdraw()
	r.unsaid = r.unsaid[:k.unsaid]
	for i := range k.events {
		switch e := &k.events[i]; e.Kind {
		case chat.KindReasoning:
			e.Kind, e.Detail = chat.KindMarkup, nil
		case chat.KindRejected:
			e.Flags &^= chat.FlagSpent
			d := *e.Detail.(*chat.RejectedDetail)
			d.Raw = "" // fronts show that of an incomplete call always
			e.Detail = &d
		}
	}
	r.flushAnswer()
}

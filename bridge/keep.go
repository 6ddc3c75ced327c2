package bridge

import "wield/chat"

// A keptAnswer is a response of which the client is told nothing until it is known what becomes of it. Someone who
// waits for a whole answer misses nothing by that, and is spared the words of an answer that failed.
type keptAnswer struct {
	on       bool
	unplaced bool // its text may have stood behind its calls as well as before them
	held     buffer
	shown    int // how much text the client had before
	unsaid   int // and how many sentences it was to get
}

// keep begins to keep the response, if it can still fail.
func (r *run) keep() {
	if k := &r.turn.kept; !k.on && (len(r.tools) > 0 || r.form.want != nil) {
		k.on, k.shown, k.unsaid = true, len(r.shown), len(r.unsaid)
	}
}

// flushAnswer hands on what was kept, and what follows as it comes.
func (r *run) flushAnswer() {
	k := &r.turn.kept
	if !k.on {
		return
	}
	k.on = false
	for _, e := range k.held.take() {
		r.emit(e)
	}
}

// withdraw hides the text that is kept.
func (r *run) withdraw() {
	k := &r.turn.kept
	if !k.on {
		return
	}
	k.held.cut()
	hide(k.held.events)
	r.shown = r.shown[:k.shown]
}

// disown takes back all that is kept of a response that is asked for again: its text, its reasoning, and the text of
// calls that failed. What is left is the record.
func (r *run) disown() {
	k := &r.turn.kept
	if !k.on {
		return
	}
	r.withdraw()
	r.unsaid = r.unsaid[:k.unsaid]
	for i := range k.held.events {
		switch e := &k.held.events[i]; e.Kind {
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

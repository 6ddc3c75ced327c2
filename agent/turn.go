package agent

import (
	"encoding/json"
	"strings"

	"wield/chat"
)

// A turn gathers one answer of the model while it goes by, and makes of its events those of the whole run.
type turn struct {
	run   *Run
	state *State
	model string // that was asked
	turn  int    // number of the first turn of this answer in the run. A bridge may make several
	index int    // number of its first call in the run

	framed    bool // the model says itself where its turns begin
	last      int  // number of the last turn within the answer
	ids       map[int]string
	text      strings.Builder
	reasoning strings.Builder
	block     int // length of the reasoning at the last seal
	parts     []chat.Part
	calls     []chat.Call
	notes     []note
	placed    int // of notes: those that belong to a call, or to text that was none
	usage     chat.Usage
	finish    *chat.Finish
	raw       []string // what the model wrote, of each turn within the answer
	gaveUp    bool     // a call could not be made whole, and there is none in its place
}

// A note is something about the answer that is kept in the record.
type note struct {
	turn   int
	callID string
	event  chat.Event
}

// take takes the next event, and returns it as one of the run. It reports false for one that does not go on.
func (t *turn) take(e chat.Event) (chat.Event, bool) {
	if e.Kind == chat.KindTurnStart && t.framed { // after a bounce
		t.last++
	}
	e.Turn = t.turn + t.last
	switch e.Kind {
	case chat.KindTurnStart:
		t.framed = true
	case chat.KindText:
		t.text.WriteString(e.Text)
	case chat.KindReasoning:
		t.reason(&e)
	case chat.KindCallStart, chat.KindCallArgs:
		t.number(&e)
	case chat.KindCallEnd:
		t.call(&e)
	case chat.KindRejected:
		t.rejected(&e)
	case chat.KindRaw:
		for len(t.raw) <= t.last {
			t.raw = append(t.raw, "")
		}
		t.raw[t.last] += e.Text
	case chat.KindNote, chat.KindBounce, chat.KindConverted:
		t.notes = append(t.notes, note{turn: e.Turn, event: e})
	case chat.KindUsage:
		t.usage = *e.Detail.Usage
		return e, false
	case chat.KindFinish:
		t.finish = e.Detail.Finish
		return e, false
	}
	return e, true
}

// number gives an event of a call the number and the id that the call has in the run.
func (t *turn) number(e *chat.Event) {
	id, ok := t.ids[e.Index]
	if !ok {
		if t.ids == nil {
			t.ids = map[int]string{}
		}
		if id = e.ID; t.run.client[e.Name] {
			id = t.run.clientID(t.index + e.Index) // the result comes back from outside, and has to find its run
		}
		id = t.state.newID(id, t.index+e.Index)
		t.ids[e.Index] = id
	}
	e.ID, e.Index = id, t.index+e.Index
}

func (t *turn) call(e *chat.Event) {
	t.number(e)
	c := *e.Detail.Call
	c.ID, c.Index = e.ID, e.Index
	e.Detail = &chat.Detail{Call: &c}
	for ; t.placed < len(t.notes); t.placed++ { // what was mended since the call before stood in this one
		if n := &t.notes[t.placed]; n.event.Kind == chat.KindNote {
			n.callID = c.ID
		}
	}
	if c.Complete {
		t.calls = append(t.calls, c)
	}
}

// rejected keeps text that was no call where it is shown, as fronts do.
func (t *turn) rejected(e *chat.Event) {
	if e.Index >= 0 {
		t.number(e)
	}
	t.notes = append(t.notes, note{turn: e.Turn, callID: e.ID, event: *e})
	t.placed = len(t.notes)
	if e.Flags&chat.FlagSpent != 0 || e.Detail.Rejected.Reason == chat.ReasonIncomplete {
		t.text.WriteString(e.Detail.Rejected.Raw)
		t.gaveUp = true
	}
}

func (t *turn) reason(e *chat.Event) {
	t.reasoning.WriteString(e.Text)
	if e.Detail == nil {
		return
	}
	for _, x := range e.Detail.Opaque {
		t.parts = append(t.parts, t.seal(x))
		t.block = t.reasoning.Len()
	}
}

// keySignature is the key of what seals the thinking before it, in the protocol that has such seals. Under other keys there are
// whole blocks.
const keySignature = "signature"

// seal returns thinking as the server wants it back: as it was, with its signature.
func (t *turn) seal(x chat.Extra) chat.Part {
	raw := x.Value
	if x.Key == keySignature {
		raw, _ = json.Marshal(struct { // strings can always be written
			Type      string          `json:"type"`
			Thinking  string          `json:"thinking"`
			Signature json.RawMessage `json:"signature"`
		}{"thinking", t.reasoning.String()[t.block:], x.Value})
	}
	return chat.Part{Kind: chat.PartOpaque, Name: "thinking", Raw: raw, Protocol: x.Protocol}
}

// message returns the answer as the message that enters the conversation. Of one that broke off the calls are left out: none of
// them runs.
func (t *turn) message(broken bool) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant, Reasoning: t.reasoning.String(), Parts: t.parts}
	m.Parts = append(m.Parts, chat.Text(t.text.String())...)
	if !broken {
		m.Calls = t.calls
	}
	return m
}

// silent reports whether nothing of the answer was shown.
func (t *turn) silent() bool { return t.empty() && t.reasoning.Len() == 0 && len(t.ids) == 0 }

// empty reports whether the model said nothing at all.
func (t *turn) empty() bool { return t.text.Len() == 0 && len(t.calls) == 0 }

package bridge

import "wield/chat"

// A buffer holds events until it is known what becomes of them. Deltas that follow one another are joined: they go out
// together anyway, and each of them costs a client more than its bytes.
type buffer struct {
	events []chat.Event
	text   []byte // of the last event, if deltas were joined to it
}

// add holds an event. A delta is joined to the one before, unless that has most bytes; 0: whatever it has.
func (b *buffer) add(e chat.Event, most int) {
	if n := len(b.events); n > 0 && joins(&b.events[n-1], &e) {
		last := &b.events[n-1]
		if len(b.text) == 0 {
			b.text = append(b.text, last.Text...)
		}
		if most == 0 || len(b.text) < most {
			b.text = append(b.text, e.Text...)
			last.End = e.End
			return
		}
	}
	b.cut()
	b.events = append(b.events, e)
}

// joins reports whether a delta goes on where the last event ends.
func joins(last, e *chat.Event) bool {
	switch e.Kind {
	case chat.KindText, chat.KindReasoning, chat.KindCallArgs:
	default:
		return false
	}
	return e.Kind == last.Kind && e.Flags == last.Flags && e.Origin == last.Origin && e.At == last.End &&
		e.Detail == nil && last.Detail == nil
}

// cut gives the last event the text that was joined to it.
func (b *buffer) cut() {
	if len(b.text) > 0 {
		b.events[len(b.events)-1].Text, b.text = string(b.text), b.text[:0]
	}
}

// take returns what is held. It is valid until the next add.
func (b *buffer) take() []chat.Event {
	b.cut()
	list := b.events
	b.events = b.events[:0]
	return list
}

// empty returns a buffer in the memory of one that is no longer used.
func (b *buffer) empty() buffer { return buffer{events: b.events[:0], text: b.text[:0]} }

// hide makes markup of text: nobody sees it, but its bytes are accounted for.
func hide(list []chat.Event) []chat.Event {
	for i := range list {
		if e := &list[i]; e.Kind == chat.KindText {
			e.Kind, e.Detail = chat.KindMarkup, nil
		}
	}
	return list
}

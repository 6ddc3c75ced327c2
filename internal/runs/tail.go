package runs

import (
	"sync"

	"wield/chat"
	"wield/journal/record"
)

// A tail holds what a live run has said since its last record: the answer that is being written, and what tools
// that run tell. It is bounded: what was said stands in one text, and of what tools tell the oldest is
// forgotten.
type tail struct {
	mu      sync.Mutex
	turn    int64 // number of the record that began the answer which is being written; 0: none is
	last    int64 // number of the last record
	pieces  []piece
	lengths [2]int // of what was said: reasoning, text
	told    int    // how many events were told besides, in all
	changed chan struct{}
}

// A piece is an event between two records.
type piece struct {
	event chat.Event
	said  int   // of what was said: which of lengths it belongs to; else -1
	from  int   // where its text begins among what was said
	after int64 // number of the record that it comes behind
	n     int   // of what was told besides: its number
}

const (
	saidReasoning = 0
	saidText      = 1
	saidNothing   = -1

	joinUpTo = 4 << 10 // bytes of a piece that takes another
	mostTold = 256     // pieces that are no text
)

// add takes an event of the run.
func (t *tail) add(e *chat.Event) {
	said, text := saidNothing, e.Text
	switch e.Kind {
	case chat.KindReasoning:
		said = saidReasoning
	case chat.KindText:
		said = saidText
	case chat.KindRejected:
		if said, text = saidText, shown(e); text == "" {
			return
		}
	case chat.KindIdle:
		if e.Detail == nil { // no retry
			return
		}
	case chat.KindCallStart, chat.KindToolState, chat.KindProgress, chat.KindNativeCall, chat.KindNativeResult:
	default:
		return // it is in a record, or of no interest
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if said == saidNothing {
		t.tell(e)
	} else if text != "" {
		t.say(e, said, text)
	}
	t.tellChange()
}

// shown returns the text of a broken call that is shown in place of it.
func shown(e *chat.Event) string {
	if r := e.Detail.(*chat.RejectedDetail); e.Flags&chat.FlagSpent != 0 || r.Reason == chat.ReasonIncomplete {
		return r.Raw
	}
	return ""
}

func (t *tail) say(e *chat.Event, said int, text string) {
	from := t.lengths[said]
	t.lengths[said] += len(text)
	if n := len(t.pieces); n > 0 {
		if p := &t.pieces[n-1]; p.said == said && p.event.Turn == e.Turn && p.after == t.last &&
			len(p.event.Text) < joinUpTo {
			p.event.Text += text
			return
		}
	}
	kind := chat.KindText
	if said == saidReasoning {
		kind = chat.KindReasoning
	}
	t.pieces = append(t.pieces, piece{event: chat.Event{Kind: kind, Turn: e.Turn, Text: text}, said: said, from: from,
		after: t.last})
}

func (t *tail) tell(e *chat.Event) {
	t.told++
	t.pieces = append(t.pieces, piece{event: *e, said: saidNothing, after: t.last, n: t.told})
	if len(t.pieces) <= mostTold {
		return
	}
	for i := range t.pieces {
		if p := &t.pieces[i]; p.said == saidNothing && p.n <= t.told-mostTold {
			t.pieces = append(t.pieces[:i], t.pieces[i+1:]...)
			return
		}
	}
}

// recorded takes the records that were added to the run, behind the one of the number after. What they hold
// is read there from now on.
func (t *tail) recorded(after int64, records []record.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range records {
		switch records[i].Kind {
		case record.KindTurn:
			t.turn = after + int64(i) + 1
			t.forget()
		case record.KindTurnEnd:
			t.turn = 0
			t.forget()
		}
	}
	t.last = after + int64(len(records))
	t.tellChange()
}

func (t *tail) forget() {
	clear(t.pieces)
	t.pieces, t.lengths = t.pieces[:0], [2]int{}
}

// change returns a channel that is closed at the next change.
func (t *tail) change() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

func (t *tail) tellChange() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// since returns what somebody has not seen who has read the records up to p, has of the answer that is being
// written what p says, and has been told the pieces up to told. It moves p and told on.
func (t *tail) since(p *position, told *int) []Numbered {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Numbered
	for i := range t.pieces {
		c := &t.pieces[i]
		if c.after > p.seq { // there are records to be read first
			break
		}
		e := c.event
		if c.said == saidNothing {
			if c.n <= *told {
				continue
			}
			*told = c.n
		} else {
			if p.seq != t.turn {
				continue
			}
			skip := p.said[c.said] - c.from
			if skip >= len(e.Text) {
				continue
			}
			e.Text = e.Text[max(skip, 0):]
			p.said[c.said] = c.from + len(c.event.Text)
		}
		list = append(list, Numbered{ID: p.String(), Event: e})
	}
	return list
}

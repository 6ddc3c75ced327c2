package dialect

import (
	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
)

// reasoning is the state of reasoning blocks.
type reasoning struct {
	open   bool
	primed bool // by the prompt, and nothing but white space came since
	closer string
	shadow *Decoder // reads the block for calls, in case it is never closed
	found  []chat.Event
	begun  int // where the last call begins in found
}

// openReasoning begins a block behind the tag that ends before i. A shadow leaves the tag out and reads on.
func (d *Decoder) openReasoning(i int, o *opener) int {
	d.textUpTo(d.text.holdAt)
	d.text.markupUpTo(d.text.at(i))
	d.text.holding, d.state = false, inText
	if d.shadows { // a block in the block: one shadow each would read the rest as often as there are openers
		d.ctx = lineContext{bol: true}
		return i
	}
	d.ctx = lineContext{}
	d.think = reasoning{open: true, closer: o.closer}
	if o.mixed {
		d.think.closer = ""
	}
	return i
}

// scanReasoning passes reasoning on and looks for the tag that closes it.
func (d *Decoder) scanReasoning(i int) int {
	for ; d.think.primed && i < len(d.text.in); i++ {
		if c := d.text.in[i]; !chars.IsBlank(c) {
			d.think.primed = false
			if d.set.trie.starts(c) && !d.set.closers.starts(c) || c == '<' || c == '[' {
				d.candidate(i, inElement)
				d.cand.elem = element{closing: true, primed: true}
				d.cand.node = 0
				return i
			}
		}
	}
	for ; i < len(d.text.in); i++ {
		if c := d.text.in[i]; d.set.closers.starts(c) && (d.think.closer == "" || d.think.closer[0] == c) {
			d.candidate(i, inElement)
			d.cand.elem = element{closing: true}
			d.cand.node = 0
			return i
		}
	}
	return i
}

// scanReasoningCloser reads a tag that may close the block, or repeat the one that the prompt opened it with.
func (d *Decoder) scanReasoningCloser(i int) int {
	for ; i < len(d.text.in); i++ {
		if d.cand.elem.primed {
			d.cand.elem.node = d.set.trie.next(d.cand.elem.node, d.text.in[i])
			if d.cand.elem.primed = d.cand.elem.node != 0; d.cand.elem.primed {
				if o := d.set.trie.end(d.cand.elem.node); o != nil {
					return d.opened(i+1, o)
				}
			}
		}
		if d.cand.node != 0 || d.text.at(i) == d.text.candAt {
			d.cand.node = d.set.closers.next(d.cand.node, d.text.in[i])
		}
		if d.cand.node == 0 && d.cand.elem.primed {
			continue
		}
		if d.cand.node == 0 {
			return d.refuse(i, "no closer")
		}
		o := d.set.closers.end(d.cand.node)
		if o == nil {
			continue
		}
		if d.think.closer != "" && d.think.closer != o.literal {
			return d.refuse(i+1, "the closer of another tag")
		}
		d.textUpTo(d.text.candAt)
		if d.set.opts.Thinking.Calls == CallsAlways {
			d.promote()
		}
		d.think = reasoning{}
		d.text.markupUpTo(d.text.at(i) + 1)
		d.text.holding, d.state = false, inText
		d.ctx = lineContext{bol: true, gap: true}
		return i + 1
	}
	return i
}

// emitReasoning emits reasoning, and lets the shadow read it.
func (d *Decoder) emitReasoning(s string, end int) {
	d.text.recent.add("")
	d.text.dst = append(d.text.dst, chat.Event{Kind: chat.KindReasoning, Text: s, At: d.text.last, End: end})
	if len(d.set.opts.Tools) > 0 && d.set.opts.Thinking.Calls != CallsNever {
		if d.think.shadow == nil {
			d.think.shadow = &Decoder{driver: driver{set: d.set}}
			d.think.shadow.Reset()
			d.think.shadow.think.open = false
			d.think.shadow.shadows, d.think.shadow.text.seen = true, true
			d.think.shadow.text.base, d.think.shadow.text.last = d.text.last, d.text.last
		}
		before := d.think.shadow.text.steps
		d.think.collect(d.think.shadow.Feed(nil, s))
		d.text.steps += d.think.shadow.text.steps - before
	}
	d.text.last = end
}

// collect keeps the events of whole calls. Those of a call that was rejected are let go of again.
func (r *reasoning) collect(events []chat.Event) {
	for _, e := range events {
		switch e.Kind {
		case chat.KindCallStart:
			r.begun = len(r.found)
			fallthrough
		case chat.KindCallArgs, chat.KindCallEnd, chat.KindNote:
			e.Flags |= chat.FlagPromoted
			r.found = append(r.found, e)
		case chat.KindRejected:
			if e.Index >= 0 {
				r.found = r.found[:r.begun]
			}
		}
	}
}

// promote turns the complete calls of a block into calls: usually at the end of the text, since a model that
// forgets the closing tag means them, and one that quotes them goes on to close the block.
func (d *Decoder) promote() {
	r := &d.think
	if !r.open || r.shadow == nil {
		return
	}
	r.shadow.truncated = d.truncated
	r.collect(r.shadow.Close(nil))
	for from := 0; from < len(r.found); {
		to := from
		for to < len(r.found) && r.found[to].Kind != chat.KindCallEnd {
			to++
		}
		if to == len(r.found) {
			return
		}
		call := r.found[to].Detail.(*chat.Call)
		if call.Complete {
			d.promoteCall(r.found[from:to+1], *call)
		}
		from = to + 1
	}
}

func (d *Decoder) promoteCall(events []chat.Event, call chat.Call) {
	index := d.call.count
	d.call.count++
	if call.ID == mintedID(call.Index) {
		call.ID = mintedID(index)
	}
	for _, e := range events {
		e.Index = index
		switch e.Kind {
		case chat.KindCallStart:
			e.ID = call.ID
		case chat.KindCallEnd:
			call.Index = index
			e.ID, e.Detail = call.ID, &call
		}
		d.text.dst = append(d.text.dst, e)
		if e.Kind == chat.KindCallEnd {
			d.call.Note(chat.NoteDetail{Kind: note.Promoted, After: call.Name, At: call.At, End: call.End})
		}
	}
}

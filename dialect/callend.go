package dialect

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
)

// closeObject ends the innermost object.
func (r *callReader) closeObject(d *driver, end int) (verdict, bool) {
	top := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if !top.calls {
		r.state = cAfter
		return more, true
	}
	if !top.env || r.record.named {
		v := r.finishRecord(d, end)
		if r.doom, r.args = "", nil; v != more {
			return v, false
		}
	}
	r.state = cBetween
	if len(r.stack) == 0 {
		r.endValue(end)
	}
	return more, true
}

// endValue ends the whole value before the offset end.
func (r *callReader) endValue(end int) {
	r.state, r.ended, r.valueEnd, r.valueGot = cEnd, true, end, r.got
}

func (r *callReader) closeArray(d *driver, i int) (verdict, bool) {
	r.stack = r.stack[:len(r.stack)-1]
	if len(r.stack) > 0 {
		r.record = callParts{at: d.text.at(i) + 1, argsFrom: -1}
		r.state = cAfter
		return more, true
	}
	if r.got == 0 {
		return r.fail(d, i, "an empty list"), false
	}
	r.endValue(d.text.at(i) + 1)
	return more, true
}

// closes reports whether c may begin what ends the section, or the fence that the call stands in.
func (r *callReader) closes(d *driver, c byte) bool {
	if r.closer != "" {
		return c == r.closer[0]
	}
	return c == d.cand.fenced.mark && c != 0 || c == d.cand.ctx.fence.mark && c != 0
}

// missingBrace reads on behind a call object that was not closed, as if it had been.
func (r *callReader) missingBrace(d *driver, i int) (verdict, bool) {
	if d.set.opts.Repair != RepairFull || r.doom != "" || !(r.record.done || r.record.known) {
		return r.fail(d, i, "a closing brace is missing"), false
	}
	r.note(d, note.MissingCloser, "", "}", i, i)
	for len(r.stack) > 0 && !r.stack[len(r.stack)-1].array {
		if v, _ := r.closeObject(d, d.text.at(i)); v != more {
			return v, false
		}
	}
	return more, false
}

// behind reads what follows the value.
func (r *callReader) behind(d *driver, c byte, i int) (int, verdict) {
	if r.closer == "" {
		return i, finished
	}
	switch s := d.text.in[i:]; {
	case strings.HasPrefix(s, r.closer):
		r.endLast(d, d.text.at(i+len(r.closer)))
		return i + len(r.closer), finished
	case strings.HasPrefix(r.closer, s):
		return d.await(i, r.closer[len(s):], nil)
	case c == r.closer[0]:
		return r.unclosed(d, i+common(r.closer, s))
	case c == '`' && r.inner:
		r.valueEnd = d.text.at(i) + 1
		return i + 1, more
	case c == '}' && d.set.opts.Repair != RepairOff:
		r.note(d, note.ExtraCloser, "}", "", i, i+1)
		r.valueEnd = d.text.at(i) + 1
		return i + 1, more
	case (c == '{' || c == '[' || c == ',' || c == ';') && !r.optional:
		r.endLast(d, d.text.at(i))
		r.state = cStart
		if c == ',' || c == ';' {
			i++
		}
		return i, more
	}
	return r.unclosed(d, i)
}

// unclosed ends the section where its closer turned out to be missing: what stands behind the value is text again.
func (r *callReader) unclosed(d *driver, i int) (int, verdict) {
	if v := r.endUnclosed(d, r.valueEnd); v == broken {
		return i, v
	}
	return d.backTo(r.valueEnd, i)
}

// endUnclosed ends a section without a closer: what stands before the offset end is the call, what follows is text
// again.
func (r *callReader) endUnclosed(d *driver, end int) verdict {
	if r.rejection != nil {
		r.endLast(d, end)
	}
	if d.call.open {
		switch {
		case r.optional:
		case d.set.opts.Repair == RepairOff:
			d.call.reject(chat.ReasonMalformed, "", "the closing tag is missing", 0, end)
			return broken
		default:
			d.call.Note(chat.NoteDetail{Kind: note.MissingMarkup, After: r.closer, At: end, End: end})
		}
		d.call.end(end, true)
	}
	return finished
}

// fail ends the candidate because of the byte at i.
func (r *callReader) fail(d *driver, i int, why string) verdict {
	if !d.text.confirmed && !(r.record.known && r.explicit) {
		return refused
	}
	rec := &r.record
	if !d.call.open && (len(r.stack) == 0 || r.got > 0 && r.between() || r.ended && r.got == r.valueGot && !rec.named) {
		return finished
	}
	d.call.reject(chat.ReasonMalformed, rec.name, why, rec.at, d.text.at(i))
	return broken
}

// between reports whether no call is being read: what stands there belongs to none.
func (r *callReader) between() bool {
	switch r.state {
	case cBetween, cElement, cElementOr:
		return true
	}
	return r.stack[len(r.stack)-1].env && !r.record.named
}

func (r *callReader) broken(d *driver, i int, why string) (int, verdict) {
	return i, r.fail(d, i, why)
}

// end decides what an end of the text means.
func (r *callReader) end(d *driver) verdict {
	end := d.text.at(0)
	if v := r.cut(d); v != more {
		return v
	}
	if r.state == cArgs {
		r.args.At(end, 0)
	}
	switch {
	case r.state == cEnd:
		return r.endUnclosed(d, r.valueEnd)
	case r.state == cArgs && r.args.End() == value.Done && r.args.Doom == "":
		r.record.done, r.state = true, cAfter
	}
	if !d.call.open {
		if d.text.confirmed {
			return finished
		}
		return refused
	}
	if r.state == cAfter && r.record.done && r.closer == "" && d.set.opts.Repair == RepairFull && !r.inArray() {
		r.note(d, note.MissingCloser, "", "}", 0, 0)
		d.call.end(end, true)
		return finished
	}
	d.call.end(end, false)
	return finished
}

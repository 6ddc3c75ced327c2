package dialect

import (
	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// beginArguments begins the arguments: they are written as they come if the name is known, else remembered.
func (r *callReader) beginArguments(d *driver, i int) verdict {
	rec := &r.record
	switch {
	case r.second(d, i):
		return more
	case r.doom == "" && rec.argsKey != "" && (r.word != rec.argsKey || rec.done || d.set.opts.Repair != RepairFull):
		r.doom = "the arguments stand twice"
		return more
	case r.doom != "" || rec.unknown || rec.done:
		return more
	case !rec.known:
		if rec.argsFrom < 0 || r.word == "arguments" {
			rec.argsFrom, rec.argsTo, rec.argsKey = d.text.at(i), -1, r.word
		}
		return more
	}
	rec.argsKey = r.word
	if r.strange(d) {
		return more
	}
	r.start(d, d.text.at(i))
	r.args = d.arguments(d.call.tool.Args)
	r.args.Wrapped = r.enveloped()
	r.state = cArgs
	return more
}

// second reports whether these arguments stand beside others under another key, and one of the two keys is "arguments",
// which holds. Only if the others have been written already, the call cannot be saved.
func (r *callReader) second(d *driver, i int) bool {
	rec := &r.record
	if r.doom != "" || d.set.opts.Repair == RepairOff || rec.argsKey == "" || rec.argsKey == r.word {
		return false
	}
	left := r.word
	switch {
	case rec.argsKey == "arguments":
	case r.word == "arguments" && !rec.started:
		left, rec.argsFrom, rec.argsTo, rec.argsKey = rec.argsKey, d.text.at(i), -1, r.word
	default:
		return false
	}
	r.note(d, chat.NoteDuplicateKey, left, "", i, i)
	return true
}

// objectArguments begins the arguments, an object that begins at i, where its first key has to be looked at before:
// whether it is that of a schema or, where nothing but the name says that it is a call, a parameter of the tool.
// Else it reads nothing.
func (r *callReader) objectArguments(d *driver, i int) (j int, v verdict, read bool) {
	rec := &r.record
	if !rec.known {
		return i, more, false
	}
	key, m := firstKey(d.text.in[i:])
	if m == maybe && (r.bare || key == "" || r.mayDefine(d, key, m)) {
		j, v = d.await(i, "", nil)
		return j, v, true
	}
	switch {
	case r.bare:
		_, declared := d.set.names.tools[rec.tool].Args.Prop(key)
		if m != yes || !declared && !(key == "" && r.takesNone(d)) {
			return i, refused, true
		}
		r.notes = append(r.notes, chat.NoteDetail{Kind: note.KeyAlias, Before: rec.name, After: "name",
			At: rec.at, End: d.text.at(i)})
		r.bare = false
	case m == yes && r.mayDefine(d, key, m): // read as if the name were not known yet
		rec.argsFrom, rec.argsTo, rec.argsKey = d.text.at(i), -1, r.word
		r.firstAt, r.firstIn = rec.argsFrom, len(r.stack)
		r.skip(d)
		return i, more, true
	}
	return i, more, false
}

// takesNone reports whether the tool has no parameters.
func (r *callReader) takesNone(d *driver) bool {
	args := d.set.names.tools[r.record.tool].Args
	return args == nil || len(args.Props) == 0
}

// firstKey returns the first key of the object that s begins with, "" if it has none. If s is too short for it,
// what there is of it.
func firstKey(s string) (key string, m match) {
	s = chars.TrimBlanks(s[1:min(len(s), maxHeader)])
	switch {
	case s == "":
		return "", maybe
	case s[0] == '}':
		return "", yes
	case s[0] != '"' && s[0] != '\'':
		return "", no
	}
	quote := s[0]
	for n := 1; n < len(s); n++ {
		switch c := s[n]; {
		case c == quote:
			return s[1:n], yes
		case c == '\\' || c < 0x20:
			return "", no
		}
	}
	return s[1:], maybe
}

// strange reports whether the keys for the name and for the arguments do not belong together where nothing is repaired.
func (r *callReader) strange(d *driver) bool {
	if d.set.opts.Repair == RepairOff && !r.belong() {
		r.doom = "the key " + r.record.argsKey + " does not go with " + r.record.nameKey
	}
	return r.doom != ""
}

// belong reports whether the keys for the name and for the arguments are a pair. What the row names goes with any
// other.
func (r *callReader) belong() bool {
	name, args := r.record.nameKey, r.record.argsKey
	return args == r.keys[1] || r.keys[0] != "" && name == r.keys[0] || belong(name, args)
}

// enveloped reports whether the call stands in the layers of the OpenAI protocol, where arguments are a string.
func (r *callReader) enveloped() bool {
	for _, l := range r.stack {
		if l.env || !l.array && !l.calls {
			return true
		}
	}
	return r.record.layered
}

// start opens the call that the record names.
func (r *callReader) start(d *driver, end int) {
	rec := &r.record
	if len(r.content) > 0 && len(r.stack) > 0 && r.stack[0].env {
		d.call.confirm(d.callAt(), true)
		for _, a := range r.content {
			r.say(d, a)
		}
	}
	r.content = nil
	d.call.start(rec.tool, rec.name, rec.id, rec.at, end)
	rec.started = true
	r.got++
	r.flushNotes(d)
	d.call.reasoning = rec.reasoning
	if rec.argsKey != "" && !r.belong() {
		d.call.Note(chat.NoteDetail{Kind: note.KeyAlias, Before: rec.argsKey, After: "arguments", At: rec.at, End: end})
	}
}

// finishRecord ends a call object before the offset end.
func (r *callReader) finishRecord(d *driver, end int) verdict {
	rec := &r.record
	switch {
	case !rec.named && r.doom == "":
		if !d.text.confirmed && !r.explicit || r.got == 0 && rec.argsFrom < 0 {
			return refused
		}
		r.got++
		r.reject(d, chat.ReasonMalformed, "", "the call has no name", end)
		return more
	case rec.unknown:
		r.got++
		r.reject(d, chat.ReasonUnknownTool, rec.name, "no tool of this name is declared", end)
		return more
	case r.doom == "" && !rec.started && !r.explicit && rec.argsFrom < 0 && (len(rec.flat) > 0 || rec.said) &&
		r.flatArguments(d) == "":
		// Some object that has a name and other things: that the name is a tool's is chance.
		if !d.text.confirmed {
			return refused
		}
		r.doom = "the object has no arguments, and keys that no call has"
	case r.doom == "" && !rec.started && r.defines(d):
		if !d.text.confirmed && !r.explicit {
			return refused
		}
		r.doom = "the arguments are a schema: this defines the tool"
	case r.doom == "" && !rec.started:
		r.doom = r.heldArguments(d, end)
	}
	if r.doom != "" {
		if !d.text.confirmed && !r.explicit && !rec.known {
			return refused
		}
		if !rec.started {
			r.got++
		}
		r.reject(d, chat.ReasonMalformed, rec.name, r.doom, end)
		return more
	}
	if len(r.stack) == 0 && r.closer != "" {
		return more // the closer belongs to the call
	}
	d.call.end(end, true)
	return more
}

// reject rejects the call object that ends before the offset end. In a section the closer belongs to it, as to a call.
func (r *callReader) reject(d *driver, reason chat.Reason, name, message string, end int) {
	if len(r.stack) == 0 && r.closer != "" {
		r.rejection = &chat.RejectedDetail{Reason: reason, Name: name, Message: message, At: r.record.at}
		return
	}
	d.call.reject(reason, name, message, r.record.at, end)
}

// endLast ends the call, or the attempt, that waits for the closer.
func (r *callReader) endLast(d *driver, end int) {
	if p := r.rejection; p != nil {
		r.rejection = nil
		d.call.reject(p.Reason, p.Name, p.Message, p.At, end)
	} else if d.call.open {
		d.call.end(end, true)
	}
}

// heldArguments opens the call and writes the arguments that came before the name, or none.
func (r *callReader) heldArguments(d *driver, end int) (doom string) {
	rec := &r.record
	raw := ""
	if rec.argsFrom >= 0 {
		raw = d.text.held(rec.argsFrom, rec.argsTo)
	} else if raw = r.flatArguments(d); raw != "" {
		if d.set.opts.Repair != RepairFull {
			return "the arguments stand beside the name"
		}
		r.notes = append(r.notes, chat.NoteDetail{Kind: note.MissingArguments, After: raw, At: rec.at, End: end})
	}
	if rec.argsKey != "" && r.strange(d) {
		return r.doom
	}
	none := func(string) bool { return false }
	if raw == "" && d.set.opts.Repair == RepairOff && value.MissingRequired(d.set.names.tools[rec.tool].Args, none) {
		return "the arguments are missing"
	}
	r.start(d, end)
	if raw == "" {
		d.call.Write("{}", end)
		d.call.Note(chat.NoteDetail{Kind: note.MissingArguments, After: "{}", At: rec.at, End: end})
		return ""
	}
	a := d.arguments(d.call.tool.Args)
	a.Wrapped = r.enveloped()
	a.At(end, 0)
	if _, p := a.Run(raw, 0); p == value.Failed || p == value.Going && a.End() == value.Failed {
		return a.Err
	}
	return a.Doom
}

// flatArguments returns the arguments of a call that has them beside its name: without what its tool declares
// the call would do something else than was meant.
func (r *callReader) flatArguments(d *driver) string {
	rec := &r.record
	declared := false
	for _, f := range rec.flat {
		_, ok := d.set.names.tools[rec.tool].Args.Prop(f.key)
		declared = declared || ok
	}
	if !declared {
		return ""
	}
	out := []byte{'{'}
	for i, f := range rec.flat {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(shape.AppendQuoted(out, f.key), ':')
		out = append(out, d.text.held(f.from, f.to)...)
	}
	return string(append(out, '}'))
}

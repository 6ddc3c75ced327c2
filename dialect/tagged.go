package dialect

import (
	"slices"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

var functionTags = form.Tags{NameEnd: ">", ParamOpen: "<parameter=", ParamEnd: ">", ParamClose: "</parameter>",
	CallOpen: "<function=", CallClose: "</function>", Newlines: true,
	Object: form.Object{Form: &functionForm, Dialect: "function-tag"}}

// verbatimTags are functionTags whose values are as they stand.
var verbatimTags = func() form.Tags {
	f := functionTags
	f.Newlines = false
	return f
}()

// seedTags are functionTags in which a newline ends a value only if one begins it.
var seedTags = func() form.Tags {
	f := functionTags
	f.Paired = true
	return f
}()

var toolTags = form.Tags{NameEnd: ">", ParamOpen: "<arg name=", ParamEnd: ">", ParamClose: "</arg>",
	CallOpen: "<tool name=", CallClose: "</tool>", Quoted: true, Entities: true}

// A tagReader reads calls whose arguments are named elements with text values. A tag is read when the input holds
// all of it.
//
// Nothing in a value is escaped, so a closing tag may be part of it. It ends the value only where a legal
// successor follows: another parameter, the end of the call, the end of the section.
type tagReader struct {
	form    *form.Tags
	section *opener // nil: the call stands alone
	tagValueState

	state   tagState
	at      int    // where the text of the call begins
	written string // the name of the tool, as it stands in the text
	tool    int
	known   bool
	val     *value.Reader // writes the arguments object
	text    []byte        // of a value that does not stream
	tagAt   int           // where the tag begins that is read, or what stands in its place
	got     int
	blanks  int
}

// A tagValueState records how much of a parameter's value has been read.
type tagValueState struct {
	param   string
	shape   *shape.Shape
	untyped shape.Untyped
	stream  bool   // the value is a string that goes out as it comes
	waits   bool   // its first byte will tell
	entity  bool   // a character reference was seen: the rest waits
	marked  bool   // a '<' was seen in the value, so that it is no clean XML, or the closing tag of another element
	fresh   bool   // nothing of the value was read yet
	led     bool   // a newline stood before it
	meant   string // the attribute that says how the value is meant: "true", "false", or nothing
	whole   bool   // the value holds all arguments
	close   string // the tag that ends the value
	ahead   string // that and what most likely follows it
}

type tagState uint8

const (
	tName   tagState = iota // in the name of the tool
	tBody                   // between the parameters
	tParam                  // in the name of a parameter
	tValue                  // in a value
	tClosed                 // behind a call
	tPair                   // between the name of a parameter and its value
	tType                   // in the element there that names the type
)

// tagSection returns the constructor of readers of the form f behind the opener of a section.
func tagSection(f *form.Tags) func(d *driver, o *opener) body {
	return func(d *driver, o *opener) body {
		r := newTagged(d, f, &opener{use: useSection, closer: o.closer})
		r.state = tClosed
		return r
	}
}

// tagBody returns the constructor of readers of the form f.
func tagBody(f *form.Tags) func(d *driver, o *opener) body {
	return func(d *driver, o *opener) body { return newTagged(d, f, o) }
}

func newTagged(d *driver, f *form.Tags, o *opener) *tagReader {
	r := ready(&d.readers.tags)
	ahead := r.ahead
	if r.form != f {
		ahead = f.ParamClose + "\n" + f.ParamOpen
	}
	*r = tagReader{form: f, tagValueState: tagValueState{ahead: ahead}, at: -1, text: r.text[:0]}
	if o.use == useSection && !f.Alone {
		r.section = o
	}
	return r
}

func (r *tagReader) run(d *driver, i int) (int, verdict) {
	if r.at < 0 {
		r.at = d.text.candAt
	}
	for i < len(d.text.in) {
		var v verdict
		switch r.state {
		case tName, tParam:
			i, v = r.readName(d, i)
		case tValue:
			i, v = r.readValue(d, i)
		case tType:
			i, v = r.readType(d, i)
		default:
			i, v = r.readTag(d, i)
		}
		if v != more {
			return i, v
		}
	}
	return i, more
}

// begin opens the call.
func (r *tagReader) begin(d *driver, end int) {
	if !r.known {
		r.val = d.object(nil, true)
		r.val.Discard = true
	} else {
		d.call.start(r.tool, r.written, "", r.at, end)
		r.val = d.object(d.call.tool.Args, true)
	}
	r.got++
	r.val.At(end, 0)
	r.val.OpenObject()
}

// readTag reads what stands between parameters, or behind a call: blanks and one tag.
func (r *tagReader) readTag(d *driver, i int) (int, verdict) {
	c := d.text.in[i]
	if chars.IsBlank(c) {
		if r.blanks++; r.blanks > maxHeader && r.val == nil {
			return i, refused
		}
		return i + 1, more
	}
	r.tagAt = d.text.at(i)
	if c == '{' && r.state == tBody && r.val == nil && r.takesObject(d) {
		return r.object(d, i)
	}
	tags := r.tags()
	switch t := r.choose(tags[:], d.text.in[i:]); t.match {
	case yes:
		return r.tag(d, tagKind(t.kind), i+t.n)
	case maybe:
		return d.await(i, t.rest, nil)
	default:
		return r.noTag(d, i, i+t.n)
	}
}

// choose finds the tag that s begins with. That of a parameter which ends before its name is one only if the next
// byte is no slash.
func (r *tagReader) choose(tags []string, s string) choice {
	t := choose(tags, s)
	if !r.form.Elements || t.match != yes || tagKind(t.kind) != tagParam {
		return t
	}
	switch {
	case len(s) == t.n:
		return choice{match: maybe, n: t.n}
	case s[t.n] == '/':
		others := slices.Clone(tags)
		others[tagParam] = ""
		return choose(others, s)
	}
	return t
}

// takesObject reports whether a JSON object may stand in place of the parameters.
func (r *tagReader) takesObject(d *driver) bool {
	f := r.form
	return f.Object.Form != nil && (f.Bare || d.set.on[f.Object.Dialect]) && (r.known || !f.Needed)
}

// object hands the call to the reader of calls whose body is a JSON object, which begins at i.
func (r *tagReader) object(d *driver, i int) (int, verdict) {
	h := newHeader(d, r.form.Object.Form, hBefore)
	h.closer, h.at, h.name = r.closer(), r.at, r.written
	d.body = h
	if d.set.on[r.form.Object.Dialect] {
		d.call.dialect = r.form.Object.Dialect
	}
	if j, v := h.named(d, i); v != more {
		return j, v
	}
	return h.run(d, i)
}

type tagKind int

const (
	tagParam tagKind = iota
	tagCallClose
	tagSectionClose
	tagCallOpen
	tagValue
	tagType
	tagNameClose
	tagBreak
	tagBetween
	tagBetween2
	tagBetween3
	tagBetween4
	tagKinds
)

// lineEscape is a newline as models write it that have seen too much JSON. Between tags it is white space.
const lineEscape = `\n`

// tags returns the tags that may follow, by kind; those that may not are empty.
func (r *tagReader) tags() [tagKinds]string {
	t := [tagKinds]string{}
	if r.state == tClosed {
		for k, tag := range r.form.Between {
			if tag != "" {
				t[int(tagBetween)+k] = tag
			}
		}
	}
	if r.state == tBody || r.state == tPair {
		t[tagParam], t[tagCallClose] = r.form.ParamOpen, r.form.CallClose
		if r.form.Bare {
			t[tagBreak] = lineEscape
		}
	}
	if r.state == tPair {
		t[tagValue] = r.form.ValueOpen
		if r.form.TypeOpen != "" {
			t[tagType] = r.form.TypeOpen
		}
	}
	if r.state == tBody && r.val == nil && r.form.NameClose != "" {
		t[tagNameClose] = r.form.NameClose
	}
	if r.section != nil {
		t[tagSectionClose] = r.section.closer
	}
	if r.state != tBody && r.section != nil || r.state == tBody && r.val != nil {
		t[tagCallOpen] = r.form.CallOpen
	}
	return t
}

// tag acts on a whole tag that ends before i.
func (r *tagReader) tag(d *driver, k tagKind, i int) (int, verdict) {
	end := d.text.at(i)
	switch {
	case k == tagNameClose || k == tagBreak || k >= tagBetween:
		return i, more
	case k == tagType:
		r.state = tType
		return i, more
	case k == tagValue:
		return i, r.beginParam(d, r.param, i)
	case r.state == tPair:
		if !r.mends(d) {
			return r.fail(d, i, "the value of "+r.param+" is missing")
		}
		r.val.NoteAt(note.MissingMarkup, r.param, "", r.tagAt, r.tagAt)
		r.state = tBody
	}
	if r.state == tBody && r.val == nil {
		if k == tagSectionClose || k == tagCallOpen || k == tagCallClose && r.form.Bare && (!r.known || r.form.Needed) {
			return r.fail(d, i, "a name alone") // a word between tags is prose unless a tool has this name
		}
		r.begin(d, end)
	}
	switch k {
	case tagParam:
		r.state = tParam
		return i, more
	case tagCallClose:
		return r.endCall(d, i, true)
	case tagSectionClose:
		if r.got == 0 && r.state == tClosed {
			return i, refused
		}
		if r.state == tBody {
			if !r.repairable(d) {
				return r.fail(d, i, "the closing tag of the call is missing")
			}
			r.missing(d, r.form.CallClose, r.tagAt)
			if j, v := r.endCall(d, i, true); v != more && v != finished {
				return j, v
			}
		}
		return i, finished
	}
	if r.state == tBody {
		if !r.repairable(d) {
			return r.fail(d, i, "the closing tag of the call is missing")
		}
		r.missing(d, r.form.CallClose, r.tagAt)
		if v := r.endCallAt(d, r.tagAt, true); v == broken {
			return i, v
		}
	}
	r.state, r.at = tName, r.tagAt
	if r.got == 0 {
		r.at = d.text.candAt
	}
	return i, more
}

// noTag goes on where something stands at i that is no tag, as the byte at differs shows.
func (r *tagReader) noTag(d *driver, i, differs int) (int, verdict) {
	switch {
	case r.got == 0 && r.state == tClosed:
		return differs, refused
	case r.state == tBody && r.val == nil:
		return r.fail(d, differs, "no tag behind the name")
	case r.state == tPair && r.mends(d):
		r.missing(d, r.form.ValueOpen, r.tagAt)
		return i, r.beginParam(d, r.param, i)
	case r.state == tPair:
		return r.fail(d, differs, "the value of "+r.param+" is missing")
	case r.state == tBody:
		// Prose between parameters is left out, unless it is the end of all.
		return r.fail(d, differs, "something stands between the parameters")
	}
	// Behind a call everything is text again.
	if r.section != nil {
		r.missing(d, r.section.closer, r.tagAt)
	}
	return d.backTo(r.tagAt, i)
}

func (r *tagReader) closer() string {
	if r.section == nil {
		return ""
	}
	return r.section.closer
}

// mends reports whether missing tags are filled in at all.
func (r *tagReader) mends(d *driver) bool {
	return d.set.opts.Repair != RepairOff && !r.form.Strict
}

// repairable reports whether a missing tag may be filled in: the call must be whole without it.
func (r *tagReader) repairable(d *driver) bool {
	return r.mends(d) && (!r.known || !value.MissingRequired(d.call.tool.Args, r.val.Has))
}

func (r *tagReader) missing(d *driver, tag string, at int) {
	if r.known && d.text.confirmed {
		d.call.Note(chat.NoteDetail{Kind: note.MissingMarkup, After: tag, At: at, End: at})
	}
}

// endCall ends the call behind its tag, which ends before i.
func (r *tagReader) endCall(d *driver, i int, complete bool) (int, verdict) {
	if v := r.endCallAt(d, d.text.at(i), complete); v != more {
		return i, v
	}
	if r.section == nil {
		return i, finished
	}
	r.state, r.blanks = tClosed, 0
	return i, more
}

func (r *tagReader) endCallAt(d *driver, end int, complete bool) verdict {
	if !r.known {
		d.call.reject(chat.ReasonUnknownTool, r.written, "no tool of this name is declared", r.at, end)
		return more
	}
	r.val.At(end, 0)
	if complete {
		r.val.CloseObject()
		if r.val.Err != "" {
			return r.failAt(d, end, r.val.Err)
		}
		if header := swallowedTurn(d.call.Arguments(), r.form.CallOpen); header != "" {
			d.turn.swallowed, d.turn.swallowedAt = header, d.call.at
			return r.failAt(d, end, "a value without its closing tag holds the turn of another party")
		}
	}
	d.call.end(end, complete)
	return more
}

// fail ends the candidate because of the byte before i. What was read of a call that did not begin is text,
// behind others too.
func (r *tagReader) fail(d *driver, i int, why string) (int, verdict) {
	if d.text.confirmed && !d.call.open && r.at >= d.text.last {
		return d.backTo(r.at, i)
	}
	return i, r.failAt(d, d.text.at(i), why)
}

func (r *tagReader) failAt(d *driver, end int, why string) verdict {
	if !d.call.open {
		if d.text.confirmed {
			return finished
		}
		return refused
	}
	d.call.reject(chat.ReasonMalformed, "", why, r.at, end)
	return broken
}

// end decides what the end of the text means.
func (r *tagReader) end(d *driver) verdict {
	rest := d.fragment()
	if r.state == tValue {
		// A value without its closing tag may have lost its end; one that has it is whole.
		t := strings.TrimLeft(rest, "\r\n")
		switch {
		case rest != "" && strings.HasPrefix(t, r.close):
			if r.finishValue(d, d.text.at(0)) == broken {
				return broken
			}
			rest = strings.TrimSpace(t[len(r.close):])
			r.state = tBody
			if len(rest) > 1 && (strings.HasPrefix(r.form.CallClose, rest) || strings.HasPrefix(r.closer(), rest)) {
				rest = ""
			}
		case rest != "" && strings.TrimSpace(t) == r.form.CallClose && r.mends(d):
			r.missing(d, r.form.ParamClose, d.text.at(0))
			if r.finishValue(d, d.text.at(0)) == broken || r.endCallAt(d, d.text.at(0), true) == broken {
				return broken
			}
			return finished
		}
	}
	switch {
	case r.got == 0:
		return refused
	case r.state == tName || r.state == tBody && r.val == nil: // of another call, that did not begin
		d.text.markupUpTo(r.at)
		d.text.textUpTo(d.text.at(0))
		return finished
	case !d.call.open && d.text.confirmed:
		return finished
	case !d.call.open:
		return refused
	case r.state == tBody && rest == "" && !d.truncated && r.complete(d) && r.mends(d):
		r.missing(d, r.form.CallClose, d.text.at(0))
		if r.endCallAt(d, d.text.at(0), true) == broken {
			return broken
		}
		return finished
	}
	d.call.end(d.text.at(0), false)
	return finished
}

// complete reports whether the call could end here: it has arguments, and all that are required.
func (r *tagReader) complete(d *driver) bool {
	return !r.val.Empty() && !value.MissingRequired(d.call.tool.Args, r.val.Has)
}

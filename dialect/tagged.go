package dialect

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

var functionTags = form.Tags{NameEnd: ">", ParamOpen: "<parameter=", ParamEnd: ">", ParamClose: "</parameter>",
	CallOpen: "<function=", CallClose: "</function>", Newlines: true, Indent: "\n",
	Object: &functionForm, ObjectIs: "function-tag"}

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
	CallOpen: "<tool name=", CallClose: "</tool>", Quoted: true, Entities: true, Indent: "\n  "}

// A tagReader reads calls whose arguments are named elements with text values.
//
// Nothing in a value is escaped, so a closing tag may be part of it. It ends the value only where a legal
// successor follows: another parameter, the end of the call, the end of the section.
type tagReader struct {
	form    *form.Tags
	section *opener // nil: the call stands alone
	tagValueState

	state   tagState
	at      int // where the text of the call begins
	name    []byte
	nameAt  int    // where it begins, behind its quote
	written string // the name of the tool, as it stands in the text
	quote   byte
	tool    int
	known   bool
	val     *value.Reader // writes the arguments object
	attrs   []byte        // of a tag, behind the name
	text    []byte        // of a value that does not stream
	tail    []byte        // a newline, and what may be the tags that end the value
	want    string        // bytes behind the tail that decide nothing but at their end
	between tagChoice     // where the tail is a tag between values
	behind  tagChoice     // where it goes on behind the closing tag of a value
	closed  int           // length of the tail up to there; 0: the closing tag is not whole
	tagFrom int           // where the tag behind it begins in the tail; 0: nothing but white space was read
	scratch []byte
	tailAt  int
	got     int
	blanks  int
}

// A tagValueState is how far the value of a parameter is read.
type tagValueState struct {
	param   string
	keyAt   int // where the name of the parameter begins
	keyEnd  int // where it ends
	nameEnd int // where a name in quotes ends
	valueAt int // where its value does
	sent    int // how much of the value went out
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
	tName    tagState = iota // in the name of the tool
	tBody                    // between the parameters
	tParam                   // in the name of a parameter
	tValue                   // in a value
	tClosed                  // behind a call
	tPair                    // between the name of a parameter and its value
	tType                    // in the element there that names the type
	tOutside                 // behind a call, in what may be the end of the section or another call
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
	*r = tagReader{form: f, tagValueState: tagValueState{ahead: ahead}, at: -1, name: r.name[:0], text: r.text[:0], tail: r.tail[:0], scratch: r.scratch[:0], attrs: r.attrs[:0],
		between: tagChoice{tags: r.between.tags[:0]}, behind: tagChoice{tags: r.behind.tags[:0]}}
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

// A tagMatch is how far a text agrees with a tag.
type tagMatch uint8

const (
	noMatch tagMatch = iota
	partMatch
	fullMatch
)

func matchTag[T string | []byte](text T, tag string) tagMatch {
	n := min(len(text), len(tag))
	switch {
	case string(text[:n]) != tag[:n]:
		return noMatch
	case n == len(tag):
		return fullMatch
	}
	return partMatch
}

// readTag reads what stands between parameters, or behind a call: blanks and one tag.
func (r *tagReader) readTag(d *driver, i int) (int, verdict) {
	c := d.text.in[i]
	if len(r.tail) == 0 {
		if chars.IsBlank(c) {
			if r.blanks++; r.blanks > maxHeader && r.val == nil {
				return i, refused
			}
			return i + 1, more
		}
		r.tailAt = d.text.at(i)
		if c == '{' && r.state == tBody && r.val == nil && r.takesObject(d) {
			return r.object(d, i)
		}
		if k, n := r.usualTag(d.text.in[i:]); n > 0 {
			return r.tag(d, k, i+n)
		}
		tags := r.tags()
		if k, n := r.wholeTag(d.text.in[i:], tags[:]); n > 0 {
			return r.tag(d, k, i+n)
		}
		if d.text.patient(i) {
			if rest, ok := r.restOfTag(tags[:], d.text.in[i:]); ok {
				d.text.await(i, rest, nil)
				return i, left
			}
		}
		if !r.form.Elements {
			r.between.begin(tags[:])
		}
	}
	if r.form.Elements {
		r.tail = append(r.tail, c)
		if r.expected(c) {
			return r.skip(d.text.in, i+1), more
		}
		return r.readElement(d, i)
	}
	m, n := r.between.take(d.text.in, i, len(r.tail))
	r.tail = append(r.tail, d.text.in[i:i+n]...)
	switch i += n; m {
	case fullMatch:
		r.want, r.tail = "", r.tail[:0]
		return r.tag(d, r.between.kind, i)
	case partMatch:
		return i, more
	}
	return r.noTag(d, i-1)
}

// usualTag looks for the tag at the start of s that most likely stands there, and returns its length, or 0.
func (r *tagReader) usualTag(s string) (k tagKind, n int) {
	f := r.form
	switch {
	case r.state == tPair && strings.HasPrefix(s, f.ValueOpen):
		return tagValue, len(f.ValueOpen)
	case r.state == tBody && !f.Elements && strings.HasPrefix(s, f.ParamOpen):
		return tagParam, len(f.ParamOpen)
	case r.state == tBody && strings.HasPrefix(s, f.CallClose):
		return tagCallClose, len(f.CallClose)
	}
	return 0, 0
}

// readElement is readTag for forms with an element for each argument, behind the byte at i.
func (r *tagReader) readElement(d *driver, i int) (int, verdict) {
	r.want = ""
	matched := noMatch
	for k, tag := range r.tags() {
		if tag == "" {
			continue
		}
		switch m := matchTag(r.tail, tag); m {
		case fullMatch:
			if k == int(tagParam) {
				if len(r.tail) == len(tag) || r.tail[len(tag)] == '/' {
					matched, r.want = partMatch, ""
					continue // the next byte tells whether it opens or closes
				}
				r.name = append(r.name[:0], r.tail[len(tag):]...)
			}
			r.tail = r.tail[:0]
			return r.tag(d, tagKind(k), i+1)
		case partMatch:
			if matched == noMatch {
				r.want = tag[len(r.tail):]
			}
			r.want = r.want[:common(r.want, tag[len(r.tail):])]
			matched = m
		}
	}
	if matched == partMatch {
		return i + 1, more
	}
	return r.noTag(d, i)
}

// takesObject reports whether a JSON object may stand in place of the parameters.
func (r *tagReader) takesObject(d *driver) bool {
	f := r.form
	return f.Object != nil && (f.Bare || d.set.on[f.ObjectIs]) && (r.known || !f.Needed)
}

// object hands the call to the reader of calls whose body is a JSON object, which begins at i.
func (r *tagReader) object(d *driver, i int) (int, verdict) {
	h := newHeader(d, r.form.Object, hBefore)
	h.closer, h.at, h.name = r.closer(), r.at, r.written
	d.body = h
	if d.set.on[r.form.ObjectIs] {
		d.call.dialect = r.form.ObjectIs
	}
	if j, v := h.named(d, i); v != more {
		return j, v
	}
	return h.run(d, i)
}

// expected takes a byte that was added to the tail. It reports whether the tail needs no look: what it may be
// has not changed.
func (r *tagReader) expected(c byte) bool {
	if len(r.want) < 2 || r.want[0] != c {
		return false
	}
	r.want = r.want[1:]
	return true
}

// skip takes all that is expected of what comes next, and returns where that ends.
func (r *tagReader) skip(in string, i int) int {
	n := min(common(r.want, in[i:]), len(r.want)-1)
	if n <= 0 {
		return i
	}
	r.tail, r.want = append(r.tail, in[i:i+n]...), r.want[n:]
	return i + n
}

// common returns the length of what a and b begin with.
func common(a, b string) (n int) {
	if len(b) > len(a) {
		b = b[:len(a)]
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
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
		r.state, r.name = tType, r.name[:0]
		return i, more
	case k == tagValue:
		return i, r.beginParam(d, r.param, i)
	case r.state == tPair:
		if !r.mends(d) {
			return r.fail(d, i, "the value of "+r.param+" is missing")
		}
		r.val.NoteAt(chat.NoteMissingMarkup, r.param, "", r.tailAt, r.tailAt)
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
			r.missing(d, r.form.CallClose, r.tailAt)
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
		r.missing(d, r.form.CallClose, r.tailAt)
		if v := r.endCallAt(d, r.tailAt, true); v == broken {
			return i, v
		}
	}
	r.state, r.at = tName, r.tailAt
	if r.got == 0 {
		r.at = d.text.candAt
	}
	r.name, r.quote = r.name[:0], 0
	return i, more
}

// noTag goes on where something stands that is no tag.
func (r *tagReader) noTag(d *driver, i int) (int, verdict) {
	switch {
	case r.got == 0 && r.state == tClosed:
		return i, refused
	case r.state == tBody && r.val == nil:
		return r.fail(d, i, "no tag behind the name")
	case r.state == tPair && r.mends(d):
		return r.beginUnopened(d, i)
	case r.state == tPair:
		return r.fail(d, i, "the value of "+r.param+" is missing")
	case r.state == tBody:
		// Prose between parameters is left out, unless it is the end of all.
		return r.fail(d, i, "something stands between the parameters")
	}
	// Behind a call everything is text again. What was read of a tag that is none goes back.
	if r.section != nil {
		r.missing(d, r.section.closer, r.tailAt)
	}
	return d.backTo(r.tailAt, i)
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
		d.call.Note(chat.NoteDetail{Kind: chat.NoteMissingMarkup, After: tag, At: at, End: at})
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
	switch r.state {
	case tValue:
		// A value without its closing tag may have lost its end; one that has it is whole.
		t := string(r.tail)
		k := strings.IndexByte(t, r.form.ParamOpen[0])
		switch {
		case k >= 0 && strings.HasPrefix(t[k:], r.close):
			if r.finishValue(d, d.text.at(0)) == broken {
				return broken
			}
			rest := strings.TrimSpace(t[k+len(r.close):])
			r.state, r.tail = tBody, append(r.tail[:0], rest...)
			if len(rest) > 1 && strings.HasPrefix(r.form.CallClose, rest) || strings.HasPrefix(r.closer(), rest) && len(rest) > 1 {
				r.tail = r.tail[:0]
			}
		case k >= 0 && strings.TrimSpace(t[k:]) == r.form.CallClose && r.mends(d):
			r.missing(d, r.form.ParamClose, d.text.at(0))
			if r.finishValue(d, d.text.at(0)) == broken {
				return broken
			}
			v := r.endCallAt(d, d.text.at(0), true)
			if v == broken {
				return broken
			}
			return finished
		}
	}
	if r.got == 0 {
		return refused
	}
	if r.state == tName || r.state == tBody && r.val == nil { // of another call, that did not begin
		d.text.markupUpTo(r.at)
		d.text.textUpTo(d.text.at(0))
		return finished
	}
	if d.call.open {
		if r.state == tBody && len(r.tail) == 0 && !d.truncated && r.complete(d) && r.mends(d) {
			r.missing(d, r.form.CallClose, d.text.at(0))
			if v := r.endCallAt(d, d.text.at(0), true); v == broken {
				return broken
			}
			return finished
		}
		if r.stream && r.state == tValue {
			d.call.end(d.text.at(0), false)
			return finished
		}
		d.call.end(d.text.at(0), false)
		return finished
	}
	if d.text.confirmed {
		return finished
	}
	return refused
}

// complete reports whether the call could end here: it has arguments, and all that are required.
func (r *tagReader) complete(d *driver) bool {
	return !r.val.Empty() && !value.MissingRequired(d.call.tool.Args, r.val.Has)
}

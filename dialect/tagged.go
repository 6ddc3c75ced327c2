package dialect

import (
	"bytes"
	"strings"

	"wield/chat"
	"wield/schema/shape"
)

// A tagForm is how a family of dialects writes a call with named elements.
type tagForm struct {
	nameEnd    string // behind the name
	paramOpen  string
	paramEnd   string // behind a parameter's name
	paramClose string
	callOpen   string
	callClose  string
	quoted     bool // names stand in quotes
	newlines   bool // one newline at either end of a value is not part of it
	entities   bool // character references are decoded in values that are otherwise clean
	untyped    shape.Untyped

	object   *headerForm // a JSON object of arguments may stand in place of the parameters
	objectIs string      // the dialect of such a call

	// Of forms with a name and pairs of key and value elements:
	bare      bool   // the name stands in no tag: it ends with its line, or where a tag or an object begins
	alone     bool   // the call is the section
	nameClose string // may stand behind the name
	valueOpen string // between the name of a parameter and its value
	typeOpen  string // of an element between the two that names the type; "": there is none
	typeClose string
	strings   bool // strings may be written as JSON
	strict    bool // no tag may be missing
	needed    bool // a name alone is no call, and that of no tool no attempt

	// Of forms whose names are attributes:
	attributes bool      // others may follow; string="true" or "false" says how a value is meant, and a tag may close itself
	loose      bool      // paramOpen ends before the attribute, whose spelling is that of a tokenizer that leaks
	between    [3]string // may stand between calls, and before the first
	unwrap     [2]string // the names of a first parameter that holds all arguments, unless the tool has one of that name
	cdata      bool      // a value may stand in a CDATA section

	// Of forms with an element for each argument, whose name is that of the argument: paramOpen ends before it, paramClose
	// stands before it in the closing tag.
	elements bool
}

var functionTags = tagForm{nameEnd: ">", paramOpen: "<parameter=", paramEnd: ">", paramClose: "</parameter>",
	callOpen: "<function=", callClose: "</function>", newlines: true,
	object: &functionForm, objectIs: "function-tag"}

var toolTags = tagForm{nameEnd: ">", paramOpen: "<arg name=", paramEnd: ">", paramClose: "</arg>",
	callOpen: "<tool name=", callClose: "</tool>", quoted: true, entities: true}

// A tagReader reads calls whose arguments are named elements with text values.
//
// Nothing in a value is escaped, so a closing tag may be part of it. It ends the value only where a legal successor follows:
// another parameter, the end of the call, the end of the section.
type tagReader struct {
	form    *tagForm
	section *opener // nil: the call stands alone

	state   tagState
	at      int // where the text of the call begins
	name    []byte
	written string // the name of the tool, as it stands in the text
	quote   byte
	tool    int
	known   bool
	val     *value // writes the arguments object
	param   string
	shape   *shape.Shape
	untyped shape.Untyped
	stream  bool   // the value is a string that goes out as it comes
	waits   bool   // its first byte will tell
	entity  bool   // a character reference was seen: the rest waits
	marked  bool   // a '<' was seen in the value, so that it is no clean XML
	fresh   bool   // nothing of the value was read yet
	attrs   []byte // of a tag, behind the name
	meant   string // the attribute that says how the value is meant: "true", "false", or nothing
	whole   bool   // the value holds all arguments
	close   string // the tag that ends the value
	text    []byte // of a value that does not stream
	tail    []byte // a newline, and what may be the tags that end the value
	want    string // bytes behind the tail that decide nothing but at their end
	scratch []byte
	tailAt  int
	got     int
	blanks  int
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
func tagSection(f *tagForm) func(d *Decoder, o *opener) body {
	return func(d *Decoder, o *opener) body {
		r := newTagged(d, f, &opener{use: useSection, closer: o.closer})
		r.state = tClosed
		return r
	}
}

// tagBody returns the constructor of readers of the form f.
func tagBody(f *tagForm) func(d *Decoder, o *opener) body {
	return func(d *Decoder, o *opener) body { return newTagged(d, f, o) }
}

func newTagged(d *Decoder, f *tagForm, o *opener) *tagReader {
	r := &d.readers.tags
	*r = tagReader{form: f, at: -1, name: r.name[:0], text: r.text[:0], tail: r.tail[:0], scratch: r.scratch[:0], attrs: r.attrs[:0]}
	if o.use == useSection && !f.alone {
		r.section = o
	}
	return r
}

func (r *tagReader) run(d *Decoder, i int) (int, verdict) {
	if r.at < 0 {
		r.at = d.candAt
	}
	for i < len(d.in) {
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

// readName reads the name of a tool or of a parameter, up to the end of its tag.
func (r *tagReader) readName(d *Decoder, i int) (int, verdict) {
	if n := r.wholeName(d.in[i:]); n > 0 {
		r.name = append(r.name, d.in[i:i+n]...)
		i += n
	}
	c := d.in[i]
	end := r.form.nameEnd[0]
	switch {
	case len(r.name) > maxHeader:
		return r.fail(d, i, "the name is too long")
	case r.form.elements && r.state == tParam && c != end:
		if isBlank(c) || c == '/' || c == '<' {
			return r.fail(d, i, "the tag is not closed")
		}
	case r.form.elements && r.state == tParam:
		return r.endName(d, i+1)
	case r.form.loose && r.quote == 0 && c != '"' && c != '\'':
		if r.name = append(r.name, c); !looseName(string(r.name)) {
			return r.fail(d, i, "the name does not stand in quotes")
		}
		return i + 1, more
	case r.form.quoted && r.quote == 0:
		if r.form.loose {
			r.name = r.name[:0]
		}
		if c != '"' && c != '\'' {
			return r.fail(d, i, "the name does not stand in quotes")
		}
		r.quote = c
		return i + 1, more
	case r.form.quoted && r.quote != 1:
		if c == r.quote {
			r.quote = 1 // closed
		} else if c < 0x20 || c == '<' {
			return r.fail(d, i, "the name is not closed")
		} else {
			r.name = append(r.name, c)
		}
		return i + 1, more
	case r.form.bare:
		return r.readBare(d, c, i)
	case c == end:
		return r.endName(d, i+1)
	case r.form.attributes && r.quote == 1 && c != '<' && c != '\n' && len(r.attrs) < maxHeader:
		r.attrs = append(r.attrs, c)
		return i + 1, more
	case r.form.quoted && (c == ' ' || c == '\t'):
		return i + 1, more
	case c == '<' || c == '\n' || r.form.quoted:
		return r.fail(d, i, "the tag is not closed")
	}
	r.name = append(r.name, c)
	return i + 1, more
}

// wholeName returns the length of the name that s begins with, if all of it and the end of its tag are there, else 0.
func (r *tagReader) wholeName(s string) int {
	if len(r.name) > 0 || r.form.quoted || r.form.bare {
		return 0
	}
	for n := 0; n < len(s) && n < maxHeader; n++ {
		switch s[n] {
		case r.form.nameEnd[0]:
			return n
		case '<', '\n':
			return 0
		}
	}
	return 0
}

// nameText returns the name that was read. If it ends before i it is held, so that it need not be copied.
func (r *tagReader) nameText(d *Decoder, i int) string {
	if end := d.base + i; d.holding && !r.form.quoted {
		return d.held(end-len(r.name), end)
	}
	return string(r.name)
}

// endName ends the tag with a name before i.
func (r *tagReader) endName(d *Decoder, i int) (int, verdict) {
	name := strings.TrimSpace(r.nameText(d, i-1))
	closed := len(r.attrs) > 0 && r.attrs[len(r.attrs)-1] == '/'
	r.meant = ""
	for _, means := range [...]string{"true", "false"} {
		if a := string(r.attrs); a != "" && (strings.Contains(a, `string="`+means+`"`) || strings.Contains(a, `string='`+means+`'`)) {
			r.meant = means
		}
	}
	r.name, r.quote, r.attrs = r.name[:0], 0, r.attrs[:0]
	switch {
	case r.state == tParam && closed:
		return r.fail(d, i, "a parameter without a value")
	case r.state == tParam:
		return i, r.beginParam(d, name, i)
	}
	v := r.named(d, name, i)
	if closed && v == more {
		return r.tag(d, tagCallClose, i)
	}
	return i, v
}

// looseName reports whether s is, or begins, what stands before the quote of a name: white space, which a tokenizer may have
// left as its own sign, or lost, and name=.
func looseName(s string) bool {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	const sign = "Ġ"
	if strings.HasPrefix(sign, s) {
		return true
	}
	return strings.HasPrefix("name=", strings.TrimPrefix(s, sign))
}

// readBare reads a byte of a name that stands in no tag, or of a parameter's name in an element.
func (r *tagReader) readBare(d *Decoder, c byte, i int) (int, verdict) {
	f := r.form
	if r.state == tParam {
		r.name = append(r.name, c)
		if c != '>' {
			return i + 1, more
		}
		text := r.nameText(d, i+1)
		for _, end := range [...]string{f.paramEnd, f.valueOpen} { // the first of the two may be missing
			if name, ok := strings.CutSuffix(text, end); ok {
				r.name = r.name[:0]
				r.param = strings.TrimSpace(name)
				r.keyed()
				if end == f.valueOpen {
					return i + 1, r.beginParam(d, r.param, i+1)
				}
				return i + 1, more
			}
		}
		return i + 1, more
	}
	switch c {
	case '\n', '<', '{':
		name := strings.TrimSpace(r.nameText(d, i))
		if name == "" {
			if c == '\n' {
				r.name = r.name[:0]
				return i + 1, more
			}
			return r.fail(d, i, "the name is missing")
		}
		name = strings.TrimSuffix(name, lineEscape)
		r.name = r.name[:0]
		return i, r.named(d, name, i)
	}
	if n := len(r.name); n > 0 && isBlank(r.name[n-1]) && !isBlank(c) {
		return r.fail(d, i, "the name has two words")
	}
	r.name = append(r.name, c)
	return i + 1, more
}

// keyed goes on behind the name of a parameter.
func (r *tagReader) keyed() {
	r.state, r.tail, r.untyped = tPair, r.tail[:0], r.form.untyped
}

// readType reads the element that names the type of a value. It counts where the schema says nothing.
func (r *tagReader) readType(d *Decoder, i int) (int, verdict) {
	for ; i < len(d.in); i++ {
		if len(r.name) > maxHeader {
			return r.fail(d, i, "the name of a type is too long")
		}
		if r.name = append(r.name, d.in[i]); d.in[i] != '>' {
			continue
		}
		if kind, ok := strings.CutSuffix(string(r.name), r.form.typeClose); ok {
			r.name = r.name[:0]
			r.keyed()
			if strings.HasPrefix(strings.TrimSpace(kind), "str") {
				r.untyped = shape.UntypedString
			}
			return i + 1, more
		}
	}
	return i, more
}

// named takes the name of the tool. The call begins when the first tag behind it is known.
func (r *tagReader) named(d *Decoder, name string, i int) verdict {
	r.written = name
	r.tool, _, r.known = d.set.names.resolve(name)
	if clean, escaped := unescapeName(name); escaped && !r.known {
		r.tool, _, r.known = d.set.names.resolve(clean)
	}
	r.state, r.blanks = tBody, 0
	r.tail, r.tailAt = r.tail[:0], d.base+i
	r.val = nil
	return more
}

// begin opens the call.
func (r *tagReader) begin(d *Decoder, end int) {
	if !r.known {
		r.val = d.readers.argsVal.reset(d, nil, true)
		r.val.discard = true
	} else {
		d.startCall(r.tool, r.written, "", r.at, end)
		r.val = d.readers.argsVal.reset(d, d.call.tool.Args, true)
	}
	r.got++
	r.val.kwargs, r.val.base, r.val.step = true, end, 0
	r.val.run("{", 0)
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
func (r *tagReader) readTag(d *Decoder, i int) (int, verdict) {
	c := d.in[i]
	if len(r.tail) == 0 {
		if isBlank(c) {
			if r.blanks++; r.blanks > maxHeader && r.val == nil {
				return i, refused
			}
			return i + 1, more
		}
		r.tailAt = d.base + i
		if c == '{' && r.state == tBody && r.val == nil && r.takesObject(d) {
			return r.object(d, i)
		}
		for k, tag := range r.tags() {
			if strings.HasPrefix(d.in[i:], tag) && !r.form.elements {
				return r.tag(d, tagKind(k), i+len(tag))
			}
		}
	}
	r.tail = append(r.tail, c)
	if r.expected(c) {
		return r.skip(d.in, i+1), more
	}
	r.want = ""
	matched := noMatch
	for k, tag := range r.tags() {
		switch m := matchTag(r.tail, tag); m {
		case fullMatch:
			if r.form.elements && k == int(tagParam) {
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
func (r *tagReader) takesObject(d *Decoder) bool {
	f := r.form
	return f.object != nil && (f.bare || d.set.on[f.objectIs]) && (r.known || !f.needed)
}

// object hands the call to the reader of calls whose body is a JSON object, which begins at i.
func (r *tagReader) object(d *Decoder, i int) (int, verdict) {
	h := newHeader(d, r.form.object, hBefore)
	h.closer, h.at, h.name = r.closer(), r.at, r.written
	d.body = h
	if d.set.on[r.form.objectIs] {
		d.dialect = r.form.objectIs
	}
	if j, v := h.named(d, i); v != more {
		return j, v
	}
	return h.run(d, i)
}

// expected takes a byte that was added to the tail. It reports whether the tail needs no look: what it may be has not changed.
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
	for n < len(a) && n < len(b) && a[n] == b[n] {
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
	tagKinds
)

// lineEscape is a newline as models write it that have seen too much JSON. Between tags it is white space.
const lineEscape = `\n`

// tags returns the tags that may follow, by kind; those that may not are empty and match nothing.
func (r *tagReader) tags() [tagKinds]string {
	const none = "\x00"
	t := [tagKinds]string{}
	for k := range t {
		t[k] = none
	}
	if r.state == tClosed {
		for k, tag := range r.form.between {
			if tag != "" {
				t[int(tagBetween)+k] = tag
			}
		}
	}
	if r.state == tBody || r.state == tPair {
		t[tagParam], t[tagCallClose] = r.form.paramOpen, r.form.callClose
		if r.form.bare {
			t[tagBreak] = lineEscape
		}
	}
	if r.state == tPair {
		t[tagValue] = r.form.valueOpen
		if r.form.typeOpen != "" {
			t[tagType] = r.form.typeOpen
		}
	}
	if r.state == tBody && r.val == nil && r.form.nameClose != "" {
		t[tagNameClose] = r.form.nameClose
	}
	if r.section != nil {
		t[tagSectionClose] = r.section.closer
	}
	if r.state != tBody && r.section != nil || r.state == tBody && r.val != nil {
		t[tagCallOpen] = r.form.callOpen
	}
	return t
}

// tag acts on a whole tag that ends before i.
func (r *tagReader) tag(d *Decoder, k tagKind, i int) (int, verdict) {
	end := d.base + i
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
		d.noteValue(r.val, chat.NoteMissingMarkup, r.param, "", r.tailAt, r.tailAt)
		r.state = tBody
	}
	if r.state == tBody && r.val == nil {
		if k == tagSectionClose || k == tagCallOpen || k == tagCallClose && r.form.bare && (!r.known || r.form.needed) {
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
			r.missing(d, r.form.callClose, r.tailAt)
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
		r.missing(d, r.form.callClose, r.tailAt)
		if _, v := r.endCallAt(d, r.tailAt, true); v == broken {
			return i, v
		}
	}
	r.state, r.at = tName, r.tailAt
	if r.got == 0 {
		r.at = d.candAt
	}
	r.name, r.quote = r.name[:0], 0
	return i, more
}

// noTag goes on where something stands that is no tag.
func (r *tagReader) noTag(d *Decoder, i int) (int, verdict) {
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

// beginUnopened begins a value whose opening tag is missing with the tail, of which the byte at i showed that it is no tag.
func (r *tagReader) beginUnopened(d *Decoder, i int) (int, verdict) {
	at, text := r.tailAt, string(r.tail[:len(r.tail)-1])
	r.missing(d, r.form.valueOpen, at)
	v := r.beginParam(d, r.param, i)
	switch {
	case v != more || text == "":
	case text[0] == '<':
		r.tail, r.tailAt = append(r.tail, text...), at
	default:
		r.beginText(text[0])
		r.add(d, text, i)
	}
	return i, v
}

// beginText decides by its first byte whether a string goes out as it comes: one that may be written as JSON does not.
func (r *tagReader) beginText(c byte) {
	if r.waits && c != '"' && c != '<' {
		r.stream = true
		r.val.markValue(0)
		r.val.write(`"`, 0)
	}
	r.waits = false
}

// beginParam begins the value of a parameter.
func (r *tagReader) beginParam(d *Decoder, name string, i int) verdict {
	r.param = name
	var declared bool
	if r.known {
		r.shape, declared = d.call.tool.Args.Prop(name)
		if !declared && r.shape == nil {
			if n, ok := foldedProp(d.call.tool.Args, name); ok {
				r.param, r.shape = n, nil
				r.shape, _ = d.call.tool.Args.Prop(n)
			}
		}
	}
	r.close = r.form.paramClose
	if r.form.elements {
		r.close += r.param + ">"
	}
	r.fresh, r.state, r.text, r.tail = true, tValue, r.text[:0], r.tail[:0]
	if r.whole = r.known && !declared && r.wraps(d, name); r.whole {
		r.stream, r.waits = false, false
		return more
	}
	return r.openParam(d, i)
}

// openParam opens the value of a parameter whose name and shape are known.
func (r *tagReader) openParam(d *Decoder, i int) verdict {
	t := r.shape.Type()
	r.stream = r.known && t == shape.String && len(r.shape.Enum) == 0 && !r.val.has(r.param)
	if t == 0 && r.known && r.untyped == shape.UntypedString && !r.val.has(r.param) {
		r.stream = true
	}
	switch r.meant {
	case "true":
		r.stream = r.known && !r.val.has(r.param)
	case "false":
		r.stream = r.stream && t != 0
	}
	r.waits = r.stream && (r.form.cdata || r.meant == "false" || r.form.strings)
	r.stream = r.stream && !r.waits
	if r.form.elements {
		r.stream = r.known && t == shape.String && len(r.shape.Enum) == 0 && !r.val.has(r.param)
	}
	if r.whole {
		r.stream, r.waits = false, false
	}
	r.entity, r.marked = false, false
	r.val.base = d.base + i
	if !r.addKey(d) {
		_, v := r.fail(d, i, r.val.err)
		return v
	}
	return more
}

// addKey writes the name of the parameter, and the quote of a string that goes out as it comes.
func (r *tagReader) addKey(d *Decoder) bool {
	v := r.val
	if v.discard || v.hold.on || v.has(r.param) {
		if v.state == vAfter {
			v.kwargs = false
			v.run(",", 0)
			v.kwargs = true
		}
		r.scratch = append(appendQuoted(r.scratch[:0], r.param), ':')
		v.run(string(r.scratch), 0)
		return v.err == ""
	}
	before := `"`
	if v.state == vAfter {
		before = `,"`
	}
	v.nameKey(r.param, 0)
	d.flattenArgs()
	b := &d.call.args
	n := b.Len()
	grow(b, len(r.param)+len(before)+2)
	b.WriteString(before)
	buildEscaped(b, r.param)
	b.WriteString(`":`)
	d.emitArgs(b.String()[n:], v.base)
	f := &v.stack[len(v.stack)-1]
	v.keys[f.key].from = -1
	v.shape, _ = f.shape.Prop(r.param)
	v.state = vValue
	if r.stream {
		v.markValue(0)
		v.write(`"`, 0)
	}
	return true
}

// wraps reports whether name is that of a parameter which holds all arguments.
func (r *tagReader) wraps(d *Decoder, name string) bool {
	args := d.call.tool.Args
	return name != "" && (name == r.form.unwrap[0] || name == r.form.unwrap[1]) && args != nil && len(args.Props) > 0 && len(r.val.keys) == 0 && d.set.opts.Repair != RepairOff
}

// unwrap writes the arguments that the value holds, and reports whether it holds any.
func (r *tagReader) unwrap(d *Decoder) bool {
	object := &shape.Shape{Types: shape.Object}
	out, _ := shape.Coerce(string(r.text), object, shape.CoerceOptions{Python: true})
	if !renderIsObject(out) {
		return false
	}
	out = strings.TrimSpace(out)
	r.val.kwargs = false
	r.val.run(out[1:len(out)-1], 0)
	if r.val.state == vScalar {
		r.val.endScalar(0)
	}
	r.val.kwargs = true
	if r.val.err == "" {
		d.noteValue(r.val, chat.NoteWrappedJSON, r.param, "", r.val.base, r.val.base)
	}
	return true
}

// foldedProp returns the one property that differs from name only in dots, hyphens and underscores.
func foldedProp(s *shape.Shape, name string) (string, bool) {
	if s == nil {
		return "", false
	}
	found := ""
	for i := range s.Props {
		if fold(s.Props[i].Name) == fold(name) {
			if found != "" {
				return "", false
			}
			found = s.Props[i].Name
		}
	}
	return found, found != ""
}

// readValue reads a value. Bytes that may belong to the tags behind it wait in the tail.
func (r *tagReader) readValue(d *Decoder, i int) (int, verdict) {
	if len(r.tail) > 0 {
		return r.readTail(d, i)
	}
	in, from := d.in, i
	if r.waits {
		r.beginText(in[i])
	}
	for i < len(in) && !r.suspicious(in, i) {
		i++
	}
	if i == len(in) {
		if k := partialRune(in[from:]); k > 0 {
			r.add(d, in[from:i-k], i-k)
			r.tail, r.tailAt = append(r.tail, in[i-k:]...), d.base+i-k
			return i, more
		}
	}
	r.add(d, in[from:i], i)
	if i < len(in) {
		r.tailAt = d.base + i
		if e, n := r.wholeEnd(in[i:]); n > 0 {
			return r.endValue(d, e, i+n)
		}
		r.tail = append(r.tail, in[i])
		i++
	}
	return i, more
}

// suspicious reports whether the byte at i may begin the end of the value, as far as the input shows.
func (r *tagReader) suspicious(in string, i int) bool {
	switch in[i] {
	case '<':
		return !r.form.elements && (i+1 == len(in) || in[i+1] == '/' || in[i+1] == r.form.paramOpen[1])
	case ']':
		return r.form.elements && (i+1 == len(in) || in[i+1] == r.form.paramOpen[1])
	case '\n':
		return r.form.newlines && (i+1 == len(in) || in[i+1] == '<')
	case '\r':
		return r.form.newlines && (i+1 == len(in) || in[i+1] == '\n')
	}
	return false
}

// readTail reads on in what may be the tags behind a value: newline, closing tag, blanks, and the tag that follows.
func (r *tagReader) readTail(d *Decoder, i int) (int, verdict) {
	for i < len(d.in) && len(r.tail) > 0 {
		c := d.in[i]
		if t := r.tail[0]; t >= 0x80 { // a character that was cut
			if c&0xC0 == 0x80 && len(r.tail) < runeLen(t) {
				r.tail = append(r.tail, c)
				if i++; len(r.tail) < runeLen(t) {
					continue
				}
			}
			r.add(d, string(r.tail), i)
			r.tail = r.tail[:0]
			return i, more
		}
		if len(r.tail) == 1 && !r.endsValue(c) {
			r.add(d, oneByte(r.tail[0]), i)
			r.tail = r.tail[:0]
			return i, more
		}
		r.tail = append(r.tail, c)
		i++
		if r.expected(c) {
			i = r.skip(d.in, i)
			continue
		}
		for r.want = ""; len(r.tail) > 0; {
			t := r.tailText(d, i)
			var e ending
			if !r.form.cdata || !openCDATA(r.text) {
				e = r.ending(d, t)
			}
			r.want = e.want
			if e.match == fullMatch {
				return r.endValue(d, e, i)
			}
			if e.match == partMatch {
				break
			}
			r.shift(d, t, i)
		}
	}
	return i, more
}

// openCDATA reports whether text is a CDATA section that is not closed yet. It looks at either end only, however long the text.
func openCDATA(text []byte) bool {
	const open, end = "<![CDATA[", "]]>"
	first := bytes.TrimLeft(text[:min(len(text), maxHeader)], " \t\r\n")
	last := bytes.TrimRight(text[max(0, len(text)-maxHeader):], " \t\r\n")
	return bytes.HasPrefix(first, []byte(open)) && !bytes.HasSuffix(last, []byte(end))
}

// tailText returns the tail, which ends before i. It is held, so that it need not be copied.
func (r *tagReader) tailText(d *Decoder, i int) string {
	if end := d.base + i; d.holding && r.tailAt+len(r.tail) == end {
		return d.held(r.tailAt, end)
	}
	return string(r.tail)
}

// endsValue reports whether c may follow the one byte in the tail at the end of a value.
func (r *tagReader) endsValue(c byte) bool {
	switch r.tail[0] {
	case '<':
		return c == '/' || c == r.form.paramOpen[1]
	case ']':
		return c == r.form.paramOpen[1]
	case '\n':
		return c == '<'
	case '\r':
		return c == '\n'
	}
	return true
}

func oneByte(c byte) string {
	switch c {
	case '<':
		return "<"
	case ']':
		return "]"
	case '\n':
		return "\n"
	case '\r':
		return "\r"
	}
	return string(rune(c))
}

func (r *tagReader) closer() string {
	if r.section == nil {
		return ""
	}
	return r.section.closer
}

// endValue ends the value at the tags in the tail, all of which were read.
func (r *tagReader) endValue(d *Decoder, e ending, i int) (int, verdict) {
	end := r.tailAt + e.end
	if !e.closed {
		r.missing(d, r.form.paramClose, end)
	}
	if v := r.finishValue(d, end); v != more {
		return i, v
	}
	r.state, r.tailAt, r.tail = tBody, end, r.tail[:0]
	j, v := r.tag(d, e.kind, i-len(e.rest))
	switch {
	case v != more:
	case e.param != "" && r.form.valueOpen != "":
		r.param = e.param
		r.keyed()
	case e.param != "":
		v = r.beginParam(d, e.param, i)
	case e.next >= 0:
		r.tailAt = d.base + i - len(e.rest)
		return r.tag(d, e.next, i)
	}
	if v == finished && e.rest != "" {
		return d.backTo(d.base+i-len(e.rest), i)
	}
	return j, v
}

// finishValue writes the value that is read, up to the offset end.
func (r *tagReader) finishValue(d *Decoder, end int) verdict {
	v := r.val
	v.base = end
	if r.whole {
		if r.unwrap(d) {
			if v.err != "" {
				_, w := r.failAt(d, end, v.err)
				return w
			}
			return more
		}
		if w := r.openParam(d, end-d.base); w != more {
			return w
		}
		v.base = end
	}
	if r.stream && !r.entity {
		v.write(`"`, 0)
		v.endValue(0)
		return more
	}
	text := string(r.text)
	if r.form.entities && !r.marked {
		text = decodeEntities(text)
	}
	if r.stream { // a string whose first part went out
		d.writeBuilt(text, v.base)
		v.write(`"`, 0)
		v.endValue(0)
		return more
	}
	if r.form.cdata {
		if s, ok := strings.CutPrefix(strings.TrimSpace(text), "<![CDATA["); ok {
			text = strings.TrimSuffix(s, "]]>")
		}
	}
	text = r.unquoted(d, text, end)
	if r.meant == "true" {
		v.write(string(appendQuoted(nil, text)), 0)
		v.endValue(0)
		return more
	}
	untyped := r.untyped
	if r.meant == "false" {
		untyped = shape.UntypedJSON
	}
	out, c := shape.Coerce(text, r.shape, shape.CoerceOptions{Untyped: untyped, Python: false})
	if r.form.elements && !r.stream {
		if number := trimZeros(text, r.shape); number != text {
			out, c = shape.Coerce(number, r.shape, shape.CoerceOptions{})
		}
		if tree, ok := readElements(text, r.form, r.shape); ok {
			out, c = tree, shape.Fits
		}
	}
	if c != shape.Fits {
		d.noteValue(v, chat.NoteKind(c), text, out, end, end)
	}
	sh := v.shape
	v.shape, v.python = nil, false
	v.run(out, 0)
	if v.state == vScalar {
		v.endScalar(0)
	}
	v.shape, v.python = sh, true
	if v.err != "" {
		_, w := r.failAt(d, end, v.err)
		return w
	}
	return more
}

// unquoted returns a value without what models put around it: the quotes of a string where the form has them, and the escapes of
// JSON that was written as if it stood in a string.
func (r *tagReader) unquoted(d *Decoder, text string, end int) string {
	t := r.shape.Type()
	switch {
	case (r.form.strings || r.meant == "false") && (t == 0 || t.Has(shape.String)):
		if s, ok := renderUnquote(strings.TrimSpace(text)); ok {
			return s
		}
	case d.set.opts.Repair != RepairOff && t.Any(shape.Object|shape.Array) && !t.Has(shape.String) && strings.Contains(text, `\"`):
		if s, ok := renderUnquote(`"` + strings.TrimSpace(text) + `"`); ok {
			d.noteValue(r.val, chat.NoteWrappedJSON, text, s, end, end)
			return s
		}
	}
	return text
}

// add takes text into the value.
func (r *tagReader) add(d *Decoder, s string, i int) {
	if s == "" {
		return
	}
	if r.fresh {
		r.fresh = false
		if r.form.newlines {
			s = strings.TrimPrefix(s, "\r")
			s = strings.TrimPrefix(s, "\n")
			if s == "" {
				return
			}
		}
	}
	if r.stream && !r.entity {
		cut := len(s)
		if r.form.entities && !r.marked {
			cut = r.clean(s)
		}
		r.val.base = d.base + i - (len(s) - cut)
		writeEscaped(r.val, s[:cut])
		s = s[cut:]
	}
	r.text = append(r.text, s...)
	r.marked = r.marked || r.form.entities && strings.IndexByte(s, '<') >= 0
}

// clean returns the length of what s begins with that is the same whether or not character references are decoded.
func (r *tagReader) clean(s string) int {
	k := strings.IndexAny(s, "<&")
	if k < 0 {
		return len(s)
	}
	if s[k] == '<' {
		r.marked = true
		return len(s)
	}
	r.entity = true
	return k
}

// mends reports whether missing tags are filled in at all.
func (r *tagReader) mends(d *Decoder) bool {
	return d.set.opts.Repair != RepairOff && !r.form.strict
}

// repairable reports whether a missing tag may be filled in: the call must be whole without it.
func (r *tagReader) repairable(d *Decoder) bool {
	return r.mends(d) && (!r.known || !missingRequired(d.call.tool.Args, r.val.has))
}

func (r *tagReader) missing(d *Decoder, tag string, at int) {
	if r.known && d.confirmed {
		d.note(chat.NoteDetail{Kind: chat.NoteMissingMarkup, After: tag, At: at, End: at})
	}
}

// endCall ends the call behind its tag, which ends before i.
func (r *tagReader) endCall(d *Decoder, i int, complete bool) (int, verdict) {
	if _, v := r.endCallAt(d, d.base+i, complete); v != more {
		return i, v
	}
	if r.section == nil {
		return i, finished
	}
	r.state, r.blanks = tClosed, 0
	return i, more
}

func (r *tagReader) endCallAt(d *Decoder, end int, complete bool) (int, verdict) {
	if !r.known {
		d.reject(chat.ReasonUnknownTool, r.written, "no tool of this name is declared", r.at, end)
		return 0, more
	}
	r.val.base, r.val.kwargs = end, false
	if complete {
		r.val.run("}", 0)
		if r.val.err != "" {
			return r.failAt(d, end, r.val.err)
		}
	}
	d.endCall(end, complete)
	return 0, more
}

// fail ends the candidate because of the byte before i. What was read of a call that did not begin is text, behind others too.
func (r *tagReader) fail(d *Decoder, i int, why string) (int, verdict) {
	if d.confirmed && !d.call.open && r.at >= d.last {
		return d.backTo(r.at, i)
	}
	_, v := r.failAt(d, d.base+i, why)
	return i, v
}

func (r *tagReader) failAt(d *Decoder, end int, why string) (int, verdict) {
	if !d.call.open {
		if d.confirmed {
			return 0, finished
		}
		return 0, refused
	}
	d.reject(chat.ReasonMalformed, "", why, r.at, end)
	return 0, broken
}

// end decides what the end of the text means.
func (r *tagReader) end(d *Decoder) verdict {
	switch r.state {
	case tValue:
		// A value without its closing tag may have lost its end; one that has it is whole.
		t := string(r.tail)
		k := strings.IndexByte(t, r.form.paramOpen[0])
		switch {
		case k >= 0 && strings.HasPrefix(t[k:], r.close):
			if r.finishValue(d, d.base) == broken {
				return broken
			}
			rest := strings.TrimSpace(t[k+len(r.close):])
			r.state, r.tail = tBody, append(r.tail[:0], rest...)
			if len(rest) > 1 && strings.HasPrefix(r.form.callClose, rest) || strings.HasPrefix(r.closer(), rest) && len(rest) > 1 {
				r.tail = r.tail[:0]
			}
		case k >= 0 && strings.TrimSpace(t[k:]) == r.form.callClose && r.mends(d):
			r.missing(d, r.form.paramClose, d.base)
			if r.finishValue(d, d.base) == broken {
				return broken
			}
			_, v := r.endCallAt(d, d.base, true)
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
		d.markupUpTo(r.at)
		d.textUpTo(d.base)
		return finished
	}
	if d.call.open {
		if r.state == tBody && len(r.tail) == 0 && r.complete(d) && r.mends(d) {
			r.missing(d, r.form.callClose, d.base)
			if _, v := r.endCallAt(d, d.base, true); v == broken {
				return broken
			}
			return finished
		}
		if r.stream && r.state == tValue {
			d.endCall(d.base, false)
			return finished
		}
		d.endCall(d.base, false)
		return finished
	}
	if d.confirmed {
		return finished
	}
	return refused
}

// complete reports whether the call could end here: it has arguments, and all that are required.
func (r *tagReader) complete(d *Decoder) bool {
	return len(r.val.keys) > 0 && !missingRequired(d.call.tool.Args, r.val.has)
}

func (r *tagReader) plain(*Decoder) *[256]bool {
	switch {
	case r.state != tValue || !r.stream || r.entity || r.fresh || len(r.tail) > 0 || r.val.hold.on:
		return nil
	case r.form.entities:
		return &entityStop
	case r.form.elements:
		return &elementStop
	}
	return &tagStop
}

// passes reports whether chunk, in the middle of a value that goes out as it comes, belongs to it as a whole.
func (r *tagReader) passes(chunk string) bool {
	for i := 0; i < len(chunk); i++ {
		if c := chunk[i]; (c == '<' || c == '\n' || c == '\r') && r.suspicious(chunk, i) {
			return false
		}
	}
	return partialRune(chunk) == 0
}

// entityStop is tagStop where character references are decoded.
var entityStop = func() [256]bool {
	t := tagStop
	t['&'] = true
	return t
}()

// tagStop are the bytes of a tagged value that are escaped in JSON, or may begin the end of the value.
var tagStop = func() [256]bool {
	t := doubleStop
	t['<'] = true
	return t
}()

// elementStop is tagStop for tags that begin with a bracket.
var elementStop = func() [256]bool {
	t := doubleStop
	t[']'] = true
	return t
}()

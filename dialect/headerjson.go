package dialect

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
	"wield/dialect/internal/note"
	"wield/dialect/internal/value"
)

// A headerReader reads calls of a form.
type headerReader struct {
	form   *form.Header
	closer string  // of the section that it stands in
	noise  bool    // the section's opener was read, and what is no call in it is left out
	lists  *opener // the opener, if a list of JSON calls may follow it as well

	state   headerState
	at      int // where the call begins
	nameAt  int
	name    string
	id      string
	idAt    int
	tool    int
	known   bool
	kinded  bool // a kind was read: the name follows
	led     bool // what may stand before the object was begun
	fence   int  // marks of a fence that is open around the object
	open    bool // the call was read to the end of its object
	got     int
	blanks  int
	tailAt  int // where what follows the object begins
	noiseAt int // where what is to be left out begins; -1: there is none
	args    *value.Arguments
	skip    *value.Reader // of the body of a call to an undeclared tool
}

type headerState uint8

const (
	hBetween headerState = iota // in a section, where a call or the end of the section may follow
	hName                       // in the name
	hID                         // in the id behind it
	hMarker                     // in a literal that may end the name
	hBefore                     // before the object
	hArgs                       // in the object
	hAfter                      // behind it
)

// headerSection returns the constructor of a reader behind the opener of a section.
func headerSection(f *form.Header) func(d *driver, o *opener) body {
	return func(d *driver, o *opener) body {
		r := newHeader(d, f, hBetween)
		r.noise = f.Noise
		return r
	}
}

// headerCall returns the constructor of a reader behind the opener of a call, or at the first byte of its name.
func headerCall(f *form.Header) func(d *driver, o *opener) body {
	return func(d *driver, o *opener) body {
		r := newHeader(d, f, hName)
		if o.json != "" {
			r.lists = o
		}
		return r
	}
}

func newHeader(d *driver, f *form.Header, s headerState) *headerReader {
	r := ready(&d.readers.header)
	*r = headerReader{form: f, closer: f.Closer, state: s, at: d.text.candAt, nameAt: -1, noiseAt: -1}
	return r
}

func (r *headerReader) run(d *driver, i int) (int, verdict) {
	for i < len(d.text.in) {
		var v verdict
		switch r.state {
		case hName, hID:
			i, v = r.readName(d, i)
		case hMarker:
			i, v = r.readMarker(d, i)
		case hBefore:
			i, v = r.before(d, i)
		case hArgs:
			i, v = r.readArgs(d, i)
		default:
			i, v = r.readTail(d, i)
		}
		if v != more {
			return i, v
		}
	}
	return i, more
}

// readName reads the name, or the id behind it, up to the first byte that neither has.
func (r *headerReader) readName(d *driver, i int) (int, verdict) {
	if r.nameAt < 0 {
		r.nameAt = d.text.at(i)
	}
	f := r.form
	for ; i < len(d.text.in); i++ {
		c := d.text.in[i]
		switch {
		case d.text.at(i)-r.nameAt > maxHeader:
			return r.fail(d, i, "the name is too long")
		case c == '{' && (f.Optional || f.LineName && r.kinded):
			r.cut(d, d.text.at(i))
			r.state = hBefore
			return r.named(d, i)
		case c == '\n' && f.LineName && (r.kinded || f.Kind == ""):
			if chars.Blank(d.text.held(r.nameAt, d.text.at(i))) {
				if r.blanks++; r.blanks > maxHeader {
					return r.fail(d, i, "no name")
				}
				continue
			}
			r.cut(d, d.text.at(i))
			r.state = hBefore
			if f.ArgsOpen != "" && f.Kind == "" {
				r.state = hMarker
			}
			return r.named(d, i)
		case c == '<' || c == '[' || f.ArgsOpen != "" && c == f.ArgsOpen[0] && !f.LineName:
			r.cut(d, d.text.at(i))
			r.state = hMarker
			return i, more
		case c == '`' || c < 0x20 && !chars.IsBlank(c):
			return r.fail(d, i, "no name")
		}
	}
	return i, more
}

// cut takes what was read as the name, or as the id, up to the offset end.
func (r *headerReader) cut(d *driver, end int) {
	s := strings.TrimSpace(d.text.held(r.nameAt, end))
	if r.state == hID {
		r.id = s
	} else {
		r.name = s
	}
}

// readMarker reads the literal behind the name.
func (r *headerReader) readMarker(d *driver, i int) (int, verdict) {
	f := r.form
	l := [4]string{tailArgs: f.ArgsOpen}
	if r.led {
		l[tailArgs] = f.ArgsLead
	}
	if r.idAt == 0 && !r.led {
		l[tailID] = f.IdOpen
	}
	for ; i < len(d.text.in); i++ {
		if chars.IsBlank(d.text.in[i]) {
			if r.blanks++; r.blanks > maxHeader {
				return r.fail(d, i, "too much white space")
			}
			continue
		}
		switch t := choose(l[:], d.text.in[i:]); {
		case t.match == maybe:
			return d.await(i, t.rest, nil)
		case t.match == yes && headerTail(t.kind) == tailID:
			r.idAt = d.text.at(i + t.n)
			r.state, r.nameAt = hID, -1
			return i + t.n, more
		case t.match == yes:
			return r.separated(d, i+t.n)
		case r.lists != nil && strings.HasPrefix(d.text.in[i:], "[{"): // the words before it were none of a call
			d.body = newCallReader(d, r.lists, true)
			return i + 1, left
		default:
			return r.fail(d, i+t.n, "nothing that follows a name")
		}
	}
	return i, more
}

// separated goes on behind the separator, which ends before i: with the name, if what stood before it is the kind, else
// with the object.
func (r *headerReader) separated(d *driver, i int) (int, verdict) {
	r.state = hBefore
	switch f := r.form; {
	case r.led:
		return i, more
	case f.Kind != "" && !r.kinded && r.name == f.Kind:
		r.kinded, r.nameAt = true, -1 // a brace will show that the kind is a name after all
		return i, more
	case f.LineName && f.Kind == "":
		return i, more // the name was resolved at the end of its line
	}
	return r.named(d, i)
}

// named resolves the name, which was read up to i.
func (r *headerReader) named(d *driver, i int) (int, verdict) {
	if r.name == "" {
		return r.fail(d, i, "no name")
	}
	name := r.name
	if r.form.Counted {
		r.id, name = name, uncounted(d, name)
	}
	r.tool, _, r.known = d.set.names.resolve(name)
	if clean, escaped := unescapeName(name); escaped && !r.known {
		r.tool, _, r.known = d.set.names.resolve(clean)
	}
	r.name = name
	return i, more
}

// uncounted returns the name in an id such as functions.NAME:0. An id that is a bare counter names the one tool that is
// on offer, if there is only one.
func uncounted(d *driver, id string) string {
	name := id
	if k := strings.LastIndexByte(name, ':'); k >= 0 && k+1 < len(name) && chars.Digits(name[k+1:]) {
		name = name[:k]
	}
	if _, _, ok := d.set.names.resolve(name); ok {
		return name
	}
	if chars.Digits(name) && name != "" && len(d.set.names.tools) == 1 {
		return d.set.names.tools[0].Name
	}
	return strings.TrimPrefix(name, "functions.")
}

// before reads what stands between the name and the object: blanks, and the line that opens a fence.
func (r *headerReader) before(d *driver, i int) (int, verdict) {
	c := d.text.in[i]
	switch {
	case chars.IsBlank(c):
		if r.blanks++; r.blanks > maxHeader {
			return r.fail(d, i, "too much white space")
		}
		return i + 1, more
	case r.kinded && !r.known && c != '{' && r.nameAt < 0: // behind the kind and its separator
		r.state = hName
		return i, more
	case r.kinded && r.nameAt < 0: // an object stands there: the kind was the name
		r.kinded = false
		if i, v := r.named(d, i); v != more {
			return i, v
		}
	case c == '`' && r.fence == 0:
		n, marks, m := fenceLine(d.text.in[i:])
		switch m {
		case no:
			return r.fail(d, i+n, "no object behind the name")
		case maybe:
			return d.await(i, "", nil)
		}
		r.fence = marks
		return i + n, more
	case r.form.ArgsLead != "" && c == r.form.ArgsLead[0] && !r.led:
		r.led, r.state = true, hMarker
		return i, more
	}
	return r.begin(d, i)
}

// begin begins the arguments at their first byte, and with them the call.
func (r *headerReader) begin(d *driver, i int) (int, verdict) {
	if c := d.text.in[i]; c != '{' && c != '"' && c != 'n' && c != 'N' {
		return r.fail(d, i, "no object behind the name")
	}
	if r.form.NameIs != "" {
		d.call.dialect = r.form.NameIs
		if r.kinded {
			d.call.dialect = r.form.KindIs
		}
	}
	r.state, r.got = hArgs, r.got+1
	if !r.known {
		r.skip = d.skipped()
		return i, more
	}
	r.skip = nil
	d.call.start(r.tool, r.name, r.id, r.at, d.text.at(i))
	r.args = d.arguments(d.call.tool.Args)
	r.args.Wrapped = true
	return i, more
}

func (r *headerReader) readArgs(d *driver, i int) (int, verdict) {
	var p value.Progress
	if r.skip != nil {
		r.skip.At(d.text.at(0), 1)
		i, p = r.skip.Run(d.text.in, i)
	} else {
		r.args.At(d.text.at(0), 1)
		i, p = r.args.Run(d.text.in, i)
	}
	return r.behindArgs(d, i, p)
}

// behindArgs acts on what the reader of the object left off with before i.
func (r *headerReader) behindArgs(d *driver, i int, p value.Progress) (int, verdict) {
	why := ""
	if r.skip != nil {
		why = r.skip.Err
	} else {
		if p == value.Failed && i < len(d.text.in) && r.closes(d.text.in[i]) && r.args.CloseMissing(i) {
			p = value.Done
		}
		why = r.args.Err
		if p == value.Done && r.args.Doom != "" {
			p, why = value.Failed, r.args.Doom
		}
	}
	switch p {
	case value.Failed:
		return r.fail(d, i, why)
	case value.Short:
		return i, waits
	case value.Done:
		r.state, r.open = hAfter, true
		if r.form.CallClose == "" && r.fence == 0 {
			r.endCall(d, d.text.at(i))
			if r.closer == "" {
				return i, finished
			}
		}
	}
	return i, more
}

// closes reports whether c may begin what follows the object.
func (r *headerReader) closes(c byte) bool {
	return r.form.CallClose != "" && c == r.form.CallClose[0] || r.closer != "" && c == r.closer[0] ||
		c == '`' && r.fence > 0
}

// endCall ends the call that was read, or rejects it if its tool is not declared, before the offset end.
func (r *headerReader) endCall(d *driver, end int) {
	if !r.open {
		return
	}
	r.open = false
	if r.skip != nil {
		d.call.reject(chat.ReasonUnknownTool, r.name, "no tool of this name is declared", r.at, end)
	} else {
		d.call.end(end, true)
	}
}

// readTail reads what follows a call, or the opener of a section: the end of the fence and of the call,
// another call, the end of the section.
func (r *headerReader) readTail(d *driver, i int) (int, verdict) {
	if chars.IsBlank(d.text.in[i]) {
		if r.blanks++; r.blanks > maxHeader && r.got == 0 {
			return i, refused
		}
		return i + 1, more
	}
	r.tailAt = d.text.at(i)
	l := r.literals()
	t := choose(l[:], d.text.in[i:])
	j := i + t.n
	switch {
	case t.match == maybe:
		return d.await(i, t.rest, nil)
	case t.match == yes:
		r.noiseAt = -1
		return r.follow(d, headerTail(t.kind), j)
	case r.noise && !r.open && (r.noiseAt < 0 || d.text.at(j)-r.noiseAt < maxHeader):
		if r.noiseAt < 0 {
			r.noiseAt = r.tailAt
		}
		return max(j, i+1), more
	case r.got == 0:
		return j, refused
	}
	end := r.tailAt
	if r.skip == nil || !r.open { // what was read was told: the blanks behind it are text
		end = d.text.last
	}
	if v := r.unclosed(d, end); v != more {
		return j, v
	}
	return d.backTo(end, j)
}

type headerTail int

const (
	tailFence headerTail = iota
	tailClose
	tailSection
	tailOpen

	tailID   = tailFence // in a header
	tailArgs = tailClose
)

// literals returns what may follow, by kind.
func (r *headerReader) literals() [4]string {
	l := [4]string{tailSection: r.closer, tailOpen: r.form.CallOpen}
	if r.open {
		if r.fence > 0 {
			l[tailFence] = "```"
		}
		l[tailClose] = r.form.CallClose
	}
	return l
}

func (r *headerReader) follow(d *driver, k headerTail, i int) (int, verdict) {
	switch k {
	case tailFence:
		r.fence = 0
		if r.form.CallClose == "" {
			r.endCall(d, d.text.at(i))
		}
		return i, more
	case tailClose:
		r.endCall(d, d.text.at(i))
		if r.state = hBetween; r.closer == "" { // it stands alone: another call begins with an opener of its own
			return i, finished
		}
		return i, more
	}
	if r.open && r.unclosed(d, r.tailAt) != more {
		return i, broken
	}
	if k == tailSection {
		if r.got == 0 {
			return i, refused
		}
		return i, finished
	}
	if r.form.Then != nil {
		o := opener{use: useBody, closer: r.closer}
		if r.closer != "" {
			o.use = useSection
		}
		t := newTagged(d, r.form.Then, &o)
		t.at = r.tailAt
		d.body = t
		return t.run(d, i)
	}
	*r = headerReader{form: r.form, closer: r.closer, noise: r.noise, state: hName,
		at: r.tailAt, nameAt: -1, noiseAt: -1, got: r.got}
	if r.got == 0 {
		r.at = d.text.candAt
	}
	return i, more
}

// unclosed ends a call whose closer is missing before the offset end.
func (r *headerReader) unclosed(d *driver, end int) verdict {
	if !r.open {
		return more
	}
	if d.call.open && r.form.CallClose != "" && !r.form.Stops {
		if d.set.opts.Repair == RepairOff {
			d.call.reject(chat.ReasonMalformed, "", "the closing tag is missing", 0, end)
			return broken
		}
		d.call.Note(chat.NoteDetail{Kind: note.MissingMarkup, After: r.form.CallClose, At: end, End: end})
	}
	r.endCall(d, end)
	return more
}

// fail ends the candidate because of the byte at i.
func (r *headerReader) fail(d *driver, i int, why string) (int, verdict) {
	switch {
	case d.call.open:
		d.call.reject(chat.ReasonMalformed, r.name, why, r.at, d.text.at(i))
		if r.closer == "" || r.form.CallClose == "" {
			return i, broken
		}
		r.pass()
		return i, more
	case r.skip != nil && r.state == hArgs && r.closer != "" && r.form.CallClose != "":
		d.call.reject(chat.ReasonUnknownTool, r.name, "no tool of this name is declared", r.at, d.text.at(i))
		r.pass()
		return i, more
	case r.got > 1 || r.got == 1 && r.state != hArgs:
		if r.state == hArgs {
			return d.backTo(r.at, i)
		}
		return d.backTo(max(r.at, d.text.last), i)
	}
	return i, refused
}

// pass goes on in the section behind a call that is broken: others may follow.
func (r *headerReader) pass() {
	r.state, r.fence, r.skip, r.noise, r.noiseAt = hBetween, 0, nil, true, -1
}

// end decides what an end of the text means.
func (r *headerReader) end(d *driver) verdict {
	if r.state == hArgs && r.skip == nil {
		r.args.At(d.text.at(0), 0)
		if r.args.End() == value.Done && r.args.Doom == "" {
			r.open, r.state = true, hAfter
		}
	}
	switch {
	case r.open:
		if v := r.unclosed(d, d.text.at(0)); v != more {
			return v
		}
		return finished
	case d.call.open:
		d.call.end(d.text.at(0), false)
		return finished
	case d.text.confirmed && r.noiseAt >= 0:
		_, v := d.backTo(d.text.last, 0)
		return v
	case d.text.confirmed:
		return finished
	}
	return refused
}

func (r *headerReader) plain(*driver) *chars.Set {
	if r.state == hArgs && r.skip == nil {
		return r.args.Plain()
	}
	return nil
}

package dialect

import (
	"bytes"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/render"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// beginUnopened begins a value whose opening tag is missing with the tail, of which the byte at i showed that
// it is no tag.
func (r *tagReader) beginUnopened(d *driver, i int) (int, verdict) {
	at, text := r.tailAt, string(r.tail[:len(r.tail)-1])
	r.missing(d, r.form.ValueOpen, at)
	v := r.beginParam(d, r.param, i)
	if text != "" {
		r.valueAt = at
		d.call.sources.from(at)
	}
	switch {
	case v != more || text == "":
	case text[0] == '<':
		r.tail, r.tailAt = append(r.tail, text...), at
	default:
		r.beginText(d, text[0])
		r.add(d, text, i)
	}
	return i, v
}

// beginText decides by its first byte whether a string goes out as it comes: one that may be written as JSON does not.
func (r *tagReader) beginText(d *driver, c byte) {
	if r.waits && c != '"' && c != '<' {
		r.stream = true
		r.val.OpenText()
		d.call.sources.from(r.valueAt)
	}
	r.waits = false
}

// beginParam begins the value of a parameter.
func (r *tagReader) beginParam(d *driver, name string, i int) verdict {
	if r.param = name; !r.form.Bare {
		r.untyped = r.form.Untyped
	}
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
	if r.close = r.form.ParamClose; r.form.Elements {
		if n := len(r.close); !strings.HasPrefix(r.ahead, r.close) || !strings.HasPrefix(r.ahead[n:], r.param) || r.ahead[n+len(r.param):] != ">"+r.form.ParamOpen {
			r.ahead = r.close + r.param + ">" + r.form.ParamOpen
		}
		r.close = r.ahead[:len(r.ahead)-len(r.form.ParamOpen)]
	}
	r.fresh, r.led, r.state, r.text, r.tail = true, false, tValue, r.text[:0], r.tail[:0]
	r.valueAt = d.text.at(i)
	if r.whole = r.known && !declared && r.wraps(d, name); r.whole {
		r.stream, r.waits = false, false
		return more
	}
	return r.openParam(d, i)
}

// openParam opens the value of a parameter whose name and shape are known.
func (r *tagReader) openParam(d *driver, i int) verdict {
	again := r.val.Has(r.param)
	r.stream, r.waits = false, false
	if r.known && !again && !r.whole {
		r.flows()
	}
	r.entity, r.marked = false, false
	d.call.sources.key(r.keyAt, r.keyEnd)
	if !r.val.Key(r.param, d.text.at(i)) {
		_, v := r.fail(d, i, r.val.Err)
		return v
	}
	if r.stream {
		r.val.OpenText()
	}
	d.call.sources.from(r.valueAt)
	return more
}

// flows decides whether the value is a string that goes out as it comes, or whether its first byte will tell.
func (r *tagReader) flows() {
	t := r.shape.Type()
	text := t == shape.String && len(r.shape.Enum) == 0
	if r.form.Elements {
		r.stream = text
		return
	}
	text = text || t == 0 && r.untyped == shape.UntypedString
	switch r.meant {
	case "true":
		text = true
	case "false":
		text = text && t != 0
	}
	r.waits = text && (r.form.Cdata || r.meant == "false" || r.form.Strings)
	r.stream = text && !r.waits
}

// wraps reports whether name is that of a parameter which holds all arguments.
func (r *tagReader) wraps(d *driver, name string) bool {
	args := d.call.tool.Args
	return name != "" && (name == r.form.Unwrap[0] || name == r.form.Unwrap[1]) && args != nil && len(args.Props) > 0 && r.val.Empty() && d.set.opts.Repair != RepairOff
}

// unwrap writes the arguments that the value holds, and reports whether it holds any.
func (r *tagReader) unwrap(d *driver) bool {
	object := &shape.Shape{Types: shape.Object}
	out, _ := shape.Coerce(string(r.text), object, shape.CoerceOptions{Python: true})
	if !render.IsObject(out) {
		return false
	}
	out = strings.TrimSpace(out)
	r.stands(d, out, 1)
	r.val.Members(out[1 : len(out)-1])
	at := r.val.Offset()
	r.val.At(at, 0)
	if r.val.Err == "" {
		r.val.NoteAt(chat.NoteWrappedJSON, r.param, "", at, at)
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
		if chars.Fold(s.Props[i].Name) == chars.Fold(name) {
			if found != "" {
				return "", false
			}
			found = s.Props[i].Name
		}
	}
	return found, found != ""
}

// readValue reads a value. Bytes that may belong to the tags behind it wait in the tail.
func (r *tagReader) readValue(d *driver, i int) (int, verdict) {
	if len(r.tail) > 0 {
		return r.readTail(d, i)
	}
	in, from := d.text.in, i
	if r.waits {
		r.beginText(d, in[i])
	}
	stop := r.valueStop()
	for i = stop.Index(in, i); i < len(in) && !r.suspicious(in, i); {
		i = stop.Index(in, i+1)
	}
	r.add(d, in[from:i], i)
	if i < len(in) {
		r.tailAt = d.text.at(i)
		if e, n := r.wholeEnd(in[i:]); n > 0 {
			return r.endValue(d, e, i+n)
		}
		if d.text.patient(i) {
			if rest, ok := r.restOfEnd(in[i:]); ok {
				d.text.await(i, rest, nil)
				return i, left
			}
		}
		r.tail = append(r.tail, in[i])
		i++
	}
	return i, more
}

// valueStop returns the bytes that may begin the end of a value.
func (r *tagReader) valueStop() *chars.Set {
	switch {
	case r.form.Elements:
		return &bracketStop
	case r.form.Newlines:
		return &lineTagStop
	}
	return &openTagStop
}

// suspicious reports whether the byte at i may begin the end of the value, as far as the input shows.
func (r *tagReader) suspicious(in string, i int) bool {
	switch in[i] {
	case '<':
		return !r.form.Elements && (i+1 == len(in) || in[i+1] == '/' || in[i+1] == r.form.ParamOpen[1])
	case ']':
		return r.form.Elements && (i+1 == len(in) || in[i+1] == r.form.ParamOpen[1])
	case '\n':
		return r.form.Newlines && (i+1 == len(in) || in[i+1] == '<')
	case '\r':
		return r.form.Newlines && (i+1 == len(in) || in[i+1] == '\n')
	}
	return false
}

// readTail reads on in what may be the tags behind a value: newline, closing tag, blanks, and the tag that follows.
func (r *tagReader) readTail(d *driver, i int) (int, verdict) {
	for i < len(d.text.in) && len(r.tail) > 0 {
		if r.closed > 0 {
			m, n := r.follows(d.text.in, i)
			r.tail = append(r.tail, d.text.in[i:i+n]...)
			i += n
			switch m {
			case fullMatch:
				return r.endValue(d, ending{match: fullMatch, closed: true, end: r.closed, kind: r.behind.kind, next: -1}, i)
			case partMatch:
				continue
			}
		} else {
			c := d.text.in[i]
			if len(r.tail) == 1 && !r.endsValue(c) {
				r.add(d, string(r.tail), i)
				r.tail = r.tail[:0]
				return i, more
			}
			r.tail = append(r.tail, c)
			i++
			if r.expected(c) {
				i = r.skip(d.text.in, i)
				continue
			}
		}
		for ; i > 0 && d.text.in[i-1] >= 0x80 && i < len(d.text.in) && d.text.in[i]&0xC0 == 0x80; i++ { // the rest of a character
			r.tail = append(r.tail, d.text.in[i])
		}
		for r.want, r.closed = "", 0; len(r.tail) > 0; {
			t := r.tailText(d, i)
			var e ending
			if !r.form.Cdata || !openCDATA(r.text) {
				e = r.ending(d, t)
			}
			r.want = e.want
			if e.match == fullMatch {
				return r.endValue(d, e, i)
			}
			if e.match == partMatch {
				if e.closed && e.end == len(t) && !r.form.Elements {
					r.closed, r.tagFrom = e.end, 0
				}
				break
			}
			r.shift(d, t, i)
		}
	}
	return i, more
}

// follows reads what stands behind the closing tag of the value, from i on: white space, and the tag that
// follows. It returns how many bytes it read.
func (r *tagReader) follows(in string, i int) (m tagMatch, n int) {
	r.want = ""
	if r.tagFrom > 0 {
		return r.behind.take(in, i, len(r.tail)-r.tagFrom)
	}
	for from := i; ; i++ {
		switch n = i - from; {
		case n > 0 && len(r.tail)+n-r.closed > maxHeader:
			return noMatch, n
		case i == len(in):
			return partMatch, n
		case chars.IsBlank(in[i]):
			continue
		case in[i] == lineEscape[0] && r.form.Bare:
			return noMatch, n + 1 // it is for ending to say
		}
		break
	}
	r.tagFrom = len(r.tail) + n
	if len(r.behind.tags) == 0 {
		tags := r.follow()
		r.behind.begin(tags[:])
	}
	r.behind.restart()
	m, k := r.behind.take(in, i, 0)
	return m, n + k
}

// openCDATA reports whether text is a CDATA section that is not closed yet. It looks at either end only,
// however long the text.
func openCDATA(text []byte) bool {
	const open, end = "<![CDATA[", "]]>"
	first := text[:min(len(text), maxHeader)]
	for len(first) > 0 && chars.IsBlank(first[0]) {
		first = first[1:]
	}
	if len(first) == 0 || first[0] != '<' { // nearly always
		return false
	}
	last := bytes.TrimRight(text[max(0, len(text)-maxHeader):], " \t\r\n")
	return bytes.HasPrefix(first, []byte(open)) && !bytes.HasSuffix(last, []byte(end))
}

// tailText returns the tail, which ends before i. It is held, so that it need not be copied.
func (r *tagReader) tailText(d *driver, i int) string {
	if end := d.text.at(i); d.text.holding && r.tailAt+len(r.tail) == end {
		return d.text.held(r.tailAt, end)
	}
	return string(r.tail)
}

// endsValue reports whether c may follow the one byte in the tail at the end of a value.
func (r *tagReader) endsValue(c byte) bool {
	switch r.tail[0] {
	case '<':
		return c == '/' || c == r.form.ParamOpen[1]
	case ']':
		return c == r.form.ParamOpen[1]
	case '\n':
		return c == '<'
	case '\r':
		return c == '\n'
	}
	return true
}

// endValue ends the value at the tags in the tail, all of which were read.
func (r *tagReader) endValue(d *driver, e ending, i int) (int, verdict) {
	end := r.tailAt + e.end
	r.closed = 0
	if !e.closed {
		r.missing(d, r.close, end)
	}
	if line := e.end - len(r.close); r.form.Paired && e.closed && line > 0 && !r.led && !r.fresh {
		r.add(d, "\r\n"[2-line:], d.text.index(r.tailAt+line))
		r.tailAt += line
	}
	d.call.sources.within(r.valueAt, r.tailAt)
	if v := r.finishValue(d, end); v != more {
		return i, v
	}
	r.state, r.tailAt, r.tail = tBody, end, r.tail[:0]
	if r.keyAt = end + len(r.form.ParamOpen); r.form.Quoted && !r.form.Elements {
		r.keyAt++
	}
	r.keyEnd = r.keyAt + len(e.param)
	j, v := r.tag(d, e.kind, i-len(e.rest))
	switch {
	case v != more:
	case e.param != "" && r.form.ValueOpen != "":
		r.param = e.param
		r.keyed()
	case e.param != "":
		v = r.beginParam(d, e.param, i)
	case e.next >= 0:
		r.tailAt = d.text.at(i) - len(e.rest)
		return r.tag(d, e.next, i)
	}
	if v == finished && e.rest != "" {
		return d.backTo(d.text.at(i)-len(e.rest), i)
	}
	return j, v
}

// finishValue writes the value that is read, up to the offset end.
func (r *tagReader) finishValue(d *driver, end int) verdict {
	v := r.val
	v.At(end, 0)
	if r.whole {
		if r.unwrap(d) {
			if v.Err != "" {
				w := r.failAt(d, end, v.Err)
				return w
			}
			return more
		}
		if w := r.openParam(d, d.text.index(end)); w != more {
			return w
		}
		v.At(end, 0)
		if r.tailAt >= r.valueAt {
			d.call.sources.within(r.valueAt, min(end, r.tailAt))
		}
	}
	if r.stream && !r.entity {
		d.call.sources.from(r.tailAt)
		v.EndText()
		return more
	}
	text := string(r.text)
	if r.form.Entities && !r.marked && strings.IndexByte(text, '&') >= 0 {
		text = decodeEntities(text)
	}
	if r.stream { // a string whose first part went out
		d.call.sources.within(r.valueAt+r.sent, r.tailAt)
		d.call.writeEscaped(text, end)
		d.call.sources.from(end)
		v.EndText()
		return more
	}
	if r.form.Cdata {
		if s, ok := strings.CutPrefix(strings.TrimSpace(text), "<![CDATA["); ok {
			text = strings.TrimSuffix(s, "]]>")
		}
	}
	text = r.unquoted(d, text, end)
	if r.meant == "true" {
		v.OpenText()
		v.WriteText(text)
		v.EndText()
		return more
	}
	untyped := r.untyped
	if r.meant == "false" {
		untyped = shape.UntypedJSON
	}
	out, c := shape.Coerce(text, r.shape, shape.CoerceOptions{Untyped: untyped, Python: r.form.Python})
	if r.form.Elements && !r.stream {
		if number := trimZeros(text, r.shape); number != text {
			out, c = shape.Coerce(number, r.shape, shape.CoerceOptions{})
		}
		if empty := emptyText(text, r.shape); empty != "" {
			out, c = empty, shape.Fits
		}
		tree, ok := readElements(text, r.form, r.shape)
		if !ok && r.mends(d) {
			if tree, ok = readElements(closeElements(text, r.form), r.form, r.shape); ok {
				r.missing(d, r.form.ParamClose, end)
			}
		}
		if ok {
			out, c = tree, shape.Fits
		}
	}
	if t := r.shape.Type(); r.form.Nulls && !t.Has(shape.String) && strings.EqualFold(strings.TrimSpace(text), "null") {
		out, c = "null", shape.Fits
	}
	if c != shape.Fits {
		v.NoteAt(chat.NoteKind(c), text, out, end, end)
	}
	if d.call.sources == nil && v.WriteScalar(out) {
		return more
	}
	r.stands(d, out, 0)
	v.Whole(out)
	v.At(end, 0)
	d.call.sources.from(end)
	if v.Err != "" {
		w := r.failAt(d, end, v.Err)
		return w
	}
	return more
}

// stands says where out, which is to be written as the value but for skip bytes at either end, stands in the
// text, for whoever asks.
func (r *tagReader) stands(d *driver, out string, skip int) {
	if d.call.sources == nil || r.val.Held() {
		return
	}
	raw := d.text.held(r.valueAt, max(r.valueAt, r.tailAt))
	if lead := len(raw) - len(chars.TrimBlanks(raw)); strings.TrimSpace(raw) == out {
		d.call.sources.from(r.valueAt + lead + skip)
		r.val.At(r.valueAt+lead+skip, 1)
	}
}

// unquoted returns a value without what models put around it: the quotes of a string where the form has them,
// and the escapes of JSON that was written as if it stood in a string.
func (r *tagReader) unquoted(d *driver, text string, end int) string {
	t := r.shape.Type()
	switch {
	case (r.form.Strings || r.meant == "false") && (t == 0 || t.Has(shape.String)):
		if s, ok := render.Unquote(strings.TrimSpace(text)); ok {
			return s
		}
	case d.set.opts.Repair != RepairOff && t.Any(shape.Object|shape.Array) && !t.Has(shape.String) && strings.Contains(text, `\"`):
		if s, ok := value.Unquote(strings.TrimSpace(text)); ok {
			r.val.NoteAt(chat.NoteWrappedJSON, text, s, end, end)
			return s
		}
	}
	return text
}

// add takes text into the value.
func (r *tagReader) add(d *driver, s string, i int) {
	if s == "" {
		return
	}
	if r.fresh {
		r.fresh = false
		if r.form.Newlines {
			n := len(s)
			s = strings.TrimPrefix(s, "\r")
			s = strings.TrimPrefix(s, "\n")
			if r.led = len(s) < n; r.led {
				r.valueAt += n - len(s)
				d.call.sources.from(r.valueAt)
			}
			if s == "" {
				return
			}
		}
	}
	if r.stream && !r.entity {
		cut := len(s)
		if r.form.Entities && !r.marked {
			cut = r.clean(s)
		}
		end := d.text.at(i) - (len(s) - cut)
		r.val.At(end, 0)
		r.val.WriteText(s[:cut])
		r.sent = end - r.valueAt
		s = s[cut:]
	}
	r.text = append(r.text, s...)
	r.marked = r.marked || r.form.Entities && strings.IndexByte(s, '<') >= 0
}

// clean returns the length of what s begins with that is the same whether or not character references are decoded.
func (r *tagReader) clean(s string) int {
	k := referenceStop.Index(s, 0)
	if k == len(s) {
		return k
	}
	if s[k] == '<' {
		r.marked = true
		return len(s)
	}
	r.entity = true
	return k
}

func (r *tagReader) plain(*driver) *chars.Set {
	switch {
	case r.state != tValue || !r.stream || r.entity || r.fresh || len(r.tail) > 0 || r.val.Held():
		return nil
	case r.form.Entities:
		return &entityStop
	case r.form.Elements:
		return &elementStop
	}
	return &tagStop
}

// passes reports whether chunk, in the middle of a value that goes out as it comes, belongs to it as a whole.
func (r *tagReader) passes(chunk string) bool {
	for i := 0; i < len(chunk); i++ {
		if c := chunk[i]; (c == '<' || c == ']' || c == '\n' || c == '\r') && r.suspicious(chunk, i) {
			return false
		}
	}
	return true
}

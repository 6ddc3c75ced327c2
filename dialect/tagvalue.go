package dialect

import (
	"bytes"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/dialect/internal/render"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// beginText decides by its first byte whether a string goes out as it comes: one that may be written as JSON does not.
func (r *tagReader) beginText(c byte) {
	if r.waits && c != '"' && c != '<' {
		r.stream = true
		r.val.OpenText()
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
			if n, ok := d.foldedProp(d.call.tool.Args, name); ok {
				r.param, r.shape = n, nil
				r.shape, _ = d.call.tool.Args.Prop(n)
			}
		}
	}
	if r.close = r.form.ParamClose; r.form.Elements {
		if n := len(r.close); !strings.HasPrefix(r.ahead, r.close) || !strings.HasPrefix(r.ahead[n:], r.param) ||
			r.ahead[n+len(r.param):] != ">"+r.form.ParamOpen {
			r.ahead = r.close + r.param + ">" + r.form.ParamOpen
		}
		r.close = r.ahead[:len(r.ahead)-len(r.form.ParamOpen)]
	}
	r.fresh, r.led, r.state, r.text = true, false, tValue, r.text[:0]
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
	if !r.val.Key(r.param, d.text.at(i)) {
		_, v := r.fail(d, i, r.val.Err)
		return v
	}
	if r.stream {
		r.val.OpenText()
	}
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
	return name != "" && (name == r.form.Unwrap[0] || name == r.form.Unwrap[1]) && args != nil &&
		len(args.Props) > 0 && r.val.Empty() && d.set.opts.Repair != RepairOff
}

// unwrap writes the arguments that the value holds, and reports whether it holds any.
func (r *tagReader) unwrap() bool {
	object := &shape.Shape{Types: shape.Object}
	out, _ := shape.Coerce(string(r.text), object, shape.CoerceOptions{Python: true})
	if !render.IsObject(out) {
		return false
	}
	out = strings.TrimSpace(out)
	r.val.Members(out[1 : len(out)-1])
	at := r.val.Offset()
	r.val.At(at, 0)
	if r.val.Err == "" {
		r.val.NoteAt(note.WrappedJSON, r.param, "", at, at)
	}
	return true
}

// foldedProp returns the one property that differs from name only in dots, hyphens and underscores.
func (d *driver) foldedProp(s *shape.Shape, name string) (string, bool) {
	if s == nil {
		return "", false
	}
	props, known := d.folded[s]
	if !known {
		props = make(map[string]string, len(s.Props))
		for i := range s.Props {
			prop, folded := s.Props[i].Name, chars.Fold(s.Props[i].Name)
			if _, several := props[folded]; several {
				prop = ""
			}
			props[folded] = prop
		}
		if d.folded == nil {
			d.folded = map[*shape.Shape]map[string]string{}
		}
		d.folded[s] = props
	}
	prop := props[chars.Fold(name)]
	return prop, prop != ""
}

// readValue reads a value up to the tags that end it.
func (r *tagReader) readValue(d *driver, i int) (int, verdict) {
	in, from := d.text.in, i
	if r.waits {
		r.beginText(in[i])
	}
	stop := r.valueStop()
	for i = stop.Index(in, i); i < len(in); i = stop.Index(in, i+1) {
		if !r.suspicious(in, i) {
			continue
		}
		r.add(d, in[from:i], i)
		from, r.tagAt = i, d.text.at(i)
		switch e := r.ending(d, in[i:]); {
		case e.match == yes:
			return r.endValue(d, e, i)
		case e.match == maybe:
			return d.await(i, e.rest, nil)
		case in[i] == '<' || r.form.Elements && strings.HasPrefix(in[i:], r.form.ParamClose):
			r.marked = true
		}
	}
	r.add(d, in[from:], len(in))
	return len(in), more
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

// endValue ends the value at the tags that begin at i.
func (r *tagReader) endValue(d *driver, e ending, i int) (int, verdict) {
	end := r.tagAt + e.end
	if !e.closed {
		r.missing(d, r.close, end)
	}
	if line := e.end - len(r.close); r.form.Paired && e.closed && line > 0 && !r.led && !r.fresh {
		r.add(d, "\r\n"[2-line:], d.text.index(r.tagAt+line))
		r.tagAt += line
	}
	if v := r.finishValue(d, end); v != more {
		return i + e.n, v
	}
	r.state, r.tagAt = tBody, end
	j, v := r.tag(d, e.kind, i+e.n)
	switch {
	case v != more || e.param == "":
	case r.form.ValueOpen != "":
		r.param = e.param
		r.keyed()
	default:
		v = r.beginParam(d, e.param, j)
	}
	return j, v
}

// finishValue writes the value that is read, up to the offset end.
func (r *tagReader) finishValue(d *driver, end int) verdict {
	v := r.val
	v.At(end, 0)
	if r.whole {
		if r.unwrap() {
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
	}
	if r.stream && !r.entity {
		v.EndText()
		return more
	}
	text := string(r.text)
	if r.form.Entities && !r.marked && strings.IndexByte(text, '&') >= 0 {
		text = decodeEntities(text)
	}
	if r.stream { // a string whose first part went out
		d.call.writeEscaped(text, end)
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
	if v.WriteScalar(out) {
		return more
	}
	v.Whole(out)
	v.At(end, 0)
	if v.Err != "" {
		w := r.failAt(d, end, v.Err)
		return w
	}
	return more
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
	case d.set.opts.Repair != RepairOff && t.Any(shape.Object|shape.Array) && !t.Has(shape.String) &&
		strings.Contains(text, `\"`):
		if s, ok := value.Unquote(strings.TrimSpace(text)); ok {
			r.val.NoteAt(note.WrappedJSON, text, s, end, end)
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
			r.led = len(s) < n
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
	case r.state != tValue || !r.stream || r.entity || r.fresh || r.val.Held():
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

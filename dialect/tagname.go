package dialect

import (
	"bytes"
	"strconv"
	"strings"

	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// readName reads the name of a tool or of a parameter, up to the end of its tag.
func (r *tagReader) readName(d *driver, i int) (int, verdict) {
	if len(r.name) == 0 && r.quote == 0 && d.text.holding {
		if j, v := r.wholeName(d, i); j > i || v != more {
			return j, v
		}
	}
	if stop := r.nameStop(); stop != nil {
		if j := min(stop.Index(d.text.in, i), i+maxHeader+1-len(r.name)); j > i {
			if j == len(d.text.in) && len(r.name) == 0 && d.text.patient(i) {
				d.text.await(i, "", stop)
				return i, left
			}
			r.name, i = append(r.name, d.text.in[i:j]...), j
			if i == len(d.text.in) {
				return i, more
			}
		}
	}
	c := d.text.in[i]
	end := r.form.NameEnd[0]
	switch {
	case len(r.name) > maxHeader:
		return r.fail(d, i, "the name is too long")
	case r.form.Elements && r.state == tParam && c != end:
		if chars.IsBlank(c) || c == '/' || c == '<' {
			return r.fail(d, i, "the tag is not closed")
		}
	case r.form.Elements && r.state == tParam:
		return r.endName(d, i+1)
	case r.form.Loose && r.quote == 0 && c != '"' && c != '\'':
		if r.name = append(r.name, c); !looseName(string(r.name)) {
			return r.fail(d, i, "the name does not stand in quotes")
		}
		return i + 1, more
	case r.form.Quoted && r.quote == 0:
		if r.form.Loose {
			r.name = r.name[:0]
		}
		if c != '"' && c != '\'' {
			return r.fail(d, i, "the name does not stand in quotes")
		}
		r.quote, r.nameAt = c, d.text.at(i)+1
		return i + 1, more
	case r.form.Quoted && r.quote != 1:
		if c == r.quote {
			r.quote, r.nameEnd = 1, d.text.at(i) // closed
		} else if c < 0x20 || c == '<' && r.form.TagEnd == "" {
			return r.fail(d, i, "the name is not closed")
		} else {
			r.name = append(r.name, c)
		}
		return i + 1, more
	case r.form.TagEnd != "" && r.quote == 1:
		end := r.form.TagEnd
		j := strings.IndexByte(d.text.in[i:], end[len(end)-1]) + 1
		if j == 0 {
			j = len(d.text.in) - i
		}
		j = min(j, maxHeader+1-len(r.attrs))
		r.attrs, i = append(r.attrs, d.text.in[i:i+j]...), i+j
		switch {
		case len(r.attrs) > maxHeader:
			return r.fail(d, i-1, "the tag is not closed")
		case !strings.HasSuffix(string(r.attrs), end):
			return i, more
		case bytes.IndexByte(r.name, '&') >= 0:
			r.name = append(r.name[:0], decodeEntities(string(r.name))...)
		}
		return r.endName(d, i)
	case r.form.Bare:
		return r.readBare(d, c, i)
	case c == end:
		return r.endName(d, i+1)
	case r.form.Attributes && r.quote == 1 && c != '<' && c != '\n' && len(r.attrs) < maxHeader:
		r.attrs = append(r.attrs, c)
		return i + 1, more
	case r.form.Quoted && (c == ' ' || c == '\t'):
		return i + 1, more
	case c == '<' || c == '\n' || r.form.Quoted:
		return r.fail(d, i, "the tag is not closed")
	}
	r.name = append(r.name, c)
	return i + 1, more
}

// wholeName reads a name and what ends it at once, if the input holds both. It returns where it ends, or i.
// What may be the start of both waits for the rest.
func (r *tagReader) wholeName(d *driver, i int) (int, verdict) {
	f, in := r.form, d.text.in
	switch {
	case f.Elements || f.TagEnd != "":
		return i, more
	case f.Quoted:
		return r.wholeQuoted(d, i)
	}
	stop := &tagNameStop
	if f.Bare && r.state == tName {
		stop = &bareNameStop
	}
	to := stop.Index(in, i)
	if to == len(in) || to == i || to-i > maxHeader {
		return i, more
	}
	name, rest := in[i:to], in[to:]
	r.keyAt, r.keyEnd = d.text.at(i), d.text.at(to)
	switch {
	case f.Bare && r.state == tParam && strings.HasPrefix(rest, f.ParamEnd):
		r.param = strings.TrimSpace(name)
		r.keyed()
		return to + len(f.ParamEnd), more
	case f.Bare && r.state == tName && (rest[0] == '\n' || !chars.IsBlank(rest[0])):
		return to, r.named(d, strings.TrimSuffix(name, lineEscape), to)
	case !f.Bare && rest[0] == f.NameEnd[0]:
		return r.takeName(d, name, to+1)
	}
	return i, more
}

// looseLead is what mostly stands before the quote of a name where the tag ends before the attribute.
const looseLead = ` name=`

// wholeQuoted is wholeName for a name in quotes, with the attributes that may stand behind it.
func (r *tagReader) wholeQuoted(d *driver, i int) (int, verdict) {
	f, in, from := r.form, d.text.in, i
	if f.Loose && in[i] != '"' {
		if from = i + common(looseLead, in[i:]); from == len(in) && d.text.patient(i) {
			d.text.await(i, looseLead[from-i:], nil)
			return i, left
		}
		if from != i+len(looseLead) {
			return i, more
		}
	}
	if from == len(in) || in[from] != '"' {
		return i, more
	}
	from++
	to := quotedNameStop.Index(in, from)
	switch {
	case to == len(in) && d.text.patient(i):
		d.text.await(i, "", &quotedNameStop)
		return i, left
	case to == len(in) || to == from || to-from > maxHeader || in[to] != '"':
		return i, more
	case to+1 == len(in) && d.text.patient(i):
		d.text.await(i, "", nil)
		return i, left
	case to+1 == len(in):
		return i, more
	}
	r.keyAt, r.keyEnd = d.text.at(from), d.text.at(to)
	if in[to+1] == f.NameEnd[0] {
		return r.takeName(d, in[from:to], to+2)
	}
	if !f.Attributes {
		return i, more
	}
	end := attributeStop.Index(in, to+1)
	switch {
	case end == len(in) && d.text.patient(i):
		d.text.await(i, "", &attributeStop)
		return i, left
	case end == len(in) || in[end] != f.NameEnd[0] || end-to > maxHeader:
		return i, more
	}
	r.name, r.quote, r.nameAt, r.nameEnd = append(r.name, in[from:to]...), 1, d.text.at(from), d.text.at(to)
	r.attrs = append(r.attrs, in[to+1:end]...)
	return r.endName(d, end+1)
}

// takeName takes the name in a tag that ends before i.
func (r *tagReader) takeName(d *driver, name string, i int) (int, verdict) {
	name = strings.TrimSpace(name)
	if r.meant = ""; r.state == tParam {
		return i, r.beginParam(d, name, i)
	}
	return i, r.named(d, name, i)
}

// nameStop returns the bytes of which each needs a look in the name, where all others belong to it, else nil.
func (r *tagReader) nameStop() *chars.Set {
	f := r.form
	switch {
	case f.Elements || f.Quoted && r.quote <= 1:
		return nil
	case f.Quoted:
		return &quotedNameStop
	case !f.Bare:
		return &tagNameStop
	case r.state == tParam:
		return &tagNameStop
	case len(r.name) > 0 && chars.IsBlank(r.name[len(r.name)-1]):
		return nil
	}
	return &bareNameStop
}

// nameText returns the name that was read. If it ends before i it is held, so that it need not be copied.
func (r *tagReader) nameText(d *driver, i int) string {
	switch end := d.text.at(i); {
	case !d.text.holding || r.form.TagEnd != "":
	case !r.form.Quoted:
		return d.text.held(end-len(r.name), end)
	case r.quote == 1 && r.nameAt >= d.text.holdAt:
		return d.text.held(r.nameAt, r.nameAt+len(r.name))
	}
	return string(r.name)
}

// endName ends the tag with a name before i.
func (r *tagReader) endName(d *driver, i int) (int, verdict) {
	name := strings.TrimSpace(r.nameText(d, i-1))
	r.keyAt, r.keyEnd = d.text.at(i)-1-len(r.name), d.text.at(i)-1
	if r.form.Quoted && !r.form.Elements {
		r.keyAt, r.keyEnd = r.nameAt, r.nameEnd
	}
	closed := len(r.attrs) > 0 && r.attrs[len(r.attrs)-1] == '/'
	r.meant = r.meaning()
	r.name, r.quote, r.attrs = r.name[:0], 0, r.attrs[:0]
	if r.state == tParam {
		if closed {
			return r.fail(d, i, "a parameter without a value")
		}
		return i, r.beginParam(d, name, i)
	}
	v := r.named(d, name, i)
	if closed && v == more {
		return r.tag(d, tagCallClose, i)
	}
	return i, v
}

// meaning returns what the attributes say about how the value is meant, or nothing.
func (r *tagReader) meaning() (meant string) {
	if len(r.attrs) == 0 {
		return ""
	}
	for _, m := range attributeMeanings {
		if bytes.Contains(r.attrs, m.text) {
			meant = m.meant
		}
	}
	if r.form.Typed == "" {
		return meant
	}
	typed := ""
	for rest, ok := string(r.attrs), true; ok && typed != "true"; {
		if _, rest, ok = strings.Cut(rest, ` type="`); ok {
			kind, quoted := strings.CutPrefix(rest, r.form.Typed)
			typed = strconv.FormatBool(quoted && strings.HasPrefix(kind, `"`))
		}
	}
	if typed != "" {
		return typed
	}
	return meant
}

// attributeMeanings are the attributes that say how a value is meant; the last one counts.
var attributeMeanings = [...]struct {
	text  []byte
	meant string
}{
	{[]byte(`string="true"`), "true"}, {[]byte("string='true'"), "true"},
	{[]byte(`string="false"`), "false"}, {[]byte("string='false'"), "false"},
}

// looseName reports whether s is, or begins, what stands before the quote of a name: white space, which a
// tokenizer may have left as its own sign, or lost, and name=.
func looseName(s string) bool {
	for s != "" && chars.IsBlank(s[0]) {
		s = s[1:]
	}
	const sign = "Ġ"
	if strings.HasPrefix(sign, s) {
		return true
	}
	return strings.HasPrefix("name=", strings.TrimPrefix(s, sign))
}

// readBare reads a byte of a name that stands in no tag, or of a parameter's name in an element.
func (r *tagReader) readBare(d *driver, c byte, i int) (int, verdict) {
	f := r.form
	if r.state == tParam {
		r.name = append(r.name, c)
		if c != '>' {
			return i + 1, more
		}
		text := r.nameText(d, i+1)
		for _, end := range [...]string{f.ParamEnd, f.ValueOpen} { // the first of the two may be missing
			if name, ok := strings.CutSuffix(text, end); ok {
				r.keyAt = d.text.at(i) + 1 - len(r.name)
				r.keyEnd = r.keyAt + len(name)
				r.name = r.name[:0]
				r.param = strings.TrimSpace(name)
				r.keyed()
				if end == f.ValueOpen {
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
	if n := len(r.name); n > 0 && chars.IsBlank(r.name[n-1]) && !chars.IsBlank(c) {
		return r.fail(d, i, "the name has two words")
	}
	r.name = append(r.name, c)
	return i + 1, more
}

// keyed goes on behind the name of a parameter.
func (r *tagReader) keyed() {
	r.state, r.tail, r.untyped = tPair, r.tail[:0], r.form.Untyped
}

// readType reads the element that names the type of a value. It counts where the schema says nothing.
func (r *tagReader) readType(d *driver, i int) (int, verdict) {
	for ; i < len(d.text.in); i++ {
		if len(r.name) > maxHeader {
			return r.fail(d, i, "the name of a type is too long")
		}
		if r.name = append(r.name, d.text.in[i]); d.text.in[i] != '>' {
			continue
		}
		if kind, ok := strings.CutSuffix(string(r.name), r.form.TypeClose); ok {
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
func (r *tagReader) named(d *driver, name string, i int) verdict {
	r.written = name
	r.tool, _, r.known = d.set.names.resolve(name)
	if clean, escaped := unescapeName(name); escaped && !r.known {
		r.tool, _, r.known = d.set.names.resolve(clean)
	}
	r.state, r.blanks = tBody, 0
	r.tail, r.tailAt = r.tail[:0], d.text.at(i)
	r.val = nil
	return more
}

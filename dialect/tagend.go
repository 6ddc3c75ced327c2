package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// shift gives the beginning of the tail t, which turned out to be no end, to the value.
func (r *tagReader) shift(d *driver, t string, i int) {
	n := 1
	if strings.HasPrefix(t, "\r\n") {
		n = 2
	}
	if t[0] == '<' || r.form.Elements && strings.HasPrefix(t, r.form.ParamClose) {
		r.marked = true
	}
	for n < len(t) && t[n] != r.form.ParamOpen[0] && t[n] != '\n' && t[n] != '\r' {
		n++
	}
	r.add(d, t[:n], i-len(t)+n)
	r.tail, r.tailAt = append(r.tail[:0], t[n:]...), r.tailAt+n
}

// An ending is what the tail of a value looks like.
type ending struct {
	match  tagMatch
	closed bool    // the value has its own closing tag
	end    int     // where the value's markup ends in the tail
	kind   tagKind // of the tag that follows
	param  string  // the parameter that begins, if its whole tag was read
	next   tagKind // of the tag behind kind; -1: not read
	rest   string  // what was read behind the tag of kind
	want   string  // of a part: bytes that may follow and decide nothing but at their end
}

// ending says whether t ends the value.
func (r *tagReader) ending(d *driver, t string) ending {
	at := 0
	if r.form.Newlines {
		if strings.HasPrefix(t, "\r") {
			at = 1
		}
		if strings.HasPrefix(t[at:], "\n") {
			at++
		} else if at == 1 && len(t) > 1 {
			return ending{}
		}
		if at == len(t) {
			return ending{match: partMatch}
		}
	}
	if t[at] != r.form.ParamOpen[0] {
		if t[0] >= 0x80 {
			return ending{match: partMatch}
		}
		return ending{}
	}
	e := r.properEnd(t, at)
	if e.match == noMatch && r.mends(d) {
		e = r.missingClose(d, t, at)
	}
	return e
}

// wholeEnd looks for the proper end of the value where s holds all of it, and returns its length, else 0.
func (r *tagReader) wholeEnd(s string) (e ending, n int) {
	if r.form.Cdata && openCDATA(r.text) {
		return e, 0
	}
	if r.form.Newlines {
		n = lineBreak(s)
	}
	if !strings.HasPrefix(s[n:], r.close) {
		return e, 0
	}
	e = ending{closed: true, end: n + len(r.close), next: -1}
	tag := r.trim(s[e.end:])
	n = len(s) - len(tag)
	if n-e.end > maxHeader {
		return e, 0
	}
	k, size := r.nextTag(tag)
	if size == 0 {
		return e, 0
	}
	e.kind = k
	return e, n + size
}

// restOfEnd returns how s most likely goes on where it begins the end of the value, and whether it does begin
// it. Nothing is what it goes on with if the very next byte decides.
func (r *tagReader) restOfEnd(s string) (rest string, ok bool) {
	if r.form.Cdata && openCDATA(r.text) {
		return "", false
	}
	if r.form.Newlines {
		s = s[lineBreak(s):]
	}
	if rest, ok = strings.CutPrefix(r.ahead, s); ok {
		return rest, rest != "" || r.form.Elements
	}
	if !strings.HasPrefix(s, r.close) {
		return "", false
	}
	tag, tags := r.trim(s[len(r.close):]), r.follow()
	if tag == "" {
		return "", false
	}
	return r.restOfTag(tags[:], tag)
}

// restOfTag returns how s goes on if it begins one of the tags, and whether it does.
func (r *tagReader) restOfTag(tags []string, s string) (rest string, ok bool) {
	rest = goesOn(tags, s)
	return rest, rest != "" || r.form.Elements && s == r.form.ParamOpen
}

// wholeTag looks for one of the tags at the start of s and returns its length, or 0. That of a parameter
// which ends before the name has its first byte: of a closing tag that is a slash.
func (r *tagReader) wholeTag(s string, tags []string) (k tagKind, n int) {
	for k, tag := range tags {
		switch {
		case tag == "" || !strings.HasPrefix(s, tag):
		case !r.form.Elements || k != int(tagParam):
			return tagKind(k), len(tag)
		case len(s) == len(tag):
			return 0, 0
		case s[len(tag)] != '/':
			r.name = append(r.name[:0], s[len(tag)])
			return tagParam, len(tag) + 1
		}
	}
	return 0, 0
}

// nextTag looks for the tag at the start of s that may stand behind a value, and returns its length, or 0.
func (r *tagReader) nextTag(s string) (k tagKind, n int) {
	switch f := r.form; {
	case f.Elements:
	case strings.HasPrefix(s, f.ParamOpen):
		return tagParam, len(f.ParamOpen)
	case strings.HasPrefix(s, f.CallClose):
		return tagCallClose, len(f.CallClose)
	}
	tags := r.follow()
	return r.wholeTag(s, tags[:])
}

// trim returns what stands behind a tag without white space before it.
func (r *tagReader) trim(s string) string {
	s = chars.TrimBlanks(s)
	for r.form.Bare && strings.HasPrefix(s, lineEscape) {
		s = chars.TrimBlanks(s[len(lineEscape):])
	}
	return s
}

// lineBreak returns the length of the line break that s begins with.
func lineBreak(s string) int {
	switch {
	case strings.HasPrefix(s, "\n"):
		return 1
	case strings.HasPrefix(s, "\r\n"):
		return 2
	}
	return 0
}

// follow returns the tags that may stand behind a value, by kind.
func (r *tagReader) follow() [tagCallOpen + 1]string {
	return [...]string{tagParam: r.form.ParamOpen, tagCallClose: r.form.CallClose, tagSectionClose: r.closer(), tagCallOpen: r.form.CallOpen}
}

// properEnd looks for the closing tag of the value and a tag that may follow it.
func (r *tagReader) properEnd(t string, at int) ending {
	m := matchTag(t[at:], r.close)
	if m != fullMatch {
		e := ending{match: m}
		if m == partMatch {
			e.want = r.close[len(t)-at:]
		}
		return e
	}
	e := ending{closed: true, end: at + len(r.close), next: -1}
	rest := t[e.end:]
	tag := r.trim(rest)
	if len(rest)-len(tag) > maxHeader {
		return ending{}
	}
	if tag == "" || r.form.Bare && tag == lineEscape[:1] {
		e.match = partMatch
		return e
	}
	for k, f := range r.follow() {
		if f == "" {
			continue
		}
		m := matchTag(tag, f)
		if m == fullMatch && r.form.Elements && k == int(tagParam) {
			if len(tag) == len(f) || tag[len(f)] == '/' {
				m = partMatch
			} else {
				r.name = append(r.name[:0], tag[len(f):]...)
			}
		}
		if m == partMatch && len(tag) < len(f) {
			if e.match == noMatch {
				e.want = f[len(tag):]
			}
			e.want = e.want[:common(e.want, f[len(tag):])]
		}
		if m > e.match {
			e.match, e.kind = m, tagKind(k)
		}
	}
	return e
}

// missingClose looks for a tag that ends a value whose own closing tag is missing. That of a parameter does
// so only if the tool has that parameter, the end of the call only if what may follow it follows.
func (r *tagReader) missingClose(d *driver, t string, at int) ending {
	f, text := r.form, t[at:]
	e := ending{end: at, kind: tagParam, next: -1}
	begins := matchTag(text, f.ParamOpen)
	if f.Elements {
		switch t := r.shape.Type(); {
		case r.marked || t == 0 || t.Any(shape.Object|shape.Array): // which elements may be in
			return ending{}
		case matchTag(text, f.CallClose) != noMatch && len(text) > len(f.ParamOpen):
			begins = noMatch
		}
	}
	switch begins {
	case partMatch:
		e.match, e.want = partMatch, f.ParamOpen[len(text):]
		return e
	case fullMatch:
		rest := text[len(f.ParamOpen):]
		name, _, whole := strings.Cut(rest, f.ParamEnd)
		if !whole {
			begun := strings.IndexAny(rest, "\n<")
			if len(rest) <= maxHeader && (begun < 0 || len(f.ParamEnd) > 1 && strings.HasPrefix(f.ParamEnd, rest[begun:])) {
				e.match = partMatch
			}
			return e
		}
		e.param = strings.Trim(strings.TrimSpace(name), `"'`)
		if r.known && e.param != r.param && d.call.tool.Args != nil {
			_, ok := d.call.tool.Args.Prop(e.param)
			if ok || f.Bare && len(d.call.tool.Args.Props) == 0 { // of which nothing is known
				e.match = fullMatch
			}
		}
		return e
	}
	e.kind = tagCallClose
	e.match = matchTag(text, f.CallClose)
	if e.match != fullMatch {
		return e
	}
	rest := chars.TrimBlanks(text[len(f.CallClose):])
	if rest == "" {
		e.match = partMatch
		return e
	}
	if r.section == nil && !f.Bare { // anything may follow but the proper end of this value, of which the tag is then a part
		switch matchTag(rest, f.ParamClose) {
		case partMatch:
			e.match = partMatch
		case fullMatch:
			e.match = noMatch
		default:
			e.rest = text[len(f.CallClose):]
		}
		return e
	}
	e.match, e.rest = noMatch, rest
	for _, k := range [...]tagKind{tagSectionClose, tagCallOpen} {
		tag := f.CallOpen
		if k == tagSectionClose {
			tag = r.closer()
		}
		if m := matchTag(rest, tag); tag != "" && m > e.match {
			e.match, e.next = m, k
		}
	}
	return e
}

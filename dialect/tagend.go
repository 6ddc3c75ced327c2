package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// An ending describes a place where a value may end.
type ending struct {
	match
	closed bool    // the value has its own closing tag
	end    int     // where the value's markup ends
	kind   tagKind // of the tag that follows
	n      int     // where that ends
	param  string  // the parameter that begins there, if its whole tag was read
	rest   string  // maybe: how it most likely goes on
}

// ending says whether the value ends with what s begins with.
func (r *tagReader) ending(d *driver, s string) ending {
	if r.form.Cdata && openCDATA(r.text) {
		return ending{}
	}
	at := 0
	if r.form.Newlines {
		if at = lineBreak(s); at == len(s) || s == "\r" {
			return ending{match: maybe}
		}
	}
	if s[at] != r.form.ParamOpen[0] {
		return ending{}
	}
	e := r.properEnd(s, at)
	if e.match == no && r.mends(d) {
		e = r.missingClose(d, s, at)
	}
	if e.match == maybe && e.rest != "" && strings.HasPrefix(r.ahead, s[at:]) {
		e.rest = r.ahead[len(s)-at:]
	}
	return e
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
	return [...]string{tagParam: r.form.ParamOpen, tagCallClose: r.form.CallClose, tagSectionClose: r.closer(),
		tagCallOpen: r.form.CallOpen}
}

// properEnd looks for the closing tag of the value at the offset at of s, and a tag that may follow it.
func (r *tagReader) properEnd(s string, at int) ending {
	if m := agrees(s[at:], r.close); m != yes {
		e := ending{match: m}
		if m == maybe {
			e.rest = r.close[len(s)-at:]
		}
		return e
	}
	e := ending{closed: true, end: at + len(r.close)}
	behind := s[e.end:min(len(s), e.end+2*maxHeader)]
	tag := r.trim(behind)
	e.n = e.end + len(behind) - len(tag)
	switch {
	case e.n-e.end > maxHeader:
		return ending{}
	case tag == "" || r.form.Bare && tag == lineEscape[:1]:
		e.match = maybe
		return e
	}
	tags := r.follow()
	t := r.choose(tags[:], tag)
	e.match, e.kind, e.rest = t.match, tagKind(t.kind), t.rest
	e.n += t.n
	return e
}

// missingClose looks for a tag that ends a value whose own closing tag is missing. That of a parameter does
// so only if the tool has that parameter, the end of the call only if what may follow it follows.
func (r *tagReader) missingClose(d *driver, s string, at int) ending {
	f, text := r.form, s[at:]
	begins := agrees(text, f.ParamOpen)
	if f.Elements {
		switch t := r.shape.Type(); {
		case r.marked || t == 0 || t.Any(shape.Object|shape.Array): // which elements may be in
			return ending{}
		case agrees(text, f.CallClose) != no && len(text) > len(f.ParamOpen):
			begins = no
		}
	}
	switch begins {
	case maybe:
		return ending{match: maybe, rest: f.ParamOpen[len(text):]}
	case yes:
		return r.missingBefore(d, text[len(f.ParamOpen):], at)
	}
	e := ending{match: agrees(text, f.CallClose), end: at, kind: tagCallClose, n: at + len(f.CallClose)}
	if e.match != yes {
		return e
	}
	rest := chars.TrimBlanks(text[len(f.CallClose):min(len(text), len(f.CallClose)+maxHeader)])
	switch {
	case rest == "" && len(text) < len(f.CallClose)+maxHeader:
		e.match = maybe
	case r.section == nil && !f.Bare:
		// anything may follow but the proper end of this value, of which the tag is then a part
		switch agrees(rest, f.ParamClose) {
		case maybe:
			e.match = maybe
		case yes:
			e.match = no
		}
	default:
		e.match = choose([]string{r.closer(), f.CallOpen}, rest).match
	}
	return e
}

// missingBefore looks for the name of a parameter, and for the end of its tag, in s. The tag begins at the offset at.
func (r *tagReader) missingBefore(d *driver, s string, at int) ending {
	f := r.form
	e := ending{end: at, kind: tagParam}
	name := s[:min(len(s), maxHeader+len(f.ParamEnd))]
	end, begun := strings.Index(name, f.ParamEnd), strings.IndexAny(name, "\n<")
	switch {
	case begun >= 0 && (end < 0 || begun < end):
		if strings.HasPrefix(f.ParamEnd, name[begun:]) {
			e.match = maybe
		}
		return e
	case end < 0:
		if len(s) <= maxHeader {
			e.match = maybe
		}
		return e
	}
	e.n = at + len(f.ParamOpen) + end + len(f.ParamEnd)
	e.param = strings.Trim(strings.TrimSpace(name[:end]), `"'`)
	if r.known && e.param != r.param && d.call.tool.Args != nil {
		_, ok := d.call.tool.Args.Prop(e.param)
		if ok || f.Bare && len(d.call.tool.Args.Props) == 0 { // of which nothing is known
			e.match = yes
		}
	}
	return e
}

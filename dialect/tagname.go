package dialect

import (
	"strconv"
	"strings"

	"wield/dialect/internal/chars"
	"wield/dialect/internal/form"
	"wield/schema/shape"
)

// A tagName is the name of a tool or of a parameter, with the end of its tag.
type tagName struct {
	match
	text  string
	attrs string // what stands behind it
	n     int    // where the tag ends; no: the byte that shows it
	why   string // no: what is wrong
	value bool   // the tag that opens the value was read as well
	stop  *chars.Set
	rest  string // maybe: how it most likely goes on
}

// readName reads a name, up to the end of its tag.
func (r *tagReader) readName(d *driver, i int) (int, verdict) {
	f, s := r.form, d.text.in[i:]
	var t tagName
	switch {
	case f.Bare && r.state == tParam:
		t = pairName(s, f)
	case f.Bare:
		if n := blankLine(s); n > 0 {
			return i + n, more
		}
		t = bareName(s)
	case f.Elements && r.state == tParam:
		t = plainName(s, '>', &elementNameStop)
	case f.Quoted:
		t = quotedName(s, f)
	default:
		t = plainName(s, f.NameEnd[0], &tagNameStop)
	}
	switch t.match {
	case no:
		return r.fail(d, i+t.n, t.why)
	case maybe:
		return d.await(i, t.rest, t.stop)
	}
	name := strings.TrimSpace(t.text)
	if i += t.n; f.Bare && r.state == tParam {
		if r.param = name; t.value {
			r.keyed()
			return i, r.beginParam(d, name, i)
		}
		r.keyed()
		return i, more
	}
	closed := strings.HasSuffix(t.attrs, "/")
	r.meant = attributesMean(t.attrs, f)
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

// plainName reads a name that ends where its tag does.
func plainName(s string, end byte, stop *chars.Set) tagName {
	switch n := stop.Index(s, 0); {
	case n > maxHeader:
		return tagName{n: maxHeader + 1, why: "the name is too long"}
	case n == len(s):
		return tagName{match: maybe, stop: stop}
	case s[n] != end:
		return tagName{n: n, why: "the tag is not closed"}
	default:
		return tagName{match: yes, text: s[:n], n: n + 1}
	}
}

// blankLine returns the length of the blank line that s begins with, or 0.
func blankLine(s string) int {
	rest := strings.TrimLeft(s, " \t\r")
	if strings.HasPrefix(rest, "\n") {
		return len(s) - len(rest) + 1
	}
	return 0
}

// bareName reads the name of a tool that stands in no tag: it ends with its line, or where a tag or an object begins.
func bareName(s string) tagName {
	n := bareNameStop.Index(s, 0)
	end := n
	for end < len(s) && s[end] != '\n' && chars.IsBlank(s[end]) {
		end++
	}
	switch {
	case end > maxHeader:
		return tagName{n: maxHeader + 1, why: "the name is too long"}
	case n == len(s):
		return tagName{match: maybe, stop: &bareNameStop}
	case end == len(s):
		return tagName{match: maybe}
	case s[end] != '\n' && s[end] != '<' && s[end] != '{':
		return tagName{n: end, why: "the name has two words"}
	case n == 0:
		return tagName{n: end, why: "the name is missing"}
	}
	return tagName{match: yes, text: strings.TrimSuffix(s[:n], lineEscape), n: end}
}

// pairName reads the name of a parameter that stands in an element, with its closing tag or, where that is missing,
// the one that opens the value.
func pairName(s string, f *form.Tags) tagName {
	for n := strings.IndexByte(s, '>') + 1; n > 0 && n <= maxHeader; {
		for _, end := range [...]string{f.ParamEnd, f.ValueOpen} {
			if name, ok := strings.CutSuffix(s[:n], end); ok {
				return tagName{match: yes, text: name, n: n, value: end == f.ValueOpen}
			}
		}
		k := strings.IndexByte(s[n:], '>') + 1
		if k == 0 {
			break
		}
		n += k
	}
	if len(s) > maxHeader {
		return tagName{n: maxHeader + 1, why: "the name is too long"}
	}
	t := tagName{match: maybe, stop: &openTagStop}
	if k := strings.LastIndexByte(s, '<'); k >= 0 {
		t.rest, _ = strings.CutPrefix(f.ParamEnd, s[k:])
		t.stop = nil
	}
	return t
}

// quotedName reads a name in quotes, with the attributes that may stand behind it.
func quotedName(s string, f *form.Tags) tagName {
	const unquoted, unclosed = "the name does not stand in quotes", "the tag is not closed"
	from := 0
	if f.Loose {
		from = looseLead(s)
	}
	switch {
	case from > maxHeader:
		return tagName{n: maxHeader + 1, why: "the name is too long"}
	case from == len(s):
		return tagName{match: maybe, rest: goesOn([]string{" name="}, s)}
	case s[from] != '"' && s[from] != '\'':
		return tagName{n: from, why: unquoted}
	}
	quote := s[from]
	from++
	to := quotedNameStop.Index(s, from)
	for to < len(s) && s[to] != quote && s[to] >= 0x20 && (s[to] != '<' || f.TagEnd != "") {
		to = quotedNameStop.Index(s, to+1)
	}
	switch {
	case to-from > maxHeader:
		return tagName{n: from + maxHeader + 1, why: "the name is too long"}
	case to == len(s):
		return tagName{match: maybe, stop: &quotedNameStop}
	case s[to] != quote:
		return tagName{n: to, why: "the name is not closed"}
	}
	t := tagName{match: yes, text: s[from:to]}
	behind := s[to+1:]
	n, size := 0, 1
	if f.TagEnd != "" {
		n, size = strings.Index(behind, f.TagEnd), len(f.TagEnd)
		if n < 0 {
			n = len(behind)
		}
		if strings.IndexByte(t.text, '&') >= 0 {
			t.text = decodeEntities(t.text)
		}
	} else {
		for n < len(behind) && behind[n] != f.NameEnd[0] {
			if c := behind[n]; c != ' ' && c != '\t' && (!f.Attributes || c == '<' || c == '\n') {
				break
			}
			n++
		}
	}
	switch {
	case n+size > maxHeader:
		return tagName{n: to + 1 + maxHeader, why: unclosed}
	case n == len(behind):
		return tagName{match: maybe, rest: goesOn([]string{f.TagEnd}, behind)}
	case f.TagEnd == "" && behind[n] != f.NameEnd[0]:
		return tagName{n: to + 1 + n, why: unclosed}
	}
	t.attrs, t.n = behind[:n], to+1+n+size
	return t
}

// looseLead returns the length of what stands before the quote of a name where the tag ends before the attribute:
// white space, which a tokenizer may have left as its own sign, or lost, and name=. It ends at the byte that cannot
// stand there.
func looseLead(s string) int {
	n := len(s) - len(chars.TrimBlanks(s))
	n += common("Ġ", s[n:])
	return n + common("name=", s[n:])
}

// keyed goes on behind the name of a parameter.
func (r *tagReader) keyed() {
	r.state, r.untyped = tPair, r.form.Untyped
}

// readType reads the element that names the type of a value. It counts where the schema says nothing.
func (r *tagReader) readType(d *driver, i int) (int, verdict) {
	n := strings.Index(d.text.in[i:], r.form.TypeClose)
	switch {
	case n > maxHeader || n < 0 && len(d.text.in)-i > maxHeader:
		return r.fail(d, i+maxHeader+1, "the name of a type is too long")
	case n < 0:
		return d.await(i, "", nil)
	}
	r.keyed()
	if strings.HasPrefix(strings.TrimSpace(d.text.in[i:i+n]), "str") {
		r.untyped = shape.UntypedString
	}
	return i + n + len(r.form.TypeClose), more
}

// named takes the name of the tool. The call begins when the first tag behind it is known.
func (r *tagReader) named(d *driver, name string, i int) verdict {
	r.written = name
	r.tool, _, r.known = d.set.names.resolve(name)
	if clean, escaped := unescapeName(name); escaped && !r.known {
		r.tool, _, r.known = d.set.names.resolve(clean)
	}
	r.state, r.blanks, r.tagAt = tBody, 0, d.text.at(i)
	r.val = nil
	return more
}

// attributesMean returns what the attributes of a tag of the form say about how a value is meant, or nothing.
func attributesMean(attrs string, f *form.Tags) (meant string) {
	if attrs == "" {
		return ""
	}
	for _, m := range attributeMeanings {
		if strings.Contains(attrs, m.text) {
			meant = m.meant
		}
	}
	if f.Typed == "" {
		return meant
	}
	typed := ""
	for rest, ok := attrs, true; ok && typed != "true"; {
		if _, rest, ok = strings.Cut(rest, ` type="`); ok {
			kind, quoted := strings.CutPrefix(rest, f.Typed)
			typed = strconv.FormatBool(quoted && strings.HasPrefix(kind, `"`))
		}
	}
	if typed != "" {
		return typed
	}
	return meant
}

// attributeMeanings are the attributes that say how a value is meant; the last one counts.
var attributeMeanings = [...]struct{ text, meant string }{
	{`string="true"`, "true"}, {"string='true'", "true"}, {`string="false"`, "false"}, {"string='false'", "false"},
}

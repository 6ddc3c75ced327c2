package dialect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/value"
	"wield/schema/shape"
)

// A lineReader reads a call that is written as lines:
//
//	TOOL: NAME
//	ARGS:
//	  key: value
//
// The call ends at a blank line, at a line that is not indented, and at the end of the text. Values are typed
// by the schema; block scalars, lists and nested objects are read as in YAML. The arguments go out when the
// call ends.
type lineReader struct {
	brief
	state  lineState
	within bool // a part of the line was read
	lineAt int
	tool   int
	name   string
	lines  []string
	inline string // what stands behind ARGS: on its line
	block  bool   // the last line opened a block scalar, or belongs to one
	indent int    // of the line that opened it
	parser blockParser
	out    []byte
}

type lineState uint8

const (
	lName lineState = iota // behind TOOL:
	lArgs                  // on the line that should say ARGS:
	lBody                  // in the arguments
)

func newLines(d *driver, _ *opener) body {
	r := ready(&d.readers.lines)
	*r = lineReader{lines: r.lines[:0], parser: r.parser, out: r.out[:0]}
	return r
}

func (r *lineReader) run(d *driver, i int) (int, verdict) {
	for i < len(d.text.in) {
		if !r.within {
			r.within, r.lineAt = true, d.text.at(i)
			if v, over := r.firstByte(d, d.text.in[i], i); over {
				r.within = false
				return i, v
			}
		}
		to := len(d.text.in)
		n := strings.IndexByte(d.text.in[i:], '\n')
		if n >= 0 {
			to = i + n + 1
		}
		if most := d.text.index(r.lineAt + maxHeader); r.state != lBody && to > most {
			return most, refused
		}
		if i = to; n < 0 {
			break
		}
		if v := r.endLine(d, i); v != more {
			return i, v
		}
	}
	switch {
	case !d.text.patient(len(d.text.in)):
	case r.within && r.state == lBody:
		d.text.await(len(d.text.in), "", &lineStop)
	case !r.within && r.state == lArgs:
		d.text.await(len(d.text.in), argsLine, nil)
	}
	return i, more
}

// argsLine is the line behind that of the name.
const argsLine = "ARGS:\n"

// firstByte decides by the first byte of a line whether the call goes on.
func (r *lineReader) firstByte(d *driver, c byte, i int) (v verdict, over bool) {
	switch r.state {
	case lArgs:
		if c != 'A' {
			return r.finish(d, i), true
		}
	case lBody:
		if r.block && (c == '\n' || c == '\r') {
			break
		}
		if c != ' ' && c != '\t' && !(c == '-' && r.inline == "" && len(r.lines) == 0) {
			return r.finish(d, i), true
		}
	}
	return more, false
}

// endLine takes the line that ends before i.
func (r *lineReader) endLine(d *driver, i int) verdict {
	line := d.text.held(r.lineAt, d.text.at(i))
	for line != "" && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	r.within = false
	switch r.state {
	case lName:
		name := strings.Trim(strings.TrimSpace(line), `"'`+"`")
		tool, _, ok := d.set.names.resolve(name)
		if !ok {
			return refused
		}
		r.tool, r.name, r.state = tool, name, lArgs
	case lArgs:
		rest, ok := strings.CutPrefix(line, "ARGS:")
		if !ok {
			return r.finishBefore(d, i)
		}
		r.state = lBody
		r.inline = strings.TrimSpace(rest)
		d.call.start(r.tool, r.name, "", d.text.candAt, d.text.at(i))
	case lBody:
		if text := strings.TrimSpace(line); text != "" {
			r.track(line, text)
		} else if !r.block {
			return r.finish(d, i)
		}
		r.lines = append(r.lines, line)
	}
	return more
}

// track notes whether a line opens a block scalar or belongs to the one that is open: blank lines count in it. text is
// the line without the white space around it.
func (r *lineReader) track(line, text string) {
	if r.block && indentOf(line) > r.indent {
		return
	}
	r.block = false
	switch text[len(text)-1] {
	case '|', '>', '-', '+':
		_, rest, _ := cutKey(strings.TrimPrefix(text, "- "))
		r.block, r.indent = isBlockStyle(rest) || strings.HasPrefix(text, "- ") && isBlockStyle(text[2:]),
			indentOf(line)
	}
}

func isBlockStyle(s string) bool {
	switch s {
	case "|", "|-", "|+", ">", ">-", ">+":
		return true
	}
	return false
}

// finishBefore ends the call before a line that is not its own.
func (r *lineReader) finishBefore(d *driver, i int) verdict {
	if r.wants(d) {
		return refused
	}
	held := d.text.held(r.lineAt, d.text.at(i))
	d.call.start(r.tool, r.name, "", d.text.candAt, r.lineAt)
	d.call.Write("{}", r.lineAt)
	d.call.end(r.lineAt, true)
	at := r.lineAt
	_, v := d.yield(i, func(d *Decoder, i int) int {
		d.leave(false)
		d.ctx.bol = true
		d.reread(held, at)
		return i
	})
	return v
}

// wants reports whether the tool cannot be called without arguments.
func (r *lineReader) wants(d *driver) bool {
	return value.MissingRequired(d.set.names.tools[r.tool].Args, func(string) bool { return false })
}

// finish ends the call before i.
func (r *lineReader) finish(d *driver, i int) verdict {
	if r.state == lArgs {
		if r.wants(d) {
			return refused
		}
		d.call.start(r.tool, r.name, "", d.text.candAt, d.text.at(i))
		d.call.Write("{}", d.text.at(i))
		d.call.end(d.text.at(i), true)
		return finished
	}
	notes, why := r.arguments(d)
	if why != "" {
		d.call.reject(chat.ReasonMalformed, "", why, 0, d.text.at(i))
		return broken
	}
	d.call.writeBytes(r.out, d.text.at(i))
	for _, n := range notes {
		n.At, n.End = d.call.at, d.text.at(i)
		d.call.Note(n)
	}
	d.call.end(d.text.at(i), true)
	return finished
}

// arguments makes the JSON of the lines, in out, and returns what was repaired.
func (r *lineReader) arguments(d *driver) (notes []chat.NoteDetail, why string) {
	s := d.call.tool.Args
	p := &r.parser
	*p = blockParser{lines: r.lines, repair: d.set.opts.Repair, keys: p.keys[:0]}
	if r.inline != "" {
		if len(r.lines) > 0 && strings.HasPrefix(r.inline, "{") {
			r.inline += "\n" + strings.Join(r.lines, "\n")
		}
		args, notes, err := Arguments(r.inline, s, d.set.opts.Repair)
		if err != nil {
			return nil, "what stands behind ARGS: is no object"
		}
		r.out = append(r.out[:0], args...)
		return notes, ""
	}
	out, ok := p.object(r.out[:0], 0, s)
	switch {
	case p.twice != "":
		return nil, "the key " + strconv.Quote(p.twice) + " stands twice with different values"
	case !ok || p.at < len(p.lines):
		return nil, "line " + strconv.Itoa(p.at+1) + " of the arguments has no key"
	}
	r.out = out
	return p.notes, ""
}

func (r *lineReader) end(d *driver) verdict {
	if r.within {
		if v := r.endLine(d, 0); v != more {
			return v
		}
	}
	switch {
	case r.state == lName, d.truncated && r.state == lArgs:
		return refused
	case d.truncated && r.inline == "":
		d.call.end(d.text.at(0), false)
		return finished
	}
	return r.finish(d, 0)
}

// A blockParser reads the part of YAML that models write for arguments.
type blockParser struct {
	lines  []string
	at     int
	repair Repair
	notes  []chat.NoteDetail
	twice  string     // the key that stands twice
	keys   []blockKey // of the open objects, innermost last
}

// A blockKey is a key, and where its value stands in what is written.
type blockKey struct {
	key      string
	from, to int
}

func (k blockKey) Name() string { return k.key }

func indentOf(s string) (n int) {
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	return n
}

// cutKey cuts a line without indentation into its key and what follows the colon.
func cutKey(s string) (key, rest string, ok bool) {
	if s == "" || s[0] == '-' && (len(s) == 1 || s[1] == ' ') {
		return "", "", false
	}
	if q := s[0]; q == '"' || q == '\'' {
		if k := strings.IndexByte(s[1:], q); k > 0 && strings.HasPrefix(strings.TrimLeft(s[k+2:], " "), ":") {
			_, rest, _ = strings.Cut(s[k+2:], ":")
			return s[1 : k+1], strings.TrimSpace(rest), true
		}
	}
	key, rest, ok = strings.Cut(s, ":")
	if !ok || key == "" || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", "", false
	}
	return strings.TrimSpace(key), strings.TrimSpace(rest), true
}

// object reads lines that are indented by at least min as the keys of an object, which it appends to dst.
func (p *blockParser) object(dst []byte, min int, s *shape.Shape) ([]byte, bool) {
	indent := -1
	keys := value.Keys{From: len(p.keys)}
	dst = append(dst, '{')
	for p.at < len(p.lines) {
		line := p.lines[p.at]
		if strings.TrimSpace(line) == "" {
			p.at++
			continue
		}
		in := indentOf(line)
		if in < min || indent >= 0 && in < indent {
			break
		}
		if indent < 0 {
			indent = in
		}
		key, rest, ok := cutKey(line[in:])
		if in != indent || !ok {
			return nil, false
		}
		if dst, ok = p.member(dst, &keys, key, rest, indent, s); !ok {
			return nil, false
		}
	}
	p.keys = p.keys[:keys.From]
	return append(dst, '}'), true
}

// member appends to dst a key of an object, and the value that begins with rest behind it. A key that stands a second
// time has its value in the place of the first.
func (p *blockParser) member(dst []byte, keys *value.Keys, key, rest string, indent int, s *shape.Shape) ([]byte,
	bool) {
	p.at++
	k := blockKey{key: key}
	old := value.FindKey(keys, p.keys, key)
	end := len(dst)
	if old < 0 {
		if len(p.keys) > keys.From {
			dst = append(dst, ',')
		}
		dst = append(shape.AppendQuoted(dst, key), ':')
	}
	prop, _ := s.Prop(key)
	k.from = len(dst)
	dst, ok := p.value(dst, rest, indent, prop)
	if !ok {
		return nil, false
	}
	k.to = len(dst)
	if old < 0 {
		p.keys = value.AddKey(keys, p.keys, k)
		return dst, true
	}
	was := &p.keys[old]
	v := slices.Clone(dst[k.from:])
	if !p.again(key, dst[was.from:was.to], v) {
		return nil, false
	}
	dst = slices.Replace(dst[:end], was.from, was.to, v...)
	more := len(v) - (was.to - was.from)
	was.to += more
	for j := old + 1; j < len(p.keys); j++ {
		p.keys[j].from += more
		p.keys[j].to += more
	}
	return dst, true
}

// again decides about a key that stands a second time: the same value does no harm, of different ones the last may win.
func (p *blockParser) again(key string, before, after []byte) bool {
	if !bytes.Equal(before, after) && p.repair != RepairFull {
		p.twice = key
		return false
	}
	p.notes = append(p.notes, chat.NoteDetail{Kind: chat.NoteDuplicateKey, Path: "/" + key, Before: string(before),
		After: string(after)})
	return true
}

// value appends the value behind a key or a dash that is indented by indent.
func (p *blockParser) value(dst []byte, rest string, indent int, s *shape.Shape) ([]byte, bool) {
	switch {
	case isBlockStyle(rest):
		return shape.AppendQuoted(dst, p.block(rest, indent)), true
	case rest == "":
		if p.at < len(p.lines) {
			next := p.lines[p.at]
			in := indentOf(next)
			if strings.HasPrefix(next[in:], "-") && in >= indent {
				return p.list(dst, in, s.Item())
			}
			if in > indent {
				return p.object(dst, in, s)
			}
		}
		if s.Type().Has(shape.Null) {
			return append(dst, "null"...), true
		}
		return append(dst, `""`...), true
	}
	return appendYAMLScalar(dst, rest, s), true
}

// list appends lines that begin with a dash at the indentation in.
func (p *blockParser) list(dst []byte, in int, s *shape.Shape) ([]byte, bool) {
	dst = append(dst, '[')
	for first := true; p.at < len(p.lines); first = false {
		line := p.lines[p.at]
		if indentOf(line) != in || !strings.HasPrefix(line[in:], "-") {
			break
		}
		rest := line[in+1:]
		p.at++
		if !first {
			dst = append(dst, ',')
		}
		ok := true
		if key, _, isKey := cutKey(strings.TrimSpace(rest)); isKey && key != "" && s.Type() != shape.String {
			p.at--
			p.lines[p.at] = strings.Repeat(" ", in+1) + rest
			dst, ok = p.object(dst, in+1, s)
		} else {
			dst, ok = p.value(dst, strings.TrimSpace(rest), in, s)
		}
		if !ok {
			return nil, false
		}
	}
	return append(dst, ']'), true
}

// block reads a block scalar: the lines that are indented more than indent.
func (p *blockParser) block(style string, indent int) string {
	var b strings.Builder
	first := -1
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if strings.TrimSpace(line) == "" {
			b.WriteByte('\n')
			continue
		}
		in := indentOf(line)
		if in <= indent {
			break
		}
		if first < 0 {
			first = in
		}
		b.WriteString(line[min(in, first):])
		if style[0] == '>' {
			b.WriteByte(' ')
		} else {
			b.WriteByte('\n')
		}
	}
	text := strings.TrimRight(b.String(), " \n")
	if strings.HasSuffix(style, "-") {
		return text
	}
	return text + "\n"
}

// appendYAMLScalar appends the JSON of a scalar, or of a flow sequence or mapping, on one line.
func appendYAMLScalar(dst []byte, text string, s *shape.Shape) []byte {
	switch t := s.Type(); {
	case t == shape.String && text[0] != '\'' && yamlStop.None(text):
		return append(append(append(dst, '"'), text...), '"')
	case t.Only(shape.Integer|shape.Number) && chars.IsDigit(text[0]) && value.PlainScalar(text):
		return append(dst, text...)
	}
	text = cutComment(text)
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		inner := text[1 : n-1]
		if text[0] == '\'' {
			inner = strings.ReplaceAll(inner, "''", "'")
		} else if u, ok := value.Unquote(inner); ok {
			inner = u
		}
		out, _, _ := shape.FitScalar(string(shape.AppendQuoted(nil, inner)), s, false)
		return append(dst, out...)
	}
	out, _ := shape.Coerce(text, s, shape.CoerceOptions{Untyped: shape.UntypedPython})
	if out[0] == '"' {
		if flow, ok := yamlFlow(text, s); ok {
			return append(dst, flow...)
		}
	}
	return append(dst, out...)
}

// cutComment returns a scalar or a flow value without the comment behind it.
func cutComment(text string) string {
	var quote byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' || c == '\'' && quote == c && strings.HasPrefix(text[i+1:], "'") {
				i++
			} else if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') &&
			(i == 0 || (text[0] == '[' || text[0] == '{') && strings.IndexByte("[{,: ", text[i-1]) >= 0):
			quote = c
		case c == '#' && i > 0 && (text[i-1] == ' ' || text[i-1] == '\t'):
			return strings.TrimSpace(text[:i])
		}
	}
	return text
}

package dialect

import (
	"bytes"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
)

// A lineReader reads a call that is written as lines:
//
//	TOOL: NAME
//	ARGS:
//	  key: value
//
// The call ends at a blank line, at a line that is not indented, and at the end of the text. Values are typed by the schema;
// block scalars, lists and nested objects are read as in YAML. The arguments go out when the call ends.
type lineReader struct {
	state  lineState
	line   []byte
	lineAt int
	tool   int
	name   string
	lines  []string
	starts []int  // of the lines in the text, for whoever asks
	inline string // what stands behind ARGS: on its line
	block  bool   // the last line opened a block scalar, or belongs to one
	indent int    // of the line that opened it
}

type lineState uint8

const (
	lName lineState = iota // behind TOOL:
	lArgs                  // on the line that should say ARGS:
	lBody                  // in the arguments
)

func newLines(*Decoder, *opener) body { return new(lineReader) }

func (r *lineReader) run(d *Decoder, i int) (int, verdict) {
	for i < len(d.in) {
		c := d.in[i]
		if len(r.line) == 0 {
			r.lineAt = d.base + i
			if v, over := r.firstByte(d, c, i); over {
				return i, v
			}
		}
		if r.state != lBody && len(r.line) >= maxHeader {
			return i, refused
		}
		r.line = append(r.line, c)
		i++
		if c == '\n' {
			if v := r.endLine(d, i); v != more {
				return i, v
			}
		}
	}
	return i, more
}

// firstByte decides by the first byte of a line whether the call goes on.
func (r *lineReader) firstByte(d *Decoder, c byte, i int) (v verdict, over bool) {
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
func (r *lineReader) endLine(d *Decoder, i int) verdict {
	line := strings.TrimRight(string(r.line), "\r\n")
	r.line = r.line[:0]
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
			return r.finishBefore(d, line, i)
		}
		r.state = lBody
		r.inline = strings.TrimSpace(rest)
		d.startCall(r.tool, r.name, "", d.candAt, d.base+i)
	case lBody:
		if strings.TrimSpace(line) != "" {
			r.track(line)
		} else if !r.block {
			return r.finish(d, i)
		}
		r.lines = append(r.lines, line)
		if d.sources != nil {
			r.starts = append(r.starts, r.lineAt)
		}
	}
	return more
}

// track notes whether a line opens a block scalar or belongs to the one that is open: blank lines count in it.
func (r *lineReader) track(line string) {
	indent := indentOf(line)
	if r.block && indent > r.indent {
		return
	}
	line = strings.TrimSpace(line)
	_, rest, _ := cutKey(strings.TrimPrefix(line, "- "))
	r.block, r.indent = isBlockStyle(rest) || strings.HasPrefix(line, "- ") && isBlockStyle(line[2:]), indent
}

func isBlockStyle(s string) bool {
	switch s {
	case "|", "|-", "|+", ">", ">-", ">+":
		return true
	}
	return false
}

// finishBefore ends the call before a line that is not its own.
func (r *lineReader) finishBefore(d *Decoder, line string, i int) verdict {
	if r.wants(d) {
		return refused
	}
	held := d.held(r.lineAt, d.base+i)
	d.startCall(r.tool, r.name, "", d.candAt, r.lineAt)
	d.writeArgs("{}", r.lineAt)
	d.endCall(r.lineAt, true)
	at := r.lineAt
	d.leave(false)
	d.ctx.bol = true
	d.reread(held, at)
	return left
}

// wants reports whether the tool cannot be called without arguments.
func (r *lineReader) wants(d *Decoder) bool {
	return missingRequired(d.set.names.tools[r.tool].Args, func(string) bool { return false })
}

// finish ends the call before i.
func (r *lineReader) finish(d *Decoder, i int) verdict {
	if r.state == lArgs {
		if r.wants(d) {
			return refused
		}
		d.startCall(r.tool, r.name, "", d.candAt, d.base+i)
		d.writeArgs("{}", d.base+i)
		d.endCall(d.base+i, true)
		return finished
	}
	out, tops, notes, why := r.arguments(d)
	if why != "" {
		d.reject(chat.ReasonMalformed, "", why, 0, d.base+i)
		return broken
	}
	if d.sources == nil || len(tops) == 0 {
		d.writeArgs(out, d.base+i)
	} else {
		r.writeTops(d, tops, d.base+i)
	}
	for _, n := range notes {
		n.At, n.End = d.call.at, d.base+i
		d.note(n)
	}
	d.endCall(d.base+i, true)
	return finished
}

// arguments returns the JSON of the lines, of which keys it is made, and what was mended.
func (r *lineReader) arguments(d *Decoder) (json string, tops []topKey, notes []chat.NoteDetail, why string) {
	s := d.call.tool.Args
	if r.inline != "" {
		if len(r.lines) > 0 && strings.HasPrefix(r.inline, "{") {
			r.inline += "\n" + strings.Join(r.lines, "\n")
		}
		args, notes, err := Arguments(r.inline, s, d.set.opts.Repair)
		if err != nil {
			return "", nil, nil, "what stands behind ARGS: is no object"
		}
		return args, nil, notes, ""
	}
	p := blockParser{lines: r.lines, repair: d.set.opts.Repair}
	out, ok := p.object(0, s)
	switch {
	case p.twice != "":
		return "", nil, nil, "the key " + strconv.Quote(p.twice) + " stands twice with different values"
	case !ok || p.at < len(p.lines):
		return "", nil, nil, "line " + strconv.Itoa(p.at+1) + " of the arguments has no key"
	}
	return string(out), p.tops, p.notes, ""
}

// writeTops writes the arguments key by key, each for the lines that it was read from.
func (r *lineReader) writeTops(d *Decoder, tops []topKey, end int) {
	for i, t := range tops {
		at, to := r.starts[t.from], end
		if t.to < len(r.starts) {
			to = r.starts[t.to]
		}
		at += indentOf(r.lines[t.from])
		before := "{"
		if i > 0 {
			before = ","
		}
		d.sources.key(at, at+len(t.key))
		d.writeArgs(before+string(appendQuoted(nil, t.key))+":", at+len(t.key)+1)
		d.sources.within(at+len(t.key)+1, to)
		d.writeArgs(string(t.value), to)
		d.sources.from(to)
	}
	d.writeArgs("}", end)
}

func (r *lineReader) end(d *Decoder) verdict {
	if len(r.line) > 0 {
		if v := r.endLine(d, 0); v != more {
			return v
		}
	}
	if r.state == lName {
		return refused
	}
	return r.finish(d, 0)
}

func (r *lineReader) plain(*Decoder) *byteSet { return nil }

// A blockParser reads the part of YAML that models write for arguments.
type blockParser struct {
	lines  []string
	at     int
	repair Repair
	notes  []chat.NoteDetail
	twice  string // the key that stands twice
	depth  int    // of the object that is being read
	tops   []topKey
}

// A topKey is a key of the arguments, with the lines [from, to) that it was read from.
type topKey struct {
	key      string
	value    []byte
	from, to int
}

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

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

// object reads lines that are indented by at least min as the keys of an object.
func (p *blockParser) object(min int, s *shape.Shape) ([]byte, bool) {
	var keys []string
	values := map[string][]byte{}
	indent := -1
	p.depth++
	from := map[string][2]int{}
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
		p.at++
		first := p.at - 1
		prop, _ := s.Prop(key)
		v, ok := p.value(rest, indent, prop)
		if !ok || values[key] != nil && !p.again(key, values[key], v) {
			return nil, false
		}
		if values[key] == nil {
			keys = append(keys, key)
		}
		values[key], from[key] = v, [2]int{first, p.at}
	}
	if p.depth--; p.depth == 0 {
		for _, key := range keys {
			p.tops = append(p.tops, topKey{key, values[key], from[key][0], from[key][1]})
		}
	}
	out := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(appendQuoted(out, key), ':'), values[key]...)
	}
	return append(out, '}'), true
}

// again decides about a key that stands a second time: the same value does no harm, of different ones the last may win.
func (p *blockParser) again(key string, before, after []byte) bool {
	if !bytes.Equal(before, after) && p.repair != RepairFull {
		p.twice = key
		return false
	}
	p.notes = append(p.notes, chat.NoteDetail{Kind: chat.NoteDuplicateKey, Path: "/" + key, Before: string(before), After: string(after)})
	return true
}

// value reads the value behind a key or a dash that is indented by indent.
func (p *blockParser) value(rest string, indent int, s *shape.Shape) ([]byte, bool) {
	switch {
	case isBlockStyle(rest):
		return appendQuoted(nil, p.block(rest, indent)), true
	case rest == "":
		if p.at < len(p.lines) {
			next := p.lines[p.at]
			in := indentOf(next)
			if strings.HasPrefix(next[in:], "-") && in >= indent {
				return p.list(in, s.Item())
			}
			if in > indent {
				return p.object(in, s)
			}
		}
		if s.Type().Has(shape.Null) {
			return []byte("null"), true
		}
		return []byte(`""`), true
	}
	return yamlScalar(rest, s), true
}

// list reads lines that begin with a dash at the indentation in.
func (p *blockParser) list(in int, s *shape.Shape) ([]byte, bool) {
	out := []byte{'['}
	for p.at < len(p.lines) {
		line := p.lines[p.at]
		if indentOf(line) != in || !strings.HasPrefix(line[in:], "-") {
			break
		}
		rest := line[in+1:]
		p.at++
		if len(out) > 1 {
			out = append(out, ',')
		}
		var v []byte
		ok := true
		if key, _, isKey := cutKey(strings.TrimSpace(rest)); isKey && key != "" && s.Type() != shape.String {
			p.at--
			p.lines[p.at] = strings.Repeat(" ", in+1) + rest
			v, ok = p.object(in+1, s)
		} else {
			v, ok = p.value(strings.TrimSpace(rest), in, s)
		}
		if !ok {
			return nil, false
		}
		out = append(out, v...)
	}
	return append(out, ']'), true
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

// yamlScalar returns the JSON of a scalar, or of a flow sequence or mapping, on one line.
func yamlScalar(text string, s *shape.Shape) []byte {
	text = cutComment(text)
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		inner := text[1 : n-1]
		if text[0] == '\'' {
			inner = strings.ReplaceAll(inner, "''", "'")
		} else if u, ok := unquoteJSON(inner); ok {
			inner = u
		}
		out, _, _ := shape.FitScalar(string(appendQuoted(nil, inner)), s, false)
		return []byte(out)
	}
	out, _ := shape.Coerce(text, s, shape.CoerceOptions{Untyped: shape.UntypedPython})
	if out[0] == '"' {
		if flow, ok := yamlFlow(text, s); ok {
			return flow
		}
	}
	return []byte(out)
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
		case (c == '"' || c == '\'') && (i == 0 || (text[0] == '[' || text[0] == '{') && strings.IndexByte("[{,: ", text[i-1]) >= 0):
			quote = c
		case c == '#' && i > 0 && (text[i-1] == ' ' || text[i-1] == '\t'):
			return strings.TrimSpace(text[:i])
		}
	}
	return text
}

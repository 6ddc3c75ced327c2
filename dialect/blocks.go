package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/render"
	"wield/schema/shape"
)

// A blockReader reads a fenced block whose info string begins with the name of a tool:
//
//	```create
//	=== FILE: notes/today.md
//	The text of the file.
//	```
//
// The text in the block is an argument as it stands, and goes out as it comes. It ends at a fence of the same
// character that is at least as long. A fence with an info string in between opens a block of its own, whose
// end is not the end of all.
type blockReader struct {
	mark   byte // of the fence
	n      int  // its length
	indent int  // of its line: what the lines of the block lose
	crlf   bool // lines end in two bytes
	strict bool // fences that are indented belong to the text, and none opens a block inside
	tool   int
	word   string
	plan   blockPlan

	state  blockState
	bodyAt int // where the text begins
	lineAt int // where the line that is read begins
	spaces int // at its start
	marks  int // behind them
	ticks  bool
	nested []int // lengths of the fences that are open inside

	from  int  // where the text begins that the argument does not have yet
	head  bool // the first line is read, which may name the file
	file  bool // it did
	open  bool // the argument was begun
	lines int  // that were read
	paths []blockLine
}

// blockState records how much of the line has been read.
type blockState uint8

const (
	bIndent blockState = iota // in the spaces at its start
	bMarks                    // in what may be a fence
	bBlank                    // behind a fence that closes a block, if nothing follows
	bInfo                     // behind a fence that opens one
	bRest                     // in text
)

// A blockLine is a line that holds a path.
type blockLine struct{ at, end int }

// A blockPlan says which arguments of a tool a block holds; "": none. A block without any is a call of a tool
// that takes none.
type blockPlan struct {
	path string // named by a first line, or all that there is
	list string // of paths, one a line
	text string // the block as it stands
}

// blockFile begins the line that names the file whose text the block holds.
const blockFile = "=== FILE:"

// The names of the arguments that blocks hold. Of each row the first that the tool declares is meant.
var (
	blockTexts = [...]string{"code", "content", "edits", "text", "command", "script", "input"}
	blockPaths = [...]string{"path", "file_path", "file", "filename"}
	blockLists = [...]string{"paths", "files"}
)

// planBlock returns what blocks hold for a tool with arguments of the shape s. Where none of the names for a
// text is declared it is the only string that there is beside the path.
func planBlock(s *shape.Shape) blockPlan {
	p := blockPlan{path: firstProp(s, blockPaths[:], shape.String), list: firstProp(s, blockLists[:], shape.Array),
		text: firstProp(s, blockTexts[:], shape.String)}
	switch {
	case p.text != "":
		p.list = ""
	case p.list != "":
		p.path = ""
	case s != nil:
		p.text = onlyString(s, p.path)
	}
	return p
}

// firstProp returns the first of the names that is that of a property which may have the type t, or "".
func firstProp(s *shape.Shape, names []string, t shape.Types) string {
	for _, name := range names {
		if p, ok := s.Prop(name); ok && (p.Type() == 0 || p.Type().Has(t)) {
			return name
		}
	}
	return ""
}

// onlyString returns the one property other than but that is a string, or "".
func onlyString(s *shape.Shape, but string) string {
	only := ""
	for i := range s.Props {
		if p := &s.Props[i]; p.Name != but && p.Shape.Type() == shape.String {
			if only != "" {
				return ""
			}
			only = p.Name
		}
	}
	return only
}

// readTool is the tool whose name is that of no language, and which only reads.
const readTool = "read"

// blockTool returns the tool that the info string of a fence names, and what a block holds for it.
func (d *driver) blockTool(info string) (tool int, plan blockPlan, ok bool) {
	word := infoWord(info)
	if !d.set.blocks && !d.set.edits || word == "" {
		return 0, plan, false
	}
	if tool, _, ok = d.set.names.resolve(word); !ok {
		return 0, plan, false
	}
	plan = planBlock(d.set.names.tools[tool].Args)
	return tool, plan, d.set.blocks || word == readTool && plan.list != ""
}

// infoWord returns the first word of an info string: the language.
func infoWord(info string) string {
	if k := strings.IndexAny(info, " \t"); k >= 0 {
		return info[:k]
	}
	return info
}

// fenceIndent returns how far the line of the fence that opens is indented.
func (d *driver) fenceIndent() int {
	before := d.text.held(d.text.holdAt, d.text.candAt)
	return len(before) - len(strings.TrimRight(before, " "))
}

// openBlock begins a block with an info string, whose opening line ends before i, if it calls a tool.
func (d *Decoder) openBlock(i int, f fence, info string, crlf bool) bool {
	tool, plan, ok := d.blockTool(info)
	if !ok {
		return false
	}
	at := d.text.at(i)
	r := ready(&d.readers.block)
	*r = blockReader{mark: f.mark, n: f.n, indent: d.fenceIndent(), crlf: crlf, tool: tool, word: infoWord(info),
		plan: plan, bodyAt: at, lineAt: at, from: at, nested: r.nested[:0], paths: r.paths[:0]}
	r.head = r.plan.path != "" && r.plan.text != ""
	d.call.dialect = "cli-block"
	if r.plan == (blockPlan{}) {
		d.cand.fenced, d.cand.fencedEnd = f, at // stands if there is text in it
	} else {
		d.cand.fenced = fence{}
		d.call.start(tool, r.word, "", d.text.candAt, at)
	}
	d.begin(i, r)
	return true
}

func (r *blockReader) run(d *driver, i int) (int, verdict) {
	if r.state == bRest {
		r.from = max(r.from, d.text.last) // what passed without a look
	}
	for i < len(d.text.in) {
		c := d.text.in[i]
		if !d.call.open && (c != r.mark && !chars.IsBlank(c) || d.text.at(i)-r.bodyAt > maxHeader) {
			return i, refused
		}
		switch r.state {
		case bIndent:
			i = r.readIndent(i, c)
		case bMarks:
			i = r.readMarks(i, c)
		case bBlank:
			switch {
			case len(r.nested) == 0 && (c == '\n' || c == '\r' && r.crlf || c == '<' && d.set.trie.starts(c)):
				// the line ends, or a token that ends the turn stands on it
				return i, r.finish(d, i)
			case c == '\n':
				r.nested = r.nested[:len(r.nested)-1]
				r.state = bRest
			case chars.IsBlank(c):
				i++
			default:
				r.state = bInfo
			}
		case bInfo, bRest:
			i = r.readRest(d, i)
		}
	}
	if d.call.open && (r.state == bInfo || r.state == bRest) {
		r.add(d, r.sure(d))
	}
	return i, more
}

// readIndent reads the spaces at the start of a line.
func (r *blockReader) readIndent(i int, c byte) int {
	switch {
	case c == ' ' && r.spaces < r.mostSpaces():
		r.spaces++
		return i + 1
	case c == r.mark:
		r.state = bMarks
	default:
		r.state = bRest
	}
	return i
}

// mostSpaces returns the deepest indentation of a fence in the block.
func (r *blockReader) mostSpaces() int {
	if r.strict {
		return r.indent
	}
	return max(3, r.indent)
}

// readMarks reads what may be a fence.
func (r *blockReader) readMarks(i int, c byte) int {
	switch {
	case c == r.mark:
		r.marks++
		return i + 1
	case r.fence():
		r.state = bBlank
	default:
		r.state = bRest
	}
	return i
}

// fence reports whether the line has marks enough to end what is open.
func (r *blockReader) fence() bool {
	least := r.n
	if k := len(r.nested); k > 0 {
		least = r.nested[k-1]
	}
	return r.marks >= least
}

// readRest reads a line that does not end the block.
func (r *blockReader) readRest(d *driver, i int) int {
	n := strings.IndexByte(d.text.in[i:], '\n')
	if r.state == bInfo && !r.ticks {
		line := d.text.in[i:]
		if n >= 0 {
			line = line[:n]
		}
		r.ticks = strings.IndexByte(line, '`') >= 0
	}
	if n < 0 {
		return len(d.text.in)
	}
	if r.state == bInfo && !r.strict && (r.mark != '`' || !r.ticks) {
		r.nested = append(r.nested, r.marks)
	}
	r.endLine(d, d.text.at(i)+n)
	return i + n + 1
}

// endLine ends a line of text with the line break at the offset at.
func (r *blockReader) endLine(d *driver, at int) {
	line := blockLine{min(r.lineAt+min(r.spaces, r.indent), at), at}
	end := at
	if r.crlf && at > r.from && at > r.lineAt && d.text.held(at-1, at) == "\r" {
		end--
	}
	switch {
	case r.plan.text == "":
		r.addPath(d, line)
	case r.head && strings.HasPrefix(d.text.held(line.at, at), blockFile):
		r.head, r.file = false, true
		path := strings.TrimSpace(d.text.held(line.at+len(blockFile), at))
		d.call.Write(string(shape.AppendQuoted(append(shape.AppendQuoted([]byte{'{'}, r.plan.path), ':'), path)), at+1)
		r.from = at + 1
	case r.file:
		r.add(d, at+1)
	default: // the line break goes with the line behind it: the last one belongs to the fence
		r.head = false
		r.add(d, end)
		r.from = end
	}
	r.state, r.lineAt, r.spaces, r.marks, r.ticks = bIndent, at+1, 0, 0, false
	r.lines++
}

// sure returns the offset up to which what was read is text: a line break may be cut.
func (r *blockReader) sure(d *driver) int {
	end := d.text.end()
	if r.crlf && end > r.from && d.text.held(end-1, end) == "\r" {
		return end - 1
	}
	return end
}

// add adds the text up to the offset to, in a line that does not end the block, to the argument.
func (r *blockReader) add(d *driver, to int) {
	if r.plan.text == "" {
		return
	}
	if r.head {
		line := d.text.held(r.lineAt+min(r.spaces, r.indent), max(to, r.lineAt+r.spaces))
		if n := min(len(line), len(blockFile)); line[:n] == blockFile[:n] {
			return
		}
		r.head = false
	}
	if r.from < r.lineAt {
		r.write(d, min(to, r.lineAt))
	}
	if to > r.lineAt {
		r.from = max(r.from, r.lineAt+min(r.spaces, r.indent))
		r.write(d, to)
	}
}

// write writes the text up to the offset to.
func (r *blockReader) write(d *driver, to int) {
	if to <= r.from {
		return
	}
	r.begin(d, r.from)
	s := d.text.held(r.from, to)
	if len(s) > maxPieces {
		d.call.writeEscaped(s, to)
	} else {
		d.call.writePieces(s, to)
	}
	r.from = to
}

// begin begins the argument that is the text, whose text begins at the offset at.
func (r *blockReader) begin(d *driver, at int) {
	if r.open {
		return
	}
	r.open = true
	before := byte('{')
	if r.file {
		before = ','
	}
	d.call.Write(string(append(shape.AppendQuoted([]byte{before}, r.plan.text), `:"`...)), at)
}

// addPath takes a line of a block that holds paths.
func (r *blockReader) addPath(d *driver, l blockLine) {
	path := strings.TrimSpace(d.text.held(l.at, l.end))
	switch {
	case path == "":
	case r.plan.list == "": // each is a call, and none is one before the block ended
		r.paths = append(r.paths, l)
	default:
		var out []byte
		if r.open {
			out = append(out, ',')
		} else {
			out = append(shape.AppendQuoted([]byte{'{'}, r.plan.list), ":["...)
		}
		r.open = true
		d.call.Write(string(shape.AppendQuoted(out, path)), l.end)
	}
}

// finish ends the block before i, on the line that closes it.
func (r *blockReader) finish(d *driver, i int) verdict {
	switch {
	case r.plan == (blockPlan{}):
		d.cand.fenced = fence{}
		d.call.start(r.tool, r.word, "", d.text.candAt, r.bodyAt)
		d.call.Write("{}", r.lineAt)
	case r.plan.text != "" && (r.lines > 0 || r.file):
		r.begin(d, d.text.last)
		d.call.Write(`"}`, r.lineAt)
	case r.plan.list != "" && r.open:
		d.call.Write("]}", r.lineAt)
	case r.plan.list != "" && r.lines > 0:
		d.call.Write(string(append(shape.AppendQuoted([]byte{'{'}, r.plan.list), ":[]}"...)), r.lineAt)
	case len(r.paths) > 0:
		r.callEach(d)
	default:
		d.call.Write("{}", r.lineAt)
	}
	d.call.end(d.text.at(i), true)
	return finished
}

// callEach makes a call of every path; the last stays open.
func (r *blockReader) callEach(d *driver) {
	for k, l := range r.paths {
		if k > 0 {
			d.call.end(l.at, true)
			d.call.start(r.tool, r.word, "", l.at, l.at)
		}
		path := strings.TrimSpace(d.text.held(l.at, l.end))
		d.call.Write(string(append(shape.AppendQuoted(append(shape.AppendQuoted([]byte{'{'}, r.plan.path), ':'), path),
			'}')), l.end)
	}
}

// end decides what the end of the text means: the last line may close the block, else the call is not complete.
func (r *blockReader) end(d *driver) verdict {
	switch {
	case len(r.nested) == 0 && (r.state == bBlank || r.state == bMarks && r.fence()):
		return r.finish(d, 0)
	case !d.call.open:
		return refused
	}
	d.call.end(d.text.at(0), false)
	return finished
}

func (r *blockReader) plain(*driver) *chars.Set {
	if r.state == bRest && r.plan.text != "" && !r.head && r.open {
		return &blockStop
	}
	return nil
}

// passes reports whether no byte of a chunk ends a line.
func (r *blockReader) passes(chunk string) bool {
	return strings.IndexByte(chunk, '\n') < 0 && strings.IndexByte(chunk, '\r') < 0
}

// blockCall writes a call as a block: a file's text below its path, a list of paths, or one text. What
// does not fit is written as json-fence, which is read beside it.
func blockCall(dst []byte, c *chat.Call) ([]byte, string) {
	var body, path, why string
	if !render.IsName(c.Name) {
		why = "the name cannot stand behind a fence"
	}
	texts, paths, located := 0, false, false
	render.Each(c.Arguments, func(key, value string) {
		s, isText := render.Unquote(value)
		switch {
		case slices.Contains(blockPaths[:], key) && !located && isText && s != "" && s == strings.TrimSpace(s) &&
			!strings.Contains(s, "\n"):
			path, located = s, true
		case slices.Contains(blockLists[:], key) && !paths && strings.HasPrefix(value, "["):
			if body, paths = listedPaths(value); !paths {
				why = "a path does not fit on a line"
			}
		case slices.Contains(blockTexts[:], key) && isText:
			body = s
			texts++
		default:
			why = "the argument " + strconv.Quote(key) + " cannot stand in a block"
		}
	})
	switch {
	case why != "":
	case texts > 1 || paths && (texts > 0 || located):
		why = "a block holds one text"
	case paths && body == "":
		why = "an empty list cannot stand in a block"
	case located && (texts == 0 || body != "" && !strings.HasSuffix(body, "\n")):
		why = "the text of a file in a block ends with a line break"
	case !located && strings.HasPrefix(body, blockFile):
		why = "the text of a block begins like the line that names a file"
	case located:
		body = blockFile + " " + path + "\n" + body
	case texts > 0:
		body += "\n"
	}
	if why != "" {
		dst, why = render.CallName(append(dst, "```json\n"...), c)
		return append(dst, "\n```"...), why
	}
	fence := "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	dst = append(append(append(dst, fence...), c.Name...), '\n')
	return append(append(dst, body...), fence...), ""
}

// listedPaths returns the lines of a list of texts that each fit on one.
func listedPaths(value string) (lines string, ok bool) {
	var list []string
	if json.Unmarshal([]byte(value), &list) != nil {
		return "", false
	}
	for _, s := range list {
		if s == "" || s != strings.TrimSpace(s) || strings.Contains(s, "\n") {
			return "", false
		}
		lines += s + "\n"
	}
	return lines, true
}

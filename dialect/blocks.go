package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
)

// A blockReader reads a fenced block whose info string begins with the name of a tool:
//
//	```create
//	=== FILE: notes/today.md
//	The text of the file.
//	```
//
// The text in the block is an argument as it stands. It ends at a fence of the same character that is at least as long; a fence
// with an info string in between opens a block of its own, whose end is not the end of all. Since a block without an end never
// acts, and is text, the call goes out when the block ends.
type blockReader struct {
	mark   byte // of the fence
	n      int  // its length
	crlf   bool // lines end in two bytes
	tool   int
	word   string
	bodyAt int // where the text begins
	lineAt int // where the line that is read begins
	depth  int // blocks open inside
}

// blockFile begins the line that names the file whose text the block holds.
const blockFile = "=== FILE:"

// blockArgs are the names of the argument that is the text of a block. The first of them that a tool declares as a string is meant,
// else its only string.
var blockArgs = [...]string{"code", "content", "edits", "text", "command", "script", "input"}

const (
	blockPath  = "path"  // the argument that names the file
	blockPaths = "paths" // a list, of which each line holds one
)

// openBlock begins a block with an info string, whose opening line ends before i, if it calls a tool.
func (d *Decoder) openBlock(i int, f fence, info string, crlf bool) bool {
	words := strings.Fields(info)
	if !d.set.blocks || len(words) == 0 {
		return false
	}
	word := words[0]
	tool, _, ok := d.set.names.resolve(word)
	if !ok {
		return false
	}
	at := d.base + i
	d.fenced, d.dialect = fence{}, "cli-block"
	d.begin(i, &blockReader{mark: f.mark, n: f.n, crlf: crlf, tool: tool, word: word, bodyAt: at, lineAt: at})
	return true
}

func (r *blockReader) run(d *Decoder, i int) (int, verdict) {
	for i < len(d.in) {
		n := strings.IndexByte(d.in[i:], '\n')
		if n < 0 {
			return len(d.in), more
		}
		i += n
		if r.closes(d.held(r.lineAt, d.base+i)) {
			return i, r.finish(d, i)
		}
		i++
		r.lineAt = d.base + i
	}
	return i, more
}

// closes reports whether the line ends the block.
func (r *blockReader) closes(line string) bool {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 {
		return false
	}
	n := 0
	for n < len(s) && s[n] == r.mark {
		n++
	}
	if n < r.n {
		return false
	}
	switch rest := strings.TrimSpace(s[n:]); {
	case rest == "" && r.depth == 0:
		return true
	case rest == "":
		r.depth--
	case r.mark != '`' || !strings.Contains(rest, "`"):
		r.depth++
	}
	return false
}

// finish ends the block before i, at the end of the line that closes it.
func (r *blockReader) finish(d *Decoder, i int) verdict {
	args, ok := r.arguments(d, d.held(r.bodyAt, r.lineAt))
	if !ok {
		d.plain = d.base + i
		return refused
	}
	d.startCall(r.tool, r.word, "", d.candAt, r.bodyAt)
	d.writeArgs(args, r.lineAt)
	d.endCall(d.base+i, true)
	return finished
}

// arguments returns the arguments that the text of the block is, if the tool has any that it can be.
func (r *blockReader) arguments(d *Decoder, text string) (args string, ok bool) {
	s := d.set.names.tools[r.tool].Args
	if text == "" {
		return "{}", true
	}
	var out []byte
	if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, blockFile) && hasProp(s, blockPath) {
		path := strings.TrimSpace(first[len(blockFile):])
		out, text = append(appendQuoted(append(out, '{'), blockPath), ':'), rest
		out = append(appendQuoted(out, path), ',')
	} else {
		out = append(out, '{')
		text = strings.TrimSuffix(text, "\n")
		if r.crlf {
			text = strings.TrimSuffix(text, "\r")
		}
	}
	if hasProp(s, blockPaths) {
		out = append(appendQuoted(out, blockPaths), ":["...)
		n := 0
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			out = appendQuoted(out, line)
		}
		return string(append(out, "]}"...)), true
	}
	key := blockArg(s)
	if key == "" {
		return "", false
	}
	out = append(appendQuoted(out, key), ':')
	return string(append(appendQuoted(out, text), '}')), true
}

// end decides what the end of the text means: the last line may close the block, else all of it is text.
func (r *blockReader) end(d *Decoder) verdict {
	if r.closes(d.held(r.lineAt, d.base)) {
		return r.finish(d, 0)
	}
	d.plain = d.base
	return refused
}

func (r *blockReader) plain(*Decoder) *byteSet { return nil }

func hasProp(s *shape.Shape, name string) bool {
	_, ok := s.Prop(name)
	return ok
}

// blockArg returns the name of the argument that is the text of a block, or "".
func blockArg(s *shape.Shape) string {
	for _, name := range blockArgs {
		if p, ok := s.Prop(name); ok && (p.Type() == 0 || p.Type().Has(shape.String)) {
			return name
		}
	}
	only := ""
	if s != nil {
		for i := range s.Props {
			if p := &s.Props[i]; p.Name != blockPath && p.Shape.Type() == shape.String {
				if only != "" {
					return ""
				}
				only = p.Name
			}
		}
	}
	return only
}

// renderCallBlock writes a call as a block: a file's text below its path, a list of paths, or one text. What does not fit is written
// as json-fence, which is read beside it.
func renderCallBlock(dst []byte, c *chat.Call) ([]byte, string) {
	var body, path, why string
	if !renderIsName(c.Name) {
		why = "the name cannot stand behind a fence"
	}
	texts, paths, located := 0, false, false
	renderEach(c.Arguments, func(key, value string) {
		s, isText := renderUnquote(value)
		switch {
		case key == blockPath && isText && s != "" && s == strings.TrimSpace(s) && !strings.Contains(s, "\n"):
			path, located = s, true
		case key == blockPaths && strings.HasPrefix(value, "["):
			if body, paths = renderPaths(value); !paths {
				why = "a path does not fit on a line"
			}
		case renderIsBlockArg(key) && isText:
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
		dst, why = renderCallName(append(dst, "```json\n"...), c)
		return append(dst, "\n```"...), why
	}
	fence := "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	dst = append(append(append(dst, fence...), c.Name...), '\n')
	return append(append(dst, body...), fence...), ""
}

func renderIsBlockArg(key string) bool {
	for _, name := range blockArgs {
		if key == name {
			return true
		}
	}
	return false
}

// renderPaths returns the lines of a list of texts that each fit on one.
func renderPaths(value string) (lines string, ok bool) {
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

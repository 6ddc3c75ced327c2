package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// An Error is one thing that is wrong with a document.
type Error struct {
	File string
	Line int // from 1; 0: the document as a whole
	Msg  string
}

// Error returns the place and what is wrong.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// Bounds of documents.
const (
	maxBytes = 16 << 20
	maxNodes = 2_000_000 // an alias counts like what it stands for
	maxDepth = 200
)

// A docNode is a value of the document and where it stands.
type docNode struct {
	kind    jsontext.Kind // 0 for no value: n null, t true, f false, " text, 0 number, { object, [ list
	line    int
	text    string // of a text or a number
	members []member
	items   []*docNode
}

type member struct {
	name  string
	line  int
	value *docNode
}

// get returns a member of an object; nil if there is none, or n is no object.
func (n *docNode) get(name string) *docNode {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// str returns the text of a member that is one.
func (n *docNode) str(name string) string {
	if m := n.get(name); m != nil && m.kind == '"' {
		return m.text
	}
	return ""
}

// is reports whether a member is true.
func (n *docNode) is(name string) bool {
	m := n.get(name)
	return m != nil && m.kind == 't'
}

func (n *docNode) isObject() bool { return n != nil && n.kind == '{' }

// list returns the items of a member that is a list.
func (n *docNode) list(name string) []*docNode {
	if m := n.get(name); m != nil {
		return m.items
	}
	return nil
}

// append writes the node as JSON.
func (n *docNode) append(dst []byte) []byte {
	switch n.kind {
	case 'n', 0:
		return append(dst, "null"...)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case '0':
		return append(dst, n.text...)
	case '"':
		return appendText(dst, n.text)
	case '[':
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, m := range n.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, m.name), ':')
		dst = m.value.append(dst)
	}
	return append(dst, '}')
}

func appendText(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "�"))
	if err != nil {
		panic(err) // it is UTF-8
	}
	return out
}

// read makes nodes of a text, as JSON if it begins like it.
func read(file string, data []byte) (*docNode, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	fail := func(line int, format string, args ...any) error {
		return &Error{file, line, fmt.Sprintf(format, args...)}
	}
	switch {
	case len(data) > maxBytes:
		return nil, fail(0, "it has more than %d MiB", maxBytes>>20)
	case !utf8.Valid(data):
		return nil, fail(0, "it is no UTF-8 text")
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		n, err := readJSON(file, data)
		if err == nil {
			return n, nil
		}
		// A flow mapping of YAML begins in the same way; of what is neither, the fault in the JSON is told.
		if y, yamlErr := readYAML(file, data); yamlErr == nil {
			return y, nil
		}
		return nil, err
	}
	return readYAML(file, data)
}

// A jsonReader reads JSON and counts lines.
type jsonReader struct {
	file  string
	data  []byte
	dec   *jsontext.Decoder
	at    int64 // up to where lines are counted
	line  int
	nodes int
}

func readJSON(file string, data []byte) (*docNode, error) {
	r := &jsonReader{file: file, data: data, dec: jsontext.NewDecoder(bytes.NewReader(data)), line: 1}
	n, err := r.value(0)
	if err == nil {
		if _, more := r.dec.ReadToken(); !errors.Is(more, io.EOF) {
			err = r.fail("there is more behind the document")
		}
	}
	return n, err
}

// count moves the count of lines to where the decoder is.
func (r *jsonReader) count() int {
	to := min(r.dec.InputOffset(), int64(len(r.data)))
	r.line += bytes.Count(r.data[r.at:to], []byte("\n"))
	r.at = to
	return r.line
}

func (r *jsonReader) fail(format string, args ...any) error {
	return &Error{r.file, r.count(), fmt.Sprintf(format, args...)}
}

func (r *jsonReader) wrong(err error) error {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return &Error{r.file, 1 + bytes.Count(r.data[:min(syntactic.ByteOffset, int64(len(r.data)))], []byte("\n")),
			"no JSON: " + syntactic.Err.Error()}
	}
	return r.fail("no JSON: %v", err)
}

func (r *jsonReader) value(depth int) (*docNode, error) {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, r.wrong(err)
	}
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return nil, r.fail("it is nested deeper than %d, or has more than %d values", maxDepth, maxNodes)
	}
	n := &docNode{kind: tok.Kind(), line: r.count()}
	switch n.kind {
	case '"', '0':
		n.text = tok.String()
	case '[':
		for r.dec.PeekKind() != ']' {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err = r.dec.ReadToken()
	case '{':
		for r.dec.PeekKind() != '}' {
			name, err := r.dec.ReadToken()
			if err != nil {
				return nil, r.wrong(err)
			}
			m := member{name: name.String(), line: r.count()}
			if m.value, err = r.value(depth + 1); err != nil {
				return nil, err
			}
			n.members = append(n.members, m)
		}
		_, err = r.dec.ReadToken()
	}
	if err != nil {
		return nil, r.wrong(err)
	}
	return n, nil
}

// pointer returns the value that a JSON pointer leads to; nil if there is none.
func (n *docNode) pointer(text string) *docNode {
	if text == "" {
		return n
	}
	for _, name := range strings.Split(text, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch {
		case n == nil:
			return nil
		case n.kind == '[':
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		default:
			n = n.get(name)
		}
	}
	return n
}

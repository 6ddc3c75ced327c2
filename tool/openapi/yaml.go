package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A yamlReader makes nodes of a YAML document.
type yamlReader struct {
	file    string
	anchors map[string]ast.Node
	open    map[string]bool // anchors that are being read
	nodes   int
}

// maxNesting bounds brackets within brackets and lists on one line before a text is parsed: the parser calls
// itself for each.
const maxNesting = 500

func readYAML(file string, data []byte) (n *docNode, err error) {
	if line := nesting(data); line > 0 {
		return nil, &Error{file, line, fmt.Sprintf("brackets or lists are nested deeper than %d", maxNesting)}
	}
	defer func() {
		if p := recover(); p != nil { // the parser gives up on some texts in this way
			n, err = nil, &Error{file, 0, fmt.Sprintf("no YAML: %v", p)}
		}
	}()
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlError(file, err)
	}
	r := &yamlReader{file: file, anchors: map[string]ast.Node{}, open: map[string]bool{}}
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if n != nil {
			return nil, &Error{file, lineOf(doc.Body), "a second document: the file holds one"}
		}
		if n, err = r.value(doc.Body, 0); err != nil {
			return nil, err
		}
	}
	if n == nil {
		return nil, &Error{file, 0, "it is empty"}
	}
	return n, nil
}

// nesting returns the line in which a text is nested too deep; 0 if none is.
func nesting(data []byte) int {
	depth, number := 0, 0
	for line := range bytes.Lines(data) {
		number++
		lists := 0
		for i, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			case '-', '?', ':', '&', '!':
				if i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' {
					lists++
				}
			}
		}
		if depth > maxNesting || lists > maxNesting {
			return number
		}
	}
	return 0
}

func yamlError(file string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) {
		line := 0
		if t := y.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
		return &Error{file, line, "no YAML: " + y.GetMessage()}
	}
	return &Error{file, 0, "no YAML: " + err.Error()}
}

func lineOf(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return lineOf(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return lineOf(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

func (r *yamlReader) fail(n ast.Node, format string, args ...any) error {
	return &Error{r.file, lineOf(n), fmt.Sprintf(format, args...)}
}

func (r *yamlReader) value(n ast.Node, depth int) (*docNode, error) {
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return nil, r.fail(n, "it is nested deeper than %d, or has more than %d values", maxDepth, maxNodes)
	}
	out := &docNode{line: lineOf(n)}
	switch n := n.(type) {
	case *ast.NullNode:
		out.kind = 'n'
	case *ast.BoolNode:
		if out.kind = 'f'; n.Value {
			out.kind = 't'
		}
	case *ast.IntegerNode, *ast.FloatNode:
		return r.number(n, out)
	case *ast.StringNode:
		if out.kind, out.text = '"', n.Value; n.Token.Type == token.StringType && plainNumber.MatchString(n.Value) {
			return r.number(n, out)
		}
	case *ast.LiteralNode:
		out.kind, out.text = '"', n.Value.Value
	case *ast.AnchorNode:
		r.anchors[n.Name.GetToken().Value] = n.Value
		return r.value(n.Value, depth+1)
	case *ast.AliasNode:
		return r.alias(n, depth)
	case *ast.TagNode:
		if s, ok := n.Value.(ast.ScalarNode); ok && n.Start.Value == "!!str" {
			out.kind, out.text = '"', s.GetToken().Value
			return out, nil
		}
		return r.value(n.Value, depth+1)
	case *ast.SequenceNode:
		out.kind = '['
		for _, item := range n.Values {
			v, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, v)
		}
	case *ast.MappingNode:
		out.kind = '{'
		return out, r.pairs(out, n.Values, depth)
	case *ast.MappingValueNode:
		out.kind = '{'
		return out, r.pairs(out, []*ast.MappingValueNode{n}, depth)
	default:
		return nil, r.fail(n, "a value of YAML that JSON does not have")
	}
	return out, nil
}

func (r *yamlReader) alias(n *ast.AliasNode, depth int) (*docNode, error) {
	name := n.Value.GetToken().Value
	target, ok := r.anchors[name]
	switch {
	case !ok:
		return nil, r.fail(n, "no anchor &%s before this place", name)
	case r.open[name]:
		return nil, r.fail(n, "the anchor &%s holds itself", name)
	}
	r.open[name] = true
	defer delete(r.open, name)
	return r.value(target, depth+1)
}

// plainNumber are the numbers of YAML that the parser takes for text, since they need more than 64 bits.
var plainNumber = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// number writes a number as JSON does.
func (r *yamlReader) number(n ast.Node, out *docNode) (*docNode, error) {
	out.kind, out.text = '0', strings.TrimPrefix(strings.ReplaceAll(n.GetToken().Value, "_", ""), "+")
	if json.Valid([]byte(out.text)) {
		return out, nil
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		out.text = fmt.Sprint(n.Value)
	case *ast.FloatNode:
		out.text = strconv.FormatFloat(n.Value, 'g', -1, 64)
	}
	if !json.Valid([]byte(out.text)) {
		return nil, r.fail(n, "%s is no number of JSON", n.GetToken().Value)
	}
	return out, nil
}

func (r *yamlReader) pairs(out *docNode, pairs []*ast.MappingValueNode, depth int) error {
	seen := map[string]bool{}
	for _, pair := range pairs {
		if pair.Key == nil || pair.Value == nil || pair.Key.GetToken() == nil {
			return r.fail(pair, "a key without a value")
		}
		value, err := r.value(pair.Value, depth+1)
		if err != nil {
			return err
		}
		if pair.Key.IsMergeKey() {
			r.merge(out, value)
			continue
		}
		name := pair.Key.GetToken().Value
		if seen[name] {
			return r.fail(pair.Key, "the key %q stands here for the second time", name)
		}
		seen[name] = true
		out.members = append(out.members, member{name, lineOf(pair.Key), value})
	}
	return nil
}

// merge adds the members of another object that out does not have.
func (*yamlReader) merge(out, other *docNode) {
	for _, m := range other.members {
		if out.get(m.name) == nil {
			out.members = append(out.members, m)
		}
	}
}

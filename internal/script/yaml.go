package script

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"wield/schema/near"
)

// A FileError is something wrong at one place of a scenario file.
type FileError struct {
	File      string
	Line, Col int // from 1; 0: the file as a whole
	Message   string
}

// Error says what is wrong, and where in the file.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Message)
}

// reader walks the nodes of one file and gathers what is wrong with it.
type reader struct {
	file    string
	anchors map[string]ast.Node
	errs    []error
}

// parseYAML returns the one document of a file.
func (r *reader) parseYAML(data []byte) ast.Node {
	if !utf8.Valid(data) {
		r.errs = append(r.errs, &FileError{File: r.file, Message: "the file is not UTF-8"})
		return nil
	}
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		r.errs = append(r.errs, r.syntax(err))
		return nil
	}
	var body ast.Node
	for _, d := range f.Docs {
		switch {
		case d.Body == nil:
		case body != nil:
			r.fail(d.Body, "a second document: a scenario file holds one")
			return nil
		default:
			body = d.Body
		}
	}
	if body == nil {
		r.errs = append(r.errs, &FileError{File: r.file, Message: "the file is empty"})
	}
	return body
}

func (r *reader) syntax(err error) error {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &at) && at.GetToken() != nil {
		p := at.GetToken().Position
		return &FileError{File: r.file, Line: p.Line, Col: p.Column, Message: at.GetMessage()}
	}
	return &FileError{File: r.file, Message: err.Error()}
}

// fail records an error at n.
func (r *reader) fail(n ast.Node, format string, args ...any) {
	p := r.pos(n)
	r.errs = append(r.errs, &FileError{File: p.File, Line: p.Line, Col: p.Col, Message: fmt.Sprintf(format, args...)})
}

// pos returns the place where n begins. A mapping's own token is its first colon, so its first key is asked.
func (r *reader) pos(n ast.Node) Pos {
	for {
		switch x := n.(type) {
		case *ast.MappingNode:
			if !x.IsFlowStyle && len(x.Values) > 0 {
				n = x.Values[0].Key
				continue
			}
		case *ast.MappingValueNode:
			n = x.Key
			continue
		}
		break
	}
	if n == nil || n.GetToken() == nil {
		return Pos{File: r.file}
	}
	t := n.GetToken().Position
	return Pos{File: r.file, Line: t.Line, Col: t.Column}
}

// plain looks through anchors and aliases.
func (r *reader) plain(n ast.Node) ast.Node {
	for depth := 0; depth < 16; depth++ {
		switch x := n.(type) {
		case *ast.AnchorNode:
			if r.anchors == nil {
				r.anchors = map[string]ast.Node{}
			}
			r.anchors[x.Name.GetToken().Value] = x.Value
			n = x.Value
		case *ast.AliasNode:
			n = r.anchors[x.Value.GetToken().Value]
		default:
			return n
		}
	}
	return nil
}

// fields is the table of a mapping's keys: what reads the value of each.
type fields map[string]func(ast.Node)

// mapping reads a mapping whose keys are all in known. what names it in errors.
func (r *reader) mapping(n ast.Node, what string, known fields) {
	r.eachPair(n, what, func(key ast.Node, name string, value ast.Node) {
		read, ok := known[name]
		if !ok {
			names := make([]string, 0, len(known))
			for k := range known {
				names = append(names, k)
			}
			r.fail(key, "unknown key %q in %s%s", name, what, near.Hint(name, names))
			return
		}
		read(value)
	})
}

// eachPair calls f for every pair of a mapping, in order.
func (r *reader) eachPair(n ast.Node, what string, f func(key ast.Node, name string, value ast.Node)) {
	var pairs []*ast.MappingValueNode
	switch x := r.plain(n).(type) {
	case *ast.MappingNode:
		pairs = x.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{x}
	case nil:
		return
	default:
		r.fail(n, "%s must be a mapping, not %s", what, kindOf(x))
		return
	}
	for _, p := range pairs {
		switch p.Key.(type) {
		case *ast.MergeKeyNode, *ast.MappingKeyNode:
			r.fail(p, "%s: only plain keys are allowed", what)
			continue
		}
		f(p.Key, keyText(p.Key), p.Value)
	}
}

func keyText(n ast.Node) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	return n.GetToken().Value
}

// sequence calls f for every element of a list.
func (r *reader) sequence(n ast.Node, what string, f func(ast.Node)) {
	switch x := r.plain(n).(type) {
	case *ast.SequenceNode:
		for _, v := range x.Values {
			f(v)
		}
	case nil, *ast.NullNode:
	default:
		r.fail(n, "%s must be a list, not %s", what, kindOf(x))
	}
}

// text reads a scalar as a string. Numbers and booleans are taken as they are written.
func (r *reader) text(n ast.Node, what string) string {
	switch x := r.plain(n).(type) {
	case *ast.StringNode:
		return x.Value
	case *ast.LiteralNode:
		return x.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return x.GetToken().Value
	case *ast.TagNode:
		return r.tagged(x, what)
	case nil:
		return ""
	default:
		r.fail(n, "%s must be a string, not %s", what, kindOf(x))
		return ""
	}
}

func (r *reader) tagged(n *ast.TagNode, what string) string {
	switch tag := n.GetToken().Value; tag {
	case "!!binary":
		s := strings.Map(func(c rune) rune {
			if strings.ContainsRune(" \t\r\n", c) {
				return -1
			}
			return c
		}, r.text(n.Value, what))
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			r.fail(n, "%s: !!binary is not base64: %v", what, err)
		}
		return string(b)
	case "!!str":
		return r.text(n.Value, what)
	default:
		r.fail(n, "%s: unknown tag %s", what, tag)
		return ""
	}
}

func (r *reader) integer(n ast.Node, what string, min, max int64) int64 {
	x, ok := r.plain(n).(*ast.IntegerNode)
	if !ok {
		r.fail(n, "%s must be a whole number, not %s", what, kindOf(r.plain(n)))
		return 0
	}
	var v int64
	switch i := x.Value.(type) {
	case int64:
		v = i
	case uint64:
		v = int64(min64(i, math.MaxInt64))
	}
	if v < min || v > max {
		r.fail(n, "%s must be between %d and %d", what, min, max)
		return 0
	}
	return v
}

func min64(a, b uint64) uint64 {
	if a < b {
		return a
	}
	return b
}

func (r *reader) number(n ast.Node, what string) float64 {
	switch x := r.plain(n).(type) {
	case *ast.FloatNode:
		return x.Value
	case *ast.IntegerNode:
		v, err := strconv.ParseFloat(x.GetToken().Value, 64)
		if err == nil {
			return v
		}
	}
	r.fail(n, "%s must be a number, not %s", what, kindOf(r.plain(n)))
	return 0
}

// boolean reads true or false. A key without a value is true.
func (r *reader) boolean(n ast.Node, what string) bool {
	switch x := r.plain(n).(type) {
	case *ast.BoolNode:
		return x.Value
	case *ast.NullNode:
		return true
	}
	r.fail(n, "%s must be true or false, not %s", what, kindOf(r.plain(n)))
	return false
}

// duration reads a length of time in Go's syntax, such as 150ms.
func (r *reader) duration(n ast.Node, what string) time.Duration {
	s := r.text(n, what)
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		r.fail(n, "%s must be a duration such as 150ms or 2s, not %q", what, s)
		return 0
	}
	return d
}

// texts reads a string or a list of strings.
func (r *reader) texts(n ast.Node, what string) []string {
	if _, ok := r.plain(n).(*ast.SequenceNode); !ok {
		return []string{r.text(n, what)}
	}
	list := []string{}
	r.sequence(n, what, func(v ast.Node) { list = append(list, r.text(v, what)) })
	return list
}

// kindOf names what a node is, for people.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a string"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "a boolean"
	case *ast.NullNode:
		return "nothing"
	case nil:
		return "an unknown alias"
	}
	return "this"
}

package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"wield/schema/shape"

	"github.com/goccy/go-yaml/ast"
)

// A template is text with references to captures.
type template []segment

type segment struct {
	lit  string
	ref  string // the whole reference, such as result.temp; empty in a literal
	json bool   // the value stands inside a JSON string and is escaped for it
}

// parseTemplate reads ${name} as a reference and $${ as a literal ${.
func parseTemplate(s string) (template, error) {
	var t template
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			t.add(s)
			return t, nil
		}
		if i > 0 && s[i-1] == '$' {
			t.add(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return nil, fmt.Errorf("${ without a closing brace; write $${ for a literal ${")
		}
		name := s[i+2 : i+end]
		if !validRef(name) {
			return nil, fmt.Errorf("%q is no name of a capture; write $${ for a literal ${", name)
		}
		t.add(s[:i])
		t = append(t, segment{ref: name})
		s = s[i+end+1:]
	}
}

// add adds a literal, to the one before it if there is one.
func (t *template) add(s string) {
	if n := len(*t); n > 0 && (*t)[n-1].ref == "" {
		(*t)[n-1].lit += s
	} else if s != "" {
		*t = append(*t, segment{lit: s})
	}
}

func validRef(s string) bool {
	for i, part := range strings.Split(s, ".") {
		if part == "" {
			return false
		}
		for j := 0; j < len(part); j++ {
			c := part[j]
			letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
			digit := c >= '0' && c <= '9'
			if i == 0 && !letter && !(digit && j > 0) {
				return false
			}
			if !letter && !digit && c != '-' && c < utf8.RuneSelf {
				return false
			}
		}
	}
	return true
}

// refs returns the references of t.
func (t template) refs() []string {
	var list []string
	for _, s := range t {
		if s.ref != "" {
			list = append(list, s.ref)
		}
	}
	return list
}

// expand fills in the references. An undefined one is an error.
func (t template) expand(value func(ref string) (string, bool)) (string, error) {
	if len(t) == 1 && t[0].ref == "" {
		return t[0].lit, nil
	}
	var b strings.Builder
	for _, s := range t {
		if s.ref == "" {
			b.WriteString(s.lit)
			continue
		}
		v, ok := value(s.ref)
		if !ok {
			return "", fmt.Errorf("${%s} is not defined", s.ref)
		}
		if s.json {
			v = shape.Quote(v)
			v = v[1 : len(v)-1]
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

func (t *template) lit(s string) { *t = append(*t, segment{lit: s}) }

// jsonTemplate turns a YAML value into JSON text, keeping the order of keys and the text of numbers. Strings in it may
// hold references; a value filled in stays a string.
func (r *reader) jsonTemplate(n ast.Node, what string) template {
	var t template
	r.appendJSON(&t, n, what, parseTemplate, 0)
	return t.merged()
}

func (r *reader) appendJSON(t *template, n ast.Node, what string, parse func(string) (template, error), depth int) {
	if depth > 64 {
		r.fail(n, "%s is nested too deeply", what)
		return
	}
	switch x := r.plain(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		t.lit("{")
		first := true
		r.eachPair(x, what, func(_ ast.Node, name string, value ast.Node) {
			if !first {
				t.lit(", ")
			}
			first = false
			t.lit(shape.Quote(name) + ": ")
			r.appendJSON(t, value, what, parse, depth+1)
		})
		t.lit("}")
	case *ast.SequenceNode:
		t.lit("[")
		for i, v := range x.Values {
			if i > 0 {
				t.lit(", ")
			}
			r.appendJSON(t, v, what, parse, depth+1)
		}
		t.lit("]")
	case *ast.NullNode:
		t.lit("null")
	case *ast.BoolNode:
		t.lit(fmt.Sprint(x.Value))
	case *ast.IntegerNode, *ast.FloatNode:
		t.lit(r.jsonNumber(x, what))
	case *ast.InfinityNode, *ast.NanNode:
		r.fail(n, "%s: JSON has no such number", what)
	default:
		inner, err := parse(r.text(n, what))
		if err != nil {
			r.fail(n, "%s: %v", what, err)
			return
		}
		t.lit(`"`)
		for _, s := range inner {
			if s.ref == "" {
				q := shape.Quote(s.lit)
				t.lit(q[1 : len(q)-1])
				continue
			}
			*t = append(*t, segment{ref: s.ref, json: true})
		}
		t.lit(`"`)
	}
}

// jsonNumber keeps the text of a number if it is JSON, and else writes its value.
func (r *reader) jsonNumber(n ast.Node, what string) string {
	if s := n.GetToken().Value; json.Valid([]byte(s)) {
		return s
	}
	switch x := n.(type) {
	case *ast.IntegerNode:
		return fmt.Sprint(x.Value)
	case *ast.FloatNode:
		return fmt.Sprint(x.Value)
	}
	r.fail(n, "%s must be a number", what)
	return "0"
}

// merged joins adjacent literals.
func (t template) merged() template {
	out := t[:0]
	for _, s := range t {
		if n := len(out); s.ref == "" && n > 0 && out[n-1].ref == "" {
			out[n-1].lit += s.lit
			continue
		}
		out = append(out, s)
	}
	return out
}

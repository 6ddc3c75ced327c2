package openapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what one operation's schema becomes.
const (
	maxInline     = 16 << 10  // bytes, from where on references stay references
	maxSchema     = 256 << 10 // bytes in all
	maxReferences = 32        // that lead from one to the next
	maxWork       = 5_000_000 // keywords that are written for one document
)

// resolve follows references to what they lead to.
func (d *document) resolve(n *docNode) (*docNode, error) {
	for range maxReferences {
		ref := n.get("$ref")
		if ref == nil || ref.kind != '"' {
			return n, nil
		}
		target, err := d.target(ref)
		if err != nil {
			return nil, err
		}
		n = target
	}
	return nil, d.fail(n.line, "references lead in a circle, or on and on")
}

// target returns what a reference leads to.
func (d *document) target(ref *docNode) (*docNode, error) {
	pointer, local := strings.CutPrefix(ref.text, "#")
	if !local {
		return nil, d.fail(ref.line,
			"the reference %q leads out of the document: nothing else is read; put what it means into the document",
			ref.text)
	}
	if t, ok := d.targets[pointer]; ok {
		return t, nil
	}
	unescaped, err := unescapeFragment(pointer)
	if err != nil || pointer != "" && pointer[0] != '/' {
		return nil, d.fail(ref.line, "the reference %q is none to a place: it begins with #/", ref.text)
	}
	t := d.root.pointer(unescaped)
	if t == nil {
		return nil, d.fail(ref.line, "the reference %q leads nowhere", ref.text)
	}
	d.targets[pointer] = t
	return t, nil
}

// schemas writes the schemas of one operation as JSON Schema.
type schemas struct {
	doc   *document
	defs  []definition
	open  []string // references that are being written in full
	size  int      // bytes written
	plain bool     // leave patterns out: one of them could not be read
}

// A definition is a schema that others lead to by name.
type definition struct {
	ref, name string
	text      []byte
}

// dropped are keywords that say nothing to a model, or nothing that holds for arguments.
var dropped = []string{"example", "examples", "xml", "externalDocs", "discriminator", "deprecated", "readOnly",
	"writeOnly", "nullable", "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "contentMediaType",
	"contentEncoding"}

// What stands under these keywords is a schema, a list of schemas, schemas by name.
var (
	schemaKeywords = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	listKeywords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	mapKeywords  = []string{"properties", "patternProperties", "dependentSchemas"}
)

// schema appends a schema.
func (s *schemas) schema(dst []byte, n *docNode, depth int) ([]byte, error) {
	switch {
	case depth > maxDepth/4:
		return nil, s.doc.fail(n.line, "the schema is nested deeper than %d", maxDepth/4)
	case n.kind == 't' || n.kind == 'f':
		return n.append(dst), nil
	case !n.isObject():
		return nil, s.doc.fail(n.line, "a schema is an object")
	}
	if ref := n.get("$ref"); ref != nil && ref.kind == '"' {
		return s.reference(dst, ref, depth)
	}
	return s.object(dst, n, depth)
}

// reference writes what a reference leads to in its place, if that ends and is not long, else a reference to a
// definition.
func (s *schemas) reference(dst []byte, ref *docNode, depth int) ([]byte, error) {
	target, err := s.doc.target(ref)
	if err != nil {
		return nil, err
	}
	if !s.defined(ref) && s.size+len(dst) < maxInline && !slices.Contains(s.open, ref.text) {
		s.open = append(s.open, ref.text)
		out, err := s.schema(dst, target, depth+1)
		s.open = s.open[:len(s.open)-1]
		if err != nil || !s.defined(ref) {
			return out, err
		} // it holds itself: that is said once, as a definition
	}
	name, err := s.define(ref, target)
	if err != nil {
		return nil, err
	}
	return append(appendText(append(dst, `{"$ref":`...), "#/$defs/"+name), '}'), nil
}

func (s *schemas) defined(ref *docNode) bool {
	return slices.ContainsFunc(s.defs, func(d definition) bool { return d.ref == ref.text })
}

// define makes a definition of what a reference leads to, once.
func (s *schemas) define(ref, target *docNode) (string, error) {
	for _, d := range s.defs {
		if d.ref == ref.text {
			return d.name, nil
		}
	}
	base := identifier(ref.text[strings.LastIndexByte(ref.text, '/')+1:])
	name := base
	for i := 2; slices.ContainsFunc(s.defs, func(d definition) bool { return d.name == name }); i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	at := len(s.defs)
	s.defs = append(s.defs, definition{ref: ref.text, name: name})
	open := s.open
	s.open = []string{ref.text}
	text, err := s.schema(nil, target, 0)
	s.open = open
	if err != nil {
		return "", err
	}
	s.defs[at].text = text
	if s.size += len(text); s.size > maxSchema {
		return "", s.doc.fail(ref.line, "the schema is longer than %d KiB", maxSchema>>10)
	}
	return name, nil
}

func (s *schemas) object(dst []byte, n *docNode, depth int) (_ []byte, err error) {
	dst = append(dst, '{')
	first := len(dst)
	for _, m := range n.members {
		if slices.Contains(dropped, m.name) || strings.HasPrefix(m.name, "x-") || s.plain && m.name == "pattern" {
			continue
		}
		if s.doc.work++; s.doc.work > maxWork {
			return nil, s.doc.fail(n.line, "its schemas lead to each other so often that they are not read to the end")
		}
		before := len(dst)
		if before > first {
			dst = append(dst, ',')
		}
		name := m.name
		if bound, ok := exclusive[name]; ok && (m.value.kind == 't' || m.value.kind == 'f') {
			if m.value.kind == 'f' || n.get(bound) == nil {
				dst = dst[:before]
				continue
			}
			m.value = n.get(bound)
		} else if over := overridden[name]; over != "" && n.is(over) {
			dst = dst[:before]
			continue
		}
		dst = append(appendText(dst, name), ':')
		if dst, err = s.keyword(dst, n, m, depth); err != nil {
			return nil, err
		}
		if s.size+len(dst) > maxSchema {
			return nil, s.doc.fail(n.line, "the schema is longer than %d KiB", maxSchema>>10)
		}
	}
	return append(dst, '}'), nil
}

// In OpenAPI 3.0 a bound says of another whether it belongs to what is allowed.
var (
	exclusive  = map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
	overridden = map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
)

// keyword appends the value of a keyword of the schema n.
func (s *schemas) keyword(dst []byte, n *docNode, m member, depth int) ([]byte, error) {
	nullable := n.is("nullable")
	switch {
	case m.name == "type" && nullable && m.value.kind == '"':
		return append(appendText(append(dst, '['), m.value.text), `,"null"]`...), nil
	case m.name == "enum" && nullable && m.value.kind == '[':
		if !slices.ContainsFunc(m.value.items, func(i *docNode) bool { return i.kind == 'n' }) {
			with := docNode{kind: '[', items: append(slices.Clone(m.value.items), &docNode{kind: 'n'})}
			return with.append(dst), nil
		}
	case m.name == "required" && m.value.kind == '[':
		return s.required(dst, n, m.value)
	case slices.Contains(schemaKeywords, m.name) && m.value.kind != '[':
		return s.schema(dst, m.value, depth+1)
	case (slices.Contains(listKeywords, m.name) || m.name == "items") && m.value.kind == '[':
		return s.each(append(dst, '['), ']', len(m.value.items), func(dst []byte, i int) ([]byte, error) {
			return s.schema(dst, m.value.items[i], depth+1)
		})
	case slices.Contains(mapKeywords, m.name) && m.value.kind == '{':
		props := m.value.members
		if m.name == "properties" {
			props = s.writable(props)
		}
		return s.each(append(dst, '{'), '}', len(props), func(dst []byte, i int) ([]byte, error) {
			return s.schema(append(appendText(dst, props[i].name), ':'), props[i].value, depth+1)
		})
	}
	return m.value.append(dst), nil
}

func (*schemas) each(dst []byte, end byte, n int, write func([]byte, int) ([]byte, error)) ([]byte, error) {
	var err error
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = write(dst, i); err != nil {
			return nil, err
		}
	}
	return append(dst, end), nil
}

// writable leaves out properties that only a server writes.
func (s *schemas) writable(props []member) []member {
	return slices.DeleteFunc(slices.Clone(props), func(m member) bool { return s.readOnly(m.value) })
}

func (s *schemas) readOnly(n *docNode) bool {
	target, err := s.doc.resolve(n)
	return err == nil && target.is("readOnly")
}

func (s *schemas) required(dst []byte, n, names *docNode) ([]byte, error) {
	props := n.get("properties")
	kept := docNode{kind: '['}
	for _, name := range names.items {
		if p := props.get(name.text); p == nil || !s.readOnly(p) {
			kept.items = append(kept.items, name)
		}
	}
	return kept.append(dst), nil
}

// wrap returns the schema of the arguments: the properties, and the definitions that they need.
func (s *schemas) wrap(props []property) []byte {
	dst := []byte(`{"type":"object","properties":{`)
	var required []string
	for i, p := range props {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(appendText(dst, p.name), ':'), p.schema...)
		if p.required {
			required = append(required, p.name)
		}
	}
	dst = append(dst, '}')
	for i, name := range required {
		dst = append(dst, []string{`,"required":[`, `,`}[min(i, 1)]...)
		dst = appendText(dst, name)
	}
	if required != nil {
		dst = append(dst, ']')
	}
	dst = append(dst, `,"additionalProperties":false`...)
	for i, d := range s.defs {
		dst = append(dst, []string{`,"$defs":{`, `,`}[min(i, 1)]...)
		dst = append(append(appendText(dst, d.name), ':'), d.text...)
	}
	if s.defs != nil {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// A property is one argument.
type property struct {
	name     string
	schema   []byte
	required bool
	sample   *docNode // its schema, to make an example of
}

func (d *document) fail(line int, format string, args ...any) *Error {
	return &Error{d.file, line, fmt.Sprintf(format, args...)}
}

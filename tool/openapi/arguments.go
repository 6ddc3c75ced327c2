package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"wield/schema"
	"wield/tool/httpcall"
)

// bodyName is the argument that is the body.
const bodyName = "body"

// A parameter is one of the document, and the argument that it becomes.
type parameter struct {
	node     *docNode
	name, in string
	argument string
}

// ignored headers are set by the request itself.
var ignored = []string{"accept", "content-type", "authorization"}

// arguments makes the schema of the operation's arguments, the fields that they are sent in, and an example.
func (op *operation) arguments() (raw json.RawMessage, sample string, err error) {
	if op.params, err = op.parameters(); err != nil {
		return nil, "", err
	}
	var failed error
	for _, plain := range []bool{false, true} {
		s := &schemas{doc: op.doc, plain: plain}
		op.fields, op.body = nil, false
		props, err := op.properties(s)
		if err != nil {
			return nil, "", err
		}
		raw := s.wrap(props)
		compiled, err := schema.Compile(raw)
		if err == nil {
			return raw, op.sample(props, compiled), nil
		}
		failed = err // a pattern of another notation, perhaps: it is tried without them
	}
	return nil, "", op.doc.fail(op.node.line, "%s: %v", op.name, failed)
}

// parameters lists those of the path and of the operation, which win.
func (op *operation) parameters() ([]parameter, error) {
	var list []parameter
	for _, n := range slices.Concat(op.node.list("parameters"), op.item.list("parameters")) {
		p, err := op.doc.resolve(n)
		if err != nil {
			return nil, err
		}
		one := parameter{node: p, name: p.str("name"), in: p.str("in")}
		switch {
		case one.name == "" || !slices.Contains([]string{"path", "query", "header", "cookie"}, one.in):
			return nil, op.doc.fail(n.line, "a parameter has a name, and stands in path, query, header or cookie")
		case one.in == "header" && slices.Contains(ignored, strings.ToLower(one.name)):
			continue
		case slices.ContainsFunc(list, func(p parameter) bool { return p.name == one.name && p.in == one.in }):
			continue
		}
		list = append(list, one)
	}
	op.taken = map[string]bool{}
	if op.node.get("requestBody") != nil {
		op.taken[bodyName] = true
	}
	for i := range list {
		list[i].argument = op.argument(list[i].name, list[i].in)
	}
	return list, nil
}

// argument names the argument of a parameter: as it is called, if models and protocols can write that.
func (op *operation) argument(name, in string) string {
	base := identifierKeeping(name)
	if base == "" {
		base = in
	}
	for _, try := range []string{base, base + "_" + in, base + "_" + in + "_2", base + "_" + in + "_3"} {
		if !op.taken[try] {
			base = try
			break
		}
	}
	op.taken[base] = true
	return base
}

// identifierKeeping is identifier for names that may stay as they are.
func identifierKeeping(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" &&
		len(name) <= maxName {
		return name
	}
	return identifier(name)
}

// pathArgument returns the argument of a parameter in the path.
func (op *operation) pathArgument(name string) string {
	for _, p := range op.params {
		if p.in == "path" && p.name == name {
			return p.argument
		}
	}
	return ""
}

// properties makes the arguments and their fields.
func (op *operation) properties(s *schemas) ([]property, error) {
	var props []property
	for _, p := range op.params {
		schema, style, err := op.shapeOf(p)
		if err != nil {
			return nil, err
		}
		prop := property{name: p.argument, required: p.in == "path" || p.node.is("required"), sample: schema}
		if prop.schema, err = s.schema(nil, schema, 0); err != nil {
			return nil, err
		}
		about := strings.Join(strings.Fields(p.node.str("description")), " ")
		if about == "" && schema.str("description") == "" {
			about = spoken(p.name) + ", in the " + p.in
		}
		prop.schema = op.describe(prop.schema, about)
		props = append(props, prop)
		s.size += len(prop.schema)
		if p.in != "path" {
			op.fields = append(op.fields, httpcall.Field{In: httpcall.In(p.in), Name: p.name,
				Value: "{" + p.argument + "}", Style: style})
		}
	}
	return op.withBody(s, props)
}

// describe puts the words of a parameter in the place of its schema's.
func (op *operation) describe(schema []byte, about string) []byte {
	if about == "" || len(schema) < 2 || schema[0] != '{' {
		return schema
	}
	var m struct {
		Description json.RawMessage `json:"description"`
	}
	if json.Unmarshal(schema, &m) == nil && m.Description != nil {
		return schema
	}
	out := appendText([]byte(`{"description":`), about)
	if len(schema) > 2 {
		out = append(out, ',')
	}
	return append(out, schema[1:]...)
}

// styles lists the ways to write a parameter, by place, style and whether it is exploded.
var styles = []struct {
	in, style string
	explode   bool
	as        string // httpcall.Field.Style
}{
	{"query", "form", true, "explode"},
	{"query", "form", false, "comma"},
	{"query", "spaceDelimited", false, "space"},
	{"query", "spaceDelimited", true, "explode"},
	{"query", "pipeDelimited", false, "pipe"},
	{"query", "pipeDelimited", true, "explode"},
	{"query", "deepObject", true, "deep"},
	{"query", "deepObject", false, "deep"},
	{"header", "simple", true, "explode"},
	{"header", "simple", false, "comma"},
	{"cookie", "form", true, "explode"},
	{"cookie", "form", false, "comma"},
	{"path", "simple", true, "explode"},
	{"path", "simple", false, "explode"},
}

// usualStyles are those of parameters that say nothing.
var usualStyles = map[string]string{"query": "form", "cookie": "form", "header": "simple", "path": "simple"}

// shapeOf returns the schema of a parameter and how it is written.
func (op *operation) shapeOf(p parameter) (*docNode, string, error) {
	if content := p.node.get("content"); content.isObject() && len(content.members) > 0 {
		media, err := op.doc.resolve(content.members[0].value)
		if err != nil {
			return nil, "", err
		}
		return schemaOrAny(media, p.node.line), "json", nil
	}
	style := p.node.str("style")
	if style == "" {
		style = usualStyles[p.in]
	}
	explode := style == "form"
	if e := p.node.get("explode"); e != nil {
		explode = e.kind == 't'
	}
	for _, s := range styles {
		if s.in == p.in && s.style == style && s.explode == explode {
			return schemaOrAny(p.node, p.node.line), s.as, nil
		}
	}
	return nil, "", op.doc.fail(p.node.line, "the parameter %s: the style %q in a %s is not supported", p.name, style,
		p.in)
}

// schemaOrAny returns the schema of a parameter or body; one that allows text if there is none.
func schemaOrAny(n *docNode, line int) *docNode {
	if s := n.get("schema"); s != nil {
		return s
	}
	return &docNode{kind: '{', line: line,
		members: []member{{"type", line, &docNode{kind: '"', text: "string", line: line}}}}
}

// withBody adds the body as one argument.
func (op *operation) withBody(s *schemas, props []property) ([]property, error) {
	n := op.node.get("requestBody")
	if n == nil {
		return props, nil
	}
	body, err := op.doc.resolve(n)
	if err != nil {
		return nil, err
	}
	var media *docNode
	if content := body.get("content"); content.isObject() {
		for _, m := range content.members {
			kind, _, _ := strings.Cut(strings.ToLower(m.name), ";")
			if kind == "application/json" || kind == "*/*" ||
				strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") {
				media = m.value
				if kind != "*/*" && kind != "application/json" {
					op.fields = append(op.fields, httpcall.Field{In: httpcall.InHeader, Name: "Content-Type",
						Value: kind})
				}
				break
			}
		}
	}
	switch {
	case media == nil && !body.is("required"):
		return props, nil
	case media == nil:
		return nil, op.doc.fail(n.line, "%s: its body is no JSON", op.name)
	case op.method == "get" || op.method == "head":
		return nil, op.doc.fail(n.line, "%s: a %s has no body", op.name, strings.ToUpper(op.method))
	}
	shape := schemaOrAny(media, body.line)
	prop := property{name: bodyName, required: body.is("required"), sample: shape}
	if prop.schema, err = s.schema(nil, shape, 0); err != nil {
		return nil, err
	}
	about := strings.Join(strings.Fields(body.str("description")), " ")
	if about == "" {
		about = "what is sent"
	}
	prop.schema = op.describe(prop.schema, about)
	op.body = true
	return append(props, prop), nil
}

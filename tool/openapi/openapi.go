package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"wield/chat"
	"wield/tool"
	"wield/tool/httpcall"
)

// Options say what becomes of a document. The zero value makes a tool of each operation.
type Options struct {
	File   string // the document's name, for messages
	Server string // address in place of the document's; needed where that has none, or one without a host
	Prefix string // in front of each name

	// What is picked, each empty for everything. * stands for any characters, and letters may be in any case.
	Tags       []string
	Operations []string // by the document's operationId or the name of the tool
	Paths      []string
	Methods    []string

	Auth     map[string]Credential // by the name of the security scheme
	Accept   []string              // as of httpcall.Request
	MaxBytes int64
}

// A Credential answers one security scheme: Token for a key or a bearer, User and Password for basic.
type Credential struct {
	Token    string
	User     string
	Password string
}

// A document is one that is being read.
type document struct {
	Options
	file    string
	root    *docNode
	targets map[string]*docNode
	names   map[string]int // line of the operation that has a name
	work    int
}

// methods are those that become tools, in the order in which they are looked at.
var methods = []string{"get", "put", "post", "delete", "head", "patch"}

// Read makes tools of the operations of a document, in its order. Of what is wrong it joins the errors, each an
// *Error; the other operations are returned all the same.
func Read(data []byte, o Options) ([]*tool.Tool, error) {
	d := &document{Options: o, file: o.File, targets: map[string]*docNode{}, names: map[string]int{}}
	var err error
	if d.root, err = read(o.File, data); err != nil {
		return nil, err
	}
	if err := d.version(); err != nil {
		return nil, err
	}
	paths := d.root.get("paths")
	if !paths.isObject() {
		return nil, d.fail(d.root.line, "it has no paths, so that there is nothing to call")
	}
	var tools []*tool.Tool
	var errs []error
	found := false
	for _, p := range paths.members {
		if strings.HasPrefix(p.name, "x-") {
			continue
		}
		item, err := d.resolve(p.value)
		if err != nil || !item.isObject() {
			errs = append(errs, d.orFail(err, p.line, "%s: no path item", p.name))
			continue
		}
		for _, method := range methods {
			op := &operation{doc: d, method: method, path: p.name, item: item, node: item.get(method)}
			if op.node == nil {
				continue
			}
			if !op.picked() {
				continue
			}
			found = true
			t, err := op.tool()
			if err != nil {
				errs = append(errs, d.orFail(err, op.node.line, ""))
				continue
			}
			tools = append(tools, t)
		}
	}
	if !found {
		errs = append(errs, d.fail(paths.line, "no operation is picked: look at tags, operations, paths and methods"))
	}
	return tools, errors.Join(errs...)
}

// orFail returns err with its place: its own, or that of what it is about.
func (d *document) orFail(err error, line int, format string, args ...any) error {
	var e *Error
	switch {
	case err == nil:
		return d.fail(line, format, args...)
	case errors.As(err, &e):
		return e
	}
	return d.fail(line, "%v", err)
}

func (d *document) version() error {
	if !d.root.isObject() {
		return d.fail(1, "it is no OpenAPI document: it holds no object")
	}
	v := d.root.get("openapi")
	switch {
	case d.root.get("swagger") != nil:
		return d.fail(d.root.get("swagger").line,
			"it is of version 2: only 3.0 and 3.1 are read; converters to 3.0 exist")
	case v == nil:
		return d.fail(d.root.line, "it is no OpenAPI document: the key openapi is missing")
	case !strings.HasPrefix(v.text+".", "3.0.") && !strings.HasPrefix(v.text+".", "3.1."):
		return d.fail(v.line, "version %q: only 3.0 and 3.1 are read", v.text)
	}
	return nil
}

// An operation is a method on a path.
type operation struct {
	doc          *document
	method, path string
	item, node   *docNode

	name   string
	params []parameter
	taken  map[string]bool // names of arguments
	fields []httpcall.Field
	body   bool
}

// picked reports whether the operation is among those that are wanted.
func (op *operation) picked() bool {
	o, id := &op.doc.Options, op.node.str("operationId")
	any := func(patterns []string, texts ...string) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
			return slices.ContainsFunc(texts, func(t string) bool { return t != "" && wildcard(p, t) })
		})
	}
	var tags []string
	for _, t := range op.node.list("tags") {
		tags = append(tags, t.text)
	}
	return any(o.Tags, tags...) && any(o.Operations, id, snake(id), op.toolName()) && any(o.Paths, op.path) &&
		any(o.Methods, op.method)
}

// toolName returns the name that the operation's tool has.
func (op *operation) toolName() string {
	name := snake(op.node.str("operationId"))
	if name == "" {
		name = madeName(op.method, op.path)
	}
	name = op.doc.Prefix + name
	return strings.TrimRight(name[:min(len(name), maxName)], "_")
}

// tool makes the tool of the operation.
func (op *operation) tool() (*tool.Tool, error) {
	d := op.doc
	if !op.node.isObject() {
		return nil, d.fail(op.node.line, "%s %s: no operation", strings.ToUpper(op.method), op.path)
	}
	op.name = op.toolName()
	if line, ok := d.names[op.name]; ok {
		return nil, d.fail(op.node.line,
			"a second operation would be called %s; the first is in line %d: give it another operationId",
			op.name, line)
	}
	d.names[op.name] = op.node.line
	parameters, sample, err := op.arguments()
	if err != nil {
		return nil, err
	}
	address, err := op.address()
	if err != nil {
		return nil, err
	}
	auth, secrets, err := op.security()
	if err != nil {
		return nil, err
	}
	r := httpcall.Request{Method: op.method, URL: address, Fields: append(op.fields, auth...), Accept: d.Accept,
		MaxBytes: d.MaxBytes, Secrets: secrets}
	if op.body {
		r.Body = appendText(nil, "{"+bodyName+"}")
	}
	t, err := httpcall.New(chat.Tool{Name: op.name, Description: op.description(sample), Parameters: parameters}, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", op.name, strings.TrimPrefix(err.Error(), httpcall.ErrRequest.Error()+": "))
	}
	return t, nil
}

// address returns server and path, the places named as the arguments are.
func (op *operation) address() (string, error) {
	server, err := op.server()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	rest := op.path
	for {
		text, after, ok := strings.Cut(rest, "{")
		b.WriteString((&url.URL{Path: text}).EscapedPath())
		if !ok {
			break
		}
		name, behind, ok := strings.Cut(after, "}")
		if !ok {
			return "", op.doc.fail(op.node.line, "the path %s: a brace is open", op.path)
		}
		place := op.pathArgument(name)
		if place == "" {
			return "", op.doc.fail(op.node.line, "the path %s: there is no parameter %q in the path", op.path, name)
		}
		b.WriteString("{" + place + "}")
		rest = behind
	}
	path := strings.TrimPrefix(b.String(), "./") // so that a colon is no scheme
	if !strings.HasPrefix(path, "/") {
		return "", op.doc.fail(op.node.line, "the path %q begins with no slash", op.path)
	}
	return strings.TrimSuffix(server, "/") + path, nil
}

// server returns the address that the operation is asked at.
func (op *operation) server() (string, error) {
	if op.doc.Server != "" {
		return op.doc.Server, nil
	}
	for _, n := range []*docNode{op.node, op.item, op.doc.root} {
		servers := n.list("servers")
		if len(servers) == 0 {
			continue
		}
		s := servers[0]
		address := s.str("url")
		if vars := s.get("variables"); vars != nil {
			for _, v := range vars.members {
				address = strings.ReplaceAll(address, "{"+v.name+"}", v.value.str("default"))
			}
		}
		if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
			return "", op.doc.fail(s.line,
				"the server %q has no scheme and host: say where it is with the key server",
				address)
		}
		if strings.ContainsAny(address, "{}?#") {
			return "", op.doc.fail(s.line, "the server %q is no plain address: say where it is with the key server",
				address)
		}
		return address, nil
	}
	return "", op.doc.fail(op.doc.root.line, "it names no server: say where it is with the key server")
}

// maxDescription limits the description of one operation.
const maxDescription = 1000

// description says what the operation does, with an example of its arguments if there is one.
func (op *operation) description(sample string) string {
	text := strings.TrimSpace(op.node.str("summary"))
	more, _, _ := strings.Cut(strings.TrimSpace(op.node.str("description")), "\n\n")
	more = strings.Join(strings.Fields(more), " ")
	switch {
	case text == "":
		text = more
	case more != "" && more != text:
		text = strings.TrimSuffix(text, ".") + ". " + more
	}
	if len(text) < 20 {
		text = strings.TrimSpace(strings.TrimSuffix(text, ".") + " (" + strings.ToUpper(op.method) + " " + op.path +
			")")
	}
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription], "") + ".."
	}
	if sample == "" {
		return text
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?:") {
		text += "."
	}
	return text + " Example: " + sample
}

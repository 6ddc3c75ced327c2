package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// A toolOrigin locates a tool in a request.
type toolOrigin struct {
	space  string       // name of its namespace
	opaque []chat.Extra // what a server of this protocol has to know of it
	found  bool         // the conversation describes it; of several of one name the first stays
}

// tool reads one tool.
func (d *requestReader) tool(p toolOrigin) {
	d.toolsSeen = true
	kind, name, function, nested := "", "", -1, -1
	d.Peek()
	start := d.Pos
	var around rest
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "name":
			at := d.Pos
			name = d.Optional()
			around.add(key, d.Bytes[at:d.Pos])
		case "function":
			function = d.Mark()
		case "tools":
			nested = d.Mark()
		default:
			around.add(key, d.Raw())
		}
	})
	raw := d.Bytes[start:d.Pos:d.Pos]
	switch {
	case d.Bad != nil:
	case kind == "namespace" && nested >= 0 && p.space == "":
		p.space, p.opaque = name,
			append(slices.Clip(p.opaque), chat.Extra{Protocol: chat.ProtocolResponses, Key: keyNamespace,
				Value: around.object()})
		d.Again(nested, "tools", func() { d.Each(func() { d.tool(p) }) })
	case kind != "function" && kind != "":
		d.Again(start, "", func() {
			t, f := d.typed(kind, raw)
			d.offer(t, f, p)
		})
	case function >= 0: // the shape of chat completions, which some clients send here
		d.Again(function, "function", func() { d.function(p, nil) })
	default:
		d.Again(start, "", func() { d.function(p, raw) })
	}
}

// rest gathers the members of an object.
type rest []byte

func (r *rest) add(key string, raw []byte) {
	*r = append(shape.AppendQuoted(append(*r, ','), key), ':')
	*r = append(*r, raw...)
}

func (r rest) object() json.RawMessage {
	if len(r) == 0 {
		return json.RawMessage("{}")
	}
	r[0] = '{'
	return json.RawMessage(append(r, '}'))
}

// function reads the definition of a function. raw is kept where it says more than the vocabulary can.
func (d *requestReader) function(p toolOrigin, raw []byte) {
	var t chat.Tool
	d.Members(func(key string) {
		switch key {
		case "type":
			d.Skip()
		case "name":
			t.Name = d.Text()
		case "description":
			t.Description = d.Optional()
		case "parameters":
			t.Parameters = d.Schema()
		case "strict":
			t.Strict = d.Boolean()
		default:
			if more := d.Raw(); len(more) > 0 && more[0] != 'n' {
				if x := (chat.Extra{Protocol: chat.ProtocolResponses, Key: key, Value: more}); !x.Remembers() {
					t.Opaque = append(t.Opaque, x)
				}
				if raw != nil {
					t.Raw, t.Protocol = raw, chat.ProtocolResponses
				}
			}
		}
	})
	d.offer(t, nil, p)
}

// offer adds a tool under the name by which the model sees it.
func (d *requestReader) offer(t chat.Tool, f *form, p toolOrigin) {
	r := d.req
	own := t.Name
	switch {
	case d.Bad != nil:
		return
	case t.Name == "":
		d.RefuseAt("name", jsonbody.CodeMissing, "a tool must have a name")
		return
	case p.space != "":
		t.Name = d.spacedName(p.space, t.Name)
	case r.spaced[t.Name] != spaced{}:
		d.yield(t.Name)
	}
	t.Opaque, t.Deferred = append(t.Opaque, p.opaque...), p.found
	switch {
	case t.Hosted != chat.HostedNot:
		if d.hosted == nil {
			d.hosted = make(map[string]bool)
		}
		d.hosted[t.Name] = true
		r.Tools = append(r.Tools, t)
		return
	case d.known(t.Name) && p.found:
		return
	case d.known(t.Name):
		d.RefuseAt("name", jsonbody.CodeInvalidValue, fmt.Sprintf("there is another tool of the name %q", own))
		return
	}
	if r.places == nil {
		r.places, r.forms = make(map[string]int), make(map[string]*form)
	}
	r.places[t.Name] = len(r.Tools)
	if f != nil {
		r.forms[t.Name] = f
	}
	r.Tools = append(r.Tools, t)
}

func (d *requestReader) known(name string) bool {
	_, ok := d.req.places[name]
	return ok
}

// offered reports whether there is a tool of a name, whoever runs it.
func (d *requestReader) offered(name string) bool {
	_, _, ok := ChosenMCP(name)
	return d.known(name) || d.hosted[name] || ok && d.hosted[typeMCP]
}

// typeMCP is the type of tools that are an MCP server with its tools.
const typeMCP = "mcp"

// ChosenMCP returns which MCP server, and which tool of it unless any will do, a name in a [chat.Choice] stands for. It
// reports false for names of other tools.
func ChosenMCP(name string) (label, own string, ok bool) {
	if name, ok = strings.CutPrefix(name, typeMCP+"\x00"); ok {
		label, own, _ = strings.Cut(name, "\x00")
	}
	return label, own, ok
}

// spacedName finds the name under which the model sees a tool of a namespace: its own, or where another tool has
// that, one that holds both.
func (d *requestReader) spacedName(space, name string) string {
	if d.req.spaced == nil {
		d.req.spaced, d.req.seen = make(map[string]spaced), make(map[spaced]string)
	}
	seen := name
	if d.known(seen) {
		seen = joined(space, name)
	}
	if !d.known(seen) {
		d.req.spaced[seen], d.req.seen[spaced{space, name}] = spaced{space, name}, seen
	}
	return seen
}

func joined(space, name string) string { return space + "__" + name }

// yield gives the name of a namespace's tool to one that has no other.
func (d *requestReader) yield(name string) {
	s := d.req.spaced[name]
	longer := joined(s.space, s.name)
	if d.known(longer) {
		return
	}
	r := d.req
	at := r.places[name]
	r.Tools[at].Name = longer
	if f := r.forms[name]; f != nil {
		r.forms[longer] = f
	}
	delete(r.places, name)
	delete(r.forms, name)
	delete(r.spaced, name)
	r.places[longer], r.spaced[longer], r.seen[s] = at, s, longer
}

// choice reads which tools may or must be called.
func (d *requestReader) choice() {
	c := &d.req.Choice
	switch d.Peek() {
	case 'n':
		d.Skip()
	case '"':
		mode, ok := choiceModes[d.Str()]
		if !ok {
			d.Refuse(jsonbody.CodeInvalidValue, "this must be none, auto, required, or an object that names a function")
		}
		c.Mode = mode
	case '{':
		d.choiceObject()
	default:
		d.Want("a string or an object")
	}
}

var choiceModes = map[string]chat.ChoiceMode{"auto": chat.ChoiceAuto, "none": chat.ChoiceNone,
	"required": chat.ChoiceRequired}

func (d *requestReader) choiceObject() {
	c := &d.req.Choice
	kind, mode := "function", ""
	var t spaced
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "mode":
			mode = d.Text()
		case "tools":
			d.Each(func() {
				c.Allowed = append(c.Allowed, d.chosen())
			})
		default:
			d.toolName(&t, key)
		}
	})
	switch kind {
	case "function":
		if t.name == "" {
			d.RefuseAt("name", jsonbody.CodeMissing, "the function to call must be named")
		}
		c.Mode, c.Name = chat.ChoiceNamed, seenName(d.req.seen, t)
	case "allowed_tools":
		if c.Mode = choiceModes[mode]; mode != "auto" && mode != "required" {
			d.RefuseAt("mode", jsonbody.CodeInvalidValue, "this must be auto or required")
		}
	case "auto", "none", "required":
		c.Mode = choiceModes[kind]
	default:
		c.Mode, c.Name = chat.ChoiceNamed, d.typedName(kind, t)
	}
}

// chosen reads one of the tools that may be called.
func (d *requestReader) chosen() string {
	kind := "function"
	var t spaced
	d.Members(func(key string) {
		if key == "type" {
			kind = d.Text()
		} else {
			d.toolName(&t, key)
		}
	})
	name := d.typedName(kind, t)
	if name == "" {
		d.RefuseAt("name", jsonbody.CodeMissing, "a tool that may be called must be named")
	}
	return name
}

// typedName returns the name under which the model sees a tool of a type.
func (d *requestReader) typedName(kind string, t spaced) string {
	if kind == typeMCP && t.space != "" {
		return strings.Join([]string{kind, t.space, t.name}, "\x00")
	}
	if t.name == "" && kind != "function" {
		t.name = kind
	}
	return seenName(d.req.seen, t)
}

func (d *requestReader) toolName(t *spaced, key string) {
	switch key {
	case "name":
		t.name = d.Optional()
	case "namespace", "server_label":
		t.space = d.Optional()
	case "function":
		d.Members(func(key string) { d.toolName(t, key) })
	default:
		d.Unread()
	}
}

// seenName returns the name under which the model sees a tool.
func seenName(all map[spaced]string, t spaced) string {
	if seen, ok := all[t]; ok {
		return seen
	}
	return t.name
}

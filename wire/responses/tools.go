package responses

import (
	"fmt"

	"wield/chat"
	"wield/wire/jsonbody"
)

// tool reads one tool. space is the namespace that it stands in.
func (d *requestReader) tool(space string) {
	d.toolsSeen = true
	kind, name, function, nested := "", "", -1, -1
	d.Peek()
	start := d.Pos
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "name":
			name = d.Optional()
		case "function":
			function = d.Mark()
		case "tools":
			nested = d.Mark()
		default:
			d.Skip()
		}
	})
	switch {
	case d.Bad != nil:
	case kind == "namespace" && nested >= 0 && space == "":
		d.Again(nested, "tools", func() { d.Each(func() { d.tool(name) }) })
	case kind != "function" && kind != "": // what cannot be shown to a model
	case function >= 0: // the shape of chat completions, which some clients send here
		d.Again(function, "function", func() { d.function(space) })
	default:
		d.Again(start, "", func() { d.function(space) })
	}
}

// function reads the definition of a function.
func (d *requestReader) function(space string) {
	var t chat.Tool
	d.Members(func(key string) {
		switch key {
		case "name":
			t.Name = d.Text()
		case "description":
			t.Description = d.Optional()
		case "parameters":
			t.Parameters = d.Schema()
		case "strict":
			t.Strict = d.Boolean()
		default:
			d.Skip()
		}
	})
	switch {
	case d.Bad != nil:
		return
	case t.Name == "":
		d.RefuseAt("name", jsonbody.CodeMissing, "a tool must have a name")
		return
	case space != "":
		t.Name = d.spacedName(space, t.Name)
	case d.req.spaced[t.Name] != spaced{}:
		d.yield(t.Name)
	}
	if d.known(t.Name) {
		d.RefuseAt("name", jsonbody.CodeInvalidValue, fmt.Sprintf("there is another tool of the name %q", t.Name))
		return
	}
	if d.names == nil {
		d.names = make(map[string]int)
	}
	d.names[t.Name] = len(d.req.Tools)
	d.req.Tools = append(d.req.Tools, t)
}

func (d *requestReader) known(name string) bool {
	_, ok := d.names[name]
	return ok
}

// spacedName finds the name under which the model sees a tool of a namespace: its own, or where another tool has that, one
// that holds both.
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
	at := d.names[name]
	d.req.Tools[at].Name = longer
	delete(d.names, name)
	delete(d.req.spaced, name)
	d.names[longer], d.req.spaced[longer], d.req.seen[s] = at, s, longer
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

var choiceModes = map[string]chat.ChoiceMode{"auto": chat.ChoiceAuto, "none": chat.ChoiceNone, "required": chat.ChoiceRequired}

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
				if name := d.chosen(); name != "" {
					c.Allowed = append(c.Allowed, name)
				}
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
	default: // a tool of a kind that was left out: nothing is left to force
	}
}

// chosen reads one of the tools that may be called.
func (d *requestReader) chosen() string {
	var t spaced
	d.Members(func(key string) { d.toolName(&t, key) })
	return seenName(d.req.seen, t)
}

func (d *requestReader) toolName(t *spaced, key string) {
	switch key {
	case "name":
		t.name = d.Optional()
	case "namespace":
		t.space = d.Optional()
	case "function":
		d.Members(func(key string) { d.toolName(t, key) })
	default:
		d.Skip()
	}
}

// seenName returns the name under which the model sees a tool.
func seenName(all map[spaced]string, t spaced) string {
	if seen, ok := all[t]; ok {
		return seen
	}
	return t.name
}

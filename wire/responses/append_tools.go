package responses

import (
	"encoding/json"
	"slices"

	"wield/chat"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// A called tool is one as the protocol names it.
type called struct {
	space, name string
	form        *form // nil: it is a function
}

// Names say how a server of the protocol names the tools of a request, by the names that the rest of wield knows them
// by, and the other way round.
type Names struct {
	out map[string]called
	in  map[spaced]string
}

// NamesOf returns the names of tools. Those of functions in no namespace are the same.
func NamesOf(tools []chat.Tool) Names {
	var n Names
	for i := range tools {
		t := &tools[i]
		if t.Hosted != chat.HostedNot {
			continue
		}
		c := called{space: memberOf(opaqueOf(t, keyNamespace), "name"), name: t.Name}
		if t.Protocol == chat.ProtocolResponses && len(t.Raw) > 0 {
			if name := memberOf(t.Raw, "name"); name != "" {
				c.name = name
			}
			c.form = forms[memberOf(t.Raw, "type")]
		} else if freeform.Is(t) {
			c.form = customForm
		} else if prefix := joined(c.space, ""); c.space != "" && len(t.Name) > len(prefix) &&
			t.Name[:len(prefix)] == prefix {
			c.name = t.Name[len(prefix):]
		}
		if c == (called{name: t.Name}) {
			continue
		}
		if n.out == nil {
			n.out, n.in = make(map[string]called), make(map[spaced]string)
		}
		n.out[t.Name], n.in[spaced{c.space, c.name}] = c, t.Name
	}
	return n
}

func (n *Names) of(name string) called {
	if c, ok := n.out[name]; ok {
		return c
	}
	return called{name: name}
}

// memberOf returns a member of an object that is a string.
func memberOf(object []byte, key string) (value string) {
	s := jsonbody.Scanner{Bytes: object}
	if s.Peek() != '{' {
		return ""
	}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == key && s.Peek() == '"' {
			value = s.Str()
		} else {
			s.Skip()
		}
	}
	return value
}

// opaqueOf returns what a key of this protocol holds of a tool.
func opaqueOf(t *chat.Tool, key string) json.RawMessage {
	if i := indexOpaque(t.Opaque, key); i >= 0 {
		return t.Opaque[i].Value
	}
	return nil
}

func indexOpaque(all []chat.Extra, key string) int {
	return slices.IndexFunc(all, func(x chat.Extra) bool {
		return x.Protocol == chat.ProtocolResponses && x.Key == key
	})
}

func (w *requestWriter) know(tools []chat.Tool) { w.named = NamesOf(tools) }

// call writes an earlier call in the form of its tool.
func (w *requestWriter) call(c *chat.Call) {
	t := w.named.of(c.Name)
	kind := "function_call"
	if t.form != nil {
		kind = t.form.call
		if w.calls == nil {
			w.calls = make(map[string]*form)
		}
		w.calls[c.ID] = t.form
	}
	w.item(kind)
	w.str("call_id", c.ID)
	if t.space != "" {
		w.str("namespace", t.space)
	}
	switch t.form {
	case nil:
		w.str("name", t.name)
		w.str("arguments", orEmptyObject(c.Arguments))
	case customForm:
		w.str("name", t.name)
		w.b = t.form.appendHeld(w.b, c.Arguments)
	case searchForm:
		w.str("execution", "client")
		w.b = t.form.appendHeld(w.b, c.Arguments)
	default:
		w.str("status", statusCompleted)
		w.b = t.form.appendHeld(w.b, c.Arguments)
	}
	w.b = append(w.b, '}')
}

// result writes what came of a call. What a search found is written as it came.
func (w *requestWriter) result(m *chat.Message) *chat.Error {
	f := w.calls[m.CallID]
	kind := "function_call_output"
	if f != nil {
		kind = f.output
	}
	if i := indexOpaque(m.Opaque, keyFound); i >= 0 && f == searchForm {
		if w.items++; w.items > 1 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, m.Opaque[i].Value...)
		return nil
	}
	w.item(kind)
	w.str("call_id", m.CallID)
	if f == patchForm {
		status := statusCompleted
		if m.IsError {
			status = statusFailed
		}
		w.str("status", status)
	}
	w.key("output")
	var err *chat.Error
	if text := m.Text(); f == shellForm && len(text) > 0 && text[0] == '[' && json.Valid([]byte(text)) {
		w.b = append(w.b, text...)
	} else {
		err = w.content(m, "input_text")
	}
	w.b = append(w.b, '}')
	return err
}

// served writes what the server itself did, which only it can go on with, and returns the message without that.
func (w *requestWriter) served(m *chat.Message) *chat.Message {
	own := func(p chat.Part) bool { return p.Kind == chat.PartOpaque && m.Role == chat.RoleAssistant }
	if !slices.ContainsFunc(m.Parts, own) {
		return m
	}
	for _, p := range m.Parts {
		if own(p) && p.Protocol == chat.ProtocolResponses {
			if w.items++; w.items > 1 {
				w.b = append(w.b, ',')
			}
			w.b = append(w.b, p.Raw...)
		}
	}
	rest := *m
	rest.Parts = slices.DeleteFunc(slices.Clone(m.Parts), own)
	return &rest
}

// offer writes the tools that stand in the field of that name, and the choice among all.
func (w *requestWriter) offer(req *chat.Request) {
	list := slices.DeleteFunc(slices.Clone(req.Tools), func(t chat.Tool) bool {
		return indexOpaque(t.Opaque, keyAdditional) >= 0 || indexOpaque(t.Opaque, keyFound) >= 0
	})
	if len(list) > 0 {
		w.key("tools")
		w.tools(list)
	}
	w.choice(&req.Choice)
	w.boolean("parallel_tool_calls", req.Parallel)
}

// additional writes the tools that stood among the input, each in the item that it came in. They stand in front of
// all else, where clients put them and where the server's cache of prompts finds them.
func (w *requestWriter) additional(tools []chat.Tool) {
	for i := 0; i < len(tools); {
		around := opaqueOf(&tools[i], keyAdditional)
		n := i + 1
		for n < len(tools) && string(opaqueOf(&tools[n], keyAdditional)) == string(around) {
			n++
		}
		if around != nil {
			w.item(keyAdditional)
			w.members(around)
			w.key("tools")
			w.tools(tools[i:n])
			w.b = append(w.b, '}')
		}
		i = n
	}
}

// members writes the members of an object.
func (w *requestWriter) members(object []byte) {
	s := jsonbody.Scanner{Bytes: object}
	for s.Enter('{'); s.Next('}'); {
		w.key(s.Name())
		w.b = append(w.b, s.Raw()...)
	}
}

// tools writes a list of tools, those of one namespace together.
func (w *requestWriter) tools(tools []chat.Tool) {
	w.b = append(w.b, '[')
	for i := 0; i < len(tools); {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		space := opaqueOf(&tools[i], keyNamespace)
		if space == nil {
			w.tool(&tools[i])
			i++
			continue
		}
		w.b = append(w.b, `{"type":"namespace"`...)
		w.members(space)
		w.key("tools")
		w.b = append(w.b, '[')
		for n := i; i < len(tools) && string(opaqueOf(&tools[i], keyNamespace)) == string(space); i++ {
			if i > n {
				w.b = append(w.b, ',')
			}
			w.tool(&tools[i])
		}
		w.b = append(w.b, "]}"...)
	}
	w.b = append(w.b, ']')
}

func (w *requestWriter) tool(t *chat.Tool) {
	if t.Protocol == chat.ProtocolResponses && len(t.Raw) > 0 {
		w.b = append(w.b, t.Raw...)
		return
	}
	if freeform.Is(t) {
		w.b = freeform.AppendTool(w.b, t, chat.ProtocolResponses)
		return
	}
	w.b = append(w.b, `{"type":"function"`...)
	w.str("name", w.named.of(t.Name).name)
	if t.Description != "" {
		w.str("description", t.Description)
	}
	w.key("parameters")
	w.b = append(w.b, jsonbody.ObjectSchema(t.Parameters)...)
	w.boolean("strict", t.Strict)
	w.b = append(w.b, '}')
}

func (w *requestWriter) choice(c *chat.Choice) {
	switch {
	case c.Mode == chat.ChoiceNamed:
		w.key("tool_choice")
		w.chosen(c.Name)
	case len(c.Allowed) > 0 && c.Mode != chat.ChoiceNone:
		w.key("tool_choice")
		w.b = append(w.b, `{"type":"allowed_tools","mode":"`...)
		w.b = append(w.b, c.Mode.String()...)
		w.b = append(w.b, `","tools":[`...)
		for i, name := range c.Allowed {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.chosen(name)
		}
		w.b = append(w.b, "]}"...)
	default:
		w.str("tool_choice", c.Mode.String())
	}
}

// chosen writes which tool to call.
func (w *requestWriter) chosen(name string) {
	if label, own, ok := ChosenMCP(name); ok {
		w.b = append(w.b, `{"type":"mcp"`...)
		w.str("server_label", label)
		if own != "" {
			w.str("name", own)
		}
		w.b = append(w.b, '}')
		return
	}
	t := w.named.of(name)
	kind := "function"
	for k, f := range forms {
		if f == t.form {
			kind = k
		}
	}
	w.b = append(append(append(w.b, `{"type":"`...), kind...), '"')
	if t.space != "" {
		w.str("namespace", t.space)
	}
	if t.form == nil || t.form == customForm {
		w.str("name", t.name)
	}
	w.b = append(w.b, '}')
}

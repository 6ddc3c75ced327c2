package script

import (
	"encoding/json"
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// view is the request that a turn's conditions look at. Results that reached the backend as ordinary
// text, as they do on a text-only backend, are results again.
type view struct {
	req    *chat.Request
	header map[string][]string
	users  []string // what the user said, oldest first, without results and injected instructions
	system string   // system and developer messages and injected instructions, joined
	turns  int      // assistant messages
	last   chat.Role
	result *result // the last one; nil: none
}

type result struct {
	tool string
	text string
}

// Injected instructions stand in front of a user's text in this form; the text inside cannot hold the closing part.
const (
	injectedOpen  = "[Project instructions: "
	injectedClose = "]\n\n"
)

// newView reads a request. names are the tools that the scenario knows of; on a text-only backend they are needed to
// find the calls in the model's own earlier text.
func newView(in Input, names []string) *view {
	v := &view{req: in.Request, header: in.Header}
	var system []string
	var tool func() string // that the last result came from
	calls := callHistory{names: append(toolNames(in.Request), names...)}
	for i := range in.Request.Messages {
		m := &in.Request.Messages[i]
		text := m.Text()
		switch m.Role {
		case chat.RoleAssistant:
			v.turns++
			v.last = chat.RoleAssistant
			calls.add(m, text)
			continue
		case chat.RoleTool:
			v.last = chat.RoleTool
			v.result, tool = &result{text: text}, calls.name(m.CallID, m.Name, 0, 1)
			continue
		}
		// Results follow a call, so there are none before the model first spoke; a prompt's own example of a result is
		// none.
		if v.turns > 0 {
			if results := dialect.Results(text); len(results) > 0 {
				for i := range results {
					r := &results[i]
					msg := r.Message()
					v.result, tool = &result{text: msg.Text()}, calls.name(r.CallID, r.Name, i, len(results))
				}
				v.last = chat.RoleTool
				continue
			}
		}
		if m.Role == chat.RoleUser {
			instructions, said := cutInjected(text)
			if instructions != "" {
				system = append(system, instructions)
			}
			v.users = append(v.users, said)
			v.last = chat.RoleUser
			continue
		}
		system = append(system, text)
		v.last = chat.RoleSystem
	}
	if v.result != nil {
		v.result.tool = tool()
	}
	v.system = strings.Join(system, "\n")
	return v
}

func cutInjected(text string) (instructions, said string) {
	rest, ok := strings.CutPrefix(text, injectedOpen)
	if !ok {
		return "", text
	}
	instructions, said, ok = strings.Cut(rest, injectedClose)
	if !ok {
		return "", text
	}
	return instructions, said
}

func toolNames(req *chat.Request) []string {
	var names []string
	for i := range req.Tools {
		names = append(names, req.Tools[i].Name)
	}
	return names
}

// callHistory remembers the calls of the model, to name the tool that a result came from.
type callHistory struct {
	names []string // of tools that may occur in text
	byID  map[string]string
	last  []string // names of the calls of the last assistant message
	text  string   // of it, if it has none
}

func (h *callHistory) add(m *chat.Message, text string) {
	h.last, h.text = nil, ""
	for _, c := range m.Calls {
		if h.byID == nil {
			h.byID = map[string]string{}
		}
		h.byID[c.ID] = c.Name
		h.last = append(h.last, c.Name)
	}
	if len(h.last) == 0 {
		h.text = text
	}
}

// callsInText returns the names of the calls that text holds. The prefix is the one that instructions for a service
// with tools of its own put in front of names.
func callsInText(text string, names []string) []string {
	o := dialect.Options{}
	for _, n := range names {
		o.Tools = append(o.Tools, shape.Tool{Name: n})
	}
	for _, prefix := range []string{"", "user:"} {
		o.Prefix = prefix
		c, err := dialect.Parse(text, o)
		if err != nil || len(c.Calls) == 0 {
			continue
		}
		var list []string
		for _, call := range c.Calls {
			list = append(list, call.Name)
		}
		return list
	}
	return nil
}

// name returns what tells the tool of result i of n: by its call's id, else as it is named, else by its place among
// the last calls. Only the last result's is asked for, since to look for calls in a text costs far more than the rest.
func (h *callHistory) name(id, name string, i, n int) func() string {
	if by, ok := h.byID[id]; ok && id != "" {
		name = by
	}
	last, text, names := h.last, h.text, h.names
	return func() string {
		if name == "" && text != "" {
			last = callsInText(text, names)
		}
		switch {
		case name != "" || len(last) == 0:
			return name
		case n == len(last):
			return last[i]
		}
		return last[len(last)-1]
	}
}

func (v *view) lastUser() string {
	if len(v.users) == 0 {
		return ""
	}
	return v.users[len(v.users)-1]
}

// offers reports whether the request offers the tool, natively or in its rendered prompt. In the form name(parameter)
// the tool must also have the parameter.
func (v *view) offers(tool string) bool {
	name, parameter := cutParameter(tool)
	t := v.req.Tool(name)
	if t == nil {
		return hasWord(v.system, name) && (parameter == "" || hasWord(v.system, parameter))
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if parameter == "" {
		return true
	}
	if json.Unmarshal(t.Parameters, &schema) != nil {
		return false
	}
	_, ok := schema.Properties[parameter]
	return ok
}

// cutParameter splits name(parameter).
func cutParameter(tool string) (name, parameter string) {
	if rest, ok := strings.CutSuffix(tool, ")"); ok {
		name, parameter, _ = strings.Cut(rest, "(")
		return name, parameter
	}
	return tool, ""
}

// hasWord reports whether word stands in s with no letter, digit or underscore at its sides.
func hasWord(s, word string) bool {
	for from := 0; word != ""; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if (i == 0 || !wordByte(s[i-1])) && (i+len(word) == len(s) || !wordByte(s[i+len(word)])) {
			return true
		}
		from = i + 1
	}
	return false
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// lookup returns the value of a reference of a template.
func (v *view) lookup(captures map[string]string, ref string) (string, bool) {
	switch ref {
	case "user":
		return v.lastUser(), len(v.users) > 0
	case "model":
		return v.req.Model, true
	case "turn":
		return strconv.Itoa(v.turns), true
	case "result":
		if v.result == nil {
			return "", false
		}
		return v.result.text, true
	}
	if path, ok := strings.CutPrefix(ref, "result."); ok {
		if v.result == nil {
			return "", false
		}
		return jsonPath(v.result.text, strings.Split(path, "."))
	}
	s, ok := captures[ref]
	return s, ok
}

// jsonPath walks into a JSON text by keys and indexes. A string comes out as its value, anything else as it is written.
func jsonPath(text string, path []string) (string, bool) {
	raw := json.RawMessage(text)
	for _, key := range path {
		var object map[string]json.RawMessage
		var array []json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			next, ok := object[key]
			if !ok {
				return "", false
			}
			raw = next
			continue
		}
		i, err := strconv.Atoi(key)
		if err != nil || json.Unmarshal(raw, &array) != nil || i < 0 || i >= len(array) {
			return "", false
		}
		raw = array[i]
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	return string(raw), json.Valid(raw)
}

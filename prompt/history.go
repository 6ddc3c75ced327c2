package prompt

import (
	"encoding/json"
	"slices"
	"strings"

	"wield/chat"
	"wield/dialect"
)

// A history turns messages into such as a model without tools can have written and read.
type history struct {
	o            *Options
	d            voice
	prefix       string
	instructions string // of the client, joined
	out          []chat.Message

	names   map[string]string // call id -> tool, of all calls so far
	pending []chat.Call       // of the last assistant turn, not yet answered
}

func (h *history) add(messages []chat.Message) {
	h.out = make([]chat.Message, 0, len(messages)+1)
	h.names = make(map[string]string)
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		switch m.Role {
		case chat.RoleSystem, chat.RoleDeveloper:
			if text := m.Text(); text != "" {
				if h.instructions != "" {
					h.instructions += "\n\n"
				}
				h.instructions += text
			}
		case chat.RoleTool:
			n := i + 1
			for n < len(messages) && messages[n].Role == chat.RoleTool {
				n++
			}
			h.results(messages[i:n])
			i = n - 1
		case chat.RoleAssistant:
			h.assistant(m)
		default:
			h.pending = nil
			h.out = append(h.out, m)
		}
	}
}

// assistant writes the calls of a turn behind its text.
func (h *history) assistant(m chat.Message) {
	h.pending = m.Calls
	if len(m.Calls) == 0 {
		if h.o.DropOrphans {
			h.pending = requested(m.Text())
		}
		h.out = append(h.out, m)
		return
	}
	for i := range m.Calls {
		if c := &m.Calls[i]; c.ID != "" {
			h.names[c.ID] = c.Name
		}
	}
	calls := renderCalls(h.d, m.Calls, h.prefix)
	m.Calls = nil
	m.Parts = slices.Clone(m.Parts)
	if n := len(m.Parts) - 1; n >= 0 && m.Parts[n].Kind == chat.PartText {
		m.Parts[n].Text = strings.TrimRight(m.Parts[n].Text, "\n") + "\n" + calls
		if strings.TrimSpace(m.Parts[n].Text) == strings.TrimSpace(calls) {
			m.Parts[n].Text = calls
		}
	} else {
		m.Parts = append(m.Parts, chat.Part{Text: calls})
	}
	h.out = append(h.out, m)
}

// requested returns the call that a message holds as a strict tool_request object.
func requested(text string) []chat.Call {
	c, err := dialect.Parse(text, dialect.Options{Dialect: "tool-request", Only: true, Repair: dialect.RepairOff})
	if err != nil {
		return nil
	}
	return c.Calls
}

// renderCalls writes calls as the model would have written them in d. A call that d cannot write is written as fenced JSON, and
// arguments that are broken beyond repair as a string: a history that a client sends is never a reason to fail.
func renderCalls(d voice, calls []chat.Call, prefix string) string {
	named := make([]chat.Call, len(calls))
	for i := range calls {
		named[i] = calls[i]
		named[i].Name = prefix + calls[i].Name
	}
	if b, err := d.AppendCalls(nil, named); err == nil {
		return string(b)
	}
	var b []byte
	for i := range named {
		if i > 0 {
			b = append(b, '\n')
		}
		b = appendCall(b, d, named[i])
	}
	return string(b)
}

func appendCall(b []byte, d voice, c chat.Call) []byte {
	if out, err := d.AppendCalls(b, []chat.Call{c}); err == nil {
		return out
	}
	fence, _ := voiceOf("json-fence")
	if args, _, err := dialect.Arguments(c.Arguments, nil, dialect.RepairFull); err == nil {
		c.Arguments = args
		for _, d := range []voice{d, fence} {
			if out, err := d.AppendCalls(b, []chat.Call{c}); err == nil {
				return out
			}
		}
	}
	quoted, _ := json.Marshal(struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}{c.Name, c.Arguments})
	return append(append(append(b, "```json\n"...), quoted...), "\n```"...)
}

// results makes one user turn of the results that follow one another.
func (h *history) results(messages []chat.Message) {
	var list []chat.Result
	var others []chat.Part
	for i := range messages {
		m := &messages[i]
		call, answers := h.answered(m)
		if !answers && h.o.DropOrphans {
			continue
		}
		name := m.Name
		switch {
		case answers:
			name = call.Name
		case name == "":
			if name = h.names[m.CallID]; name == "" {
				name = nameInID(m.CallID)
			}
		}
		if name != "" {
			name = h.prefix + name
		}
		list = append(list, chat.Result{CallID: m.CallID, Name: name, Parts: m.Parts, IsError: m.IsError})
		for _, p := range m.Parts {
			if p.Kind != chat.PartText {
				others = append(others, p)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	text := string(h.d.AppendResults(nil, list))
	h.out = append(h.out, chat.Message{Role: chat.RoleUser, Parts: append(chat.Text(text), others...)})
}

// nameInID returns the name of the tool in an id of the form NAME__ and hexadecimal digits, "" for any other: all that is known
// of a result whose call a client has left out.
func nameInID(id string) string {
	i := strings.LastIndex(id, "__")
	if i <= 0 || i+2 == len(id) || strings.Trim(id[i+2:], "0123456789abcdef") != "" {
		return ""
	}
	return id[:i]
}

// answered takes the call that a result answers off the pending ones: the one with its id; without an id the one with its
// name, or the first.
func (h *history) answered(m *chat.Message) (chat.Call, bool) {
	for i, c := range h.pending {
		if m.CallID != "" && c.ID != m.CallID || m.CallID == "" && m.Name != "" && c.Name != m.Name {
			continue
		}
		h.pending = slices.Delete(slices.Clone(h.pending), i, i+1)
		return c, true
	}
	return chat.Call{}, false
}

// alternate merges neighbours of one role, so that user and assistant take turns, and lets the user begin.
func alternate(messages []chat.Message) []chat.Message {
	out := make([]chat.Message, 0, len(messages)+1)
	for _, m := range messages {
		n := len(out)
		if m.Role == chat.RoleAssistant && (n == 0 || n == 1 && out[0].Role == chat.RoleSystem) {
			out = append(out, chat.Message{Role: chat.RoleUser, Parts: chat.Text("(The assistant speaks first.)")})
			n++
		}
		if n > 0 && out[n-1].Role == m.Role {
			out[n-1] = merge(out[n-1], m)
			continue
		}
		out = append(out, m)
	}
	return out
}

func merge(a, b chat.Message) chat.Message {
	a.Parts = slices.Clone(a.Parts)
	a.Opaque = append(slices.Clone(a.Opaque), b.Opaque...)
	if a.Reasoning != "" && b.Reasoning != "" {
		a.Reasoning += "\n\n"
	}
	a.Reasoning += b.Reasoning
	for _, p := range b.Parts {
		if n := len(a.Parts) - 1; n >= 0 && p.Kind == chat.PartText && a.Parts[n].Kind == chat.PartText {
			a.Parts[n].Text += "\n\n" + p.Text
			continue
		}
		a.Parts = append(a.Parts, p)
	}
	return a
}

package prompt

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"wield/chat"
	"wield/dialect"
)

// A history turns messages into such as a model without tools can have written and read.
type history struct {
	o            *Options
	d            variant
	prefix       string
	tools        []chat.Tool     // of the request
	instructions strings.Builder // of the client, joined
	out          []chat.Message

	names   map[string]string // call id -> tool, of all calls so far
	pending chat.Pending      // of the last assistant turn
}

// add renders messages. A long history is not gone through to its end when nobody waits for that any more.
func (h *history) add(ctx context.Context, messages []chat.Message) error {
	h.names = make(map[string]string)
	for i := 0; i < len(messages); i++ {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if i == 0 {
			h.out = make([]chat.Message, 0, len(messages)+1)
		}
		m := messages[i]
		switch m.Role {
		case chat.RoleSystem, chat.RoleDeveloper:
			if text := m.Text(); text != "" {
				if h.instructions.Len() > 0 {
					h.instructions.WriteString("\n\n")
				}
				h.instructions.WriteString(text)
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
			h.pending = chat.Pending{}
			h.out = append(h.out, m)
		}
	}
	return nil
}

// contextEvery is after how many messages the context is looked at.
const contextEvery = 64

// assistant writes the calls of a turn behind its text.
func (h *history) assistant(m chat.Message) {
	h.pending = chat.Pending{Calls: m.Calls}
	if len(m.Calls) == 0 {
		if h.o.DropOrphans {
			h.pending = chat.Pending{Calls: requested(m.Text())}
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

// renderCalls writes calls as the model would have written them in d. A call that d cannot write is written
// as fenced JSON, and arguments that are broken beyond repair as a string: a history that a client sends is
// never a reason to fail.
func renderCalls(d variant, calls []chat.Call, prefix string) string {
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

func appendCall(b []byte, d variant, c chat.Call) []byte {
	if out, err := d.AppendCalls(b, []chat.Call{c}); err == nil {
		return out
	}
	fence, _ := variantOf("json-fence")
	if args, _, err := dialect.Arguments(c.Arguments, nil, dialect.RepairFull); err == nil {
		c.Arguments = args
		for _, d := range []variant{d, fence} {
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
		call := h.pending.Take(m.CallID, m.Name)
		if call == nil && h.o.DropOrphans {
			continue
		}
		name := m.Name
		switch {
		case call != nil:
			name = call.Name
		case name == "":
			if name = h.names[m.CallID]; name == "" {
				name = nameInID(m.CallID)
			}
		}
		if name != "" {
			name = h.prefix + name
		}
		if h.d.Name != "tool-request" || len(m.Parts) < 2 {
			list = append(list, chat.Result{CallID: m.CallID, Name: name, Parts: m.Parts, IsError: m.IsError})
		} else { // each part is a result that a satellite has sent
			for _, p := range m.Parts {
				list = append(list, chat.Result{CallID: m.CallID, Name: name, Parts: []chat.Part{p},
					IsError: m.IsError})
			}
		}
		for _, p := range m.Parts {
			if p.Kind != chat.PartText {
				others = append(others, p)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	text := string(h.d.AppendResultsAmong(nil, list, h.tools))
	h.out = append(h.out, chat.Message{Role: chat.RoleUser, Parts: append(chat.Text(text), others...)})
}

// nameInID returns the name of the tool in an id of the form NAME__ and hexadecimal digits, "" for any other:
// all that is known of a result whose call a client has left out.
func nameInID(id string) string {
	i := strings.LastIndex(id, "__")
	if i <= 0 || i+2 == len(id) || strings.Trim(id[i+2:], "0123456789abcdef") != "" {
		return ""
	}
	return id[:i]
}

// alternate merges neighbours of one role, so that user and assistant take turns, and lets the user begin.
func alternate(messages []chat.Message) []chat.Message {
	out := make([]chat.Message, 0, len(messages)+1)
	for i := 0; i < len(messages); {
		role := messages[i].Role
		if n := len(out); role == chat.RoleAssistant && (n == 0 || n == 1 && out[0].Role == chat.RoleSystem) {
			out = append(out, chat.Message{Role: chat.RoleUser, Parts: chat.Text("(The assistant speaks first.)")})
		}
		end := i + 1
		for end < len(messages) && messages[end].Role == role {
			end++
		}
		out = append(out, merge(messages[i:end]))
		i = end
	}
	return out
}

// merge makes one message of several.
func merge(messages []chat.Message) chat.Message {
	m := messages[0]
	if len(messages) == 1 {
		return m
	}
	m.Parts, m.Opaque = slices.Clone(m.Parts), slices.Clone(m.Opaque)
	var text, reasoning strings.Builder // of the last part, where it is text, and of all
	reasoning.WriteString(m.Reasoning)
	last := len(m.Parts) - 1
	if last >= 0 {
		text.WriteString(m.Parts[last].Text)
	}
	for i := range messages[1:] {
		next := &messages[i+1]
		m.Opaque = append(m.Opaque, next.Opaque...)
		if reasoning.Len() > 0 && next.Reasoning != "" {
			reasoning.WriteString("\n\n")
		}
		reasoning.WriteString(next.Reasoning)
		for _, p := range next.Parts {
			if last >= 0 && p.Kind == chat.PartText && m.Parts[last].Kind == chat.PartText {
				text.WriteString("\n\n" + p.Text)
				continue
			}
			if last >= 0 {
				m.Parts[last].Text = text.String()
			}
			m.Parts = append(m.Parts, p)
			last++
			text.Reset()
			text.WriteString(p.Text)
		}
	}
	if last >= 0 {
		m.Parts[last].Text = text.String()
	}
	m.Reasoning = reasoning.String()
	return m
}

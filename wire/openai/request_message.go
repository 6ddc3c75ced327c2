package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
)

// rawMessage is a message whose role is not known yet, since keys come in any order.
type rawMessage struct {
	chat.Message
	role       string
	hasContent bool // it was there and not null
	refusal    string
	hasID      bool
	legacy     *chat.Call
}

func (d *requestReader) message() {
	var m rawMessage
	hasRole := false
	d.members(func(key string) {
		switch key {
		case "role":
			hasRole = true
			m.role = d.text()
		case "content":
			if !d.null() {
				m.hasContent = true
				m.Parts = d.content()
			}
		case "name":
			m.Name = d.optional()
		case "tool_calls":
			if !d.null() {
				d.each(func() { d.call(&m) })
			}
		case "function_call":
			if !d.null() {
				m.legacy = &chat.Call{}
				d.calledFunction(m.legacy)
			}
		case "tool_call_id":
			m.hasID = !d.null()
			if m.hasID {
				m.CallID = d.text()
			}
		case "reasoning_content", "reasoning":
			if d.peek() != '"' {
				d.skip()
			} else if text := d.str(); m.Reasoning == "" {
				m.Reasoning = text
			}
		case "refusal":
			m.refusal = d.optional()
		default:
			m.Opaque = append(m.Opaque, chat.Extra{Protocol: chat.ProtocolOpenAI, Key: key, Value: d.raw()})
		}
	})
	if d.bad != nil {
		return
	}
	if !hasRole {
		d.refuseAt("role", CodeMissing, "a message must have a role")
		return
	}
	d.finishMessage(&m)
}

// finishMessage checks what a message's role asks for.
func (d *requestReader) finishMessage(m *rawMessage) {
	m.Role = chat.Role(m.role)
	switch m.role {
	case "system", "developer", "user":
		if !m.hasContent {
			d.refuseAt("content", CodeMissing, "a message of the role "+m.role+" must have content")
			return
		}
		m.Calls = nil
	case "assistant":
		if m.legacy != nil && len(m.Calls) == 0 {
			m.legacy.ID = fmt.Sprintf("call_function_%d", len(d.req.Messages))
			m.Calls = []chat.Call{*m.legacy}
		}
		if len(m.Parts) == 0 && m.refusal != "" {
			m.Parts = chat.Text(m.refusal)
		}
	case "tool":
		if !m.hasID || m.CallID == "" {
			d.refuseAt("tool_call_id", CodeMissing, "a message of the role tool must say which call it answers")
			return
		}
	case "function":
		if m.Name == "" {
			d.refuseAt("name", CodeMissing, "a message of the role function must have the function's name")
			return
		}
		m.Role = chat.RoleTool
		m.CallID = d.legacyCall(m.Name)
	default:
		d.refuseAt("role", CodeInvalidValue, "this must be system, developer, user, assistant or tool")
		return
	}
	d.req.Messages = append(d.req.Messages, m.Message)
}

// legacyCall returns the id of the last call of a function, whose result has only the name to tell what it answers.
func (d *requestReader) legacyCall(name string) string {
	for i := len(d.req.Messages) - 1; i >= 0; i-- {
		for _, c := range d.req.Messages[i].Calls {
			if c.Name == name {
				return c.ID
			}
		}
	}
	return fmt.Sprintf("call_function_%d", len(d.req.Messages))
}

// nameResults gives results the names of the tools that they came from.
func (d *requestReader) nameResults() {
	names := map[string]string{}
	for i := range d.req.Messages {
		m := &d.req.Messages[i]
		for j := range m.Calls {
			names[m.Calls[j].ID] = m.Calls[j].Name
		}
		if m.Role == chat.RoleTool && m.Name == "" {
			m.Name = names[m.CallID]
		}
	}
}

// call reads one call that the model made earlier.
func (d *requestReader) call(m *rawMessage) {
	c := chat.Call{Index: len(m.Calls)}
	found := false
	d.members(func(key string) {
		switch key {
		case "id":
			c.ID = d.optional()
		case "function":
			found = true
			d.calledFunction(&c)
		case "custom":
			found = true
			d.calledCustom(&c)
		default:
			d.skip()
		}
	})
	if !found {
		d.refuseAt("function", CodeMissing, "a call must have a function")
		return
	}
	m.Calls = append(m.Calls, c)
}

// calledFunction reads name and arguments. Broken arguments are no error: models write them, and the history holds them.
func (d *requestReader) calledFunction(c *chat.Call) {
	c.Complete, c.Origin, c.Arguments = true, chat.OriginFunction, "{}"
	named := false
	d.members(func(key string) {
		switch key {
		case "name":
			named = true
			if c.Name = d.text(); c.Name == "" {
				d.refuse(CodeInvalidValue, "a called function must have a name")
			}
		case "arguments":
			switch d.peek() {
			case '"', '{', 'n':
				if args := argumentsText(&d.scanner); args != "" {
					c.Arguments = args
				}
			default:
				d.want("a string that holds JSON")
			}
		default:
			d.skip()
		}
	})
	if !named {
		d.refuseAt("name", CodeMissing, "a called function must have a name")
	}
}

// calledCustom reads the call of a tool that takes plain text, which becomes the argument input.
func (d *requestReader) calledCustom(c *chat.Call) {
	c.Complete, c.Origin, c.Arguments = true, chat.OriginFunction, "{}"
	d.members(func(key string) {
		switch key {
		case "name":
			c.Name = d.text()
		case "input":
			c.Arguments = string(append(appendString([]byte(`{"input":`), d.text()), '}'))
		default:
			d.skip()
		}
	})
}

// content reads a string or a list of parts.
func (d *requestReader) content() (parts []chat.Part) {
	switch d.peek() {
	case '"':
		return chat.Text(d.str())
	case '[':
		d.each(func() { parts = append(parts, d.part()) })
		return parts
	}
	d.want("a string or an array of parts")
	return nil
}

// part reads one part of a message. One of an unknown type is kept raw.
func (d *requestReader) part() (part chat.Part) {
	d.peek()
	start, kind := d.i, ""
	values := make(map[string]int, 1) // where each of the value keys stands: some clients send others beside the one that counts
	d.members(func(k string) {
		switch k {
		case "type":
			kind = d.text()
		case "text", "refusal", "image_url", "input_audio", "file":
			values[k] = d.mark()
		default:
			d.skip()
		}
	})
	if d.bad != nil {
		return part
	}
	want, known := partKeys[kind]
	switch {
	case kind == "":
		d.refuseAt("type", CodeMissing, "a part must have a type")
	case !known:
		return chat.Part{Kind: chat.PartOpaque, Name: kind, Raw: json.RawMessage(d.b[start:d.i:d.i]), Protocol: chat.ProtocolOpenAI}
	default:
		at, ok := values[want]
		if !ok {
			d.refuseAt(want, CodeMissing, "a part of the type "+kind+" must have this")
			break
		}
		d.again(at, want, func() { d.partValue(&part, want) })
	}
	return part
}

// partKeys says under which key a part of a type has its value.
var partKeys = map[string]string{"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal",
	"image_url": "image_url", "input_audio": "input_audio", "file": "file"}

func (d *requestReader) partValue(part *chat.Part, key string) {
	switch key {
	case "text", "refusal":
		part.Text = d.text()
	case "image_url":
		part.Kind = chat.PartImage
		if d.peek() == '"' {
			part.URL = d.str()
			return
		}
		d.members(func(key string) {
			switch key {
			case "url":
				part.URL = d.text()
			case "detail":
				part.Detail = d.optional()
			default:
				d.skip()
			}
		})
		if part.URL == "" {
			d.refuseAt("url", CodeMissing, "an image must have a URL")
		}
	case "input_audio":
		part.Kind = chat.PartAudio
		d.members(func(key string) {
			switch key {
			case "data":
				part.Data = d.base64(d.text())
			case "format":
				part.MediaType = "audio/" + d.text()
			default:
				d.skip()
			}
		})
	case "file":
		d.file(part)
	}
}

// file reads a file. One that is named by an id of the server stays opaque.
func (d *requestReader) file(part *chat.Part) {
	part.Kind = chat.PartFile
	d.members(func(key string) {
		switch key {
		case "file_data":
			part.URL = d.optional()
		case "filename":
			part.Name = d.optional()
		case "file_id":
			if id := d.optional(); id != "" {
				raw := appendString([]byte(`{"type":"file","file":{"file_id":`), id)
				*part = chat.Part{Kind: chat.PartOpaque, Name: "file", Raw: append(raw, "}}"...), Protocol: chat.ProtocolOpenAI}
			}
		default:
			d.skip()
		}
	})
	if strings.HasPrefix(part.URL, "data:") || part.URL == "" {
		return
	}
	part.Data = d.base64(part.URL) // bare base64
	part.URL = ""
}

func (d *requestReader) base64(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		d.refuse(CodeInvalidValue, "this is not base64")
	}
	return data
}

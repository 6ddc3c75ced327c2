package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
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
	d.Members(func(key string) {
		switch key {
		case "role":
			hasRole = true
			m.role = d.Text()
		case "content":
			if !d.Null() {
				m.hasContent = true
				m.Parts = d.content()
			}
		case "name":
			m.Name = d.Optional()
		case "tool_calls":
			if !d.Null() {
				d.Each(func() { d.call(&m) })
			}
		case "function_call":
			if !d.Null() {
				m.legacy = &chat.Call{}
				d.calledFunction(m.legacy)
			}
		case "tool_call_id":
			m.hasID = !d.Null()
			if m.hasID {
				m.CallID = d.Text()
			}
		case "reasoning_content", "reasoning":
			if d.Peek() != '"' {
				d.Unread()
			} else if text := d.Str(); m.Reasoning == "" {
				m.Reasoning = text
			}
		case "refusal":
			m.refusal = d.Optional()
		default:
			m.Opaque = append(m.Opaque, chat.Extra{Protocol: chat.ProtocolOpenAI, Key: key, Value: d.Raw()})
		}
	})
	if d.Bad != nil {
		return
	}
	if !hasRole {
		d.RefuseAt("role", jsonbody.CodeMissing, "a message must have a role")
		return
	}
	d.finishMessage(&m)
}

// finishMessage checks what a message's role asks for.
func (d *requestReader) finishMessage(m *rawMessage) {
	m.Role = chat.Role(m.role)
	d.misplaced(m)
	switch m.role {
	case "system", "developer", "user":
		if !m.hasContent {
			d.RefuseAt("content", jsonbody.CodeMissing, "a message of the role "+m.role+" must have content")
			return
		}
	case "assistant":
		if m.legacy != nil && len(m.Calls) == 0 {
			m.legacy.ID = fmt.Sprintf("call_function_%d", len(d.req.Messages))
			m.Calls = []chat.Call{*m.legacy}
		}
		if len(m.Parts) == 0 && m.refusal != "" {
			m.Parts, m.refusal = chat.Text(m.refusal), ""
		}
		d.DropIf(m.refusal != "", "messages.refusal")
	case "tool":
		if !m.hasID || m.CallID == "" {
			d.RefuseAt("tool_call_id", jsonbody.CodeMissing,
				"a message of the role tool must say which call it answers")
			return
		}
	case "function":
		if m.Name == "" {
			d.RefuseAt("name", jsonbody.CodeMissing, "a message of the role function must have the function's name")
			return
		}
		m.Role = chat.RoleTool
		m.CallID = d.legacyCall(m.Name)
	default:
		d.RefuseAt("role", jsonbody.CodeInvalidValue, "this must be system, developer, user, assistant or tool")
		return
	}
	if n := len(d.req.Messages); n == cap(d.req.Messages) {
		// twice as many: append alone would copy large histories five times
		d.req.Messages = slices.Grow(d.req.Messages, n+1)
	}
	d.req.Messages = append(d.req.Messages, m.Message)
}

// misplaced takes out what messages of other roles hold, and notes it.
func (d *requestReader) misplaced(m *rawMessage) {
	if m.role != "assistant" {
		d.DropIf(len(m.Calls) > 0, "messages.tool_calls")
		d.DropIf(m.legacy != nil, "messages.function_call")
		d.DropIf(m.Reasoning != "", "messages.reasoning_content")
		d.DropIf(m.refusal != "", "messages.refusal")
		m.Calls, m.Reasoning = nil, ""
	}
	if m.role != "tool" {
		d.DropIf(m.CallID != "", "messages.tool_call_id")
		m.CallID = ""
	}
}

// legacyCall returns the id of the last call of a function, whose result has only the name to tell what it answers.
func (d *requestReader) legacyCall(name string) string {
	if d.called == nil {
		d.called = make(map[string]string)
	}
	for ; d.looked < len(d.req.Messages); d.looked++ {
		for _, c := range slices.Backward(d.req.Messages[d.looked].Calls) {
			d.called[c.Name] = c.ID
		}
	}
	if id, ok := d.called[name]; ok {
		return id
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
	d.Members(func(key string) {
		switch key {
		case "id":
			c.ID = d.Optional()
		case "function":
			found = true
			d.calledFunction(&c)
		case "custom":
			found = true
			d.calledCustom(&c)
		case "type", "index":
			d.Skip()
		default:
			d.Unread()
		}
	})
	if !found {
		d.RefuseAt("function", jsonbody.CodeMissing, "a call must have a function")
		return
	}
	m.Calls = append(m.Calls, c)
}

// calledFunction reads name and arguments. Broken arguments are no error: models write them, and the history
// holds them.
func (d *requestReader) calledFunction(c *chat.Call) {
	c.Complete, c.Origin, c.Arguments = true, chat.OriginFunction, "{}"
	named := false
	d.Members(func(key string) {
		switch key {
		case "name":
			named = true
			if c.Name = d.Text(); c.Name == "" {
				d.Refuse(jsonbody.CodeInvalidValue, "a called function must have a name")
			}
		case "arguments":
			switch d.Peek() {
			case '"', '{', 'n':
				if args := argumentsText(&d.Scanner); args != "" {
					c.Arguments = args
				}
			default:
				d.Want("a string that holds JSON")
			}
		default:
			d.Unread()
		}
	})
	if !named {
		d.RefuseAt("name", jsonbody.CodeMissing, "a called function must have a name")
	}
}

// calledCustom reads the call of a tool that takes plain text, which becomes the argument input.
func (d *requestReader) calledCustom(c *chat.Call) {
	c.Complete, c.Origin, c.Arguments = true, chat.OriginFunction, "{}"
	d.Members(func(key string) {
		switch key {
		case "name":
			c.Name = d.Text()
		case "input":
			c.Arguments = freeform.Arguments(d.Text())
		default:
			d.Unread()
		}
	})
}

// content reads a string or a list of parts.
func (d *requestReader) content() (parts []chat.Part) {
	switch d.Peek() {
	case '"':
		return chat.Text(d.Str())
	case '[':
		d.Each(func() { parts = append(parts, d.part()) })
		return parts
	case '{': // one part, not in a list
		return []chat.Part{d.part()}
	}
	d.Want("a string or an array of parts")
	return nil
}

// part reads one part of a message. One of an unknown type is kept raw. Some clients write text as a string,
// or without a type.
func (d *requestReader) part() (part chat.Part) {
	if d.Peek() == '"' {
		part.Text = d.Str()
		return part
	}
	start, kind := d.Pos, ""
	// where each of the value keys stands: some clients send others beside the one that counts
	values := make(map[string]int, 1)
	d.Members(func(k string) {
		switch k {
		case "type":
			kind = d.Text()
		case "text", "refusal", "image_url", "input_audio", "file":
			values[k] = d.Mark()
		default:
			d.Unread()
		}
	})
	if d.Bad != nil {
		return part
	}
	if _, ok := values["text"]; ok && kind == "" {
		kind = "text"
	}
	want, known := partKeys[kind]
	switch {
	case kind == "":
		d.RefuseAt("type", jsonbody.CodeMissing, "a part must have a type")
	case !known:
		return chat.Part{Kind: chat.PartOpaque, Name: kind, Raw: json.RawMessage(d.Bytes[start:d.Pos:d.Pos]),
			Protocol: chat.ProtocolOpenAI}
	default:
		at, ok := values[want]
		if !ok {
			d.RefuseAt(want, jsonbody.CodeMissing, "a part of the type "+kind+" must have this")
			break
		}
		d.Again(at, want, func() { d.partValue(&part, want) })
		for key, at := range values {
			d.DropIf(key != want && d.Bytes[at] != 'n', "messages.content."+key)
		}
	}
	return part
}

// partKeys says under which key a part of a type has its value.
var partKeys = map[string]string{"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal",
	"image_url": "image_url", "input_audio": "input_audio", "file": "file"}

func (d *requestReader) partValue(part *chat.Part, key string) {
	switch key {
	case "text", "refusal":
		part.Text = d.Text()
	case "image_url":
		part.Kind = chat.PartImage
		if d.Peek() == '"' {
			part.URL = d.Str()
			return
		}
		d.Members(func(key string) {
			switch key {
			case "url":
				part.URL = d.Text()
			case "detail":
				part.Detail = d.Optional()
			default:
				d.Unread()
			}
		})
		if part.URL == "" {
			d.RefuseAt("url", jsonbody.CodeMissing, "an image must have a URL")
		}
	case "input_audio":
		part.Kind = chat.PartAudio
		d.Members(func(key string) {
			switch key {
			case "data":
				part.Data = d.base64(d.Text())
			case "format":
				part.MediaType = "audio/" + d.Text()
			default:
				d.Unread()
			}
		})
	case "file":
		d.file(part)
	}
}

// file reads a file. One that is named by an id of the server stays opaque.
func (d *requestReader) file(part *chat.Part) {
	part.Kind = chat.PartFile
	d.Members(func(key string) {
		switch key {
		case "file_data":
			part.URL = d.Optional()
		case "filename":
			part.Name = d.Optional()
		case "file_id":
			if id := d.Optional(); id != "" {
				raw := shape.AppendQuoted([]byte(`{"type":"file","file":{"file_id":`), id)
				*part = chat.Part{Kind: chat.PartOpaque, Name: "file", Raw: append(raw, "}}"...),
					Protocol: chat.ProtocolOpenAI}
			}
		default:
			d.Unread()
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
		d.Refuse(jsonbody.CodeInvalidValue, "this is not base64")
	}
	return data
}

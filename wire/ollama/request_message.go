package ollama

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"wield/chat"
	"wield/wire/openai"
)

// A messageBody is a message of a request.
type messageBody struct {
	Role       string            `json:"role"`
	Content    json.RawMessage   `json:"content"`
	Thinking   string            `json:"thinking"`
	Images     []json.RawMessage `json:"images"`
	ToolCalls  []callBody        `json:"tool_calls"`
	ToolName   string            `json:"tool_name"`
	Name       string            `json:"name"` // what tool_name was called before
	ToolCallID string            `json:"tool_call_id"`
}

// A callBody is a call, in a request and in an answer.
type callBody struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// arguments returns the arguments as text. They are an object on the wire; some clients send the text of one.
func (c *callBody) arguments() string {
	raw := c.Function.Arguments
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			raw = json.RawMessage(text)
		}
	}
	if args := object(string(raw)); args != "" {
		return args
	}
	return string(raw)
}

var roles = map[string]chat.Role{
	"system": chat.RoleSystem, "developer": chat.RoleDeveloper, "user": chat.RoleUser, "assistant": chat.RoleAssistant, "tool": chat.RoleTool,
}

func (d *requestReader) messages(v json.RawMessage) {
	var list []json.RawMessage
	d.into(&list, v, "messages", aList)
	for i, raw := range list {
		if d.bad == nil {
			d.message(raw, fmt.Sprintf("messages[%d]", i))
		}
	}
}

func (d *requestReader) message(raw json.RawMessage, param string) {
	var b messageBody
	if err := json.Unmarshal(raw, &b); err != nil {
		d.wrongType(err, raw, param)
		return
	}
	role, ok := roles[strings.ToLower(b.Role)]
	if !ok {
		d.refuse(param+".role", openai.CodeInvalidValue, "this must be one of system, user, assistant and tool")
		return
	}
	m := chat.Message{Role: role, Reasoning: b.Thinking, Parts: d.content(b.Content, param+".content")}
	for i, image := range b.Images {
		m.Parts = append(m.Parts, d.image(image, fmt.Sprintf("%s.images[%d]", param, i)))
	}
	switch role {
	case chat.RoleAssistant:
		d.calls(&m, b.ToolCalls, param)
	case chat.RoleTool:
		d.result(&m, &b)
	}
	d.req.Messages = append(d.req.Messages, m)
}

// wrongType refuses a message of which something is not what it must be.
func (d *requestReader) wrongType(err error, raw json.RawMessage, param string) {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		d.refuse(param, openai.CodeInvalidType, "this must be an object, not "+typeOf(raw))
		return
	}
	want := map[reflect.Kind]string{reflect.String: aString, reflect.Slice: aList, reflect.Struct: anObject}[wrong.Type.Kind()]
	d.refuse(param+"."+wrong.Field, openai.CodeInvalidType, "this must be "+want+", not a JSON "+wrong.Value)
}

// content reads a string, or the text of a list of parts as other protocols have it.
func (d *requestReader) content(v json.RawMessage, param string) []chat.Part {
	if len(v) == 0 || v[0] == 'n' {
		return nil
	}
	if v[0] == '[' {
		var list []struct {
			Text *string `json:"text"`
		}
		d.into(&list, v, param, aString)
		var parts []chat.Part
		for i, p := range list {
			if p.Text == nil {
				d.refuse(fmt.Sprintf("%s[%d]", param, i), openai.CodeInvalidType, "this must be text; images stand in images")
				return nil
			}
			parts = append(parts, chat.Text(*p.Text)...)
		}
		return parts
	}
	var text string
	d.into(&text, v, param, aString)
	return chat.Text(text)
}

// image reads an image: base64, or the same as a data URL.
func (d *requestReader) image(v json.RawMessage, param string) chat.Part {
	var text string
	d.into(&text, v, param, "a string of base64")
	if head, data, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		text = data
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		d.refuse(param, openai.CodeInvalidValue, "this is no image in base64")
	}
	return chat.Part{Kind: chat.PartImage, MediaType: mediaType(data), Data: data}
}

// signatures tell the type of an image by how it begins; other protocols want to be told.
var signatures = []struct {
	at    int
	bytes string
	media string
}{
	{0, "\x89PNG\r\n\x1a\n", "image/png"},
	{0, "\xff\xd8\xff", "image/jpeg"},
	{0, "GIF8", "image/gif"},
	{8, "WEBP", "image/webp"},
	{0, "BM", "image/bmp"},
}

func mediaType(data []byte) string {
	for _, s := range signatures {
		if len(data) >= s.at && bytes.HasPrefix(data[s.at:], []byte(s.bytes)) {
			return s.media
		}
	}
	return "image/png"
}

func (d *requestReader) calls(m *chat.Message, calls []callBody, param string) {
	d.pending = d.pending[:0]
	for i := range calls {
		c := chat.Call{Index: i, ID: calls[i].ID, Name: calls[i].Function.Name, Arguments: calls[i].arguments(), Complete: true, Origin: chat.OriginFunction}
		if c.Name == "" {
			d.refuse(fmt.Sprintf("%s.tool_calls[%d].function.name", param, i), openai.CodeMissing, "a called function must have a name")
			return
		}
		if c.ID == "" {
			c.ID = d.id(i)
		}
		m.Calls = append(m.Calls, c)
	}
	for i := range m.Calls {
		d.pending = append(d.pending, &m.Calls[i])
	}
}

// id makes the id of a call, or of a result without one, of the message that is being read. It depends on its place only, so
// that the same conversation is the same request every time.
func (d *requestReader) id(call int) string {
	return fmt.Sprintf("call_%d_%d", len(d.req.Messages), call)
}

// result finds the call that a result answers: the one of its id, else the next of its name, else the next.
func (d *requestReader) result(m *chat.Message, b *messageBody) {
	name := b.ToolName
	if name == "" {
		name = b.Name
	}
	at := -1
	for i, c := range d.pending {
		if b.ToolCallID != "" && c.ID == b.ToolCallID {
			at = i
			break
		}
		if at < 0 && b.ToolCallID == "" && (name == "" || c.Name == name) {
			at = i
		}
	}
	if at < 0 && b.ToolCallID == "" && len(d.pending) > 0 {
		at = 0
	}
	m.CallID, m.Name = b.ToolCallID, name
	if at >= 0 {
		c := d.pending[at]
		m.CallID, m.Name = c.ID, c.Name
		d.pending = append(d.pending[:at], d.pending[at+1:]...)
	}
	if m.CallID == "" {
		m.CallID = d.id(0)
	}
}

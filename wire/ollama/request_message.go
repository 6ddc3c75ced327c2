package ollama

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"wield/chat"
	"wield/wire/jsonbody"
)

// rawMessage is a message whose role is not known yet, since keys come in any order.
type rawMessage struct {
	chat.Message
	images []chat.Part
	role   string
}

var roles = map[string]chat.Role{
	"system": chat.RoleSystem, "developer": chat.RoleDeveloper, "user": chat.RoleUser, "assistant": chat.RoleAssistant,
	"tool": chat.RoleTool,
}

func (d *requestReader) message() {
	var m rawMessage
	d.Members(func(key string) { d.messageField(&m, key) })
	if d.Bad != nil {
		return
	}
	role, ok := roles[strings.ToLower(m.role)]
	if !ok {
		d.RefuseAt("role", jsonbody.CodeInvalidValue, "this must be one of system, user, assistant and tool")
		return
	}
	m.Role = role
	m.Parts = append(m.Parts, m.images...)
	switch {
	case role == chat.RoleAssistant:
		d.await(&m.Message)
	case role == chat.RoleTool:
		d.join(&m.Message)
	default:
		d.misplaced(&m)
	}
	d.req.Messages = append(d.req.Messages, m.Message)
}

// misplaced takes out what only answers and results hold, and notes it.
func (d *requestReader) misplaced(m *rawMessage) {
	d.DropIf(len(m.Calls) > 0, "messages.tool_calls")
	d.DropIf(m.CallID != "", "messages.tool_call_id")
	d.DropIf(m.Reasoning != "", "messages.thinking")
	m.Calls, m.CallID, m.Reasoning = nil, "", ""
}

func (d *requestReader) messageField(m *rawMessage, key string) {
	switch key {
	case "role":
		m.role = d.Text()
	case "content":
		m.Parts = d.content()
	case "thinking":
		m.Reasoning = d.Optional()
	case "images":
		d.list(func() { m.images = append(m.images, d.image()) })
	case "tool_calls":
		d.list(func() { d.call(m) })
	case "tool_name", "name": // name is what tool_name was called before
		if name := d.Optional(); name != "" {
			m.Name = name
		}
	case "tool_call_id":
		m.CallID = d.Optional()
	default:
		d.Unread()
	}
}

// content reads a string, or the text of a list of parts as other protocols have it.
func (d *requestReader) content() []chat.Part {
	if d.Null() {
		return nil
	}
	if d.Peek() != '[' {
		return chat.Text(d.Text())
	}
	var parts []chat.Part
	d.Each(func() {
		found := false
		d.Members(func(key string) {
			if found = found || key == "text"; key == "text" {
				parts = append(parts, chat.Text(d.Text())...)
			} else if key == "type" {
				d.Skip()
			} else {
				d.Unread()
			}
		})
		if !found {
			d.Refuse(jsonbody.CodeInvalidType, "this must be text; the images of a message stand in its field images")
		}
	})
	return parts
}

// maxImages limits the images of a request: each takes far more memory than the few letters that it may be
// written with.
const maxImages = 10_000

// image reads an image: base64, or the same as a data URL.
func (d *requestReader) image() chat.Part {
	text := d.Text()
	if d.images++; d.images > maxImages {
		d.Refuse(jsonbody.CodeInvalidValue, "there are more than "+strconv.Itoa(maxImages)+" images")
	}
	if head, data, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		text = data
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		d.Refuse(jsonbody.CodeInvalidValue, "this is no image in base64")
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

// call reads one call that the model made earlier.
func (d *requestReader) call(m *rawMessage) {
	c := chat.Call{Index: len(m.Calls), Arguments: "{}", Complete: true, Origin: chat.OriginFunction}
	d.Members(func(key string) {
		switch key {
		case "id":
			c.ID = d.Optional()
		case "function":
			d.Members(func(key string) {
				switch key {
				case "name":
					c.Name = d.Text()
				case "arguments":
					c.Arguments = argumentsText(d.Raw())
				case "index":
					d.Skip()
				default:
					d.Unread()
				}
			})
		case "type", "index":
			d.Skip()
		default:
			d.Unread()
		}
	})
	if c.Name == "" {
		d.RefuseAt("function.name", jsonbody.CodeMissing, "a called function must have a name")
		return
	}
	if c.ID == "" {
		c.ID = d.id(c.Index)
	}
	m.Calls = append(m.Calls, c)
}

// argumentsText returns arguments as text. They are an object on the wire; some clients send the text of one,
// and a model may have written a text that is none.
func argumentsText(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			raw = []byte(text)
		}
	}
	if args := object(string(raw)); args != "" {
		return args
	}
	return string(raw)
}

// object returns raw if it is the JSON text of an object, or what absent arguments mean; or else "".
func object(raw string) string {
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "" || raw == "null":
		return "{}"
	case raw[0] == '{' && json.Valid([]byte(raw)):
		return raw
	}
	return ""
}

// id makes the id of a call, or of a result, that has none. It depends on its place only, so that the same
// conversation is the same request every time.
func (d *requestReader) id(call int) string {
	return fmt.Sprintf("call_%d_%d", len(d.req.Messages), call)
}

// await notes the calls of an answer, whose results follow.
func (d *requestReader) await(m *chat.Message) { d.pending = chat.Pending{Calls: m.Calls} }

// join finds the call that a result answers: the one of its id, else the next of its name, else the next.
func (d *requestReader) join(m *chat.Message) {
	c := d.pending.Take(m.CallID, m.Name)
	if c == nil && m.CallID == "" {
		c = d.pending.Take("", "")
	}
	if c != nil {
		m.CallID, m.Name = c.ID, c.Name
	}
	if m.CallID == "" {
		m.CallID = d.id(0)
	}
}

package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// Keys of the opaque parts of a message that say how it stood in a request of this protocol.
const (
	// opaqueInside says which instructions stood among the messages rather than in the field system. In a message of
	// the role system it is a list: for each of them its place among the other messages and how many of the last
	// parts it has. In one of the role user it marks the whole.
	opaqueInside = "inside"
	// opaqueBlocks is the order of an assistant's blocks, where calls do not stand last or have more members than the
	// vocabulary: a list with 0 for each part and an object of these members for each call.
	opaqueBlocks = "blocks"
	// keyFailed marks a result as a failure, which other protocols have no place for.
	keyFailed = "is_error"
)

// readSystem reads instructions, which are a string or a list of blocks.
func (d *requestReader) readSystem() {
	if d.Null() {
		return
	}
	d.system = d.content()
}

// A partialMessage is a message of the protocol while it is read.
type partialMessage struct {
	chat.Message
	results  []chat.Message // that a user's message holds
	order    []byte         // the value of opaqueBlocks without its brackets
	odd      bool           // the order has to be kept
	thoughts []byte         // the reasoning, while it grows
}

func (d *requestReader) message() {
	role, content := "", false
	var t partialMessage
	d.Members(func(key string) {
		switch key {
		case "role":
			role = d.Text()
		case "content":
			content = true
			d.turnContent(&t)
		default:
			if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
				t.Opaque = append(t.Opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: key, Value: raw})
			}
		}
	})
	switch {
	case d.Bad != nil:
		return
	case role == "":
		d.RefuseAt("role", jsonbody.CodeMissing, "a message must have a role")
		return
	case role != "user" && role != "assistant" && role != "system":
		d.RefuseAt("role", jsonbody.CodeInvalidValue, "this must be user or assistant")
		return
	case !content:
		d.RefuseAt("content", jsonbody.CodeMissing, "a message must have content")
		return
	}
	t.Role, t.Reasoning = chat.Role(role), string(t.thoughts)
	d.finishTurn(&t)
}

func (d *requestReader) turnContent(t *partialMessage) {
	switch d.Peek() {
	case '"':
		t.Parts = chat.Text(d.Str())
	case '[':
		d.Each(func() { d.block(t) })
	case 'n':
		d.Skip() // clients write it beside nothing
	default:
		d.Want("a string or an array of blocks")
	}
}

// finishTurn makes messages of the vocabulary of a message of the protocol.
func (d *requestReader) finishTurn(t *partialMessage) {
	if t.odd && t.Role == chat.RoleAssistant {
		value := append(append([]byte{'['}, t.order[:len(t.order)-1]...), ']')
		t.Opaque = append(t.Opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: opaqueBlocks, Value: value})
	}
	if t.Role != chat.RoleAssistant {
		d.DropIf(len(t.Calls) > 0, "messages.content=tool_use")
		t.Calls = nil // nobody else makes any
	}
	if t.Role == chat.RoleSystem && d.instruct(t) {
		return
	}
	d.spoken = d.spoken || t.Role == chat.RoleAssistant
	d.req.Messages = append(d.req.Messages, t.results...)
	if len(t.Parts) > 0 || len(t.results) == 0 {
		d.req.Messages = append(d.req.Messages, t.Message)
	}
}

// instruct takes in instructions that stand among the messages. Few servers of other protocols take them there: those
// in front of all answers join the others at the top, which is the same to the model; later ones keep their place, as
// something that the user says.
func (d *requestReader) instruct(t *partialMessage) (joined bool) {
	if d.spoken {
		t.Role = chat.RoleUser
		t.Opaque = append(t.Opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: opaqueInside,
			Value: json.RawMessage("true")})
		return false
	}
	for _, x := range t.Opaque {
		d.DropIf(true, "messages."+x.Key)
	}
	if len(t.Parts) > 0 {
		d.inside = fmt.Appendf(d.inside, "%d,%d,", len(d.req.Messages), len(t.Parts))
		d.insideParts = append(d.insideParts, t.Parts...)
	}
	return true
}

// addSystem puts all instructions in front of the messages, in one message.
func (d *requestReader) addSystem() {
	m := chat.Message{Role: chat.RoleSystem, Parts: append(d.system, d.insideParts...)}
	if len(m.Parts) == 0 {
		return
	}
	if len(d.inside) > 0 {
		value := append(append([]byte{'['}, d.inside[:len(d.inside)-1]...), ']')
		m.Opaque = []chat.Extra{{Protocol: chat.ProtocolAnthropic, Key: opaqueInside, Value: value}}
	}
	d.req.Messages = append([]chat.Message{m}, d.req.Messages...)
}

// content reads a string or a list of blocks, of which none is a call or a result.
func (d *requestReader) content() []chat.Part {
	var t partialMessage
	d.turnContent(&t)
	return t.Parts
}

// reader returns how a block of a type is read, or nil for one that is kept raw.
func (d *requestReader) reader(kind string) func(t *partialMessage) {
	switch kind {
	case "text":
		return d.textBlock
	case "image":
		return d.imageBlock
	case "document":
		return d.documentBlock
	case "search_result", "tool_reference":
		return d.readable
	case "browser_state":
		return d.verbatim
	case "thinking":
		return d.thinkingBlock
	case "tool_use":
		return d.useBlock
	case "tool_result":
		return d.resultBlock
	}
	return nil
}

func (d *requestReader) block(t *partialMessage) {
	if d.Peek() == '"' { // some clients write bare strings
		t.add(chat.Part{Text: d.Str()})
		return
	}
	if !d.Is('{') {
		return
	}
	kind := typeOf(d.Bytes[d.Pos:])
	read := d.reader(kind)
	switch {
	case kind == "":
		d.RefuseAt("type", jsonbody.CodeMissing, "a block must have a type")
	case read != nil:
		read(t)
	default:
		t.add(chat.Part{Kind: chat.PartOpaque, Name: kind, Raw: d.Raw(), Protocol: chat.ProtocolAnthropic})
	}
}

// ahead returns the text of the next value, which is still to be read.
func (d *requestReader) ahead() json.RawMessage {
	at := d.Pos
	raw := d.Raw()
	if d.Err == nil {
		d.Pos = at
	}
	return raw
}

// add appends a part.
func (t *partialMessage) add(p chat.Part) {
	t.odd = t.odd || len(t.Calls) > 0
	t.order = append(t.order, "0,"...)
	t.Parts = append(t.Parts, p)
}

// A rest gathers the members of a block that the vocabulary has no place for.
type rest []byte

func (r *rest) add(key string, raw []byte) {
	if len(raw) == 0 || raw[0] == 'n' {
		return
	}
	if len(*r) == 0 {
		*r = append(*r, '{')
	} else {
		*r = append(*r, ',')
	}
	*r = append(shape.AppendQuoted(*r, key), ':')
	*r = append(*r, raw...)
}

// object returns them as an object, or nil if there are none.
func (r rest) object() json.RawMessage {
	if len(r) == 0 {
		return nil
	}
	return json.RawMessage(append(r, '}'))
}

// set keeps them in a part.
func (r rest) set(p *chat.Part) {
	if p.Raw = r.object(); p.Raw != nil {
		p.Protocol = chat.ProtocolAnthropic
	}
}

func (d *requestReader) textBlock(t *partialMessage) {
	var p chat.Part
	var more rest
	found := false
	d.Members(func(key string) {
		switch key {
		case "type":
			d.Skip()
		case "text":
			found = true
			p.Text = d.Optional()
		default:
			more.add(key, d.Raw())
		}
	})
	if !found {
		d.RefuseAt("text", jsonbody.CodeMissing, "a block of the type text must have a text")
		return
	}
	more.set(&p)
	t.add(p)
}

// A source tells where the content of an image or a document comes from.
type source struct{ kind, media, data, url string }

func (d *requestReader) source() (s source) {
	d.Members(func(key string) {
		switch key {
		case "type":
			s.kind = d.Text()
		case "media_type":
			s.media = d.Optional()
		case "data":
			s.data = d.Optional()
		case "url":
			s.url = d.Optional()
		default:
			d.Unread()
		}
	})
	return s
}

// located reads an image or document whose content is there, or at an address. Any other is kept raw.
func (d *requestReader) located(t *partialMessage, p chat.Part) {
	switch sourceType(d.Bytes[d.Pos:]) {
	case "base64", "url", "":
	default: // a file of the server's, which only it has
		raw := d.Raw()
		t.add(chat.Part{Kind: chat.PartOpaque, Name: typeOf(raw), Raw: raw, Protocol: chat.ProtocolAnthropic})
		return
	}
	var s source
	var more rest
	d.Members(func(key string) {
		switch key {
		case "type":
			d.Skip()
		case "source":
			s = d.source()
		case "title":
			p.Name = d.Optional()
		default:
			more.add(key, d.Raw())
		}
	})
	switch {
	case d.Bad != nil:
		return
	case s.kind == "base64":
		data, err := base64.StdEncoding.DecodeString(s.data)
		if err != nil {
			d.RefuseAt("source.data", jsonbody.CodeInvalidValue, "this is not base64")
			return
		}
		p.Data, p.MediaType = data, s.media
	case s.url == "":
		d.RefuseAt("source", jsonbody.CodeMissing, "this must say where the content is")
		return
	default:
		p.URL = s.url
	}
	more.set(&p)
	t.add(p)
}

func (d *requestReader) imageBlock(t *partialMessage) {
	d.located(t, chat.Part{Kind: chat.PartImage})
}

// documentBlock reads a document. One of text is text to everybody else.
func (d *requestReader) documentBlock(t *partialMessage) {
	switch sourceType(d.Bytes[d.Pos:]) {
	case "text", "content":
		d.readable(t)
		return
	}
	d.located(t, chat.Part{Kind: chat.PartFile})
}

// readable keeps a block whole, with the text that it is to everybody else.
func (d *requestReader) readable(t *partialMessage) {
	raw := d.Raw()
	t.add(chat.Part{Text: textOf(raw), Raw: raw, Protocol: chat.ProtocolAnthropic})
}

// verbatim keeps a block whole, which is text as it stands to everybody else.
func (d *requestReader) verbatim(t *partialMessage) {
	raw := d.Raw()
	t.add(chat.Part{Text: string(raw), Raw: raw, Protocol: chat.ProtocolAnthropic})
}

func (d *requestReader) thinkingBlock(t *partialMessage) {
	raw, text := d.ahead(), ""
	d.Members(func(key string) {
		if key == "thinking" {
			text = d.Optional()
		} else {
			d.Skip()
		}
	})
	if len(t.thoughts) > 0 && text != "" {
		t.thoughts = append(t.thoughts, "\n\n"...)
	}
	t.thoughts = append(t.thoughts, text...)
	t.add(chat.Part{Kind: chat.PartOpaque, Name: "thinking", Raw: raw, Protocol: chat.ProtocolAnthropic})
}

// useBlock reads a call that the model made earlier. Input that is no object is no error: models write it, and the
// history holds it.
func (d *requestReader) useBlock(t *partialMessage) {
	c := chat.Call{Index: len(t.Calls), Arguments: "{}", Complete: true, Origin: chat.OriginFunction}
	var more rest
	d.Members(func(key string) {
		switch key {
		case "type":
			d.Skip()
		case "id":
			c.ID = originalID(d.Optional())
		case "name":
			c.Name = d.Text()
		case "input":
			switch d.Peek() {
			case '"':
				if text := d.Str(); strings.TrimSpace(text) != "" {
					c.Arguments = text
				}
			case 'n':
				d.Skip()
			default:
				c.Arguments = string(d.Raw())
			}
		default:
			more.add(key, d.Raw())
		}
	})
	if d.Bad == nil && c.Name == "" {
		d.RefuseAt("name", jsonbody.CodeMissing, "a call must have the name of its tool")
		return
	}
	object := more.object()
	if family := familyOf(object); family != "" {
		c.Name = memberName(family, c.Name)
	}
	if c.ID == "" { // its result, if it has one, cannot be told
		c.ID = fmt.Sprintf("call_%d_%d", len(d.req.Messages), len(t.Calls))
	}
	t.Calls = append(t.Calls, c)
	if object == nil {
		object = json.RawMessage("{}")
	}
	t.odd = t.odd || len(more) > 0
	t.order = append(append(t.order, object...), ',')
}

func (d *requestReader) resultBlock(t *partialMessage) {
	m := chat.Message{Role: chat.RoleTool}
	d.Members(func(key string) {
		switch key {
		case "type":
			d.Skip()
		case "tool_use_id":
			m.CallID = originalID(d.Text())
		case "content":
			m.Parts = d.content()
		case "is_error":
			if v := d.Boolean(); v != nil && *v {
				m.IsError = true
				m.Opaque = append(m.Opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: keyFailed,
					Value: json.RawMessage("true")})
			}
		default:
			if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
				m.Opaque = append(m.Opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: key, Value: raw})
			}
		}
	})
	if d.Bad == nil && m.CallID == "" {
		d.RefuseAt("tool_use_id", jsonbody.CodeMissing, "a result must say which call it answers")
		return
	}
	t.results = append(t.results, m)
}

// typeOf returns the type of an object.
func typeOf(raw []byte) string {
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == "type" && s.Peek() == '"' {
			return s.Str()
		}
		s.Skip()
	}
	return ""
}

// sourceType returns the type of a block's source.
func sourceType(raw []byte) string {
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == "source" && s.Peek() == '{' {
			return typeOf(s.Raw())
		}
		s.Skip()
	}
	return ""
}

// textOf returns the text of a block that is none but can be read as such: a document of text, a search result, the
// name of a tool that was found. Of another it is "".
func textOf(raw []byte) string {
	var b struct {
		Type   string
		Title  string
		Name   string `json:"tool_name"`
		Source json.RawMessage
		Text   []struct{ Text string } `json:"content"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return ""
	}
	var text strings.Builder
	switch b.Type {
	case "tool_reference":
		return foundTool + b.Name
	case "search_result":
		json.Unmarshal(b.Source, &b.Name)
		for _, t := range b.Text {
			text.WriteString(t.Text)
		}
		return "Source: " + b.Name + "\n" + b.Title + "\n\n" + text.String()
	case "document":
		var s struct {
			Type    string
			Data    string
			Content json.RawMessage
		}
		json.Unmarshal(b.Source, &s)
		switch s.Type {
		case "text":
			text.WriteString(s.Data)
		case "content":
			text.WriteString(contentText(s.Content))
		}
		if text.Len() > 0 && b.Title != "" {
			return b.Title + "\n\n" + text.String()
		}
	}
	return text.String()
}

// contentText returns the text of a content that is a string or a list of blocks.
func contentText(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct{ Text string }
	json.Unmarshal(raw, &list)
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.Text)
	}
	return b.String()
}

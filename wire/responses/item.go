package responses

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// An Item is one entry of the input or output.
type Item struct {
	Type string
	ID   string          // empty: it has none
	Raw  json.RawMessage // as it was sent

	message *chat.Message // what it adds to the conversation; nil: nothing
	space   string        // of the tool that is called
}

// Reference reports whether the item stands for one that the service keeps, and is named by ID.
func (i *Item) Reference() bool { return i.Type == "item_reference" }

// DecodeItem reads an item that was kept. raw must not change afterwards.
func DecodeItem(raw json.RawMessage) (Item, error) {
	d := requestReader{req: &Request{}}
	if err := d.Init(raw); err != nil {
		return Item{}, err
	}
	it := d.item()
	return it, d.Done()
}

// DecodeItems reads the fields of a body that makes or extends a conversation: a list of items, and metadata, raw.
// Neither needs to be there.
func DecodeItems(body []byte) (items []Item, metadata json.RawMessage, err error) {
	d := requestReader{req: &Request{}}
	if err := d.Init(body); err != nil {
		return nil, nil, err
	}
	d.Members(func(key string) {
		switch {
		case d.Peek() == 'n':
			d.Skip()
		case key == "items" && d.Is('['):
			d.items()
		case key == "metadata" && d.Is('{'):
			metadata = d.Raw()
		default:
			d.Skip()
		}
	})
	return d.req.Input, metadata, d.Done()
}

// items reads the input, a text or a list.
func (d *requestReader) items() {
	switch d.Peek() {
	case '"':
		at := d.Pos
		text := d.Str()
		raw := append([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`),
			d.Bytes[at:d.Pos]...)
		d.req.Input = []Item{{Type: "message", Raw: append(raw, "}]}"...),
			message: &chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}}}
	case '[':
		d.Each(func() { d.req.Input = append(d.req.Input, d.item()) })
	default:
		d.Want("a string or an array of items")
	}
}

// rawItem is an item whose type is not known yet, since keys come in any order.
type rawItem struct {
	Item
	message   chat.Message
	role      string
	call      chat.Call
	hasCallID bool
	places    map[string]int // where the values stand that only some types have
}

// item reads one item. One of a type that means nothing to a model that is not its maker's is kept as it is.
func (d *requestReader) item() Item {
	it := &d.reading
	clear(it.places)
	*it = rawItem{places: it.places}
	d.Peek()
	start := d.Pos
	d.Members(func(key string) { d.itemField(it, key) })
	if d.Bad != nil {
		return Item{}
	}
	it.Raw = d.Bytes[start:d.Pos:d.Pos]
	switch {
	case it.Type != "":
	case it.role != "": // the short form of a message
		it.Type = "message"
	case it.ID != "":
		it.Type = "item_reference"
	default:
		d.RefuseAt("type", jsonbody.CodeMissing, "an item must have a type")
		return Item{}
	}
	if read := itemTypes[it.Type]; read != nil {
		read(d, it)
		d.misplaced(it)
	} else {
		d.opaqueItem(it)
	}
	if m := it.message; m.Role != "" {
		it.Item.message = &m
	}
	return it.Item
}

// misplaced notes the members that mean something in items of other types only.
func (d *requestReader) misplaced(it *rawItem) {
	d.DropIf(it.Type == "message" && it.call.Name != "", "input.name")
	delete(it.places, "status") // how far an item is that is over
	for key, at := range it.places {
		d.Again(at, key, d.Unread)
	}
}

func (d *requestReader) itemField(it *rawItem, key string) {
	switch key {
	case "type":
		it.Type = d.Optional()
	case "id":
		it.ID = d.Optional()
	case "role":
		it.role = d.Text()
	case "call_id":
		if it.hasCallID = !d.Null(); it.hasCallID {
			it.call.ID = d.Text()
		}
	case "name":
		it.call.Name = d.Optional()
	case "namespace":
		it.space = d.Optional()
	case "content", "summary", "output", "arguments", "input", "action", "operation", "tools", "status":
		if it.places == nil {
			it.places = make(map[string]int, 1)
		}
		it.places[key] = d.Mark()
	case "encrypted_content", "phase":
		if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
			it.message.Opaque = append(it.message.Opaque, chat.Extra{Protocol: chat.ProtocolResponses, Key: key,
				Value: raw})
		}
	default:
		d.Unread()
	}
}

// itemTypes says how items of the types that are understood are read.
var itemTypes = map[string]func(*requestReader, *rawItem){
	"message":                 (*requestReader).messageItem,
	"function_call":           (*requestReader).callItem,
	"custom_tool_call":        (*requestReader).callItem,
	"tool_search_call":        (*requestReader).callItem,
	"local_shell_call":        (*requestReader).callItem,
	"shell_call":              (*requestReader).callItem,
	"apply_patch_call":        (*requestReader).callItem,
	"function_call_output":    (*requestReader).outputItem,
	"custom_tool_call_output": (*requestReader).outputItem,
	"local_shell_call_output": (*requestReader).outputItem,
	"shell_call_output":       (*requestReader).outputItem,
	"apply_patch_call_output": (*requestReader).outputItem,
	"tool_search_output":      (*requestReader).foundItem,
	"additional_tools":        (*requestReader).toolsItem,
	"reasoning":               (*requestReader).reasoningItem,
	"compaction":              (*requestReader).compactionItem,
	"item_reference":          (*requestReader).referenceItem,
}

// value reads a value that was passed over, and reports whether there was one.
func (d *requestReader) value(it *rawItem, key string, read func()) bool {
	at, ok := it.places[key]
	if ok {
		delete(it.places, key)
		d.Again(at, key, read)
	}
	return ok
}

func (d *requestReader) messageItem(it *rawItem) {
	m := &it.message
	switch it.role {
	case "system", "developer", "user", "assistant":
		m.Role = chat.Role(it.role)
	case "":
		d.RefuseAt("role", jsonbody.CodeMissing, "a message must have a role")
		return
	default:
		d.RefuseAt("role", jsonbody.CodeInvalidValue, "this must be system, developer, user or assistant")
		return
	}
	ok := d.value(it, "content", func() {
		if m.Role == chat.RoleAssistant && d.Null() {
			return
		}
		m.Parts = d.content()
	})
	if !ok && m.Role != chat.RoleAssistant {
		d.RefuseAt("content", jsonbody.CodeMissing, "a message of the role "+it.role+" must have content")
	}
}

// callItem reads a call that a model made earlier. Broken arguments are no error: models write them, and the history
// holds them. The plain text of a custom tool becomes the argument input.
func (d *requestReader) callItem(it *rawItem) {
	if !it.hasCallID || it.call.ID == "" {
		if it.ID == "" {
			d.RefuseAt("call_id", jsonbody.CodeMissing, "a call must have a call_id, which its output refers to")
			return
		}
		it.call.ID = it.ID
	}
	f := formOfCall(it.Type)
	if it.call.Name == "" && f != nil {
		it.call.Name = f.name
	}
	if it.call.Name == "" {
		d.RefuseAt("name", jsonbody.CodeMissing, "a call must have the function's name")
		return
	}
	c := &it.call
	c.Complete, c.Origin, c.Arguments = true, chat.OriginFunction, "{}"
	if f != nil {
		d.value(it, f.holds, func() { c.Arguments = d.formArguments(f) })
		it.message.Role, it.message.Calls = chat.RoleAssistant, []chat.Call{*c}
		return
	}
	d.value(it, "arguments", func() {
		switch d.Peek() {
		case '"':
			if args := d.Str(); strings.TrimSpace(args) != "" {
				c.Arguments = args
			}
		case '{':
			c.Arguments = string(d.Raw())
		case 'n':
			d.Skip()
		default:
			d.Want("a string that holds JSON")
		}
	})
	it.message.Role, it.message.Calls = chat.RoleAssistant, []chat.Call{*c}
}

func (d *requestReader) outputItem(it *rawItem) {
	if !d.answers(it) {
		return
	}
	m := &it.message
	ok := d.value(it, "output", func() {
		switch c := d.Peek(); {
		case c == '"', c == '[' && it.Type != shellForm.output:
			m.Parts = d.content()
		case c == 'n':
			d.Skip()
		default: // the result itself, not yet made a text
			m.Parts = chat.Text(string(d.Raw()))
		}
	})
	if !ok && it.Type != patchForm.output {
		d.RefuseAt("output", jsonbody.CodeMissing, "the output of a call must have this")
	}
	if it.Type == patchForm.output {
		d.value(it, "status", func() { m.IsError = d.Optional() == statusFailed })
		if len(m.Parts) == 0 && !m.IsError {
			m.Parts = chat.Text("The file was changed.")
		}
	}
}

// answers reads which call an item answers. The outputs of a shell that the protocol had first name it by their own id.
func (d *requestReader) answers(it *rawItem) bool {
	if it.Type == localShellForm.output && it.call.ID == "" {
		it.call.ID = it.ID
	}
	if it.call.ID == "" {
		d.RefuseAt("call_id", jsonbody.CodeMissing, "the output of a call must say which call it is of")
		return false
	}
	it.message.Role, it.message.CallID, it.message.Name = chat.RoleTool, it.call.ID, it.call.Name
	return true
}

// toolsItem reads tools that stand among the input.
func (d *requestReader) toolsItem(it *rawItem) { d.itemTools(it) }

// foundItem reads tools that a search has found: they can be called from here on, and the search's result is what
// they are.
func (d *requestReader) foundItem(it *rawItem) {
	if it.call.ID == "" { // of a search that the protocol's own server made
		it.call.ID = it.ID
	}
	if it.call.ID == "" && !it.hasCallID {
		it.message.Role = chat.RoleAssistant
		it.message.Parts = []chat.Part{{Kind: chat.PartOpaque, Name: it.Type, Raw: it.Raw,
			Protocol: chat.ProtocolResponses}}
		d.itemTools(it)
		return
	}
	if !d.answers(it) {
		return
	}
	it.message.Opaque = []chat.Extra{{Protocol: chat.ProtocolResponses, Key: keyFound, Value: it.Raw}}
	it.message.Parts = chat.Text(string(appendFound(nil, d.itemTools(it))))
}

// itemTools reads the tools of an item, and returns those that it names.
func (d *requestReader) itemTools(it *rawItem) (found []chat.Tool) {
	d.value(it, "tools", func() { found = d.toolsOf(it.Type, it.Raw) })
	return found
}

// toolsOf reads the list of the tools of an item, which is raw.
func (d *requestReader) toolsOf(kind string, raw []byte) []chat.Tool {
	if d.Null() {
		return nil
	}
	p := toolOrigin{found: true}
	if kind == keyAdditional {
		var around rest
		s := jsonbody.Scanner{Bytes: raw}
		for s.Enter('{'); s.Next('}'); {
			key := s.Name()
			if value := s.Raw(); key != "tools" && key != "type" {
				around.add(key, value)
			}
		}
		p.opaque = []chat.Extra{{Protocol: chat.ProtocolResponses, Key: keyAdditional, Value: around.object()}}
	} else {
		p.opaque = []chat.Extra{{Protocol: chat.ProtocolResponses, Key: keyFound}}
	}
	before := len(d.req.Tools)
	d.Each(func() { d.tool(p) })
	added := d.req.Tools[before:]
	for i := range added {
		added[i].Deferred = kind == keyFound
	}
	return added
}

// appendFound appends the text for a model about tools that were found.
func appendFound(dst []byte, tools []chat.Tool) []byte {
	dst = append(dst, `{"tools":[`...)
	for i := range tools {
		t := &tools[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = shape.AppendQuoted(append(dst, `{"name":`...), t.Name)
		dst = shape.AppendQuoted(append(dst, `,"description":`...), t.Description)
		if len(t.Parameters) > 0 {
			dst = append(append(dst, `,"parameters":`...), t.Parameters...)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// takeTools adds the tools of an item that was kept.
func (r *Request) takeTools(it *Item) {
	if it.Type != keyAdditional && it.Type != keyFound {
		return
	}
	d := requestReader{req: r}
	if d.Init(it.Raw) != nil {
		return
	}
	d.Members(func(key string) {
		if key == "tools" {
			d.toolsOf(it.Type, it.Raw)
		} else {
			d.Skip()
		}
	})
}

// reasoningItem reads what a model thought. Its own words, where there are any, count for more than their summary.
func (d *requestReader) reasoningItem(it *rawItem) {
	m := &it.message
	m.Role = chat.RoleAssistant
	for _, key := range []string{"content", "summary"} {
		d.value(it, key, func() {
			if d.Null() || m.Reasoning != "" {
				return
			}
			words := chat.Message{Parts: d.content()}
			m.Reasoning = words.Text()
		})
	}
}

func (d *requestReader) referenceItem(it *rawItem) {
	if it.ID == "" {
		d.RefuseAt("id", jsonbody.CodeMissing, "a reference must have the id of the item")
	}
}

// content reads a text or a list of parts.
func (d *requestReader) content() (parts []chat.Part) {
	switch d.Peek() {
	case '"':
		return chat.Text(d.Str())
	case '[':
		d.Each(func() { parts = append(parts, d.part()) })
		return parts
	}
	d.Want("a string or an array of parts")
	return nil
}

// part reads one part of a message. One of an unknown type is kept raw.
func (d *requestReader) part() (part chat.Part) {
	d.Peek()
	start, kind := d.Pos, ""
	d.Members(func(key string) {
		if key == "type" {
			kind = d.Text()
		} else {
			d.Skip()
		}
	})
	if d.Bad != nil {
		return part
	}
	p, known := partTypes[kind]
	if kind == "" {
		d.RefuseAt("type", jsonbody.CodeMissing, "a part must have a type")
		return part
	}
	if !known {
		return chat.Part{Kind: chat.PartOpaque, Name: kind, Raw: d.Bytes[start:d.Pos:d.Pos],
			Protocol: chat.ProtocolResponses}
	}
	part.Kind = p.kind
	found := false
	d.Again(start, "", func() {
		d.Members(func(key string) {
			if key == "type" || d.Peek() == 'n' {
				d.Skip()
				return
			}
			found = d.partField(&part, p.keys, key) || found
		})
	})
	if !found {
		d.RefuseAt(p.keys[0], jsonbody.CodeMissing, "a part of the type "+kind+" must have this")
	}
	return part
}

// partTypes says which keys hold the value of a part; the first is the one to be missed.
var partTypes = map[string]struct {
	kind chat.PartKind
	keys []string
}{
	"input_text":     {chat.PartText, []string{"text"}},
	"output_text":    {chat.PartText, []string{"text"}},
	"summary_text":   {chat.PartText, []string{"text"}},
	"reasoning_text": {chat.PartText, []string{"text"}},
	"text":           {chat.PartText, []string{"text"}},
	"refusal":        {chat.PartText, []string{"refusal"}},
	"input_image":    {chat.PartImage, []string{"image_url", "file_id"}},
	"image_url":      {chat.PartImage, []string{"image_url"}},
	"input_file":     {chat.PartFile, []string{"file_data", "file_url", "file_id"}},
	"input_audio":    {chat.PartAudio, []string{"input_audio"}},
}

// partField reads one field of a part, and reports whether it is one that holds its value.
func (d *requestReader) partField(part *chat.Part, keys []string, key string) (value bool) {
	for _, k := range keys {
		value = value || k == key
	}
	switch {
	case key == "detail" && part.Kind == chat.PartImage:
		part.Detail = d.Text()
	case key == "filename":
		part.Name = d.Text()
	case !value:
		d.Unread()
	case key == "text", key == "refusal":
		part.Text = d.Text()
	case key == "image_url" && d.Peek() == '{':
		d.Members(func(key string) { // the shape of chat completions
			switch key {
			case "url":
				part.URL = d.Text()
			case "detail":
				part.Detail = d.Optional()
			default:
				d.Unread()
			}
		})
	case key == "image_url", key == "file_url":
		part.URL = d.Text()
	case key == "file_data":
		if text := d.Text(); strings.HasPrefix(text, "data:") {
			part.URL = text
		} else {
			part.Data = d.base64(text)
		}
	case key == "file_id":
		d.Refuse(jsonbody.CodeUnsupported,
			"files that are kept by the service are not offered; send the content itself")
	case key == "input_audio":
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
	}
	return value
}

func (d *requestReader) base64(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		d.Refuse(jsonbody.CodeInvalidValue, "this is not base64")
	}
	return data
}

// A folder makes messages of items: what a model wrote between two turns of others is one message.
type folder struct {
	messages  []chat.Message
	reasoning []string          // of the last message
	seen      map[spaced]string // names of tools that stand in a namespace
	names     map[string]string // of the tools, by the ids of their calls
}

func (f *folder) add(items []Item) {
	for i := range items {
		it := &items[i]
		if it.message == nil {
			continue
		}
		m := *it.message
		switch m.Role {
		case chat.RoleAssistant:
			f.assistant(m, it.space)
		case chat.RoleTool:
			if m.Name == "" {
				m.Name = f.names[m.CallID]
			}
			f.begin(m)
		default:
			f.begin(m)
		}
	}
}

// assistant adds a part of a model's answer. It belongs to the message before it, if that can hold it: a message has
// one text, with the calls behind it.
func (f *folder) assistant(m chat.Message, space string) {
	if len(m.Calls) > 0 {
		c := m.Calls[0]
		if name := seenName(f.seen, spaced{space, c.Name}); name != c.Name {
			c.Name = name
			m.Calls = []chat.Call{c} // those of the item stay
		}
		if f.names == nil {
			f.names = make(map[string]string)
		}
		f.names[c.ID] = c.Name
	}
	n := len(f.messages) - 1
	if n < 0 || f.messages[n].Role != chat.RoleAssistant {
		f.begin(m)
		return
	}
	last := &f.messages[n]
	if len(last.Calls) == 0 && hasContent(last.Parts) && len(m.Calls) == 0 {
		f.begin(m)
		return
	}
	last.Parts = append(last.Parts, m.Parts...)
	last.Opaque = append(last.Opaque, m.Opaque...)
	if m.Reasoning != "" {
		f.reasoning = append(f.reasoning, m.Reasoning)
	}
	for _, c := range m.Calls {
		c.Index = len(last.Calls)
		last.Calls = append(last.Calls, c)
	}
}

// hasContent reports whether parts hold anything that more than one kind of server understands.
func hasContent(parts []chat.Part) bool {
	return slices.ContainsFunc(parts, func(p chat.Part) bool { return p.Kind != chat.PartOpaque })
}

// begin adds a message. Its lists are still those of the item, and to grow they are copied.
func (f *folder) begin(m chat.Message) {
	f.end()
	m.Parts, m.Calls, m.Opaque = slices.Clip(m.Parts), slices.Clip(m.Calls), slices.Clip(m.Opaque)
	if m.Reasoning != "" {
		f.reasoning = append(f.reasoning, m.Reasoning)
	}
	f.messages = append(f.messages, m)
}

// end completes the last message. One that holds nothing that we know of is none.
func (f *folder) end() {
	n := len(f.messages) - 1
	if n < 0 {
		return
	}
	m := &f.messages[n]
	if len(f.reasoning) > 0 {
		m.Reasoning = strings.Join(f.reasoning, "\n")
		f.reasoning = f.reasoning[:0]
	}
	if m.Role == chat.RoleAssistant && len(m.Parts) == 0 && len(m.Calls) == 0 && m.Reasoning == "" &&
		len(m.Opaque) == 0 {
		f.messages = f.messages[:n]
	}
}

func (f *folder) done() []chat.Message {
	f.end()
	return f.messages
}

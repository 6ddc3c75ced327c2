package anthropic

import (
	"fmt"
	"slices"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// DecodeRequest reads a request. An error is a *jsonbody.FieldError, which chat.AsError makes a *chat.Error of.
//
// The model's name and max_tokens may be absent. Keys that the vocabulary has no place for are kept raw in
// Request.Extra. Tools that clients run get their documented schemas, those that the server runs (web_search_... and
// the like) are marked as hosted. The result refers to body, which must not change afterwards.
//
// The results in a user's message become messages of the role tool, in front of what else the user says. Thinking
// becomes opaque parts of the assistant's message, and its text the message's reasoning.
func DecodeRequest(body []byte) (*chat.Request, error) {
	d := requestReader{req: &chat.Request{}}
	if err := d.Init(body); err != nil {
		return nil, err
	}
	d.read()
	if err := d.Done(); err != nil {
		return nil, err
	}
	d.req.Unread = d.UnreadNames()
	return d.req, nil
}

// codeThread is the code of the error for a request that continues or starts a thread. SDKs send the whole conversation
// then.
const codeThread = "thread_unsupported_request"

type requestReader struct {
	jsonbody.Reader
	req *chat.Request

	system      []chat.Part // of the field system
	inside      []byte      // the value of opaqueInside without its brackets
	insideParts []chat.Part
	spoken      bool // there was an assistant's message
	known       map[string]bool

	namesServers bool // of MCP

	older, olderEnd int // where the value of output_format stands, the older name of output_config.format; 0: nowhere
}

func (d *requestReader) read() {
	d.Members(d.field)
	if d.Bad != nil {
		return
	}
	if len(d.req.Messages) == 0 && len(d.insideParts) == 0 {
		d.RefuseAt("messages", jsonbody.CodeMissingMsgs, "there must be at least one message")
		return
	}
	d.olderFormat()
	d.addSystem()
	d.nameResults()
	d.describeFound()
	d.checkChoice()
}

// limits says what settings may be.
var limits = jsonbody.LimitsOf(chat.ProtocolAnthropic)

func (d *requestReader) field(key string) {
	if !d.Meets(limits[key]) {
		return
	}
	q := d.req
	switch key {
	case "model":
		q.Model = d.Text()
	case "messages":
		d.Each(d.message)
	case "system":
		d.readSystem()
	case "tools":
		if !d.Null() {
			d.Each(d.tool)
		}
	case "tool_choice":
		d.choice()
	case "max_tokens":
		if n := d.Whole(); n != nil {
			q.MaxTokens = jsonbody.Bound(*n)
		}
	case "stop_sequences":
		if !d.Null() {
			d.Each(func() { q.Stop = append(q.Stop, d.Text()) })
		}
	case "temperature":
		q.Temperature = d.Float()
	case "top_p":
		q.TopP = d.Float()
	case "stream":
		if v := d.Boolean(); v != nil {
			q.Stream = *v
		}
	case "metadata":
		d.metadata()
	case keyOutput:
		d.outputConfig()
	case keyBetas:
		d.betas()
	case "output_format":
		d.older = d.Mark()
		d.olderEnd = d.Pos
	case "thread":
		if !d.Null() {
			d.Refuse(codeThread, "message threads are not kept here: send the full conversation without this field")
		}
	default:
		d.namesServers = d.namesServers || key == "mcp_servers"
		d.extra(key)
	}
}

// extra keeps a field that the vocabulary has no place for.
func (d *requestReader) extra(key string) {
	if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
		d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: key, Value: raw})
	}
}

// metadata takes the user's id out of it, and keeps it whole.
func (d *requestReader) metadata() {
	d.Peek()
	at := d.Pos
	d.extra("metadata")
	if d.Bytes[at] == '{' {
		d.Again(at, "", func() {
			d.Members(func(key string) {
				if key == "user_id" {
					d.req.User = d.Optional()
				} else {
					d.Skip()
				}
			})
		})
	}
}

// outputConfig takes the format out of it, and keeps it whole. The effort stays there: clients send it whatever the
// model is, and servers of other protocols refuse it for models that do not think.
func (d *requestReader) outputConfig() {
	d.Peek()
	at := d.Pos
	d.extra(keyOutput)
	if d.Bytes[at] == '{' {
		d.Again(at, "", func() {
			d.Members(func(key string) {
				if key == "format" && d.Peek() == '{' {
					d.format()
				} else {
					d.Skip()
				}
			})
		})
	}
}

// olderFormat reads output_format as the format of output_config, which wins over it.
func (d *requestReader) olderFormat() {
	raw := d.Bytes[d.older:d.olderEnd]
	switch {
	case d.older == 0 || string(raw) == "null":
		return
	case d.req.Format != nil:
		d.DropIf(true, "output_format")
		return
	}
	d.Again(d.older, "output_format", func() {
		if d.Is('{') {
			d.format()
		}
	})
	if d.Bad != nil || d.req.Format == nil {
		d.DropIf(true, "output_format")
		return
	}
	i := slices.IndexFunc(d.req.Extra, func(x chat.Extra) bool { return x.Key == keyOutput })
	if i < 0 {
		i = len(d.req.Extra)
		d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: keyOutput,
			Value: []byte("{}")})
	}
	config := append([]byte(`{"format":`), raw...)
	s := jsonbody.Scanner{Bytes: d.req.Extra[i].Value}
	for s.Enter('{'); s.Next('}'); {
		key, value := s.Name(), s.Raw()
		if key != "format" { // which says nothing
			config = append(append(shape.AppendQuoted(append(config, ','), key), ':'), value...)
		}
	}
	d.req.Extra[i].Value = append(config, '}')
}

// keyOutput is the field that holds the format and the effort of an answer.
const keyOutput = "output_config"

func (d *requestReader) format() {
	var f chat.Format
	kind := ""
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "name":
			f.Name = d.Optional()
		case "schema":
			if d.Is('{') {
				f.Schema = d.Raw()
			}
		default:
			d.Skip()
		}
	})
	if d.Bad != nil || kind != "json_schema" {
		return
	}
	if f.Schema == nil {
		d.RefuseAt("schema", jsonbody.CodeMissing, "the format json_schema needs a schema")
		return
	}
	f.Kind = chat.FormatSchema
	d.req.Format = &f
}

// tool reads a tool. Without a type, or with the type custom, it is one that the client runs.
func (d *requestReader) tool() {
	var t chat.Tool
	kind, named := "", false
	d.Peek()
	start := d.Pos
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Optional()
		case "name":
			named = true
			t.Name = d.Text()
		case "description":
			t.Description = d.Optional()
		case "input_schema":
			t.Parameters = d.Schema()
		case "strict":
			t.Strict = d.Boolean()
		default:
			if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
				t.Opaque = append(t.Opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: key, Value: raw})
			}
		}
	})
	switch {
	case d.Bad != nil:
	case kind != "" && kind != "custom":
		typedTool(&t, kind, d.Bytes[start:d.Pos:d.Pos])
		d.add(t)
	case !named || t.Name == "":
		d.RefuseAt("name", jsonbody.CodeMissing, "a tool must have a name")
	default:
		d.add(t)
	}
}

// add adds a tool, of which there is one of a name. There is a toolset for each MCP server.
func (d *requestReader) add(t chat.Tool) {
	if d.known[t.Name] && t.Name != "mcp_toolset" {
		d.RefuseAt("name", jsonbody.CodeInvalidValue, "there is another tool of this name")
		return
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	d.known[t.Name] = true
	for _, m := range t.Members {
		if d.known[m.Name] {
			d.RefuseAt("type", jsonbody.CodeInvalidValue, "the set has a tool of the name "+m.Name+", as another tool has")
			return
		}
		d.known[m.Name] = true
	}
	d.req.Tools = append(d.req.Tools, t)
}

// choices are the words for a choice that needs no name.
var choices = map[string]chat.ChoiceMode{"auto": chat.ChoiceAuto, "any": chat.ChoiceRequired, "none": chat.ChoiceNone}

func (d *requestReader) choice() {
	if d.Null() {
		return
	}
	c := &d.req.Choice
	kind := ""
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "name":
			c.Name = d.Text()
		case "disable_parallel_tool_use":
			if v := d.Boolean(); v != nil {
				parallel := !*v
				d.req.Parallel = &parallel
			}
		default:
			d.Unread()
		}
	})
	mode, ok := choices[kind]
	switch {
	case d.Bad != nil:
	case ok:
		c.Mode, c.Name = mode, ""
	case kind != "tool":
		d.RefuseAt("type", jsonbody.CodeInvalidValue, "this must be auto, any, tool or none")
	case c.Name == "":
		d.RefuseAt("name", jsonbody.CodeMissing, "the tool to call must be named")
	default:
		c.Mode = chat.ChoiceNamed
	}
}

// checkChoice refuses a choice that no answer could meet.
func (d *requestReader) checkChoice() {
	c := &d.req.Choice
	unmet := c.Mode == chat.ChoiceNamed && !d.known[c.Name] || c.Mode == chat.ChoiceRequired && len(d.req.Tools) == 0
	switch {
	case !unmet, d.namesServers: // the tools of MCP servers are not known here
	case c.Mode == chat.ChoiceNamed:
		d.RefuseAt("tool_choice", jsonbody.CodeInvalidValue, fmt.Sprintf("the tool %q is not among the tools", c.Name))
	default:
		d.RefuseAt("tool_choice", jsonbody.CodeInvalidValue, "a call is required, but there are no tools")
	}
}

// nameResults gives results the names of the tools that they came from.
func (d *requestReader) nameResults() {
	names := map[string]string{}
	for i := range d.req.Messages {
		m := &d.req.Messages[i]
		for j := range m.Calls {
			names[m.Calls[j].ID] = m.Calls[j].Name
		}
		if m.Role == chat.RoleTool {
			m.Name = names[m.CallID]
		}
	}
}

package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/chat"
	"wield/wire/jsonbody"
)

// The codes of errors that only this protocol has; the others are package jsonbody's.
const (
	CodeMissingInput = "missing_input"             // there is nothing to answer
	CodeExclusive    = "mutually_exclusive_fields" // two fields that cannot stand together
	CodeUnknownItem  = "item_not_found"            // an item reference to what is not kept
)

// A Request holds a client's request: the question to a model, and what the service around it is to do.
type Request struct {
	chat.Request // Messages are the instructions and the input

	Input    []Item // as it was sent
	Before   []Item // what was said before, see Continue
	Previous string // id of the response that this one continues
	Kept     string // id of the conversation that this belongs to, which is kept
	Store    bool   // whether the response is to be kept; it is unless the client says otherwise

	Background bool // the answer is to be made whether or not the client waits for it

	instructions string
	echo         map[string]json.RawMessage // fields that a response repeats
	spaced       map[string]spaced          // of the tools that came in a namespace, by the name the model sees
	seen         map[spaced]string          // the other way round
	places       map[string]int             // where in Tools one of a name stands
	forms        map[string]*form           // of the tools that are no functions, by the name the model sees
}

// A spaced tool is one of a namespace.
type spaced struct{ space, name string }

// DecodeRequest reads a request. An error is a *jsonbody.FieldError.
//
// The model's name may be absent: whether there is a default is the caller's affair. Tools that are no functions are
// offered as functions where clients run them, and marked as hosted where servers of the protocol do; those of a
// namespace are taken under their own names. Fields that the vocabulary has no place for are kept raw in
// Request.Extra, those of an item in Message.Opaque. The result refers to body, which must not change afterwards.
func DecodeRequest(body []byte) (*Request, error) {
	d := requestReader{req: &Request{Store: true}}
	if err := d.Init(body); err != nil {
		return nil, err
	}
	d.Members(d.field)
	if d.Bad == nil && d.chosenAt > 0 {
		d.Again(d.chosenAt, "tool_choice", d.choice)
	}
	if d.Bad == nil {
		d.check()
	}
	if err := d.Done(); err != nil {
		return nil, err
	}
	d.req.Unread = d.UnreadNames()
	d.req.Continue(nil)
	return d.req, nil
}

// Restore reads back what a response repeats of its request, so that a response like it can be written by another
// process. The result has no input.
func Restore(response []byte) (*Request, error) {
	d := requestReader{req: &Request{Store: true}}
	if err := d.Init(response); err != nil {
		return nil, err
	}
	d.Members(func(key string) {
		if _, ok := echoed[key]; ok || restored[key] {
			d.field(key)
		} else {
			d.Skip()
		}
	})
	return d.req, d.Done()
}

// restored are the fields that a response has in common with its request, beside those that are echoed.
var restored = map[string]bool{"model": true, "store": true, "conversation": true, "background": true}

// Continue sets the messages to the instructions, what was said before, and the input, in which no references may be
// left that matter.
func (r *Request) Continue(before []Item) {
	r.Messages, r.Before = nil, before
	if r.instructions != "" {
		r.Messages = append(r.Messages, chat.Message{Role: chat.RoleSystem, Parts: chat.Text(r.instructions),
			Opaque: []chat.Extra{{Protocol: chat.ProtocolResponses, Key: keyInstructions}}})
	}
	for i := range before {
		r.takeTools(&before[i])
	}
	f := folder{messages: r.Messages, seen: r.seen}
	f.add(before)
	f.add(r.Input)
	r.Messages = f.done()
}

// keyInstructions marks the message that came as the field instructions.
const keyInstructions = "instructions"

type requestReader struct {
	jsonbody.Reader
	req *Request

	reading   rawItem         // the item that is being read
	toolsSeen bool            // there were tools
	hosted    map[string]bool // names of those that only servers of the protocol run
	limited   bool            // max_output_tokens was there, which wins over its alias
	chosenAt  int             // where tool_choice stands, which can be read only once the tools are known; 0: nowhere
}

// limits says what settings may be.
var limits = jsonbody.LimitsOf(chat.ProtocolResponses)

func (d *requestReader) field(key string) {
	if !d.Meets(limits[key]) {
		return
	}
	if _, ok := echoed[key]; ok && key != "text" {
		d.keep(key)
	}
	q := &d.req.Request
	switch key {
	case "model":
		q.Model = d.Text()
	case "input":
		if !d.Null() {
			d.items()
		}
	case "instructions":
		d.instructions()
	case "tools":
		if !d.Null() {
			d.Each(func() { d.tool(toolOrigin{}) })
		}
	case "tool_choice":
		d.chosenAt = d.Mark()
	case "parallel_tool_calls":
		q.Parallel = d.Boolean()
	case "text":
		d.textOptions()
	case "reasoning":
		d.reasoning()
	case "max_output_tokens":
		if n := d.Whole(); n != nil {
			d.limited = true
			q.MaxTokens, q.MaxCompletion = jsonbody.Bound(*n), true
		}
	case "max_tokens":
		if n := d.Whole(); n != nil && !d.limited {
			q.MaxTokens, q.MaxCompletion = jsonbody.Bound(*n), true
		}
	case "temperature":
		q.Temperature = d.Float()
	case "top_p":
		q.TopP = d.Float()
	case "top_logprobs":
		if n := d.Whole(); n != nil {
			q.TopLogProbs = int(*n)
		}
	case "user":
		q.User = d.Optional()
	case "stream":
		if v := d.Boolean(); v != nil {
			q.Stream = *v
		}
	default:
		d.around(key)
	}
}

// around reads a field that is not for the model.
func (d *requestReader) around(key string) {
	r := d.req
	at := d.Mark()
	raw := d.Bytes[at:d.Pos:d.Pos]
	d.Again(at, "", func() {
		switch key {
		case "previous_response_id":
			r.Previous = d.Optional()
		case "conversation":
			r.Kept = d.conversation()
			r.Conversation = r.Kept
		case "store":
			if v := d.Boolean(); v != nil {
				r.Store = *v
			}
		case "background":
			if v := d.Boolean(); v != nil {
				r.Background = *v
			}
		case "prompt":
			if !d.Null() {
				d.Refuse(jsonbody.CodeUnsupported,
					"prompts that are kept by the service are not offered; send their text as instructions or input")
			}
		case "include":
			d.include()
		}
	})
	if key == "background" {
		return // it is carried out here, and would be carried out a second time by a server that it is passed on to
	}
	r.Extra = append(r.Extra, chat.Extra{Protocol: chat.ProtocolResponses, Key: key, Value: raw})
}

// keep remembers the value here for the response, and does not go on.
func (d *requestReader) keep(key string) {
	at := d.Mark()
	raw := d.Bytes[at:d.Pos:d.Pos]
	d.Pos = at
	if key == "tools" {
		raw = withoutSecrets(raw)
	}
	if len(raw) > 0 && raw[0] != 'n' {
		d.repeat(key, raw)
	}
}

// withoutSecrets returns a list of tools in which MCP servers have none of the members that hold a secret of the
// client.
func withoutSecrets(tools json.RawMessage) json.RawMessage {
	if !bytes.Contains(tools, []byte("server_label")) {
		return tools
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(tools, &list) != nil {
		return tools
	}
	for _, t := range list {
		if string(t["type"]) == `"mcp"` {
			delete(t, "authorization")
			delete(t, "headers")
		}
	}
	shown, _ := json.Marshal(list) // it was read as JSON
	return shown
}

func (d *requestReader) repeat(key string, raw json.RawMessage) {
	if d.req.echo == nil {
		d.req.echo = make(map[string]json.RawMessage, 8)
	}
	d.req.echo[key] = raw
}

// check refuses what no answer could meet.
func (d *requestReader) check() {
	r := d.req
	switch {
	case r.Previous != "" && r.Kept != "":
		d.RefuseAt("previous_response_id", CodeExclusive,
			"this cannot stand beside conversation, which says as well what was said before")
	case r.Background && !r.Store:
		d.RefuseAt("background", CodeExclusive, "an answer in the background is asked for later, so that it must be "+
			"stored: leave store out, or set it to true")
	case len(r.Input) == 0 && r.Previous == "" && r.Kept == "":
		d.RefuseAt("input", CodeMissingInput, "there must be an input: a text, or a list of at least one item")
	case r.Choice.Mode == chat.ChoiceNamed && !d.offered(r.Choice.Name):
		d.RefuseAt("tool_choice", jsonbody.CodeInvalidValue, fmt.Sprintf("the tool %q is not among the tools",
			strings.ReplaceAll(r.Choice.Name, "\x00", " ")))
	case r.Choice.Mode == chat.ChoiceRequired && !d.toolsSeen:
		d.RefuseAt("tool_choice", jsonbody.CodeInvalidValue, "a call is required, but there are no tools")
	}
	if named := slices.Clone(r.Choice.Allowed); len(named) > 0 {
		r.Choice.Allowed = slices.DeleteFunc(r.Choice.Allowed, func(name string) bool {
			d.DropIf(!d.offered(name), "tool_choice="+strings.ReplaceAll(name, "\x00", " "))
			return !d.offered(name)
		})
		if len(r.Choice.Allowed) == 0 {
			d.RefuseAt("tool_choice", jsonbody.CodeInvalidValue,
				fmt.Sprintf("none of the allowed tools %q is among the tools", named))
		}
	}
}

// conversation reads an id, bare or in an object.
func (d *requestReader) conversation() (id string) {
	switch d.Peek() {
	case 'n':
		d.Skip()
	case '"':
		id = d.Str()
	case '{':
		d.Members(func(key string) {
			if key == "id" {
				id = d.Text()
			} else {
				d.Unread()
			}
		})
		if id == "" {
			d.RefuseAt("id", jsonbody.CodeMissing, "the conversation must have an id")
		}
	default:
		d.Want("a string or an object with an id")
	}
	return id
}

// include reads the list of what an answer is to have besides. Only one of its words asks for what a model can give.
func (d *requestReader) include() {
	if d.Null() {
		return
	}
	d.Each(func() {
		if d.Text() == "message.output_text.logprobs" {
			d.req.LogProbs = true
		}
	})
}

// instructions reads a text, or items, which some clients send in its place.
func (d *requestReader) instructions() {
	switch d.Peek() {
	case 'n':
		d.Skip()
	case '"':
		d.req.instructions = d.Str()
	case '[':
		var all []Item
		d.Each(func() { all = append(all, d.item()) })
		f := folder{}
		f.add(all)
		var texts []string
		for _, m := range f.done() {
			if slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind != chat.PartText }) {
				d.Refuse(jsonbody.CodeUnsupported, "instructions hold text only; send the rest as input")
			}
			if text := m.Text(); text != "" || len(texts) > 0 {
				texts = append(texts, text)
			}
		}
		d.req.instructions = strings.Join(texts, "\n\n")
	default:
		d.Want("a string")
	}
}

// textOptions reads the shape that the answer is to have.
func (d *requestReader) textOptions() {
	if d.Null() {
		return
	}
	at := d.Mark()
	raw, more := d.Bytes[at:d.Pos:d.Pos], false
	echo := []byte(`{"format":{"type":"text"}`)
	d.Again(at, "", func() {
		d.Members(func(key string) {
			at := d.Mark()
			value := d.Bytes[at:d.Pos:d.Pos]
			if key == "format" {
				d.Again(at, "", func() { d.req.Format = d.Format("schema") })
				if d.req.Format != nil {
					echo = append(append(echo[:0], `{"format":`...), value...)
				}
				return
			}
			more = true
		})
	})
	if more {
		d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolResponses, Key: "text", Value: raw})
	}
	if d.Bad == nil {
		d.repeat("text", append(appendVerbosity(echo, raw), '}'))
	}
}

// appendVerbosity appends the verbosity that text options ask for, if they do.
func appendVerbosity(dst, options []byte) []byte {
	s := jsonbody.Scanner{Bytes: options}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == "verbosity" {
			dst = append(append(dst, `,"verbosity":`...), s.Raw()...)
		} else {
			s.Skip()
		}
	}
	return dst
}

// reasoning reads how much the model is to think. How it is to tell of that is not ours to say.
func (d *requestReader) reasoning() {
	if d.Null() {
		return
	}
	at := d.Mark()
	raw, more := d.Bytes[at:d.Pos:d.Pos], false
	d.Again(at, "", func() {
		d.Members(func(key string) {
			if key != "effort" {
				more = true
				d.Skip()
				return
			}
			d.req.Effort = d.Optional()
		})
	})
	if more {
		d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolResponses, Key: "reasoning", Value: raw})
	}
}

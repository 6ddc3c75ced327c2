package openai

import (
	"cmp"
	"fmt"
	"slices"

	"wield/chat"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// DecodeRequest reads a request. An error is a *jsonbody.FieldError.
//
// The model's name may be absent: whether there is a default is the caller's affair. Keys that the vocabulary has no
// place for are kept raw in Request.Extra, those of a message in Message.Opaque. The result refers to body, which
// must not change afterwards.
//
// The older form of function calling (functions, function_call, the role function) is read as the newer one.
// Duplicate keys and bytes that are no UTF-8 are refused; an escaped half of a surrogate pair, which clients make
// when they cut a text, becomes U+FFFD. Arguments of earlier calls are not looked into.
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

// IncludeUsage reports whether a request asks for a usage chunk at the end of its stream
// (stream_options.include_usage).
func IncludeUsage(req *chat.Request) bool {
	for _, x := range req.Extra {
		if x.Protocol != chat.ProtocolOpenAI || x.Key != "stream_options" {
			continue
		}
		s := jsonbody.Scanner{Bytes: x.Value}
		for s.Enter('{'); s.Next('}'); {
			if string(s.Key()) == "include_usage" {
				return s.Peek() == 't'
			}
			s.Skip()
		}
	}
	return false
}

// Choices returns how many answers a request asks for.
func Choices(req *chat.Request) int { return jsonbody.Choices(req, chat.ProtocolOpenAI, "n") }

// Legacy reports whether a request offers tools in the older form, as functions, so that its client expects a call in
// that form: the one function_call of a message.
func Legacy(req *chat.Request) bool {
	return slices.ContainsFunc(req.Extra, func(x chat.Extra) bool {
		return x.Protocol == chat.ProtocolOpenAI && x.Key == keyLegacy
	})
}

// keyLegacy is the key of the Extra that remembers the older form. It is never forwarded.
const keyLegacy = "functions"

type requestReader struct {
	jsonbody.Reader
	req *chat.Request

	messages  bool // the key was there
	toolsSeen bool // there were tools, functions or not
	modern    bool // tools was there
	legacy    bool // functions was there
	limit     *int64
	names     map[string]bool // of the tools, once they are many
	choice    string          // the key of the choice, for errors found later

	called map[string]string // ids of the last calls by name, of the first messages
	looked int               // how many these are
}

// limits says what settings may be.
var limits = jsonbody.LimitsOf(chat.ProtocolOpenAI)

func (d *requestReader) read() {
	d.Members(d.field)
	if d.Bad != nil {
		return
	}
	if !d.messages || len(d.req.Messages) == 0 {
		d.RefuseAt("messages", jsonbody.CodeMissingMsgs, "there must be at least one message")
		return
	}
	if d.legacy && !d.modern {
		d.answerLegacy()
	}
	d.nameResults()
	d.checkChoice()
}

// answerLegacy notes that the answer is to have the older form, which has no place for a second call.
func (d *requestReader) answerLegacy() {
	one := false
	d.req.Parallel = &one
	d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolOpenAI, Key: keyLegacy, Value: []byte("true")})
}

func (d *requestReader) field(key string) {
	if !d.Meets(limits[key]) {
		return
	}
	q := d.req
	switch key {
	case "model":
		q.Model = d.Text()
	case "messages":
		d.messages = true
		d.Each(d.message)
	case "tools":
		if !d.Null() {
			d.modern = true
			d.Each(d.tool)
		}
	case "functions":
		if !d.Null() {
			d.legacy = true
			d.Each(func() { d.toolsSeen = true; d.function() })
		}
	case "tool_choice", "function_call":
		d.toolChoice(key)
	case "parallel_tool_calls":
		q.Parallel = d.Boolean()
	case "response_format":
		q.Format = d.Format("json_schema.schema")
	case "stop":
		d.stop()
	case "max_completion_tokens":
		if n := d.Whole(); n != nil {
			d.limit = n
			q.MaxTokens, q.MaxCompletion = jsonbody.Bound(*n), true
		}
	case "max_tokens":
		if n := d.Whole(); n != nil && d.limit == nil {
			q.MaxTokens = jsonbody.Bound(*n)
		}
	case "temperature":
		q.Temperature = d.Float()
	case "top_p":
		q.TopP = d.Float()
	case "seed":
		q.Seed = d.Whole()
	case "reasoning_effort":
		q.Effort = d.Optional()
	case "logprobs":
		if v := d.Boolean(); v != nil {
			q.LogProbs = *v
		}
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
	case "n":
		d.extra(key)
	default:
		d.extra(key)
	}
}

// extra keeps what the vocabulary has no place for.
func (d *requestReader) extra(key string) {
	d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolOpenAI, Key: key, Value: d.Raw()})
}

func (d *requestReader) tool() {
	d.toolsSeen = true
	kind, function, custom, known, flat, start := "", -1, -1, false, false, d.Pos
	var beside []string // members of the flat form, which say nothing where there is a function
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "function":
			if kind == "function" { // as it mostly stands: no need to come back
				known = true
				d.function()
				return
			}
			function = d.Mark()
		case "custom":
			custom = d.Mark()
		case "name":
			flat = true
			d.Skip()
		case "description", "parameters", "strict":
			if string(d.Raw()) != "null" {
				beside = append(beside, key)
			}
		default:
			d.Unread()
		}
	})
	for _, key := range beside {
		d.DropIf(known || function >= 0, "tools."+key)
	}
	switch {
	case d.Bad != nil || known:
	case kind == "custom" && custom >= 0:
		raw := d.Bytes[start:d.Pos:d.Pos]
		d.Again(custom, "custom", func() { d.custom(raw) })
	case kind != "function" && kind != "": // the server's own
		t := chat.Tool{Name: kind, Raw: d.Bytes[start:d.Pos:d.Pos], Protocol: chat.ProtocolOpenAI,
			Hosted: chat.HostedOptional}
		if !d.known(kind) {
			d.req.Tools = append(d.req.Tools, t)
		}
	case function >= 0:
		d.Again(function, "function", d.function)
	case flat: // the shape of another protocol, which some clients send here
		d.Again(start, "", d.function)
	default:
		d.RefuseAt("function", jsonbody.CodeMissing, "a tool of the type function must have one")
	}
}

// function reads the definition of a function.
func (d *requestReader) function() {
	var t chat.Tool
	named := false
	d.Members(func(key string) {
		switch key {
		case "name":
			named = true
			switch t.Name = d.Text(); {
			case t.Name == "":
				d.Refuse(jsonbody.CodeInvalidValue, "a tool must have a name")
			case d.known(t.Name):
				d.Refuse(jsonbody.CodeInvalidValue, "there is another tool of this name")
			}
		case "description":
			t.Description = d.Optional()
		case "parameters":
			t.Parameters = d.Schema()
		case "strict":
			t.Strict = d.Boolean()
		default:
			d.Unread()
		}
	})
	if !named {
		d.RefuseAt("name", jsonbody.CodeMissing, "a tool must have a name")
		return
	}
	d.req.Tools = append(d.req.Tools, t)
}

// custom reads the definition of a tool that takes plain text, which is a function with one text to the model.
func (d *requestReader) custom(raw []byte) {
	t := chat.Tool{Raw: raw, Protocol: chat.ProtocolOpenAI}
	var g freeform.Grammar
	d.Members(func(key string) {
		switch key {
		case "name":
			t.Name = d.Text()
		case "description":
			t.Description = d.Optional()
		case "format":
			if !d.Null() {
				g = d.grammar()
			}
		default:
			d.Unread()
		}
	})
	switch {
	case d.Bad != nil:
	case t.Name == "":
		d.RefuseAt("name", jsonbody.CodeMissing, "a tool must have a name")
	case d.known(t.Name):
		d.RefuseAt("name", jsonbody.CodeInvalidValue, "there is another tool of this name")
	default:
		g.Fill(&t)
		d.req.Tools = append(d.req.Tools, t)
	}
}

// grammar reads what the text of a custom tool has to be. The protocol has the grammar in an object of its own, the
// Responses protocol has not.
func (d *requestReader) grammar() (g freeform.Grammar) {
	d.Members(func(key string) {
		switch key {
		case "type":
			d.Skip()
		case "grammar":
			g = d.grammar()
		case "syntax":
			g.Syntax = d.Optional()
		case "definition":
			g.Definition = d.Optional()
		default:
			d.Unread()
		}
	})
	return g
}

// CustomTools returns the names of the tools of a request whose calls hold plain text, nil if there are none.
func CustomTools(req *chat.Request) map[string]bool { return freeform.Names(req.Tools) }

// known reports whether an earlier tool has this name.
func (d *requestReader) known(name string) bool {
	if len(d.req.Tools) < 32 {
		return d.req.Tool(name) != nil
	}
	if d.names == nil {
		d.names = make(map[string]bool)
		for i := range d.req.Tools {
			d.names[d.req.Tools[i].Name] = true
		}
	}
	if d.names[name] {
		return true
	}
	d.names[name] = true
	return false
}

// toolChoice reads tool_choice, or function_call, whose object has the name alone.
func (d *requestReader) toolChoice(key string) {
	if d.Null() {
		return
	}
	d.choice = key
	c := &d.req.Choice
	switch d.Peek() {
	case '"':
		switch d.Str() {
		case "auto":
			c.Mode = chat.ChoiceAuto
		case "none":
			c.Mode = chat.ChoiceNone
		case "required":
			c.Mode = chat.ChoiceRequired
		default:
			d.Refuse(jsonbody.CodeInvalidValue, "this must be none, auto, required, or an object that names a function")
		}
	case '{':
		d.choiceObject()
	default:
		d.Want("a string or an object")
	}
}

func (d *requestReader) choiceObject() {
	c := &d.req.Choice
	kind := "function"
	name := ""
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "name":
			name = d.Text()
		case "function", "custom":
			name = d.chosenName()
		case "allowed_tools":
			d.allowed()
		default:
			d.Unread()
		}
	})
	switch kind {
	case "function":
		if name == "" {
			d.RefuseAt("function.name", jsonbody.CodeMissing, "the function to call must be named")
			return
		}
		c.Mode, c.Name = chat.ChoiceNamed, name
	case "allowed_tools":
	case "auto", "none", "required":
		c.Mode = map[string]chat.ChoiceMode{"auto": chat.ChoiceAuto, "none": chat.ChoiceNone,
			"required": chat.ChoiceRequired}[kind]
	default:
		c.Mode, c.Name = chat.ChoiceNamed, cmp.Or(name, kind)
	}
}

// chosenName reads an object with the name of a tool.
func (d *requestReader) chosenName() (name string) {
	d.Members(func(key string) {
		if key == "name" {
			name = d.Text()
		} else {
			d.Unread()
		}
	})
	return name
}

// allowed reads the tools that may be called.
func (d *requestReader) allowed() {
	c := &d.req.Choice
	d.Members(func(key string) {
		switch key {
		case "mode":
			switch d.Text() {
			case "auto":
			case "required":
				c.Mode = chat.ChoiceRequired
			default:
				d.Refuse(jsonbody.CodeInvalidValue, "this must be auto or required")
			}
		case "tools":
			d.Each(func() {
				c.Allowed = append(c.Allowed, d.allowedTool())
			})
		default:
			d.Unread()
		}
	})
}

func (d *requestReader) allowedTool() string {
	kind, name := "", ""
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Text()
		case "name":
			name = d.Text()
		case "function", "custom":
			name = d.chosenName()
		default:
			d.Unread()
		}
	})
	if name = cmp.Or(name, kind); name == "" {
		d.RefuseAt("function.name", jsonbody.CodeMissing, "a tool that may be called must be named")
	}
	return name
}

// checkChoice refuses a choice that no answer could meet.
func (d *requestReader) checkChoice() {
	c := &d.req.Choice
	switch {
	case c.Mode == chat.ChoiceNamed && d.req.Tool(c.Name) == nil:
		d.RefuseAt(d.choice, jsonbody.CodeInvalidValue, fmt.Sprintf("the tool %q is not among the tools", c.Name))
	case c.Mode == chat.ChoiceRequired && !d.toolsSeen:
		d.RefuseAt(d.choice, jsonbody.CodeInvalidValue, "a call is required, but there are no tools")
	}
	if len(c.Allowed) == 0 {
		return
	}
	offered := make(map[string]bool, len(d.req.Tools))
	for i := range d.req.Tools {
		offered[d.req.Tools[i].Name] = true
	}
	named := slices.Clone(c.Allowed)
	c.Allowed = slices.DeleteFunc(c.Allowed, func(name string) bool {
		d.DropIf(!offered[name], d.choice+"="+name)
		return !offered[name]
	})
	if len(c.Allowed) == 0 {
		d.RefuseAt(d.choice, jsonbody.CodeInvalidValue, fmt.Sprintf("none of the allowed tools %q is among the "+
			"tools", named))
	}
}

func (d *requestReader) stop() {
	switch d.Peek() {
	case 'n':
		d.Skip()
	case '"':
		d.req.Stop = []string{d.Str()}
	case '[':
		d.Each(func() { d.req.Stop = append(d.req.Stop, d.Text()) })
	default:
		d.Want("a string or an array of strings")
	}
}

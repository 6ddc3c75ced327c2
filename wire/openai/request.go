package openai

import (
	"fmt"
	"slices"
	"strconv"

	"wield/chat"
)

// DecodeRequest reads a request. An error is a *FieldError.
//
// The model's name may be absent: whether there is a default is the caller's affair. Keys that the vocabulary has no place
// for are kept raw in Request.Extra, those of a message in Message.Opaque. Tools that are no functions are left out. The
// result refers to body, which must not change afterwards.
//
// The older form of function calling (functions, function_call, the role function) is read as the newer one. Duplicate keys
// and bytes that are no UTF-8 are refused; an escaped half of a surrogate pair, which clients make when they cut a text,
// becomes U+FFFD. Arguments of earlier calls are not looked into.
func DecodeRequest(body []byte) (*chat.Request, error) {
	src := string(body)
	if err := checkJSON(src); err != nil {
		return nil, err
	}
	d := requestReader{req: &chat.Request{}}
	d.path = d.room[:0]
	d.b, d.src = body, src
	if d.peek() != '{' {
		return nil, &FieldError{Code: CodeInvalidType, Message: "the body must be a JSON object, not " + jsonType(d.peek())}
	}
	d.read()
	if d.bad == nil && d.err != nil {
		d.bad = &FieldError{Code: CodeInvalidJSON, Message: d.err.Error()}
	}
	if d.bad != nil {
		return nil, d.bad
	}
	return d.req, nil
}

// IncludeUsage reports whether a request asks for a usage chunk at the end of its stream (stream_options.include_usage).
func IncludeUsage(req *chat.Request) bool {
	for _, x := range req.Extra {
		if x.Protocol != chat.ProtocolOpenAI || x.Key != "stream_options" {
			continue
		}
		s := scanner{b: x.Value}
		for s.enter('{'); s.next('}'); {
			if string(s.key()) == "include_usage" {
				return s.peek() == 't'
			}
			s.skip()
		}
	}
	return false
}

type requestReader struct {
	fieldReader
	req *chat.Request

	messages  bool // the key was there
	toolsSeen bool // there were tools, functions or not
	limit     *int64
	names     map[string]bool // of the tools, once they are many
	choice    string          // the key of the choice, for errors found later
}

// efforts are the words that reasoning_effort may have.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

func (d *requestReader) read() {
	d.members(d.field)
	if d.bad != nil {
		return
	}
	if !d.messages || len(d.req.Messages) == 0 {
		d.refuseAt("messages", CodeMissingMsgs, "there must be at least one message")
		return
	}
	d.nameResults()
	d.checkChoice()
}

func (d *requestReader) field(key string) {
	q := d.req
	switch key {
	case "model":
		q.Model = d.text()
	case "messages":
		d.messages = true
		d.each(d.message)
	case "tools":
		if !d.null() {
			d.each(d.tool)
		}
	case "functions":
		if !d.null() {
			d.each(func() { d.toolsSeen = true; d.function() })
		}
	case "tool_choice", "function_call":
		d.toolChoice(key)
	case "parallel_tool_calls":
		q.Parallel = d.boolean()
	case "response_format":
		d.format()
	case "stop":
		d.stop()
	case "max_completion_tokens":
		if n := d.whole(); n != nil {
			d.limit = n
			q.MaxTokens, q.MaxCompletion = d.tokens(*n), true
		}
	case "max_tokens":
		if n := d.whole(); n != nil && d.limit == nil {
			q.MaxTokens = d.tokens(*n)
		}
	case "temperature":
		q.Temperature = d.within(2)
	case "top_p":
		q.TopP = d.within(1)
	case "seed":
		q.Seed = d.whole()
	case "reasoning_effort":
		if q.Effort = d.optional(); q.Effort != "" && !slices.Contains(efforts, q.Effort) {
			d.refuse(CodeInvalidEffort, "this must be one of none, minimal, low, medium, high, xhigh and max")
		}
	case "logprobs":
		if v := d.boolean(); v != nil {
			q.LogProbs = *v
		}
	case "top_logprobs":
		if n := d.whole(); n != nil {
			if *n < 0 || *n > 20 {
				d.refuse(CodeInvalidValue, "this must be from 0 to 20")
			}
			q.TopLogProbs = int(*n)
		}
	case "user":
		q.User = d.optional()
	case "stream":
		if v := d.boolean(); v != nil {
			q.Stream = *v
		}
	case "n":
		if n := d.whole(); n != nil && *n != 1 {
			d.refuse(CodeUnsupported, "only one answer a request is offered; leave n out or set it to 1")
		}
	default:
		d.extra(key)
	}
}

// tokens makes a bound of the protocol ours, in which 0 is none. Clients of servers that are no OpenAI's send -1 for none.
func (d *requestReader) tokens(n int64) int {
	if n < -1 {
		d.refuse(CodeInvalidValue, "this must be a positive number, or -1 for no bound")
	}
	return int(min(max(n, 0), 1<<31-1))
}

// within reads a number from 0 to most.
func (d *requestReader) within(most float64) *float64 {
	v := d.float()
	if v != nil && (*v < 0 || *v > most) {
		d.refuse(CodeInvalidValue, "this must be from 0 to "+strconv.FormatFloat(most, 'g', -1, 64))
	}
	return v
}

// extra keeps what the vocabulary has no place for. Of some keys it is known what they must be.
func (d *requestReader) extra(key string) {
	if (key == "stream_options" || key == "metadata") && d.peek() != 'n' && !d.is('{') {
		return
	}
	d.peek()
	at := d.i
	raw := d.raw()
	if key == "stream_options" && raw[0] == '{' {
		d.again(at, "", func() {
			d.members(func(key string) {
				if key == "include_usage" {
					d.boolean()
				} else {
					d.skip()
				}
			})
		})
	}
	d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolOpenAI, Key: key, Value: raw})
}

func (d *requestReader) tool() {
	d.toolsSeen = true
	kind, function, known, flat, start := "", -1, false, false, d.i
	d.members(func(key string) {
		switch key {
		case "type":
			kind = d.text()
		case "function":
			if kind == "function" { // as it mostly stands: no need to come back
				known = true
				d.function()
				return
			}
			function = d.mark()
		case "name":
			flat = true
			d.skip()
		default:
			d.skip()
		}
	})
	switch {
	case d.bad != nil || known:
	case kind != "function" && kind != "": // of another kind, which cannot be shown
	case function >= 0:
		d.again(function, "function", d.function)
	case flat: // the shape of another protocol, which some clients send here
		d.again(start, "", d.function)
	default:
		d.refuseAt("function", CodeMissing, "a tool of the type function must have one")
	}
}

// function reads the definition of a function.
func (d *requestReader) function() {
	var t chat.Tool
	named := false
	d.members(func(key string) {
		switch key {
		case "name":
			named = true
			switch t.Name = d.text(); {
			case t.Name == "":
				d.refuse(CodeInvalidValue, "a tool must have a name")
			case d.known(t.Name):
				d.refuse(CodeInvalidValue, "there is another tool of this name")
			}
		case "description":
			t.Description = d.optional()
		case "parameters":
			switch d.peek() {
			case 'n':
				d.skip()
			case '{', 't', 'f':
				t.Parameters = d.raw()
			default:
				d.want("a JSON Schema, which is an object")
			}
		case "strict":
			t.Strict = d.boolean()
		default:
			d.skip()
		}
	})
	if !named {
		d.refuseAt("name", CodeMissing, "a tool must have a name")
		return
	}
	d.req.Tools = append(d.req.Tools, t)
}

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
	if d.null() {
		return
	}
	d.choice = key
	c := &d.req.Choice
	switch d.peek() {
	case '"':
		switch d.str() {
		case "auto":
			c.Mode = chat.ChoiceAuto
		case "none":
			c.Mode = chat.ChoiceNone
		case "required":
			c.Mode = chat.ChoiceRequired
		default:
			d.refuse(CodeInvalidValue, "this must be none, auto, required, or an object that names a function")
		}
	case '{':
		d.choiceObject()
	default:
		d.want("a string or an object")
	}
}

func (d *requestReader) choiceObject() {
	c := &d.req.Choice
	kind := "function"
	name := ""
	d.members(func(key string) {
		switch key {
		case "type":
			kind = d.text()
		case "name":
			name = d.text()
		case "function":
			d.members(func(key string) {
				if key == "name" {
					name = d.text()
				} else {
					d.skip()
				}
			})
		case "allowed_tools":
			d.allowed()
		default:
			d.skip()
		}
	})
	switch kind {
	case "function":
		if name == "" {
			d.refuseAt("function.name", CodeMissing, "the function to call must be named")
			return
		}
		c.Mode, c.Name = chat.ChoiceNamed, name
	case "allowed_tools":
	case "auto", "none", "required":
		c.Mode = map[string]chat.ChoiceMode{"auto": chat.ChoiceAuto, "none": chat.ChoiceNone, "required": chat.ChoiceRequired}[kind]
	default: // a tool of a kind that was left out: nothing is left to force
	}
}

// allowed reads the tools that may be called; those that are no functions are left out as they are from the tools.
func (d *requestReader) allowed() {
	c := &d.req.Choice
	d.members(func(key string) {
		switch key {
		case "mode":
			switch d.text() {
			case "auto":
			case "required":
				c.Mode = chat.ChoiceRequired
			default:
				d.refuse(CodeInvalidValue, "this must be auto or required")
			}
		case "tools":
			d.each(func() {
				if name := d.allowedTool(); name != "" {
					c.Allowed = append(c.Allowed, name)
				}
			})
		default:
			d.skip()
		}
	})
}

func (d *requestReader) allowedTool() (name string) {
	d.members(func(key string) {
		switch key {
		case "name":
			name = d.text()
		case "function":
			d.members(func(key string) {
				if key == "name" {
					name = d.text()
				} else {
					d.skip()
				}
			})
		default:
			d.skip()
		}
	})
	return name
}

// checkChoice refuses a choice that no answer could meet.
func (d *requestReader) checkChoice() {
	c := &d.req.Choice
	switch {
	case c.Mode == chat.ChoiceNamed && d.req.Tool(c.Name) == nil:
		d.refuseAt(d.choice, CodeInvalidValue, fmt.Sprintf("the function %q is not among the tools", c.Name))
	case c.Mode == chat.ChoiceRequired && !d.toolsSeen:
		d.refuseAt(d.choice, CodeInvalidValue, "a call is required, but there are no tools")
	}
	c.Allowed = slices.DeleteFunc(c.Allowed, func(name string) bool { return d.req.Tool(name) == nil })
}

func (d *requestReader) format() {
	if d.null() {
		return
	}
	var f chat.Format
	var kind string
	d.members(func(key string) {
		switch key {
		case "type":
			kind = d.text()
		case "json_schema":
			d.members(func(key string) { d.formatField(&f, key) })
		default:
			d.formatField(&f, key) // some servers take the schema here
		}
	})
	switch kind {
	case "text":
		f.Kind = chat.FormatText
	case "json_object":
		if f.Kind = chat.FormatJSON; f.Schema != nil {
			f.Kind = chat.FormatSchema
		}
	case "json_schema":
		f.Kind = chat.FormatSchema
		if f.Schema == nil {
			d.refuseAt("json_schema.schema", CodeMissing, "the format json_schema needs a schema")
		}
	case "":
		d.refuseAt("type", CodeMissing, "this must be text, json_object or json_schema")
	default:
		d.refuseAt("type", CodeInvalidValue, "this must be text, json_object or json_schema")
	}
	d.req.Format = &f
}

func (d *requestReader) formatField(f *chat.Format, key string) {
	switch key {
	case "name":
		f.Name = d.text()
	case "description":
		f.Description = d.optional()
	case "strict":
		f.Strict = d.boolean()
	case "schema":
		if !d.null() && d.is('{') {
			f.Schema = d.raw()
		}
	default:
		d.skip()
	}
}

func (d *requestReader) stop() {
	switch d.peek() {
	case 'n':
		d.skip()
	case '"':
		d.req.Stop = []string{d.str()}
	case '[':
		d.each(func() { d.req.Stop = append(d.req.Stop, d.text()) })
	default:
		d.want("a string or an array of strings")
	}
}

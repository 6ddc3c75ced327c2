package ollama

import (
	"math"
	"slices"
	"strconv"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// The keys of what the vocabulary has no place for and a server of this protocol understands, beside those
// that are not known at all: they become a chat.Extra of the request under their name.
const (
	keyOptions = "options" // those that are not among the settings of a chat.Request
	keyThink   = "think"   // as the client wrote it
)

// DecodeRequest reads a request. An error is a *jsonbody.FieldError.
//
// A request without messages is one to load a model; it is no error. The protocol streams unless it is told
// otherwise. Calls that have no id get one from their place; results are joined to them by id, by name, or in
// their order. Tools that are no functions are left out. Arguments of earlier calls that are no object are
// kept as they are. The result refers to body, which must not change afterwards.
func DecodeRequest(body []byte) (*chat.Request, error) {
	d := requestReader{req: &chat.Request{Stream: true}}
	if err := d.Init(body); err != nil {
		return nil, err
	}
	d.Members(d.field)
	if err := d.Done(); err != nil {
		return nil, err
	}
	d.req.Unread = d.UnreadNames()
	return d.req, nil
}

// DecodeGenerate reads a request of POST /api/generate as one of a conversation: instructions and one message
// of the user. What only a model that sees the raw prompt can do is refused.
func DecodeGenerate(body []byte) (*chat.Request, error) {
	d := requestReader{req: &chat.Request{Stream: true}}
	if err := d.Init(body); err != nil {
		return nil, err
	}
	var system []chat.Part
	var user chat.Message
	d.Members(func(key string) {
		switch key {
		case "prompt":
			user.Parts = append(chat.Text(d.Optional()), user.Parts...)
		case "system":
			system = chat.Text(d.Optional())
		case "images":
			d.list(func() { user.Parts = append(user.Parts, d.image()) })
		case "suffix", "template", "raw", "context": // context holds the tokens of an earlier prompt and its answer
			if raw := string(d.Raw()); d.Bad == nil && !slices.Contains(nothing, raw) {
				d.Refuse(jsonbody.CodeUnsupported, "the model is asked in a conversation, which has no place for "+
					"this; earlier turns can be sent to /api/chat as messages")
			}
		case "messages", "tools":
			d.Unread()
		default:
			d.field(key)
		}
	})
	if err := d.Done(); err != nil {
		return nil, err
	}
	if len(user.Parts) > 0 {
		if system != nil {
			d.req.Messages = append(d.req.Messages, chat.Message{Role: chat.RoleSystem, Parts: system})
		}
		user.Role = chat.RoleUser
		d.req.Messages = append(d.req.Messages, user)
	}
	d.req.Unread = d.UnreadNames()
	return d.req, nil
}

// nothing lists the values that clients write where they want none of something.
var nothing = []string{`""`, "false", "null", "[]"}

type requestReader struct {
	jsonbody.Reader
	req     *chat.Request
	pending chat.Pending    // of the last answer
	named   map[string]bool // tools
	images  int
}

// limits says what settings may be.
var limits = jsonbody.LimitsOf(chat.ProtocolOllama)

func (d *requestReader) field(key string) {
	if !d.Meets(limits[key]) {
		return
	}
	q := d.req
	switch key {
	case "model", "name":
		if name := d.Optional(); name != "" {
			q.Model = name
		}
	case "messages":
		d.list(d.message)
	case "tools":
		d.list(d.tool)
	case "stream":
		d.flag(&q.Stream)
	case "format":
		d.format()
	case "options":
		d.options()
	case "think":
		d.think()
	case "logprobs":
		d.flag(&q.LogProbs)
	case "top_logprobs":
		if n := d.integer(); n != nil {
			q.TopLogProbs = int(*n)
		}
	default:
		d.extra(key, d.Raw())
	}
}

// flag reads true or false; null leaves the field as it is.
func (d *requestReader) flag(to *bool) {
	if v := d.Boolean(); v != nil {
		*to = *v
	}
}

// list reads an array, or null.
func (d *requestReader) list(f func()) {
	if !d.Null() {
		d.Each(f)
	}
}

func (d *requestReader) extra(key string, value []byte) {
	d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolOllama, Key: key, Value: value})
}

const formats = `"json" or a JSON Schema`

// format reads "json", or a schema.
func (d *requestReader) format() {
	switch d.Peek() {
	case 'n':
		d.Skip()
	case '{':
		d.req.Format = &chat.Format{Kind: chat.FormatSchema, Schema: d.Raw()}
	case '"':
		switch d.Str() {
		case "":
		case "json":
			d.req.Format = &chat.Format{Kind: chat.FormatJSON}
		default:
			d.Refuse(jsonbody.CodeInvalidValue, "this must be "+formats)
		}
	default:
		d.Want(formats)
	}
}

// think reads true, false or a level. The word itself is kept for a server of the same protocol. Clients say
// false to every model; servers of other protocols refuse an effort for models that cannot think, so that
// there false goes without saying.
func (d *requestReader) think() {
	switch d.Peek() {
	case 'n':
		d.Skip()
		return
	case '"':
		at := d.Pos
		d.req.Effort = d.Str()
		d.Pos = at
	case 't':
		d.req.Effort = "medium"
	}
	d.extra(keyThink, d.Raw())
}

// options reads the settings of the model. Those that the vocabulary has no place for stay together, raw.
func (d *requestReader) options() {
	if d.Null() {
		return
	}
	var rest []byte
	d.Members(func(key string) {
		if d.Null() {
			return
		}
		if read := settings[key]; read != nil {
			read(d)
			return
		}
		rest = shape.AppendQuoted(append(rest, ','), key)
		rest = append(append(rest, ':'), d.Raw()...)
	})
	if len(rest) > 0 && d.Bad == nil {
		rest[0] = '{'
		d.extra(keyOptions, append(rest, '}'))
	}
}

// settings are the options that the vocabulary has a place for.
var settings = map[string]func(*requestReader){
	"temperature": func(d *requestReader) { d.req.Temperature = d.Float() },
	"top_p":       func(d *requestReader) { d.req.TopP = d.Float() },
	"seed":        func(d *requestReader) { d.req.Seed = d.integer() },
	"stop":        (*requestReader).stop,
	"num_predict": func(d *requestReader) {
		if n := d.integer(); n != nil { // below 0: no bound
			d.req.MaxTokens = jsonbody.Bound(*n)
		}
	},
}

func (d *requestReader) stop() {
	if d.Peek() == '"' {
		d.req.Stop = []string{d.Str()}
		return
	}
	d.Each(func() { d.req.Stop = append(d.req.Stop, d.Text()) })
}

// integer reads a whole number, which clients in some languages write as 42.0.
func (d *requestReader) integer() *int64 {
	at := d.Mark()
	if f, err := strconv.ParseFloat(string(d.Bytes[at:d.Pos]), 64); err == nil && f == math.Trunc(f) &&
		math.Abs(f) < 1<<53 {
		n := int64(f)
		return &n
	}
	var n *int64
	d.Again(at, "", func() { n = d.Whole() })
	return n
}

// tool reads a definition. Both the form with a function and the flat one are read.
func (d *requestReader) tool() {
	d.Peek()
	kind, function, start := "function", -1, d.Pos
	d.Members(func(key string) {
		switch key {
		case "type":
			kind = d.Optional()
		case "function":
			function = d.Mark()
		case "name", "description", "parameters": // of the flat form
			d.Skip()
		default:
			d.Unread()
		}
	})
	switch {
	case d.Bad != nil:
	case kind != "function" && kind != "": // nothing of this protocol: no server of it would run it
		d.req.Tools = append(d.req.Tools, chat.Tool{Name: kind, Raw: d.Bytes[start:d.Pos:d.Pos],
			Hosted: chat.HostedOptional})
	case function >= 0:
		d.Again(function, "function", d.function)
	default:
		d.Again(start, "", d.function)
	}
}

func (d *requestReader) function() {
	var t chat.Tool
	d.Members(func(key string) {
		switch key {
		case "name":
			t.Name = d.Text()
		case "description":
			t.Description = d.Optional()
		case "parameters":
			if !d.Null() {
				t.Parameters = d.Raw()
			}
		case "type": // of the flat form
			d.Skip()
		default:
			d.Unread()
		}
	})
	switch {
	case t.Name == "":
		d.RefuseAt("name", jsonbody.CodeMissing, "a function must have a name")
	case d.named[t.Name]:
		d.RefuseAt("name", jsonbody.CodeInvalidValue, "two tools are called "+strconv.Quote(t.Name))
	}
	if d.named == nil {
		d.named = make(map[string]bool)
	}
	d.named[t.Name] = true
	d.req.Tools = append(d.req.Tools, t)
}

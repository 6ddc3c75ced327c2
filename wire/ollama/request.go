package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"wield/chat"
	"wield/wire/openai"
)

// The keys of what the vocabulary has no place for and a server of this protocol understands, beside those that are not known
// at all: they become a chat.Extra of the request under their name.
const (
	keyOptions = "options" // those that are not among the settings of a chat.Request
	keyThink   = "think"   // as the client wrote it
)

// DecodeRequest reads a request. An error is a *chat.Error with the field to blame.
//
// A request without messages is one to load a model; it is no error. The protocol streams unless it is told otherwise. Calls
// that have no id get one from their place; results are joined to them by id, by name, or in their order. Tools that are no
// functions are left out. Arguments of earlier calls that are no object are kept as they are.
func DecodeRequest(body []byte) (*chat.Request, error) {
	d := requestReader{req: &chat.Request{Stream: true}}
	var fields members
	if err := fields.UnmarshalJSON(body); err != nil {
		return nil, notJSON(body, err)
	}
	for _, f := range fields {
		if d.bad != nil {
			return nil, d.bad
		}
		if read := requestFields[f.name]; read != nil {
			read(&d, f.value)
		} else {
			d.extra(f.name, f.value)
		}
	}
	if d.bad != nil {
		return nil, d.bad
	}
	return d.req, nil
}

// requestFields says how each field of a request is read.
var requestFields = map[string]func(*requestReader, json.RawMessage){
	"model":        func(d *requestReader, v json.RawMessage) { d.into(&d.req.Model, v, "model", aString) },
	"stream":       (*requestReader).stream,
	"messages":     (*requestReader).messages,
	"tools":        (*requestReader).tools,
	"format":       (*requestReader).format,
	"options":      (*requestReader).options,
	"think":        (*requestReader).think,
	"logprobs":     func(d *requestReader, v json.RawMessage) { d.into(&d.req.LogProbs, v, "logprobs", aBoolean) },
	"top_logprobs": func(d *requestReader, v json.RawMessage) { d.req.TopLogProbs = int(d.integer(v, "top_logprobs")) },
}

// What a value must be, for messages.
const (
	aString  = "a string"
	aBoolean = "true or false"
	aNumber  = "a number"
	anObject = "an object"
	aList    = "a list"
)

type requestReader struct {
	req     *chat.Request
	bad     *chat.Error  // the first fault
	pending []*chat.Call // that have no result yet
}

func (d *requestReader) refuse(param, code, message string) {
	if d.bad == nil {
		d.bad = &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Param: param, Code: code, Message: param + ": " + message}
	}
}

// into reads a value into v. Null leaves it as it is.
func (d *requestReader) into(v any, raw json.RawMessage, param, want string) {
	if err := json.Unmarshal(raw, v); err != nil {
		d.refuse(param, openai.CodeInvalidType, "this must be "+want+", not "+typeOf(raw))
	}
}

func (d *requestReader) extra(key string, value json.RawMessage) {
	d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolOllama, Key: key, Value: value})
}

func (d *requestReader) stream(v json.RawMessage) { d.into(&d.req.Stream, v, "stream", aBoolean) }

// format reads "json", or a schema.
func (d *requestReader) format(v json.RawMessage) {
	switch v[0] {
	case 'n':
	case '{':
		d.req.Format = &chat.Format{Kind: chat.FormatSchema, Schema: v}
	case '"':
		var word string
		d.into(&word, v, "format", aString)
		switch word {
		case "":
		case "json":
			d.req.Format = &chat.Format{Kind: chat.FormatJSON}
		default:
			d.refuse("format", openai.CodeInvalidValue, `this must be "json" or a JSON Schema`)
		}
	default:
		d.refuse("format", openai.CodeInvalidType, `this must be "json" or a JSON Schema, not `+typeOf(v))
	}
}

// think reads true, false or a level. The word itself is kept for a server of the same protocol, which may know others.
func (d *requestReader) think(v json.RawMessage) {
	switch v[0] {
	case 'n':
		return
	case 't':
		d.req.Effort = "medium"
	case 'f':
		d.req.Effort = "none"
	case '"':
		d.into(&d.req.Effort, v, "think", aString)
	default:
		d.refuse("think", openai.CodeInvalidType, "this must be true, false or a level, not "+typeOf(v))
	}
	d.extra(keyThink, v)
}

// options reads the settings of the model. Those that the vocabulary has no place for stay together, raw.
func (d *requestReader) options(v json.RawMessage) {
	var fields, rest members
	d.into(&fields, v, "options", anObject)
	for _, f := range fields {
		param := "options." + f.name
		if string(f.value) == "null" {
			continue
		}
		switch f.name {
		case "temperature":
			d.into(&d.req.Temperature, f.value, param, aNumber)
		case "top_p":
			d.into(&d.req.TopP, f.value, param, aNumber)
		case "seed":
			seed := d.integer(f.value, param)
			d.req.Seed = &seed
		case "num_predict": // below 0: no bound
			d.req.MaxTokens = int(min(max(d.integer(f.value, param), 0), math.MaxInt32))
		case "stop":
			d.stop(f.value, param)
		default:
			rest = append(rest, f)
		}
	}
	if len(rest) > 0 {
		d.extra(keyOptions, rest.appendTo(nil))
	}
}

func (d *requestReader) stop(v json.RawMessage, param string) {
	if v[0] != '"' {
		d.into(&d.req.Stop, v, param, "a string or a list of strings")
		return
	}
	var word string
	d.into(&word, v, param, aString)
	d.req.Stop = []string{word}
}

// integer reads a whole number, which clients in some languages write as 42.0.
func (d *requestReader) integer(v json.RawMessage, param string) int64 {
	var f float64
	d.into(&f, v, param, "an integer")
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	if f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		d.refuse(param, openai.CodeInvalidType, "this must be an integer")
		return 0
	}
	return int64(f)
}

// tools reads the definitions. Both the form with a function and the flat one are read.
func (d *requestReader) tools(v json.RawMessage) {
	var list []json.RawMessage
	d.into(&list, v, "tools", aList)
	for i, raw := range list {
		param := fmt.Sprintf("tools[%d]", i)
		var t struct {
			Type     *string         `json:"type"`
			Function json.RawMessage `json:"function"`
		}
		d.into(&t, raw, param, anObject)
		if t.Type != nil && *t.Type != "function" && *t.Type != "" {
			continue // a tool of some server
		}
		if len(t.Function) > 0 {
			raw, param = t.Function, param+".function"
		}
		var f struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}
		d.into(&f, raw, param, "an object with a name, a description and parameters")
		switch {
		case d.bad != nil:
			return
		case f.Name == "":
			d.refuse(param+".name", openai.CodeMissing, "a function must have a name")
		case d.req.Tool(f.Name) != nil:
			d.refuse(param+".name", openai.CodeInvalidValue, "two tools are called "+strconv.Quote(f.Name))
		}
		if string(f.Parameters) == "null" {
			f.Parameters = nil
		}
		d.req.Tools = append(d.req.Tools, chat.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
	}
}

// members are the fields of an object, in their order. Of two with one name the later one counts.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON reads an object, or null.
func (m *members) UnmarshalJSON(b []byte) error {
	*m = nil
	var values map[string]json.RawMessage
	if err := json.Unmarshal(b, &values); err != nil || values == nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	_, _ = dec.Token() // the opening brace; the text is known to be an object
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		name := t.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if last, ok := values[name]; ok {
			*m = append(*m, member{name, last})
			delete(values, name)
		}
	}
	return nil
}

func (m members) appendTo(dst []byte) []byte {
	dst = append(dst, '{')
	for i, f := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, f.name), ':')
		dst = append(dst, f.value...)
	}
	return append(dst, '}')
}

// notJSON says where a body stops being the JSON text of an object.
func notJSON(body []byte, err error) *chat.Error {
	message := "the body is not valid JSON: " + err.Error()
	code := openai.CodeInvalidJSON
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case len(strings.TrimSpace(string(body))) == 0:
		message = "the body is empty; it must be a JSON object"
	case errors.As(err, &syntax):
		message = fmt.Sprintf("the body is not valid JSON at byte %d: %v", syntax.Offset, err)
	case errors.As(err, &wrong):
		code = openai.CodeInvalidType
		message = "the body must be a JSON object, not " + typeOf(body)
	}
	return &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Code: code, Message: message, Cause: err}
}

// typeOf names the type of a JSON value.
func typeOf(raw []byte) string {
	names := map[byte]string{'"': aString, '{': anObject, '[': aList, 't': "true", 'f': "false", 'n': "null"}
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			if name := names[c]; name != "" {
				return name
			}
			return aNumber
		}
	}
	return "nothing"
}

// Package gemini is the protocol of Google's Gemini API, the server's side: requests for content, answers whole and
// as streams, errors, lists of models. It knows no HTTP.
package gemini

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// DecodeRequest reads a request for content. The model stands in the address, not in the body. An error is a
// *jsonbody.FieldError. Names of fields may be written in either case, as in generationConfig and generation_config.
// Fields that the vocabulary has no place for are kept raw in Request.Extra. The result refers to body, which must
// not change afterwards.
func DecodeRequest(body []byte) (*chat.Request, error) {
	d := requestReader{req: &chat.Request{}, named: map[string]bool{}}
	if err := d.Init(body); err != nil {
		return nil, err
	}
	d.Members(d.field)
	d.answered()
	d.checkChoice()
	if d.Bad == nil && Word(d.req) && (d.req.Format == nil || d.req.Format.Kind != chat.FormatSchema) {
		d.RefuseAt("generationConfig.responseSchema", jsonbody.CodeMissing,
			typeWord+" needs a schema that lists the words")
	}
	if d.Bad == nil && len(d.req.Messages) == 0 {
		d.RefuseAt("contents", jsonbody.CodeMissingMsgs, "there must be at least one content")
	}
	if err := d.Done(); err != nil {
		return nil, err
	}
	d.req.Unread = d.UnreadNames()
	if len(d.system) > 0 {
		d.req.Messages = append([]chat.Message{{Role: chat.RoleSystem, Parts: d.system}}, d.req.Messages...)
	}
	return d.req, nil
}

// Choices returns how many candidates a request asks for.
func Choices(req *chat.Request) int {
	return jsonbody.Choices(req, chat.ProtocolGemini, "candidateCount")
}

// typeWord is the type of an answer that is one of the words of an enum, as it stands.
const typeWord = "text/x.enum"

// Word reports whether a request asks for such an answer. A model is asked for the word as JSON.
func Word(req *chat.Request) bool {
	return slices.ContainsFunc(req.Extra, func(x chat.Extra) bool {
		return x.Protocol == chat.ProtocolGemini && x.Key == "responseMimeType"
	})
}

type requestReader struct {
	jsonbody.Reader
	req      *chat.Request
	system   []chat.Part
	calls    int
	pending  chat.Pending    // of the last answer
	thoughts []byte          // of the last answer
	named    map[string]bool // tools by their names
}

// camel returns a name as JSON has it by default.
func camel(key string) string {
	if !strings.Contains(key, "_") {
		return key
	}
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

func (d *requestReader) field(key string) {
	switch camel(key) {
	case "contents":
		if d.Peek() == '{' {
			d.content()
		} else {
			d.Each(d.content)
		}
	case "systemInstruction":
		d.Members(func(key string) {
			if key == "parts" {
				m := d.parts()
				d.system = append(d.system, m.Parts...)
			} else if key == "role" {
				d.Skip()
			} else {
				d.Unread()
			}
		})
	case "tools":
		if !d.Null() {
			d.Each(d.tool)
		}
	case "toolConfig":
		d.object(func(key string) {
			if key == "functionCallingConfig" {
				d.choice()
			} else {
				d.extra("toolConfig." + key)
			}
		})
	case "generationConfig":
		d.object(d.setting)
	case "model":
		d.req.Model = strings.TrimPrefix(d.Optional(), "models/")
	default:
		d.extra(camel(key))
	}
}

// object reads an object or null.
func (d *requestReader) object(f func(key string)) {
	if !d.Null() {
		d.Members(func(key string) { f(camel(key)) })
	}
}

func (d *requestReader) extra(key string) {
	if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
		d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolGemini, Key: key, Value: raw})
	}
}

func (d *requestReader) setting(key string) {
	q := d.req
	switch key {
	case "temperature":
		q.Temperature = d.Float()
	case "topP":
		q.TopP = d.Float()
	case "maxOutputTokens":
		if n := d.Whole(); n != nil {
			q.MaxTokens = jsonbody.Bound(*n)
		}
	case "seed":
		q.Seed = d.Whole()
	case "stopSequences":
		if !d.Null() {
			d.Each(func() { q.Stop = append(q.Stop, d.Text()) })
		}
	case "candidateCount":
		at := d.Mark()
		d.Again(at, "", func() {
			if n := d.Whole(); n != nil && (*n < 1 || *n > jsonbody.MaxChoices) {
				d.Refuse(jsonbody.CodeInvalidValue, fmt.Sprintf("this must be between 1 and %d", jsonbody.MaxChoices))
			}
		})
		d.req.Extra = append(d.req.Extra, chat.Extra{Protocol: chat.ProtocolGemini, Key: key,
			Value: d.Bytes[at:d.Pos:d.Pos]})
	case "responseMimeType":
		switch kind := d.Optional(); kind {
		case "", "text/plain":
		case "application/json":
			if q.Format == nil {
				q.Format = &chat.Format{Kind: chat.FormatJSON}
			}
		case typeWord:
			q.Extra = append(q.Extra, chat.Extra{Protocol: chat.ProtocolGemini, Key: key,
				Value: []byte(`"` + typeWord + `"`)})
		default:
			d.Refuse(jsonbody.CodeUnsupported, "this must be text/plain, application/json or "+typeWord)
		}
	case "responseSchema", "responseJsonSchema":
		if raw := d.Schema(); raw != nil {
			q.Format = &chat.Format{Kind: chat.FormatSchema, Schema: appendSchema(nil, raw)}
		}
	case "responseLogprobs":
		if v := d.Boolean(); v != nil {
			q.LogProbs = *v
		}
	case "logprobs":
		if n := d.Whole(); n != nil {
			q.TopLogProbs = int(min(*n, 20))
		}
	case "thinkingConfig":
		d.object(func(key string) {
			switch key {
			case "thinkingLevel":
				q.Effort = strings.ToLower(d.Optional())
			case "includeThoughts":
				d.Skip() // clients pass over thoughts that they did not ask for
			default:
				d.extra("thinkingConfig." + key)
			}
		})
	default:
		d.extra(key)
	}
}

// content reads one entry of the conversation.
func (d *requestReader) content() {
	role := ""
	var m partialContent
	d.Members(func(key string) {
		switch key {
		case "role":
			role = d.Optional()
		case "parts":
			m = d.parts()
		default:
			d.Unread()
		}
	})
	switch {
	case d.Bad != nil:
	case role == "model":
		m.Role = chat.RoleAssistant
		d.answer(&m)
	case role == "" || role == "user" || role == "function" || role == "tool":
		d.answered()
		d.DropIf(len(m.Calls) > 0, "contents.parts.functionCall")
		m.Role, m.Calls = chat.RoleUser, nil
		if len(m.thoughts) > 0 { // only a model's are none of its answer
			m.Parts = append(m.Parts, chat.Part{Text: string(m.thoughts)})
		}
		d.req.Messages = append(d.req.Messages, m.results...)
		if len(m.Parts) > 0 || len(m.results) == 0 {
			d.req.Messages = append(d.req.Messages, m.Message)
		}
	case role == "system":
		d.system = append(d.system, m.Parts...)
	default:
		d.RefuseAt("role", jsonbody.CodeInvalidValue, "this must be user or model")
	}
}

// answer adds what a model said. Clients that read streams send each piece as a content of its own.
func (d *requestReader) answer(m *partialContent) {
	n := len(d.req.Messages)
	if n == 0 || d.req.Messages[n-1].Role != chat.RoleAssistant {
		d.req.Messages = append(d.req.Messages, m.Message)
		d.thoughts, d.pending = m.thoughts, chat.Pending{Calls: m.Calls}
		return
	}
	last := &d.req.Messages[n-1]
	for _, c := range m.Calls {
		c.Index = len(last.Calls)
		last.Calls = append(last.Calls, c)
	}
	last.Parts = append(last.Parts, m.Parts...)
	d.thoughts, d.pending = append(d.thoughts, m.thoughts...), chat.Pending{Calls: last.Calls}
}

// answered ends the answer that was read last, if one was.
func (d *requestReader) answered() {
	n := len(d.req.Messages)
	if n == 0 || d.req.Messages[n-1].Role != chat.RoleAssistant {
		return
	}
	last := &d.req.Messages[n-1]
	last.Reasoning, last.Parts = string(d.thoughts), joined(last.Parts)
}

// joined joins texts that follow one another.
func joined(parts []chat.Part) (list []chat.Part) {
	var text []byte
	for i, p := range parts {
		if p.Kind != chat.PartText {
			list = append(list, p)
			continue
		}
		text = append(text, p.Text...)
		if i+1 == len(parts) || parts[i+1].Kind != chat.PartText {
			list = append(list, chat.Part{Text: string(text)})
			text = text[:0]
		}
	}
	return list
}

// A partialContent is a content while it is read.
type partialContent struct {
	chat.Message
	results  []chat.Message
	thoughts []byte // the reasoning, while it grows
}

func (d *requestReader) parts() (m partialContent) {
	if d.Peek() == '{' {
		d.part(&m)
		return m
	}
	d.Each(func() { d.part(&m) })
	return m
}

func (d *requestReader) part(m *partialContent) {
	d.Peek()
	start := d.Pos
	var p chat.Part
	known, thought := false, false
	d.Members(func(key string) {
		switch key = camel(key); key {
		case "text":
			known, p.Text = true, d.Text()
		case "thought":
			if v := d.Boolean(); v != nil {
				thought = *v
			}
		case "inlineData":
			known = true
			d.data(&p)
		case "fileData":
			known = true
			d.object(func(key string) {
				switch key {
				case "mimeType":
					p.MediaType = d.Optional()
				case "fileUri":
					p.URL = d.Text()
				default:
					d.Unread()
				}
			})
			p.Kind = kindOf(p.MediaType)
		case "functionCall":
			known = true
			d.call(m)
			p.Kind = chat.PartOpaque
		case "functionResponse":
			known = true
			d.result(m)
			p.Kind = chat.PartOpaque
		case "thoughtSignature": // of an earlier answer
			d.Skip()
		default:
			d.Unread()
		}
	})
	switch {
	case d.Bad != nil:
	case !known:
		raw := json.RawMessage(d.Bytes[start:d.Pos:d.Pos])
		m.Parts = append(m.Parts, chat.Part{Kind: chat.PartOpaque, Name: firstKey(raw), Raw: raw,
			Protocol: chat.ProtocolGemini})
	case thought:
		m.thoughts = append(m.thoughts, p.Text...)
	case p.Kind != chat.PartOpaque:
		m.Parts = append(m.Parts, p)
	}
}

func firstKey(object []byte) string {
	s := jsonbody.Scanner{Bytes: object}
	if s.Enter('{'); s.Next('}') {
		return s.Name()
	}
	return "nothing"
}

func (d *requestReader) data(p *chat.Part) {
	d.object(func(key string) {
		switch key {
		case "mimeType":
			p.MediaType = d.Optional()
		case "data":
			text := d.Text()
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				data, err = base64.URLEncoding.DecodeString(text) // which is also base64 to this protocol
			}
			if err != nil {
				d.Refuse(jsonbody.CodeInvalidValue, "this is not base64")
			}
			p.Data = data
		default:
			d.Unread()
		}
	})
	p.Kind = kindOf(p.MediaType)
}

func kindOf(media string) chat.PartKind {
	switch {
	case strings.HasPrefix(media, "image/"):
		return chat.PartImage
	case strings.HasPrefix(media, "audio/"):
		return chat.PartAudio
	}
	return chat.PartFile
}

// call reads a call that a model made earlier.
func (d *requestReader) call(m *partialContent) {
	c := chat.Call{Index: len(m.Calls), Arguments: "{}", Complete: true, Origin: chat.OriginFunction}
	d.object(func(key string) {
		switch key {
		case "id":
			c.ID = d.Optional()
		case "name":
			c.Name = d.Text()
		case "args":
			if raw := d.Raw(); len(raw) > 0 && raw[0] == '{' {
				c.Arguments = string(raw)
			}
		default:
			d.Unread()
		}
	})
	if c.Name == "" {
		d.RefuseAt("name", jsonbody.CodeMissing, "a call must have the function's name")
	}
	if c.ID == "" {
		c.ID = "call_" + strconv.Itoa(d.calls)
	}
	d.calls++
	m.Calls = append(m.Calls, c)
}

// result reads what came of a call. Without an id it belongs to the first call of its name that has none yet.
func (d *requestReader) result(m *partialContent) {
	r := chat.Message{Role: chat.RoleTool}
	d.object(func(key string) {
		switch key {
		case "id":
			r.CallID = d.Optional()
		case "name":
			r.Name = d.Text()
		case "response":
			r.Parts = resultParts(d.Raw())
		default:
			d.Unread()
		}
	})
	if c := d.pending.Take(r.CallID, r.Name); c != nil {
		r.CallID, r.Name = c.ID, c.Name
	}
	if r.CallID == "" {
		d.Refuse(jsonbody.CodeInvalidValue, fmt.Sprintf("there is no call of %q that this could answer", r.Name))
	}
	m.results = append(m.results, r)
}

// resultParts returns the content of a result: the text under result or output where there is nothing else, or the
// object itself.
func resultParts(raw []byte) []chat.Part {
	s := jsonbody.Scanner{Bytes: raw}
	if s.Peek() == '{' {
		n, text, ok := 0, "", false
		for s.Enter('{'); s.Next('}'); n++ {
			key := string(s.Key())
			if (key == "result" || key == "output") && s.Peek() == '"' {
				text, ok = s.Str(), true
			} else {
				s.Skip()
			}
		}
		if n == 1 && ok {
			return chat.Text(text)
		}
	}
	return chat.Text(string(raw))
}

// tool reads an entry of the tools: functions, or something that Google's servers run.
func (d *requestReader) tool() {
	d.Members(func(key string) {
		if key = camel(key); key == "functionDeclarations" {
			d.Each(d.function)
			return
		}
		if raw := d.Raw(); len(raw) > 0 && raw[0] != 'n' {
			d.req.Tools = append(d.req.Tools, chat.Tool{Name: key, Raw: raw, Protocol: chat.ProtocolGemini,
				Hosted: chat.HostedRequired})
			d.named[key] = true
		}
	})
}

func (d *requestReader) function() {
	var t chat.Tool
	d.Members(func(key string) {
		switch camel(key) {
		case "name":
			t.Name = d.Text()
		case "description":
			t.Description = d.Optional()
		case "parameters":
			if raw := d.Schema(); raw != nil {
				t.Parameters = appendSchema(nil, raw)
			}
		case "parametersJsonSchema":
			t.Parameters = d.Schema()
		default:
			d.Unread()
		}
	})
	switch {
	case d.Bad != nil:
	case t.Name == "":
		d.RefuseAt("name", jsonbody.CodeMissing, "a function must have a name")
	case d.named[t.Name]:
		d.RefuseAt("name", jsonbody.CodeInvalidValue, "there is another function of this name")
	default:
		d.named[t.Name] = true
		d.req.Tools = append(d.req.Tools, t)
	}
}

// modes are the words for what may be called.
var modes = map[string]chat.ChoiceMode{"": chat.ChoiceAuto, "MODE_UNSPECIFIED": chat.ChoiceAuto,
	"AUTO": chat.ChoiceAuto, "NONE": chat.ChoiceNone, "ANY": chat.ChoiceRequired, "VALIDATED": chat.ChoiceAuto}

func (d *requestReader) choice() {
	c := &d.req.Choice
	d.object(func(key string) {
		switch key {
		case "mode":
			mode, ok := modes[strings.ToUpper(d.Optional())]
			if !ok {
				d.Refuse(jsonbody.CodeInvalidValue, "this must be AUTO, ANY, VALIDATED or NONE")
			}
			c.Mode = mode
		case "allowedFunctionNames":
			if !d.Null() {
				d.Each(func() { c.Allowed = append(c.Allowed, d.Text()) })
			}
		default:
			d.Unread()
		}
	})
}

// checkChoice refuses a choice that no answer could meet.
func (d *requestReader) checkChoice() {
	const where = "toolConfig.functionCallingConfig"
	c := &d.req.Choice
	names := slices.Clone(c.Allowed)
	c.Allowed = slices.DeleteFunc(c.Allowed, func(name string) bool {
		d.DropIf(!d.named[name], where+".allowedFunctionNames="+name)
		return !d.named[name]
	})
	switch {
	case len(names) > 0 && len(c.Allowed) == 0:
		d.RefuseAt(where+".allowedFunctionNames", jsonbody.CodeInvalidValue,
			fmt.Sprintf("none of the functions %q is declared in tools", names))
	case c.Mode == chat.ChoiceRequired && len(d.req.Tools) == 0:
		d.RefuseAt(where+".mode", jsonbody.CodeInvalidValue, "a call is required, but there are no tools")
	}
}

// appendSchema appends a schema of this protocol, which is one of OpenAPI's, as JSON Schema: types are in lower case,
// and one that may be null is a list.
func appendSchema(dst, raw []byte) []byte {
	s := jsonbody.Scanner{Bytes: raw}
	switch s.Peek() {
	case '[':
		dst = append(dst, '[')
		for s.Enter('['); s.Next(']'); {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = appendSchema(dst, s.Raw())
		}
		return append(dst, ']')
	case '{':
	default:
		return append(dst, raw...)
	}
	nullable := string(memberOf(raw, "nullable")) == "true"
	dst = append(dst, '{')
	for s.Enter('{'); s.Next('}'); {
		key := s.Name()
		value := s.Raw()
		if key == "nullable" || key == "propertyOrdering" || key == "property_ordering" {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(shape.AppendQuoted(dst, camelSchema(key)), ':')
		switch key {
		case "type":
			dst = appendType(dst, value, nullable)
		case "properties", "$defs", "defs":
			dst = appendProperties(dst, value)
		case "anyOf", "any_of":
			dst = appendSchema(dst, value)
			if last := len(dst) - 1; nullable && dst[last] == ']' && memberOf(raw, "type") == nil {
				dst = append(dst[:last], `,{"type":"null"}]`...)
			}
		case "items", "allOf", "oneOf", "prefixItems", "additionalProperties", "not":
			dst = appendSchema(dst, value)
		default:
			dst = append(dst, value...)
		}
	}
	return append(dst, '}')
}

// camelSchema returns the name of a keyword. Only those that the protocol's own types have can be in the other case.
func camelSchema(key string) string {
	if strings.HasPrefix(key, "$") {
		return key
	}
	return camel(key)
}

func appendType(dst, value []byte, nullable bool) []byte {
	lower := []byte(strings.ToLower(string(value)))
	if nullable && lower[0] == '"' {
		return append(append(append(dst, '['), lower...), `,"null"]`...)
	}
	return append(dst, lower...)
}

// appendProperties appends an object of schemas, whose names are nobody's keywords.
func appendProperties(dst, raw []byte) []byte {
	s := jsonbody.Scanner{Bytes: raw}
	if s.Peek() != '{' {
		return append(dst, raw...)
	}
	dst = append(dst, '{')
	for s.Enter('{'); s.Next('}'); {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(shape.AppendQuoted(dst, s.Name()), ':')
		dst = appendSchema(dst, s.Raw())
	}
	return append(dst, '}')
}

func memberOf(object []byte, key string) (raw []byte) {
	s := jsonbody.Scanner{Bytes: object}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == key {
			raw = s.Raw()
		} else {
			s.Skip()
		}
	}
	return raw
}

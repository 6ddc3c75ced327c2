package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// RequestOptions adapt a request to the server that it is for.
type RequestOptions struct {
	Model   string   // name of the model there; empty: the request's
	Stream  bool     // ask for a stream
	Forward []string // keys of Request.Extra and Message.Opaque, and types of opaque parts, that the server understands
}

// AppendRequest appends the body of a request. It fails with a *chat.Error if req holds something that the protocol
// cannot say.
//
// What is not set is not sent, and an Extra only if it is of this protocol and on the list. The output of a call is a
// text where it has no other parts.
func AppendRequest(dst []byte, req *chat.Request, o RequestOptions) ([]byte, error) {
	w := requestWriter{b: dst, o: &o}
	w.b = append(w.b, `{"model":`...)
	w.b = shape.AppendQuoted(w.b, cmp.Or(o.Model, req.Model))
	w.know(req.Tools)
	messages := req.Messages
	if len(messages) > 0 && isInstructions(&messages[0]) {
		w.str("instructions", messages[0].Text())
		messages = messages[1:]
	}
	w.key("input")
	w.b = append(w.b, '[')
	w.additional(req.Tools)
	for i := range messages {
		if err := w.message(&messages[i]); err != nil {
			err.Param = fmt.Sprintf("messages[%d].%s", i, err.Param)
			return dst, err
		}
	}
	w.b = append(w.b, ']')
	if len(req.Tools) > 0 {
		w.offer(req)
	}
	w.settings(req)
	for _, x := range req.Extra {
		if w.forwards(x) && !slices.Contains(written, x.Key) {
			w.key(x.Key)
			w.b = append(w.b, x.Value...)
		}
	}
	return append(w.b, '}'), nil
}

// isInstructions reports whether a message came as the field instructions.
func isInstructions(m *chat.Message) bool {
	return slices.ContainsFunc(m.Opaque, func(x chat.Extra) bool {
		return x.Protocol == chat.ProtocolResponses && x.Key == keyInstructions
	})
}

// written are the keys that AppendRequest may write itself and that an Extra must not repeat.
var written = []string{"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls",
	"max_output_tokens", "temperature", "top_p", "top_logprobs", "text", "reasoning", "user", "stream"}

type requestWriter struct {
	b     []byte
	o     *RequestOptions
	items int
	named Names            // of the tools, as the protocol has them
	calls map[string]*form // of the calls so far that are no function's, by their ids
}

func (w *requestWriter) key(name string) {
	w.b = append(w.b, ',')
	w.b = shape.AppendQuoted(w.b, name)
	w.b = append(w.b, ':')
}

func (w *requestWriter) str(name, value string) {
	w.key(name)
	w.b = shape.AppendQuoted(w.b, value)
}

func (w *requestWriter) boolean(name string, v *bool) {
	if v != nil {
		w.key(name)
		w.b = strconv.AppendBool(w.b, *v)
	}
}

func (w *requestWriter) float(name string, v *float64) {
	if v != nil {
		w.key(name)
		w.b = strconv.AppendFloat(w.b, *v, 'g', -1, 64)
	}
}

func (w *requestWriter) forwards(x chat.Extra) bool {
	return x.Protocol == chat.ProtocolResponses && slices.Contains(w.o.Forward, x.Key) && json.Valid(x.Value)
}

// item begins an item of a type.
func (w *requestWriter) item(kind string) {
	if w.items++; w.items > 1 {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, `{"type":"`...)
	w.b = append(w.b, kind...)
	w.b = append(w.b, '"')
}

// message writes the items that a message is made of.
func (w *requestWriter) message(m *chat.Message) *chat.Error {
	if m.Role == chat.RoleTool {
		return w.result(m)
	}
	w.reasoning(m)
	m = w.served(m)
	if len(m.Parts) > 0 || m.Role != chat.RoleAssistant {
		text := "input_text"
		if m.Role == chat.RoleAssistant {
			text = "output_text"
		}
		w.item("message")
		w.str("role", string(m.Role))
		w.opaque(m, "phase")
		w.key("content")
		if err := w.parts(m, text); err != nil {
			return err
		}
		w.b = append(w.b, '}')
	}
	for i := range m.Calls {
		w.call(&m.Calls[i])
	}
	return nil
}

// opaque writes a field that only this protocol has.
func (w *requestWriter) opaque(m *chat.Message, key string) {
	for _, x := range m.Opaque {
		if x.Key == key && w.forwards(x) {
			w.key(key)
			w.b = append(w.b, x.Value...)
			return
		}
	}
}

func (w *requestWriter) reasoning(m *chat.Message) {
	sealed := slices.ContainsFunc(m.Opaque, func(x chat.Extra) bool {
		return x.Key == "encrypted_content" && w.forwards(x)
	})
	if m.Role != chat.RoleAssistant || m.Reasoning == "" && !sealed {
		return
	}
	w.item("reasoning")
	w.b = append(w.b, `,"summary":[`...)
	if m.Reasoning != "" {
		w.b = append(w.b, `{"type":"summary_text","text":`...)
		w.b = shape.AppendQuoted(w.b, m.Reasoning)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
	w.opaque(m, "encrypted_content")
	w.b = append(w.b, '}')
}

// content writes a text where all parts are text, and a list of parts else.
func (w *requestWriter) content(m *chat.Message, text string) *chat.Error {
	if slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind != chat.PartText }) {
		return w.parts(m, text)
	}
	w.b = shape.AppendQuoted(w.b, m.Text())
	return nil
}

func (w *requestWriter) parts(m *chat.Message, text string) *chat.Error {
	w.b = append(w.b, '[')
	for i := range m.Parts {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if err := w.part(&m.Parts[i], text); err != nil {
			err.Param, err.Status = fmt.Sprintf("content[%d]", i), 400
			return err
		}
	}
	w.b = append(w.b, ']')
	return nil
}

func (w *requestWriter) part(p *chat.Part, text string) *chat.Error {
	switch p.Kind {
	case chat.PartText:
		w.b = append(w.b, `{"type":"`...)
		w.b = append(w.b, text...)
		w.b = append(w.b, '"')
		w.str("text", p.Text)
	case chat.PartImage:
		w.b = append(w.b, `{"type":"input_image"`...)
		w.str("image_url", jsonbody.Location(p, "image/png"))
		if p.Detail != "" {
			w.str("detail", p.Detail)
		}
	case chat.PartFile:
		w.b = append(w.b, `{"type":"input_file"`...)
		if p.Name != "" {
			w.str("filename", p.Name)
		}
		key := "file_data"
		if p.URL != "" && !strings.HasPrefix(p.URL, "data:") {
			key = "file_url"
		}
		w.str(key, jsonbody.Location(p, "application/octet-stream"))
	case chat.PartAudio:
		return chat.Errorf(chat.ErrBadRequest, "this protocol takes no audio")
	default:
		if p.Protocol != chat.ProtocolResponses || !slices.Contains(w.o.Forward, p.Name) {
			return chat.Errorf(chat.ErrBadRequest,
				"content of the type %q is not passed on to this server, unless the backend's forward lists it",
				p.Name)
		}
		w.b = append(w.b, p.Raw...)
		return nil
	}
	w.b = append(w.b, '}')
	return nil
}

// settings writes what governs the answer.
func (w *requestWriter) settings(req *chat.Request) {
	if req.MaxTokens > 0 {
		w.key("max_output_tokens")
		w.b = strconv.AppendInt(w.b, int64(req.MaxTokens), 10)
	}
	w.float("temperature", req.Temperature)
	w.float("top_p", req.TopP)
	if req.LogProbs &&
		!slices.ContainsFunc(req.Extra, func(x chat.Extra) bool { return x.Key == "include" && w.forwards(x) }) {
		w.b = append(w.b, `,"include":["message.output_text.logprobs"]`...)
	}
	if req.TopLogProbs > 0 {
		w.key("top_logprobs")
		w.b = strconv.AppendInt(w.b, int64(req.TopLogProbs), 10)
	}
	if !w.asSent(req, "reasoning") && req.Effort != "" {
		w.b = append(w.b, `,"reasoning":{"effort":`...)
		w.b = shape.AppendQuoted(w.b, req.Effort)
		w.b = append(w.b, '}')
	}
	w.text(req)
	if req.User != "" {
		w.str("user", req.User)
	}
	if w.o.Stream {
		w.b = append(w.b, `,"stream":true`...)
	}
}

// asSent writes a field of which the vocabulary has a place for a part only, if the server understands the rest.
func (w *requestWriter) asSent(req *chat.Request, key string) bool {
	for _, x := range req.Extra {
		if x.Key == key && w.forwards(x) {
			w.key(key)
			w.b = append(w.b, x.Value...)
			return true
		}
	}
	return false
}

// text writes the form of the answer, and what else the client said of its text.
func (w *requestWriter) text(req *chat.Request) {
	before := len(w.b)
	w.b = append(w.b, `,"text":{`...)
	begun := len(w.b)
	if req.Format != nil {
		w.format(req.Format)
	}
	for _, x := range req.Extra {
		if x.Key != "text" || !w.forwards(x) {
			continue
		}
		s := jsonbody.Scanner{Bytes: x.Value}
		for s.Enter('{'); s.Next('}'); {
			key, raw := s.Name(), s.Raw()
			if key == "format" {
				continue
			}
			if len(w.b) > begun {
				w.b = append(w.b, ',')
			}
			w.b = append(append(shape.AppendQuoted(w.b, key), ':'), raw...)
		}
	}
	if len(w.b) == begun {
		w.b = w.b[:before]
		return
	}
	w.b = append(w.b, '}')
}

func (w *requestWriter) format(f *chat.Format) {
	w.b = append(w.b, `"format":{"type":`...)
	switch f.Kind {
	case chat.FormatText:
		w.b = append(w.b, `"text"`...)
	case chat.FormatJSON:
		w.b = append(w.b, `"json_object"`...)
	case chat.FormatSchema:
		name := f.Name
		if name == "" {
			name = "answer" // the protocol wants one
		}
		w.b = append(w.b, `"json_schema"`...)
		w.str("name", name)
		if f.Description != "" {
			w.str("description", f.Description)
		}
		if len(f.Schema) > 0 {
			w.key("schema")
			w.b = append(w.b, f.Schema...)
		}
		w.boolean("strict", f.Strict)
	}
	w.b = append(w.b, '}')
}

package ollama

import (
	"bytes"
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

// RequestOptions adapt a request to the server that it is for. The zero value suits any.
type RequestOptions struct {
	Model   string   // name of the model there; empty: the request's
	Stream  bool     // ask for a stream
	Levels  bool     // the model takes the words low, medium and high for think; else it is told true or false
	Forward []string // keys of Request.Extra that the server understands, such as options and keep_alive
}

// AppendRequest appends the body of a request: of /api/generate if it has a Prompt, which is taken as it is, else of
// /api/chat. It fails with a *chat.Error if req holds something that the protocol cannot say.
//
// The protocol has no choice of tools: of a request that names some, only these are sent, and one that wants none
// gets none. What is not set is not sent, and an Extra only if it is of this protocol and on the list.
func AppendRequest(dst []byte, req *chat.Request, o RequestOptions) ([]byte, error) {
	w := requestWriter{b: dst, req: req, o: &o}
	model := o.Model
	if model == "" {
		model = req.Model
	}
	w.b = shape.AppendQuoted(append(w.b, `{"model":`...), model)
	if req.Prompt != "" {
		w.key("prompt")
		w.b = append(shape.AppendQuoted(w.b, req.Prompt), `,"raw":true`...)
	} else if err := w.conversation(); err != nil {
		return dst, err
	}
	w.key("stream")
	w.b = strconv.AppendBool(w.b, o.Stream)
	w.format()
	if req.Prompt == "" {
		w.think()
	}
	w.options()
	if req.LogProbs {
		w.b = append(w.b, `,"logprobs":true`...)
		if req.TopLogProbs > 0 {
			w.key("top_logprobs")
			w.b = strconv.AppendInt(w.b, int64(req.TopLogProbs), 10)
		}
	}
	for _, x := range req.Extra {
		if x.Key != keyOptions && x.Key != keyThink && w.forwards(x) {
			w.key(x.Key)
			w.b = appendValue(w.b, x.Value)
		}
	}
	return append(w.b, '}'), nil
}

// conversation writes the messages and tools.
func (w *requestWriter) conversation() error {
	w.b = append(w.b, `,"messages":[`...)
	for i := range w.req.Messages {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if err := w.message(&w.req.Messages[i]); err != nil {
			err.Param = fmt.Sprintf("messages[%d].%s", i, err.Param)
			return err
		}
	}
	w.b = append(w.b, ']')
	w.tools()
	return nil
}

type requestWriter struct {
	b   []byte
	req *chat.Request
	o   *RequestOptions
}

func (w *requestWriter) key(name string) {
	w.b = append(w.b, ',')
	w.b = append(shape.AppendQuoted(w.b, name), ':')
}

func (w *requestWriter) forwards(x chat.Extra) bool {
	return x.Protocol == chat.ProtocolOllama && slices.Contains(w.o.Forward, x.Key)
}

func (w *requestWriter) message(m *chat.Message) *chat.Error {
	role := m.Role
	if role == chat.RoleDeveloper {
		role = chat.RoleSystem
	}
	w.b = shape.AppendQuoted(append(w.b, `{"role":`...), string(role))
	w.b = shape.AppendQuoted(append(w.b, `,"content":`...), m.Text())
	if m.Reasoning != "" && role == chat.RoleAssistant {
		w.key("thinking")
		w.b = shape.AppendQuoted(w.b, m.Reasoning)
	}
	if err := w.images(m); err != nil {
		return err
	}
	if len(m.Calls) > 0 {
		w.calls(m.Calls)
	}
	if role == chat.RoleTool {
		if m.Name != "" {
			w.key("tool_name")
			w.b = shape.AppendQuoted(w.b, m.Name)
		}
		if m.CallID != "" {
			w.key("tool_call_id")
			w.b = shape.AppendQuoted(w.b, m.CallID)
		}
	}
	w.b = append(w.b, '}')
	return nil
}

// images writes what is no text. The protocol carries images, and only themselves, not where they lie.
func (w *requestWriter) images(m *chat.Message) *chat.Error {
	n := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == chat.PartText || p.Kind == chat.PartOpaque && m.Role == chat.RoleAssistant {
			continue // what another server's model thought is of no use here
		}
		data, problem := imageData(p)
		if problem != "" {
			err := chat.Errorf(chat.ErrBadRequest, "%s", problem)
			err.Param, err.Status = fmt.Sprintf("content[%d]", i), 400
			return err
		}
		if n++; n == 1 {
			w.b = append(w.b, `,"images":[`...)
		} else {
			w.b = append(w.b, ',')
		}
		w.b = shape.AppendQuoted(w.b, data)
	}
	if n > 0 {
		w.b = append(w.b, ']')
	}
	return nil
}

// imageData returns an image in base64, or says why there is none.
func imageData(p *chat.Part) (data, problem string) {
	switch {
	case p.Kind != chat.PartImage:
		return "", "this server takes text and images, and nothing else"
	case len(p.Data) > 0:
		return base64.StdEncoding.EncodeToString(p.Data), ""
	}
	head, data, ok := strings.Cut(p.URL, ";base64,")
	if !ok || !strings.HasPrefix(head, "data:") {
		return "", "this server takes images as data: URLs only, since it fetches nothing"
	}
	return data, ""
}

func (w *requestWriter) calls(calls []chat.Call) {
	w.b = append(w.b, `,"tool_calls":[`...)
	for i := range calls {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		c := &calls[i]
		w.b = appendCall(w.b, c, c.ID, i, asObject(c.Arguments))
	}
	w.b = append(w.b, ']')
}

// asObject returns arguments as the object that the protocol demands. Broken ones of an earlier answer stand in one
// as text, since a server would refuse the whole conversation for them.
func asObject(arguments string) string {
	if args := object(arguments); args != "" {
		return args
	}
	return string(append(shape.AppendQuoted([]byte(`{"arguments":`), arguments), '}'))
}

// appendCall appends a call, whose arguments are an object.
func appendCall(dst []byte, c *chat.Call, id string, index int, arguments string) []byte {
	dst = append(dst, '{')
	if id != "" {
		dst = append(shape.AppendQuoted(append(dst, `"id":`...), id), ',')
	}
	dst = append(dst, `"function":{"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = shape.AppendQuoted(append(dst, `,"name":`...), c.Name)
	dst = appendValue(append(dst, `,"arguments":`...), []byte(arguments))
	return append(dst, "}}"...)
}

// tools writes the definitions that the choice leaves.
func (w *requestWriter) tools() {
	choice, n := &w.req.Choice, 0
	allows := choice.Allows()
	for i := range w.req.Tools {
		t := &w.req.Tools[i]
		switch {
		case t.Hosted != chat.HostedNot,
			choice.Mode == chat.ChoiceNone,
			choice.Mode == chat.ChoiceNamed && t.Name != choice.Name,
			!allows(t.Name):
			continue
		}
		if n++; n == 1 {
			w.b = append(w.b, `,"tools":[`...)
		} else {
			w.b = append(w.b, ',')
		}
		w.b = shape.AppendQuoted(append(w.b, `{"type":"function","function":{"name":`...), t.Name)
		w.b = shape.AppendQuoted(append(w.b, `,"description":`...), t.Description)
		w.b = append(w.b, `,"parameters":`...)
		w.b = appendValue(w.b, jsonbody.ObjectSchema(t.Parameters)) // templates fail without one
		w.b = append(w.b, "}}"...)
	}
	if n > 0 {
		w.b = append(w.b, ']')
	}
}

// format writes the shape of the answer: a word, or a bare schema.
func (w *requestWriter) format() {
	f := w.req.Format
	switch {
	case f == nil || f.Kind == chat.FormatText:
	case f.Kind == chat.FormatSchema && len(f.Schema) > 0:
		w.key("format")
		w.b = appendValue(w.b, f.Schema)
	default:
		w.b = append(w.b, `,"format":"json"`...)
	}
}

// levels are the words of efforts in this protocol. An effort that is not among them goes out as it is.
var levels = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high",
	"max": "high"}

// think writes how much the model shall think: as the client said it, if it speaks this protocol.
func (w *requestWriter) think() {
	for _, x := range w.req.Extra {
		if x.Protocol == chat.ProtocolOllama && x.Key == keyThink {
			w.key("think")
			w.b = appendValue(w.b, x.Value)
			return
		}
	}
	effort := w.req.Effort
	if effort == "" {
		return
	}
	w.key("think")
	switch level := levels[effort]; {
	case effort == "none":
		w.b = append(w.b, "false"...)
	case !w.o.Levels:
		w.b = append(w.b, "true"...)
	case level != "":
		w.b = shape.AppendQuoted(w.b, level)
	default:
		w.b = shape.AppendQuoted(w.b, effort)
	}
}

// options writes the settings: ours, and behind them what the client has set beside them.
func (w *requestWriter) options() {
	q := w.req
	var b []byte
	key := func(name string) { b = append(shape.AppendQuoted(append(b, ','), name), ':') }
	if q.Temperature != nil {
		key("temperature")
		b = strconv.AppendFloat(b, *q.Temperature, 'g', -1, 64)
	}
	if q.TopP != nil {
		key("top_p")
		b = strconv.AppendFloat(b, *q.TopP, 'g', -1, 64)
	}
	if q.Seed != nil {
		key("seed")
		b = strconv.AppendInt(b, *q.Seed, 10)
	}
	if q.MaxTokens > 0 {
		key("num_predict")
		b = strconv.AppendInt(b, int64(q.MaxTokens), 10)
	}
	for i, word := range q.Stop {
		if i == 0 {
			key("stop")
			b = append(b, '[')
		} else {
			b = append(b, ',')
		}
		b = shape.AppendQuoted(b, word)
	}
	if len(q.Stop) > 0 {
		b = append(b, ']')
	}
	for _, x := range q.Extra {
		if rest := bytes.TrimSpace(x.Value); x.Key == keyOptions && w.forwards(x) && len(rest) > 2 && rest[0] == '{' {
			b = append(append(b, ','), rest[1:len(rest)-1]...)
		}
	}
	if len(b) > 0 {
		b[0] = '{'
		w.key("options")
		w.b = appendValue(w.b, append(b, '}'))
	}
}

// appendValue appends JSON in one line, as short as it can be.
func appendValue(dst, raw []byte) []byte {
	b := bytes.NewBuffer(dst)
	if err := json.Compact(b, raw); err != nil {
		return append(dst, "null"...)
	}
	return b.Bytes()
}

package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// EmptyContent says what stands for the content of an assistant's message that holds calls and no text. Servers
// differ in what they accept.
type EmptyContent uint8

// The choices. The protocol's own servers send the zero value.
const (
	contentNull   EmptyContent = iota // "content":null
	contentString                     // "content":""
	contentAbsent                     // no such key
)

// Constrain says in which words a server is asked to hold its answer to Request.Format.
type Constrain uint8

// The words.
const (
	constrainFormat Constrain = iota // response_format as the protocol has it, and for structural tags
	// structured_outputs for a schema, response_format for any JSON and for structural tags
	ConstrainVLLM
	ConstrainLlamaCPP // json_schema for a schema, grammar for a grammar, response_format for any JSON
)

// RequestOptions adapt a request to the server that it is for. The zero value suits servers that know the protocol as
// it was in 2023.
type RequestOptions struct {
	Model               string       // name of the model there; empty: the request's
	Stream              bool         // ask for a stream
	Usage               bool         // ask for the usage chunk at the end of the stream
	Developer           bool         // the server knows the role developer; else system is sent
	MaxCompletionTokens bool         // send max_completion_tokens even if the client wrote max_tokens
	Reasoning           string       // key for the reasoning of earlier assistant messages; empty: it is not sent
	EmptyContent        EmptyContent // for assistant messages that hold only calls
	Constrain           Constrain    // how Request.Format is said
	CallIDs             CallIDs      // which ids of calls the server takes
	// keys of Request.Extra and Message.Opaque, and types of opaque parts and tools, that the server understands
	Forward []string
}

// AppendRequest appends the body of a request: of a completion if it has a Prompt, else of a chat completion. It fails
// with a *chat.Error if req holds something that the protocol cannot say.
//
// Text parts are joined to one string, since few servers take lists of them. A tool without parameters gets those of a
// function that has none. What is not set is not sent, and an Extra only if it is of this protocol and on the list.
func AppendRequest(dst []byte, req *chat.Request, o RequestOptions) ([]byte, error) {
	w := requestWriter{b: dst, o: &o}
	if slices.Contains(o.Forward, freeform.Type) {
		w.free = freeform.Names(req.Tools)
	}
	w.b = append(w.b, `{"model":`...)
	if o.Model != "" {
		w.b = shape.AppendQuoted(w.b, o.Model)
	} else {
		w.b = shape.AppendQuoted(w.b, req.Model)
	}
	if req.Prompt != "" {
		w.str("prompt", req.Prompt)
	} else if err := w.conversation(req); err != nil {
		return dst, err
	}
	w.settings(req)
	w.extras(req.Extra)
	return append(w.b, '}'), nil
}

// conversation writes the messages and tools.
func (w *requestWriter) conversation(req *chat.Request) error {
	w.b = append(w.b, `,"messages":[`...)
	for i := range req.Messages {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if err := w.message(&req.Messages[i]); err != nil {
			err.Param = fmt.Sprintf("messages[%d].%s", i, err.Param)
			return err
		}
		if err := w.shown(req.Messages, i); err != nil {
			err.Param = fmt.Sprintf("messages[%d].%s", i, err.Param)
			return err
		}
	}
	w.b = append(w.b, ']')
	return w.tools(req)
}

type requestWriter struct {
	b   []byte
	o   *RequestOptions
	ids shortener

	free map[string]bool // tools that the server is to know as such that take plain text
}

// callID returns the id under which the server is to know a call.
func (w *requestWriter) callID(id string) string {
	if w.o.CallIDs == CallIDsNine {
		return w.ids.of(id)
	}
	return id
}

func (w *requestWriter) key(name string) {
	w.b = append(w.b, ',', '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *requestWriter) str(name, value string) {
	w.key(name)
	w.b = shape.AppendQuoted(w.b, value)
}

func (w *requestWriter) message(m *chat.Message) *chat.Error {
	role := m.Role
	if role == chat.RoleDeveloper && !w.o.Developer {
		role = chat.RoleSystem
	}
	w.b = append(w.b, `{"role":`...)
	w.b = shape.AppendQuoted(w.b, string(role))
	if m.Name != "" && role != chat.RoleTool {
		w.str("name", m.Name)
	}
	if role == chat.RoleTool {
		w.str("tool_call_id", w.callID(m.CallID))
	}
	if err := w.content(m); err != nil {
		return err
	}
	if role == chat.RoleAssistant && m.Reasoning != "" && w.o.Reasoning != "" {
		w.str(w.o.Reasoning, m.Reasoning)
	}
	if len(m.Calls) > 0 {
		w.calls(m.Calls)
	}
	w.extras(m.Opaque)
	w.b = append(w.b, '}')
	return nil
}

// content writes a message's content: a string where it is all text, a list of parts else.
func (w *requestWriter) content(m *chat.Message) *chat.Error {
	parts := m.Parts
	if i := slices.IndexFunc(parts, w.leavesOut); i >= 0 && m.Role != chat.RoleAssistant {
		err := chat.Errorf(chat.ErrBadRequest,
			"content of the type %q is not passed on to this server, unless the backend's forward lists it",
			parts[i].Name)
		err.Param, err.Status = fmt.Sprintf("content[%d]", i), 400
		return err
	}
	if slices.ContainsFunc(parts, w.leavesOut) {
		parts = slices.DeleteFunc(slices.Clone(parts), w.leavesOut)
	}
	if m.Role != chat.RoleTool && slices.ContainsFunc(parts, isMedia) {
		w.key("content")
		return w.parts(parts)
	}
	text := m.Text()
	if slices.ContainsFunc(parts, isMedia) {
		text = resultText(parts)
	}
	if text == "" && len(m.Calls) > 0 {
		switch w.o.EmptyContent {
		case contentNull:
			w.key("content")
			w.b = append(w.b, "null"...)
			return nil
		case contentAbsent:
			return nil
		}
	}
	w.str("content", text)
	return nil
}

// isMedia reports whether a part is no text.
func isMedia(p chat.Part) bool { return p.Kind != chat.PartText }

// resultText returns the text of a result, in which what is shown behind it has its place.
func resultText(parts []chat.Part) string {
	var lines []string
	for i := range parts {
		if p := &parts[i]; isMedia(*p) {
			lines = append(lines, "[see the next message: "+p.Describe()+"]")
		} else {
			lines = append(lines, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// shown writes a message of the user with what results hold beside text, behind the last of results that stand
// together: the protocol takes nothing but text in a result.
func (w *requestWriter) shown(messages []chat.Message, i int) *chat.Error {
	if messages[i].Role != chat.RoleTool || i+1 < len(messages) && messages[i+1].Role == chat.RoleTool {
		return nil
	}
	first := i
	for first > 0 && messages[first-1].Role == chat.RoleTool {
		first--
	}
	var media []chat.Part
	for _, m := range messages[first : i+1] {
		for _, p := range m.Parts {
			if isMedia(p) && !w.leavesOut(p) {
				media = append(media, p)
			}
		}
	}
	if media == nil {
		return nil
	}
	w.b = append(w.b, `,{"role":"user","content":`...)
	if err := w.parts(append(chat.Text("From the results above:"), media...)); err != nil {
		return err
	}
	w.b = append(w.b, '}')
	return nil
}

// leavesOut reports whether a part is one that the server does not understand. In what a model wrote earlier, which
// may hold the thinking of another server, nothing is lost by leaving it out; what a client says must not be lost
// without a word.
func (w *requestWriter) leavesOut(p chat.Part) bool {
	return p.Kind == chat.PartOpaque && !(p.Protocol == chat.ProtocolOpenAI && slices.Contains(w.o.Forward, p.Name))
}

func (w *requestWriter) parts(parts []chat.Part) *chat.Error {
	w.b = append(w.b, '[')
	for i := range parts {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if err := w.part(&parts[i]); err != nil {
			err.Param = fmt.Sprintf("content[%d]", i)
			return err
		}
	}
	w.b = append(w.b, ']')
	return nil
}

func (w *requestWriter) part(p *chat.Part) *chat.Error {
	switch p.Kind {
	case chat.PartText:
		w.b = append(w.b, `{"type":"text","text":`...)
		w.b = shape.AppendQuoted(w.b, p.Text)
	case chat.PartImage:
		w.b = append(w.b, `{"type":"image_url","image_url":{"url":`...)
		w.b = shape.AppendQuoted(w.b, jsonbody.Location(p, "image/png"))
		if p.Detail != "" {
			w.str("detail", p.Detail)
		}
		w.b = append(w.b, '}')
	case chat.PartAudio:
		if p.Data == nil {
			return chat.Errorf(chat.ErrBadRequest, "this protocol takes audio only as data, not by address")
		}
		w.b = append(w.b, `{"type":"input_audio","input_audio":{"data":"`...)
		w.b = base64.StdEncoding.AppendEncode(w.b, p.Data)
		w.b = append(w.b, '"')
		w.str("format", strings.TrimPrefix(p.MediaType, "audio/"))
		w.b = append(w.b, '}')
	case chat.PartFile:
		w.b = append(w.b, `{"type":"file","file":{"file_data":`...)
		w.b = shape.AppendQuoted(w.b, jsonbody.Location(p, "application/octet-stream"))
		if p.Name != "" {
			w.str("filename", p.Name)
		}
		w.b = append(w.b, '}')
	case chat.PartOpaque:
		w.b = append(w.b, p.Raw...)
		return nil
	}
	w.b = append(w.b, '}')
	return nil
}

func (w *requestWriter) calls(calls []chat.Call) {
	w.key("tool_calls")
	w.b = append(w.b, '[')
	for i := range calls {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, `{"id":`...)
		w.b = shape.AppendQuoted(w.b, w.callID(calls[i].ID))
		w.b = appendCall(w.b, &calls[i], w.free)
	}
	w.b = append(w.b, ']')
}

// tools writes the tools and the choice among them. Tools that the server itself is to run are sent to one that is
// known to.
func (w *requestWriter) tools(req *chat.Request) error {
	at, n, callable := len(w.b), 0, 0
	c := req.Choice
	var gone []string
	allows := c.Allows()
	w.key("tools")
	w.b = append(w.b, '[')
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Hosted != chat.HostedNot && !slices.Contains(w.o.Forward, t.Name) {
			gone = append(gone, t.Name)
			continue
		}
		if c.Mode == chat.ChoiceNamed && c.Name == t.Name ||
			c.Mode != chat.ChoiceNamed && allows(t.Name) {
			callable++
		}
		if n++; n > 1 {
			w.b = append(w.b, ',')
		}
		if t.Hosted != chat.HostedNot {
			w.b = append(w.b, t.Raw...)
			continue
		}
		if w.free[t.Name] {
			w.b = freeform.AppendTool(w.b, t, chat.ProtocolOpenAI)
			continue
		}
		w.b = append(w.b, `{"type":"function","function":{"name":`...)
		w.b = shape.AppendQuoted(w.b, t.Name)
		if t.Description != "" {
			w.str("description", t.Description)
		}
		w.key("parameters")
		w.b = append(w.b, jsonbody.ObjectSchema(t.Parameters)...)
		w.boolean("strict", t.Strict)
		w.b = append(w.b, "}}"...)
	}
	if callable == 0 && len(gone) > 0 && (c.Mode == chat.ChoiceNamed || c.Mode == chat.ChoiceRequired) {
		return &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Param: "tool_choice", Message: fmt.Sprintf(
			"tool_choice: a call of %q is required, which the server is not sent unless the backend's forward "+
				"lists it", strings.Join(gone, ", "))}
	}
	if n == 0 {
		w.b = w.b[:at]
		return nil
	}
	w.b = append(w.b, ']')
	if len(c.Allowed) > 0 && len(gone) > 0 {
		left := chat.Choice{Allowed: gone}
		c.Allowed = slices.DeleteFunc(slices.Clone(c.Allowed), left.Allows())
		if len(c.Allowed) == 0 {
			c.Mode = chat.ChoiceNone
		}
	}
	w.choice(&c)
	w.boolean("parallel_tool_calls", req.Parallel)
	return nil
}

func (w *requestWriter) choice(c *chat.Choice) {
	switch {
	case c.Mode == chat.ChoiceNamed:
		w.key("tool_choice")
		w.named(c.Name)
	case len(c.Allowed) > 0 && c.Mode != chat.ChoiceNone:
		w.key("tool_choice")
		w.b = append(w.b, `{"type":"allowed_tools","allowed_tools":{"mode":"`...)
		w.b = append(w.b, c.Mode.String()...)
		w.b = append(w.b, `","tools":[`...)
		for i, name := range c.Allowed {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.named(name)
		}
		w.b = append(w.b, "]}}"...)
	default: // auto too: some servers drop tools for which it is not said
		w.str("tool_choice", c.Mode.String())
	}
}

func (w *requestWriter) named(name string) {
	head := `{"type":"function","function":{"name":`
	if w.free[name] {
		head = `{"type":"custom","custom":{"name":`
	}
	w.b = append(w.b, head...)
	w.b = shape.AppendQuoted(w.b, name)
	w.b = append(w.b, "}}"...)
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

// settings writes what governs the answer.
func (w *requestWriter) settings(req *chat.Request) {
	if req.MaxTokens > 0 {
		if req.Prompt == "" && (w.o.MaxCompletionTokens || req.MaxCompletion) {
			w.key("max_completion_tokens")
		} else {
			w.key("max_tokens")
		}
		w.b = strconv.AppendInt(w.b, int64(req.MaxTokens), 10)
	}
	w.float("temperature", req.Temperature)
	w.float("top_p", req.TopP)
	if req.Seed != nil {
		w.key("seed")
		w.b = strconv.AppendInt(w.b, *req.Seed, 10)
	}
	if len(req.Stop) > 0 {
		w.key("stop")
		for i, s := range req.Stop {
			w.b = append(w.b, "[,"[min(i, 1)])
			w.b = shape.AppendQuoted(w.b, s)
		}
		w.b = append(w.b, ']')
	}
	if req.Format != nil {
		w.format(req.Format)
	}
	if req.Prompt == "" { // a completion has other log probabilities, and its prompt says how to reason
		w.answered(req)
	}
	if req.User != "" {
		w.str("user", req.User)
	}
	if w.o.Stream {
		w.b = append(w.b, `,"stream":true`...)
		if w.o.Usage {
			w.b = append(w.b, `,"stream_options":{"include_usage":true}`...)
		}
	}
}

// answered writes what a conversation can ask of its answer besides.
func (w *requestWriter) answered(req *chat.Request) {
	if req.Effort != "" {
		w.str("reasoning_effort", req.Effort)
	}
	if req.LogProbs {
		w.b = append(w.b, `,"logprobs":true`...)
		if req.TopLogProbs > 0 {
			w.key("top_logprobs")
			w.b = strconv.AppendInt(w.b, int64(req.TopLogProbs), 10)
		}
	}
}

func (w *requestWriter) format(f *chat.Format) {
	switch f.Kind {
	case chat.FormatText:
		w.b = append(w.b, `,"response_format":{"type":"text"}`...)
	case chat.FormatJSON:
		w.b = append(w.b, `,"response_format":{"type":"json_object"`...)
		if len(f.Schema) > 0 {
			w.key("schema")
			w.b = append(w.b, f.Schema...)
		}
		w.b = append(w.b, '}')
	case chat.FormatSchema:
		w.formatSchema(f)
	case chat.FormatGrammar:
		if w.o.Constrain == ConstrainLlamaCPP {
			w.str("grammar", f.Grammar)
			return
		}
		w.key("response_format")
		w.b = append(w.b, f.Grammar...)
	}
}

func (w *requestWriter) formatSchema(f *chat.Format) {
	switch {
	case len(f.Schema) == 0 || w.o.Constrain == constrainFormat:
	case w.o.Constrain == ConstrainVLLM:
		w.b = append(w.b, `,"structured_outputs":{"json":`...)
		w.b = append(append(w.b, f.Schema...), '}')
		return
	case w.o.Constrain == ConstrainLlamaCPP:
		w.key("json_schema")
		w.b = append(w.b, f.Schema...)
		return
	}
	name := f.Name
	if name == "" {
		name = "answer" // the protocol wants one
	}
	w.b = append(w.b, `,"response_format":{"type":"json_schema","json_schema":{"name":`...)
	w.b = shape.AppendQuoted(w.b, name)
	if f.Description != "" {
		w.str("description", f.Description)
	}
	if len(f.Schema) > 0 {
		w.key("schema")
		w.b = append(w.b, f.Schema...)
	}
	w.boolean("strict", f.Strict)
	w.b = append(w.b, "}}"...)
}

// written are the keys that AppendRequest may write itself and that an Extra must not repeat.
var written = []string{"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
	"max_completion_tokens", "temperature", "top_p", "seed", "stop", "response_format", "structured_outputs",
	"json_schema", "grammar", "reasoning_effort", "logprobs", "top_logprobs", "user", "stream",
	"stream_options", keyLegacy, "role", "content", "name", "tool_calls", "tool_call_id"}

func (w *requestWriter) extras(extras []chat.Extra) {
	for _, x := range extras {
		if x.Protocol == chat.ProtocolOpenAI && slices.Contains(w.o.Forward, x.Key) &&
			!slices.Contains(written, x.Key) && json.Valid(x.Value) {
			w.b = append(w.b, ',')
			w.b = shape.AppendQuoted(w.b, x.Key)
			w.b = append(w.b, ':')
			w.b = append(w.b, x.Value...)
		}
	}
}

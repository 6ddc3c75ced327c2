package lumo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// The native tools. The first is always on, the others only together.
const nativeInfo = "proton_info"

// webSearch returns the native tools that look things up outside.
func webSearch() []string { return []string{"web_search", "weather", "stock", "cryptocurrency"} }

// ExtraTools is the key of a chat.Extra of this protocol that holds a list of names: the native tools of one
// request, in the place of those of requestOptions.
const ExtraTools = "native_tools"

// requestOptions adapt a request to the server that it is for.
type requestOptions struct {
	Version int      // of the protocol, 1 or 2; 0: 2
	Model   string   // name of the model there; empty: the request's. The first version has none
	Tools   []string // native tools that are on
	Title   bool     // version 1: a title is wanted beside the message; version 2: a title is all that is wanted
}

// appendRequest appends the body of a request. It fails with a *chat.Error if req holds something that the
// protocol cannot say: images, and tools of the client's own, which has the code chat.CodeToolsUnsupported.
func appendRequest(dst []byte, req *chat.Request, o requestOptions) ([]byte, error) {
	if len(req.Tools) > 0 && req.Choice.Mode != chat.ChoiceNone {
		return dst, &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Param: "tools", Code: chat.CodeToolsUnsupported,
			Message: "Lumo does not support tools of others: they have to be described in the text (mode text)"}
	}
	for _, x := range req.Extra {
		if x.Protocol == chat.ProtocolLumo && x.Key == ExtraTools {
			o.Tools = nil
			if err := json.Unmarshal(x.Value, &o.Tools); err != nil {
				return dst, chat.Errorf(chat.ErrBadRequest, "%s: %w", ExtraTools, err)
			}
		}
	}
	w := requestWriter{b: dst, req: req, o: &o}
	if o.Version == 1 {
		return w.first()
	}
	return w.second()
}

type requestWriter struct {
	b   []byte
	req *chat.Request
	o   *requestOptions
}

// first writes the first version.
func (w *requestWriter) first() ([]byte, error) {
	w.b = append(w.b, `{"Prompt":{"type":"generation_request","turns":[`...)
	if err := w.messages(map[string]string{"tool_call": "tool_call", "tool": "tool_result"}); err != nil {
		return nil, err
	}
	w.b = append(w.b, `],"options":{"tools":[`...)
	for i, name := range w.o.Tools {
		w.comma(i)
		w.b = shape.AppendQuoted(w.b, name)
	}
	w.b = append(w.b, `]},"targets":["message"`...)
	if w.o.Title {
		w.b = append(w.b, `,"title"`...)
	}
	return append(w.b, "]}}"...), nil
}

// second writes the second version.
func (w *requestWriter) second() ([]byte, error) {
	w.b = shape.AppendQuoted(append(w.b, `{"model":`...), w.model())
	w.b = append(w.b, `,"messages":[`...)
	if err := w.messages(map[string]string{"tool_call": "lumo_tool_call", "tool": "tool"}); err != nil {
		return nil, err
	}
	w.b = append(w.b, `],"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":`...)
	w.b = shape.AppendQuoted(w.b, w.effort())
	if w.o.Title {
		return append(w.b, `,"lumo":{"client_type":"frontend","target":"title"}}`...), nil
	}
	w.b = append(w.b, `,"lumo":{"client_type":"frontend","target":"message"},"tools":[`...)
	for i, name := range w.o.Tools {
		w.comma(i)
		w.b = append(shape.AppendQuoted(append(w.b, `{"name":`...), name), '}')
	}
	return append(w.b, `],"tool_choice":"auto"}`...), nil
}

func (w *requestWriter) comma(i int) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
}

// model returns the model's name as Lumo knows it.
func (w *requestWriter) model() string {
	name := w.o.Model
	if name == "" {
		name = w.req.Model
	}
	return PlainModel(name)
}

// PlainModel returns the name of one of Lumo's models without the name of its provider, in small letters, as
// Lumo has it. Another name is returned as it is.
func PlainModel(name string) string {
	plain := strings.TrimPrefix(strings.ToLower(name), "proton/")
	if plain == "lumo" || strings.HasPrefix(plain, "lumo-") {
		return plain
	}
	return strings.TrimPrefix(name, "proton/")
}

// effort returns one of the two efforts that there are.
func (w *requestWriter) effort() string {
	if slices.Contains([]string{"medium", "high", "xhigh", "max"}, w.req.Effort) {
		return "high"
	}
	return "none"
}

// messages writes the conversation. Each call and each result is a message of its own, under the role that
// the version has for it.
func (w *requestWriter) messages(roles map[string]string) *chat.Error {
	n := 0
	add := func(role, text string) {
		w.comma(n)
		n++
		w.b = shape.AppendQuoted(append(w.b, `{"role":`...), role)
		w.b = append(shape.AppendQuoted(append(w.b, `,"content":`...), text), '}')
	}
	for i := range w.req.Messages {
		m := &w.req.Messages[i]
		for j := range m.Parts {
			if k := m.Parts[j].Kind; k != chat.PartText && (k != chat.PartOpaque || m.Role != chat.RoleAssistant) {
				return &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Code: jsonbody.CodeUnsupported,
					Param: fmt.Sprintf("messages[%d].content[%d]", i, j), Message: "Lumo is sent text and nothing else"}
			}
		}
		role := string(m.Role)
		switch {
		case m.Role == chat.RoleDeveloper:
			role = string(chat.RoleSystem)
		case m.Role == chat.RoleTool:
			role = roles["tool"]
		}
		if text := m.Text(); text != "" || len(m.Calls) == 0 {
			add(role, text)
		}
		for j := range m.Calls {
			add(roles["tool_call"], string(appendCall(nil, &m.Calls[j])))
		}
	}
	return nil
}

// appendCall appends a call in Lumo's notation.
func appendCall(dst []byte, c *chat.Call) []byte {
	dst = shape.AppendQuoted(append(dst, `{"name":`...), c.Name)
	dst = append(dst, `,"parameters":`...)
	switch args := strings.TrimSpace(c.Arguments); {
	case args == "":
		dst = append(dst, "{}"...)
	case json.Valid([]byte(args)):
		dst = append(dst, args...)
	default:
		dst = shape.AppendQuoted(dst, args)
	}
	return append(dst, '}')
}

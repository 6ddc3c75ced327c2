package scriptserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
	"wield/internal/script"
	wire "wield/wire/responses"
)

// incoming is a request as far as a scenario can look at it.
type incoming struct {
	req    *chat.Request
	stream bool
	usage  bool   // usage in a stream is asked for
	lumoV2 bool   // the second version of Lumo's protocol
	title  bool   // Lumo: only a title is asked for
	id     string // for the answer

	response *wire.Request // of the Responses protocol
}

// body is the union of the request bodies of all protocols. What a scenario cannot ask for is left out.
type body struct {
	Model         string          `json:"model"`
	Messages      []wireMessage   `json:"messages"`
	System        json.RawMessage `json:"system"`
	Tools         []wireTool      `json:"tools"`
	Stream        *bool           `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Temperature *float64 `json:"temperature"`
	Options     struct {
		Temperature *float64 `json:"temperature"`
	} `json:"options"`
	User   string `json:"user"`
	Prompt *struct {
		Turns []wireMessage `json:"turns"`
	} `json:"Prompt"`
	Lumo *struct {
		Target string `json:"target"`
	} `json:"lumo"`
}

type wireMessage struct {
	Role       string          `json:"role"`
	Name       string          `json:"name"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []wireCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	ToolName   string          `json:"tool_name"`
}

type wireCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type wireTool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"input_schema"`
	Function    *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// block is a part of a message's content.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// decode reads a request of a protocol.
func decode(data []byte, speaks script.Speaks) (*incoming, error) {
	var b body
	if speaks == script.SpeaksRaw && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return &incoming{
			req: &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(string(data))}}}}, nil
	}
	if speaks == script.SpeaksResponses {
		req, err := wire.DecodeRequest(data)
		if err != nil {
			return nil, err
		}
		return &incoming{req: &req.Request, stream: req.Stream, response: req}, nil
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("the body is not a request: %w", err)
	}
	in := &incoming{req: &chat.Request{Model: b.Model, Temperature: b.Temperature, User: b.User},
		usage: b.StreamOptions.IncludeUsage}
	in.stream = b.Stream != nil && *b.Stream
	switch speaks {
	case script.SpeaksOllama:
		in.stream = b.Stream == nil || *b.Stream
		if b.Options.Temperature != nil {
			in.req.Temperature = b.Options.Temperature
		}
	case script.SpeaksLumo:
		in.stream, in.lumoV2 = true, b.Prompt == nil
		in.title = b.Lumo != nil && b.Lumo.Target == "title"
		if b.Prompt != nil {
			b.Messages = b.Prompt.Turns
		}
	}
	in.req.Stream = in.stream
	if text := contentText(b.System); text != "" {
		in.req.Messages = append(in.req.Messages, chat.Message{Role: chat.RoleSystem, Parts: chat.Text(text)})
	}
	for i := range b.Messages {
		in.req.Messages = append(in.req.Messages, b.Messages[i].messages()...)
	}
	if len(b.Messages) == 0 && speaks != script.SpeaksRaw {
		return nil, fmt.Errorf("the request has no messages")
	}
	for _, t := range b.Tools {
		switch {
		case t.Function != nil:
			in.req.Tools = append(in.req.Tools, chat.Tool{Name: t.Function.Name, Description: t.Function.Description,
				Parameters: t.Function.Parameters})
		case t.Name != "" && speaks != script.SpeaksLumo: // Lumo's tools are its own
			in.req.Tools = append(in.req.Tools, chat.Tool{Name: t.Name, Parameters: t.InputSchema})
		}
	}
	return in, nil
}

// messages turns a message into the vocabulary's. One with results of several calls becomes several.
func (w *wireMessage) messages() []chat.Message {
	m := chat.Message{Role: chat.Role(strings.ToLower(w.Role)), Name: w.Name, CallID: w.ToolCallID}
	switch m.Role {
	case "tool_result", "function":
		m.Role = chat.RoleTool
	case "tool_call", "lumo_tool_call":
		m.Role = chat.RoleAssistant
	}
	if w.ToolName != "" {
		m.Name = w.ToolName
	}
	for _, c := range w.ToolCalls {
		args := string(c.Function.Arguments)
		var text string
		if json.Unmarshal(c.Function.Arguments, &text) == nil {
			args = text
		}
		m.Calls = append(m.Calls, chat.Call{Index: len(m.Calls), ID: c.ID, Name: c.Function.Name, Arguments: args,
			Complete: true, Origin: chat.OriginFunction})
	}
	var blocks []block
	if json.Unmarshal(w.Content, &blocks) != nil {
		m.Parts = chat.Text(contentText(w.Content))
		return []chat.Message{m}
	}
	var results []chat.Message
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			m.Calls = append(m.Calls, chat.Call{Index: len(m.Calls), ID: b.ID, Name: b.Name,
				Arguments: string(b.Input), Complete: true, Origin: chat.OriginFunction})
		case "tool_result":
			results = append(results, chat.Message{Role: chat.RoleTool, CallID: b.ToolUseID, IsError: b.IsError,
				Parts: chat.Text(contentText(b.Content))})
		case "text", "input_text", "output_text":
			m.Parts = append(m.Parts, chat.Part{Kind: chat.PartText, Text: b.Text})
		}
	}
	if len(results) > 0 && len(m.Parts) == 0 {
		return results
	}
	return append(results, m)
}

// contentText returns the text of a content that is a string or a list of blocks.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	var list []string
	for _, b := range blocks {
		if b.Text != "" {
			list = append(list, b.Text)
		}
	}
	return strings.Join(list, "\n")
}

package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/wire/openai"
)

// A passiveAnswer collects an answer of a passive model and says it in that protocol: as the OpenAI protocol does, but
// with a call beside an empty message. It is the collector of an exchange that does not stream.
type passiveAnswer struct {
	id, model, conversation string
	created                 int64

	text   strings.Builder
	call   *chat.Call
	usage  *chat.Usage
	reason chat.FinishReason
}

type passiveBody struct {
	ID           string          `json:"id"`
	Object       string          `json:"object"`
	Created      int64           `json:"created"`
	Model        string          `json:"model"`
	Choices      []passiveChoice `json:"choices"`
	ToolRequest  *toolRequest    `json:"tool_request,omitempty"`
	Conversation string          `json:"conversation_id"`
	Usage        *passiveUsage   `json:"usage,omitempty"`
}

type passiveChoice struct {
	Index    int          `json:"index"`
	Message  *passiveText `json:"message,omitempty"`
	Delta    *passiveText `json:"delta,omitempty"`
	LogProbs *struct{}    `json:"logprobs"`
	Reason   *string      `json:"finish_reason"`
}

type passiveText struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type passiveUsage struct {
	In    int `json:"prompt_tokens"`
	Out   int `json:"completion_tokens"`
	Total int `json:"total_tokens"`
}

// Add takes in one event.
func (a *passiveAnswer) Add(e chat.Event) { a.take(e) }

// take takes in one event and returns the text that it shows.
func (a *passiveAnswer) take(e chat.Event) (shown string) {
	switch e.Kind {
	case chat.KindText:
		shown = e.Text
	case chat.KindRejected:
		if e.Flags&chat.FlagSpent != 0 {
			shown = e.Detail.(*chat.RejectedDetail).Raw
		}
	case chat.KindCallEnd:
		if a.call == nil && e.Detail.(*chat.Call).Complete {
			// a request is the whole message, so that there is only one
			a.call = e.Detail.(*chat.Call)
		}
	case chat.KindUsage:
		a.usage = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		a.reason = e.Detail.(*chat.Finish).Reason
	}
	a.text.WriteString(shown)
	return shown
}

// Append appends the whole body.
func (a *passiveAnswer) Append(dst []byte) []byte {
	content := a.text.String()
	if a.call != nil {
		content = ""
	}
	b := a.body("chat.completion", passiveChoice{Message: &passiveText{Role: "assistant", Content: &content},
		Reason: a.finish()})
	b.ToolRequest, b.Usage = a.request(), a.tokens()
	return appendJSON(dst, b)
}

func (a *passiveAnswer) body(object string, c passiveChoice) *passiveBody {
	return &passiveBody{ID: a.id, Object: object, Created: a.created, Model: a.model, Choices: []passiveChoice{c},
		Conversation: a.conversation}
}

// finish is the reason that the client is told. That there is a call is none of the protocol's reasons.
func (a *passiveAnswer) finish() *string {
	reason := string(a.reason)
	if a.call != nil || a.reason == "" || a.reason == chat.FinishCalls || a.reason == chat.FinishPause {
		reason = string(chat.FinishStop)
	}
	return &reason
}

func (a *passiveAnswer) request() *toolRequest {
	if a.call == nil {
		return nil
	}
	return &toolRequest{Name: a.call.Name, Arguments: json.RawMessage(a.call.Arguments)}
}

func (a *passiveAnswer) tokens() *passiveUsage {
	if a.usage == nil || !a.usage.Known {
		return nil
	}
	return &passiveUsage{In: a.usage.In, Out: a.usage.Out, Total: a.usage.In + a.usage.Out}
}

// message is the answer as the conversation remembers it.
func (a *passiveAnswer) message() chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	if a.call != nil {
		m.Calls = []chat.Call{*a.call}
	} else {
		m.Parts = chat.Text(a.text.String())
	}
	return m
}

// A passiveStream says a passive model's answer in chunks. The tool_request stands in the last one. It is the framer of
// an exchange that streams.
type passiveStream struct {
	answer *passiveAnswer
	begun  bool
}

// Append appends the frames that e makes.
func (s *passiveStream) Append(dst []byte, e chat.Event) []byte {
	a := s.answer
	shown := a.take(e)
	if shown != "" || e.Kind == chat.KindFinish && !s.begun {
		delta := &passiveText{Content: &shown}
		if !s.begun {
			delta.Role = "assistant"
		}
		s.begun = true
		dst = appendFrame(dst, a.body("chat.completion.chunk", passiveChoice{Delta: delta}))
	}
	if e.Kind == chat.KindFinish {
		last := a.body("chat.completion.chunk", passiveChoice{Delta: &passiveText{}, Reason: a.finish()})
		last.ToolRequest, last.Usage = a.request(), a.tokens()
		dst = append(appendFrame(dst, last), "data: [DONE]\n\n"...)
	}
	return dst
}

// AppendError appends the frame that ends a stream which failed.
func (s *passiveStream) AppendError(dst []byte, e *chat.Error) []byte {
	dst = append(dst, "data: "...)
	dst = openai.AppendError(dst, e)
	return append(dst, "\n\n"...)
}

func appendFrame(dst []byte, b *passiveBody) []byte {
	dst = append(dst, "data: "...)
	dst = appendJSON(dst, b)
	return append(dst, "\n\n"...)
}

// appendJSON appends b without the escapes that encoding/json adds for the sake of HTML.
func appendJSON(dst []byte, b *passiveBody) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		panic(err) // only arguments that are no JSON can be to blame, and a complete call has none such
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

var (
	_ collector = (*passiveAnswer)(nil)
	_ framer    = (*passiveStream)(nil)
)

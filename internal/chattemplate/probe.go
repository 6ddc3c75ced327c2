package chattemplate

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/schema/shape"
)

// A template renders a conversation, in the words of the chat completions protocol.
type conversation struct {
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
	Generate bool      `json:"add_generation_prompt"`
	BOS      string    `json:"bos_token"`
	EOS      string    `json:"eos_token"`
}

type message struct {
	Role    string     `json:"role"`
	Content string     `json:"content"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
	Name    string     `json:"name,omitempty"`

	Reasoning string `json:"reasoning_content,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// What the conversations say. Each word is one that no template has.
const (
	asked    = "Zqask, what is it like there?"
	asked2   = "Zqmore, and tomorrow?"
	spoken   = "Zqspoken: a moment."
	spoken2  = "Zqagain: one more."
	ordered  = "Zqorder: be brief."
	resulted = `{"zqresult": 21}`
	toolName = "zq_forecast"
	city     = "Zqghent"
	callID   = "zqcall001" // nine letters and digits, as Mistral's templates want them
)

var (
	callArguments = json.RawMessage(`{"city":"` + city + `","days":3}`)
	tools         = []tool{{"function", function{Name: toolName, Description: "Says how the weather will be.",
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"city":{"type":"string","description":"Where."},"days":{"type":"integer","description":"How many."}},"required":["city"]}`)}}}

	user      = message{Role: "user", Content: asked}
	user2     = message{Role: "user", Content: asked2}
	assistant = message{Role: "assistant", Content: spoken}
	again     = message{Role: "assistant", Content: spoken2}
	system    = message{Role: "system", Content: ordered}
	result    = message{Role: "tool", Content: resulted, CallID: callID, Name: toolName}

	// anyDay is the day on which templates are rendered, so that what is found does not depend on it.
	anyDay = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

	// shapes are the tools as the decoder takes them.
	shapes = []shape.Tool{{Name: toolName, Args: &shape.Shape{Types: shape.Object, Props: []shape.Prop{
		{Name: "city", Required: true, Shape: &shape.Shape{Types: shape.String}},
		{Name: "days", Shape: &shape.Shape{Types: shape.Integer}}}}}}
)

func called(args json.RawMessage) message {
	return message{Role: "assistant",
		Calls: []toolCall{{callID, "function", function{Name: toolName, Arguments: args}}}}
}

// quoted returns arguments as a text, which some templates want them to be.
func quoted(args json.RawMessage) json.RawMessage {
	return json.RawMessage(strconv.Quote(string(args)))
}

// rules tries the sequences of messages one by one. What a template refuses, or leaves out, it does not take.
func (t *Template) rules() (r chat.Rules) {
	r.NoSystem = !t.takes(nil, system, user)
	r.SystemFirst = !r.NoSystem && !t.takes(nil, user, assistant, system, user2)
	r.UserFirst = !t.takes(nil, assistant, user)
	r.NeedsUser = !r.NoSystem && !t.takes(nil, system)
	r.Alternate = !t.takes(nil, user, user2) || !t.takes(nil, user, assistant, again, user2)
	r.NoTools = !t.takes(tools, user)
	r.NoCalls = !t.takesCall(false)
	r.NoTool = !t.takesCall(true)
	return r
}

// takes reports whether a conversation is rendered, with all of its words and tools.
func (t *Template) takes(tools []tool, messages ...message) bool {
	text, err := t.render(conversation{Messages: messages, Tools: tools, Generate: true}, anyDay)
	if err != nil {
		return false
	}
	for _, m := range messages {
		if word, _, _ := strings.Cut(m.Content, " "); !strings.Contains(text, word) {
			return false
		}
	}
	return tools == nil || strings.Contains(text, toolName)
}

// takesCall reports whether a call in the conversation is rendered, or the result behind it.
func (t *Template) takesCall(withResult bool) bool {
	for _, args := range []json.RawMessage{callArguments, quoted(callArguments)} {
		for _, offered := range [][]tool{tools, nil} {
			c := conversation{Messages: []message{user, called(args)}, Tools: offered, Generate: true}
			word := city
			if withResult {
				c.Messages, word = append(c.Messages, result), "zqresult"
			}
			if text, err := t.render(c, anyDay); err == nil && strings.Contains(text, word) {
				return true
			}
			if withResult { // a template that knows results but no calls
				c.Messages = []message{user, assistant, result}
				if text, err := t.render(c, anyDay); err == nil && strings.Contains(text, word) {
					return true
				}
			}
		}
	}
	return false
}

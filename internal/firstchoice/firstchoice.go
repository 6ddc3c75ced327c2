// Package firstchoice lets a model choose first whether it answers in words or calls a tool, and which. Small models
// that are shown tools seldom call one by themselves; asked for nothing but the choice, and held to it, they do. Then
// the model answers without tools, or has to call the one that it chose.
package firstchoice

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"wield/chat"
)

// New returns a model that asks m to choose first. A request that leaves no choice, since it offers no tools, names
// one, or requires or forbids calls, is asked as it is.
func New(m chat.Model) chat.Model { return model{m} }

type model struct{ next chat.Model }

// Sent returns what the model behind it would send once it has chosen, if it were left to call any tool; nil if that
// does not tell.
func (m model) Sent(req *chat.Request) (sent *chat.Request, inText bool, err error) {
	if behind, ok := m.next.(chat.Previewer); ok {
		return behind.Sent(req)
	}
	return nil, false, nil
}

// Stream implements chat.Model. The choice is a turn of its own, of which the client sees no text.
func (m model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	tools := chosenFrom(req)
	if len(tools) == 0 {
		return m.next.Stream(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) {
		c := choice{tools: tools}
		for e, err := range m.next.Stream(ctx, c.question(req)) {
			if err != nil {
				yield(e, err)
				return
			}
			if c.take(&e) && !yield(e, nil) {
				return
			}
		}
		for e, err := range m.next.Stream(ctx, c.decided(req)) {
			if err == nil {
				c.behind(&e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// chosenFrom returns the tools that the model may choose; none if the request leaves no choice.
func chosenFrom(req *chat.Request) []chat.Tool {
	if req.Choice.Mode != chat.ChoiceAuto || req.Format != nil {
		return nil
	}
	var tools []chat.Tool
	allows := req.Choice.Allows()
	for _, t := range req.Tools {
		switch {
		case t.Hosted != chat.HostedNot:
			return nil // which its server decides about
		case allows(t.Name):
			tools = append(tools, t)
		}
	}
	return tools
}

// A choice is that of one request.
type choice struct {
	tools []chat.Tool
	none  string // stands for an answer in words
	text  strings.Builder
	usage chat.Usage
	turns int
}

// maxDescription limits a tool's description: the choice is to cost little.
const maxDescription = 200

// around limits the tokens around the name in the choice.
const around = 24

// question returns the request that asks for the choice alone.
func (c *choice) question(req *chat.Request) *chat.Request {
	c.none = "none"
	for slices.ContainsFunc(c.tools, func(t chat.Tool) bool { return t.Name == c.none }) {
		c.none += "_"
	}
	var b strings.Builder
	b.WriteString("Decide which tool the last message needs. The tools:\n")
	names, longest := []string{}, 0
	for i := range c.tools {
		t := &c.tools[i]
		names, longest = append(names, t.Name), max(longest, len(t.Name))
		fmt.Fprintf(&b, "- %s: %s\n", t.Name, clip(t.Description))
	}
	fmt.Fprintf(&b, "- %s: no tool fits; answer in words\nRespond with JSON: {\"tool\": \"NAME\"}", c.none)
	out := *req
	asked := chat.Message{Role: chat.RoleSystem, Parts: chat.Text(b.String())}
	out.Messages = append([]chat.Message{asked}, instructed(req.Messages)...)
	out.Choice, out.Parallel, out.Stream = chat.Choice{Mode: chat.ChoiceNone}, nil, false
	out.MaxTokens, out.MaxCompletion = around+longest, false
	out.Temperature, out.TopP, out.Stop = new(float64), nil, nil
	out.LogProbs, out.TopLogProbs = false, 0
	out.Format = &chat.Format{Kind: chat.FormatSchema, Name: "tool_choice", Schema: schemaOf(append(names, c.none))}
	return &out
}

// instructed returns messages without the client's instructions, which say how to answer.
func instructed(messages []chat.Message) []chat.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m chat.Message) bool {
		return m.Role == chat.RoleSystem || m.Role == chat.RoleDeveloper
	})
}

// clip returns the beginning of a description, on one line.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxDescription {
		s = strings.ToValidUTF8(s[:maxDescription], "") + ".."
	}
	return s
}

// schemaOf returns the schema of the choice between names.
func schemaOf(names []string) json.RawMessage {
	list, _ := json.Marshal(names) // texts can always be written
	return json.RawMessage(`{"type":"object","properties":{"tool":{"type":"string","enum":` + string(list) +
		`}},"required":["tool"],"additionalProperties":false}`)
}

// take takes in an event of the choice. It reports whether it belongs to the record: the client sees none of it.
func (c *choice) take(e *chat.Event) bool {
	c.turns = max(c.turns, e.Turn+1)
	switch e.Kind {
	case chat.KindText:
		c.text.WriteString(e.Text)
		e.Kind, e.Flags, e.Detail = chat.KindMarkup, 0, nil
		return e.At < e.End
	case chat.KindUsage:
		c.usage.Add(*e.Detail.(*chat.Usage))
		return false
	case chat.KindTurnStart, chat.KindTurnEnd, chat.KindRaw, chat.KindMarkup, chat.KindNote, chat.KindIdle:
		return true
	}
	return false
}

// decided returns the request as the model chose. A choice that cannot be read changes nothing.
func (c *choice) decided(req *chat.Request) *chat.Request {
	var answer struct{ Tool string }
	if json.Unmarshal([]byte(strings.TrimSpace(c.text.String())), &answer) != nil {
		return req
	}
	out := *req
	switch {
	case answer.Tool == c.none:
		out.Choice = chat.Choice{Mode: chat.ChoiceNone}
	case slices.ContainsFunc(c.tools, func(t chat.Tool) bool { return t.Name == answer.Tool }):
		out.Choice = chat.Choice{Mode: chat.ChoiceNamed, Name: answer.Tool}
	default:
		return req
	}
	return &out
}

// behind makes an event of the answer one that stands behind the choice.
func (c *choice) behind(e *chat.Event) {
	e.Turn += c.turns
	if u, ok := e.Detail.(*chat.Usage); ok {
		sum := *u
		sum.Add(c.usage)
		e.Detail = &sum
	}
}

package compose

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"wield"
	"wield/chat"
	"wield/internal/gateway"
	"wield/tool"
	"wield/tool/runner"
)

// ParseTool is the name of the tool that reads calls in texts of models.
const ParseTool = "parse_tool_calls"

// A parseInput holds the text to read.
type parseInput struct {
	Text  string      `json:"text" jsonschema:"what a model wrote"`
	Tools []parseTool `json:"tools" jsonschema:"the tools that the model was offered"`
}

type parseTool struct {
	Name       string         `json:"name"`
	Parameters map[string]any `json:"parameters,omitempty" jsonschema:"JSON Schema of its arguments"`
}

// A parseOutput holds what was read.
type parseOutput struct {
	Text      string       `json:"text"`
	Reasoning string       `json:"reasoning,omitempty"`
	Calls     []parsedCall `json:"calls"`
}

type parsedCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// parseCalls is the decoder as a tool.
func parseCalls() *tool.Tool {
	t := tool.Func(ParseTool,
		"Reads the tool calls in a text that a language model wrote, in whatever protocol, and gives back text and "+
			"calls.", func(_ context.Context, in parseInput) (parseOutput, error) {
			out := parseOutput{Calls: []parsedCall{}}
			var offered []chat.Tool
			for _, t := range in.Tools {
				schema, err := json.Marshal(t.Parameters)
				if err != nil {
					return out, err
				}
				offered = append(offered, chat.Tool{Name: t.Name, Parameters: schema})
			}
			read, err := wield.Decode(in.Text, offered...)
			if err != nil {
				return out, err
			}
			out.Text, out.Reasoning = read.Content(), read.Reasoning()
			for _, c := range read.Calls {
				out.Calls = append(out.Calls, parsedCall{c.Name, c.Arguments})
			}
			return out, nil
		})
	t.Facts.ReadOnly = true
	t.Source = "wield"
	return t
}

// askPrefix stands in front of the name of a model that is offered as a tool.
const askPrefix = "ask_"

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// askTool is a model as a tool. What its tools may do is decided by its own policy.
func askTool(m *gateway.Model) *tool.Tool {
	name := askPrefix + strings.Trim(notInToolName.ReplaceAllString(m.Name, "_"), "_")
	type input struct {
		Task string `json:"task" jsonschema:"what is to be done, with all that has to be known for it"`
	}
	t := tool.Stream(name[:min(len(name), 64)],
		"Gives a task to the model "+m.Name+", which may use its own tools, and returns its answer.",
		func(ctx context.Context, c *tool.Call, in input) (string, error) {
			var b strings.Builder
			req := &chat.Request{Model: m.Name, Stream: true, Caller: c.Scope.By,
				Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(in.Task)}}}
			told := time.Now()
			for e, err := range m.Model.Stream(ctx, req) {
				if err != nil {
					return "", err
				}
				if e.Kind != chat.KindText {
					continue
				}
				b.WriteString(e.Text)
				if time.Since(told) > time.Second {
					told = time.Now()
					c.Progress(float64(b.Len()), 0, "writing")
				}
			}
			if b.Len() == 0 {
				return "", errors.New("the model gave no answer")
			}
			return b.String(), nil
		})
	t.Facts.ReadOnly = true
	t.Limits.Timeout = chat.NoLimit // the run has limits of its own
	t.Source = "model " + m.Name
	return t
}

// ownTools are the tools that are offered by MCP alone.
func (w *builder) ownTools(models []gateway.Model) (*runner.Registry, error) {
	own := &runner.Registry{}
	if err := own.Add(parseCalls()); err != nil {
		return nil, err
	}
	for i := range models {
		for _, name := range w.config.MCP.Serve.Agents {
			if models[i].Name == name {
				if err := own.Add(askTool(&models[i])); err != nil {
					return nil, err
				}
			}
		}
	}
	return own, nil
}

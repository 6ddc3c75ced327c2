// Package wield gives any language model working tools: it turns what a model writes, in whatever protocol,
// into validated calls, runs them, and brings the results back.
//
// An agent answers with tools that are Go functions:
//
//	model := openai.New(openai.Options{URL: "http://127.0.0.1:11434/v1", Model: "qwen3"})
//	agent, err := wield.New(model, tool.Func("get_weather", "Tells the weather of a city.", weather))
//	...
//	answer, err := agent.Ask(ctx, "Do I need an umbrella in Oslo?")
//
// A decoder reads the calls of a text:
//
//	answer, err := wield.Decode(text, tools...)
//	for _, call := range answer.Calls {
//		fmt.Println(call.Name, call.Arguments)
//	}
//
// The functions here put together what a first program needs. The parts are packages of their own:
// [wield/chat] is the vocabulary, packages below model are the backends, [wield/bridge] gets calls out of a
// model, [wield/tool] makes tools, [wield/tool/runner] runs them, [wield/agent] is the loop, [wield/dialect] reads
// and writes the protocols. To set their options, compose them as New does.
package wield

import (
	"fmt"
	"slices"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
	"wield/tool"
	"wield/tool/runner"
)

// New returns an agent that answers with the help of tools. The model may be any: where its server has no
// function calling, it is told in words how to write a call. Every call is allowed; tools that ask for an
// approval are denied, since there is nobody to ask. The error says what is wrong with a tool: its name, its
// schema, or that there are two of the same name.
func New(m chat.Model, tools ...*tool.Tool) (*agent.Agent, error) {
	registry := new(runner.Registry)
	if err := registry.Add(tools...); err != nil {
		return nil, err
	}
	return agent.New(bridge.New(m, bridge.Options{}), runner.New(runner.Settings{Tools: registry}), agent.Options{}),
		nil
}

// Decode reads the whole text of an answer: the calls of the tools on offer, and the text beside them.
// Arguments are converted to the types of the tool's schema where that loses nothing, but not checked against
// it; see [schema.Schema.Validate]. The error names a tool whose schema cannot be read, and the place in it.
func Decode(text string, tools ...chat.Tool) (*dialect.Collector, error) {
	o, err := withTools(dialect.Options{}, tools)
	if err != nil {
		return nil, err
	}
	return dialect.Parse(text, o)
}

// NewDecoder returns a decoder for an answer that arrives in pieces. It reads the calls of the tools given, and of
// those in o.
func NewDecoder(o dialect.Options, tools ...chat.Tool) (*dialect.Decoder, error) {
	o, err := withTools(o, tools)
	if err != nil {
		return nil, err
	}
	return dialect.New(o)
}

// withTools compiles the tools' schemas. Package dialect takes them compiled, so that its importers do without
// regular expressions, and so that whoever reads many answers compiles them once.
func withTools(o dialect.Options, tools []chat.Tool) (dialect.Options, error) {
	o.Tools = slices.Clip(o.Tools)
	for _, t := range tools {
		s, err := schema.Compile(t.Parameters)
		if err != nil {
			return o, fmt.Errorf("tool %q: parameters: %w", t.Name, err)
		}
		o.Tools = append(o.Tools, shape.Tool{Name: t.Name, Args: s.Shape()})
	}
	return o, nil
}

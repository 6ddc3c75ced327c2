package dialect

import (
	"wield/dialect/internal/form"
	"wield/dialect/internal/render"
)

// The dialects with the syntax of function calls, of Gemma literals, and of lines.
var pythonRows = []Dialect{
	{Name: "olmo3", Class: classPythonic, Models: "OLMo 3",
		Summary: "function calls, one per line, in function_calls",
		Example: "<function_calls>N(k='v')</function_calls>",
		openers: []opener{{literal: "<function_calls>", use: useCalls, closer: "</function_calls>"}},
		write:   render.Row{Head: "<function_calls>", Tail: "</function_calls>", Call: render.CallKeywords}},
	{Name: "lfm2", Class: classPythonic, Models: "LFM2, LFM2.5",
		Summary: "a list of function calls between markers",
		Example: "<|tool_call_start|>[N(k=\"v\")]<|tool_call_end|>",
		openers: []opener{
			{literal: "<|tool_call_start|>", use: useCalls, closer: "<|tool_call_end|>"},
			{literal: "<|tool_call_start|>", use: useJSON, closer: "<|tool_call_end|>"},
			{literal: "<|tool_call_end|>", use: useEnd},
		},
		write: render.Row{Head: "<|tool_call_start|>[", Sep: ", ", Tail: "]<|tool_call_end|>",
			Call: render.CallKeywords}},
	{Name: "gemma4", Class: classKeyValue, Models: "Gemma 4",
		Summary: "a name and an object with bare keys and strings between tokens",
		Example: "<|tool_call>call:N{k:<|\"|>v<|\"|>}<tool_call|>",
		openers: []opener{
			{literal: "<|tool_call>", use: useBody, then: "call:", body: literalBody(&gemmaForm),
				closer: "<tool_call|>"},
			{literal: "<|tool_call>", use: useBody, then: ":", body: literalBody(&gemmaForm), closer: "<tool_call|>"},
			{literal: "<tool_call|>", use: useEnd},
		},
		write: render.Row{Open: "<|tool_call>", End: "<tool_call|>", Joined: true,
			Call: render.CallLiteral(&gemmaForm)}},
	{Name: "functiongemma", Class: classKeyValue, Models: "FunctionGemma",
		Summary: "as gemma4, with other tokens",
		Example: "<start_function_call>call:N{k:<escape>v<escape>}<end_function_call>",
		openers: []opener{
			{literal: "<start_function_call>", use: useBody, then: "call:", body: literalBody(&functionGemmaForm),
				closer: "<end_function_call>"},
			{literal: "<end_function_call>", use: useEnd},
		},
		write: render.Row{Open: "<start_function_call>", End: "<end_function_call>", Joined: true,
			Call: render.CallLiteral(&functionGemmaForm)}},
}

var (
	gemmaForm         = form.Literal{Token: `<|"|>`, Closer: "<tool_call|>"}
	functionGemmaForm = form.Literal{Token: "<escape>", Closer: "<end_function_call>"}
)

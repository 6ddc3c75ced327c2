package dialect

import "wield/dialect/internal/form"

// The dialects with the syntax of function calls, of Gemma literals, and of lines.
var pythonRows = []Dialect{
	{Name: "olmo3", Class: ClassPythonic, Models: "OLMo 3",
		Summary: "function calls, one a line, in function_calls", Example: "<function_calls>N(k='v')</function_calls>",
		openers: []opener{{literal: "<function_calls>", use: useCalls, closer: "</function_calls>"}},
		write:   renderRow{head: "<function_calls>", tail: "</function_calls>", call: renderCallKeywords}},
	{Name: "lfm2", Class: ClassPythonic, Models: "LFM2, LFM2.5",
		Summary: "a list of function calls between markers", Example: "<|tool_call_start|>[N(k=\"v\")]<|tool_call_end|>",
		openers: []opener{
			{literal: "<|tool_call_start|>", use: useCalls, closer: "<|tool_call_end|>"},
			{literal: "<|tool_call_start|>", use: useJSON, closer: "<|tool_call_end|>"},
			{literal: "<|tool_call_end|>", use: useEnd},
		},
		write: renderRow{head: "<|tool_call_start|>[", sep: ", ", tail: "]<|tool_call_end|>", call: renderCallKeywords}},
	{Name: "gemma4", Class: ClassKeyValue, Models: "Gemma 4",
		Summary: "a name and an object with bare keys, whose strings stand between tokens", Example: "<|tool_call>call:N{k:<|\"|>v<|\"|>}<tool_call|>",
		openers: []opener{
			{literal: "<|tool_call>", use: useBody, then: "call:", body: literalBody(&gemmaForm), closer: "<tool_call|>"},
			{literal: "<tool_call|>", use: useEnd},
		},
		write: renderRow{open: "<|tool_call>", end: "<tool_call|>", joined: true, call: renderCallLiteral(&gemmaForm)}},
	{Name: "functiongemma", Class: ClassKeyValue, Models: "FunctionGemma",
		Summary: "as gemma4, with other tokens", Example: "<start_function_call>call:N{k:<escape>v<escape>}<end_function_call>",
		openers: []opener{
			{literal: "<start_function_call>", use: useBody, then: "call:", body: literalBody(&functionGemmaForm), closer: "<end_function_call>"},
			{literal: "<end_function_call>", use: useEnd},
		},
		write: renderRow{open: "<start_function_call>", end: "<end_function_call>", joined: true, call: renderCallLiteral(&functionGemmaForm)}},
}

var (
	gemmaForm         = form.Literal{Token: `<|"|>`, Closer: "<tool_call|>"}
	functionGemmaForm = form.Literal{Token: "<escape>", Closer: "<end_function_call>"}
)

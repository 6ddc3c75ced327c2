package dialect

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
		write:   renderRow{head: "<|tool_call_start|>[", sep: ", ", tail: "]<|tool_call_end|>", call: renderCallKeywords}},
}

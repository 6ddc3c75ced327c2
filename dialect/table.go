package dialect

// The table of dialects. What tells two of them apart that share an opener are the bytes behind it, not their order here.
var table = [...]Dialect{
	{Name: "hermes", Class: ClassJSON, Safe: true, Models: "Qwen 2.5 and 3, QwQ, Hermes 2 Pro, ERNIE 4.5, Granite 4",
		Summary: "a JSON object between <tool_call> tags", Example: "<tool_call>\n{\"name\":\"N\",\"arguments\":{\"k\":\"v\"}}\n</tool_call>"},
	{Name: "qwen3-coder", Class: ClassTagged, Safe: true, Models: "Qwen3-Coder, Qwen3.5, Step-3.5, Nemotron 3", Aliases: []string{"xml_format"},
		Summary: "function and parameter tags with bare values", Example: "<tool_call>\n<function=N>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>"},
	{Name: "tool-call-tag", Class: ClassJSON, Safe: true, Models: "any instructed model", Aliases: []string{"ptk"},
		Summary: "a JSON object with tool and args between <TOOL_CALL> tags", Example: "<TOOL_CALL>\n{\"tool\":\"N\",\"args\":{\"k\":\"v\"}}\n</TOOL_CALL>"},
	{Name: "json-fence", Class: ClassJSON, Safe: true, Models: "any instructed model",
		Summary: "a JSON object in a Markdown code fence", Example: "```json\n{\"name\":\"N\",\"arguments\":{\"k\":\"v\"}}\n```"},
	{Name: "openai-envelope", Class: ClassJSON, Safe: true, Models: "any instructed model",
		Summary: "the tool_calls object of the OpenAI protocol, written as text", Example: `{"tool_calls":[{"id":"c1","type":"function","function":{"name":"N","arguments":"{\"k\":\"v\"}"}}]}`},
	{Name: "llf-shorthand", Class: ClassJSON, Models: "any instructed model",
		Summary: "a JSON object whose function is the name", Example: `{"function":"N","arguments":{"k":"v"}}`},
	{Name: "raw-json", Class: ClassJSON, Safe: true, Models: "any; forced tool choice",
		Summary: "a bare JSON object at the start of a line", Example: `{"name":"N","arguments":{"k":"v"}}`},
	{Name: "xml-style", Class: ClassTagged, Models: "any instructed model",
		Summary: "tool and arg elements", Example: "<tool name=\"N\">\n  <arg name=\"k\">v</arg>\n</tool>"},
	{Name: "pythonic", Class: ClassPythonic, Safe: true, Models: "Llama 4, Llama 3.2, any instructed model",
		Summary: "a Python list of function calls", Example: `[N(k="v")]`},
	{Name: "function-style", Class: ClassPythonic, Models: "any instructed model",
		Summary: "a function call on a line of its own", Example: `N(k="v")`},
	{Name: "yaml-style", Class: ClassLine, Models: "any instructed model",
		Summary: "TOOL and ARGS lines", Example: "TOOL: N\nARGS:\n  k: v"},
	{Name: "tool-request", Class: ClassJSON, ByName: true, Models: "satellite programs",
		Summary: "the whole message is one strict tool_request object", Example: `{"tool_request":{"name":"N","arguments":{"k":"v"}}}`},
}

package dialect

import (
	"slices"

	"wield/dialect/internal/render"
)

// The table of dialects. What tells two of them apart that share an opener are the bytes behind it, not their
// order here.
var table = slices.Concat(plainRows, jsonRows, headerRows, pairRows, invokeRows, pythonRows, channelRows)

// The dialects of instructed models, and those that most families share.
var plainRows = []Dialect{
	{Name: "hermes", Class: classJSON, Safe: true, Models: "Qwen 2.5 and 3, QwQ, Hermes 2 Pro, ERNIE 4.5, Granite 4",
		Summary: "a JSON object between <tool_call> tags", Example: "<tool_call>\n{\"name\":\"N\",\"arguments\":{\"k\":\"v\"}}\n</tool_call>",
		openers: []opener{{literal: "<tool_call>", use: useJSON, closer: "</tool_call>"}},
		write:   render.Row{Open: "<tool_call>\n", End: "\n</tool_call>", Call: render.CallName, Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "qwen3-coder", Class: classTagged, Safe: true, Models: "Qwen3-Coder, Qwen3.5, Step-3.5, Nemotron 3", Aliases: []string{"xml_format"},
		Summary: "function and parameter tags with bare values", Example: "<tool_call>\n<function=N>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, then: "<function=", body: tagBody(&functionTags), closer: "</tool_call>"},
			{literal: "<function=", use: useBody, body: tagBody(&functionTags)},
			{literal: "</tool_call>", use: useEnd},
		},
		write: render.Row{Open: "<tool_call>\n", End: "\n</tool_call>", Call: render.CallTags(&functionTags), Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "step5", Class: classTagged, Models: "Step 5", spaced: true,
		Summary: "as qwen3-coder; white space before a call is content", Example: "<tool_call>\n<function=N>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, then: "<function=", body: tagBody(&functionTags), closer: "</tool_call>"},
			{literal: "<function=", use: useBody, body: tagBody(&functionTags)},
		},
		write: render.Row{Open: "<tool_call>\n", End: "\n</tool_call>", Call: render.CallTags(&functionTags), Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "mimo", Class: classTagged, Models: "MiMo",
		Summary: "as qwen3-coder, with verbatim values", Example: "<tool_call>\n<function=N>\n<parameter=k>v</parameter>\n</function>\n</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, then: "<function=", body: tagBody(&verbatimTags), closer: "</tool_call>"},
			{literal: "<function=", use: useBody, body: tagBody(&verbatimTags)},
		},
		write: render.Row{Open: "<tool_call>\n", End: "\n</tool_call>", Call: render.CallTags(&verbatimTags), Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "tool-call-tag", Class: classJSON, Safe: true, Models: "any instructed model", Aliases: []string{"ptk"},
		Summary: "a JSON object with tool and args between <TOOL_CALL> tags", Example: "<TOOL_CALL>\n{\"tool\":\"N\",\"args\":{\"k\":\"v\"}}\n</TOOL_CALL>",
		openers: []opener{
			{literal: "<TOOL_CALL>", use: useJSON, closer: "</TOOL_CALL>"},
			{literal: "<PTK_CALL>", use: useJSON, closer: "</PTK_CALL>"},
		},
		write: render.Row{Open: "<TOOL_CALL>\n", End: "\n</TOOL_CALL>", Call: render.CallTag, Tools: render.ToolsSignature}},
	{Name: "json-fence", Class: classJSON, Safe: true, Models: "any instructed model",
		Summary: "a JSON object in a Markdown code fence", Example: "```json\n{\"name\":\"N\",\"arguments\":{\"k\":\"v\"}}\n```",
		write: render.Row{Open: "```json\n", End: "\n```", Call: render.CallName}},
	{Name: "openai-envelope", Class: classJSON, bareJSON: true, Safe: true, Models: "any instructed model",
		Summary: "the tool_calls object of the OpenAI protocol, written as text", Example: `{"tool_calls":[{"id":"c1","type":"function","function":{"name":"N","arguments":"{\"k\":\"v\"}"}}]}`,
		write: render.Row{Head: `{"tool_calls":[`, Sep: ",", Tail: "]}", Call: render.CallOpenAI}},
	{Name: "llf-shorthand", Class: classJSON, bareJSON: true, Models: "any instructed model",
		Summary: "a JSON object with the name in function", Example: `{"function":"N","arguments":{"k":"v"}}`,
		write: render.Row{Call: render.CallObject(`{"function": `, `, "arguments": `)}},
	{Name: "raw-json", Class: classJSON, bareJSON: true, Safe: true, Models: "any; forced tool choice",
		Summary: "a bare JSON object at the start of a line", Example: `{"name":"N","arguments":{"k":"v"}}`,
		openers: []opener{{literal: "<|python_start|>", use: useJSON}},
		write:   render.Row{Call: render.CallName}},
	{Name: "xml-style", Class: classTagged, Models: "any instructed model",
		Summary: "tool and arg elements", Example: "<tool name=\"N\">\n  <arg name=\"k\">v</arg>\n</tool>",
		openers: []opener{{literal: "<tool name=", use: useBody, body: tagBody(&toolTags)}},
		write:   render.Row{Call: render.CallTags(&toolTags), Tools: render.ToolsSignature}},
	{Name: "pythonic", Class: classPythonic, Safe: true, Models: "Llama 4, Llama 3.2, any instructed model",
		Summary: "a Python list of function calls", Example: `[N(k="v")]`,
		openers: []opener{{literal: "<|python_start|>", use: useCalls}},
		write:   render.Row{Head: "[", Sep: ", ", Tail: "]", Call: render.CallKeywords, Tools: render.ToolsSignature}},
	{Name: "function-style", Class: classPythonic, Models: "any instructed model",
		Summary: "a function call on a line of its own", Example: `N(k="v")`,
		write: render.Row{Call: render.CallStatement, Tools: render.ToolsSignature}},
	{Name: "yaml-style", Class: classLine, Models: "any instructed model",
		Summary: "TOOL and ARGS lines", Example: "TOOL: N\nARGS:\n  k: v",
		openers: []opener{{literal: "TOOL:", use: useBody, body: newLines, lineStart: true}},
		write:   render.Row{Sep: "\n\n", Call: render.CallYAML, Tools: render.ToolsSignature}},
	{Name: "cli-block", Class: classLine, ByName: true, Models: "any instructed model, in a terminal",
		Summary: "a fenced block with the tool as its language", Example: "```N\nv\n```",
		openers: []opener{{literal: patchBegin, use: useBody, body: newPatch, lineStart: true}},
		write:   render.Row{Call: blockCall, Tools: render.ToolsSignature}},
	{Name: "tool-request", Class: classJSON, ByName: true, Alone: true, Models: "satellite programs",
		Summary: "the whole message is one strict tool_request object", Example: `{"tool_request":{"name":"N","arguments":{"k":"v"}}}`,
		openers: []opener{{literal: "{", use: useBody, body: newRequest, lineStart: true}},
		write:   render.Row{One: true, Open: `{"tool_request":`, End: "}", Call: render.CallName, Results: &render.ResultsSatellite}},
}

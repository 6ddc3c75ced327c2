package dialect

import (
	"wield/dialect/internal/form"
	"wield/dialect/internal/render"
)

// The dialects with the name first and a JSON object behind it.
var headerRows = []Dialect{
	{Name: "mistral-args", Class: classHeaderJSON, bareName: true,
		Models:  "Mistral Small 3.2, Magistral, Devstral, Ministral 3",
		Summary: "a marker, the name, a marker, a JSON object", Example: `[TOOL_CALLS]N[ARGS]{"k":"v"}`,
		openers: mistralOpeners,
		write: render.Row{Joined: true, Open: "[TOOL_CALLS]", Call: render.CallHeader("[ARGS]"),
			Tools: render.ToolsMistral, Results: &render.ResultsMistral}},
	{Name: "deepseek-v3", Class: classHeaderJSON, bareName: true, Models: "DeepSeek V3, R1",
		Summary: "a section of calls with the kind, the name and a fenced JSON object",
		Example: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>N\n```json\n{\"k\":\"v\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		openers: deepseekOpeners,
		write: render.Row{Head: "<｜tool▁calls▁begin｜>", Open: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
			End: "\n```<｜tool▁call▁end｜>", Tail: "<｜tool▁calls▁end｜>", Call: render.CallHeader("\n```json\n"),
			Results: &render.ResultsOutputs}},
	{Name: "deepseek-v31", Class: classHeaderJSON, bareName: true, Models: "DeepSeek V3.1, V3.1-Terminus",
		Summary: "a section of calls with the name and a JSON object",
		Example: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>N<｜tool▁sep｜>{"k":"v"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
		openers: deepseekOpeners,
		write: render.Row{Head: "<｜tool▁calls▁begin｜>", Open: "<｜tool▁call▁begin｜>", Joined: true,
			End: "<｜tool▁call▁end｜>", Tail: "<｜tool▁calls▁end｜>", Call: render.CallHeader("<｜tool▁sep｜>"),
			Results: &render.ResultsDeepseek}},
	{Name: "kimi-k2", Class: classHeaderJSON, bareName: true, Models: "Kimi K2, K2 Thinking",
		Summary: "a section of calls, each an id with the name and a JSON object",
		Example: `<|tool_calls_section_begin|><|tool_call_begin|>functions.N:0<|tool_call_argument_begin|>{"k":"v"}<|tool_call_end|><|tool_calls_section_end|>`,
		openers: []opener{
			{literal: "<|tool_calls_section_begin|>", use: useBody, body: headerSection(&kimiForm)},
			{literal: "<|tool_call_begin|>", use: useBody, body: headerCall(&kimiForm)},
			{literal: "function", use: useBody, body: newNameKind, lineStart: true},
		},
		write: render.Row{Head: "<|tool_calls_section_begin|>", Open: "<|tool_call_begin|>functions.", Joined: true,
			End: "<|tool_call_end|>", Tail: "<|tool_calls_section_end|>",
			Call: render.CallCounted("<|tool_call_argument_begin|>")}},
	{Name: "plamo3", Class: classHeaderJSON, bareName: true, Models: "PLaMo 3",
		Summary: "separate markers around the request, the name and the arguments",
		Example: plamoOpen + plamoRequest + plamoCall + "N" + plamoArgs + plamoLead + `{"k":"v"}` + plamoEnd +
			plamoRequestEnd + plamoClose,
		openers: []opener{
			{literal: plamoOpen, use: useBody, body: headerSection(&plamoForm)},
			{literal: plamoRequest, use: useBody, then: plamoCall, body: headerCall(&plamoForm)},
			{literal: plamoRequestEnd, use: useEnd},
			{literal: plamoClose, use: useEnd},
		},
		write: render.Row{Head: plamoOpen, Open: plamoRequest + plamoCall, Joined: true,
			End: plamoEnd + plamoRequestEnd, Tail: plamoClose, Call: render.CallHeader(plamoArgs + plamoLead)}},
	{Name: "function-tag", Class: classHeaderJSON, Models: "Functionary 3.1, Llama 3.1 with custom tools",
		Summary: "the name in a tag, a JSON object as its body", Example: `<function=N>{"k":"v"}</function>`,
		openers: []opener{{literal: "<function=", use: useBody, body: tagBody(&functionTags)}},
		write:   render.Row{Open: "<function=", End: "</function>", Call: render.CallHeader(">")}},
	{Name: "name-json", Class: classHeaderJSON, bareName: true, Models: "Functionary 3.2, any instructed model",
		Summary: "a name alone on its line, then a JSON object", Example: "N\n{\"k\":\"v\"}",
		openers: []opener{
			{literal: "function", use: useBody, body: newNameKind, lineStart: true},
			{literal: ">>>", use: useBody, body: newNameMark, lineStart: true},
			{literal: "all\n", use: useDrop, first: true, named: true},
		},
		write: render.Row{Call: render.CallBare, Tools: render.ToolsSignature}},
	{Name: "react", Class: classHeaderJSON, Models: "any instructed model",
		Summary: "Action and Action Input lines", Example: "Action: N\nAction Input: {\"k\":\"v\"}",
		openers: []opener{
			{literal: "Action:", use: useBody, word: true, body: headerCall(&reactForm), lineStart: true},
		},
		write: render.Row{Open: "Action: ", Call: render.CallHeader("\nAction Input: "), Tools: render.ToolsSignature,
			Results: &render.ResultsReact}},
}

var mistralForm = form.Header{IdOpen: "[CALL_ID]", ArgsOpen: "[ARGS]", Optional: true, NameIs: "mistral-args"}

// deepseekForms are the two spellings of the DeepSeek markers: that of the vocabulary, and one with the bars
// of ASCII, which models write that were trained on transcripts.
var deepseekForms = [...]form.Header{deepseekForm("｜"), deepseekForm("|")}

func deepseekForm(bar string) form.Header {
	return form.Header{CallOpen: "<" + bar + "tool▁call▁begin" + bar + ">", Kind: "function",
		ArgsOpen: "<" + bar + "tool▁sep" + bar + ">", LineName: true,
		CallClose: "<" + bar + "tool▁call▁end" + bar + ">", Closer: "<" + bar + "tool▁calls▁end" + bar + ">",
		KindIs: "deepseek-v3", NameIs: "deepseek-v31"}
}

// The two DeepSeek dialects share their markers: whether a kind comes first tells them apart.
var deepseekOpeners = []opener{
	{literal: "<｜tool▁calls▁begin｜>", use: useBody, body: headerSection(&deepseekForms[0])},
	{literal: "<｜tool▁call▁begin｜>", use: useBody, body: headerCall(&deepseekForms[0])},
	{literal: "<|tool▁calls▁begin|>", use: useBody, body: headerSection(&deepseekForms[1])},
	{literal: "<|tool▁call▁begin|>", use: useBody, body: headerCall(&deepseekForms[1])},
	{literal: "function", use: useBody, body: newNameKind, lineStart: true},
}

var kimiForm = form.Header{CallOpen: "<|tool_call_begin|>", ArgsOpen: "<|tool_call_argument_begin|>", Counted: true,
	Noise: true, CallClose: "<|tool_call_end|>", Closer: "<|tool_calls_section_end|>"}

const (
	plamoOpen       = "<|plamo:begin_tool_requests:plamo|>"
	plamoRequest    = "<|plamo:begin_tool_request:plamo|>"
	plamoRequestEnd = "<|plamo:end_tool_request:plamo|>"
	plamoCall       = "<|plamo:begin_tool_name:plamo|>"
	plamoArgs       = "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>"
	plamoLead       = "<|plamo:constrain|>json<|plamo:msg|>"
	plamoEnd        = "<|plamo:end_tool_arguments:plamo|>"
	plamoClose      = "<|plamo:end_tool_requests:plamo|>"
)

var plamoForm = form.Header{CallOpen: plamoCall, ArgsOpen: plamoArgs, ArgsLead: plamoLead, Noise: true,
	CallClose: plamoEnd, Closer: plamoClose}

// functionForm describes what follows <function=NAME> if that is a JSON object.
var functionForm = form.Header{CallClose: "</function>"}

var reactForm = form.Header{LineName: true, ArgsOpen: "Action Input:"}

// nameForm is a name and an object, with nothing that says so.
var nameForm = form.Header{}

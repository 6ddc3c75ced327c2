package dialect

import (
	"wield/dialect/internal/form"
	"wield/dialect/internal/render"
)

// The dialects in which the header of a message says what its body is.
var channelRows = []Dialect{
	{Name: "harmony", Class: classChannel, Models: "gpt-oss",
		Summary: "messages with channels; one for a tool holds a JSON object",
		Example: "<|start|>assistant<|channel|>commentary to=functions.N " +
			"<|constrain|>json<|message|>{\"k\":\"v\"}<|call|>",
		openers: []opener{
			{literal: "<|start|>", use: useBody, body: channelBody(&messageForm), framing: true},
			{literal: "<|channel|>", use: useBody, body: channelBody(&messageForm), framing: true},
			{literal: "to=", use: useBody, body: channelBody(&messageForm), framing: true, lineStart: true},
			{literal: "<|message|>", use: useDrop, framing: true},
			{literal: "<|end|>", use: useDrop, framing: true},
			{literal: "<|return|>", use: useDrop, framing: true, mark: markLast},
			{literal: "<|call|>", use: useDrop, framing: true},
		},
		closers: []string{"<|end|>"},
		write: render.Row{Open: "<|start|>assistant<|channel|>commentary to=functions.", End: "<|call|>",
			Joined: true, Call: render.CallHeader(" <|constrain|>json<|message|>")}},
	{Name: "glimmer", Class: classChannel, Models: "Glimmer, Muse Spark",
		Summary: "messages with recipients; one for a tool holds invoke elements",
		Example: "<|start|>assistant to=N<|message|><atem:function_calls>\n<atem:invoke name=\"N\">\n<atem:parameter " +
			"name=\"k\">v</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>",
		openers: []opener{
			{literal: "<|start|>", use: useBody, body: channelBody(&messageForm), framing: true},
			{literal: "to=", use: useBody, body: channelBody(&messageForm), framing: true, lineStart: true},
			{literal: "<|message|>", use: useDrop, framing: true},
			{literal: "<atem:function_calls>", use: useBody, private: true, then: "<atem:invoke name=",
				body: tagBody(atemTags), closer: "</atem:function_calls>"},
			{literal: "<|eom|>", use: useDrop, framing: true},
			{literal: "<|eot|>", use: useDrop, framing: true},
		},
		closers: []string{"<|eom|>"},
		write: render.Row{Head: "<atem:function_calls>\n", End: "\n", Tail: "</atem:function_calls>", Joined: true,
			Call: render.CallTags(atemTags)}},
	{Name: "inkling", Class: classChannel, Models: "Inkling",
		Summary: "messages whose parts begin with a token; one for a tool holds JSON",
		Example: `<|message_model|>N<|content_invoke_tool_json|>{"name":"N","args":{"k":"v"}}<|end_message|>`,
		openers: []opener{
			{literal: "<|message_model|>", use: useBody, body: newWords, framing: true},
			{literal: "<|content_text|>", use: useDrop, framing: true},
			{literal: "<|content_thinking|>", use: useThink, closer: "<|end_message|>", framing: true, anywhere: true},
			{literal: "<|content_invoke_tool_json|>", use: useJSON, closer: "<|end_message|>",
				keys: [2]string{1: "args"}},
			{literal: "<|end_message|>", use: useDrop, framing: true},
			{literal: "<|content_model_end_sampling|>", use: useDrop, framing: true},
		},
		write: render.Row{Open: "<|content_invoke_tool_json|>", Sep: "<|message_model|>", End: "<|end_message|>",
			Joined: true, Call: render.CallObject(`{"name":`, `,"args":`)}},
	{Name: "kimi-k3", Class: classChannel, Models: "Kimi K3",
		Summary: "parts between open and close tokens, with typed arguments",
		Example: `<|open|>tools<|sep|><|open|>call tool="N" index="1"<|sep|><|open|>argument key="k" type="string"<|sep|>v<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>`,
		openers: []opener{
			{literal: "<|open|>think<|sep|>", use: useThink, closer: "<|close|>think<|sep|>", framing: true,
				anywhere: true},
			{literal: "<|open|>response<|sep|>", use: useDrop, framing: true},
			{literal: "<|close|>response<|sep|>", use: useDrop, framing: true},
			{literal: "<|close|>message<|sep|>", use: useDrop, framing: true},
			{literal: "<|open|>tools<|sep|>", use: useBody, then: "<|open|>call tool=", body: tagBody(&openTags),
				closer: "<|close|>tools<|sep|>"},
			{literal: "<|open|>call tool=", use: useBody, body: tagBody(&openTags)},
		},
		write: render.Row{Head: "<|open|>tools<|sep|>", Tail: "<|close|>tools<|sep|>", Joined: true,
			Call: render.CallTags(&openTags)}},
}

var atemTags = prefixedTags("atem:")

var openTags = form.Tags{NameEnd: ">", ParamOpen: "<|open|>argument key=", ParamEnd: ">",
	ParamClose: "<|close|>argument<|sep|>", CallOpen: "<|open|>call tool=", CallClose: "<|close|>call<|sep|>",
	Quoted: true, AttributeTags: form.AttributeTags{TagEnd: "<|sep|>", Typed: "string"}}

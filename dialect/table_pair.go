package dialect

import (
	"wield/dialect/internal/form"
	"wield/dialect/internal/render"
	"wield/schema/shape"
)

// The dialects with a name and pairs of key and value elements.
var pairRows = []Dialect{
	{Name: "glm", Class: classTagged, Models: "GLM 4.5 to 5.3, Ling 3",
		Summary: "a name and arg_key and arg_value elements between <tool_call> tags",
		Example: "<tool_call>N\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, word: true, body: tagBody(&pairTags), closer: "</tool_call>"},
		},
		write: render.Row{Open: "<tool_call>", End: "</tool_call>", Call: render.CallTags(&pairTags),
			Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "spark25", Class: classTagged, Models: "Spark 2.5 and 3",
		Summary: "as glm; null may be in any case",
		Example: "<tool_call>N\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, word: true, body: tagBody(&sparkTags), closer: "</tool_call>"},
		},
		write: render.Row{Open: "<tool_call>", End: "</tool_call>", Call: render.CallTags(&sparkTags),
			Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "poolside", Class: classTagged, Models: "Poolside v1, Laguna",
		Summary: "a name and a JSON object, or a glm call, between <tool_call> or <user> tags",
		Example: "<tool_call>N\n{\"k\":\"v\"}</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, word: true, body: tagBody(&pairTags), closer: "</tool_call>"},
			{literal: "<user>", use: useJSON, closer: "</user>"},
			{literal: "<user>", use: useBody, word: true, body: tagBody(&userTags), closer: "</user>"},
		},
		write: render.Row{Open: "<tool_call>", End: "</tool_call>", Call: render.CallHeader("\n"),
			Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "iquest-q1", Class: classTagged, Models: "IQuest Q1",
		Summary: "as glm, in an outer element",
		Example: "<iquest_tool_call>N\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</iquest_tool_call>",
		openers: []opener{
			{literal: "<iquest_tool_call>", use: useBody, word: true, body: tagBody(&iquestTags),
				closer: "</iquest_tool_call>"},
			{literal: "</iquest_tool_call>", use: useEnd},
		},
		write: render.Row{Open: "<iquest_tool_call>", End: "</iquest_tool_call>", Call: render.CallTags(&iquestTags),
			Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "hyperclovax-seed", Class: classTagged, Models: "HyperCLOVA X SEED Think",
		Summary: "as glm, with strings as JSON",
		Example: "<tool_call>N\n<arg_key>k</arg_key>\n<arg_value>\"v\"</arg_value>\n</tool_call>",
		openers: []opener{{literal: "<tool_call>", use: useBody, word: true, body: tagBody(&quotedPairTags),
			closer: "</tool_call>"}},
		write: render.Row{Open: "<tool_call>", End: "</tool_call>", Call: render.CallTags(&quotedPairTags),
			Tools: render.ToolsTag, Results: &render.ResultsTag}},
	{Name: "hunyuan-v3", Class: classTagged, Models: "Hunyuan v3",
		Summary: "as glm, in a section, with a separator after the name",
		Example: "<tool_calls><tool_call>N<tool_sep><arg_key>k</arg_key><arg_value>v</arg_value></tool_call></tool_calls>",
		openers: []opener{{literal: "<tool_calls>", use: useBody, then: "<tool_call>", body: tagBody(&hunyuanTags),
			closer: "</tool_calls>"}},
		write: render.Row{Head: "<tool_calls>", Open: "<tool_call>", End: "</tool_call>", Tail: "</tool_calls>",
			Call: render.CallTags(&hunyuanTags)}},
	{Name: "hunyuan-v4", Class: classTagged, Models: "Hunyuan v4",
		Summary: "as hunyuan-v3, with the same suffix in every tag",
		Example: "<tool_calls:opensource><tool_call:opensource>N<arg_key:opensource>k</arg_key:opensource><arg_value:opensource>v</arg_value:opensource></tool_call:opensource></tool_calls:opensource>",
		openers: []opener{{literal: "<tool_calls:", use: useBody, body: newSuffixed}},
		write: render.Row{Head: "<tool_calls:opensource>", Open: "<tool_call:opensource>",
			End: "</tool_call:opensource>", Tail: "</tool_calls:opensource>",
			Call: render.CallTags(suffixTags("opensource"))}},
	{Name: "k2-horizon", Class: classTagged, Models: "K2 Horizon, K2 V3",
		Summary: "as hunyuan-v3 with a prefix in every tag, or JSON",
		Example: "<ifm|tool_calls><ifm|tool_call>N<ifm|arg_key>k</ifm|arg_key><ifm|arg_value>v</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
		openers: []opener{
			{literal: "<ifm|tool_calls>", use: useBody, then: "<ifm|tool_call>", body: newHorizon,
				closer: "</ifm|tool_calls>"},
			{literal: "</ifm|tool_calls>", use: useEnd},
			{literal: "<ifm|think>", use: useThink, closer: "</ifm|think>", mixed: true, framing: true},
			{literal: "<ifm|think_fast>", use: useThink, closer: "</ifm|think_fast>", mixed: true, framing: true},
			{literal: "<ifm|think_faster>", use: useThink, closer: "</ifm|think_faster>", mixed: true, framing: true},
			{literal: "<|ifm|im_end|>", use: useDrop, framing: true},
			{literal: "<|ifm|endoftext|>", use: useDrop, framing: true},
		},
		write: render.Row{Head: "<ifm|tool_calls>", Open: "<ifm|tool_call>", End: "</ifm|tool_call>",
			Tail: "</ifm|tool_calls>", Call: render.CallTags(&horizonTags)}},
}

var pairTags = form.Tags{Bare: true, Alone: true, NameEnd: "\n", ParamOpen: "<arg_key>", ParamEnd: "</arg_key>",
	ValueOpen: "<arg_value>", ParamClose: "</arg_value>", CallOpen: "<tool_call>", CallClose: "</tool_call>",
	Untyped: shape.UntypedPython, Object: form.Object{Form: &pairObject, Dialect: "poolside"}}

var sparkTags = func() form.Tags {
	f := pairTags
	f.Nulls = true
	return f
}()

// userTags are pairs in an element that prose has as well.
var userTags = func() form.Tags {
	f := pairTags
	f.CallOpen, f.CallClose, f.Object.Form, f.Needed = "<user>", "</user>", &userObject, true
	return f
}()

var iquestTags = func() form.Tags {
	f := pairTags
	f.CallOpen, f.CallClose, f.Object = "<iquest_tool_call>", "</iquest_tool_call>", form.Object{}
	return f
}()

var pairObject = form.Header{CallClose: "</tool_call>"}

var userObject = form.Header{CallClose: "</user>"}

var quotedPairTags = func() form.Tags {
	f := pairTags
	f.Strings = true
	return f
}()

var hunyuanTags = func() form.Tags {
	f := pairTags
	f.Alone, f.NameClose, f.Object = false, "<tool_sep>", form.Object{}
	return f
}()

// suffixTags returns the form in which every tag ends with a colon and the suffix.
func suffixTags(suffix string) *form.Tags {
	end := ":" + suffix + ">"
	return &form.Tags{Bare: true, Strict: true, NameEnd: "\n", NameClose: "<tool_sep" + end,
		ParamOpen: "<arg_key" + end, ParamEnd: "</arg_key" + end, ValueOpen: "<arg_value" + end,
		ParamClose: "</arg_value" + end, CallOpen: "<tool_call" + end, CallClose: "</tool_call" + end,
		Untyped: shape.UntypedPython}
}

var horizonTags = form.Tags{Bare: true, NameEnd: "\n", ParamOpen: "<ifm|arg_key>", ParamEnd: "</ifm|arg_key>",
	ValueOpen: "<ifm|arg_value>", ParamClose: "</ifm|arg_value>", TypeOpen: "<ifm|arg_type>",
	TypeClose: "</ifm|arg_type>", CallOpen: "<ifm|tool_call>", CallClose: "</ifm|tool_call>",
	Untyped: shape.UntypedPython}

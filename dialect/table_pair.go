package dialect

import "wield/schema/shape"

// The dialects with a name and pairs of key and value elements.
var pairRows = []Dialect{
	{Name: "glm", Class: ClassTagged, Models: "GLM 4.5, 4.6, 4.7, Spark 3",
		Summary: "a name and arg_key and arg_value elements between <tool_call> tags", Example: "<tool_call>N\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, word: true, body: tagBody(&pairTags), closer: "</tool_call>"},
		},
		write: renderRow{open: "<tool_call>", end: "</tool_call>", call: renderCallPairs(&pairTags), tools: renderToolsTag, results: &resultsTag}},
	{Name: "poolside", Class: ClassTagged, Models: "Poolside v1, Laguna",
		Summary: "a name and a JSON object, or what glm writes, between <tool_call> or <user> tags", Example: "<tool_call>N\n{\"k\":\"v\"}</tool_call>",
		openers: []opener{
			{literal: "<tool_call>", use: useBody, word: true, body: tagBody(&pairTags), closer: "</tool_call>"},
			{literal: "<user>", use: useJSON, closer: "</user>"},
			{literal: "<user>", use: useBody, word: true, body: tagBody(&userTags), closer: "</user>"},
		},
		write: renderRow{open: "<tool_call>", end: "</tool_call>", call: renderCallHeader("\n"), tools: renderToolsTag, results: &resultsTag}},
	{Name: "hyperclovax-seed", Class: ClassTagged, Models: "HyperCLOVA X SEED Think",
		Summary: "as glm, with strings that are written as JSON", Example: "<tool_call>N\n<arg_key>k</arg_key>\n<arg_value>\"v\"</arg_value>\n</tool_call>",
		openers: []opener{{literal: "<tool_call>", use: useBody, word: true, body: tagBody(&quotedPairTags), closer: "</tool_call>"}},
		write:   renderRow{open: "<tool_call>", end: "</tool_call>", call: renderCallPairs(&quotedPairTags), tools: renderToolsTag, results: &resultsTag}},
	{Name: "hunyuan-v3", Class: ClassTagged, Models: "Hunyuan v3",
		Summary: "as glm, in a section, with a separator behind the name", Example: "<tool_calls><tool_call>N<tool_sep><arg_key>k</arg_key><arg_value>v</arg_value></tool_call></tool_calls>",
		openers: []opener{{literal: "<tool_calls>", use: useBody, then: "<tool_call>", body: tagBody(&hunyuanTags), closer: "</tool_calls>"}},
		write:   renderRow{head: "<tool_calls>", open: "<tool_call>", end: "</tool_call>", tail: "</tool_calls>", call: renderCallPairs(&hunyuanTags)}},
	{Name: "hunyuan-v4", Class: ClassTagged, Models: "Hunyuan v4",
		Summary: "as hunyuan-v3, with one suffix in every tag", Example: "<tool_calls:opensource><tool_call:opensource>N<arg_key:opensource>k</arg_key:opensource><arg_value:opensource>v</arg_value:opensource></tool_call:opensource></tool_calls:opensource>",
		openers: []opener{{literal: "<tool_calls:", use: useBody, body: newSuffixed}},
		write: renderRow{head: "<tool_calls:opensource>", open: "<tool_call:opensource>", end: "</tool_call:opensource>", tail: "</tool_calls:opensource>",
			call: renderCallPairs(suffixTags("opensource"))}},
	{Name: "k2-horizon", Class: ClassTagged, Models: "K2 Horizon",
		Summary: "as hunyuan-v3 with a prefix in every tag, or JSON", Example: "<ifm|tool_calls><ifm|tool_call>N<ifm|arg_key>k</ifm|arg_key><ifm|arg_value>v</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
		openers: []opener{
			{literal: "<ifm|tool_calls>", use: useBody, then: "<ifm|tool_call>", body: newHorizon, closer: "</ifm|tool_calls>"},
			{literal: "</ifm|tool_calls>", use: useEnd},
		},
		write: renderRow{head: "<ifm|tool_calls>", open: "<ifm|tool_call>", end: "</ifm|tool_call>", tail: "</ifm|tool_calls>", call: renderCallPairs(&horizonTags)}},
}

var pairTags = tagForm{bare: true, alone: true, nameEnd: "\n", paramOpen: "<arg_key>", paramEnd: "</arg_key>", valueOpen: "<arg_value>", paramClose: "</arg_value>",
	callOpen: "<tool_call>", callClose: "</tool_call>", untyped: shape.UntypedPython, object: &pairObject, objectIs: "poolside"}

// userTags are pairs in an element that prose has as well.
var userTags = func() tagForm {
	f := pairTags
	f.callOpen, f.callClose, f.object, f.needed = "<user>", "</user>", &userObject, true
	return f
}()

var pairObject = headerForm{callClose: "</tool_call>"}

var userObject = headerForm{callClose: "</user>"}

var quotedPairTags = func() tagForm {
	f := pairTags
	f.strings = true
	return f
}()

var hunyuanTags = func() tagForm {
	f := pairTags
	f.alone, f.nameClose, f.object, f.objectIs = false, "<tool_sep>", nil, ""
	return f
}()

// suffixTags returns the form in which every tag ends with a colon and the suffix.
func suffixTags(suffix string) *tagForm {
	end := ":" + suffix + ">"
	return &tagForm{bare: true, strict: true, nameEnd: "\n", paramOpen: "<arg_key" + end, paramEnd: "</arg_key" + end, valueOpen: "<arg_value" + end, paramClose: "</arg_value" + end,
		callOpen: "<tool_call" + end, callClose: "</tool_call" + end, untyped: shape.UntypedPython}
}

var horizonTags = tagForm{bare: true, nameEnd: "\n", paramOpen: "<ifm|arg_key>", paramEnd: "</ifm|arg_key>", valueOpen: "<ifm|arg_value>", paramClose: "</ifm|arg_value>",
	typeOpen: "<ifm|arg_type>", typeClose: "</ifm|arg_type>",
	callOpen: "<ifm|tool_call>", callClose: "</ifm|tool_call>", untyped: shape.UntypedPython}

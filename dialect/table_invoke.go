package dialect

import (
	"wield/dialect/internal/form"
	"wield/dialect/internal/render"
	"wield/schema/shape"
)

// The dialects with elements whose attribute is the name.
var invokeRows = []Dialect{
	{Name: "seed-oss", Class: classTagged, Models: "ByteDance Seed-OSS",
		Summary: "as qwen3-coder, in seed:tool_call",
		Example: "<seed:tool_call>\n<function=N>\n<parameter=k>v</parameter>\n</function>\n</seed:tool_call>",
		openers: []opener{{literal: "<seed:tool_call>", use: useBody, then: "<function=", body: tagBody(&seedTags),
			closer: "</seed:tool_call>"}},
		write: render.Row{Open: "<seed:tool_call>\n", End: "\n</seed:tool_call>",
			Call: render.CallTags(&functionTags)}},
	{Name: "deepseek-v4.1", Class: classTagged, Models: "DeepSeek V4.1",
		Summary: "as deepseek-dsml, with a space after the prefix, or a JSON object instead of parameters",
		Example: "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"N\">\n<｜DSML｜ parameter name=\"k\" string=\"true\">v</｜DSML｜ " +
			"parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
		openers: []opener{
			{literal: "<｜DSML｜ calls>", use: useBody, then: "<｜DSML｜ invoke name=", body: tagBody(spacedTags),
				closer: "</｜DSML｜ calls>"},
			{literal: "<｜DSML｜ invoke name=", use: useBody, body: tagBody(spacedTags)},
			{literal: "</｜DSML｜ calls>", use: useEnd},
		},
		write: render.Row{Head: "<｜DSML｜ calls>\n", End: "\n", Tail: "</｜DSML｜ calls>", Joined: true,
			Call: render.CallTags(spacedTags), Tools: render.ToolsElements("functions", ""),
			Results: &render.ResultsFunction}},
	{Name: "deepseek-dsml", Class: classTagged, Models: "DeepSeek V3.2, V4",
		Summary: "invoke and parameter elements with a prefix, and an attribute that tells strings from JSON",
		Example: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"N\">\n<｜DSML｜parameter name=\"k\" " +
			"string=\"true\">v</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		openers: []opener{
			{literal: "<｜DSML｜function_calls>", use: useBody, then: "<｜DSML｜invoke name=", body: tagBody(dsmlTags),
				closer: "</｜DSML｜function_calls>"},
			{literal: "<｜DSML｜tool_calls>", use: useBody, then: "<｜DSML｜invoke name=", body: tagBody(dsmlTags),
				closer: "</｜DSML｜tool_calls>"},
			{literal: "<｜DSML｜invoke name=", use: useBody, body: tagBody(dsmlTags)},
			{literal: "<｜DSML｜ calls>", use: useBody, then: "<｜DSML｜ invoke name=", body: tagBody(dsmlSpaced),
				closer: "</｜DSML｜ calls>"},
			{literal: "<｜DSML｜ invoke name=", use: useBody, body: tagBody(dsmlSpaced)},
		},
		write: render.Row{Head: "<｜DSML｜function_calls>\n", End: "\n", Tail: "</｜DSML｜function_calls>", Joined: true,
			Call: render.CallTags(dsmlTags), Tools: render.ToolsElements("functions", ""),
			Results: &render.ResultsFunction}},
	{Name: "gigachat35", Class: classTagged, Models: "GigaChat 3.5",
		Summary: "as deepseek-dsml, with another prefix", Example: "<｜GCML｜tool_calls>\n<｜GCML｜invoke " +
			"name=\"N\">\n<｜GCML｜parameter name=\"k\" " +
			"string=\"true\">v</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>",
		openers: []opener{
			{literal: "<｜GCML｜tool_calls>", use: useBody, then: "<｜GCML｜invoke name=", body: tagBody(gcmlTags),
				closer: "</｜GCML｜tool_calls>"},
			{literal: "<｜GCML｜invoke name=", use: useBody, body: tagBody(gcmlTags)},
		},
		write: render.Row{Head: "<｜GCML｜tool_calls>\n", End: "\n", Tail: "</｜GCML｜tool_calls>", Joined: true,
			Call: render.CallTags(gcmlTags)}},
	{Name: "minimax-m2", Class: classTagged, Models: "MiniMax M2",
		Summary: "invoke and parameter elements in minimax:tool_call",
		Example: "<minimax:tool_call>\n<invoke name=\"N\">\n<parameter " +
			"name=\"k\">v</parameter>\n</invoke>\n</minimax:tool_call>",
		openers: []opener{{literal: "<minimax:tool_call>", use: useBody, then: "<invoke name=",
			body: tagBody(invokeTags), closer: "</minimax:tool_call>"}},
		write: render.Row{Head: "<minimax:tool_call>\n", End: "\n", Tail: "</minimax:tool_call>", Joined: true,
			Call: render.CallTags(invokeTags), Tools: render.ToolsElements("tools", "tool"),
			Results: &render.ResultsMinimax}},
	{Name: "minimax-m3", Class: classTagged, Models: "MiniMax M3",
		Summary: "an element for each argument, with a prefix before every tag",
		Example: minimaxPrefix + "<tool_call>\n" + minimaxPrefix + "<invoke name=\"N\">" + minimaxPrefix + "<k>v" +
			minimaxPrefix + "</k>" + minimaxPrefix + "</invoke>\n" + minimaxPrefix + "</tool_call>",
		openers: []opener{{literal: minimaxPrefix + "<tool_call>", use: useBody, then: minimaxPrefix + "<invoke name=",
			body: tagBody(&elementTags), closer: minimaxPrefix + "</tool_call>"}},
		write: render.Row{Head: minimaxPrefix + "<tool_call>\n", End: "\n", Tail: minimaxPrefix + "</tool_call>",
			Joined: true, Call: render.CallTags(&elementTags)}},
	{Name: "anthropic-xml", Class: classTagged, Models: "instructed Claude models, and models that learned from them",
		Summary: "invoke and parameter elements in function_calls",
		Example: "<function_calls>\n<invoke name=\"N\">\n<parameter " +
			"name=\"k\">v</parameter>\n</invoke>\n</function_calls>",
		openers: []opener{
			{literal: "<function_calls>", use: useBody, then: "<invoke name=", body: tagBody(invokeTags),
				closer: "</function_calls>"},
			{literal: "<invoke name=", use: useBody, body: tagBody(invokeTags), lineStart: true},
			{literal: "<" + antml + "function_calls>", use: useBody, then: "<" + antml + "invoke name=",
				body: tagBody(antmlTags), closer: "</" + antml + "function_calls>"},
			{literal: "<" + antml + "invoke name=", use: useBody, body: tagBody(antmlTags), lineStart: true},
		},
		write: render.Row{Head: "<function_calls>\n", End: "\n", Tail: "</function_calls>", Joined: true,
			Call: render.CallTags(invokeTags), Tools: render.ToolsElements("functions", "function"),
			Results: &render.ResultsFunction}},
	{Name: "dots", Class: classTagged, Models: "dots",
		Summary: "invoke and parameter elements, or a JSON object, in dots_function_call",
		Example: "<dots_function_call><invoke name=\"N\"><parameter " +
			"name=\"k\">v</parameter></invoke></dots_function_call>",
		openers: []opener{
			{literal: "<dots_function_call>", use: useBody, then: "<invoke name=", body: tagBody(invokeTags),
				closer: "</dots_function_call>"},
			{literal: "<dots_function_call>", use: useJSON, closer: "</dots_function_call>"},
		},
		write: render.Row{Head: "<dots_function_call>", Tail: "</dots_function_call>", Joined: true,
			Call: render.CallTags(invokeTags)}},
	{Name: "step3", Class: classTagged, Models: "Step-3",
		Summary: "steptml elements between markers",
		Example: "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke " +
			"name=\"N\"><steptml:parameter " +
			"name=\"k\">v</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
		openers: []opener{
			{literal: "<｜tool_calls_begin｜>", use: useBody, body: tagSection(stepTags), closer: "<｜tool_calls_end｜>"},
			{literal: "<｜tool_call_begin｜>", use: useBody, body: tagSection(stepTags), closer: "<｜tool_call_end｜>"},
		},
		write: render.Row{Head: "<｜tool_calls_begin｜>", Open: "<｜tool_call_begin｜>function<｜tool_sep｜>",
			End: "<｜tool_call_end｜>", Tail: "<｜tool_calls_end｜>", Call: render.CallTags(stepTags)}},
	{Name: "minicpm5", Class: classTagged, Models: "MiniCPM5",
		Summary: "function and param elements", Example: "<function name=\"N\"><param name=\"k\">v</param></function>",
		openers: []opener{
			{literal: "<function name=", use: useBody, body: tagBody(&paramTags)},
			{literal: "<functionname=", use: useBody, body: tagBody(&paramTags)},
			{literal: "<functionĠname=", use: useBody, body: tagBody(&paramTags)},
		},
		write: render.Row{Call: render.CallTags(&paramTags)}},
}

// antml is the prefix that Anthropic's own elements may have.
const antml = "antml:"

// prefixedTags returns the form of invoke and parameter elements whose names begin with prefix.
func prefixedTags(prefix string) *form.Tags {
	return &form.Tags{NameEnd: ">", ParamOpen: "<" + prefix + "parameter name=", ParamEnd: ">",
		ParamClose: "</" + prefix + "parameter>", CallOpen: "<" + prefix + "invoke name=",
		CallClose: "</" + prefix + "invoke>", Quoted: true}
}

var (
	invokeTags = prefixedTags("")
	antmlTags  = prefixedTags(antml)
	dsmlTags   = meaningTags("｜DSML｜", "deepseek-dsml")
	spacedTags = meaningTags("｜DSML｜ ", "deepseek-v4.1")
	dsmlSpaced = meaningTags("｜DSML｜ ", "deepseek-dsml") // the same where deepseek-dsml is expected
	gcmlTags   = meaningTags("｜GCML｜", "gigachat35")
	stepTags   = func() *form.Tags {
		f := prefixedTags("steptml:")
		f.Untyped, f.Python = shape.UntypedPython, true
		f.Between = [4]string{"<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>", "function<｜tool_sep｜>"}
		return f
	}()
)

// meaningTags returns prefixedTags with attributes, and with JSON objects in place of parameters.
func meaningTags(prefix, dialect string) *form.Tags {
	f := prefixedTags(prefix)
	f.Attributes, f.Unwrap, f.Untyped = true, [2]string{"arguments", "input"}, shape.UntypedString
	f.Object = form.Object{Form: &form.Header{CallOpen: f.CallOpen, CallClose: f.CallClose, Then: f}, Dialect: dialect}
	return f
}

// minimaxPrefix stands before every tag, where no text would have it.
const minimaxPrefix = "]<]minimax[>["

var elementTags = form.Tags{NameEnd: ">", ParamOpen: minimaxPrefix + "<", ParamEnd: ">",
	ParamClose: minimaxPrefix + "</", CallOpen: minimaxPrefix + "<invoke name=",
	CallClose: minimaxPrefix + "</invoke>", Quoted: true, Elements: true}

var paramTags = form.Tags{NameEnd: ">", ParamOpen: "<param", ParamEnd: ">", ParamClose: "</param>",
	CallOpen: "<function name=", CallClose: "</function>", Quoted: true,
	AttributeTags: form.AttributeTags{Loose: true, Cdata: true, Unwrap: [2]string{"arguments", "properties"}}}

package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"wield/chat"
	"wield/schema"
	"wield/schema/shape"
)

// A ruleSet holds the words that teach one dialect. The layout is the same for all: what is there, the exact
// format, the rules, examples. It is that of the Tool Calling Protocol, whose own words are those of
// tool-call-tag.
type ruleSet struct {
	dialect string
	head    string // first line of the block, if it is framed
	tail    string // last line
	intro   string // before the definitions
	many    string // rule 1 where several calls are welcome
	syntax  string // rule 2
	name    string // rule 3
	args    string // rule 4
	results string // what results look like, in rule 5
	final   string // rule 6
	inline  bool   // a call may follow other text on its line
	framed  bool   // the definitions have a frame, of which intro speaks
	own     bool   // examples are those that the tools' descriptions have, written in the dialect
}

const (
	jsonIntro = "Use the tools below to accomplish tasks. They are not built in: to use one you MUST write the call " +
		"as text in your response, " +
		"as described here. You have the power to use them; the result is sent to you in the next message."
	tagIntro = "You may call one or more functions to assist with the user query.\n\nYou are provided with function " +
		"signatures within <tools></tools> XML tags:"
)

// anyRules teach a dialect that has no row: its example says how a call is written.
var anyRules = ruleSet{head: "=== CUSTOM TOOL PROTOCOL ===", tail: "=== END PROTOCOL ===", intro: jsonIntro,
	many: "You may use several tools in one response, as in the example one after the other",
	name: "The name must match exactly one of the available tools",
	args: "each call must include all required parameters", results: "the example shows",
	final: "respond normally without a call"}

// ruleSets has the rows.
var ruleSets = [...]ruleSet{
	{dialect: "json-fence", head: "=== CUSTOM TOOL PROTOCOL ===", tail: "=== END PROTOCOL ===", intro: jsonIntro,
		many:   "You may use several tools in one response: one code block for each call",
		syntax: "The JSON in the code block must be valid",
		name:   `"name" must match exactly one of the available tools`,
		args:   `"arguments" must include all required parameters`, results: "TOOL_RESULT",
		final: "respond normally without such a code block"},
	{dialect: "raw-json", head: "=== CUSTOM TOOL PROTOCOL ===", tail: "=== END PROTOCOL ===", intro: jsonIntro,
		many:   "You may use several tools in one response: one JSON object on a line of its own for each call",
		syntax: "The JSON must be valid and begin on a line of its own",
		name:   `"name" must match exactly one of the available tools`,
		args:   `"arguments" must include all required parameters`, results: "TOOL_RESULT",
		final: "respond normally without such JSON"},
	{dialect: "openai-envelope", intro: jsonIntro,
		many:   `You may use several tools in one response: one element of "tool_calls" for each call`,
		syntax: `The JSON must be valid and begin on a line of its own; "arguments" is a string that holds JSON`,
		name:   `"name" must match exactly one of the available tools`,
		args:   `"arguments" must include all required parameters`, results: "TOOL_RESULT",
		final: "respond normally without such JSON"},
	{dialect: "llf-shorthand", intro: jsonIntro,
		many:   "You may use several tools in one response: one JSON object on a line of its own for each call",
		syntax: "The JSON must be valid and begin on a line of its own",
		name:   `"function" must match exactly one of the available tools`,
		args:   `"arguments" must include all required parameters`, results: "TOOL_RESULT",
		final: "respond normally without such JSON"},
	{dialect: "tool-call-tag", intro: "You have access to these tools:", inline: true,
		many:   "You may use several tool calls in one response: one <TOOL_CALL> block for each",
		syntax: "JSON inside <TOOL_CALL> must be valid", name: `"tool" must match exactly one of the available tools`,
		args: `"args" must include all required parameters`, results: "TOOL_RESULT",
		final: "respond normally without any tags"},
	{dialect: "tool-request", intro: jsonIntro,
		many:   "The JSON object must be your whole response: nothing before it, nothing after it, no code block",
		syntax: "The JSON must be valid", name: `"name" must match exactly one of the available tools`,
		args: `"arguments" must include all required parameters`, results: "TOOL_RESULT",
		final: "respond normally without such JSON"},
	{dialect: "yaml-style", intro: "You have access to these tools:",
		many: "You may use several tools in one response: a TOOL line and an ARGS block for each, with an empty " +
			"line between them",
		syntax: "TOOL: begins a line; each argument is one line under ARGS:, indented by two spaces",
		name:   "TOOL must match exactly one of the available tools",
		args:   "ARGS must include all required parameters", results: "TOOL_RESULT",
		final: "respond normally without TOOL and ARGS lines"},
	{dialect: "cli-block", intro: "You have access to these tools:", own: true,
		many:   "You may use several tools in one response: one code block for each call",
		syntax: "The block must be closed; its fence must be longer than any fence in the text",
		name:   "The language of the block must match exactly one of the available tools",
		args: "The text in the block is the argument. Where a tool takes a path and a text, the first line is === " +
			"FILE: and the path; where it takes paths, each line is one. " +
			"Any other arguments are written as JSON in a block with the language json, with \"name\" and " +
			"\"arguments\". All required parameters must be included", results: "TOOL_RESULT",
		final: "respond normally without such a code block"},
	{dialect: "function-style", intro: "You have access to these tools:",
		many:   "You may use several tools in one response: one call on a line of its own for each",
		syntax: "The call must stand on a line of its own, with every argument named and strings in double quotes",
		name:   "The name must match exactly one of the available tools",
		args:   "The call must include all required parameters", results: "TOOL_RESULT",
		final: "respond normally without such a line"},
	{dialect: "xml-style", intro: "You have access to these tools:", inline: true,
		many:   "You may use several tools in one response: one <tool> element for each call",
		syntax: "Each argument is one <arg> element; write &lt; &gt; and &amp; for < > and & in values",
		name:   `"name" must match exactly one of the available tools`,
		args:   "The <tool> element must include all required parameters", results: "TOOL_RESULT",
		final: "respond normally without any tags"},
	{dialect: "hermes", intro: tagIntro, inline: true, framed: true,
		many: "You may call several functions in one response: one <tool_call> block for each",
		syntax: "For each function call, return a JSON object with function name and arguments within " +
			"<tool_call></tool_call> XML tags", name: `"name" must match exactly one of the functions`,
		args: `"arguments" must include all required parameters`, results: "<tool_response>",
		final: "respond normally without any tags"},
	{dialect: "qwen3-coder", intro: tagIntro, inline: true, framed: true,
		many: "You may call several functions in one response: one <tool_call> block for each",
		syntax: "Function calls MUST follow the specified format: an inner <function=...></function> block must be " +
			"nested within <tool_call></tool_call> XML tags",
		name: "The function must match exactly one of those above",
		args: "Required parameters MUST be specified", results: "<tool_response>",
		final: "respond normally without any tags"},
	{dialect: "pythonic", intro: "You have access to these tools:",
		many:   "You may use several tools in one response: [first(...), second(...)]",
		syntax: "The list of calls must begin a line, with every argument named, in Python syntax",
		name:   "The name must match exactly one of the available tools",
		args:   "Each call must include all required parameters", results: "TOOL_RESULT",
		final: "respond normally without such a list"},
}

func ruleSetOf(d variant) *ruleSet {
	for i := range ruleSets {
		if ruleSets[i].dialect == d.Name {
			return &ruleSets[i]
		}
	}
	return &anyRules
}

// A block is the tool block, whole and in its parts.
type block struct {
	tools string // the definitions
	rules string // the rules, with the definitions in them unless the template has those apart
}

// renderBlock writes the block. bare says that the client has no instructions of its own, so that the
// protocol's are all that the model is told.
func renderBlock(o *Options, d variant, tools []chat.Tool, bare bool) block {
	if len(tools) == 0 {
		return block{}
	}
	shown := tools
	if o.Prefix != "" {
		shown = make([]chat.Tool, len(tools))
		for i := range tools {
			shown[i] = tools[i]
			shown[i].Name = o.Prefix + tools[i].Name
		}
	}
	rules := ruleSetOf(d)
	b := block{tools: string(d.AppendTools(nil, rules.described(shown)))}
	definitions := b.tools
	if o.apart() {
		definitions = ""
	}
	switch {
	case o.ForTools == "":
		b.rules = rules.text(o, d, shown, definitions, bare)
	case strings.Contains(o.ForTools, "{{tools}}") || definitions == "":
		b.rules = expand(o.ForTools, variables{"prefix": o.Prefix, "tools": definitions})
	default:
		b.rules = expand(o.ForTools, variables{"prefix": o.Prefix}) + "\n\n" + definitions
	}
	return b
}

// apart reports whether the template places the definitions itself.
func (o *Options) apart() bool { return strings.Contains(o.Template, "{{tools}}") }

// text lays the block out.
func (r *ruleSet) text(o *Options, d variant, tools []chat.Tool, definitions string, bare bool) string {
	intro := r.intro
	if bare && r.dialect == protocolDialect {
		intro = "You are an AI coding assistant with access to these tools:"
	}
	if definitions != "" && !r.framed {
		definitions = "AVAILABLE TOOLS:\n" + definitions
	}
	parts := []string{r.head, intro, definitions}
	switch {
	case o.OnlyCalls != "":
		parts = append(parts, "Take the values of arguments from the query. Leave out optional parameters that the "+
			"query does not mention.")
	case r.dialect == protocolDialect:
		parts = append(parts, protocolFormat+r.format(d), "IMPORTANT RULES:\n"+numbered(d, r.protocolRules(o)),
			"EXAMPLES:\n"+r.examples(o.Schemas, d, tools))
	default:
		parts = append(parts, "TOOL CALLING PROTOCOL:\nWhen you need to use a tool, respond in the EXACT format of "+
			"this example:\n\n"+r.examples(o.Schemas, d, tools),
			"RULES:\n"+numbered(d, r.rules(o)))
	}
	parts = append(parts, r.tail)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// protocolDialect is the dialect of the Tool Calling Protocol, which says itself how it is taught.
const protocolDialect = "tool-call-tag"

const protocolFormat = "TOOL CALLING PROTOCOL:\nWhen you need to use a tool, respond with this EXACT format:\n\n"

// format shows the shape of a call in the words of the protocol.
func (r *ruleSet) format(d variant) string {
	b, _ := d.AppendCalls(nil,
		[]chat.Call{{Name: "tool_name", Arguments: `{"arg1": "value1"}`, Reasoning: "why you need this tool"}})
	return string(b)
}

// protocolRules are those of the protocol, one by one.
func (r *ruleSet) protocolRules(o *Options) []string {
	return append([]string{r.first(o), r.syntax, r.name, r.args,
		"After receiving " + r.results + ", you can make another tool call or provide final answer",
		"When you have the final answer, " + r.final}, prefixRule(o)...)
}

// rules are those of every other dialect.
func (r *ruleSet) rules(o *Options) []string {
	list := []string{r.first(o)}
	if r.syntax != "" {
		list = append(list, r.syntax)
	}
	return append(append(list, r.name+"; "+r.args,
		"The result comes back as "+r.results+". When you have what you need, or need no tool, "+r.final),
		prefixRule(o)...)
}

// first says how many calls a response may have.
func (r *ruleSet) first(o *Options) string {
	switch {
	case r.dialect == "tool-request" || o.MaxCalls == 0:
		return r.many
	case o.MaxCalls == 1:
		return "Use ONLY ONE tool call per response"
	}
	return fmt.Sprintf("%s, at most %d", r.many, o.MaxCalls)
}

func prefixRule(o *Options) []string {
	if o.Prefix == "" {
		return nil
	}
	return []string{"Every tool name begins with " + strconv.Quote(o.Prefix) + ". Do not remove it"}
}

func numbered(d variant, rules []string) string {
	var b strings.Builder
	for i, rule := range rules {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(i+1) + ". " + rule)
	}
	return d.words(b.String())
}

// exampleMark stands before the example in a description of a tool: its arguments as JSON.
const exampleMark = " Example: "

// ownExample parts the description of a tool from the example of its arguments at its end.
func ownExample(t *chat.Tool) (about, arguments string, ok bool) {
	i := strings.LastIndex(t.Description, exampleMark)
	if i < 0 {
		return t.Description, "", false
	}
	arguments = strings.TrimSpace(t.Description[i+len(exampleMark):])
	if !strings.HasPrefix(arguments, "{") || !json.Valid([]byte(arguments)) {
		return t.Description, "", false
	}
	return t.Description[:i], arguments, true
}

// described returns tools as the definitions show them: without examples where those are shown in the dialect.
func (r *ruleSet) described(tools []chat.Tool) []chat.Tool {
	if !r.own {
		return tools
	}
	list := make([]chat.Tool, len(tools))
	for i := range tools {
		list[i] = tools[i]
		list[i].Description, _, _ = ownExample(&tools[i])
	}
	return list
}

// mostExamples bounds the examples of tools.
const mostExamples = 12

// ownExamples shows a call of each tool whose description has an example.
func (r *ruleSet) ownExamples(d variant, tools []chat.Tool) string {
	var b strings.Builder
	n := 0
	for i := range tools {
		_, arguments, ok := ownExample(&tools[i])
		if !ok || n == mostExamples {
			continue
		}
		text, err := d.AppendCalls(nil, []chat.Call{{Name: tools[i].Name, Arguments: arguments}})
		if err != nil {
			continue // another dialect would have to be learned for it
		}
		n++
		b.WriteString("A call of " + inline(tools[i].Name) + ":\n" + string(text) + "\n\n")
	}
	return b.String()
}

// examples shows one round with a tool that is on offer, so that no example teaches a name that does not exist.
func (r *ruleSet) examples(schemas *schema.Cache, d variant, tools []chat.Tool) string {
	e := exampleOf(schemas, tools, r.own)
	text, err := d.AppendCalls(nil, []chat.Call{e.call})
	if err != nil { // the name cannot be written in this dialect
		fence, _ := variantOf("json-fence")
		text, _ = fence.AppendCalls(nil, []chat.Call{e.call})
	}
	between := "\n"
	if r.inline {
		between = " "
	}
	result := d.words(e.result)
	if r.dialect != protocolDialect || result == "" {
		result = string(d.AppendResultsAmong(nil, []chat.Result{{Name: e.call.Name, Parts: chat.Text(e.data)}}, tools))
		// an example is no result: it must not stand at the start of a line
		result = strings.ReplaceAll(result, "\n", " ")
	}
	before := ""
	if r.own {
		before = r.ownExamples(d, tools)
	}
	return before + "User: " + e.ask + "\nYou:" + between + string(text) + "\n\nSystem: " + result + "\n\nYou: " +
		e.answer
}

// An example is one round of a conversation.
type example struct {
	ask, data, result, answer string
	call                      chat.Call
}

// exampleOf makes an example: that of the Tool Calling Protocol if its tool is among those offered, else one
// of the first tool's that has parameters, with a value for each required one, or that of its description if own says
// so.
func exampleOf(schemas *schema.Cache, tools []chat.Tool, own bool) example {
	for i := range tools {
		if tools[i].Name != "read_file" {
			continue
		}
		s := schemas.Shape(tools[i].Parameters)
		if p, ok := s.Prop("path"); ok && p.Type().Any(shape.String) && !requires(s, "path") {
			return example{
				ask: `"What's in package.json?"`,
				call: chat.Call{Name: "read_file", Arguments: `{"path": "package.json"}`,
					Reasoning: "Need to read package.json to answer"},
				data:   `{"version": "1.0.0"}`,
				result: `TOOL_RESULT: {"success": true, "data": {"content": "{\"version\": \"1.0.0\"}"}}`,
				answer: "The package.json contains version 1.0.0",
			}
		}
	}
	t := &tools[0]
	for i := range tools { // one without parameters would not show how arguments are written
		if s := schemas.Shape(tools[i].Parameters); s != nil && len(s.Props) > 0 {
			t = &tools[i]
			break
		}
	}
	_, written, has := ownExample(t)
	arguments := sampleOf(schemas, t.Parameters)
	if arguments == "" {
		arguments = exampleValue(schemas.Shape(t.Parameters), 0)
		own = own || has // what its author wrote is nearer
	}
	if has && own {
		arguments = written
	}
	return example{
		ask:    "(asks for something that needs " + inline(t.Name) + ")",
		call:   chat.Call{Name: t.Name, Arguments: arguments, Reasoning: "why the tool is needed"},
		data:   "(what the tool found)",
		answer: "(the answer, which uses what the tool found)",
	}
}

// requires reports whether s requires a property other than name.
func requires(s *shape.Shape, name string) bool {
	for i := range s.Props {
		if s.Props[i].Required && s.Props[i].Name != name {
			return true
		}
	}
	return false
}

// exampleValue returns the JSON text of a value that has the shape s: for an object, one with its required properties.
func exampleValue(s *shape.Shape, depth int) string {
	t := s.Type()
	switch {
	case s != nil && len(s.Enum) > 0:
		return s.Enum[0]
	case depth == 0 || t.Any(shape.Object) && depth < 2:
		return exampleObject(s, depth)
	case t.Any(shape.String) || t == 0:
		return `"value"`
	case t.Any(shape.Integer | shape.Number):
		return "1"
	case t.Any(shape.Boolean):
		return "true"
	case t.Any(shape.Array):
		return "[]"
	case t.Any(shape.Object):
		return "{}"
	}
	return "null"
}

// exampleObject returns an object of the required members.
func exampleObject(s *shape.Shape, depth int) string {
	var members []string
	for i := 0; s != nil && i < len(s.Props); i++ {
		if p := &s.Props[i]; p.Required {
			key, _ := json.Marshal(p.Name)
			members = append(members, string(key)+": "+exampleValue(p.Shape, depth+1))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// inline returns a name for use in a sentence: as it is when it is nothing but letters, digits and the signs that join
// them, else quoted so that it cannot break out.
func inline(s string) string {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/", r) {
			return strings.ReplaceAll(strconv.QuoteToASCII(s), "<", `\u003c`)
		}
	}
	return s
}

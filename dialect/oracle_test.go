package dialect_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/schema"
	"wield/schema/shape"
)

// oracleNames are names of tools: plain ones, and words that are markers or keys of some dialect.
var oracleNames = []string{"find", "find_all", "tool_call", "function", "name", "TOOL", "arguments", "tool",
	"get.time", "a-b", "x1", "think", "parameter", "args", "TOOL_CALL", "json"}

var oracleTools = func() []shape.Tool {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{
		"q":{"type":"string"},"name":{"type":"string"},"arguments":{"type":"string"},"n":{"type":"integer"},"x":{"type":"number"},"b":{"type":"boolean"},
		"l":{"type":"array","items":{"type":"string"}},"o":{"type":"object","properties":{"k":{"type":"string"},"m":{"type":"integer"}}}}}`))
	if err != nil {
		panic(err)
	}
	var tools []shape.Tool
	for _, n := range oracleNames {
		tools = append(tools, shape.Tool{Name: n, Args: s.Shape()})
	}
	return tools
}()

// An argument is its key and its value as JSON.
type argument struct{ key, json string }

// A written is a call as it must be read.
type written struct {
	name string
	args []argument
}

// value returns the arguments as a value in which numbers keep their text.
func (w written) value() string {
	m := make(map[string]any)
	for _, f := range w.args {
		m[f.key] = decoded(f.json)
	}
	return canonical(m)
}

func decoded(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "no JSON: " + text
	}
	return v
}

func canonical(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// fragments are what strings are made of. None holds a whole call.
var fragments = []string{"soup", " ", "two words", "é", "汤", "🍜", "\"", "'", "\\", "\n", "\t", "{", "}", "[", "]", "(",
	")", "</tool_call>", "<tool_call>", "```", "`",
	"</TOOL_CALL>", "<think>", "</think>", "TOOL: find", "//", "#", "/*", ":", ",", ";", "=", "&amp;", "a_b", "\\n",
	"\\u0041", "true", "12", "$", "%", "<", ">", "|", "\r\n", "null"}

func drawString(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 4).Draw(t, "string"), "")
}

// oracleNumbers are whole ones first. Where the text of an argument has no type of its own, those of the last group
// become whole numbers too.
var oracleNumbers = []string{"0", "7", "-3", "12345678901234567890123", "1.50", "2.5E-10", "100000000000000000.1",
	"-0.0", "1e5", "3.0"}

// drawCall draws a call that style s can carry.
func drawCall(t *rapid.T, s style) written {
	numbers := oracleNumbers
	if s.untyped {
		numbers = numbers[:7]
	}
	w := written{name: rapid.SampledFrom(oracleNames).Draw(t, "name")}
	str := func() string {
		text := drawString(t)
		if !s.keep(text) {
			text = "plain"
		}
		return quoteJSON(t, text)
	}
	for _, key := range []string{"q", "name", "arguments", "n", "x", "b", "l", "o"} {
		if rapid.IntRange(0, 2).Draw(t, "with "+key) > 0 {
			continue
		}
		var v string
		switch key {
		case "n":
			v = rapid.SampledFrom(oracleNumbers[:4]).Draw(t, "n")
		case "x":
			v = rapid.SampledFrom(numbers).Draw(t, "x")
		case "b":
			v = strconv.FormatBool(rapid.Bool().Draw(t, "b"))
		case "l":
			var l []string
			for range rapid.IntRange(0, 3).Draw(t, "size") {
				l = append(l, str())
			}
			v = "[" + strings.Join(l, ",") + "]"
		case "o":
			v = fmt.Sprintf(`{"k":%s,"m":%s}`, str(), rapid.SampledFrom(oracleNumbers[:4]).Draw(t, "m"))
		default:
			v = str()
		}
		w.args = append(w.args, argument{key, v})
	}
	return w
}

// quoteJSON writes s as JSON, with more or fewer escapes.
func quoteJSON(t *rapid.T, s string) string {
	style := rapid.IntRange(0, 2).Draw(t, "escapes")
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '/' && style == 1:
			b.WriteString(`\/`)
		case r == '\n' && style < 2:
			b.WriteString(`\n`)
		case r == '\t' && style < 2:
			b.WriteString(`\t`)
		case r < 0x20 || style == 2 && r >= 0x80 && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case style == 2 && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xD800+(r>>10), 0xDC00+(r&0x3FF))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// object writes the arguments as a JSON object.
func object(t *rapid.T, w written) string {
	colon, comma, open, close := ":", ",", "{", "}"
	switch rapid.IntRange(0, 2).Draw(t, "space") {
	case 1:
		colon, comma = ": ", ", "
	case 2:
		colon, comma, open, close = " : ", ",\n    ", "{\n    ", "\n  }"
	}
	var fields []string
	for _, f := range w.args {
		fields = append(fields, quoteJSON(t, f.key)+colon+f.json)
	}
	return open + strings.Join(fields, comma) + close
}

// pair writes a call as an object with the two keys, in either order.
func pair(t *rapid.T, w written, name, args string) string {
	n, a := fmt.Sprintf("%q: %q", name, w.name), fmt.Sprintf("%q: %s", args, object(t, w))
	if rapid.IntRange(0, 3).Draw(t, "order") == 0 {
		n, a = a, n
	}
	return "{" + n + ", " + a + "}"
}

// literal writes a JSON value as Python does.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return canonicalPython(v)
	case json.Number:
		return v.String()
	case []any:
		var items []string
		for _, e := range v {
			items = append(items, literal(e))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	m := v.(map[string]any)
	var items []string
	for _, k := range []string{"k", "m"} {
		items = append(items, canonicalPython(k)+": "+literal(m[k]))
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// canonicalPython writes a string in the quotes that Python prefers.
func canonicalPython(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) +
		quote
}

func keywords(w written) string {
	var args []string
	for _, f := range w.args {
		args = append(args, f.key+"="+literal(decoded(f.json)))
	}
	return w.name + "(" + strings.Join(args, ", ") + ")"
}

// tagged writes a call with an element for each argument.
func tagged(w written, open, arg, closeArg, end string) string {
	var b strings.Builder
	fmt.Fprintf(&b, open, w.name)
	for _, f := range w.args {
		v := decoded(f.json)
		text, ok := v.(string)
		if !ok {
			text = f.json
		}
		fmt.Fprintf(&b, arg, f.key)
		b.WriteString(text + closeArg)
	}
	return b.String() + end
}

// A style writes calls in one dialect.
type style struct {
	dialect string
	untyped bool                // its values are typed by the schema
	keep    func(s string) bool // the strings that it can carry
	write   func(t *rapid.T, w written) string
}

// between returns how a dialect writes a JSON call between two literals.
func between(open, close, name, args string) func(t *rapid.T, w written) string {
	return func(t *rapid.T, w written) string { return open + pair(t, w, name, args) + close }
}

func anyString(string) bool { return true }

func noTags(s string) bool { return !strings.ContainsAny(s, "<\r") }

func isIdentifier(s string) bool { return !strings.ContainsAny(s, ".-") }

// oracleStyles are the dialects. Names with a dot or a hyphen, and calls without arguments, are left out where a line
// may be mistaken for prose.
var oracleStyles = []style{
	{"hermes", false, anyString, func(t *rapid.T, w written) string {
		return "<tool_call>\n" + pair(t, w, "name", "arguments") + "\n</tool_call>"
	}},
	{"hermes", false, anyString, func(t *rapid.T, w written) string {
		return "<tool_call>" + pair(t, w, "name", "arguments") + "</tool_call>"
	}},
	{"tool-call-tag", false, anyString, func(t *rapid.T, w written) string {
		return "<TOOL_CALL>\n" + pair(t, w, "tool", "args") + "\n</TOOL_CALL>"
	}},
	{"json-fence", false, anyString, func(t *rapid.T, w written) string {
		return "```json\n" + pair(t, w, "name", "arguments") + "\n```"
	}},
	{"json-fence", false, anyString, func(t *rapid.T, w written) string {
		return "~~~~\n" + pair(t, w, "name", "parameters") + "\n~~~~"
	}},
	{"raw-json", false, anyString, func(t *rapid.T, w written) string { return pair(t, w, "name", "arguments") }},
	{"llf-shorthand", false, anyString, func(t *rapid.T, w written) string {
		return pair(t, w, "function", "arguments")
	}},
	{"openai-envelope", false, anyString, func(t *rapid.T, w written) string {
		return fmt.Sprintf(
			`{"tool_calls": [{"id": "c", "type": "function", "function": {"name": %q, "arguments": %s}}]}`, w.name,
			quoteJSON(t, object(t, w)))
	}},
	{"longcat", false, anyString, between("<longcat_tool_call>", "</longcat_tool_call>", "name", "arguments")},
	{"tool-calls-json", false, anyString, between("<tool_calls>[", "]</tool_calls>", "name", "arguments")},
	{"tool-calls-json", false, anyString, between("<tool_calls>\n", "\n</tool_calls>", "name", "arguments")},
	{"nemotron", false, anyString, between("<TOOLCALL>[", "]</TOOLCALL>", "name", "arguments")},
	{"granite3", false, anyString, between("<|tool_call|> [", "]", "name", "arguments")},
	{"granite3", false, anyString, between("<tool_call> [", "]", "name", "arguments")},
	{"granite-20b-fc", false, anyString, between("<function_call> ", "", "name", "arguments")},
	{"functools", false, anyString, between("functools[", "]", "name", "arguments")},
	{"llama3-json", false, anyString, between("<|python_tag|>", "", "name", "parameters")},
	{"mistral-array", false, anyString, between("[TOOL_CALLS] [", "]", "name", "arguments")},
	{"internlm2", false, anyString, between("<|action_start|> <|plugin|>\n", "<|action_end|>\n", "name", "parameters")},
	{"gigachat3", false, anyString, between("<|message_sep|>\n\nfunction call<|role_sep|>\n", "", "name", "arguments")},
	{"gigachat3", false, anyString, between("<|function_call|>", "", "name", "arguments")},
	{"pangu", false, anyString, between("<|tool_call_start|>[", "]<|tool_call_end|>", "name", "arguments")},
	{"apertus", false, anyString, func(t *rapid.T, w written) string {
		return fmt.Sprintf("<|tools_prefix|>[{%q: %s}]<|tools_suffix|>", w.name, object(t, w))
	}},
	{"cohere", false, anyString, between("<|START_ACTION|>[\n    ", "\n]<|END_ACTION|>", "tool_name", "parameters")},
	{"hyperclovax", false, anyString, between("-> tool/function_call\n[", "]", "name", "arguments")},
	{"label-json", false, anyString, between("**Tool Call:**\n```json\n", "\n```", "name", "arguments")},
	{"label-json", false, anyString, between("Action:\n", "", "tool_name", "parameters")},
	{"qwen3-coder", true, noTags, func(t *rapid.T, w written) string {
		return tagged(w, "<tool_call>\n<function=%s>\n", "<parameter=%s>\n", "\n</parameter>\n",
			"</function>\n</tool_call>")
	}},
	{"xml-style", true, func(s string) bool {
		return noTags(s) && !strings.Contains(s, "&") && strings.TrimSpace(s) == s && s != ""
	}, func(t *rapid.T, w written) string {
		return tagged(w, "<tool name=\"%s\">\n", "  <arg name=\"%s\">", "</arg>\n", "</tool>")
	}},
	{"pythonic", false, anyString, func(t *rapid.T, w written) string { return "[" + keywords(w) + "]" }},
	{"function-style", false, anyString, func(t *rapid.T, w written) string { return keywords(w) }},
	{"yaml-style", true, anyString, func(t *rapid.T, w written) string {
		var b strings.Builder
		b.WriteString("TOOL: " + w.name + "\nARGS:\n")
		for _, f := range w.args {
			b.WriteString("  " + f.key + ": " + f.json + "\n")
		}
		return b.String()
	}},
}

// drawWritten draws a call and writes it in a style that can carry it.
func drawWritten(t *rapid.T) (written, string, string) {
	s := rapid.SampledFrom(oracleStyles).Draw(t, "style")
	w := drawCall(t, s)
	if s.dialect == "pythonic" || s.dialect == "function-style" {
		if !isIdentifier(w.name) || len(w.args) == 0 {
			w.name = "find"
		}
		if len(w.args) == 0 {
			w.args = []argument{{"n", "7"}}
		}
	}
	return w, s.dialect, s.write(t, w)
}

var proses = []string{"Some words.", "Let me look that up for you:", "A table | of things, (maybe) 3 < 4 & 5 > 2.",
	"Ünïcödé 汤 🍜.", "**Bold** and `code` and ``more``.", "- an item\n- another",
	"> a quotation of {\"name\":\"find\",\"arguments\":{}}", "The price is $5; {x} and [y].",
	"```go\nfind(q=\"x\")\n```", "1. one\n2. two", "Is it so? \"Yes\", she said."}

// A part is a call, or prose if it has no name.
type part struct {
	written
	dialect, text string
}

// drawParts draws prose and calls by turns.
func drawParts(t *rapid.T) []part {
	var parts []part
	for range rapid.IntRange(1, 4).Draw(t, "calls") {
		if rapid.IntRange(0, 2).Draw(t, "prose before") > 0 {
			parts = append(parts, part{text: rapid.SampledFrom(proses).Draw(t, "prose")})
		}
		w, d, text := drawWritten(t)
		parts = append(parts, part{w, d, text})
	}
	if rapid.Bool().Draw(t, "prose after") {
		parts = append(parts, part{text: rapid.SampledFrom(proses).Draw(t, "prose")})
	}
	return parts
}

func join(parts []part) (text string) {
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.text)
	}
	return strings.Join(texts, "\n\n")
}

// same says how the calls that were read differ from those that were written, or "".
func same(parts []part, got *dialect.Collector) string {
	k := 0
	for _, p := range parts {
		if p.name == "" {
			continue
		}
		if k == len(got.Calls) {
			return fmt.Sprintf("call %d, %s%s, is missing", k, p.name, p.value())
		}
		c := got.Calls[k]
		if c.Name != p.name || !c.Complete || canonical(decoded(c.Arguments)) != p.value() {
			return fmt.Sprintf("call %d: want %s%s, got %s%s, complete=%t", k, p.name, p.value(), c.Name, c.Arguments,
				c.Complete)
		}
		k++
	}
	if k < len(got.Calls) {
		return fmt.Sprintf("call %d, %s%s, was never written", k, got.Calls[k].Name, got.Calls[k].Arguments)
	}
	return ""
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestWrittenIsRead writes calls in all dialects with prose between them. Whatever the level of repair, exactly these
// must be read, and the content must be exactly the prose.
func TestWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := drawParts(t)
		text := join(parts)
		o := dialect.Options{Tools: oracleTools, Repair: dialect.Repair(rapid.IntRange(0, 2).Draw(t, "repair"))}
		reasoning := ""
		if rapid.IntRange(0, 3).Draw(t, "reasoning") == 0 {
			reasoning = "Hm, " + join(drawParts(t))
			if strings.Contains(reasoning, "think>") {
				reasoning = "Hm, <tool_call>\n{\"name\":\"find\",\"arguments\":{}}\n</tool_call>"
			}
			text = "<think>\n" + reasoning + "\n</think>\n" + text
		}
		got, err := dialect.Parse(text, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := same(parts, got); diff != "" {
			t.Fatalf("%q at %v: %s", text, o.Repair, diff)
		}
		var prose []string
		for _, p := range parts {
			if p.name == "" {
				prose = append(prose, p.text)
			}
		}
		if want := squeezed(strings.Join(prose, "\n")); squeezed(got.Content()) != want {
			t.Fatalf("%q: content %q, want %q", text, got.Content(), want)
		}
		if squeezed(got.Reasoning()) != squeezed(reasoning) {
			t.Fatalf("%q: reasoning %q, want %q", text, got.Reasoning(), reasoning)
		}
		if o.Repair == dialect.RepairOff && len(got.Rejected) > 0 {
			t.Fatalf("%q: rejected: %v", text, got.Rejected)
		}
		if len(text) < 800 {
			if err := dialecttest.All(maker(o), text); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}

// TestBrokenNeighbour breaks one call: the calls before it must stay as they were, and so must those behind it unless
// the break opened a string or a bracket.
func TestBrokenNeighbour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := drawParts(t)
		var calls []int
		for i, p := range parts {
			if p.name != "" {
				calls = append(calls, i)
			}
		}
		k := rapid.SampledFrom(calls).Draw(t, "victim")
		broken, contained := breakCall(t, parts[k])
		if !utf8.ValidString(broken) {
			return
		}
		was := parts[k]
		parts[k].text = broken
		text := join(parts)
		o := dialect.Options{Tools: oracleTools, Repair: dialect.Repair(rapid.IntRange(0, 2).Draw(t, "repair"))}
		got, err := dialect.Parse(text, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := dialecttest.Quick(maker(o), text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		before, after := &dialect.Collector{}, &dialect.Collector{}
		n := 0
		for _, p := range parts[:k] {
			if p.name != "" {
				n++
			}
		}
		before.Calls = got.Calls[:min(n, len(got.Calls))]
		if diff := same(parts[:k], before); diff != "" {
			t.Fatalf("%q at %v: %s of %q broken to %q: before it, %s", text, o.Repair, was.dialect, was.text, broken,
				diff)
		}
		n = 0
		for _, p := range parts[k+1:] {
			if p.name != "" {
				n++
			}
		}
		after.Calls = got.Calls[max(0, len(got.Calls)-n):]
		if diff := same(parts[k+1:], after); contained && diff != "" {
			t.Fatalf("%q at %v: %s of %q broken to %q: behind it, %s", text, o.Repair, was.dialect, was.text, broken,
				diff)
		}
	})
}

// breakCall changes the text of a call, and reports whether no string or bracket was opened by that.
func breakCall(t *rapid.T, p part) (text string, contained bool) {
	text = p.text
	i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
	switch rapid.IntRange(0, 3).Draw(t, "break") {
	case 0: // another name
		// Where the opener held the name first, a fence in a value is one of the text.
		return strings.Replace(text, p.name, "nope", 1), !strings.Contains(text, "```") ||
			!strings.Contains(text, "<"+p.name)
	case 1: // a letter or a digit is lost
		if c := text[i]; c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
			return text[:i] + text[i+1:], text[0] != '<' && (i == 0 || text[i-1] != '\\')
		}
	case 2: // any byte is lost
		return text[:i] + text[i+1:], false
	}
	return text[:i] + rapid.SampledFrom(pieces).Draw(t, "piece") + text[i:], false
}

package compose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A weight is the content of a request of any protocol.
type weight struct {
	said  []saidMessage
	tools []offeredTool
	stop  []string
	extra object // fields of every protocol

	legacy bool // where a protocol has functions instead of tools: calls and results have names for ids
}

type saidMessage struct {
	role  string
	parts []string
	calls []saidCall
	of    string // the call that a result belongs to

	thoughts []string
}

type saidCall struct{ id, name, args string }

type offeredTool struct {
	name       string
	parameters string
}

func many(n int, f func(i int) saidMessage) (list []saidMessage) {
	for i := range n {
		list = append(list, f(i))
	}
	return list
}

func says(role string, parts ...string) saidMessage { return saidMessage{role: role, parts: parts} }

func oneTool(parameters string) []offeredTool { return []offeredTool{{"f", parameters}} }

func list(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f(i))
	}
	return b.String()
}

var hi = []saidMessage{says("user", "hi")}

var weatherTool = []offeredTool{
	{"get_weather", `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`}}

const openSchema = `{"type":"object","properties":{"x":{"type":"string"}}}`

// dimensions are the ways in which a request can grow.
var dimensions = []struct {
	name    string
	history bool // it is about what was said before, and not about tools
	weight  func(n int) weight
}{
	{"messages in turns", true, func(n int) weight {
		return weight{said: many(n, func(i int) saidMessage { return says([]string{"user", "assistant"}[i%2], "a") })}
	}},
	{"messages of a user", true, func(n int) weight {
		return weight{said: many(n, func(i int) saidMessage { return says("user", "a") })}
	}},
	{"messages of the assistant", true, func(n int) weight {
		return weight{said: append(many(n, func(i int) saidMessage { return says("assistant", "a") }), hi...)}
	}},
	{"instructions", true, func(n int) weight {
		return weight{said: append(many(n, func(i int) saidMessage { return says("system", "a") }), hi...)}
	}},
	{"instructions in items", true, func(n int) weight {
		items := make([]any, n)
		for i := range items {
			items[i] = object{"role": "system", "content": "a"}
		}
		return weight{said: hi, extra: object{"instructions": items}}
	}},
	{"empty messages", true, func(n int) weight {
		return weight{said: append(many(n, func(i int) saidMessage { return says("user", "") }), hi...)}
	}},
	{"thoughts", true, func(n int) weight {
		m := says("assistant", "a")
		for range n {
			m.thoughts = append(m.thoughts, strings.Repeat("a thought ", 10))
		}
		return weight{said: []saidMessage{hi[0], m, hi[0]}}
	}},
	{"parts", true, func(n int) weight {
		return weight{said: []saidMessage{{role: "user", parts: strings.Split(strings.Repeat("a", n), "")}}}
	}},
	{"parts of the assistant", true, func(n int) weight {
		return weight{
			said: append([]saidMessage{{role: "assistant", parts: strings.Split(strings.Repeat("a", n), "")}}, hi...)}
	}},
	{"calls and results", true, func(n int) weight {
		return weight{said: rounds(1, n, 0), tools: oneTool(openSchema)}
	}},
	{"calls, results backwards", true, func(n int) weight {
		return weight{said: rounds(1, n, 1), tools: oneTool(openSchema)}
	}},
	{"calls of one id", true, func(n int) weight { return weight{said: rounds(1, n, 2), tools: oneTool(openSchema)} }},
	{"calls without results", true, func(n int) weight {
		return weight{said: append(append(hi, rounds(1, n, 3)[1]), hi...), tools: oneTool(openSchema)}
	}},
	{"calls with a missing result", true, func(n int) weight {
		s := rounds(1, n, 0)
		return weight{said: s[:len(s)-1], tools: oneTool(openSchema)}
	}},
	{"rounds", true, func(n int) weight { return weight{said: rounds(n, 1, 0), tools: oneTool(openSchema)} }},
	{"rounds of one id", true, func(n int) weight { return weight{said: rounds(n, 1, 2), tools: oneTool(openSchema)} }},
	{"rounds late results", true, func(n int) weight {
		var calls, results []saidMessage
		for _, m := range rounds(n, 1, 0) {
			if m.role == "tool" {
				results = append(results, m)
			} else {
				calls = append(calls, m)
			}
		}
		return weight{said: append(calls, results...), tools: oneTool(openSchema)}
	}},
	{"results without calls", true, func(n int) weight {
		return weight{said: append(many(n, func(i int) saidMessage {
			return saidMessage{role: "tool", parts: []string{"r"}, of: "c" + strconv.Itoa(i)}
		}), hi...), tools: oneTool(openSchema)}
	}},
	{"results of one call", true, func(n int) weight {
		s := rounds(1, 1, 0)
		return weight{said: append(s, many(n, func(i int) saidMessage { return s[2] })...), tools: oneTool(openSchema)}
	}},
	{"results without calls at the end", true, func(n int) weight {
		return weight{said: append(hi, many(n, func(i int) saidMessage {
			return saidMessage{role: "tool", parts: []string{"r"}, of: "c" + strconv.Itoa(i)}
		})...), tools: oneTool(openSchema)}
	}},
	{"results of functions", true, func(n int) weight {
		return weight{said: append(hi, many(n, func(i int) saidMessage {
			return saidMessage{role: "tool", parts: []string{"r"}, of: "f" + strconv.Itoa(i)}
		})...), tools: oneTool(openSchema), legacy: true}
	}},
	{"results of functions backwards", true, func(n int) weight {
		var calls, results []saidMessage
		for _, m := range rounds(n, 1, 0)[1:] {
			if m.role == "tool" {
				results = append(results, m)
			} else {
				calls = append(calls, m)
			}
		}
		slices.Reverse(results)
		return weight{said: slices.Concat(hi, calls, results), tools: oneTool(openSchema), legacy: true}
	}},
	{"broken arguments", true, func(n int) weight { return argued("{" + strings.Repeat(`"a":`, n)) }},
	{"arguments with bare keys", true, func(n int) weight { return repeated("{", "a:1,", "}", n) }},
	{"arguments with many bare keys", true, func(n int) weight {
		return inCalls(n, func(n int) string {
			return "{" + list(n, func(i int) string { return "k" + strconv.Itoa(i) + ":1" }) + "}"
		})
	}},
	{"arguments in single quotes", true, func(n int) weight { return repeated("{", "'a':'b',", "}", n) }},
	{"arguments in single quotes, cut", true, func(n int) weight { return repeated("{", "'a':'b',", "", n) }},
	{"arguments with a list of Python", true, func(n int) weight { return repeated("{'a':[", "'b',", "]}", n) }},
	{"arguments with words of Python", true, func(n int) weight { return repeated("{'a':[", "True,", "]}", n) }},
	{"arguments with comments", true, func(n int) weight { return repeated("{", "//x\n", "}", n) }},
	{"arguments that replace one another", true, func(n int) weight {
		return inCalls(n, func(n int) string {
			return "{b:'" + strings.Repeat("b", 4*n) + "'" + strings.Repeat(",a:1,a:2", n/2) + "}"
		})
	}},
	{"deep arguments", true, func(n int) weight {
		return argued(`{"a":` + strings.Repeat(`[`, min(n, 9000)) + strings.Repeat(`]`, min(n, 9000)) + `}`)
	}},
	{"broken calls", true, func(n int) weight {
		s := rounds(1, n, 0)
		for i := range s[1].calls {
			s[1].calls[i].args = "{x"
		}
		return weight{said: s, tools: oneTool(openSchema)}
	}},
	{"markers in results", true, func(n int) weight {
		s := rounds(1, 1, 0)
		s[2].parts = []string{strings.Repeat("<tool_call>", n)}
		return weight{said: s, tools: oneTool(openSchema)}
	}},
	{"markers", true, func(n int) weight {
		return weight{said: []saidMessage{says("user", strings.Repeat("<tool_call>{", n))}, tools: oneTool(openSchema)}
	}},
	{"markers of the assistant", true, func(n int) weight {
		return weight{
			said:  append([]saidMessage{says("assistant", strings.Repeat("<tool_call>{\"tool_request\":", n))}, hi...),
			tools: oneTool(openSchema)}
	}},
	{"newlines in instructions", true, func(n int) weight {
		return weight{said: append([]saidMessage{says("system", "a"+strings.Repeat("\n", n)+"b")}, hi...),
			tools: oneTool(openSchema)}
	}},
	{"templates in instructions", true, func(n int) weight {
		return weight{said: append([]saidMessage{says("system", strings.Repeat("{{#if x}}", n))}, hi...),
			tools: oneTool(openSchema)}
	}},
	{"tools", false, func(n int) weight {
		l := weight{said: hi}
		for i := range n {
			l.tools = append(l.tools, offeredTool{"f" + strconv.Itoa(i), openSchema})
		}
		return l
	}},
	{"tools of different schemas", false, func(n int) weight {
		l := weight{said: hi}
		for i := range n {
			l.tools = append(l.tools,
				offeredTool{"f" + strconv.Itoa(i), strings.ReplaceAll(openSchema, `"x"`, `"x`+strconv.Itoa(i)+`"`)})
		}
		return l
	}},
	{"tools that differ by a dot", false, func(n int) weight {
		l := weight{said: rounds(1, n, 0)}
		for i := range n {
			l.tools = append(l.tools, offeredTool{"f" + strings.Repeat("_", i%50) + strconv.Itoa(i), openSchema})
		}
		return l
	}},
	{"tools allowed", false, func(n int) weight {
		l := weight{said: hi, extra: object{}}
		var names []any
		for i := range n {
			l.tools = append(l.tools, offeredTool{"f" + strconv.Itoa(i), openSchema})
			names = append(names, object{"type": "function", "name": "f" + strconv.Itoa(i),
				"function": object{"name": "f" + strconv.Itoa(i)}})
		}
		l.extra["tool_choice"] = object{"type": "allowed_tools", "mode": "auto", "tools": names,
			"allowed_tools": object{"mode": "auto", "tools": names}}
		return l
	}},
	{"the names of tools", false, func(n int) weight {
		return weight{said: hi, tools: []offeredTool{{strings.Repeat("f", n), openSchema}}}
	}},
	{"calls of a long name", false, func(n int) weight {
		s := rounds(1, 1, 0)
		s[1].calls[0].name = strings.Repeat("f", n)
		return weight{said: s, tools: []offeredTool{{strings.Repeat("f", 60), openSchema}}}
	}},
	{"ids", false, func(n int) weight {
		s := rounds(1, 1, 0)
		s[1].calls[0].id, s[2].of = strings.Repeat("c_", n), strings.Repeat("c_", n)
		return weight{said: s, tools: oneTool(openSchema)}
	}},
	{"schema width", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{` +
				list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`)}
	}},
	{"required properties", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{` +
				list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `},"required":[` +
				list(n, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `],"additionalProperties":false}`)}
	}},
	{"required only", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","required":[` +
				list(n, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `]}`)}
	}},
	{"schema depth", false, func(n int) weight {
		return weight{said: hi, tools: oneTool(nested(`{"type":"object","properties":{"p":`, `}}`, min(n, 4900)))}
	}},
	{"schema depth of arrays", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":` +
				nested(`{"type":"array","items":`, `}`, min(n, 9900)) + `}}`)}
	}},
	{"enum", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":{"enum":[` +
				list(n, func(i int) string { return fmt.Sprintf(`"e%d"`, i) }) + `]}}}`)}
	}},
	{"enum of numbers", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":{"enum":[` + list(n, strconv.Itoa) + `]}}}`)}
	}},
	{"enum of objects", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":{"enum":[` +
				list(n, func(i int) string { return fmt.Sprintf(`{"e":%d}`, i) }) + `]}}}`)}
	}},
	{"types", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":{"type":[` +
				list(n, func(i int) string { return `"string"` }) + `]}}}`)}
	}},
	{"anyOf", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":{"anyOf":[` +
				list(n, func(i int) string { return fmt.Sprintf(`{"const":"e%d"}`, i) }) + `]}}}`)}
	}},
	{"anyOf of objects", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":{"anyOf":[` +
				list(n, func(i int) string { return fmt.Sprintf(`{"type":"object","properties":{"q%d":{}}}`, i) }) +
				`]}}}`)}
	}},
	{"allOf", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","allOf":[` +
				list(n, func(i int) string { return fmt.Sprintf(`{"properties":{"q%d":{}}}`, i) }) + `]}`)}
	}},
	{"allOf deep", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":` + nested(`{"allOf":[`, `]}`, min(n, 4900)) + `}}`)}
	}},
	{"references in a row", false, func(n int) weight {
		return weight{said: hi, tools: oneTool(`{"type":"object","properties":{"p":{"$ref":"#/$defs/d0"}},"$defs":{` +
			list(n, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1) }) +
			fmt.Sprintf(`,"d%d":{"type":"string"}}}`, n))}
	}},
	{"references to one", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{` +
				list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d"}`, i) }) +
				`},"$defs":{"d":{"type":"object","properties":{` +
				list(n, func(i int) string { return fmt.Sprintf(`"q%d":{}`, i) }) + `}}}}`)}
	}},
	{"references that double", false, func(n int) weight {
		k := min(n/10, 40) + 2
		return weight{said: hi, tools: oneTool(`{"type":"object","properties":{"p":{"$ref":"#/$defs/d0"}},"$defs":{` +
			list(k, func(i int) string {
				return fmt.Sprintf(
					`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i,
					i+1, i+1)
			}) +
			fmt.Sprintf(`,"d%d":{"type":"string"}}}`, k))}
	}},
	{"references that double, required", false, func(n int) weight {
		k := min(n/10, 40) + 2
		return weight{said: hi,
			tools: oneTool(`{"type":"object","required":["p"],"properties":{"p":{"$ref":"#/$defs/d0"}},"$defs":{` +
				list(k, func(i int) string {
					return fmt.Sprintf(
						`"d%d":{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
				}) +
				fmt.Sprintf(`,"d%d":{"type":"string"}}}`, k))}
	}},
	{"references that double in allOf", false, func(n int) weight {
		k := min(n/10, 40) + 2
		return weight{said: hi, tools: oneTool(`{"type":"object","properties":{"p":{"$ref":"#/$defs/d0"}},"$defs":{` +
			list(k, func(i int) string {
				return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
			}) +
			fmt.Sprintf(`,"d%d":{"type":"string"}}}`, k))}
	}},
	{"patterns", false, func(n int) weight { return patterns(n, func(i int) string { return fmt.Sprintf("^a%d+$", i) }) }},
	{"patterns that repeat", false, func(n int) weight {
		return patterns(n, func(int) string { return "^(a{1,30}b{1,30}){1,1}$" })
	}},
	{"patterns that look back", false, func(n int) weight {
		return patterns(n, func(i int) string { return fmt.Sprintf("(?=a%d)b", i) })
	}},
	{"schemas by $id", false, func(n int) weight {
		return weight{said: hi, tools: oneTool(`{"type":"object","$id":"x:/root","$defs":{` +
			list(n, func(i int) string { return fmt.Sprintf(`"d%d":{"$id":"d%[1]d","type":"string"}`, i) }) +
			`},"properties":{` + list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"d%[1]d"}`, i) }) + `}}`)}
	}},
	{"dynamic references", false, func(n int) weight {
		return weight{said: hi, tools: oneTool(`{"type":"object","$dynamicAnchor":"a","properties":{` +
			list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"$dynamicRef":"#a"}`, i) }) + `}}`)}
	}},
	{"unevaluated properties", false, func(n int) weight {
		return weight{said: hi, tools: oneTool(`{"type":"object","unevaluatedProperties":false,"allOf":[` +
			list(n, func(i int) string {
				return fmt.Sprintf(`{"if":{"required":["a%d"]},"then":{"properties":{"b%[1]d":{}}}}`, i)
			}) + `]}`)}
	}},
	{"a long pattern", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{"p":{"type":"string","pattern":"` +
				strings.Repeat("(a|b)*", n) + `"}}}`)}
	}},
	{"broken schema", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{` +
				list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"zzz"}`, i) }) + `}}`)}
	}},
	{"broken schemas", false, func(n int) weight {
		l := weight{said: hi}
		for i := range n {
			l.tools = append(l.tools, offeredTool{"f" + strconv.Itoa(i), fmt.Sprintf(`{"type":"zzz%d"}`, i)})
		}
		return l
	}},
	{"tools of one name", false, func(n int) weight {
		l := weight{said: hi}
		for range n {
			l.tools = append(l.tools, offeredTool{"f", openSchema})
		}
		return l
	}},
	{"stop sequences", false, func(n int) weight {
		l := weight{said: hi}
		for i := range n {
			l.stop = append(l.stop, "stop"+strconv.Itoa(i))
		}
		return l
	}},
	{"a long stop sequence", false, func(n int) weight {
		return weight{said: hi, stop: []string{strings.Repeat("a", n) + "b"}}
	}},
	{"unknown fields", false, func(n int) weight {
		l := weight{said: hi, extra: object{}}
		for i := range n {
			l.extra["zz"+strconv.Itoa(i)] = 1
		}
		return l
	}},
	{"a deep unknown field", false, func(n int) weight {
		return weight{said: hi,
			extra: object{"zz": json.RawMessage(strings.Repeat("[", min(n, 9000)) + strings.Repeat("]", min(n, 9000)))}}
	}},
	{"metadata", false, func(n int) weight {
		m := object{}
		for i := range n {
			m["zz"+strconv.Itoa(i)] = "1"
		}
		return weight{said: hi, extra: object{"metadata": m}}
	}},
	{"a long number", false, func(n int) weight {
		return weight{said: hi, extra: object{"seed": json.RawMessage("1" + strings.Repeat("0", n))}}
	}},
	{"a long fraction", false, func(n int) weight {
		return weight{said: hi, extra: object{"temperature": json.RawMessage("0." + strings.Repeat("1", n))}}
	}},
	{"a long model", false, func(n int) weight {
		return weight{said: hi, extra: object{"model": strings.Repeat("m", n)}}
	}},
	{"a long user", false, func(n int) weight {
		return weight{said: hi, extra: object{"user": strings.Repeat("m", n)}}
	}},
	{"a format", false, func(n int) weight {
		s := json.RawMessage(`{"type":"object","properties":{` +
			list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`)
		return weight{said: hi,
			extra: object{"response_format": object{"type": "json_schema",
				"json_schema": object{"name": "x", "schema": s}}, "format": s,
				"text":          object{"format": object{"type": "json_schema", "name": "x", "schema": s}},
				"output_config": object{"format": object{"type": "json_schema", "schema": s}}}}
	}},
	{"escapes", false, func(n int) weight {
		return weight{said: []saidMessage{says("user", strings.Repeat("\x01", n))}}
	}},
	{"a long text", false, func(n int) weight {
		return weight{said: []saidMessage{says("user", strings.Repeat("word ", n))}, tools: oneTool(openSchema)}
	}},
	{"calls in a result", true, func(n int) weight {
		call := saidCall{"c", "get_weather", `{"city":"Paris"}`}
		lines := strings.Repeat("{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n", n)
		return weight{said: []saidMessage{says("user", "What is the weather in Paris?"),
			{role: "assistant", calls: []saidCall{call}}, {role: "tool", parts: []string{lines}, of: "c"}},
			tools: weatherTool}
	}},
	{"fenced calls in a result", true, func(n int) weight {
		call := saidCall{"c", "f", `{}`}
		lines := strings.Repeat("```json\n{\"name\": \"f\", \"arguments\": {\"x\": \"a\"}}\n```\n", n)
		return weight{said: []saidMessage{says("user", "hi"), {role: "assistant", calls: []saidCall{call}},
			{role: "tool", parts: []string{lines}, of: "c"}}, tools: oneTool(openSchema)}
	}},
	{"a long city", true, func(n int) weight {
		return weight{said: []saidMessage{says("user", "What is the weather in "+strings.Repeat("in Rome ", n)+"?")},
			tools: weatherTool}
	}},
	{"a long sum", true, func(n int) weight {
		return weight{said: []saidMessage{says("user", "What is "+strings.Repeat("12+", n)+"1?")},
			tools: []offeredTool{{"calculator", openSchema}}}
	}},
	{"keys in a text", false, func(n int) weight {
		return weight{said: []saidMessage{says("user", strings.Repeat("api_key=sk-", n))}, tools: oneTool(openSchema)}
	}},
}

// rounds are n rounds of k calls and their results: in order, backwards, all with one id, or with none.
func rounds(n, k, order int) []saidMessage {
	s := []saidMessage{says("user", "hi")}
	for i := range n {
		m := says("assistant")
		var results []saidMessage
		for j := range k {
			id := fmt.Sprintf("c%d_%d", i, j)
			if order == 2 {
				id = "c"
			}
			m.calls = append(m.calls, saidCall{id, "f", "{}"})
			results = append(results, saidMessage{role: "tool", parts: []string{"r"}, of: id})
		}
		if order == 1 {
			for a, b := 0, len(results)-1; a < b; a, b = a+1, b-1 {
				results[a], results[b] = results[b], results[a]
			}
		}
		s = append(append(s, m), results...)
	}
	return s
}

// argued is a call of those arguments, and its result.
func argued(args string) weight {
	s := rounds(1, 1, 0)
	s[1].calls[0].args = args
	return weight{said: s, tools: oneTool(openSchema)}
}

// inCalls shares n among calls, since arguments beyond a size are not repaired.
func inCalls(n int, args func(n int) string) weight {
	const most = 100_000
	s := rounds(1, (n+most-1)/most, 0)
	for i := range s[1].calls {
		s[1].calls[i].args = args(min(most, n-i*most))
	}
	return weight{said: s, tools: oneTool(openSchema)}
}

func repeated(before, what, behind string, n int) weight {
	return inCalls(n, func(n int) string { return before + strings.Repeat(what, n) + behind })
}

func nested(open, close string, n int) string {
	return strings.Repeat(open, n) + "{}" + strings.Repeat(close, n)
}

// patterns offers a tool of n properties, each with a pattern.
func patterns(n int, pattern func(i int) string) weight {
	return weight{said: hi, tools: oneTool(`{"type":"object","properties":{` + list(n, func(i int) string {
		return fmt.Sprintf(`"p%d":{"type":"string","pattern":"%s"}`, i, pattern(i))
	}) + `}}`)}
}

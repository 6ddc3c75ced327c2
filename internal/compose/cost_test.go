package compose

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/coverage"
	"strconv"
	"strings"
	"testing"

	"wield/internal/capture"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/metrics"
	"wield/internal/runs"
	"wield/internal/testlevel"
	"wield/journal"
)

// A weight is what a request holds, whatever its protocol.
type weight struct {
	said  []saidMessage
	tools []offeredTool
	stop  []string
	extra object // fields of every protocol
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
	{"broken arguments", true, func(n int) weight {
		s := rounds(1, 1, 0)
		s[1].calls[0].args = "{" + strings.Repeat(`"a":`, n)
		return weight{said: s, tools: oneTool(openSchema)}
	}},
	{"deep arguments", true, func(n int) weight {
		s := rounds(1, 1, 0)
		s[1].calls[0].args = `{"a":` + strings.Repeat(`[`, min(n, 9000)) + strings.Repeat(`]`, min(n, 9000)) + `}`
		return weight{said: s, tools: oneTool(openSchema)}
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
	{"patterns", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{` +
				list(n, func(i int) string {
					return fmt.Sprintf(`"p%d":{"type":"string","pattern":"^a%d+$"}`, i, i)
				}) + `}}`)}
	}},
	{"patterns that repeat", false, func(n int) weight {
		return weight{said: hi, tools: oneTool(`{"type":"object","properties":{` + list(n, func(i int) string {
			return fmt.Sprintf(`"p%d":{"type":"string","pattern":"^(a{1,30}b{1,30}){1,1}$"}`, i)
		}) + `}}`)}
	}},
	{"patterns that look back", false, func(n int) weight {
		return weight{said: hi,
			tools: oneTool(`{"type":"object","properties":{` +
				list(n, func(i int) string {
					return fmt.Sprintf(`"p%d":{"type":"string","pattern":"(?=a%d)b"}`, i, i)
				}) + `}}`)}
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

func (l weight) openai() object {
	var messages, tools []any
	for _, m := range l.said {
		o := object{"role": m.role}
		switch {
		case len(m.parts) == 1:
			o["content"] = m.parts[0]
		case len(m.parts) > 1:
			var parts []any
			for _, p := range m.parts {
				parts = append(parts, object{"type": "text", "text": p})
			}
			o["content"] = parts
		}
		if m.of != "" {
			o["tool_call_id"] = m.of
		}
		var calls []any
		for _, c := range m.calls {
			calls = append(calls,
				object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.args}})
		}
		if calls != nil {
			o["tool_calls"] = calls
		}
		messages = append(messages, o)
	}
	for _, t := range l.tools {
		tools = append(tools,
			object{"type": "function", "function": object{"name": t.name, "parameters": json.RawMessage(t.parameters)}})
	}
	b := object{"messages": messages}
	if tools != nil {
		b["tools"] = tools
	}
	if l.stop != nil {
		b["stop"] = l.stop
	}
	return b
}

func (l weight) responses() object {
	var items, tools []any
	for _, m := range l.said {
		if m.of != "" {
			items = append(items, object{"type": "function_call_output", "call_id": m.of, "output": m.parts[0]})
			continue
		}
		for _, text := range m.thoughts {
			items = append(items,
				object{"type": "reasoning", "summary": []any{object{"type": "summary_text", "text": text}}})
		}
		if len(m.parts) > 0 {
			var parts []any
			for _, p := range m.parts {
				kind := "input_text"
				if m.role == "assistant" {
					kind = "output_text"
				}
				parts = append(parts, object{"type": kind, "text": p})
			}
			items = append(items, object{"type": "message", "role": m.role, "content": parts})
		}
		for _, c := range m.calls {
			items = append(items, object{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.args})
		}
	}
	for _, t := range l.tools {
		tools = append(tools, object{"type": "function", "name": t.name, "parameters": json.RawMessage(t.parameters),
			"strict": false})
	}
	b := object{"input": items}
	if tools != nil {
		b["tools"] = tools
	}
	return b
}

func (l weight) messages() object {
	var messages, tools, system []any
	for i := 0; i < len(l.said); i++ {
		m := l.said[i]
		var blocks []any
		for _, text := range m.thoughts {
			blocks = append(blocks, object{"type": "thinking", "thinking": text, "signature": "s"})
		}
		for _, p := range m.parts {
			blocks = append(blocks, object{"type": "text", "text": p})
		}
		if m.role == "system" {
			system = append(system, blocks...)
			continue
		}
		if m.role == "tool" {
			blocks = nil
			for ; i < len(l.said) && l.said[i].role == "tool"; i++ {
				blocks = append(blocks, object{"type": "tool_result", "tool_use_id": l.said[i].of,
					"content": l.said[i].parts[0]})
			}
			i--
			m.role = "user"
		}
		for _, c := range m.calls {
			in := json.RawMessage(c.args)
			if !json.Valid(in) {
				in, _ = json.Marshal(c.args)
			}
			blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": in})
		}
		messages = append(messages, object{"role": m.role, "content": blocks})
	}
	for _, t := range l.tools {
		tools = append(tools, object{"name": t.name, "input_schema": json.RawMessage(t.parameters)})
	}
	b := object{"messages": messages, "max_tokens": 50}
	if tools != nil {
		b["tools"] = tools
	}
	if system != nil {
		b["system"] = system
	}
	if l.stop != nil {
		b["stop_sequences"] = l.stop
	}
	return b
}

func (l weight) ollama() object {
	var messages, tools []any
	for _, m := range l.said {
		o := object{"role": m.role, "content": strings.Join(m.parts, "")}
		if len(m.parts) > 1 && m.role == "user" {
			var images []string
			for range m.parts {
				images = append(images, "AAAA")
			}
			o["images"] = images
		}
		if m.of != "" {
			o["tool_call_id"] = m.of
		}
		var calls []any
		for _, c := range m.calls {
			in := json.RawMessage(c.args)
			if !json.Valid(in) {
				in, _ = json.Marshal(c.args)
			}
			calls = append(calls, object{"id": c.id, "function": object{"name": c.name, "arguments": in}})
		}
		if calls != nil {
			o["tool_calls"] = calls
		}
		messages = append(messages, o)
	}
	for _, t := range l.tools {
		tools = append(tools,
			object{"type": "function", "function": object{"name": t.name, "parameters": json.RawMessage(t.parameters)}})
	}
	b := object{"messages": messages}
	if tools != nil {
		b["tools"] = tools
	}
	if l.stop != nil {
		b["options"] = object{"stop": l.stop}
	}
	return b
}

var costFronts = map[string]struct {
	path string
	body func(weight) object
}{
	"chat":      {"/v1/chat/completions", weight.openai},
	"responses": {"/v1/responses", weight.responses},
	"messages":  {"/v1/messages", weight.messages},
	"ollama":    {"/api/chat", weight.ollama},
	"gemini":    {"/v1beta/models/MODEL:generateContent", weight.gemini},
}

func (l weight) gemini() object {
	var contents, system, declarations []any
	names := map[string]string{}
	for _, m := range l.said {
		var parts []any
		for _, text := range m.thoughts {
			parts = append(parts, object{"text": text, "thought": true})
		}
		for _, p := range m.parts {
			if m.of != "" {
				parts = append(parts,
					object{"functionResponse": object{"id": m.of, "name": names[m.of],
						"response": object{"output": p}}})
				continue
			}
			parts = append(parts, object{"text": p})
		}
		if m.role == "system" {
			system = append(system, parts...)
			continue
		}
		for _, c := range m.calls {
			in := json.RawMessage(c.args)
			if !json.Valid(in) {
				in, _ = json.Marshal(object{"text": c.args})
			}
			names[c.id] = c.name
			parts = append(parts, object{"functionCall": object{"id": c.id, "name": c.name, "args": in}})
		}
		role := "user"
		if m.role == "assistant" {
			role = "model"
		}
		contents = append(contents, object{"role": role, "parts": parts})
	}
	for _, t := range l.tools {
		declarations = append(declarations,
			object{"name": t.name, "parametersJsonSchema": json.RawMessage(t.parameters)})
	}
	b := object{"contents": contents}
	if system != nil {
		b["systemInstruction"] = object{"parts": system}
	}
	if declarations != nil {
		b["tools"] = []any{object{"functionDeclarations": declarations}}
	}
	if l.stop != nil {
		b["generationConfig"] = object{"stopSequences": l.stop}
	}
	return b
}

func (l weight) body(t *testing.T, f func(weight) object, model string, stream bool) []byte {
	o := f(l)
	o["model"], o["stream"] = model, stream
	for k, v := range l.extra {
		o[k] = v
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// costService serves a model that answers at once, in the ways that there are to reach one, with all that
// looks at requests switched on.
func costService(t *testing.T) *gateway.Gateway {
	t.Helper()
	return costServiceOver(t, scripted(t, costScenario(t)), func(o journal.Options) journal.Store {
		return &journal.Memory{Options: o}
	})
}

// costScenario returns the file of a scenario that answers hello.
func costScenario(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cost.scenario.yaml")
	if err := os.WriteFile(file,
		[]byte("wield: scenario/v1\nname: cost\nturns:\n  - {id: a, reply: [{text: hello}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// costServiceOver returns a service with a model of each kind. That of the kind openai is behind upstream.
func costServiceOver(t *testing.T, upstream string, open func(journal.Options) journal.Store) *gateway.Gateway {
	t.Helper()
	file := costScenario(t)
	const more = ", conversations: {match: true, deriveIdFromUser: true}}"
	c, err := config.Parse("config.yaml", []byte(`wield: config/v1
backends:
  s: {kind: script, scenario: "`+file+`"}
  demo: {kind: script, scenario: demo}
  http: {kind: openai, url: "`+upstream+`/v1"}
models:
  text: {backend: s, mode: text`+more+`
  native: {backend: s, mode: native`+more+`
  http: {backend: http, mode: native`+more+`
  prefixed: {backend: s, mode: text, calls: {prefix: "user:"}, instructions: {injectInto: first}`+more+`
  demo: {backend: demo, mode: text`+more+`
  agent: {backend: s, mode: text, agent: {tools: [now]}}
`), config.Options{Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := capture.New(capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := open(journal.Options{Mask: journalMask(c.Config, env())})
	hub := runs.New(runs.Options{Journal: kept})
	s, err := New(c.Config, Environment{Capture: ring, Hub: hub, Metrics: metrics.New(""), Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	hub.Replace(append(s.Agents, s.Plain...))
	for i := range s.Gateway.Models {
		s.Gateway.Models[i].NeedsKey = false
	}
	s.Gateway.Journal = kept
	return gateway.New(s.Gateway)
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) Flush()                      {}

// A sink takes an answer and keeps its status.
type sink struct {
	header http.Header
	status int
}

// costWays are the ways to a model that a request is sent.
var costWays = []struct{ front, model string }{{"chat", "text"}, {"responses", "text"}, {"messages", "text"},
	{"ollama", "text"}, {"gemini", "text"}, {"chat", "native"}, {"chat", "http"}, {"chat", "prefixed"},
	{"chat", "agent"}, {"chat", "demo"}}

// TestCostIsLinear makes requests four times as large in one dimension after another, through every protocol,
// and compares what they allocate. Where the test is built to count statements (go test -covermode=atomic
// -coverpkg=wield/...), it compares these too: what is looked at again and again need not allocate. Neither
// depends on how busy the machine is.
func TestCostIsLinear(t *testing.T) {
	testlevel.Long(t)
	g := costService(t)
	stream := false
	for _, d := range dimensions {
		for _, w := range costWays {
			stream = !stream
			f := costFronts[w.front]
			body := func(n int) []byte { return d.weight(n).body(t, f.body, w.model, stream) }
			cost := func(n int) (c costs) {
				text := body(n)
				r := httptest.NewRequest("POST", "http://localhost"+strings.ReplaceAll(f.path, "MODEL", w.model),
					bytes.NewReader(text))
				r.Header.Set("Content-Type", "application/json")
				answer := sink{header: http.Header{}}
				before := countCosts(t)
				g.ServeHTTP(&answer, r)
				after := countCosts(t)
				if answer.status == 0 || answer.status == 401 || answer.status >= 500 ||
					answer.status == 404 && w.front == "gemini" {
					t.Errorf("%s, %s, %s: status %d", d.name, w.front, w.model, answer.status)
				}
				return costs{bytes: after.bytes - before.bytes, steps: after.steps - before.steps, size: len(text)}
			}
			if w != costWays[0] &&
				(!d.history && w.model != "text" || testing.CoverMode() == "" && (!d.history || w.model != "text")) {
				continue
			}
			cost(10) // what is made once
			few, many := cost(costSize), cost(4*costSize)
			growth := float64(many.size) / float64(few.size)
			if float64(many.bytes) > 2*growth*float64(few.bytes)+(1<<20) {
				t.Errorf("%s, %s, %s: %d bytes of body allocate %d, and %d allocate %d", d.name, w.front, w.model,
					few.size, few.bytes, many.size, many.bytes)
			}
			if float64(many.steps) > 1.6*growth*float64(few.steps) {
				t.Errorf("%s, %s, %s: %d bytes of body take %d steps, and %d take %d", d.name, w.front, w.model,
					few.size, few.steps, many.size, many.steps)
			}
		}
	}
}

// costSize is how large the smaller of two requests is.
const costSize = 250

// costs are what a request costs: bytes allocated, and statements of wield carried out, where these are counted.
type costs struct {
	bytes, steps uint64
	size         int
}

func countCosts(t *testing.T) (c costs) {
	var m runtime.MemStats
	if testing.CoverMode() == "atomic" {
		c.steps = countSteps(t)
	}
	runtime.ReadMemStats(&m)
	c.bytes = m.TotalAlloc
	return c
}

// countSteps sums the counters of statements: behind a head, for each function the number of its counters, of
// its package and its own, and the counters, all as variable-length integers.
func countSteps(t *testing.T) (sum uint64) {
	var buf bytes.Buffer
	if err := coverage.WriteCounters(&buf); err != nil {
		t.Fatal(err)
	}
	b := buf.Bytes()
	const head, segment = 32, 16
	functions := binary.LittleEndian.Uint64(b[head:])
	b = b[(head+segment+int(binary.LittleEndian.Uint32(b[head+8:]))+int(binary.LittleEndian.Uint32(b[head+12:]))+3)&^3:]
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	for range functions {
		n := next()
		next()
		next()
		for range n {
			sum += next()
		}
	}
	return sum
}

func nested(open, close string, n int) string {
	return strings.Repeat(open, n) + "{}" + strings.Repeat(close, n)
}

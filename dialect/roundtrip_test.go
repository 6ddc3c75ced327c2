package dialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
)

// A field is one parameter of a random tool: what its schema says and how values are drawn.
type field struct {
	schema string
	value  func(t *rapid.T) any
}

var words = []string{"", "x", " two  words ", "5", "true", "null", "a\nb", "\n", "tab\tx", `"quoted"`, "it's", `back\slash`, "{", "}]", "[1, 2]", `{"a":1}`, "k: v", "- item", "# no", "<b>", "</arg>",
	"</parameter>", "</function>", "</tool_call>", "<tool_call>", "</TOOL_CALL>", "```", "```json\n", "TOOL: x", "é🍜", "a, b=c", "f(x)", ")", "; ", "|", "&amp;", "%s", "\\u0041", "  indented\n    more\n"}

func drawText(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(words), 0, 3).Draw(t, label)
	return strings.Join(parts, "")
}

var fields = []field{
	{`{"type":"string"}`, func(t *rapid.T) any { return drawText(t, "string") }},
	{`{"type":"integer"}`, func(t *rapid.T) any { return rapid.Int64().Draw(t, "integer") }},
	{`{"type":"number"}`, func(t *rapid.T) any {
		return json.Number(rapid.SampledFrom([]string{"0", "-1.5", "1e3", "0.10"}).Draw(t, "number"))
	}},
	{`{"type":"boolean"}`, func(t *rapid.T) any { return rapid.Bool().Draw(t, "boolean") }},
	{`{"type":"array","items":{"type":"string"}}`, func(t *rapid.T) any {
		list := []string{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawText(t, "item"))
		}
		return list
	}},
	{`{"type":"object","properties":{"in":{"type":"string"},"no":{"type":"integer"}}}`, func(t *rapid.T) any {
		return map[string]any{"in": drawText(t, "in"), "no": rapid.IntRange(-9, 9).Draw(t, "no")}
	}},
}

func drawTool(t *rapid.T, name string) (shape.Tool, string) {
	var props []string
	args := make(map[string]any)
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		f := rapid.SampledFrom(fields).Draw(t, "field")
		key := fmt.Sprintf("p%d", i)
		props = append(props, fmt.Sprintf("%q:%s", key, f.schema))
		if rapid.IntRange(0, 3).Draw(t, "given") > 0 {
			args[key] = f.value(t)
		}
	}
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(args); err != nil {
		t.Fatal(err)
	}
	return shape.Tool{Name: name, Args: s.Shape()}, strings.TrimSuffix(b.String(), "\n")
}

// TestRoundTrip renders random calls in every dialect and reads them back, with text around them where the dialect allows it.
func TestRoundTrip(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			d, _ := dialect.Lookup(name)
			done := 0
			rapid.Check(t, func(t *rapid.T) {
				var tools []shape.Tool
				var calls []chat.Call
				for i := range rapid.IntRange(1, 2).Draw(t, "calls") {
					tool, args := drawTool(t, fmt.Sprintf("tool_%d", i))
					tools = append(tools, tool)
					calls = append(calls, chat.Call{Index: i, ID: fmt.Sprintf("call_%d", i), Name: tool.Name, Arguments: args, Complete: true})
				}
				text, err := d.AppendCalls(nil, calls)
				if err != nil {
					var cannot *dialect.RenderError
					if !errors.As(err, &cannot) {
						t.Fatal(err)
					}
					return
				}
				done++
				decodesBack(t, d, tools, calls, string(text))
				if !d.ByName {
					decodesBack(t, d, tools, calls, "Before.\n"+string(text)+"\n\nAfter.")
				}
			})
			if done == 0 {
				t.Errorf("no call could be rendered")
			}
		})
	}
}

func decodesBack(t *rapid.T, d *dialect.Dialect, tools []shape.Tool, calls []chat.Call, text string) {
	o := dialect.Options{Dialect: d.Name, Tools: tools}
	got, err := dialect.Parse(text, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Calls) != len(calls) || len(got.Rejected) > 0 {
		t.Fatalf("%q: read %+v, rejected %+v", text, got.Calls, got.Rejected)
	}
	for i, c := range got.Calls {
		if c.Name != calls[i].Name || !c.Complete || !sameValue(value(calls[i].Arguments), value(c.Arguments)) {
			t.Fatalf("%q: call %d: rendered %s, read %s", text, i, calls[i].Arguments, c.Arguments)
		}
	}
	if err := invariants(maker(o), text); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

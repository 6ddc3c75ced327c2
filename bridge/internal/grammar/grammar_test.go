package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
)

// unheld are the dialects that no grammar is written for.
var unheld = []string{"cli-block", "functiongemma", "gemma4", "openai-envelope", "tool-request", "yaml-style"}

// decoders are shared, since most of the time would go into them.
var decoders dialect.Cache

// toolsOf returns tools with schemas, by their texts.
func toolsOf(t testing.TB, list ...string) (tools []Tool, shapes []shape.Tool, all []*schema.Schema) {
	t.Helper()
	for i := 0; i < len(list); i += 2 {
		s, err := schema.Compile([]byte(list[i+1]))
		if err != nil {
			t.Fatalf("%s: %v", list[i+1], err)
		}
		tools = append(tools, Tool{Name: list[i], Args: s.Shape(), Schema: json.RawMessage(list[i+1])})
		shapes = append(shapes, shape.Tool{Name: list[i], Args: s.Shape()})
		all = append(all, s)
	}
	return tools, shapes, all
}

var harbour = []string{
	"water_depth",
	`{"type":"object","required":["berth"],"additionalProperties":false,"properties":{"berth":{"type":"integer"},"note":{"type":"string"},"unit":{"enum":["m","ft"],"type":"string"},"exact":{"type":"boolean"}}}`,
	"next_tide", `{"type":"object","properties":{},"additionalProperties":false}`,
	"book.berth",
	`{"type":"object","required":["boat","crew"],"additionalProperties":false,"properties":{"boat":{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"type":"string"},"length":{"type":"number"}}},"crew":{"type":"array","items":{"type":"string"}}}}`,
}

func TestUnsupported(t *testing.T) {
	tools, _, _ := toolsOf(t, harbour...)
	var got []string
	for _, name := range dialect.Names() {
		if _, err := New(Options{Decoders: &decoders, Dialect: name, Tools: tools}); err != nil {
			if !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
			got = append(got, name)
		}
	}
	if !slices.Equal(got, unheld) {
		t.Errorf("not held: %v, want %v", got, unheld)
	}
}

// TestSamples checks that whatever the grammar of a required call lets a model write is read as one valid call.
func TestSamples(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		r := rand.New(rand.NewPCG(7, 11))
		for round := range 4 {
			list := harbour
			if round > 0 {
				list = []string{"first", randomSchema(r), "second_tool", randomSchema(r)}
			}
			tools, shapes, schemas := toolsOf(t, list...)
			g, err := New(Options{Decoders: &decoders, Dialect: name, Tools: tools, Required: true, MaxCalls: 1})
			if err != nil {
				t.Fatalf("%v: %v", list, err)
			}
			p := parse(t, g)
			for range 8 {
				text := p.sample(r)
				read, err := dialect.Parse(text, dialect.Options{Cache: &decoders, Dialect: name, Tools: shapes})
				if err != nil || len(read.Calls) != 1 || !read.Calls[0].Complete ||
					strings.TrimSpace(read.Content()) != "" {
					t.Fatalf("not one call: %q\n%+v\ncontent %q, rejected %+v\n%v", text, read.Calls, read.Content(),
						read.Rejected, list)
				}
				c := read.Calls[0]
				i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == c.Name })
				if errs := schemas[i].Validate(c.Arguments); len(errs) > 0 {
					t.Fatalf("%q gives arguments %s that do not fit: %v", text, c.Arguments, errs)
				}
				if !p.accepts(text) {
					t.Fatalf("the test's own reader does not accept what it wrote: %q", text)
				}
			}
		}
	})
}

// TestWritten checks that what the dialect writes is accepted, alone and in prose, and prose by itself.
func TestWritten(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		d, _ := dialect.Lookup(name)
		r := rand.New(rand.NewPCG(3, 5))
		for round := range 3 {
			list := harbour[:4]
			if round > 0 {
				list = []string{"first", randomSchema(r), "second_tool", randomSchema(r)}
			}
			tools, _, _ := toolsOf(t, list...)
			free, err := New(Options{Decoders: &decoders, Dialect: name, Tools: tools})
			if err != nil {
				t.Fatal(err)
			}
			required, err := New(Options{Decoders: &decoders, Dialect: name, Tools: tools, Required: true})
			if err != nil {
				t.Fatal(err)
			}
			f, q := parse(t, free), parse(t, required)
			for _, prose := range []string{"", "It is a fine day.\n", "a < b, [1] {2} `x` \"name\"\n\n"} {
				if !f.accepts(prose) || prose != "" && q.accepts(prose) {
					t.Fatalf("prose %q: free %v, required %v", prose, f.accepts(prose), q.accepts(prose))
				}
				var calls []chat.Call
				for i := range 1 + r.IntN(2) {
					n := r.IntN(len(tools))
					calls = append(calls,
						chat.Call{Index: i, Name: tools[n].Name, Arguments: randomArgs(r, tools[n].Args)})
				}
				b, err := d.AppendCalls(nil, calls)
				if err != nil {
					continue // the dialect has no way to write them
				}
				if !f.accepts(prose+string(b)) || !q.accepts(string(b)) {
					t.Fatalf("%q: free %v, required %v", prose+string(b), f.accepts(prose+string(b)),
						q.accepts(string(b)))
				}
			}
		}
	})
}

// TestHeld checks that behind an opener nothing but a call of a declared tool can be written.
func TestHeld(t *testing.T) {
	tools, _, _ := toolsOf(t, harbour...)
	for _, tc := range []struct{ dialect, text string }{
		{"hermes", "Let me see. <tool_call>\n{\"name\": \"tool_name\", \"arguments\": {}}\n</tool_call>"},
		{"hermes", "<tool_call>\n{\"name\": \"next_tide\", \"arguments\": {\"a\": 1}}\n</tool_call>"},
		{"hermes", "<tool_call>\n{\"name\": \"water_depth\", \"arguments\": {\"berth\": \"one\"}}\n</tool_call>"},
		{"hermes", "<tool_call>"},
		{"json-fence", "```json\n{\"name\": \"tool_name\", \"arguments\": {}}\n```"},
		{"mistral-args", "[TOOL_CALLS]nothing[ARGS]{}"},
		{"qwen3-coder",
			"<tool_call>\n<function=water_depth>\n<parameter=unit>\nm\n</parameter>\n</function>\n</tool_call>"},
		{"react", "Thinking.\nAction: nothing\nAction Input: {}"},
	} {
		g, err := New(Options{Dialect: tc.dialect, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		if parse(t, g).accepts(tc.text) {
			t.Errorf("%s lets through %q", tc.dialect, tc.text)
		}
	}
}

// TestOneCall checks that a text ends behind the only call that is welcome, and that reasoning may stand before a
// required one.
func TestOneCall(t *testing.T) {
	tools, _, _ := toolsOf(t, harbour...)
	const one = "<tool_call>\n{\"name\": \"next_tide\", \"arguments\": {}}\n</tool_call>"
	for _, tc := range []struct {
		o    Options
		text string
		want bool
	}{
		{Options{MaxCalls: 1}, "Well. " + one, true},
		{Options{MaxCalls: 1}, one + "\nThe result is", false},
		{Options{MaxCalls: 1}, one + "\n" + one, false},
		{Options{}, one + "\n" + one + " Done.", true},
		{Options{Required: true, MaxCalls: 2}, one + "\n" + one, true},
		{Options{Required: true, MaxCalls: 2}, one + "\n" + one + "\n" + one, false},
		{Options{Required: true, Behind: "</think>"}, "I <think> so.</think>\n\n" + one, true},
		{Options{Required: true, Behind: "</think>"}, "I think so." + one, false},
	} {
		tc.o.Dialect, tc.o.Tools = "hermes", tools
		g, err := New(tc.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, g).accepts(tc.text); got != tc.want {
			t.Errorf("%+v: %q: %v", tc.o, tc.text, got)
		}
	}
}

// TestMany checks that with many tools names are held, and that a schema that refers to itself ends.
func TestMany(t *testing.T) {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf("tool_%d", i), harbour[1])
	}
	tools, _, _ := toolsOf(t, list...)
	g, err := New(Options{Dialect: "hermes", Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	p := parse(t, g)
	if !p.accepts(`<tool_call>`+"\n"+`{"name": "tool_99", "arguments": {"any": [1]}}`+"\n</tool_call>") ||
		p.accepts(`<tool_call>`+"\n"+`{"name": "tool_100"`) {
		t.Error("a name is not held, or arguments are")
	}
	if text, err := g.GBNF(); err != nil || len(text) > 40<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	tools, _, _ = toolsOf(t, "tree",
		`{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"below":{"type":"array","items":{"$ref":"#"}}}}`)
	if g, err = New(Options{Dialect: "hermes", Tools: tools}); err != nil {
		t.Fatal(err)
	}
	if !parse(t,
		g).accepts("<tool_call>\n" +
		`{"name": "tree", "arguments": {"name": "a", "below": [{"name": "b", "below": []}]}}` + "\n</tool_call>") {
		t.Error("a tree is not accepted")
	}
}

func each(t *testing.T, f func(t *testing.T, name string)) {
	for _, name := range dialect.Names() {
		if !slices.Contains(unheld, name) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f(t, name)
			})
		}
	}
}

func parse(t *testing.T, g *Grammar) *parsed {
	t.Helper()
	text, err := g.GBNF()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parseGBNF(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// randomSchema returns the schema of some arguments.
func randomSchema(r *rand.Rand) string {
	var props, need []string
	for i := range r.IntN(4) {
		name := fmt.Sprintf("%c_%d", "abc"[r.IntN(3)], i)
		props = append(props, fmt.Sprintf("%q:%s", name, randomType(r, 2)))
		if r.IntN(2) == 0 {
			need = append(need, fmt.Sprintf("%q", name))
		}
	}
	return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(props, ",") +
		`},"required":[` + strings.Join(need, ",") + `]}`
}

func randomType(r *rand.Rand, depth int) string {
	kinds := []string{`{"type":"string"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"boolean"}`,
		`{"type":"string","enum":["red","dark blue"]}`, `{"type":"integer","enum":[1,22]}`,
		`{"type":["integer","null"]}`}
	switch n := r.IntN(len(kinds) + 2); {
	case n < len(kinds):
		return kinds[n]
	case depth == 0:
		return kinds[0]
	case n == len(kinds):
		return `{"type":"array","items":` + randomType(r, depth-1) + `}`
	}
	return `{"type":"object","additionalProperties":false,"properties":{"x":` + randomType(r, depth-1) + `,"y":` +
		randomType(r, depth-1) + `},"required":["y"]}`
}

// randomArgs returns a value of a shape.
func randomArgs(r *rand.Rand, s *shape.Shape) string {
	switch {
	case s.Enum != nil:
		return s.Enum[r.IntN(len(s.Enum))]
	case s.Types.Any(shape.Object):
		var list []string
		for _, p := range s.Props {
			if p.Required || r.IntN(2) == 0 {
				list = append(list, fmt.Sprintf("%q: %s", p.Name, randomArgs(r, p.Shape)))
			}
		}
		return "{" + strings.Join(list, ", ") + "}"
	case s.Types.Any(shape.Array):
		var list []string
		for range r.IntN(3) {
			list = append(list, randomArgs(r, s.Items))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case s.Types.Any(shape.String):
		return []string{`"Ann"`, `"a \"b\" <c> [d]"`, `""`, `"naïve\nline"`}[r.IntN(4)]
	case s.Types.Any(shape.Integer):
		return []string{"0", "-17", "123456"}[r.IntN(3)]
	case s.Types.Any(shape.Number):
		return []string{"0.5", "-2", "1e9"}[r.IntN(3)]
	case s.Types.Any(shape.Boolean):
		return "true"
	}
	return "null"
}

// TestStructuralTag checks that each tag of a structural tag, filled with arguments, is one call, and begins with a
// trigger.
func TestStructuralTag(t *testing.T) {
	tools, shapes, _ := toolsOf(t, harbour...)
	each(t, func(t *testing.T, name string) {
		g, err := New(Options{Decoders: &decoders, Dialect: name, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		raw, ok := g.StructuralTag()
		if !ok {
			return
		}
		var s structuralTag
		if err := json.Unmarshal(raw, &s); err != nil || len(s.Format.Tags) != len(tools) {
			t.Fatalf("%v: %s", err, raw)
		}
		for i, one := range s.Format.Tags {
			if !slices.ContainsFunc(s.Format.Triggers, func(t string) bool { return strings.HasPrefix(one.Begin, t) }) {
				t.Errorf("no trigger begins %q", one.Begin)
			}
			args := []string{`{"berth": 3}`, `{}`, `{"boat": {"name": "Ondine"}, "crew": ["Ada"]}`}[i]
			read, err := dialect.Parse(one.Begin+args+one.End, dialect.Options{Cache: &decoders, Dialect: name,
				Tools: shapes})
			if err != nil || len(read.Calls) != 1 || read.Calls[0].Name != tools[i].Name ||
				string(one.Content.Schema) != string(tools[i].Schema) {
				t.Errorf("%q: %+v %v", one.Begin+args+one.End, read, err)
			}
		}
	})
}

// TestHostile checks that the grammar of tools that a client sends is bounded: small schemas can stand for large
// ones.
func TestHostile(t *testing.T) {
	object := func(n int, prop string) string {
		var props []string
		for i := range n {
			props = append(props, fmt.Sprintf(prop, i))
		}
		return `{"type":"object","properties":{` + strings.Join(props, ",") + `}}`
	}
	many := func(n int, schema string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("tool_%d", i), schema)
		}
		return list
	}
	lists := strings.Repeat(`{"type":"array","items":`, 60) + `{"type":"string"}` + strings.Repeat("}", 60)
	for _, c := range []struct {
		name  string
		tools []string
	}{
		{"a list of itself", many(1, `{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/properties/a"}}}}`)},
		{"a list of itself that a call has", many(1, `{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"$ref":"#/properties/a"}}}}`)},
		{"lists of lists", many(1, `{"type":"object","properties":{"a":`+lists+`}}`)},
		{"optional arguments", many(1, object(3000, `"p%d":{"type":"string"}`))},
		{"arguments of any kind", many(1, object(20_000, `"p%d":true`))},
		{"names in other letters", many(1, object(900, `"p%d`+strings.Repeat("ж漢", 200)+`":true`))},
		{"tools", many(maxNames, `{"type":"object"}`)},
		{"too many tools", many(maxNames+1, `{"type":"object"}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools, _, _ := toolsOf(t, c.tools...)
			for _, name := range []string{"hermes", "qwen3-coder", "minimax-m3", "pythonic", "harmony"} {
				g, err := New(Options{Decoders: &decoders, Dialect: name, Tools: tools})
				if err == nil {
					var text string
					if text, err = g.GBNF(); len(text) > 2*maxText {
						t.Errorf("%s: %d bytes", name, len(text))
					}
					g.StructuralTag()
					g.Opening()
				}
				if err != nil && !errors.Is(err, ErrUnsupported) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

package dialect_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/internal/check"
	"wield/internal/testlevel"
	"wield/schema/shape"
)

// renderTools are tools whose schemas say the type of each argument, which the formats without types of their own need.
var renderTools = func() []shape.Tool {
	typed := func(t shape.Types) *shape.Shape { return &shape.Shape{Types: t, Open: true} }
	args := &shape.Shape{Types: shape.Object, Open: true, Props: []shape.Prop{
		{Name: "s", Shape: typed(shape.String)}, {Name: "i", Shape: typed(shape.Integer)},
		{Name: "f", Shape: typed(shape.Number | shape.Integer)}, {Name: "b", Shape: typed(shape.Boolean)},
		{Name: "a", Shape: typed(shape.Array)}, {Name: "o", Shape: typed(shape.Object)},
		{Name: "z", Shape: typed(shape.Null | shape.String)},
	}}
	return []shape.Tool{{Name: "read_file", Args: args}, {Name: "f", Args: args}, {Name: "get.data", Args: args},
		{Name: "no_args"}}
}()

// renderedSame compares names and the values of arguments.
func renderedSame(want, got []chat.Call) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		var a, b any
		x, y := json.NewDecoder(strings.NewReader(want[i].Arguments)),
			json.NewDecoder(strings.NewReader(got[i].Arguments))
		x.UseNumber()
		y.UseNumber()
		if x.Decode(&a) != nil || y.Decode(&b) != nil || !reflect.DeepEqual(renderedNumbers(a), renderedNumbers(b)) ||
			want[i].Name != got[i].Name || !got[i].Complete {
			return false
		}
	}
	return true
}

// renderedNumbers makes numbers with a fraction or an exponent comparable: 1e3 may come back as 1000.
func renderedNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = renderedNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = renderedNumbers(v[i])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1e15 {
			return f
		}
	}
	return v
}

// renderedBack fails when calls that d writes are not read back, by d alone and among all dialects, alone and
// behind a sentence.
func renderedBack(t interface{ Errorf(string, ...any) }, d *dialect.Dialect, calls []chat.Call) {
	b, err := d.AppendCalls([]byte("before"), calls)
	var re *dialect.RenderError
	switch {
	case errors.As(err, &re):
		if string(b) != "before" {
			t.Errorf("%s: an error leaves %q", d.Name, b)
		}
		return
	case err != nil:
		t.Errorf("%s: %v", d.Name, err)
		return
	}
	text := strings.TrimPrefix(string(b), "before")
	for _, o := range []dialect.Options{{Dialect: d.Name, Only: true}, {Dialect: d.Name}, {}} {
		o.Cache = compiled
		for _, prose := range []string{"", "I do that.\n"} {
			if (d.ByName || underAuto[d.Name] != "") && (o.Dialect == "" || d.ByName && prose != "") {
				continue
			}
			o.Tools = renderTools
			c, err := dialect.Parse(prose+text, o)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if !renderedSame(calls, c.Calls) || len(c.Rejected) > 0 ||
				strings.TrimSpace(c.Content()) != strings.TrimSpace(prose) {
				t.Errorf("%s (read as %q, only %v) writes\n%+v\nas\n%s\nand reads\n%+v\nrejected %+v, content %q",
					d.Name, o.Dialect, o.Only, calls, text, c.Calls, c.Rejected, c.Content())
			}
		}
	}
}

// compiled keeps what the options of tests compile to, as a program does that reads many texts.
var compiled = new(dialect.Cache)

func TestAppendCalls(t *testing.T) {
	for i, name := range dialect.Names() {
		if i%testlevel.Every(3) > 0 {
			continue
		}
		d, _ := dialect.Lookup(name)
		for _, args := range []string{"", "{}", "{ }", `{"i":12345678901234567890,"f":1.10,"s":"5"}`,
			"{\n  \"s\": \"a b\",\n  \"b\": false\n}", `{"z":null,"b":true}`, `{"s":"true"}`, `{"s":"null"}`,
			`{"s":" a "}`, `{"s":"a: b # c"}`, `{"s":"line\nline\n"}`, `{"s":"\nline"}`, `{"s":"\"q\" 'p'"}`,
			`{"s":"\ud83d\ude00 \u00e9"}`, `{"o":{"a b":[{}]},"a":[]}`, `{"k-1":"v"}`, `{"f":1e3,"i":-5}`,
			`{"s":"a&amp;b"}`, `{"s":"C:\\x\\n"}`, `{"s":"- x"}`, `{"s":"[1]"}`, `{"s":"{}"}`, `{"s":"|"}`} {
			call := chat.Call{Name: "read_file", Arguments: args}
			if args == "" {
				call.Arguments = "{}"
			}
			renderedBack(t, d, []chat.Call{call})
			if name != "tool-request" {
				renderedBack(t, d, []chat.Call{call, {Name: "no_args", Arguments: "{}"},
					{Name: "f", Arguments: `{"s":"x"}`}})
			}
		}
		renderedBack(t, d, []chat.Call{{Name: "get.data", Arguments: `{"s":"x"}`}})
		for n := 190; n < 270; n++ { // more than what readers take
			renderedBack(t, d, []chat.Call{{Name: "read_file", Arguments: `{"` + strings.Repeat("k", n) + `":"x"}`}})
		}
		for _, bad := range []chat.Call{{Name: "f", Arguments: "{bad"}, {Name: "f", Arguments: "[1]"},
			{Name: "", Arguments: "{}"}} {
			if b, err := d.AppendCalls(nil, []chat.Call{bad}); err == nil || len(b) > 0 {
				t.Errorf("%s writes %+v as %q", name, bad, b)
			}
		}
	}
}

// TestAppendCallsIDs keeps ids and reasons where the format has a place for them.
func TestAppendCallsIDs(t *testing.T) {
	d, _ := dialect.Lookup("openai-envelope")
	b, err := d.AppendCalls(nil, []chat.Call{{ID: "c7", Name: "f", Arguments: "{}"}})
	c, err2 := dialect.Parse(string(b), dialect.Options{Tools: renderTools})
	if err != nil || err2 != nil || len(c.Calls) != 1 || c.Calls[0].ID != "c7" {
		t.Errorf("%s: %+v", b, c.Calls)
	}
	d, _ = dialect.Lookup("tool-call-tag")
	b, err = d.AppendCalls(nil, []chat.Call{{Name: "f", Arguments: "{}", Reasoning: "because"}})
	c, err2 = dialect.Parse(string(b), dialect.Options{Tools: renderTools})
	if err != nil || err2 != nil || len(c.Calls) != 1 || c.Calls[0].Reasoning != "because" {
		t.Errorf("%s: %+v", b, c.Calls)
	}
}

func TestAppendCallsRoundTrip(t *testing.T) {
	str := rapid.Map(rapid.OneOf(rapid.String(), rapid.SampledFrom(check.Hostile()), rapid.StringN(0, 4, -1)),
		func(s string) string {
			return strings.ToValidUTF8(s, "?")
		})
	var value *rapid.Generator[any]
	value = rapid.OneOf(rapid.Map(str, func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Just[any](nil),
		rapid.Deferred(func() *rapid.Generator[any] {
			return rapid.Map(rapid.SliceOfN(value, 0, 3), func(l []any) any { return append([]any{}, l...) })
		}),
		rapid.Deferred(func() *rapid.Generator[any] {
			return rapid.Map(rapid.MapOfN(str, value, 0, 3), func(m map[string]any) any { return m })
		}))
	rapid.Check(t, func(t *rapid.T) {
		d, _ := dialect.Lookup(rapid.SampledFrom(dialect.Names()).Draw(t, "dialect"))
		var calls []chat.Call
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			args := map[string]any{}
			for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"s", "i", "b", "a", "o", "z"}), 0, 4).Draw(t,
				"keys") {
				switch key {
				case "s":
					args[key] = str.Draw(t, "s")
				case "i":
					args[key] = rapid.Int64().Draw(t, "i")
				case "b":
					args[key] = rapid.Bool().Draw(t, "b")
				case "a":
					args[key] = rapid.SliceOfN(value, 0, 3).Draw(t, "a")
					if args[key].([]any) == nil {
						args[key] = []any{}
					}
				case "o":
					args[key] = rapid.MapOfN(str, value, 0, 3).Draw(t, "o")
				case "z":
					args[key] = nil
				}
			}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, chat.Call{Name: rapid.SampledFrom([]string{"read_file", "f"}).Draw(t, "name"),
				Arguments: string(raw)})
		}
		renderedBack(t, d, calls)
	})
}

// TestAppendToolsSignature looks at how types are written.
func TestAppendToolsSignature(t *testing.T) {
	d, _ := dialect.Lookup("function-style")
	for _, tc := range []struct{ schema, want string }{
		{``, "- f()"},
		{`{"type":"object","properties":{"a":{"type":"string","description":"The a"},"b":{"type":"array","items":{"type":"number"}}},"required":["b"]}`, "- f(a?: string, b: number[])\n    a: The a"},
		{`{"properties":{"u":{"enum":["c",1,null]},"v":{"const":"x"},"w":{"type":["integer","null"]},"x":{}}}`,
			`- f(u?: "c" | 1 | null, v?: "x", w?: integer | null, x?: any)`},
		{`{"properties":{"l":{"type":["null","array"],"items":{"type":"string"}},"n":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}`, `- f(l?: string[] | null, n?: integer | null)`},
		{`{"properties":{"o":{"type":"object","properties":{"k":{"anyOf":[{"type":"string"},{"type":"array","items":{"enum":["p","q"]}}]}},"required":["k"]}}}`, `- f(o?: {k: string | ("p" | "q")[]})`},
		{`{"properties":{"r":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"boolean"}}}`, "- f(r?: boolean)"},
		{`{"properties":{"n":{"$ref":"#"}}}`, "- f(n?: {n?: {n?: any}})"},
		{`{"properties":{"bad":5,"worse":"x"},"required":5}`, "- f(bad?: any, worse?: any)"},
		{`[1`, "- f()"},
		{`{"properties":{"a b":{"type":"string"}}}`, `- f("a b"?: string)`},
	} {
		if got := string(d.AppendTools(nil,
			[]chat.Tool{{Name: "f", Parameters: json.RawMessage(tc.schema)}})); got != tc.want {
			t.Errorf("%s is written %s, want %s", tc.schema, got, tc.want)
		}
	}
	var wide strings.Builder // each of its properties is the whole of it
	wide.WriteString(`{"properties":{"p":{"$ref":"#"}`)
	for range 200 {
		wide.WriteString(`,"p":{"$ref":"#"}`)
	}
	wide.WriteString("}}")
	if got := d.AppendTools(nil, []chat.Tool{{Name: "f", Parameters: json.RawMessage(wide.String())}}); len(
		got) > 1<<20 {
		t.Errorf("a schema of %d bytes makes a prompt of %d", wide.Len(), len(got))
	}
}

// TestAppendToolsHostile reads definitions with every dialect: even that of a tool on offer is no call of it.
func TestAppendToolsHostile(t *testing.T) {
	finder, seen := newCallFinder(t), make(map[string]bool)
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		for _, hostile := range append([]string{"Reads a file."}, hostileTexts()...) {
			def := chat.Tool{Name: "read_file", Description: hostile,
				Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
			text := string(d.AppendTools(nil, []chat.Tool{def, def}))
			if !seen[text] {
				seen[text] = true
				finder.none(t, text)
			}
		}
	}
}

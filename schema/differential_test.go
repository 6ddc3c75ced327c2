package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"wield/schema"
)

// The validator and the library behind it must agree on whether a document is valid and, where the schema has no
// alternatives, on the places that are wrong.
func TestDifferential(t *testing.T) {
	for _, draft := range []string{"https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#"} {
		t.Run(draft[strings.Index(draft, "draft"):], func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := generator{t: t, modern: strings.Contains(draft, "2020")}
				src := g.root(draft)
				oracle := mustOracle(t, src)
				s, err := schema.Compile(json.RawMessage(src))
				if err != nil {
					t.Fatalf("Compile(%s): %v", src, err)
				}
				for i := range 8 {
					doc := g.value(3, fmt.Sprint("doc", i))
					compareWithOracle(t, src, doc, s, oracle)
				}
			})
		})
	}
}

func compareWithOracle(t failer, src, doc string, s *schema.Schema, oracle *jsonschema.Schema) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("the generator wrote %s: %v", doc, err)
	}
	want := oracle.Validate(v)
	got := s.Validate(doc)
	if (want == nil) != (len(got) == 0) {
		t.Fatalf("schema   %s\ndocument %s\ngot      %v\nlibrary  %v", src, doc, got, want)
	}
	for _, word := range []string{"anyOf", "oneOf", `"not"`, `"if"`, "contains", "propertyNames", "false", "enum",
		"const", "unevaluated"} {
		if strings.Contains(src, word) {
			return
		}
	}
	if want == nil {
		return
	}
	places, mine := map[string]bool{}, map[string]bool{}
	leaves(want.(*jsonschema.ValidationError), places)
	for _, g := range got {
		if g.Missing != "" {
			g.Pointer = g.Pointer[:strings.LastIndexByte(g.Pointer, '/')]
		}
		mine[g.Pointer] = true
	}
	if !maps.Equal(places, mine) {
		t.Fatalf("schema   %s\ndocument %s\ngot      %v\nlibrary  %v", src, doc, got, want)
	}
}

// leaves collects the places of the library's errors.
func leaves(e *jsonschema.ValidationError, places map[string]bool) {
	if len(e.Causes) == 0 {
		var b strings.Builder
		for _, p := range e.InstanceLocation {
			b.WriteString("/" + p)
		}
		places[b.String()] = true
	}
	for _, c := range e.Causes {
		leaves(c, places)
	}
}

func mustOracle(t failer, src string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(src))
	if err != nil {
		t.Fatalf("the generator wrote %s: %v", src, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s.json", doc); err != nil {
		t.Fatalf("library: %v", err)
	}
	s, err := c.Compile("mem:///s.json")
	if err != nil {
		t.Fatalf("library: %s: %v", src, err)
	}
	return s
}

// A generator writes schemas and documents from the same few names and values, so that they meet often.
type generator struct {
	t      *rapid.T
	modern bool
	n      int
}

func (g *generator) label(s string) string { g.n++; return fmt.Sprint(s, g.n) }

func (g *generator) pick(of ...string) string {
	return rapid.SampledFrom(of).Draw(g.t, g.label("pick"))
}

func (g *generator) upTo(n int) int { return rapid.IntRange(0, n).Draw(g.t, g.label("n")) }

func (g *generator) root(draft string) string {
	defs := "definitions"
	if g.modern {
		defs = "$defs"
	}
	body := g.object(3)
	if strings.Contains(body, "$ref") {
		body = fmt.Sprintf(
			`{%q:{"loop":{"type":["object","integer","array"],"properties":{"a":{"$ref":"#/%s/loop"}},"items":{"$ref":"#/%s/loop"}}},%s`,
			defs, defs, defs, body[1:])
	}
	return fmt.Sprintf(`{"$schema":%q,%s`, draft, body[1:])
}

func (g *generator) schema(depth int) string {
	if depth <= 0 || g.upTo(12) == 0 {
		return g.pick("true", "{}", `{"type":"string"}`, `{"type":"integer"}`, "false", `{"type":["null","boolean"]}`)
	}
	return g.object(depth)
}

func (g *generator) object(depth int) string {
	var parts []string
	seen := map[string]bool{}
	for range g.upTo(3) + 1 {
		k, v := g.keyword(depth)
		if k == "$ref" && !g.modern {
			return fmt.Sprintf("{%q:%s}", k, v) // the library lets some keywords of draft-07 stand beside it
		}
		if !seen[k] {
			seen[k] = true
			parts = append(parts, fmt.Sprintf("%q:%s", k, v))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (g *generator) keyword(depth int) (name, value string) {
	d := depth - 1
	number := func() string { return g.pick("0", "1", "2", "2.5", "-1", "1e1", "10.0", "0.1", "1e-1") }
	small := func() string { return g.pick("0", "1", "2", "3", "2.0") }
	names := func() string { return g.pick(`["a"]`, `["b","a"]`, `[]`, `["c"]`) }
	schemas := func() string {
		list := []string{g.schema(d)}
		for range g.upTo(2) {
			list = append(list, g.schema(d))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	props := func() string {
		return fmt.Sprintf(`{"a":%s,"b":%s}`, g.schema(d), g.schema(d))
	}
	kw := []string{"type", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minLength", "maxLength", "pattern", "items", "items", "minItems", "maxItems", "uniqueItems",
		"contains", "properties", "properties", "properties", "patternProperties", "additionalProperties",
		"propertyNames", "required", "minProperties", "maxProperties", "allOf", "anyOf", "oneOf", "not", "$ref"}
	if g.modern {
		kw = append(kw, "prefixItems", "dependentRequired", "dependentSchemas", "minContains", "maxContains",
			"unevaluatedProperties")
	} else {
		kw = append(kw, "dependencies", "additionalItems", "if")
	}
	switch name = g.pick(kw...); name {
	case "type":
		return name, g.pick(`"string"`, `"integer"`, `"number"`, `"object"`, `"array"`, `"null"`, `"boolean"`,
			`["string","number"]`, `["object","array"]`)
	case "enum":
		return name, "[" + g.value(1, "e") + `,"only here"]`
	case "const":
		return name, g.value(1, "c")
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return name, number()
	case "multipleOf":
		return name, g.pick("1", "2", "0.1", "2.5", "1e1", "0.01", "3")
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
		"maxContains":
		return name, small()
	case "pattern":
		return name, g.pick(`"^a"`, `"b$"`, `"^[a-c]*$"`, `"\\d"`, `"^\\w+$"`)
	case "items":
		if !g.modern && g.upTo(2) == 0 {
			return name, schemas()
		}
		return name, g.schema(d)
	case "contains", "additionalProperties", "propertyNames", "not", "additionalItems", "if", "unevaluatedProperties":
		return name, g.schema(d)
	case "uniqueItems":
		return name, g.pick("true", "false")
	case "properties":
		return name, props()
	case "patternProperties":
		return name, fmt.Sprintf(`{"^a":%s}`, g.schema(d))
	case "required":
		return name, names()
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return name, schemas()
	case "dependentRequired":
		return name, fmt.Sprintf(`{"a":%s}`, names())
	case "dependentSchemas":
		return name, fmt.Sprintf(`{"b":%s}`, g.schema(d))
	case "dependencies":
		if g.upTo(1) == 0 {
			return name, fmt.Sprintf(`{"a":%s}`, names())
		}
		return name, fmt.Sprintf(`{"a":%s}`, g.schema(d))
	}
	defs := "definitions"
	if g.modern {
		defs = "$defs"
	}
	return "$ref", fmt.Sprintf(`"#/%s/loop"`, defs)
}

func (g *generator) value(depth int, label string) string {
	kind := g.upTo(8)
	if depth == 0 {
		kind = g.upTo(5)
	}
	switch kind {
	case 0:
		return g.pick("null", "true", "false")
	case 1, 2:
		return g.pick("0", "1", "2", "2.0", "-1", "2.5", "1e1", "10", "0.3", "100", "0.1", "-0", "1e2",
			"12345678901234567890")
	case 3, 4, 5:
		return g.pick(`"a"`, `"b"`, `"ab"`, `""`, `"a1"`, `"\u0061"`, `"é😀"`, `"cab"`)
	case 6:
		var items []string
		for range g.upTo(3) {
			items = append(items, g.value(depth-1, label))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	var members []string
	names := []string{"a", "b", "c", "ab"}
	for _, i := range names {
		if g.upTo(1) == 0 {
			members = append(members, fmt.Sprintf("%q:%s", i, g.value(depth-1, label)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

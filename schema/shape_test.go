package schema_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/schema"
	"wield/schema/shape"
)

// write renders a shape in one line: types, enum, properties (! is required), elements, other properties, and where it
// comes back to a shape around it.
func write(s *shape.Shape, around ...*shape.Shape) string {
	if s == nil {
		return "-"
	}
	for i, a := range around {
		if a == s {
			return fmt.Sprint("^", len(around)-i)
		}
	}
	around = append(around, s)
	var b strings.Builder
	for i, name := range []string{"null", "bool", "int", "num", "str", "arr", "obj"} {
		t := shape.Types(1) << i
		if s.Types.Has(t) && (t != shape.Integer || !s.Types.Has(shape.Number)) {
			b.WriteString("|" + name)
		}
	}
	out := strings.TrimPrefix(b.String(), "|")
	if s.Enum != nil {
		out += fmt.Sprint(s.Enum)
	}
	if s.Types.Has(shape.Object) {
		var props []string
		for _, p := range s.Props {
			mark := ""
			if p.Required {
				mark = "!"
			}
			props = append(props, p.Name+mark+":"+write(p.Shape, around...))
		}
		if s.Extra != nil {
			props = append(props, "*:"+write(s.Extra, around...))
		}
		if !s.Open {
			props = append(props, "closed")
		}
		out += "{" + strings.Join(props, " ") + "}"
	}
	if s.Items != nil {
		out += "(" + write(s.Items, around...) + ")"
	}
	return out
}

func TestShape(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{}`, "-"},
		{`true`, "-"},
		{`{"description":"x"}`, "-"},
		{`{"type":"string"}`, "str"},
		{`{"type":"integer"}`, "int"},
		{`{"type":"number"}`, "num"},
		{`{"type":["integer","null"]}`, "null|int"},
		{`{"type":"string","nullable":true}`, "null|str"},
		{`{"type":"uint32"}`, "int"},
		{`{"type":"list[str]"}`, "arr"},
		{`{"type":"any"}`, "null|bool|num|str|arr|obj{}"},
		{`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"boolean"},"m":{}},"required":["a"]}`,
			"obj{z:str a!:bool m:-}"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, "obj{a:str closed}"},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, "obj{*:int}"},
		{`{"properties":{"a":{"items":{"type":"number"}}}}`, "obj{a:arr(num)}"},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, "arr"},
		{`{"enum":["a","b"]}`, `str["a" "b"]`},
		{`{"enum":[1,"b",null]}`, `null|int|str[1 "b" null]`},
		{`{"enum":["\u00e9",{"a": 1}]}`, `str|obj["é" {"a":1}]{}`},
		{`{"const":2.5}`, "num[2.5]"},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "null|str"},
		{`{"anyOf":[{"type":"string"},{}]}`, "null|bool|num|str|arr|obj{}"},
		{`{"oneOf":[{"const":"a"},{"const":"b"}]}`, `str["a" "b"]`},
		{`{"anyOf":[{"enum":["a"]},{"type":"null"}]}`, `null|str["a" null]`},
		{`{"anyOf":[{"enum":["a"]},{"type":"string"}]}`, "str"},
		{`{"type":"string","anyOf":[{"minLength":2},{"maxLength":1}]}`, "str"},
		{`{"anyOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"integer"}},"required":["k","x"]},{"type":"object","properties":{"k":{"const":"b"},"y":{"type":"string"}},"required":["k"]}]}`,
			`obj{k!:str["a" "b"] x:int y:str}`},
		{`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"minLength":1},"b":{"type":"integer"}}}]}`, "obj{a!:str b:int}"},
		{`{"allOf":[{"type":["string","null"]},{"type":["string","integer"]}]}`, "str"},
		{`{"$defs":{"p":{"type":"object","properties":{"x":{"type":"number"}}}},"properties":{"at":{"$ref":"#/$defs/p","description":"where"}}}`, "obj{at:obj{x:num}}"},
		{`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}},"$ref":"#/$defs/n"}`, "obj{next:^1 v:int}"},
		{`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}},"up":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}`,
			"obj{kids:arr(^2) up:null|obj{kids:arr(^3) up:^1}}"},
		{`{"properties":{"m":{"type":"string"}},"if":{"properties":{"m":{"const":"w"}}},"then":{"properties":{"text":{"type":"string"},"m":{"type":"integer"}},"required":["text"]}}`,
			"obj{m:str text:str}"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":{"type":"integer"}}`, "arr"},
		{`{"type":"object","properties":{"a":{"type":"integer"}},"unevaluatedProperties":false}`, "obj{a:int}"},
	} {
		s := mustCompile(t, c.schema)
		if got := write(s.Shape()); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.schema, got, c.want)
		}
	}
}

// A schema that does not compile still has a shape, as far as it goes.
func TestShapeOf(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, "-"},
		{`nonsense`, "-"},
		{`{"type":"integer"}`, "int"},
		{`{"type":"interval"}`, "null|bool|num|str|arr|obj{}"},
		{`{"properties":{"a":{"type":"strnig"},"b":{"type":"integer"},"c":{"$ref":"#/nowhere"}},"required":7}`,
			"obj{a:null|bool|num|str|arr|obj{} b:int c:-}"},
		{`{"$ref":"#"}`, "-"},
	} {
		if got := write(schema.ShapeOf(json.RawMessage(c.schema))); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.schema, got, c.want)
		}
	}
}

// Recorded expectations of how the text of a tagged value becomes a value.
func TestCoercionData(t *testing.T) {
	path := filepath.Join("..", "..", "shared", "data", "coercion.jsonl")
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("SKIPPED: the coercion cases are not here: %v", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for lines.Scan() {
		var c struct {
			ID    string
			Value string
			Type  json.RawMessage
			Want  json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		s := schema.ShapeOf(fmt.Appendf(nil, `{"type":%s}`, c.Type))
		got, _ := shape.Coerce(c.Value, s, shape.CoerceOptions{})
		want := mustCompile(t, fmt.Sprintf(`{"const":%s}`, c.Want))
		if v := want.Validate(got); v != nil {
			t.Errorf("%s: %q as %s is %s: %v", c.ID, c.Value, c.Type, got, v)
		}
	}
	if n == 0 {
		t.Error("no cases")
	}
}

package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wield/schema"
)

// What stands in front of a model must say where, what is wrong, and what is wanted.
func TestMessages(t *testing.T) {
	const weather = `{"type":"object","properties":{"city":{"type":"string","minLength":2},"unit":{"enum":["celsius","fahrenheit"]},
		"days":{"type":"integer","minimum":1,"maximum":7},"tags":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true}},
		"required":["city","days"],"additionalProperties":false}`
	for _, c := range []struct {
		schema, doc string
		want        []string
	}{
		{weather, `{"city":"Paris","days":3}`, nil},
		{weather, `{}`, []string{"/city: missing required property", "/days: missing required property"}},
		{weather, `[]`, []string{"want object, got an array of 0 items"}},
		{weather, `{"City":"Paris","days":"x"}`, []string{"/city: missing required property",
			`/City: unknown property; did you mean "city"?`, `/days: want integer, got string "x"`}},
		{weather, `{"city":"P","days":9.5,"unit":"kelvin"}`, []string{`/city: "P" has 1 character; want at least 2`,
			`/days: want integer, got number 9.5`,
			`/unit: "kelvin" is not allowed; want one of "celsius" or "fahrenheit"`}},
		{weather, `{"city":null,"days":0,"tags":["a",1,"a"]}`,
			[]string{"/city: want string, got null", "/days: 0 is too small; want at least 1",
				"/tags: has 3 items; want at most 2", "/tags/1: want string, got number 1",
				"/tags: items 0 and 2 are equal; want every item only once"}},
		{weather, `{"city":"Paris","days":3,"what is this":1}`,
			[]string{"/what is this: unknown property; want only city, unit, days, tags"}},
		{`{"properties":{"a/b":{"items":{"type":"null"}}}}`, `{"a/b":[null,{}]}`,
			[]string{"/a~1b/1: want null, got an object"}},
		{`{"type":["integer","null","string"]}`, `[1]`,
			[]string{"want integer, string or null, got an array of 1 item"}},
		{`{"type":"number"}`, `true`, []string{"want number, got true"}},
		{`{"const":"yes"}`, `"no"`, []string{`"no" is not allowed; want "yes"`}},
		{`{"multipleOf":0.5}`, `0.7`, []string{"0.7 is not a multiple of 0.5"}},
		{`{"exclusiveMinimum":0}`, `0`, []string{"0 is too small; want more than 0"}},
		{`{"pattern":"^a"}`, `"b"`, []string{`"b" does not match the pattern ^a`}},
		{`{"contains":{"const":1}}`, `[2]`, []string{"no item is of the kind that contains demands"}},
		{`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A1":1}`,
			[]string{`/A1: the name "A1" is not allowed: "A1" does not match the pattern ^[a-z]+$`}},
		{`{"dependentRequired":{"from":["to"]}}`, `{"from":1}`,
			[]string{`/to: missing property, which is required beside "from"`}},
		{`{"minProperties":1}`, `{}`, []string{"has 0 properties; want at least 1"}},
		{`{"prefixItems":[true],"items":false}`, `[1,2]`, []string{"/1: too many items; want at most 1"}},
		{`{"properties":{"x":false}}`, `{"x":1}`, []string{"/x: nothing is allowed here"}},
		{`{"not":{"type":"string"}}`, `"x"`, []string{`string "x" is not allowed here`}},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `"x"`,
			[]string{`fits none of the 2 forms allowed: want integer, got string "x"; or want null, got string "x"`}},
		{`{"anyOf":[{"type":"integer","maximum":5},{"type":"null"}]}`, `6`, []string{"6 is too large; want at most 5"}},
		{`{"properties":{"at":{"anyOf":[{"type":"object","required":["line"],"properties":{"line":{"type":"integer"}}},{"type":"string"}]}}}`, `{"at":{"line":"3"}}`,
			[]string{`/at/line: want integer, got string "3"`}},
		{`{"oneOf":[{"properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind"]},{"properties":{"kind":{"const":"b"},"s":{"type":"string"}},"required":["kind"]}]}`,
			`{"kind":"b","s":1}`, []string{"/s: want string, got number 1"}},
		{`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `3`,
			[]string{"fits more than one of the forms allowed (1 and 2); want exactly one"}},
		{`{"type":"object","unevaluatedProperties":false,"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a","z"]}]}`, `{"b":1}`,
			[]string{"/a: missing required property", "/z: missing required property", "/b: nothing is allowed here"}},
		{`{"maxLength":3}`, `"` + strings.Repeat("é", 40) + `"`,
			[]string{`"` + strings.Repeat("é", 29) + `... has 40 characters; want at most 3`}},
	} {
		v := mustCompile(t, c.schema).Validate(c.doc)
		var got []string
		for _, v := range v {
			got = append(got, v.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s with %s:\ngot  %q\nwant %q", c.schema, c.doc, got, c.want)
		}
	}
}

func TestViolationParts(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"object","required":["b~c"]}}}`)
	got := s.Validate(`{"a":{}}`)
	want := schema.Violation{Pointer: "/a/b~0c", Keyword: "required", Message: "missing required property",
		Missing: "b~c"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = mustCompile(t, `{"type":"integer"}`).Validate(`"x"`)
	if len(got) != 1 || got[0].Keyword != "type" || got[0].Missing != "" {
		t.Errorf("got %+v", got)
	}
}

// A schema that is missing allows everything, but not what is no JSON.
func TestNoSchema(t *testing.T) {
	for _, raw := range []string{"", "null", "  "} {
		s := mustCompile(t, raw)
		if v := s.Validate(`{"a":[1]}`); v != nil {
			t.Errorf("%q: %v", raw, v)
		}
		if v := s.Validate(`{"a":`); len(v) != 1 {
			t.Errorf("%q: %v", raw, v)
		}
		if s.Shape() != nil {
			t.Errorf("%q has a shape", raw)
		}
	}
	var none *schema.Schema
	if none.Validate(`1`) != nil || none.Shape() != nil {
		t.Error("a nil schema says something")
	}
}

// Documents and schemas made to be slow must cost no more than their size, and say so when they cannot be checked.
func TestHostile(t *testing.T) {
	const n = 1 << 20
	names := func(n int, value string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			fmt.Fprintf(&b, `"%d":%s,`, i, value)
		}
		return strings.TrimSuffix(b.String(), ",") + "}"
	}
	required := `["` + strings.Join(strings.Split(strings.Repeat("x,", 2000)+"x", ","), `","`) + `"]`
	wide := names(50_000, "1")
	branchy := `{"$defs":{"n":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["b"]},{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["c"]}]}},"$ref":"#/$defs/n"}`
	for _, c := range []struct {
		name, schema, doc string
		valid             bool
	}{
		{"brackets", `{}`, strings.Repeat("[", n), false},
		{"braces", `{}`, strings.Repeat(`{"a":`, n/5), false},
		{"closed brackets", `{"items":{"$ref":"#"}}`, strings.Repeat("[", n/2) + strings.Repeat("]", n/2), false},
		{"spaces", `{"type":"object"}`, strings.Repeat(" ", n) + "{}", true},
		{"string", `{"minLength":3,"pattern":"^a*$"}`, `"` + strings.Repeat("a", n) + `"`, true},
		{"escapes", `{"minLength":3}`, `"` + strings.Repeat(`\u0061`, n/6) + `"`, true},
		{"backslashes", `{}`, `"` + strings.Repeat(`\`, n+1), false},
		{"digits", `{"multipleOf":7}`, strings.Repeat("7", n), true},
		{"digits of a long divisor", `{"multipleOf":` + strings.Repeat("7", 40) + `}`, strings.Repeat("7", 40*(n/40)),
			true},
		{"exponent", `{"type":"integer","multipleOf":3,"minimum":1,"maximum":1e9999999999}`, `3e999999999`, true},
		{"negative exponent", `{"type":"integer","multipleOf":0.3}`, `1e-999999999`, false},
		{"exponent of an exponent", `{"maximum":1}`, `1e` + strings.Repeat("9", n), false},
		{"many digits equal", `{"enum":[1e0]}`, `1.` + strings.Repeat("0", n), true},
		{"many numbers", `{"uniqueItems":true}`, `[` + strings.Repeat("1.0e5,", n/6) + `1]`, false},
		{"many members", `{"additionalProperties":{"type":"integer"}}`, wide, true},
		{"many members required", `{"required":` + required + `}`, wide, false},
		{"equal wide objects", `{"uniqueItems":true}`, "[" + wide + "," + wide + "]", false},
		{"many violations", `{"items":{"type":"string"}}`, `[` + strings.Repeat("1,", n/2) + `1]`, false},
		{"branches", branchy, strings.Repeat(`{"a":`, 60) + "{}" + strings.Repeat("}", 60), false},
		{"exponent for the library", `{"properties":{"a":{"type":"integer"}},"unevaluatedProperties":false}`,
			`{"a":1e999999999}`, false},
		{"digits for the library", `{"properties":{"a":{"multipleOf":3}},"unevaluatedProperties":false}`,
			`{"a":` + strings.Repeat("3", n) + `}`, false},
		{"branches for the library", branchy[:len(branchy)-1] + `,"unevaluatedProperties":false}`,
			strings.Repeat(`{"a":`, 60) + "{}" + strings.Repeat("}", 60), false},
		{"pattern", `{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", n/4) + `!"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := mustCompile(t, c.schema).Validate(c.doc)
			if (len(v) == 0) != c.valid || len(v) > 1000 {
				t.Errorf("%d violations, the first %.200v", len(v), v[:min(1, len(v))])
			}
			for _, v := range v {
				if len(v.Message) > 2000 {
					t.Fatalf("a message of %d bytes", len(v.Message))
				}
			}
		})
	}
}

// What the validator cannot finish in its bound is a violation, not valid.
func TestTooComplex(t *testing.T) {
	leaf := `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}}`
	doc := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat("}", 40)
	for _, n := range []string{
		`{"anyOf":[` + leaf + `,` + leaf + `,` + leaf + `]}`,
		`{"not":{"not":{"anyOf":[` + leaf + `,` + leaf + `]}}}`,
		`{"if":` + leaf + `,"else":` + leaf + `}`,
	} {
		v := mustCompile(t, `{"$defs":{"n":`+n+`},"$ref":"#/$defs/n"}`).Validate(doc)
		if len(v) != 1 || !strings.Contains(v[0].Message, "too complex") {
			t.Errorf("%s: got %v", n, v)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"a":{"a":1}}`)
	f.Add(`{"anyOf":[{"enum":[1.0,"x"]},{"items":{"multipleOf":0.1},"uniqueItems":true}]}`, `[0.1,0.2,1e9999]`)
	f.Add(`{"$ref":"#/allOf/0","allOf":[{"pattern":"\\s"}]}`, `"\u00a0"`)
	f.Fuzz(func(t *testing.T, src, doc string) {
		s, err := schema.Compile([]byte(src))
		if err != nil {
			return
		}
		s.Validate(doc)
		s.Validate(src)
	})
}

func ExampleSchema_Validate() {
	s, err := schema.Compile([]byte(`{
		"type": "object",
		"properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
		"required": ["city"]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range s.Validate(`{"days": "two"}`) {
		fmt.Println(v)
	}
	// Output:
	// /city: missing required property
	// /days: want integer, got string "two"
}

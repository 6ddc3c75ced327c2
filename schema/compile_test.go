package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"wield/schema"
)

// A broken schema is refused with the place and the way to mend it.
func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ schema, pointer, message string }{
		{`{"type":"strng"}`, "/type", `there is no type "strng"; did you mean "string"?`},
		{`{"properties":{"a":{"type":"elephant"}}}`, "/properties/a/type",
			`there is no type "elephant"; the types are null, boolean, integer, number, string, array or object`},
		{`{"type":["string","integr"]}`, "/type/1", `there is no type "integr"; did you mean "integer"?`},
		{`{"type":3}`, "/type", "type must be a type name or a list of them, not number 3"},
		{`{"type":[1]}`, "/type/0", "a type must be a string, not number 1"},
		{`{"properties":["a"]}`, "/properties",
			"properties must be an object that maps names to schemas, not an array of 1 item"},
		{`{"properties":{"a/b":"string"}}`, "/properties/a~1b",
			`a schema must be an object, true or false, not string "string"`},
		{`{"properties":{"a":null}}`, "/properties/a", "a schema must be an object, true or false, not null"},
		{`{"required":"a"}`, "/required", `required must be a list of property names, not string "a"`},
		{`{"required":[1]}`, "/required/0", "a property name must be a string, not number 1"},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"required":true}}}`,
			"/properties/a/required", "required must be a list of property names; it stands beside properties"},
		{`{"enum":"a"}`, "/enum", `enum must be a list of the values allowed, not string "a"`},
		{`{"minimum":"1"}`, "/minimum", `minimum must be a number, not string "1"`},
		{`{"multipleOf":0}`, "/multipleOf", "multipleOf must be greater than 0, not 0"},
		{`{"multipleOf":-2}`, "/multipleOf", "multipleOf must be greater than 0, not -2"},
		{`{"minLength":-1}`, "/minLength", "minLength must be a whole number of at least 0, not number -1"},
		{`{"maxItems":1.5}`, "/maxItems", "maxItems must be a whole number of at least 0, not number 1.5"},
		{`{"uniqueItems":"yes"}`, "/uniqueItems", `uniqueItems must be true or false, not string "yes"`},
		{`{"anyOf":[]}`, "/anyOf", "anyOf must be a list of at least one schema"},
		{`{"anyOf":{"type":"string"}}`, "/anyOf", "anyOf must be a list of at least one schema, not an object"},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`, "/items", "write prefixItems"},
		{`{"$schema":7}`, "/$schema", "$schema must be a string"},
		{`{"pattern":"("}`, "/pattern", `the pattern "(" is no regular expression`},
		{`{"pattern":"^(?!x)"}`, "/pattern", "without looking around"},
		{`{"pattern":"(a)\\1"}`, "/pattern", `uses "\\1"`},
		{`{"pattern":5}`, "/pattern", "pattern must be a string"},
		{`{"patternProperties":{"[":{}}}`, "/patternProperties/[", "no regular expression"},
		{`{"$ref":"#/$defs/a"}`, "/$ref", `"#/$defs/a" leads nowhere: the schema has no /$defs`},
		{`{"$defs":{"b":{}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, "/properties/x/$ref",
			"the schema has no /$defs/a"},
		{`{"$ref":"#nowhere"}`, "/$ref", `no schema here has the $anchor "nowhere"`},
		{`{"$ref":"https://example.org/other.json"}`, "/$ref",
			"is another document, and none is loaded; copy the schema into $defs"},
		{`{"$ref":"file:///etc/passwd"}`, "/$ref", "is another document, and none is loaded"},
		{`{"$ref":"other.json#/a"}`, "/$ref", "is another document, and none is loaded"},
		{`{"$ref":1}`, "/$ref", "$ref must be a string, not number 1"},
		{`{"$ref":"#"}`, "", "refers to itself without going deeper"},
		{`{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "/$defs/a",
			"refers to itself without going deeper"},
		{`{"dependentRequired":["a"]}`, "/dependentRequired", "dependentRequired must be an object"},
		{`"string"`, "", `a schema must be an object, true or false, not string "string"`},
		{`[]`, "", "a schema must be an object, true or false, not an array of 0 items"},
		{`{"type":"string"`, "/type", "not valid JSON at byte 16"},
		{`{"type":"string","type":"integer"}`, "/type", "twice"},
		{strings.Repeat(`{"items":`, 300) + `{}` + strings.Repeat("}", 300), strings.Repeat("/items", 256),
			"too deeply"},
		{`{"unevaluatedProperties":{"$ref":"https://example.org/x"}}`, "/unevaluatedProperties/$ref", "none is loaded"},
		{`{"$id":"https://example.org/a/","$defs":{"x":{"$id":"y.json"}},"$ref":"z.json"}`, "", "none is loaded"},
		{`{"unevaluatedProperties":3}`, "/unevaluatedProperties",
			"a schema must be an object, true or false, not number 3"},
	} {
		s, err := schema.Compile(json.RawMessage(c.schema))
		var serr *schema.Error
		if s != nil || !errors.As(err, &serr) {
			t.Errorf("Compile(%.200s) = %v, %v", c.schema, s, err)
			continue
		}
		if serr.Pointer != c.pointer || !strings.Contains(serr.Message, c.message) {
			t.Errorf("Compile(%.200s):\n at %q: %s\nwant %q: %s", c.schema, serr.Pointer, serr.Message, c.pointer,
				c.message)
		}
	}
}

func TestCompileReportsAll(t *testing.T) {
	_, err := schema.Compile([]byte(`{"type":"objekt","properties":{"a":{"minLength":-1}},"required":{}}`))
	for _, want := range []string{"/type", "/properties/a/minLength", "/required"} {
		if err == nil || !strings.Contains(err.Error(), "at "+want+":") {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

// A schema whose combinations double with every level is refused instead of tried.
func TestCompileBounded(t *testing.T) {
	var defs []string
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	src := `{"$defs":{` + strings.Join(defs, ",") + `,"d40":{"type":"string"}},"$ref":"#/$defs/d0"}`
	if _, err := schema.Compile([]byte(src)); err == nil || !strings.Contains(err.Error(), "too many subschemas") {
		t.Errorf("got %v", err)
	}
}

func TestCache(t *testing.T) {
	var c schema.Cache
	a := mustCached(t, &c, `{"type":"string"}`)
	if b := mustCached(t, &c, `{"type":"string"}`); a != b {
		t.Error("one text was compiled twice")
	}
	if b := mustCached(t, &c, `{"type": "string"}`); a == b {
		t.Error("different texts share a schema")
	}
	_, err1 := c.Compile([]byte(`{"type":7}`))
	_, err2 := c.Compile([]byte(`{"type":7}`))
	if err1 == nil || err1 != err2 {
		t.Errorf("errors %v, %v", err1, err2)
	}
	for i := range 600 {
		mustCached(t, &c, fmt.Sprintf(`{"maximum":%d}`, i))
	}
	if b := mustCached(t, &c, `{"type":"string"}`); a == b {
		t.Error("nothing was forgotten")
	}
	var none *schema.Cache
	if _, err := none.Compile([]byte(`{}`)); err != nil {
		t.Error(err)
	}
}

func mustCached(t *testing.T, c *schema.Cache, src string) *schema.Schema {
	t.Helper()
	s, err := c.Compile([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Several goroutines that ask for the same schemas get the same ones, and may use them at once.
func TestCacheConcurrent(t *testing.T) {
	var c schema.Cache
	var wg sync.WaitGroup
	got := make([][]*schema.Schema, 8)
	for g := range got {
		got[g] = make([]*schema.Schema, 50)
		wg.Go(func() {
			for i := range got[g] {
				s, err := c.Compile(fmt.Appendf(nil, `{"properties":{"a":{"maximum":%d}}}`, i))
				if err != nil {
					t.Error(err)
					return
				}
				if v := s.Validate(`{"a":1000}`); len(v) != 1 {
					t.Errorf("got %v", v)
				}
				got[g][i] = s
			}
		})
	}
	wg.Wait()
	for g := range got {
		for i := range got[g] {
			if got[g][i] != got[0][i] {
				t.Fatalf("goroutine %d has another schema %d", g, i)
			}
		}
	}
}

func TestFor(t *testing.T) {
	type place struct {
		Line int `json:"line"`
	}
	type args struct {
		Path  string   `json:"path" jsonschema:"file to read"`
		Start *place   `json:"start,omitempty"`
		Tags  []string `json:"tags,omitempty"`
		Limit float64  `json:"limit"`
	}
	raw, err := schema.For[args]()
	if err != nil {
		t.Fatal(err)
	}
	s := mustCompile(t, string(raw))
	if v := s.Validate(`{"path":"a","limit":1.5,"tags":["x"],"start":{"line":3}}`); v != nil {
		t.Error(v)
	}
	for _, doc := range []string{`{"path":"a"}`, `{"path":1,"limit":1}`, `{"path":"a","limit":1,"more":1}`,
		`{"path":"a","limit":1,"start":{"line":"3"}}`} {
		if s.Validate(doc) == nil {
			t.Errorf("%s is valid", doc)
		}
	}
	var names []string
	for _, p := range s.Shape().Props {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "path start tags limit" {
		t.Errorf("properties %s", got)
	}
	if !strings.Contains(string(raw), "file to read") {
		t.Errorf("no description in %s", raw)
	}
	if _, err := schema.For[chan int](); err == nil {
		t.Error("a channel has a schema")
	}
}

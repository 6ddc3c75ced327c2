package openapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"wield/schema"
)

// FuzzRead checks that no document makes the reader panic, that everything wrong has words, and that every tool has a
// schema that can be read and a name that stands alone.
func FuzzRead(f *testing.F) {
	f.Add(string(library(f)))
	n, err := read("library.yaml", library(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(n.append(nil)))
	for _, seed := range []string{
		"openapi: 3.0.3\nservers: [{url: 'https://x.example'}]\npaths:\n  /a/{b}: {get: {parameters: [{name: b, in: path}]}}\n",
		"openapi: 3.0.3\nx: &x [1]\npaths: {/a: &y {get: *x, <<: *y}}\n",
		`{"openapi":"3.1.0","paths":{"/":{"$ref":"#/paths/~1"}}}`,
		"a: &a [*a]\n? b\n: !!binary x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tools, err := Read([]byte(text), Options{File: "doc", Auth: credentials})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Msg == "" || !strings.HasPrefix(err.Error(), "doc") {
				t.Errorf("an error without a place: %v", err)
			}
		}
		seen := map[string]bool{}
		for _, one := range tools {
			if _, err := schema.Compile(one.Definition.Parameters); err != nil || seen[one.Name()] {
				t.Errorf("%s: %v", one.Name(), err)
			}
			seen[one.Name()] = true
		}
	})
}

// TestHostileReferences: schemas that lead to each other over and over end, and soon.
func TestHostileReferences(t *testing.T) {
	var b strings.Builder
	b.WriteString(
		"openapi: 3.0.3\nservers: [{url: 'https://x.example'}]\npaths:\n  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}}}\ncomponents:\n  schemas:\n")
	const n = 60
	for i := range n {
		fmt.Fprintf(&b, "    S%d: {type: object, properties: {", i)
		for j := range 5 {
			fmt.Fprintf(&b, "p%d: {$ref: '#/components/schemas/S%d'}, ", j, (i*7+j*13+1)%n)
		}
		b.WriteString("}}\n")
	}
	tools, err := Read([]byte(b.String()), Options{File: "doc"})
	if err != nil || len(tools) != 1 {
		t.Fatalf("%v", err)
	}
	if size := len(tools[0].Definition.Parameters); size > maxSchema {
		t.Errorf("the schema has %d bytes", size)
	}
}

// TestAliases: an alias of aliases does not grow beyond bounds.
func TestAliases(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10),
			","))
	}
	_, err := Read([]byte(b.String()), Options{File: "doc"})
	if err == nil || !strings.Contains(err.Error(), "values") {
		t.Errorf("%v", err)
	}
}

// large makes a document with n operations that share schemas.
func large(n int) string {
	var b strings.Builder
	b.WriteString("openapi: 3.0.3\nservers: [{url: 'https://x.example'}]\npaths:\n")
	for i := range n {
		fmt.Fprintf(&b,
			"  /things%d/{id}:\n    put:\n      operationId: changeThing%d\n      summary: Change one of the things of kind %d\n      parameters:\n"+
				"        - {name: id, in: path, required: true, description: number of the thing, schema: {type: integer}}\n"+
				"        - {name: dry, in: query, description: whether nothing is changed, schema: {type: boolean}}\n"+
				"      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Thing%d'}}}}\n      responses: {'200': {description: ok}}\n", i, i, i, i%100)
	}
	b.WriteString("components:\n  schemas:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "    Thing%d:\n      type: object\n      required: [name]\n      properties:\n", i)
		for j := range 12 {
			fmt.Fprintf(&b, "        field%d: {type: string, description: what field %d of the thing means}\n", j, j)
		}
		fmt.Fprintf(&b,
			"        name: {type: string, description: its name}\n        next: {$ref: '#/components/schemas/Thing%d'}\n", i/10*10+(i+1)%10)
	}
	return b.String()
}

func BenchmarkRead300(b *testing.B) {
	data := []byte(large(300))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if tools, err := Read(data, Options{File: "doc"}); err != nil || len(tools) != 300 {
			b.Fatal(len(tools), err)
		}
	}
}

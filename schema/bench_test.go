package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wield/internal/testlevel"
	"wield/schema"
)

const benchSchema = `{"type":"object","properties":{"city":{"type":"string","minLength":1},"unit":{"type":"string","enum":["celsius","fahrenheit"]},
	"days":{"type":"integer","minimum":1,"maximum":14},"tags":{"type":"array","items":{"type":"string"}},
	"at":{"anyOf":[{"type":"null"},{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"]}]}},
	"required":["city"],"additionalProperties":false}`

var benchDocs = []struct{ name, doc string }{
	{"Small", `{"city":"Paris","unit":"celsius","days":3}`},
	{"Nested", `{"city":"Paris","unit":"celsius","days":3,"tags":["a","b","c"],"at":{"lat":48.8566,"lon":2.3522}}`},
	{"Invalid", `{"city":"","unit":"kelvin","days":"3","more":1}`},
	{"String128KB", `{"city":"` + strings.Repeat("some text of a file, \\\"quoted\\\"\\n", 4096) + `"}`},
	{"Array1000", `{"city":"x","tags":["` + strings.Repeat(`a tag","`, 999) + `z"]}`},
}

// BenchmarkValidate compares the validator over tokens with the library behind it, which must build values first.
func BenchmarkValidate(b *testing.B) {
	own := mustCompile(b, benchSchema)
	oracle := mustOracle(b, benchSchema)
	for _, c := range benchDocs {
		b.Run(c.name+"/own", func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			b.ReportAllocs()
			for b.Loop() {
				own.Validate(c.doc)
			}
		})
		b.Run(c.name+"/library", func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			b.ReportAllocs()
			for b.Loop() {
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(c.doc))
				if err != nil {
					b.Fatal(err)
				}
				_ = oracle.Validate(v)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range benchDocs {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			b.ReportAllocs()
			for b.Loop() {
				if err := schema.Check(c.doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	raw := []byte(benchSchema)
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := schema.Compile(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		var c schema.Cache
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Compile(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustOracle(b, benchSchema)
		}
	})
}

// BenchmarkHostile shows that the cost of inputs made to be slow grows with their size and no faster: bytes a second
// stay the same from one size to the next.
func BenchmarkHostile(b *testing.B) {
	s := mustCompile(b, `{"uniqueItems":true,"items":{"anyOf":[{"type":"string"},{"multipleOf":0.01}]}}`)
	for _, kb := range []int{16, 256} {
		n := kb << 10
		for name, doc := range map[string]string{
			"Brackets":  strings.Repeat("[", n),
			"Numbers":   `[` + strings.Repeat("1.25,", n/5) + `1]`,
			"LongDigit": `[` + strings.Repeat("7", n) + `]`,
			"Escapes":   `["` + strings.Repeat(`\u00e9`, n/6) + `"]`,
		} {
			b.Run(fmt.Sprintf("%s/%dKB", name, kb), func(b *testing.B) {
				b.SetBytes(int64(len(doc)))
				for b.Loop() {
					s.Validate(doc)
				}
			})
		}
	}
}

// A valid call must be checked without allocating.
func TestValidateAllocates(t *testing.T) {
	if testlevel.Race {
		t.Skip("the race detector allocates")
	}
	s := mustCompile(t, benchSchema)
	doc := benchDocs[1].doc
	s.Validate(doc)
	if n := testing.AllocsPerRun(200, func() { s.Validate(doc) }); n > 0 {
		t.Errorf("%v allocations a document", n)
	}
}

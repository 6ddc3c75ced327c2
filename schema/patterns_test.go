package schema

import (
	"fmt"
	"strings"
	"testing"
)

// TestPatternsAreBounded compiles schemas with few and with many patterns, and with some that are short and
// grow when they are compiled.
func TestPatternsAreBounded(t *testing.T) {
	many := func(n int, pattern string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%q: {"pattern": %q},`, fmt.Sprint("p", i), pattern)
		}
		return `{"properties": {` + strings.TrimSuffix(b.String(), ",") + `}}`
	}
	for _, c := range []struct {
		doc string
		ok  bool
	}{
		{many(100, `^[A-Za-z0-9._%+-]{1,64}@[a-z.]+\.[a-z]{2,}$`), true},
		{many(20, `^\d{4}-(0[1-9]|1[0-2])-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]\d{2}:\d{2})$`), true},
		{many(5000, `a`), false},
		{many(100, `^([a-z]{1,50}|x){1,20}$`), false},
		{many(200, `^(a|b){1,999}$`), false},
		{`{"patternProperties": {"^((a{1,30}){1,30})$": {}, "^((b{1,30}){1,30})$": {}}}`, true},
		{`{"pattern": "(((a{1,9}){1,9}){1,9})"}`, true},
		{`{"items": ` + many(100, `((a{1,30}){1,30})`) + `}`, false},
	} {
		s, err := Compile([]byte(c.doc))
		if (err == nil) != c.ok {
			t.Errorf("%.80s (%d instructions): %v", c.doc, s.Patterns(), err)
		}
		if err != nil && !strings.Contains(err.Error(), "too large together") {
			t.Errorf("%.80s: %v", c.doc, err)
		}
	}
}

// TestCacheWeighsPatterns fills a cache with schemas whose text is small beside their patterns: it does not
// keep them all.
func TestCacheWeighsPatterns(t *testing.T) {
	var c Cache
	for i := range 60 {
		if _, err := c.Compile(fmt.Appendf(nil,
			`{"pattern": "x%d((a{1,30}){1,30})((b{1,30}){1,30})((c{1,30}){1,30})((d{1,30}){1,30})((e{1,30}){1,30})((f{1,30}){1,30})((g{1,30}){1,30})((h{1,30}){1,30})((i{1,30}){1,30})((j{1,30}){1,30})"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.recent.Len(); n > 30 {
		t.Errorf("%d schemas are kept", n)
	}
}

// TestLibraryCost: what takes quadratic time is bounded, and what schemas really have is not refused.
func TestLibraryCost(t *testing.T) {
	for name, doc := range map[string]func(n int) string{
		"ids": func(n int) string {
			return `{"$id":"x:/root","$defs":{` + joinN(n, `"d%d":{"$id":"d%[1]d","type":"string"}`) + `},"properties":{` +
				joinN(n, `"p%d":{"$ref":"d%[1]d"}`) + `}}`
		},
		"dynamic references": func(n int) string {
			return `{"$dynamicAnchor":"a","properties":{` + joinN(n, `"p%d":{"$dynamicRef":"#a"}`) + `}}`
		},
		"true and false": func(n int) string {
			return `{"unevaluatedItems":false,"prefixItems":[true` + strings.Repeat(",false", n) + `]}`
		},
		"unevaluated properties": func(n int) string {
			return `{"unevaluatedProperties":false,"allOf":[` +
				joinN(n, `{"if":{"required":["a%d"]},"then":{"properties":{"b%[1]d":{}}}}`) + `]}`
		},
	} {
		if _, err := Compile([]byte(doc(50))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Compile([]byte(doc(5000))); err == nil || !strings.Contains(err.Error(), "too large for one with") {
			t.Errorf("%s, 5 000 of them: %v", name, err)
		}
	}
}

func joinN(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

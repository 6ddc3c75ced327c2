package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"wield/schema"
)

func TestCheck(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		doc     string
		kind    schema.SyntaxKind // "": no error
		offset  int
		pointer string
	}{
		{`{"a":[1,-0,2.50,1e-400,1E+2],"b":{"c":null},"d":"\u00e9\ud83d\ude00é😀"}`, "", 0, ""},
		{" \t\r\n true \n", "", 0, ""},
		{deep(64), "", 0, ""},
		{deep(65), schema.TooDeep, 64, strings.Repeat("/0", 64)},
		{``, schema.Malformed, 0, ""},
		{`   `, schema.Malformed, 3, ""},
		{"\ufeff{}", schema.Malformed, 0, ""},
		{`{} {}`, schema.Trailing, 3, ""},
		{`{}}`, schema.Trailing, 2, ""},
		{`1,`, schema.Trailing, 1, ""},
		{`{"a":1,"b":{"c":2,"c":3}}`, schema.DuplicateKey, 18, "/b/c"},
		{`{"a":1,"\u0061":2}`, schema.DuplicateKey, 7, "/a"},
		{`[0,{"path":"x","PATH":"y"}]`, schema.CaseClash, 15, "/1/PATH"},
		{`{"É":1,"é":2}`, "", 0, ""},
		{`{"a":"` + "\xff" + `"}`, schema.BadUTF8, 6, "/a"},
		{"\"\xed\xa0\x80\"", schema.BadUTF8, 1, ""},
		{"\"\xc0\xaf\"", schema.BadUTF8, 1, ""},
		{"{\"\xff\":1}", schema.BadUTF8, 2, ""},
		{`["\ud800"]`, schema.Surrogate, 2, "/0"},
		{`["\ud800\u0041"]`, schema.Surrogate, 2, "/0"},
		{`["\udc00\ud800"]`, schema.Surrogate, 2, "/0"},
		{`["\ud83d`, schema.Surrogate, 2, "/0"},
		{`{"n":1e400}`, schema.OutOfRange, 5, "/n"},
		{`-1e400`, schema.OutOfRange, 0, ""},
		{`{"n":NaN}`, schema.Malformed, 5, "/n"},
		{`[Infinity]`, schema.Malformed, 1, "/0"},
		{`[-Infinity]`, schema.Malformed, 2, "/0"},
		{`[01]`, schema.Malformed, 3, "/0"},
		{`[+1]`, schema.Malformed, 1, "/0"},
		{`[1.]`, schema.Malformed, 3, "/0"},
		{`[.5]`, schema.Malformed, 1, "/0"},
		{`[1e]`, schema.Malformed, 3, "/0"},
		{`[0x10]`, schema.Malformed, 2, "/0"},
		{`[1,]`, schema.Malformed, 3, "/1"},
		{`[,1]`, schema.Malformed, 1, "/0"},
		{`[1 2]`, schema.Malformed, 3, "/0"},
		{`[1`, schema.Malformed, 2, "/0"},
		{`{"a" 1}`, schema.Malformed, 5, "/a"},
		{`{"a":1,}`, schema.Malformed, 7, ""},
		{`{a:1}`, schema.Malformed, 1, ""},
		{`{'a':1}`, schema.Malformed, 1, ""},
		{`{"a":1`, schema.Malformed, 6, "/a"},
		{`{"a":`, schema.Malformed, 5, "/a"},
		{`{"a`, schema.Malformed, 1, ""},
		{`"a\x"`, schema.Malformed, 2, ""},
		{`"a\u12g4"`, schema.Malformed, 2, ""},
		{`"a\`, schema.Malformed, 2, ""},
		{"\"a\nb\"", schema.Malformed, 2, ""},
		{`tru`, schema.Malformed, 0, ""},
		{`nullx`, schema.Trailing, 4, ""},
		{`{"a/b":{"c~d":[{"":x}]}}`, schema.Malformed, 19, "/a~1b/c~0d/0/"},
	} {
		err := schema.Check(c.doc)
		if c.kind == "" {
			if err != nil {
				t.Errorf("Check(%.60q): %v", c.doc, err)
			}
			continue
		}
		var serr *schema.SyntaxError
		if !errors.As(err, &serr) {
			t.Errorf("Check(%.60q) = %v, want %s", c.doc, err, c.kind)
			continue
		}
		if serr.Kind() != c.kind || serr.Offset != c.offset || serr.Pointer != c.pointer {
			t.Errorf("Check(%.60q) = %s at %d in %q, want %s at %d in %q", c.doc, serr.Kind(), serr.Offset,
				serr.Pointer, c.kind, c.offset, c.pointer)
		}
		if serr.Message == "" || !strings.Contains(err.Error(), serr.Message) {
			t.Errorf("Check(%.60q): message %q, error %q", c.doc, serr.Message, err)
		}
	}
}

// With many members the names are compared in another way, which must find the same.
func TestCheckManyNames(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"name":1`)
	for i := range 40 {
		b.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
	}
	for tail, kind := range map[string]schema.SyntaxKind{`}`: "", `,"n\u0061me":2}`: schema.DuplicateKey,
		`,"Name":2}`: schema.CaseClash} {
		err := schema.Check(b.String() + tail)
		var serr *schema.SyntaxError
		if kind == "" && err != nil || kind != "" && (!errors.As(err, &serr) || serr.Kind() != kind) {
			t.Errorf("with %s: %v, want %q", tail, err, kind)
		}
	}
}

// Validation reads as strictly, but names may differ in case and numbers may have any size.
func TestValidateReadsStrictly(t *testing.T) {
	s := mustCompile(t, `{}`)
	for doc, bad := range map[string]bool{
		`{"a":1,"a":1}`: true, `{"a":1}x`: true, "\"\xff\"": true, `"\ud800"`: true, `{"a":1`: true, ``: true,
		`{"a":1,"A":2}`: false, `1e400`: false, `[]`: false,
	} {
		v := s.Validate(doc)
		if bad != (len(v) == 1) ||
			bad && (v[0].Keyword != "" || !strings.HasPrefix(v[0].Message, "not valid JSON at byte ")) {
			t.Errorf("Validate(%q) = %v", doc, v)
		}
	}
}

// An independent reader of strict JSON must agree on every text.
func TestCheckDifferential(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[\[\]{},:"a0-9eE.+\-\\u d8c \n]{0,16}`),
		rapid.Custom(func(t *rapid.T) string {
			g := generator{t: t}
			doc := []byte(g.value(3, "doc"))
			if len(doc) > 0 && rapid.Bool().Draw(t, "spoil") {
				doc[rapid.IntRange(0, len(doc)-1).Draw(t,
					"at")] = rapid.SampledFrom([]byte(`"[]{},:0e.-\`+"\xff\n ")).Draw(t, "byte")
			}
			return string(doc)
		}))
	rapid.Check(t, func(t *rapid.T) {
		doc := text.Draw(t, "doc")
		want := jsontext.Value(doc).IsValid()
		v := mustCompile(t, `{}`).Validate(doc)
		if (len(v) == 0) != want {
			t.Fatalf("%q: %v, but the other reader says %v", doc, v, want)
		}
		if schema.Check(doc) == nil && !json.Valid([]byte(doc)) {
			t.Fatalf("Check(%q) accepts what is no JSON", doc)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, doc := range []string{`{"a":[1,2.5e3,"x\u00e9\ud83d\ude00",null,true]}`, `[[[]]]`, `"\ud800"`, "\xff",
		`{"a":1,"a":2}`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		err := schema.Check(doc)
		if err == nil && !jsontext.Value(doc).IsValid() {
			t.Fatalf("Check accepts %q", doc)
		}
		var serr *schema.SyntaxError
		if err != nil && (!errors.As(err, &serr) || serr.Offset < 0 || serr.Offset > len(doc)) {
			t.Fatalf("Check(%q): %v", doc, err)
		}
	})
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

func mustCompile(t failer, src string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(src))
	if err != nil {
		t.Fatalf("Compile(%s): %v", src, err)
	}
	return s
}

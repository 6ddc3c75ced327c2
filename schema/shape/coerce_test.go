package shape_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	. "wield/schema/shape"
)

func TestCoerce(t *testing.T) {
	const number = Number | Integer
	const any = Null | Boolean | number | String | Array | Object
	python := CoerceOptions{Python: true}
	asJSON := CoerceOptions{Untyped: UntypedJSON}
	asPython := CoerceOptions{Untyped: UntypedPython}
	for _, c := range []struct {
		text  string
		types Types
		o     CoerceOptions
		want  string
		how   Coercion
	}{
		{" 42\n", String, CoerceOptions{}, `" 42\n"`, Fits},
		{"", String, CoerceOptions{}, `""`, Fits},
		{"a\"b\\c\t\x01é\xff", String, CoerceOptions{}, `"a\"b\\c\t\u0001é` + "\ufffd" + `"`, Fits},
		{"&lt;x&gt;", String, CoerceOptions{}, `"&lt;x&gt;"`, Fits},

		{" 42\n", Integer, CoerceOptions{}, `42`, Fits},
		{"12345678901234567890", Integer, CoerceOptions{}, `12345678901234567890`, Fits},
		{"3.0", Integer, CoerceOptions{}, `3`, Coerced},
		{"-3.00", Integer, CoerceOptions{}, `-3`, Coerced},
		{"12e-1", Integer, CoerceOptions{}, `"12e-1"`, Uncoerced},
		{"120e-1", Integer, CoerceOptions{}, `12`, Coerced},
		{"5.5", Integer, CoerceOptions{}, `"5.5"`, Uncoerced},
		{"+5", Integer, CoerceOptions{}, `5`, Coerced},
		{"+-5", Integer, CoerceOptions{}, `"+-5"`, Uncoerced},
		{"007", Integer, CoerceOptions{}, `"007"`, Uncoerced},
		{"", Integer, CoerceOptions{}, `""`, Uncoerced},
		{"-", Integer, CoerceOptions{}, `"-"`, Uncoerced},
		{"five", Integer, CoerceOptions{}, `"five"`, Uncoerced},
		{"true", Integer, CoerceOptions{}, `"true"`, Uncoerced},
		{"1e25", Integer, CoerceOptions{}, `1e25`, Fits},

		{"5.0", number, CoerceOptions{}, `5`, Coerced},
		{"1e3", number, CoerceOptions{}, `1000`, Coerced},
		{"1.10", number, CoerceOptions{}, `1.10`, Fits},
		{"1e-400", number, CoerceOptions{}, `1e-400`, Fits},
		{".5", number, CoerceOptions{}, `0.5`, Coerced},
		{"-.5e-1", number, CoerceOptions{}, `-0.5e-1`, Coerced},
		{"5.", number, CoerceOptions{}, `5`, Coerced},
		{"0.0", number, CoerceOptions{}, `0`, Coerced},
		{"1e999999999999999999", number, CoerceOptions{}, `"1e999999999999999999"`, Uncoerced},
		{"nan", number, CoerceOptions{}, `"nan"`, Uncoerced},
		{"0x10", number, CoerceOptions{}, `"0x10"`, Uncoerced},
		{"1 2", number, CoerceOptions{}, `"1 2"`, Uncoerced},

		{"TRUE", Boolean, CoerceOptions{}, `true`, Fits},
		{"False", Boolean, CoerceOptions{}, `false`, Fits},
		{"1", Boolean, CoerceOptions{}, `true`, Coerced},
		{"yes", Boolean, CoerceOptions{}, `"yes"`, Uncoerced},
		{"1", Boolean | Integer, CoerceOptions{}, `1`, Fits},

		{"NULL", String | Null, CoerceOptions{}, `null`, Fits},
		{"NULL", String, CoerceOptions{}, `"NULL"`, Fits},
		{"None", String | Null, CoerceOptions{}, `"None"`, Fits},
		{"None", String | Null, python, `null`, Fits},
		{"none", String | Null, python, `"none"`, Fits},
		{"null", Integer, CoerceOptions{}, `"null"`, Uncoerced},

		{"42", Integer | String, CoerceOptions{}, `42`, Fits},
		{" x ", Integer | String, CoerceOptions{}, `" x "`, Fits},
		{`{"a":1}`, String | Object, CoerceOptions{}, `{"a":1}`, Fits},
		{`{a}`, String | Object, CoerceOptions{}, `"{a}"`, Fits},
		{`[1]`, String | Object, CoerceOptions{}, `"[1]"`, Fits},

		{"\n[1, 2.50]\n", Array, CoerceOptions{}, `[1, 2.50]`, Fits},
		{"(1, 'a',)", Array, CoerceOptions{}, `[1,"a"]`, PythonObject},
		{"{'a': [True, None]}", Object, CoerceOptions{}, `{"a":[true,null]}`, PythonObject},
		{"{'a': 1e999}", Object, CoerceOptions{}, `"{'a': 1e999}"`, Uncoerced},
		{"[1, 2", Array, CoerceOptions{}, `"[1, 2"`, Uncoerced},
		{"[1]", Object, CoerceOptions{}, `"[1]"`, Uncoerced},

		{"42", 0, CoerceOptions{}, `"42"`, Fits},
		{"42", 0, asJSON, `42`, Fits},
		{" [1]", 0, asJSON, `[1]`, Fits},
		{"['a']", 0, asJSON, `"['a']"`, Fits},
		{"['a']", 0, asPython, `["a"]`, PythonObject},
		{"None", 0, asPython, `"None"`, Fits},
		{"hello", 0, asPython, `"hello"`, Fits},
		{"42", any, CoerceOptions{}, `42`, Fits},
		{"42 days", any, CoerceOptions{}, `"42 days"`, Fits},
	} {
		s := &Shape{Types: c.types}
		if c.types == 0 {
			s = nil
		}
		got, how := Coerce(c.text, s, c.o)
		if got != c.want || how != c.how {
			t.Errorf("Coerce(%q, %b, %+v) = %s, %q, want %s, %q", c.text, c.types, c.o, got, how, c.want, c.how)
		}
	}
}

func TestCoerceEnumDecides(t *testing.T) {
	s := &Shape{Types: String | Integer | Number, Enum: []string{`"1"`, `2`}}
	for text, want := range map[string]string{"1": `"1"`, "2": `2`, "3": `3`, "x": `"x"`} {
		if got, _ := Coerce(text, s, CoerceOptions{}); got != want {
			t.Errorf("Coerce(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestFitScalar(t *testing.T) {
	const number = Number | Integer
	colours := &Shape{Types: String, Enum: []string{`"Red"`, `"green"`, `"GREEN"`}}
	strings := &Shape{Types: Array, Items: &Shape{Types: String}}
	numbers := &Shape{Types: Array, Items: &Shape{Types: number}}
	of := func(t Types) *Shape { return &Shape{Types: t} }
	itself := of(Array | Null)
	itself.Items = itself
	for _, c := range []struct {
		in    string
		shape *Shape
		full  bool
		want  string
		how   Coercion
		ok    bool
	}{
		{`"5"`, of(Integer), false, `5`, Coerced, true},
		{`" 5 "`, of(Integer), false, `5`, Coerced, true},
		{`"5.0"`, of(Integer), false, `5`, Coerced, true},
		{`5.0`, of(Integer), false, `5`, Coerced, true},
		{`5e0`, of(Integer), false, `5`, Coerced, true},
		{`5.0`, of(number), false, `5.0`, Fits, true},
		{`1e400`, of(Integer), false, `1e400`, Fits, true},
		{`5.5`, of(Integer), true, `5.5`, Uncoerced, false},
		{`"5.5"`, of(Integer), true, `"5.5"`, Uncoerced, false},
		{`"5.5"`, of(number), false, `5.5`, Coerced, true},
		{`"true"`, of(Boolean), false, `true`, Coerced, true},
		{`"False"`, of(Boolean), false, `false`, Coerced, true},
		{`"1"`, of(Boolean), true, `"1"`, Uncoerced, false},
		{`1`, of(Boolean), true, `1`, Uncoerced, false},
		{`true`, of(Integer), true, `true`, Uncoerced, false},
		{`5`, of(String), true, `5`, Uncoerced, false},
		{`"null"`, of(Integer | Null), false, `null`, Coerced, true},
		{`"null"`, of(String | Null), false, `"null"`, Fits, true},
		{`"{\"a\":1}"`, of(Object), false, `{"a":1}`, Coerced, true},
		{`"{'a': 1}"`, of(Object), false, `{"a":1}`, PythonObject, true},
		{`"[1]"`, of(Object), false, `"[1]"`, Uncoerced, false},
		{`null`, of(String), true, `null`, Uncoerced, false},
		{`"x"`, nil, true, `"x"`, Fits, true},
		{`"\ud83d"`, of(Integer), true, `"\ud83d"`, Uncoerced, false},

		{`"RED"`, colours, false, `"RED"`, Fits, true},
		{`"RED"`, colours, true, `"Red"`, EnumCase, true},
		{`"Green"`, colours, true, `"Green"`, Fits, true},
		{`"green"`, colours, true, `"green"`, Fits, true},
		{`"blue"`, colours, true, `"blue"`, Fits, true},
		{`"rw "`, &Shape{Types: String, Enum: []string{`"rw"`}}, true, `"rw "`, Fits, true},

		{`"a"`, strings, false, `"a"`, Uncoerced, false},
		{`"a"`, strings, true, `["a"]`, ArrayWrap, true},
		{`5`, strings, true, `5`, Uncoerced, false},
		{`"5"`, numbers, true, `[5]`, ArrayWrap, true},
		{`"[5]"`, numbers, false, `[5]`, Coerced, true},
		{`null`, numbers, true, `null`, Uncoerced, false},
		{`5`, itself, true, `5`, Uncoerced, false},
		{`"x"`, &Shape{Types: Array, Items: strings}, true, `"x"`, Uncoerced, false},
		{`["a"]`, of(String), false, `["a"]`, Uncoerced, false},
		{`[ "a" ]`, of(String), true, `"a"`, ArrayUnwrap, true},
		{`["5"]`, of(Integer), true, `5`, ArrayUnwrap, true},
		{`["a","b"]`, of(String), true, `["a","b"]`, Uncoerced, false},
		{`[]`, of(String), true, `[]`, Uncoerced, false},
		{`[["a"]]`, of(String), true, `[["a"]]`, Uncoerced, false},
	} {
		out, how, ok := FitScalar(c.in, c.shape, c.full)
		if out != c.want || how != c.how || ok != c.ok {
			t.Errorf("FitScalar(%s, %+v, %v) = %s, %q, %v, want %s, %q, %v", c.in, c.shape, c.full, out, how, ok,
				c.want, c.how, c.ok)
		}
	}
}

func TestPythonJSON(t *testing.T) {
	for src, want := range map[string]string{
		`{'a': 'b', "c": [1, 2.5, -3], }`:        `{"a":"b","c":[1,2.5,-3]}`,
		`{}`:                                     `{}`,
		`[]`:                                     `[]`,
		`()`:                                     `[]`,
		`(1)`:                                    `1`,
		`(1,)`:                                   `[1]`,
		`((1, 2), [()])`:                         `[[1,2],[[]]]`,
		`{1, 2}`:                                 `[1,2]`,
		`{1: 2, True: 3, None: 4, 1.5: 5}`:       `{"1":2,"true":3,"null":4,"1.5":5}`,
		`[True, False, None, true, false, null]`: `[true,false,null,true,false,null]`,
		`'it\'s "so"'`:                           `"it's \"so\""`,
		`"tab\tnew\nbell\a\x41\u00e9\U0001F600"`: `"tab\tnew\nbell\u0007Aé😀"`,
		`'\ud83d\ude00'`:                         `"😀"`,
		`'\101\0'`:                               `"A\u0000"`,
		`'a\d\_b'`:                               `"a\\d_b"`,
		`'\é'`:                                   `"\\é"`,
		`r'C:\new\'`:                             ``,
		`r'C:\new'`:                              `"C:\\new"`,
		`u'x'`:                                   `"x"`,
		`b'x'`:                                   ``,
		`f'{x}'`:                                 ``,
		`'a' "b"`:                                `"ab"`,
		"'a\\\nb'":                               `"ab"`,
		"'''x\n'y' '''":                          `"x\n'y' "`,
		"'a\nb'":                                 `"a\nb"`,
		`1_000`:                                  `1000`,
		`0x1F`:                                   `31`,
		`-0b101`:                                 `-5`,
		`.5`:                                     `0.5`,
		`5.`:                                     `5`,
		`1E5`:                                    `1E5`,
		`007`:                                    ``,
		`1j`:                                     ``,
		`1e999`:                                  ``,
		`inf`:                                    ``,
		`nan`:                                    ``,
		`foo`:                                    ``,
		`foo()`:                                  ``,
		`Truex`:                                  ``,
		`[1 2]`:                                  ``,
		`[1,,2]`:                                 ``,
		`[,]`:                                    ``,
		`{'a': 1, 2}`:                            ``,
		`{1, 'a': 2}`:                            ``,
		`{'a' 1}`:                                ``,
		`{(1, 2): 3}`:                            ``,
		`[1]]`:                                   ``,
		`[1`:                                     ``,
		`'open`:                                  ``,
		`'open\`:                                 ``,
		``:                                       ``,
		" [ # a list\n 1 , # one\n ] ":           `[1]`,
		"12345678901234567890":                   "12345678901234567890",
		`{'k': {'deep': ({'x': 'y'}, [None])}}`:  `{"k":{"deep":[{"x":"y"},[null]]}}`,
		`["mixed", 'quotes', """both"""]`:        `["mixed","quotes","both"]`,
		`{'path': 'a/b', 'n': - 5}`:              ``,
		strings.Repeat("[", 65) + strings.Repeat("]", 65): ``,
	} {
		got, ok := PythonJSON(src)
		if ok != (want != "") || got != want {
			t.Errorf("PythonJSON(%s) = %s, %v, want %s", src, got, ok, want)
		}
		if ok && !json.Valid([]byte(got)) {
			t.Errorf("PythonJSON(%s) = %s, which is not JSON", src, got)
		}
	}
}

// Whatever the text and the type, what comes out is JSON, and a value that is reported to fit has a type of the shape.
func TestCoerceAlwaysJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\[\]{}(),:'"0-9eE.+\-TrueFalsNn\\ ]{0,24}`))
	rapid.Check(t, func(t *rapid.T) {
		src := text.Draw(t, "text")
		s := &Shape{Types: Types(rapid.IntRange(0, 127).Draw(t, "types"))}
		o := CoerceOptions{Untyped: Untyped(rapid.IntRange(0, 2).Draw(t, "untyped")),
			Python: rapid.Bool().Draw(t, "python")}
		got, how := Coerce(src, s, o)
		if !json.Valid([]byte(got)) {
			t.Fatalf("Coerce(%q, %b) = %s, which is not JSON", src, s.Types, got)
		}
		if _, _, ok := FitScalar(got, s, false); s.Types != 0 && !ok && how != Uncoerced {
			t.Fatalf("Coerce(%q, %b) = %s, %q, which does not fit", src, s.Types, got, how)
		}
		for _, full := range []bool{false, true} {
			out, _, ok := FitScalar(got, s, full)
			if !json.Valid([]byte(out)) {
				t.Fatalf("FitScalar(%s, %b) = %s, which is not JSON", got, s.Types, out)
			}
			if again, how, ok2 := FitScalar(out, s, full); ok && (again != out || how != Fits || !ok2) {
				t.Fatalf("FitScalar(%s, %b) = %s, but again it is %s, %q", got, s.Types, out, again, how)
			}
		}
	})
}

// Hostile texts must cost no more than their length. The sizes make a quadratic reader run into the test's time limit.
func TestCoerceHostile(t *testing.T) {
	const n = 1 << 20
	for name, text := range map[string]string{
		"brackets":  strings.Repeat("[", n),
		"braces":    strings.Repeat("{'a':", n/5),
		"digits":    strings.Repeat("9", n),
		"fraction":  "0." + strings.Repeat("0", n) + "1",
		"exponent":  "1e" + strings.Repeat("9", n),
		"quotes":    "'" + strings.Repeat(`\'`, n/2),
		"backslash": `["` + strings.Repeat(`\`, n),
		"commas":    "[" + strings.Repeat("1,", n/2),
		"strings":   strings.Repeat("'' ", n/3),
		"parens":    strings.Repeat("(", 64) + "1" + strings.Repeat(")", 64),
	} {
		for types := range Types(128) {
			if types&(types-1) != 0 && types != 127 {
				continue
			}
			got, _ := Coerce(text, &Shape{Types: types}, CoerceOptions{Untyped: UntypedPython})
			if len(got) > 3*len(text)+16 {
				t.Errorf("%s as %b: %d bytes from %d", name, types, len(got), len(text))
			}
		}
	}
}

func FuzzCoerce(f *testing.F) {
	for _, text := range []string{"5.0", "{'a': (1, None,)}", `["\ud83d\ude00"]`, "'a' r'\\'", "0x1F", "-.5e3",
		"[1e999]", "{1: 2}"} {
		f.Add(text, byte(127))
	}
	f.Fuzz(func(t *testing.T, text string, types byte) {
		s := &Shape{Types: Types(types & 127)}
		for _, o := range []CoerceOptions{{}, {Untyped: UntypedPython, Python: true}} {
			got, _ := Coerce(text, s, o)
			if !json.Valid([]byte(got)) {
				t.Fatalf("Coerce(%q, %b) = %s, which is not JSON", text, types, got)
			}
			if out, _, _ := FitScalar(got, s, true); !json.Valid([]byte(out)) {
				t.Fatalf("FitScalar(%s, %b) = %s, which is not JSON", got, types, out)
			}
		}
		if got, ok := PythonJSON(text); ok && !json.Valid([]byte(got)) {
			t.Fatalf("PythonJSON(%q) = %s, which is not JSON", text, got)
		}
	})
}

func ExampleCoerce() {
	count := &Shape{Types: Integer}
	for _, text := range []string{"12.0", "a dozen"} {
		json, how := Coerce(text, count, CoerceOptions{})
		fmt.Println(json, how)
	}
	// Output:
	// 12 coerced
	// "a dozen" uncoerced
}

func BenchmarkCoerce(b *testing.B) {
	for _, c := range []struct {
		name, text string
		types      Types
	}{
		{"integer", "12345", Integer},
		{"boolean", "True", Boolean},
		{"string16KB", strings.Repeat("some text, \"quoted\"\n", 800), String},
		{"array", "[1, 2, 3, \"x\"]", Array},
		{"python", "{'a': [1, 2, None]}", Object},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := &Shape{Types: c.types}
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				Coerce(c.text, s, CoerceOptions{})
			}
		})
	}
}

package dialect_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m) }

// -dialect.failing FILE writes the cases that fail, one JSON object a line, so that a program can work through them.
var failing = flag.String("dialect.failing", "", "write the failing cases to this file")

func loadCases(t testing.TB, file string) []dialecttest.Case {
	t.Helper()
	cases, err := dialecttest.ReadFile(filepath.Join("testdata", "cases", file))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// allCases returns the cases of all files. Those of tests that cannot say what must come out are among them.
func allCases(t testing.TB) []dialecttest.Case {
	t.Helper()
	files, err := dialecttest.ReadDir(os.DirFS(filepath.Join("testdata", "cases")))
	if err != nil {
		t.Fatal(err)
	}
	var all []dialecttest.Case
	for _, cases := range files {
		all = append(all, cases...)
	}
	slices.SortFunc(all, func(a, b dialecttest.Case) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// TestCases runs every case as it is written and, where it names a dialect that auto holds, under auto as well: what
// one dialect reads must come out whether or not it was named.
func TestCases(t *testing.T) {
	var out []byte
	var suite dialecttest.Suite
	var cache dialect.Cache
	for i, c := range allCases(t) {
		allCuts := i%testlevel.Every(10) == 0 || c.Finish != ""
		if testlevel.Race && !allCuts {
			continue
		}
		for _, c := range variants(c) {
			t.Run(c.ID, func(t *testing.T) {
				var failures []dialecttest.Failure
				if allCuts {
					failures = suite.Case(&c)
				} else if err := fewCuts(&c, &cache); err != nil {
					failures = []dialecttest.Failure{{Case: c.ID, Text: c.Text, Err: err}}
				}
				if len(failures) == 0 {
					return
				}
				t.Errorf("text %q\n%v", c.Text, failures)
				line, _ := json.Marshal(map[string]any{"id": c.ID, "dialect": c.Dialect, "text": c.Text,
					"want": c.Want, "why": c.Why, "error": fmt.Sprint(failures)})
				out = append(append(out, line...), '\n')
			})
		}
	}
	if *failing != "" {
		if err := os.WriteFile(*failing, out, 0o666); err != nil {
			t.Error(err)
		}
	}
}

// fewCuts is Suite.Case with few of the ways to cut a text.
func fewCuts(c *dialecttest.Case, cache *dialect.Cache) error {
	o, err := c.Options()
	if err != nil {
		return err
	}
	o.Cache = cache
	mk := maker(o)
	d := mk()
	return errors.Join(dialecttest.Quick(mk, c.Text), c.Compare(d.Close(d.Feed(nil, c.Text))))
}

func variants(c dialecttest.Case) []dialecttest.Case {
	d, ok := dialect.Lookup(c.Dialect)
	if !ok || d.ByName || underAuto[d.Name] != "" || c.Only || !strings.HasPrefix(c.ID, c.Dialect+"/") {
		return []dialecttest.Case{c}
	}
	auto := c
	auto.ID, auto.Dialect = c.ID+"@auto", ""
	return []dialecttest.Case{c, auto}
}

// TestEveryDialectHasCases holds the files to what they promise: for each dialect of the table at least 40 cases and no
// text twice. Half of them are no call where prose may look like one; where a call begins with a marker that prose does
// not have, a quarter are.
func TestEveryDialectHasCases(t *testing.T) {
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		if _, err := os.Stat(filepath.Join("testdata", "cases", name+".jsonl")); err != nil {
			t.Errorf("%s has no file of cases", name)
			continue
		}
		cases, none := loadCases(t, name+".jsonl"), 0
		texts := make(map[string]string)
		for _, c := range cases {
			if c.Dialect != d.Name {
				t.Errorf("%s: dialect is %q", c.ID, c.Dialect)
			}
			if c.Want.Calls == nil || len(c.Want.Calls) > 0 {
				continue
			}
			none++
			what := fmt.Sprintf("%q %v %s %s %t %t", c.Text, c.Tools, c.Prefix, c.Repair, c.Only, c.Open)
			if texts[what] != "" {
				t.Errorf("%s has the text of %s", c.ID, texts[what])
			}
			texts[what] = c.ID
		}
		least := len(cases) / 4
		if mistakable[name] {
			least = (len(cases) + 1) / 2
		}
		if len(cases) < 40 || none < least {
			t.Errorf("%s: %d cases, %d of them no call", name, len(cases), none)
		}
	}
}

// underAuto are the dialects whose texts are those of another one, as which they are read unless they are named.
var underAuto = map[string]string{"hyperclovax-seed": "glm", "mimo": "qwen3-coder", "spark25": "glm",
	"step5": "qwen3-coder"}

// mistakable are the dialects whose calls have no marker, or one that models are told of in words.
var mistakable = map[string]bool{"cli-block": true, "function-style": true, "hermes": true, "json-fence": true,
	"llf-shorthand": true, "name-json": true, "openai-envelope": true, "pythonic": true, "qwen3-coder": true,
	"raw-json": true, "react": true, "tool-call-tag": true, "tool-request": true, "xml-style": true, "yaml-style": true}

// TestExamples decodes the example of every row of the table.
func TestExamples(t *testing.T) {
	const params = `{"type":"object","properties":{"k":{"type":"string"}}}`
	tool := dialecttest.Tool{Type: "function", Function: dialecttest.Function{Name: "N", Parameters: []byte(params)}}
	empty := ""
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		c := dialecttest.Case{ID: name, Dialect: name, Tools: []dialecttest.Tool{tool}, Text: d.Example,
			Want: dialecttest.Want{Content: &empty,
				Calls:    []dialecttest.WantCall{{Name: "N", Arguments: []byte(`{"k":"v"}`), Dialect: name}},
				Rejected: []dialecttest.WantRejected{}}}
		if err := c.Check(); err != nil {
			t.Errorf("%s: %q: %v", name, d.Example, err)
		}
	}
}

// seed checks the regression cases of one known fault, each whole and at every split.
func seed(t *testing.T, id string) {
	t.Helper()
	var cases []dialecttest.Case
	for _, c := range loadCases(t, "seeds.jsonl") {
		if strings.HasPrefix(c.ID, "seeds/"+id+"/") {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatalf("no cases for %s", id)
	}
	checkCases(t, cases)
}

func checkCases(t *testing.T, cases []dialecttest.Case) {
	t.Helper()
	suite := new(dialecttest.Suite)
	for i := range cases {
		for _, f := range suite.Case(&cases[i]) {
			t.Error(f)
		}
	}
}

func TestA1(t *testing.T)         { seed(t, "A1") }   // found or not depending on the chunks
func TestA2(t *testing.T)         { seed(t, "A2") }   // a fence inside a JSON string
func TestA3(t *testing.T)         { seed(t, "A3") }   // fences of other languages changed
func TestA4(t *testing.T)         { seed(t, "A4") }   // several calls at once, other shapes, other tags
func TestA5(t *testing.T)         { seed(t, "A5") }   // an unclosed fence at the end
func TestA6(t *testing.T)         { seed(t, "A6") }   // arguments that are no object dropped
func TestA7(t *testing.T)         { seed(t, "A7") }   // undeclared names called
func TestA8(t *testing.T)         { seed(t, "A8") }   // big numbers rounded
func TestA9(t *testing.T)         { seed(t, "A9") }   // stray quotes and braces
func TestA13(t *testing.T)        { seed(t, "A13") }  // a parameter named parameters
func TestXB01(t *testing.T)       { seed(t, "XB01") } // the strict message, nearly
func TestXC01(t *testing.T)       { seed(t, "XC01") } // the tagged call at its edges
func TestXE22(t *testing.T)       { seed(t, "XE22") } // broken arguments run as {}
func TestXE23(t *testing.T)       { seed(t, "XE23") } // < in a value
func TestXE24(t *testing.T)       { seed(t, "XE24") } // a missing closer merges two calls
func TestXE25(t *testing.T)       { seed(t, "XE25") } // prose that quotes the syntax
func TestXE26(t *testing.T)       { seed(t, "XE26") } // white space, duplicates, types
func TestXE27Echoed(t *testing.T) { seed(t, "XE27") } // a result that is echoed

package responsetemplate_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/responsetemplate"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m) }

// families are the dialects whose own templates stand in testdata.
var families = []string{"hermes", "qwen3-coder", "glm", "minimax-m2", "kimi-k2", "deepseek-v31", "gemma4", "longcat",
	"nemotron", "mistral-args"}

func imported(t *testing.T, family string) *responsetemplate.Imported {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", family+".json"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := responsetemplate.Read("own", data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFamilies reads the cases of a built-in dialect with the dialect of a template of its family: the calls of an
// answer that is written as the template says are the same.
func TestFamilies(t *testing.T) {
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			m := imported(t, family)
			cases, err := dialecttest.ReadFile(filepath.Join("..", "..", "dialect", "testdata", "cases",
				family+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			row, _ := dialect.Lookup(family)
			same := 0
			for i := range cases {
				o, err := cases[i].Options()
				if err != nil {
					t.Fatal(err)
				}
				o.Only, o.Dialect = true, family
				want, err := dialect.Parse(cases[i].Text, o)
				if err != nil || len(want.Calls) == 0 ||
					slices.ContainsFunc(want.Calls, func(c chat.Call) bool { return !c.Complete }) {
					continue
				}
				// as the family's own template writes them
				text, err := row.AppendCalls([]byte("A word before.\n"), want.Calls)
				if err != nil {
					continue
				}
				own := o
				own.Dialect = ""
				m.Apply(&own)
				want, err = dialect.Parse(string(text), o)
				if err != nil {
					t.Fatal(err)
				}
				got, err := dialect.Parse(string(text), own)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.EqualFunc(want.Calls, got.Calls, func(a, b chat.Call) bool {
					return a.Name == b.Name && a.Arguments == b.Arguments && a.Complete && b.Complete
				}) {
					t.Errorf("%s: %q\n  built-in %+v\n  template %+v", cases[i].ID, text, want.Calls, got.Calls)
				}
				if strings.TrimSpace(want.Content()) != strings.TrimSpace(got.Content()) {
					t.Errorf("%s: %q\n  content %q, template %q", cases[i].ID, text, want.Content(), got.Content())
				}
				if same++; same > 4 { // the machines are those of the table: a few texts are cut in every way
					continue
				}
				if err := dialecttest.All(func() dialecttest.Decoder {
					d, _ := dialect.New(own) // as above
					return d
				}, string(text)); err != nil {
					t.Errorf("%s: %v", cases[i].ID, err)
				}
			}
			if same < 8 {
				t.Errorf("only %d texts were compared", same)
			}
		})
	}
}

// TestWritten reads back what the dialects of templates write.
func TestWritten(t *testing.T) {
	for _, family := range families {
		m := imported(t, family)
		calls := []chat.Call{{Name: "tide_table", Arguments: `{"port":"Ostend","days":3}`, Complete: true},
			{Name: "tide_table", Arguments: `{"port":"a <b>","days":0}`, Complete: true, Index: 1}}
		text, err := m.Dialect.AppendCalls(nil, calls)
		if err != nil {
			t.Errorf("%s: %v", family, err)
			continue
		}
		tool := dialecttest.Tool{Type: "function", Function: dialecttest.Function{Name: "tide_table",
			Parameters: []byte(`{"type":"object","properties":{"port":{"type":"string"},"days":{"type":"integer"}}}`)}}
		c := dialecttest.Case{ID: family, Text: string(text), Tools: []dialecttest.Tool{tool}}
		o, err := c.Options()
		if err != nil {
			t.Fatal(err)
		}
		o.Only, o.Own = true, m.Dialect
		got, err := dialect.Parse(string(text), o)
		if err != nil || len(got.Calls) != 2 || got.Calls[0].Arguments != calls[0].Arguments ||
			got.Calls[1].Arguments != calls[1].Arguments || got.Calls[0].Dialect != "own" {
			t.Errorf("%s: %q gives %+v, %v", family, text, got.Calls, err)
		}
	}
}

// TestTokens reads a tokenizer_config.json, and checks the tags of reasoning and the tokens to leave out.
func TestTokens(t *testing.T) {
	m := imported(t, "tokenizer_config")
	if m.Thinking.Opener != "<think>" || m.Thinking.Closer != "</think>" ||
		!slices.Equal(m.Drop, []string{"<|im_end|>"}) || m.Dialect.Name != "own" {
		t.Errorf("%+v", m)
	}
	m = imported(t, "kimi-k2")
	if !slices.Equal(m.Drop, []string{"<|im_end|>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}) {
		t.Errorf("%q", m.Drop)
	}
}

// TestUnread checks that what wield cannot read is an error with its place.
func TestUnread(t *testing.T) {
	for _, c := range []struct{ file, place, why string }{
		{`[]`, "", "no JSON object"},
		{`{"model_max_length": 1}`, "", "has none"},
		{`{"fields": {}}`, "fields", "none"},
		{`{"version": 2, "fields": {"content": {}}}`, "version", "2 is not known"},
		{`{"fields": {"content": {"colour": 1}}}`, "fields.content", "colour"},
		{`{"fields": {"citations": {"open": "<c>"}}}`, "fields.citations", "no such part"},
		{`{"fields": {"thinking": {"open": ["<a>", "<b>"], "close": "</a>"}}}`, "fields.thinking.open", "several"},
		{`{"fields": {"thinking": {"open": "<a>"}}}`, "fields.thinking.close", "nothing ends"},
		{`{"fields": {"content": {"content": "json"}}}`, "fields.content.content", "as text"},
		{`{"fields": {"tool_calls": {"open": "<t>", "close": "</t>", "content": "kv-lines"}}}`,
			"fields.tool_calls.content", "not as kv-lines"},
		{`{"fields": {"tool_calls": {"open": "<t>", "close": "</t>"}}}`, "fields.tool_calls.content", "not as text"},
		{`{"fields": {"tool_calls": {"open_pattern": "<t>(?=x)", "content": "json"}}}`,
			"fields.tool_calls.open_pattern", "no such pattern"},
		{`{"fields": {"tool_calls": {"open_pattern": "<(?:a|b)>(?P<name>x)", "content": "json"}}}`,
			"fields.tool_calls.open_pattern", "literals"},
		{`{"fields": {"tool_calls": {"open_pattern": "<t (?P<colour>x)>", "content": "json"}}}`,
			"fields.tool_calls.open_pattern", "no capture"},
		{`{"fields": {"tool_calls": {"open": "<t>", "close": "</t>", "content": "json", "transform": {"function": {"name": "{content.tool}", "arguments": "{content.a}"}}}}}`, "fields.tool_calls.transform", "not under tool"},
		{`{"fields": {"tool_calls": {"open_pattern": "<t (?P<name>\\w+)>", "close": "</t>", "content": "xml-inline", "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}`, "fields.tool_calls.content_args.tag_pattern", "needs it"},
		{`{"fields": {"tool_calls": {"open_pattern": "<t>(?P<name>\\w+)", "close": "</t>", "content": "json", "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}`, "fields.tool_calls.open_pattern", "between the name and the object"},
		{`{"fields": {"content": {"close_pattern": "[a-z]+"}}}`, "fields.content.close_pattern", "literals"},
		{`{"fields": {"tool_calls": {"open": "<t>", "open_pattern": "x", "content": "json"}}}`, "fields.tool_calls",
			"either"},
	} {
		_, err := responsetemplate.Read("own", []byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", c.file, err, c.why)
			continue
		}
		var e *responsetemplate.Error
		if errors.As(err, &e) != (c.place != "") || e != nil && e.Place != c.place {
			t.Errorf("%s: %v, want the place %q", c.file, err, c.place)
		}
	}
}

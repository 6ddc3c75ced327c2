package dialect_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/testlevel"
	"wield/schema"
	"wield/schema/shape"
)

// formTools are the tools that blocks of the forms call, and one whose name is that of a language.
var formTools = func() []shape.Tool {
	var all []shape.Tool
	for _, t := range [...]struct{ name, props, required string }{
		{"edit", `{"path":{"type":"string"},"edits":{"type":"string"}}`, `"edits"`},
		{"create", `{"path":{"type":"string"},"content":{"type":"string"}}`, `"path","content"`},
		{"read", `{"paths":{"type":"array","items":{"type":"string"}}}`, `"paths"`},
		{"bash", `{"code":{"type":"string"}}`, `"code"`},
	} {
		all = append(all,
			shape.Tool{Name: t.name,
				Args: schema.ShapeOf(json.RawMessage(`{"type":"object","properties":` + t.props + `,"required":[` +
					t.required + `]}`))})
	}
	return all
}()

// formWords are what blocks of the forms are made of, and what they must not be taken for.
var formWords = []string{"\n", "\n", "\n", "\r\n", " ", "   ", "a.go", "`a.go`:", "b/c.md", "# d.py", "Makefile",
	"Node.js", "word", "{", "{\"name\": \"bash\", \"arguments\": {\"code\": \"ls\"}}", "```", "```\n", "```go\n",
	"```bash\n", "```json\n", "```diff\n", "````md\n", "~~~\n", "```go:e.go\n", "```edit\n", "=== FILE: f.go\n",
	"=== FI", "<<<<<<< SEARCH\n", "<<<<<", "=======\n", ">>>>>>> REPLACE\n", "*** Begin Patch\n", "*** Begin",
	"*** Update File: g.go\n", "*** End Patch", "*** End Patch\n", "@@\n", "-x\n", "+y\n", "--- a/h.go\n",
	"+++ b/h.go\n", "@@ -1 +1 @@\n", "diff --git a/h b/h\n", "> ", "<think>", "</think>", "<tool_call>", "é"}

// formText draws a text of these words, in which one often follows where it makes sense.
func formText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(formWords), 0, 24).Draw(t, "text"), "")
}

// TestBlockForms reads texts full of parts of blocks: however they are cut nothing is lost and all reads the same, and
// what is carried out has an end in the text.
func TestBlockForms(t *testing.T) {
	calls := 0
	rapid.Check(t, func(t *rapid.T) {
		text := formText(t)
		o := dialect.Options{Dialect: "cli-block", Tools: formTools}
		if err := dialecttest.Quick(maker(o), text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got, err := dialect.Parse(text, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Calls {
			calls++
			if c.Complete && c.Dialect == "cli-block" && !endsBlock(text[c.At:c.End]) {
				t.Fatalf("%q: %q has no end", text, text[c.At:c.End])
			}
		}
	})
	if calls == 0 {
		t.Error("no text had a call")
	}
}

// endsBlock reports whether a text ends with a line that ends a block.
func endsBlock(text string) bool {
	last := strings.TrimSpace(text[strings.LastIndexByte(strings.TrimRight(text, " \t\r\n"), '\n')+1:])
	return strings.Trim(last, "`") == "" && len(last) >= 3 || strings.Trim(last, "~") == "" && len(last) >= 3 ||
		last == "*** End Patch"
}

// TestBlockFormsAreOnByName reads the cases of blocks under auto, where none of them may be a call.
func TestBlockFormsAreOnByName(t *testing.T) {
	cases, err := dialecttest.ReadFile("testdata/cases/block-forms.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got, err := dialect.Parse(c.Text, dialect.Options{Tools: formTools})
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range got.Calls {
			if call.Dialect == "cli-block" {
				t.Errorf("%s: %s %s", c.ID, call.Name, call.Arguments)
			}
		}
	}
}

// TestEdits reads blocks where they are no dialect of their own: what is plainly an edit is a call beside those of any
// dialect, and what may be meant to be looked at stays text.
func TestEdits(t *testing.T) {
	const search = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
	const patch = "*** Begin Patch\n*** Update File: a.go\n@@\n-old\n+new\n*** End Patch\n"
	for _, tt := range []struct{ name, text, want string }{
		{"named block", "```edit\n=== FILE: a.go\n" + search + "```\n", "edit"},
		{"named block of a patch", "```edit\n" + patch + "```\n", "edit"},
		{"any language", "```go\n=== FILE: a.go\n" + search + "```\n", "edit"},
		{"name above", "a.go\n```go\n" + search + "```\n", "edit"},
		{"name first", "```\na.go\n" + search + "```\n", "edit"},
		{"fenced patch", "```\n" + patch + "```\n", "edit"},
		{"create", "```create\n=== FILE: a.go\nx\n```\n", "create"},
		{"whole file", "```go\n=== FILE: a.go\nx\n```\n", "create"},
		{"read", "```read\na.go\nb.go\n```\n", "read"},
		{"beside a call",
			"<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"code\": \"ls\"}}\n</tool_call>\n```edit\n=== FILE: a.go\n" + search + "```\n", "bash edit"},
		{"two blocks", "```read\na.go\n```\nand\n```create\n=== FILE: b.go\nx\n```\n", "read create"},

		{"command", "Run this:\n```bash\nrm -r build\n```\n", ""},
		{"code below a name", "main.go\n\n```go\nx\n```\n", ""},
		{"diff", "```diff\n--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-old\n+new\n```\n", ""},
		{"diff above", "It changes so:\n\n```diff\n-old\n+new\n```\n", ""},
		{"patch without a fence", patch, ""},
		{"no file", "```\n" + search + "```\n", ""},
		{"edit without groups", "```edit\nold becomes new\n```\n", ""},
		{"create without a file", "```create\nx\n```\n", ""},
		{"longer fence", "````md\n```edit\n=== FILE: a.go\n" + search + "```\n````\n", ""},
		{"quotation", "> ```edit\n> === FILE: a.go\n> x\n> ```\n", ""},
		{"inline", "Write `=== FILE: a.go` and then `<<<<<<< SEARCH`.\n", ""},
		{"sql", "```sql\ncreate table a (b int)\n```\n", ""},
		{"language in capitals", "```READ\na.go\n```\n", ""},
		{"no end", "```create\n=== FILE: a.go\nx\n", "create?"},
	} {
		for _, o := range []dialect.Options{{}, {Dialect: "hermes"}, {Dialect: "json-fence"}} {
			o.Tools, o.Edits = formTools, true
			got, err := dialect.Parse(tt.text, o)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range got.Calls {
				name := c.Name
				if !c.Complete {
					name += "?"
				}
				names = append(names, name)
			}
			if calls := strings.Join(names, " "); calls != tt.want {
				t.Errorf("%s, dialect %q: the calls are %q, want %q", tt.name, o.Dialect, calls, tt.want)
			}
			if err := dialecttest.Quick(maker(o), tt.text); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

// TestEditsNowhere: nothing in the texts of the reference data is taken for an edit. None of them is one.
func TestEditsNowhere(t *testing.T) {
	type row struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	d, err := dialect.New(dialect.Options{Tools: formTools, Edits: true})
	if err != nil {
		t.Fatal(err)
	}
	const least = 15_000
	texts := 0
	for _, name := range []string{conformanceFile, answersFile} {
		for i, r := range referenceRows[row](t, name) {
			if i%testlevel.Every(3) > 0 {
				continue
			}
			texts++
			d.Reset()
			for _, e := range d.Close(d.Feed(nil, r.Text)) {
				if e.Kind == chat.KindCallEnd && e.Detail.(*chat.Call).Dialect == "cli-block" {
					t.Errorf("%s: %s %s", r.ID, e.Name, e.Detail.(*chat.Call).Arguments)
				}
			}
		}
	}
	if texts < least/testlevel.Every(3) {
		t.Errorf("only %d texts were read", texts)
	}
}

// TestEditsAnyText is TestBlockForms without the dialect.
func TestEditsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := formText(t)
		o := dialect.Options{Edits: true, Tools: formTools}
		if err := dialecttest.Quick(maker(o), text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got, err := dialect.Parse(text, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Calls {
			if c.Dialect == "cli-block" && c.Name == "bash" ||
				c.Complete && c.Dialect == "cli-block" && !endsBlock(text[c.At:c.End]) {
				t.Fatalf("%q: %s %q", text, c.Name, text[c.At:c.End])
			}
		}
	})
}

// TestDocsAreNoBlocks reads the pages about edits as an answer: they show blocks, inside longer fences and with
// quotations, and call nothing that they only show.
func TestDocsAreNoBlocks(t *testing.T) {
	for _, name := range []string{"../docs/edits.md", "../docs/terminal.md", "../README.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []dialect.Options{{Dialect: "cli-block", Tools: formTools[:2]},
			{Edits: true, Tools: formTools[:3]}} {
			got, err := dialect.Parse(string(page), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range got.Calls {
				t.Errorf("%s: %s", name, page[c.At:c.End])
			}
		}
	}
}

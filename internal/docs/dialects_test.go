//go:build unix

package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
)

// exampleTool is the tool of the pages of dialects, and exampleCall and exampleResult what goes to and fro.
const exampleTool = `[{"type": "function", "function": {"name": "get_weather", "description": "Tells the weather of a city.",
  "parameters": {"type": "object", "required": ["city"],
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}}]
`

const blockTool = `[{"type": "function", "function": {"name": "create", "description": "Writes a file.",
  "parameters": {"type": "object", "required": ["path", "content"],
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}}]
`

var (
	blockCall     = chat.Call{Name: "create", Arguments: `{"path":"notes.md","content":"# Notes\n"}`}
	exampleCall   = chat.Call{Name: "get_weather", Arguments: `{"city":"Paris","days":3}`}
	blockResult   = chat.Result{Name: "create", Parts: chat.Text("1 file written")}
	exampleResult = chat.Result{Name: "get_weather", Parts: chat.Text(`{"sky":"clear","high":24}`)}
)

// TestDialectPages compares the page of every dialect, and their index, with what the table and the program say of it; with
// -update it writes them.
func TestDialectPages(t *testing.T) {
	root := checkout(t)
	program := filepath.Join(built(t, root), "wield")
	dir := filepath.Join(root, "docs", "dialects")
	cases, err := dialecttest.ReadDir(os.DirFS(filepath.Join(root, "dialect", "testdata", "cases")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"README.md": dialectIndex()}
	common := inHowMany(cases)
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		want[name+".md"] = dialectPage(t, d, program) + fromCases(t, d, cases[name+".jsonl"], common)
	}
	for file, text := range want {
		path := filepath.Join(dir, file)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, _ := os.ReadFile(path); string(have) != text {
			t.Errorf("docs/dialects/%s is not what the table says: go test ./internal/docs -args -update", file)
		}
	}
	written := []string{"README.md", "adding.md", "differences.md", "peers.md"}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if want[f.Name()] == "" && !slices.Contains(written, f.Name()) {
			t.Errorf("docs/dialects/%s is a page of no dialect", f.Name())
		}
	}
}

func dialectIndex() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# All dialects\n\nThere are %d, with a page for each.", len(dialect.Names()))
	b.WriteString(` The column *auto* says how a dialect takes part in detection: *yes*, it is read with the others; *safe*, it is read even
when another one is named; *by name*, it is read only when it is named. [Dialects](../dialects.md) tells how they are told apart,
[adding one](adding.md) how a new one is made, [beside other engines](peers.md) and [differences](differences.md) how wield's reading compares with that of others.

| dialect | class | auto | written by | what it is |
|---|---|---|---|---|
`)
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s | %s |\n", name, name, d.Class, takesPart(d), cell(d.Models), cell(d.Summary))
	}
	return b.String()
}

func takesPart(d *dialect.Dialect) string {
	switch {
	case d.ByName:
		return "by name"
	case d.Safe:
		return "safe"
	}
	return "yes"
}

// cell makes text fit for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "\n", " ").Replace(s)
}

// dialectPage writes what the table and the program say of a dialect.
func dialectPage(t *testing.T, d *dialect.Dialect, program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s%s.\n\n", d.Name, strings.ToUpper(d.Summary[:1]), cell(d.Summary[1:]))
	fmt.Fprintf(&b, "| | |\n|---|---|\n| written by | %s |\n", cell(d.Models))
	if len(d.Aliases) > 0 {
		fmt.Fprintf(&b, "| also called | %s |\n", strings.Join(d.Aliases, ", "))
	}
	fmt.Fprintf(&b, "| class | %s |\n| in auto | %s |\n| beside a named one | %s |\n| when it is named | %s |\n| in the configuration | `dialect: %s` |\n\n",
		d.Class, yesNo(!d.ByName), yesNo(d.Safe), company(d), d.Name)

	exampleTool, exampleCall, exampleResult := exampleTool, exampleCall, exampleResult
	if d.Name == "cli-block" { // a block holds one text
		exampleTool, exampleCall, exampleResult = blockTool, blockCall, blockResult
	}
	calls, err := d.AppendCalls(nil, []chat.Call{exampleCall})
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	var offered []dialecttest.Tool
	if err := json.Unmarshal([]byte(exampleTool), &offered); err != nil {
		t.Fatal(err)
	}
	b.WriteString("## A call, and how it is read\n\nWith this tool on offer\n\n```json file=tools.json\n" + exampleTool + "```\n\na model writes\n\n")
	b.WriteString(fenced("text file=answer.txt", string(calls)))
	b.WriteString("and wield reads\n\n```console\n" + transcript(t, d, program, exampleTool, string(calls)+"\n") + "```\n\n")
	b.WriteString(inPieces(t, d, offered, string(calls)))
	b.WriteString(toTheModel(t, d, &offered[0].Function, exampleResult))
	return b.String()
}

func company(d *dialect.Dialect) string {
	if d.Alone {
		return "it is read alone"
	}
	return "the safe others stay on"
}

// transcript runs the program on the example.
func transcript(t *testing.T, d *dialect.Dialect, program, tools, answer string) string {
	dir := t.TempDir()
	for file, text := range map[string]string{"tools.json": tools, "answer.txt": answer} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	option := ""
	if d.ByName {
		option = " --dialect " + d.Name
	}
	var b strings.Builder
	for _, args := range []string{"parse --tools tools.json" + option + " answer.txt", "dialect check --tools tools.json" + option + " answer.txt"} {
		cmd := exec.Command(program, strings.Fields(args)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: wield %s: %v\n%s", d.Name, args, err, out)
		}
		fmt.Fprintf(&b, "$ wield %s\n%s", args, out)
	}
	return b.String()
}

// inPieces shows what comes out when the text comes in five pieces.
func inPieces(t *testing.T, d *dialect.Dialect, tools []dialecttest.Tool, text string) string {
	shapes, err := dialecttest.Shapes(tools)
	if err != nil {
		t.Fatal(err)
	}
	dec, err := dialect.New(dialect.Options{Dialect: d.Name, Tools: shapes})
	if err != nil {
		t.Fatal(err)
	}
	const pieces = 5
	var b strings.Builder
	b.WriteString("In five pieces it is the same call, of which each part goes out as soon as it is sure:\n\n| comes | goes |\n|---|---|\n")
	from := 0
	for i := range pieces {
		to := len(text) * (i + 1) / pieces
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		fmt.Fprintf(&b, "| %s | %s |\n", inline(text[from:to]), outgoing(dec.Feed(nil, text[from:to])))
		from = to
	}
	fmt.Fprintf(&b, "| the end | %s |\n\n", outgoing(dec.Close(nil)))
	return b.String()
}

// outgoing names the events that a client sees.
func outgoing(events []chat.Event) string {
	var out []string
	args := ""
	for _, e := range events {
		if e.Kind == chat.KindCallArgs {
			args += e.Text
			continue
		}
		if args != "" {
			out, args = append(out, inline(args)), ""
		}
		switch e.Kind {
		case chat.KindCallStart:
			out = append(out, "a call of `"+e.Name+"` begins")
		case chat.KindCallEnd:
			out = append(out, "it is whole")
		}
	}
	if args != "" {
		out = append(out, inline(args))
	}
	return strings.Join(out, ", ")
}

// toTheModel shows what a model is shown.
func toTheModel(t *testing.T, d *dialect.Dialect, f *dialecttest.Function, result chat.Result) string {
	var parameters bytes.Buffer
	if err := json.Compact(&parameters, f.Parameters); err != nil {
		t.Fatal(err)
	}
	tools := []chat.Tool{{Name: f.Name, Description: f.Description, Parameters: parameters.Bytes()}}
	return "## What the model is shown\n\nThe definition of the tool:\n\n" + fenced("text", string(d.AppendTools(nil, tools))) +
		"A result, which is never read as a call:\n\n" + fenced("text", string(d.AppendResults(nil, []chat.Result{result})))
}

// fenced puts text in a fence that it does not close.
func fenced(info, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + info + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark + "\n\n"
}

// inHowMany counts the files that have a case of a name.
func inHowMany(cases map[string][]dialecttest.Case) map[string]int {
	n := make(map[string]int)
	for _, file := range cases {
		for i := range file {
			n[caseName(&file[i])]++
		}
	}
	return n
}

func caseName(c *dialecttest.Case) string {
	_, name, _ := strings.Cut(c.ID, "/")
	return name
}

// The kinds of cases on a page, and how many of each.
var caseKinds = []struct {
	kind string
	most int
}{
	{"call", 4}, {"mended", 3}, {"incomplete", 1}, {"rejected", 2}, {"text", 3},
}

// fromCases shows short cases of a dialect: first those that few other dialects have.
func fromCases(t *testing.T, d *dialect.Dialect, cases []dialecttest.Case, common map[string]int) string {
	const long = 220
	rows := map[string][]*dialecttest.Case{}
	outcomes := map[*dialecttest.Case]string{}
	for i := range cases {
		c := &cases[i]
		kind, outcome := outcomeOf(t, c)
		if kind == "" || len(c.Text) > long || c.Dialect != d.Name || len(c.Tools) == 0 || c.Repair != "" || c.Prefix != "" || c.Open || !utf8.ValidString(c.Text) {
			continue
		}
		rows[kind], outcomes[c] = append(rows[kind], c), outcome
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## More of it\n\nSome of the cases in [`%s.jsonl`](../../dialect/testdata/cases/%s.jsonl); `⏎` stands for a line break.\n\n"+
		"| case | text | becomes |\n|---|---|---|\n", d.Name, d.Name)
	for _, k := range caseKinds {
		slices.SortStableFunc(rows[k.kind], func(a, b *dialecttest.Case) int { return common[caseName(a)] - common[caseName(b)] })
		for _, c := range rows[k.kind][:min(k.most, len(rows[k.kind]))] {
			why := ""
			if c.Why != "" {
				why = ": " + cell(c.Why)
			}
			fmt.Fprintf(&b, "| %s | %s | %s%s |\n", caseName(c), inline(c.Text), outcomes[c], why)
		}
	}
	return b.String()
}

// inline writes text as code in a cell of a table.
func inline(s string) string {
	mark, space := "`", ""
	for strings.Contains(s, mark) {
		mark, space = mark+"`", " "
	}
	return mark + space + strings.NewReplacer("|", `\|`, "\n", "⏎", "\t", "⇥", "\r", "␍").Replace(s) + space + mark
}

// outcomeOf says what kind of case c is, and what comes out of it. Cases with more than one call are of no kind.
func outcomeOf(t *testing.T, c *dialecttest.Case) (kind, outcome string) {
	o, err := c.Options()
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	got, err := dialect.Parse(c.Text, o)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	switch {
	case len(got.Calls) == 1 && len(got.Rejected) == 0 && !got.Calls[0].Complete:
		return "incomplete", fmt.Sprintf("a call of `%s` that is not complete, which is never run", got.Calls[0].Name)
	case len(got.Calls) == 1 && len(got.Rejected) == 0:
		kind, outcome = "call", inline(got.Calls[0].Name+"("+got.Calls[0].Arguments+")")
		var notes []string
		for _, n := range got.Notes {
			if !slices.Contains(notes, string(n.Kind)) {
				notes = append(notes, string(n.Kind))
			}
		}
		if len(notes) > 0 {
			kind, outcome = "mended", outcome+", with the note "+strings.Join(notes, ", ")
		}
		return kind, outcome
	case len(got.Calls) == 0 && len(got.Rejected) == 1:
		return "rejected", fmt.Sprintf("rejected: %s", got.Rejected[0].Reason)
	case len(got.Calls) == 0:
		return "text", "no call"
	}
	return "", ""
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

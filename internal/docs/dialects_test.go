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
	exampleResult = chat.Result{Name: "get_weather", Parts: chat.Text(`{"sky":"clear","high":24}`)}
)

// TestDialectPages compares the page of every dialect, and their index, with what the table and the program say of it; with
// -update it writes them.
func TestDialectPages(t *testing.T) {
	root := checkout(t)
	depend(t, root)
	program := filepath.Join(t.TempDir(), "wield")
	build := exec.Command("go", "build", "-o", program, "./cmd/wield")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	dir := filepath.Join(root, "docs", "dialects")
	want := map[string]string{"README.md": dialectIndex()}
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		want[name+".md"] = dialectPage(t, d, program, filepath.Join(root, "dialect", "testdata", "cases"))
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
	b.WriteString(`# All dialects

One page for each. The column *auto* says how a dialect takes part in detection: *yes*, it is read with the others; *safe*, it is read even
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

func dialectPage(t *testing.T, d *dialect.Dialect, program, cases string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s%s.\n\n", d.Name, strings.ToUpper(d.Summary[:1]), cell(d.Summary[1:]))
	fmt.Fprintf(&b, "| | |\n|---|---|\n| written by | %s |\n", cell(d.Models))
	if len(d.Aliases) > 0 {
		fmt.Fprintf(&b, "| also called | %s |\n", strings.Join(d.Aliases, ", "))
	}
	fmt.Fprintf(&b, "| class | %s |\n| in auto | %s |\n| beside a named one | %s |\n\n", d.Class, yesNo(!d.ByName), yesNo(d.Safe))

	exampleTool, exampleCall := exampleTool, exampleCall
	if d.Name == "cli-block" { // a block holds one text
		exampleTool, exampleCall = blockTool, blockCall
	}
	calls, err := d.AppendCalls(nil, []chat.Call{exampleCall})
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	b.WriteString("## A call, and how it is read\n\nWith this tool on offer\n\n```json file=tools.json\n" + exampleTool + "```\n\na model writes\n\n")
	b.WriteString(fenced("text file=answer.txt", string(calls)))
	dir := t.TempDir()
	for file, text := range map[string]string{"tools.json": exampleTool, "answer.txt": string(calls) + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString("and wield reads\n\n```console\n")
	option := ""
	if d.ByName {
		option = " --dialect " + d.Name
	}
	for _, args := range []string{"parse --tools tools.json" + option + " answer.txt", "dialect check --tools tools.json" + option + " answer.txt"} {
		cmd := exec.Command(program, strings.Fields(args)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: wield %s: %v\n%s", d.Name, args, err, out)
		}
		fmt.Fprintf(&b, "$ wield %s\n%s", args, out)
	}
	b.WriteString("```\n\n")

	var offered []dialecttest.Tool
	if err := json.Unmarshal([]byte(exampleTool), &offered); err != nil {
		t.Fatal(err)
	}
	f := offered[0].Function
	var parameters bytes.Buffer
	if err := json.Compact(&parameters, f.Parameters); err != nil {
		t.Fatal(err)
	}
	tools := []chat.Tool{{Name: f.Name, Description: f.Description, Parameters: parameters.Bytes()}}
	b.WriteString("## What the model is shown\n\nThe definition of the tool:\n\n" + fenced("text", string(d.AppendTools(nil, tools))))
	b.WriteString("A result, which is never read as a call:\n\n" + fenced("text", string(d.AppendResults(nil, []chat.Result{exampleResult}))))
	b.WriteString(fromCases(t, d, filepath.Join(cases, d.Name+".jsonl")))
	return b.String()
}

// fenced puts text in a fence that it does not close.
func fenced(info, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + info + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark + "\n\n"
}

// fromCases shows short cases of the dialect: what is read with a repair, what is rejected, what is text.
func fromCases(t *testing.T, d *dialect.Dialect, file string) string {
	cases, err := dialecttest.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const most, long = 5, 150
	rows := map[string][]string{}
	for i := range cases {
		c := &cases[i]
		kind, outcome := outcomeOf(c)
		if kind == "" || len(c.Text) > long || c.Dialect != d.Name && c.Dialect != "" || len(rows[kind]) >= most {
			continue
		}
		rows[kind] = append(rows[kind], fmt.Sprintf("| %s | %s |\n", inline(c.Text), outcome))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## More of it\n\nSome of the %d cases in [`%s.jsonl`](../../dialect/testdata/cases/%s.jsonl); `⏎` stands for a line break.\n", len(cases), d.Name, d.Name)
	for _, kind := range []string{"Read, and mended", "Reported, not run", "Text"} {
		if len(rows[kind]) > 0 {
			fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n%s", kind, strings.Join(rows[kind], ""))
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

// outcomeOf says what kind of case c is, and what comes out of it.
func outcomeOf(c *dialecttest.Case) (kind, outcome string) {
	switch {
	case len(c.Want.Calls) == 1 && len(c.Want.Notes) > 0 && len(c.Want.Rejected) == 0 && !c.Want.Calls[0].Incomplete:
		args := c.Want.Calls[0].Text
		if args == "" {
			args = string(c.Want.Calls[0].Arguments)
		}
		return "Read, and mended", fmt.Sprintf("`%s(%s)`: %s", c.Want.Calls[0].Name, strings.ReplaceAll(args, "|", `\|`), strings.Join(c.Want.Notes, ", "))
	case len(c.Want.Calls) == 0 && len(c.Want.Rejected) == 1:
		return "Reported, not run", fmt.Sprintf("%s: %s", c.Want.Rejected[0].Name, c.Want.Rejected[0].Reason)
	case c.Want.Calls != nil && len(c.Want.Calls) == 0 && c.Want.Rejected != nil && len(c.Want.Rejected) == 0:
		return "Text", "no call"
	}
	return "", ""
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

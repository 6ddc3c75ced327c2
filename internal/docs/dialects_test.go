//go:build unix

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// The calls on the page of dialects; a block of cli-block holds one text.
var (
	blockCall   = chat.Call{Name: "create", Arguments: `{"path":"notes.md","content":"# Notes\n"}`}
	exampleCall = chat.Call{Name: "get_weather", Arguments: `{"city":"Paris","days":3}`}
)

// TestDialectPages compares the page of all dialects with their table; with -update it writes it.
func TestDialectPages(t *testing.T) {
	path := filepath.Join(checkout(t), "docs", "dialects", "README.md")
	want := dialectIndex()
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		want += dialectSection(t, d)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, _ := os.ReadFile(path); string(have) != want {
		t.Error(
			"docs/dialects/README.md is not what the table says: go test ./internal/docs -run TestDialectPages -args -update")
	}
}

func dialectIndex() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# All dialects\n\nwield reads and writes %d dialects.", len(dialect.Names()))
	b.WriteString(
		` Column *auto*: *yes*, detected; *safe*, detected even if you name another dialect; *by name*, only if you
name it. ` + "`wield dialect show NAME` also prints the forms of tool definitions and results.\n" + `
See also [Dialects](../dialects.md), [Adding a dialect](adding.md), [Other engines](peers.md) and [Differences](differences.md).

| dialect | class | auto | written by |
|---|---|---|---|
`)
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n", name, strings.ReplaceAll(name, ".", ""), d.Class,
			takesPart(d), cell(d.Models))
	}
	return b.String()
}

// dialectSection shows a call of a dialect.
func dialectSection(t *testing.T, d *dialect.Dialect) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s%s.", d.Name, strings.ToUpper(d.Summary[:1]), cell(d.Summary[1:]))
	if len(d.Aliases) > 0 {
		fmt.Fprintf(&b, " Also called %s.", strings.Join(d.Aliases, ", "))
	}
	call := exampleCall
	if d.Name == "cli-block" {
		call = blockCall
	}
	written, err := d.AppendCalls(nil, []chat.Call{call})
	if err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	b.WriteString("\n\n" + fenced("text", string(written)))
	return strings.TrimSuffix(b.String(), "\n")
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

// fenced puts text in a fence that it does not close.
func fenced(info, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + info + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark + "\n\n"
}

// inline writes text as code in a cell of a table.
func inline(s string) string {
	mark, space := "`", ""
	for strings.Contains(s, mark) {
		mark, space = mark+"`", " "
	}
	return mark + space + strings.NewReplacer("|", `\|`, "\n", "⏎", "\t", "⇥", "\r", "␍").Replace(s) + space + mark
}

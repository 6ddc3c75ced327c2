//go:build unix

package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wield/tool"
	"wield/tool/builtin"
	"wield/tool/builtin/clock"
	"wield/tool/builtin/conversation"
	"wield/tool/builtin/database"
	"wield/tool/builtin/local"
	"wield/tool/builtin/memory"
	"wield/tool/files"
)

// TestToolPage compares the page of the built-in tools with their definitions; with -update it writes it.
func TestToolPage(t *testing.T) {
	path := filepath.Join(checkout(t), "docs", "tools", "builtin.md")
	var b strings.Builder
	b.WriteString(`# Built-in tools

<!-- The page is made by: go test ./internal/docs -args -update -->

These tools come with wield. All are disabled and in mode ` + "`ro`" + ` until you run ` + "`wield tool enable NAME`" +
		`, with ` + "`--mode rw`" + ` for tools that change
something, or set ` + "`tools.builtin.NAME`" +
		`. Required arguments are in bold; brackets say what the [policy](../policy.md) checks. Programs run in the
[sandbox](../sandbox.md). ` + "`wield tool show NAME`" +
		` explains each argument. [Tools](README.md) explains how to use them.

Tools marked ○ never change anything.

| tool | what it does | arguments |
|---|---|---|
`)
	all := slices.Concat(builtin.Tools(builtin.Options{}), clock.Clock{}.Tools(), database.Options{}.Tools(),
		memory.Options{}.Tools(), conversation.Tools(), local.Options{Executors: local.DefaultExecutors()}.Tools())
	for _, one := range all {
		b.WriteString(toolRow(t, one))
	}
	b.WriteString(limitsSection())
	text := b.String()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, _ := os.ReadFile(path); string(have) != text {
		t.Error("docs/tools/builtin.md is not what the tools say: go test ./internal/docs -run ToolPage -args -update")
	}
}

// limitsSection lists the limits that no setting changes, and what is refused unless the tool asks.
func limitsSection() string {
	var b strings.Builder
	b.WriteString("\n## Fixed limits\n\n| what | limit |\n|---|---|\n")
	for _, row := range [][2]string{
		{"file read or written whole", fmt.Sprintf("%d MiB", files.DefaultMaxFile>>20)},
		{"result shown to the model", "64 KiB. Up to 10 MiB are kept; `read_output` reads on, 60 KiB at a time"},
		{"arguments of a call", "1 MiB, 4096 names"},
		{"duration of a call", "60 s; `timeout` sets 1 s to 300 s"},
		{"`read_file`", "48 KiB at a time"},
		{"`list_files`", "10,000 names"},
		{"`search_code`", "1000 matches; the first 1 MiB of a line"},
		{"`fetch_webpage`", "4 MiB unpacked; 10,000 characters shown, 50,000 on request"},
		{"`search_internet`, `wikipedia_search`", "50 results"},
		{"`query_database`", "64 KiB statement; 1000 rows, 200 columns, 4 MiB result"},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString(
		"\n## Dangerous operations\n\nUnless `requires_approval` is set, these calls fail with `Dangerous operation requires approval`, whatever the policy says:\n\n")
	fmt.Fprintf(&b,
		"- `command_exec` with %s, or `find -delete`: by any path, behind programs such as `env`, `xargs` and `find -exec`, and in shell lines.\n",
		codes(tool.DangerousCommands()))
	fmt.Fprintf(&b, "- `file_access` with paths that match %s.\n", codes(tool.DangerousPaths("")))
	return b.String()
}

func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// A parameter is a property of a schema.
type parameter struct {
	Description string               `json:"description"`
	Properties  map[string]parameter `json:"properties"`
	Required    []string             `json:"required"`
}

// firstClause is the end of what a table says of a tool.
var firstClause = regexp.MustCompile(`[.;:] |,? and return \{.*|\.$`)

// toolRow returns the row of a tool: what it does in one clause, and its arguments with what the policy checks them as.
func toolRow(t *testing.T, one *tool.Tool) string {
	var schema parameter
	if err := json.Unmarshal(one.Definition.Parameters, &schema); err != nil {
		t.Fatalf("%s: %v", one.Name(), err)
	}
	about, name := firstClause.Split(one.Definition.Description, 2)[0], "`"+one.Name()+"`"
	if len(one.Aliases) > 0 {
		about += "; also called `" + strings.Join(one.Aliases, "`, `") + "`"
	}
	if one.Facts.ReadOnly {
		name += " ○"
	}
	return fmt.Sprintf("| %s | %s | %s |\n", name, about, strings.Join(arguments(t, one, "", schema), ", "))
}

// arguments returns the names of all arguments, required ones in bold, those of objects with their path.
func arguments(t *testing.T, one *tool.Tool, prefix string, s parameter) []string {
	var all []string
	for _, key := range sortedNames(s.Properties) {
		p, name := s.Properties[key], prefix+key
		if p.Description == "" {
			t.Errorf("%s: the argument %s has no description", one.Name(), name)
		}
		if len(p.Properties) > 0 {
			all = append(all, arguments(t, one, name+".", p)...)
			continue
		}
		text := "`" + name + "`"
		if slices.Contains(s.Required, key) {
			text = "**" + text + "**"
		}
		if as := checked(&one.Facts, name); as != "" {
			text += " (" + as + ")"
		}
		all = append(all, text)
	}
	return all
}

func sortedNames(m map[string]parameter) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checked says as what the policy looks at an argument, or nothing.
func checked(f *tool.Facts, name string) string {
	for _, p := range f.Paths {
		switch {
		case p.Argument != name:
		case p.Op == "":
			return "path, as `" + f.Operation + "` says"
		case p.OfFile != "":
			return string(p.Op) + "; of a file: " + string(p.OfFile)
		default:
			return string(p.Op)
		}
	}
	switch {
	case slices.Contains(f.URLs, name):
		return "URL"
	case f.Edits == name:
		return "write, delete"
	case f.Command == name:
		return "program"
	case f.Shell == name:
		return "shell"
	case f.Code == name:
		return "program `" + strings.Join(f.Program, " ") + "`"
	case f.Dir == name:
		return "directory"
	}
	return ""
}

//go:build unix

package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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

All of them are off and change nothing until you say so: ` + "`wield tool enable NAME --mode rw`" + `, or ` + "`tools.builtin.NAME`" + ` in the
configuration. What each may touch is decided by the [policy](../policy.md) from what the table "touches" says; its processes run in the
[sandbox](../sandbox.md). How tools are used and written stands [here](README.md).

`)
	all := slices.Concat(builtin.Tools(builtin.Options{}), clock.Clock{}.Tools(), database.Options{}.Tools(), memory.Options{}.Tools(), conversation.Tools(), local.Options{Executors: local.DefaultExecutors()}.Tools())
	for _, one := range all {
		fmt.Fprintf(&b, "- [%s](#%s)\n", one.Name(), one.Name())
	}
	for _, one := range all {
		b.WriteString(toolSection(t, one))
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

// limitsSection tells the limits that no setting changes, and what is refused unless the tool asks.
func limitsSection() string {
	var b strings.Builder
	b.WriteString("\n## Fixed limits\n\n| what | limit |\n|---|---|\n")
	for _, row := range [][2]string{
		{"a file that is read or written whole", fmt.Sprintf("%d MiB", files.DefaultMaxFile>>20)},
		{"what a model is shown of a result", "64 KiB; up to 10 MiB are kept, and `read_output` reads on, at most 60 KiB at once"},
		{"the arguments of a call", "1 MiB, 4096 names"},
		{"a run of a tool", "60 s; with `timeout` 1 s to 300 s"},
		{"`read_file`", "48 KiB at once; a window of lines for more"},
		{"`list_files`", "10,000 names"},
		{"`search_code`", "1000 matches; of a line the first 1 MiB"},
		{"`fetch_webpage`", "4 MiB of a page, unpacked; 200,000 characters are shown"},
		{"`search_internet`, `wikipedia_search`", "50 results"},
		{"`query_database`", "64 KiB of statement; 1000 rows, 200 columns, 4 MiB of result"},
		{"`add_memory`", "16 KiB, 20 tags of 100 bytes; 50 are found at once"},
		{"a path", "4096 bytes, 255 a name, 40 symbolic links"},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString("\n## Dangerous operations\n\nUnless `requires_approval` is set, so that a person is asked before each run, these are refused with `Dangerous operation requires\napproval`, whatever the policy says:\n\n")
	fmt.Fprintf(&b, "- by `command_exec`, programs named %s, by any path, behind programs that are known to run others (`nice`, `env`, `timeout`, `xargs`, `find -exec`), "+
		"and in a line for a shell, `sh -c` too, in any spelling that can be read without running it; and `find` with `-delete`. "+
		"What a variable or a script stands for is the policy's: it asks about the one, and lets you allow the other;\n", codes(tool.DangerousCommands()))
	fmt.Fprintf(&b, "- by `file_access`, paths that fit %s.\n", codes(tool.DangerousPaths("")))
	return b.String()
}

func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// A parameter is a property of a schema, as the page shows it.
type parameter struct {
	Type        any                  `json:"type"`
	Enum        []string             `json:"enum"`
	Minimum     *int                 `json:"minimum"`
	Maximum     *int                 `json:"maximum"`
	Description string               `json:"description"`
	Properties  map[string]parameter `json:"properties"`
	Required    []string             `json:"required"`
}

func toolSection(t *testing.T, one *tool.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n", one.Name())
	about, example, _ := strings.Cut(one.Definition.Description, " Example: ")
	fmt.Fprintf(&b, "%s\n", about)
	var schema parameter
	if err := json.Unmarshal(one.Definition.Parameters, &schema); err != nil {
		t.Fatalf("%s: %v", one.Name(), err)
	}
	if len(schema.Properties) > 0 {
		b.WriteString("\n| argument | type | meaning |\n|---|---|---|\n")
		writeParameters(t, &b, one.Name(), "", schema)
	}
	if example != "" {
		fmt.Fprintf(&b, "\nExample: `%s`\n", example)
	}
	fmt.Fprintf(&b, "\nTouches: %s.", touches(&one.Facts))
	if len(one.Aliases) > 0 {
		fmt.Fprintf(&b, " Also called %s.", strings.Join(one.Aliases, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

func writeParameters(t *testing.T, b *strings.Builder, name, prefix string, s parameter) {
	for _, key := range sortedNames(s.Properties) {
		p := s.Properties[key]
		if p.Description == "" {
			t.Errorf("%s: the argument %s%s has no description", name, prefix, key)
		}
		kind := fmt.Sprint(p.Type)
		if len(p.Enum) > 0 {
			kind = strings.Join(p.Enum, ", ")
		}
		if p.Minimum != nil && p.Maximum != nil {
			kind += fmt.Sprintf(" from %d to %d", *p.Minimum, *p.Maximum)
		}
		if slices.Contains(s.Required, key) {
			kind += ", required"
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, key, kind, strings.ReplaceAll(p.Description, "|", `\|`))
		if len(p.Properties) > 0 {
			writeParameters(t, b, name, prefix+key+".", p)
		}
	}
}

func sortedNames(m map[string]parameter) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// touches says in words what the policy looks at.
func touches(f *tool.Facts) string {
	var parts []string
	for _, p := range f.Paths {
		op := string(p.Op)
		if op == "" {
			op = "what `" + f.Operation + "` says"
		}
		if p.OfFile != "" {
			op += "; if it is a file, " + string(p.OfFile)
		}
		parts = append(parts, fmt.Sprintf("the path `%s` (%s)", p.Argument, op))
	}
	if f.Edits != "" {
		parts = append(parts, "the files that `"+f.Edits+"` names (write, delete)")
	}
	if f.Command != "" {
		parts = append(parts, "the command `"+f.Command+"`")
	}
	if f.Shell != "" {
		parts = append(parts, "the command line `"+f.Shell+"`")
	}
	if f.Code != "" {
		parts = append(parts, "the program `"+strings.Join(f.Program, " ")+"` with `"+f.Code+"`")
	}
	if f.Dir != "" {
		parts = append(parts, "the directory `"+f.Dir+"`")
	}
	for _, u := range f.URLs {
		parts = append(parts, "the address `"+u+"`")
	}
	if f.Network && len(f.URLs) == 0 {
		parts = append(parts, "the network, at an address that the configuration names")
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing that a call could choose")
	}
	text := strings.Join(parts, ", ")
	if f.ReadOnly {
		text += "; it changes nothing"
	}
	return text
}

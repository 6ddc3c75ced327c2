package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool"
	"wield/tool/runner"
)

// A definition is one as it stands in a file, in any of the forms that there are.
type definition struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`   // OpenAI, Ollama, Responses
	InputSchema  json.RawMessage `json:"input_schema"` // Anthropic
	InputSchemaM json.RawMessage `json:"inputSchema"`  // MCP
	Function     *definition     `json:"function"`     // around it in chat completions
}

func (d *definition) tool() chat.Tool {
	if d.Function != nil {
		return d.Function.tool()
	}
	t := chat.Tool{Name: d.Name, Description: d.Description}
	for _, schema := range []json.RawMessage{d.Parameters, d.InputSchema, d.InputSchemaM} {
		if len(schema) > 0 && string(schema) != "null" {
			t.Parameters = schema
		}
	}
	return t
}

// What a file holds that is no list of definitions.
var (
	errOpenAPI = errors.New("this is an OpenAPI document: wield tool add openapi makes tools of it")
	errLLF     = errors.New("this is an LLF registry, whose tools run unchanged: use wield tool import llf")
)

// definitionsIn reads definitions: a list, one alone, or an object with a list under tools.
func definitionsIn(data []byte) ([]chat.Tool, error) {
	var list []definition
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) > 0 && data[0] == '{' {
		var whole struct {
			definition
			OpenAPI  string `json:"openapi"`
			Metadata *struct {
				SchemaVersion string `json:"schema_version"`
			} `json:"metadata"`
			GlobalConfig json.RawMessage `json:"global_config"`
			Tools        []definition    `json:"tools"`
		}
		if err := json.Unmarshal(data, &whole); err != nil {
			return nil, jsonPlace(data, err)
		}
		switch {
		case whole.OpenAPI != "":
			return nil, errOpenAPI
		case whole.GlobalConfig != nil:
			return nil, errLLF
		case whole.Tools != nil:
			list = whole.Tools
		default:
			list = []definition{whole.definition}
		}
	} else if err := json.Unmarshal(data, &list); err != nil {
		return nil, jsonPlace(data, err)
	}
	var tools []chat.Tool
	for i, d := range list {
		t := d.tool()
		if t.Name == "" {
			return nil, fmt.Errorf("definition %d has no name", i+1)
		}
		tools = append(tools, t)
	}
	if tools == nil {
		return nil, errors.New("there are no definitions in it")
	}
	return tools, nil
}

// jsonPlace adds the line to an error about JSON.
func jsonPlace(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")), err)
}

func newToolImportCmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	cmd := &cobra.Command{
		Use:   "import FILE | llf [DIRECTORY|REGISTRY]",
		Short: "Import tool definitions, or tools of LLF",
		Long: `Reads tool definitions in the JSON format of OpenAI, Anthropic, Ollama or MCP from a file or
standard input (-), and writes an executable skeleton for each: it describes itself and fails until
you implement it. An OpenAPI document is added as with wield tool add openapi.

LLF tools run unchanged: import llf adds their directory to your configuration, and rules that allow
the tools with requires_approval: false within their whitelists. The default paths are LLF_TOOLS_DIR
and LLF_TOOLS_REGISTRY.`,
		Example: `  wield tool import tools.json --dry-run
  wield tool import llf ~/llf/tools
  wield tool export --as mcp get_current_time | wield tool import - --dir tools --dry-run`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "llf" {
				return importLLF(app, *file, strings.Join(args[1:], ""))
			}
			if len(args) > 1 {
				return cli.UsageErrorf("only one file at a time; there is no source %q, only llf", args[0])
			}
			data, err := readDefinitions(app.Stdin, args[0])
			if err != nil {
				return err
			}
			defs, err := definitionsIn(data)
			if args[0] != "-" && (errors.Is(err, errOpenAPI) || isYAML(args[0])) {
				return p.addDocument(app, *file, args[0])
			}
			if errors.Is(err, errLLF) && args[0] != "-" {
				return importLLF(app, *file, args[0])
			}
			if err != nil {
				return cli.UsageErrorf("%s: %w", args[0], err)
			}
			var files []newFile
			var tools []*tool.Tool
			var reg runner.Registry
			for _, d := range defs {
				t := tool.Raw(d.Name, d.Description, d.Parameters, nil)
				if err := reg.Add(t); err != nil {
					return cli.UsageErrorf("%s: %w", args[0], err)
				}
				if strings.HasPrefix(d.Name, ".") {
					return cli.UsageErrorf("%s: the name %q cannot be that of a file of tools", args[0], d.Name)
				}
				f, err := stub(d)
				if err != nil {
					return err
				}
				files, tools = append(files, f), append(tools, t)
			}
			warnLint(app, tools)
			return p.write(app, *file, files...)
		},
	}
	p.flags(cmd)
	return cmd
}

// importLLF takes over tools of LLF: a directory of them, or a registry.
func importLLF(app *cli.App, file, from string) error {
	dir, registry := app.Getenv("LLF_TOOLS_DIR"), app.Getenv("LLF_TOOLS_REGISTRY")
	if from != "" {
		dir, registry = from, ""
		if info, err := os.Stat(from); err != nil {
			return cli.UsageErrorf("%w", err)
		} else if !info.IsDir() {
			dir, registry = "", from
		}
	}
	switch {
	case dir == "" && registry == "":
		return cli.UsageErrorf("say where the tools of LLF are, as in wield tool import llf ~/llf/tools")
	case dir == "":
		dir = filepath.Dir(registry)
	case registry == "":
		registry = filepath.Join(dir, "tools_registry.json")
	}
	dir, err1 := filepath.Abs(dir)
	registry, err2 := filepath.Abs(registry)
	if file = cmp.Or(file, app.Getenv("WIELD_CONFIG"), config.DefaultFile(app.Getenv)); file == "" {
		return cli.UsageErrorf("there is no place for a configuration: name one with --config")
	}
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	made, err := config.ImportLLF(file, dir, registry, app.Getenv)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	if made.Dir == "" && len(made.Rules) == 0 {
		fmt.Fprintf(app.Stderr, "wield: %s says all of it already\n", file)
		return nil
	}
	fmt.Fprintf(app.Stderr, "wield: added to %s:\n", file)
	fmt.Fprint(app.Stdout, made.String())
	if n := len(made.Rules); n > 0 {
		fmt.Fprintf(app.Stderr,
			"wield: %s allow what the registry let run without asking, whoever calls it; everything else asks. "+
				"Remove what you do not want\n", cli.Count(n, "rule"))
	}
	return nil
}

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// maxDefinitions bounds a file of definitions, so that a wrong path is not read whole.
const maxDefinitions = 16 << 20

func readDefinitions(stdin io.Reader, name string) ([]byte, error) {
	src := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.UsageErrorf("%w", err)
		}
		defer f.Close()
		src = f
	}
	data, err := io.ReadAll(io.LimitReader(src, maxDefinitions+1))
	if len(data) > maxDefinitions {
		return nil, cli.UsageErrorf("%s has more than %d MiB", name, maxDefinitions>>20)
	}
	return data, err
}

// stub writes the file of a tool that is not written yet.
func stub(d chat.Tool) (newFile, error) {
	if d.Parameters == nil {
		d.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	raw, err := compactJSON(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}{d.Name, d.Description, d.Parameters})
	if err != nil {
		return newFile{}, err
	}
	text := `#!/bin/sh
if [ "$1" = describe ]; then
  cat <<'DEFINITION'
` + raw + `
DEFINITION
  exit
fi
# Arguments are in variables (ARG_ and the name) and, as JSON, on the standard input. The standard output is the result.
echo "not written yet: put what this tool does into $0" >&2
exit 1
`
	return newFile{d.Name, text, 0o755}, nil
}

// compactJSON writes a value on one line.
func compactJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	var one bytes.Buffer
	err := json.Compact(&one, b.Bytes())
	return strings.TrimSpace(one.String()), err
}

// An exportForm writes definitions as others read them.
type exportForm struct {
	name, doc string
	write     func(entries []*runner.Entry) any
}

// exportForms are the forms of wield tool export.
var exportForms = []exportForm{
	{"openai", "OpenAI chat completions and compatible APIs",
		func(all []*runner.Entry) any { return eachEntry(all, functionForm) }},
	{"ollama", "Ollama chat", func(all []*runner.Entry) any { return eachEntry(all, functionForm) }},
	{"anthropic", "Messages of Anthropic", func(all []*runner.Entry) any {
		return eachEntry(all, func(e *runner.Entry) any {
			return struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				InputSchema json.RawMessage `json:"input_schema"`
			}{e.Tool.Name(), e.Tool.Definition.Description, parametersOf(e)}
		})
	}},
	{"mcp", "the answer to tools/list of MCP", func(all []*runner.Entry) any {
		return struct {
			Tools []any `json:"tools"`
		}{eachEntry(all, func(e *runner.Entry) any {
			return struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				InputSchema json.RawMessage `json:"inputSchema"`
			}{e.Tool.Name(), e.Tool.Definition.Description, parametersOf(e)}
		})}
	}},
	{"llf", "a registry of LLF, version 1.1", func(all []*runner.Entry) any { return registryOf(all, time.Now()) }},
}

func eachEntry(entries []*runner.Entry, write func(*runner.Entry) any) []any {
	list := []any{}
	for _, e := range entries {
		list = append(list, write(e))
	}
	return list
}

func parametersOf(e *runner.Entry) json.RawMessage {
	if len(e.Tool.Definition.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return e.Tool.Definition.Parameters
}

func functionForm(e *runner.Entry) any {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	return struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{e.Tool.Name(), e.Tool.Definition.Description, parametersOf(e)}}
}

// A registry is LLF's file of tools.
type registry struct {
	Version      string          `json:"version"`
	LastUpdated  string          `json:"last_updated"`
	GlobalConfig registryGlobal  `json:"global_config"`
	Tools        []registryEntry `json:"tools"`
	Metadata     registryVersion `json:"metadata"`
}

type registryGlobal struct {
	RequireApproval bool     `json:"require_approval"`
	Sensitive       []string `json:"sensitive_operations"`
}

type registryVersion struct {
	SchemaVersion string `json:"schema_version"`
}

type registryEntry struct {
	Name            string           `json:"name"`
	DisplayName     string           `json:"display_name"`
	Description     string           `json:"description"`
	Type            string           `json:"type"`
	Enabled         any              `json:"enabled"` // true, false or "auto"
	Directory       string           `json:"directory"`
	CreatedDate     string           `json:"created_date"`
	LastModified    string           `json:"last_modified"`
	Metadata        registryMetadata `json:"metadata"`
	SupportedStates []string         `json:"supported_states"`
}

type registryMetadata struct {
	Category         string   `json:"category"`
	RequiresApproval bool     `json:"requires_approval"`
	Dependencies     []string `json:"dependencies"`
	Mode             string   `json:"mode,omitempty"`
	Whitelist        []string `json:"whitelist,omitempty"`
}

// registryOf writes a registry, whose entries say how the tools are offered.
func registryOf(entries []*runner.Entry, now time.Time) registry {
	day := now.UTC().Format(time.DateOnly)
	r := registry{Version: "1.1", LastUpdated: day,
		GlobalConfig: registryGlobal{Sensitive: []string{"file_write", "file_delete", "command_exec"}},
		Tools:        []registryEntry{}, Metadata: registryVersion{"1.1"}}
	states := map[tool.State]any{tool.StateEnabled: true, tool.StateAuto: "auto"}
	for _, e := range entries {
		row := rowOf(e)
		one := registryEntry{Name: row.Name, DisplayName: title(row.Name), Description: row.Description,
			Type: "llm_invokable", Enabled: false, Directory: row.Name, CreatedDate: day, LastModified: day,
			SupportedStates: []string{"false", "auto", "true"},
			Metadata: registryMetadata{Category: "general", RequiresApproval: row.RequiresApproval,
				Dependencies: []string{}, Mode: string(row.Mode), Whitelist: row.Whitelist}}
		if s, ok := states[e.State]; ok {
			one.Enabled = s
		}
		r.Tools = append(r.Tools, one)
	}
	return r
}

// title writes a name as people read it.
func title(name string) string {
	words := strings.Fields(strings.ReplaceAll(name, "_", " "))
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

func newToolExportCmd(app *cli.App, file *string) *cobra.Command {
	var as, out string
	var force bool
	cmd := &cobra.Command{
		Use:   "export [NAME...]",
		Short: "Export tool definitions to other formats",
		Long: "Prints the definitions of the named tools, or of all enabled tools, in one of these formats:\n\n" +
			cli.Table(func(row func(cells ...string)) {
				for _, f := range exportForms {
					row(f.name, f.doc)
				}
			}) + "\n\nFor a dialect use wield tool show --as.",
		Example: "  wield tool export get_current_time --as anthropic\n  wield tool export --as openai " +
			"--out tools.json",
		ValidArgsFunction: toolNames(app, file),
		RunE: func(_ *cobra.Command, args []string) error {
			var form *exportForm
			var known []string
			for i := range exportForms {
				if known = append(known, exportForms[i].name); exportForms[i].name == as {
					form = &exportForms[i]
				}
			}
			if form == nil {
				return cli.UsageErrorf("no form %q; there are %s", as, strings.Join(known, ", "))
			}
			return withTools(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				var entries []*runner.Entry
				for _, name := range args {
					e, err := Find(box, name)
					if err != nil {
						return err
					}
					entries = append(entries, e)
				}
				for _, e := range box.Registry.Entries() {
					if len(args) == 0 && e.State != tool.StateDisabled {
						entries = append(entries, e)
					}
				}
				var text strings.Builder
				enc := json.NewEncoder(&text)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				if err := enc.Encode(form.write(entries)); err != nil {
					return err
				}
				if out == "" {
					_, err := io.WriteString(app.Stdout, text.String())
					return err
				}
				if _, err := os.Lstat(out); err == nil && !force {
					return cli.UsageErrorf("%s is there already; --force replaces it", out)
				}
				return writeNew(out, newFile{filepath.Base(out), text.String(), 0o644})
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "openai", "`FORMAT` of the definitions")
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE`")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

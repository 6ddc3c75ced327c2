package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/config"
)

// A serverFile holds a file NAME.mcp.yaml.
type serverFile struct {
	Command  []string          `yaml:"command,omitempty"`
	Env      map[string]string `yaml:"env,omitempty"`
	Net      bool              `yaml:"net,omitempty"`
	Writable []string          `yaml:"writable,omitempty"`
	Readable []string          `yaml:"readable,omitempty"`
	URL      string            `yaml:"url,omitempty"`
	Token    string            `yaml:"token,omitempty"`
	Headers  map[string]string `yaml:"headers,omitempty"`
	Deny     []string          `yaml:"deny,omitempty"`
}

// downloads are programs that fetch what they run. A server behind one needs the network.
var downloads = []string{"npx", "bunx", "uvx", "pipx", "deno"}

// allow gives a program what it cannot do without: the network if it fetches what it runs, and files that its command
// line names.
func (f *serverFile) allow() (fetches bool) {
	if len(f.Command) == 0 {
		return false
	}
	fetches = slices.Contains(downloads, filepath.Base(f.Command[0]))
	f.Net = f.Net || fetches
	for _, arg := range f.Command {
		if path := readsFrom(arg); path != "" && !slices.Contains(f.Readable, path) {
			f.Readable = append(f.Readable, path)
		}
	}
	return fetches
}

// readsFrom returns the directory that a program needs for an argument that names a file or a directory: of a
// package of Node.js it is the directory of all packages. It is empty for any other argument, and for what
// every program may read.
func readsFrom(arg string) string {
	info, err := os.Stat(arg)
	if !filepath.IsAbs(arg) || err != nil || strings.HasPrefix(arg, "/usr/") || strings.HasPrefix(arg, "/bin/") {
		return ""
	}
	const packages = "/node_modules"
	if i := strings.Index(arg+"/", packages+"/"); i >= 0 {
		return arg[:i+len(packages)]
	}
	if info.IsDir() {
		return filepath.Clean(arg)
	}
	dir := filepath.Dir(arg)
	if venv := filepath.Dir(dir); isFile(filepath.Join(venv, "pyvenv.cfg")) { // a program of it reads its packages
		return venv
	}
	return dir
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// file returns the file of a server, checked.
func (f *serverFile) file(name string) (newFile, error) {
	if err := config.CheckMCPName(name); err != nil {
		return newFile{}, cli.UsageErrorf("%w", err)
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return newFile{}, err
	}
	made := newFile{name + config.MCPSuffix, string(text), 0o644}
	return made, config.CheckMCPServer(made.name, text)
}

func newMCPAddCmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	var f serverFile
	var env, headers []string
	cmd := &cobra.Command{
		Use:   "add NAME (URL | -- COMMAND [ARGUMENT...])",
		Short: "Add an MCP server to the directory of tools",
		Long: `Writes NAME.mcp.yaml for a program or a service. Write secrets as env:NAME or file:PATH.

A program runs in the sandbox. It may read what its command names by an absolute path; --read and
--write allow more. It has no network without --net, except npx, uvx and similar, which download
what they run.`,
		Example: `  wield mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  wield mcp add tickets https://tickets.example.com/mcp --token env:TICKETS_TOKEN`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if f.Env, err = namedPairs("--env", "=", env); err != nil {
				return err
			}
			if f.Headers, err = namedPairs("--header", ":", headers); err != nil {
				return err
			}
			switch dash := cmd.ArgsLenAtDash(); {
			case dash == 1:
				f.Command = args[1:]
			case dash < 0 && len(args) == 2 && strings.Contains(args[1], "://"):
				f.URL = args[1]
			case dash < 0:
				return cli.UsageErrorf("a program stands behind --, as in wield mcp add %s -- %s", args[0],
					strings.Join(args[1:], " "))
			default:
				return cli.UsageErrorf("one name stands in front of --, and the program behind it")
			}
			if f.allow() {
				fmt.Fprintf(app.Stderr, "wield: %s may use the network, since %s fetches what it runs\n",
					args[0], f.Command[0])
			}
			made, err := f.file(args[0])
			if err != nil {
				return err
			}
			return p.write(app, *file, made)
		},
	}
	p.flags(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&env, "env", nil,
		"variable of the program, as NAME=VALUE, NAME=env:OTHER or NAME=file:PATH; may be repeated")
	fl.StringArrayVar(&f.Readable, "read", nil, "`PATH` that the program may read; repeatable")
	fl.StringArrayVar(&f.Writable, "write", nil, "`PATH` that the program may change; repeatable")
	fl.BoolVar(&f.Net, "net", false, "allow network access")
	fl.StringVar(&f.Token, "token", "", "bearer token: `REF` is env:NAME or file:PATH")
	fl.StringArrayVar(&headers, "header", nil, "HTTP `HEADER` for a service, as 'NAME: VALUE'; repeatable")
	return cmd
}

// namedPairs reads flags that are pairs of a name and a value.
func namedPairs(flag, separator string, list []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, separator)
		if !ok {
			return nil, cli.UsageErrorf("%s %q: NAME%sVALUE is wanted", flag, text, separator)
		}
		pairs[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return pairs, nil
}

func newMCPImportCmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Add servers from another client's configuration",
		Long: `Converts the servers of another client to one NAME.mcp.yaml each: mcpServers of Claude Desktop,
Claude Code and Cursor, servers of VS Code (JSON, comments allowed), mcp_servers of Codex (TOML).
Secrets are not copied: set the environment variable that the new file names.`,
		Example: "  wield mcp import ~/.cursor/mcp.json --dry-run",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return cli.UsageErrorf("%w", err)
			}
			read := importServers
			if filepath.Ext(args[0]) == ".toml" {
				read = importCodex
			}
			found, notes, err := read(data)
			if err != nil {
				return cli.UsageErrorf("%s: %w", args[0], err)
			}
			for _, n := range notes {
				fmt.Fprintf(app.Stderr, "wield: %s\n", n)
			}
			return p.write(app, *file, found...)
		},
	}
	p.flags(cmd)
	return cmd
}

// A foreignServer is a server as other clients write it.
type foreignServer struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`

	deny  []string // of Codex
	token string   // a reference
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// importServers makes files of the servers in another client's configuration, and says what has to be done by hand.
func importServers(data []byte) (files []newFile, notes []string, err error) {
	data, err = yaml.YAMLToJSON(data) // JSON is YAML, comments with # included
	if err != nil {
		return nil, nil, err
	}
	var all struct {
		MCPServers map[string]foreignServer `json:"mcpServers"`
		Servers    map[string]foreignServer `json:"servers"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, nil, err
	}
	if all.MCPServers == nil {
		all.MCPServers = all.Servers
	}
	return serverFiles(all.MCPServers, "mcpServers or servers")
}

// A codexServer is a server as Codex writes it.
type codexServer struct {
	Command    string            `toml:"command"`
	Args       []string          `toml:"args"`
	Env        map[string]string `toml:"env"`
	EnvVars    []string          `toml:"env_vars"`
	URL        string            `toml:"url"`
	TokenVar   string            `toml:"bearer_token_env_var"`
	Headers    map[string]string `toml:"http_headers"`
	EnvHeaders map[string]string `toml:"env_http_headers"`
	Enabled    *bool             `toml:"enabled"`
	Deny       []string          `toml:"disabled_tools"`
}

// importCodex makes files of the servers in Codex's config.toml.
func importCodex(data []byte) (files []newFile, notes []string, err error) {
	var all struct {
		Servers map[string]codexServer `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, nil, err
	}
	servers := map[string]foreignServer{}
	for name, c := range all.Servers {
		s := foreignServer{Command: c.Command, Args: c.Args, Env: c.Env, URL: c.URL, Headers: c.Headers, deny: c.Deny,
			Disabled: c.Enabled != nil && !*c.Enabled}
		if c.TokenVar != "" {
			s.token = "env:" + c.TokenVar
		}
		for _, variable := range c.EnvVars {
			s.Env = with(s.Env, variable, "env:"+variable)
		}
		for header, variable := range c.EnvHeaders {
			s.Headers = with(s.Headers, header, "env:"+variable)
		}
		servers[name] = s
	}
	return serverFiles(servers, "mcp_servers")
}

func with(values map[string]string, name, value string) map[string]string {
	if values == nil {
		values = map[string]string{}
	}
	values[name] = value
	return values
}

// serverFiles makes files of servers, and says what has to be done by hand.
func serverFiles(servers map[string]foreignServer, where string) (files []newFile, notes []string, err error) {
	if len(servers) == 0 {
		return nil, nil, fmt.Errorf("there are no servers in it, under %s", where)
	}
	for _, old := range slices.Sorted(maps.Keys(servers)) {
		s := servers[old]
		if s.Disabled {
			notes = append(notes, old+" is switched off there, and was left out")
			continue
		}
		name := strings.Trim(notInName.ReplaceAllString(old, "-"), "-")
		f := serverFile{URL: s.URL, Token: s.token, Deny: s.deny}
		if s.Command != "" {
			f.Command = append([]string{s.Command}, s.Args...)
		}
		f.Env = hidden(name, s.Env, &notes)
		f.Headers = hidden(name, s.Headers, &notes)
		f.allow()
		made, err := f.file(name)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", old, err)
		}
		files = append(files, made)
	}
	return files, notes, nil
}

// hidden returns values with references in the place of secrets.
func hidden(server string, values map[string]string, notes *[]string) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		if config.NamesSecret(name) && value != "" && !strings.HasPrefix(value, "env:") {
			variable := strings.ToUpper(notInName.ReplaceAllString(name, "_"))
			*notes = append(*notes, fmt.Sprintf(
				"%s: the value of %s was not copied; set %s in the environment of wield",
				server, name, variable))
			value = "env:" + variable
		}
		out[name] = value
	}
	return out
}

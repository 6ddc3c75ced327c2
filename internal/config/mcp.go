package config

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/sandbox"
)

// MCPSuffix is how the name of a file ends that holds one MCPServer, in a directory of tools.
const MCPSuffix = ".mcp.yaml"

// PinsFile is the name of the file in the data directory that keeps what MCP servers said of their tools at first.
const PinsFile = "mcp.json"

// MCP lists servers of the Model Context Protocol, whose tools wield uses.
type MCP struct {
	Servers map[string]MCPServer `key:"servers" doc:"Servers, by a name that stands in front of the names of their tools: NAME__TOOL."`
	Serve   MCPServe             `key:"serve" doc:"What wield serve offers by the protocol."`
}

// An MCPServer is a program or a service that offers tools by the Model Context Protocol.
type MCPServer struct {
	Command  []string         `key:"command" doc:"Program of the server and its arguments. It runs in the workspace, in the sandbox of sandbox.level."`
	Env      map[string]Value `key:"env" doc:"Variables of the program, as text, env:NAME or file:PATH. It gets no others than PATH, HOME and the like."`
	Net      bool             `key:"net" doc:"Whether the program may use the network, at the sandbox levels workspace and strict."`
	Writable []string         `key:"writable" doc:"Directories and files that the program may change, at those levels."`
	Readable []string         `key:"readable" doc:"Directories and files that it may read there, beside the workspace and the system's own."`

	URL     URL              `key:"url" doc:"Address of the server, for one that is a service."`
	Login   MCPLogin         `key:"login" doc:"How wield logs in to a service that wants it; see wield mcp login."`
	Token   Secret           `key:"token" doc:"Token for the header Authorization, as env:NAME or file:PATH."`
	Headers map[string]Value `key:"headers" doc:"Headers of each request; secrets as env:NAME or file:PATH."`

	Allow     []string `key:"allow" doc:"Tools that are used, by the server's own names; * stands for any characters. Empty: all."`
	Deny      []string `key:"deny" doc:"Tools that are not used."`
	Shared    bool     `key:"shared" doc:"Whether all keys of wield use one connection, with one program or one login. false: each key has its own."`
	Prompts   bool     `key:"prompts" doc:"Whether its prompts are used: by MCP clients of wield as such, by models with the tools list_prompts and get_prompt."`
	Resources bool     `key:"resources" doc:"Whether its resources are used: by MCP clients of wield as such, by models with the tools list_resources and read_resource."`
	Trust     []string `key:"trust" doc:"Tools that run without a question where no policies are configured; * stands for any characters. Not in a file NAME.mcp.yaml."`
	Start     Duration `key:"start" min:"1s" max:"300s" doc:"How long connecting and listing the tools may take."`

	Enabled          bool     `key:"enabled" doc:"Whether the tools are offered."`
	Auto             []string `key:"auto" doc:"Words: the tools are offered only when one of them stands in the user's message. Goes with enabled."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"For one run."`
	Cache            Duration `key:"cache" doc:"How long a result is used again for the same call in the same workspace, if it is no error; 0s: never."`
	RequiresApproval bool     `key:"requires_approval" doc:"Whether a person is asked before each run. Tools that a server calls destructive always ask."`
}

// MCPLogin says who wield is to a service that it logs in to.
type MCPLogin struct {
	ClientID     string `key:"client_id" doc:"Id of a client that was registered by hand. Empty: wield registers itself."`
	ClientSecret Secret `key:"client_secret" doc:"Its secret, as env:NAME or file:PATH."`
	Metadata     URL    `key:"client_metadata" doc:"Address of a Client ID Metadata Document that you publish, which is then the client's id."`
}

func (m *MCPServer) setDefaults() {
	m.Shared = true
	m.Enabled = true // a server is named to be used
	m.Start = Duration(30 * time.Second)
	m.Timeout = Duration(defaultToolTimeout)
}

var mcpName = regexp.MustCompile(`^[A-Za-z0-9]+([_-]?[A-Za-z0-9]+)*$`)

// CheckMCPName says what is wrong with the name of a server.
func CheckMCPName(name string) error {
	if !mcpName.MatchString(name) || len(name) > 32 {
		return fmt.Errorf("%q is no name for a server: at most 32 letters and digits, with single - and _ between them", name)
	}
	return nil
}

func (m *MCPServer) check(d *decoder, path string) {
	switch {
	case len(m.Command) == 0 && m.URL == "":
		d.at(path, "the server has neither a command nor a url")
	case len(m.Command) > 0 && m.URL != "":
		d.at(join(path, "url"), "a server is a program (command) or a service (url), not both")
	}
	for _, key := range []string{"env", "net", "writable", "readable"} {
		if len(m.Command) == 0 && d.has(join(path, key)) {
			d.warn(join(path, key), "no effect: this is for programs")
		}
	}
	for _, key := range []string{"token", "headers", "login"} {
		if m.URL == "" && d.has(join(path, key)) {
			d.warn(join(path, key), "no effect: this is for services")
		}
	}
	for _, name := range sortedKeys(m.Headers) {
		checkHeader(d, join(path, "headers."+name), name, m.Headers[name])
	}
	for _, name := range sortedKeys(m.Env) {
		if v := m.Env[name]; secretHeader.MatchString(name) && !v.IsSecret() && v.String() != "" {
			d.at(join(path, "env."+name),
				"by its name this variable is a secret, which does not stand in the file: write env:NAME or file:PATH")
			d.hide(d.places[join(path, "env."+name)].value)
		}
	}
}

// mcpTools finds the tools of MCP servers: of the configuration, and of files in the directories of tools.
func mcpTools(t *Toolbox, c *Config, env *ToolEnvironment) (toolSource, error) {
	s := &mcpSource{box: t, config: c, dirs: t.Dirs, getenv: env.Getenv, behind: env.Behind}
	t.Pins, t.servers = c.Pins(env.Getenv), s
	return s, nil
}

// An mcpSource keeps the connections to servers.
type mcpSource struct {
	box    *Toolbox
	config *Config
	dirs   []string
	getenv func(string) string
	behind bool // servers are connected to behind the caller's back

	mu      sync.Mutex
	servers map[string]*mcpServer // by name
}

// An mcpServer is a connection with what it was made of.
type mcpServer struct {
	text    string      // of its configuration
	made    mcp.Options // of the connection
	conn    *mcp.Server
	options Builtin
	tools   map[*tool.Tool]*tool.Tool // as the server has them, and as the configuration wants them
	asking  sync.Mutex                // held while it is asked in the background
}

// wanted reads the configuration of all servers.
func (s *mcpSource) wanted() (map[string]MCPServer, []error) {
	all, problems := map[string]MCPServer{}, []error(nil)
	for name, m := range s.config.MCP.Servers {
		all[name] = m
	}
	for _, file := range filesOf(s.dirs, MCPSuffix) {
		name := strings.TrimSuffix(filepath.Base(file), MCPSuffix)
		m, err := ReadMCPServer(file)
		if err == nil {
			err = CheckMCPName(name)
		}
		if _, taken := all[name]; err == nil && taken {
			err = fmt.Errorf("there is another MCP server %s", name)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
			continue
		}
		all[name] = *m
	}
	return all, problems
}

// ReadMCPServer reads a file of one server.
func ReadMCPServer(file string) (*MCPServer, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	m := &MCPServer{}
	if err := readEntry(file, data, m); err != nil {
		return nil, err
	}
	if len(m.Trust) > 0 {
		return nil, errors.New("trust is for mcp.servers in the configuration: what lies among tools allows nothing")
	}
	return m, nil
}

// CheckMCPServer says what is wrong with the text of a file of one server.
func CheckMCPServer(file string, text []byte) error {
	return readEntry(file, text, &MCPServer{})
}

// NamesSecret reports whether a value is a secret by its name.
func NamesSecret(name string) bool { return secretHeader.MatchString(name) }

// Pins returns what MCP servers said of their tools at first; nil: there is no place where that is kept.
func (c *Config) Pins(getenv func(string) string) *mcp.Pins {
	dir := c.DataDir(getenv)
	if dir == "" {
		return nil
	}
	return &mcp.Pins{File: filepath.Join(dir, PinsFile)}
}

// TokensFile is the name of the file in the data directory that keeps what logins to MCP servers have given.
const TokensFile = "mcp-tokens.json"

// Tokens returns what logins to MCP servers have given; nil: there is no place where that is kept.
func (c *Config) Tokens(getenv func(string) string) *mcp.Tokens {
	dir := c.DataDir(getenv)
	if dir == "" {
		return nil
	}
	return &mcp.Tokens{File: filepath.Join(dir, TokensFile)}
}

// oauth says how tokens are had.
func (l *MCPLogin) oauth(tokens *mcp.Tokens, getenv func(string) string) (*mcp.OAuth, error) {
	o := &mcp.OAuth{Tokens: tokens, ClientID: l.ClientID, Metadata: string(l.Metadata)}
	if l.ClientSecret.IsZero() {
		return o, nil
	}
	var err error
	if o.ClientSecret, err = l.ClientSecret.Resolve(getenv); err != nil {
		return nil, fmt.Errorf("login.client_secret: %w", err)
	}
	return o, nil
}

// Load connects to new servers, disconnects from removed ones, and returns the tools of all.
func (s *mcpSource) Load(ctx context.Context) (tools []*tool.Tool, problems []error) {
	want, problems := s.wanted()
	s.mu.Lock()
	before := s.servers
	s.servers = map[string]*mcpServer{}
	for _, name := range sortedKeys(want) {
		m := want[name]
		text := fmt.Sprintf("%+v", m)
		if old := before[name]; old != nil && old.text == text {
			s.servers[name] = old
			delete(before, name)
			continue
		}
		made, err := s.server(name, &m)
		if err != nil {
			problems = append(problems, fmt.Errorf("mcp server %s: %w", name, err))
			continue
		}
		s.servers[name] = &mcpServer{text: text, made: made, conn: mcp.New(made), options: Builtin{
			Enabled: m.Enabled, Auto: m.Auto, Mode: string(tool.ModeRW),
			Timeout: m.Timeout, Cache: m.Cache, RequiresApproval: m.RequiresApproval,
		}}
	}
	now := s.servers
	s.mu.Unlock()
	for _, gone := range before {
		gone.conn.Close()
	}
	s.ask(ctx, now)
	for _, name := range sortedKeys(now) {
		found, wrong := now[name].load()
		tools, problems = append(tools, found...), append(problems, wrong...)
	}
	return tools, problems
}

// ask asks all servers for their tools at once.
func (s *mcpSource) ask(ctx context.Context, servers map[string]*mcpServer) {
	var wg sync.WaitGroup
	for _, m := range servers {
		if !s.behind {
			wg.Go(func() { m.conn.Tools(ctx) })
		} else if m.asking.TryLock() {
			go func() {
				defer m.asking.Unlock()
				m.conn.Tools(context.WithoutCancel(ctx))
			}()
		}
	}
	wg.Wait()
}

// load returns the tools that the server listed last, as the configuration wants them.
func (m *mcpServer) load() ([]*tool.Tool, []error) {
	known, problems := m.conn.Known()
	now, tools := make(map[*tool.Tool]*tool.Tool, len(known)), make([]*tool.Tool, 0, len(known))
	for _, one := range known {
		t := m.tools[one]
		if t == nil {
			t = m.options.configured(one)
		}
		now[one], tools = t, append(tools, t)
	}
	m.tools = now
	return tools, problems
}

// server says how one server is reached.
func (s *mcpSource) server(name string, m *MCPServer) (mcp.Options, error) {
	o := mcp.Options{Name: name, Each: !m.Shared, Allow: m.Allow, Deny: m.Deny, Prompts: m.Prompts, Resources: m.Resources, Start: time.Duration(m.Start), Pins: s.box.Pins}
	if len(m.Command) == 0 {
		o.URL, o.Header = string(m.URL), http.Header{}
		for _, header := range sortedKeys(m.Headers) {
			value, err := m.Headers[header].Resolve(s.getenv)
			if err != nil {
				return o, fmt.Errorf("headers.%s: %w", header, err)
			}
			o.Header.Set(header, value)
		}
		if !m.Token.IsZero() {
			token, err := m.Token.Resolve(s.getenv)
			if err != nil {
				return o, fmt.Errorf("token: %w", err)
			}
			o.Header.Set("Authorization", "Bearer "+token)
		}
		if o.Header.Get("Authorization") == "" {
			login, err := m.Login.oauth(s.config.Tokens(s.getenv), s.getenv)
			if err != nil {
				return o, err
			}
			o.OAuth = login
		}
		return o, nil
	}
	r := s.box.Runner
	env := append(sandbox.Environ(), "TMPDIR="+r.Temp)
	for _, variable := range sortedKeys(m.Env) {
		value, err := m.Env[variable].Resolve(s.getenv)
		if err != nil {
			return o, fmt.Errorf("env.%s: %w", variable, err)
		}
		env = append(env, variable+"="+value)
	}
	o.Command = sandbox.Command{
		Argv: m.Command, Dir: r.Root, Env: env, Level: r.Sandbox.Level, Net: m.Net, Protected: r.Sandbox.Protected,
		Writable: append([]string{r.Temp}, m.Writable...), Readable: append([]string{r.Root}, m.Readable...),
	}
	return o, nil
}

// close ends all connections.
func (s *mcpSource) close() {
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, m := range servers {
		wg.Go(func() { m.conn.Close() })
	}
	wg.Wait()
}

// Servers returns the MCP servers by name.
func (t *Toolbox) Servers() map[string]*mcp.Server {
	t.servers.mu.Lock()
	defer t.servers.mu.Unlock()
	list := make(map[string]*mcp.Server, len(t.servers.servers))
	for name, m := range t.servers.servers {
		list[name] = m.conn
	}
	return list
}

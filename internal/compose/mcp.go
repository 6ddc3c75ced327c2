package compose

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wield/internal/config"
	"wield/internal/mask"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/sandbox"
)

// mcpTools finds the tools of MCP servers: of the configuration, and of files in the directories of tools.
func mcpTools(t *Toolbox, c *config.Config, env *ToolEnvironment) (toolSource, error) {
	s := &mcpSource{box: t, config: c, dirs: t.Dirs, getenv: env.Getenv, behind: env.Behind}
	t.Pins, t.servers = Pins(c, env.Getenv), s
	return s, nil
}

// An mcpSource keeps the connections to servers.
type mcpSource struct {
	box    *Toolbox
	config *config.Config
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
	options config.Builtin
	tools   map[*tool.Tool]*tool.Tool // as the server has them, and as the configuration wants them
	asking  sync.Mutex                // held while it is asked in the background

	first chan struct{} // closed when it was asked for the first time
	asked sync.Once     // closes first
	shown atomic.Bool   // what it said then is in the registry
}

// wanted reads the configuration of all servers.
func (s *mcpSource) wanted() (map[string]config.MCPServer, []error) {
	all, problems := map[string]config.MCPServer{}, []error(nil)
	for name, m := range s.config.MCP.Servers {
		all[name] = m
	}
	for _, file := range filesOf(s.dirs, config.MCPSuffix) {
		name := strings.TrimSuffix(filepath.Base(file), config.MCPSuffix)
		m, err := config.ReadMCPServer(file)
		if err == nil {
			err = config.CheckMCPName(name)
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

// Pins returns what MCP servers said of their tools at first; nil: there is no place where that is kept.
func Pins(c *config.Config, getenv func(string) string) *mcp.Pins {
	dir := c.DataDir(getenv)
	if dir == "" {
		return nil
	}
	return &mcp.Pins{File: filepath.Join(dir, config.PinsFile)}
}

// Tokens returns what logins to MCP servers have given; nil: there is no place where that is kept.
func Tokens(c *config.Config, getenv func(string) string) *mcp.Tokens {
	dir := c.DataDir(getenv)
	if dir == "" {
		return nil
	}
	return &mcp.Tokens{File: filepath.Join(dir, config.TokensFile)}
}

// oauth says how tokens are had.
func oauth(l *config.MCPLogin, tokens *mcp.Tokens, getenv func(string) string) (*mcp.OAuth, error) {
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
	for _, name := range slices.Sorted(maps.Keys(want)) {
		m := want[name]
		text := fmt.Sprintf("%+v", m)
		if old := before[name]; old != nil && old.text == text {
			s.servers[name] = old
			delete(before, name)
			continue
		}
		made, err := s.server(name, &m)
		if err != nil {
			problems = append(problems, &mcp.ServerError{Server: name, Err: err})
			continue
		}
		s.servers[name] = &mcpServer{text: text, made: made, conn: mcp.New(made), first: make(chan struct{}),
			options: config.Builtin{Enabled: m.Enabled, Auto: m.Auto, Mode: string(tool.ModeRW), Timeout: m.Timeout,
				Cache: m.Cache, RequiresApproval: m.RequiresApproval}}
	}
	now := s.servers
	s.mu.Unlock()
	for _, gone := range before {
		gone.conn.Close()
	}
	s.ask(ctx, now)
	for _, name := range slices.Sorted(maps.Keys(now)) {
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
				m.asked.Do(func() { close(m.first) })
			}()
		}
	}
	wg.Wait()
}

// beginTime is how long after the start requests wait for servers that have not listed their tools yet: npx first
// fetches what it runs.
const beginTime = 30 * time.Second

// awaitServers waits until MCP servers have listed their tools or failed for the first time, so that the first request
// after the start does not go without them. The name * stands for all servers.
func (t *Toolbox) awaitServers(names ...string) {
	if t.servers == nil || !t.servers.behind {
		return
	}
	t.servers.mu.Lock()
	var wanted []*mcpServer
	for name, m := range t.servers.servers {
		if !m.shown.Load() && (slices.Contains(names, name) || slices.Contains(names, "*")) {
			wanted = append(wanted, m)
		}
	}
	t.servers.mu.Unlock()
	over := time.After(time.Until(t.made.Add(beginTime)))
	for _, m := range wanted {
		select {
		case <-m.first:
			if !m.shown.Load() {
				t.Refresh(context.Background()) // what is wrong is said by Follow
				m.shown.Store(true)
			}
		case <-over:
			return
		}
	}
}

// load returns the tools that the server listed last, as the configuration wants them.
func (m *mcpServer) load() ([]*tool.Tool, []error) {
	known, problems := m.conn.Known()
	now, tools := make(map[*tool.Tool]*tool.Tool, len(known)), make([]*tool.Tool, 0, len(known))
	for _, one := range known {
		t := m.tools[one]
		if t == nil {
			t = m.options.Configured(one)
		}
		now[one], tools = t, append(tools, t)
	}
	m.tools = now
	return tools, problems
}

// minNamed is the length of a secret that is looked for in names and definitions too. A shorter one may be a word, such
// as postgres, and a schema without it another one.
const minNamed = 12

// hide returns what takes secrets out of all that a server says.
func (s *mcpSource) hide(m *config.MCPServer) func(string) string {
	list := append(s.config.Secrets(s.getenv),
		config.SecretsIn(m, func(r config.Secret) (string, error) { return r.Resolve(s.getenv) })...)
	return mask.Values(slices.DeleteFunc(list, func(text string) bool { return len(text) < minNamed }))
}

// server says how one server is reached.
func (s *mcpSource) server(name string, m *config.MCPServer) (mcp.Options, error) {
	o := mcp.Options{Name: name, Each: !m.Shared, Allow: m.Allow, Deny: m.Deny, Prompts: m.Prompts,
		Resources: m.Resources, Apps: m.Apps, Protocol: m.Protocol, Start: time.Duration(m.Start), Pins: s.box.Pins,
		Hide: s.hide(m)}
	if len(m.Command) == 0 {
		o.URL, o.Header = string(m.URL), http.Header{}
		for _, header := range slices.Sorted(maps.Keys(m.Headers)) {
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
			login, err := oauth(&m.Login, Tokens(s.config, s.getenv), s.getenv)
			if err != nil {
				return o, err
			}
			o.OAuth = login
		}
		return o, nil
	}
	r := s.box.Runner
	env := append(sandbox.Environ(), "TMPDIR="+r.Settings().Temp)
	writable := append([]string{r.Settings().Temp}, m.Writable...)
	if dir := s.cache(name); m.Net && dir != "" {
		env = append(env, "XDG_CACHE_HOME="+dir, "npm_config_cache="+filepath.Join(dir, "npm"))
		writable = append(writable, dir)
	}
	for _, variable := range slices.Sorted(maps.Keys(m.Env)) {
		value, err := m.Env[variable].Resolve(s.getenv)
		if err != nil {
			return o, fmt.Errorf("env.%s: %w", variable, err)
		}
		env = append(env, variable+"="+value)
	}
	box, root := r.Settings().Sandbox, r.Settings().Root
	if err := pendingFiles(box.Guarded, commandFiles(root, m.Command)); err != nil {
		return o, err
	}
	o.Command = sandbox.Command{
		Argv: m.Command, Dir: root, Env: env, Level: box.Level, Net: m.Net,
		Writable: writable, Readable: append([]string{root}, m.Readable...),
	}
	o.Watch = box.Watch(root, m.Writable...)
	o.Watch.Lasting = true
	return o, nil
}

// cache makes the directory where a server's program keeps what it fetches, so that npx and uvx do not fetch it at each
// start; empty: there is none.
func (s *mcpSource) cache(name string) string {
	dir := s.box.Runner.Settings().Sandbox.Cache
	if dir == "" {
		return ""
	}
	dir = filepath.Join(dir, "mcp", name)
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	return dir
}

// missing returns why the tools of servers are missing, by the servers' names.
func (s *mcpSource) missing() map[string]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]error{}
	for name, m := range s.servers {
		if m.conn.Status().Err != nil {
			found[name] = fmt.Errorf("the MCP server %s is not connected", name)
		}
	}
	return found
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
	if t.servers == nil {
		return nil
	}
	t.servers.mu.Lock()
	defer t.servers.mu.Unlock()
	list := make(map[string]*mcp.Server, len(t.servers.servers))
	for name, m := range t.servers.servers {
		list[name] = m.conn
	}
	return list
}

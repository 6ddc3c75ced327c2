package compose

import (
	"cmp"
	"log/slog"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/accesstoken"
	"wield/internal/config"
	"wield/internal/mcpserver"
	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/policy"
	"wield/tool/runner"
)

// serveMCP notes what is offered by MCP.
func (w *builder) serveMCP(s *Service) error {
	if !w.config.MCP.Serve.Enabled || s.Tools == nil {
		return nil
	}
	own, err := w.ownTools(s.Gateway.Models)
	if err != nil {
		return err
	}
	serve := &w.config.MCP.Serve
	all := offeredTools{box: s.Tools, own: own, wanted: serve.Tools, off: w.config.Disabled,
		unmatched: warnOnce(w.env.Log, "mcp.serve.tools: no tool matches; wield tool list shows the names")}
	def, err := runPolicy(w.config, serve.Policy, all.entries(), RunRules{},
		append([]string{w.env.File, s.Tools.State}, s.Tools.Dirs...)...)
	if err != nil {
		return err
	}
	rules, err := policy.New(def)
	if err != nil {
		return err
	}
	runner := s.Tools.Runner.With(func(s *runner.Settings) { s.Policy, s.Log = rules, w.env.Log })
	s.mcp = &mcpFront{all: all, runner: runner, approvals: askers[serve.Approvals], keys: w.keyTools(),
		tasks: mcpserver.TaskOptions{After: time.Duration(serve.Tasks.After), TTL: time.Duration(serve.Tasks.TTL),
			Required: serve.Tasks.Required}}
	s.Tokens, err = tokens(&serve.OAuth)
	return err
}

// keyTools returns the patterns of the tools that the holder of each key may call, by its name.
func (w *builder) keyTools() map[string][]string {
	keys := map[string][]string{}
	for _, k := range w.config.Keys {
		keys[k.Name] = k.Tools
	}
	return keys
}

// may returns what reports whether the holder of a key may call a tool.
func (w *builder) may() func(key, name string) bool {
	keys := w.keyTools()
	return func(key, name string) bool { return len(keys[key]) == 0 || named(keys[key], name) }
}

// warnOnce returns what logs a warning about a pattern, once for each.
func warnOnce(log *slog.Logger, message string) func(pattern string) {
	var warned sync.Map
	return func(pattern string) {
		if _, before := warned.LoadOrStore(pattern, true); !before {
			log.Warn(message, "pattern", pattern)
		}
	}
}

// tokens returns what checks access tokens; nil: none are taken.
func tokens(c *config.MCPOAuth) (*accesstoken.Verifier, error) {
	if c.Issuer == "" {
		return nil, nil
	}
	o := accesstoken.Options{Issuer: string(c.Issuer), Resource: string(c.Resource),
		Audiences: c.Audiences, Scopes: c.Scopes, Name: c.Name}
	for _, g := range c.Keys {
		o.Grants = append(o.Grants, accesstoken.Grant{Claim: g.Claim, Value: g.Value, Key: g.Key})
	}
	return accesstoken.New(o)
}

// An mcpFront offers a service's tools by MCP.
type mcpFront struct {
	all       offeredTools // to those who may call everything
	runner    *runner.Runner
	approvals mcpserver.Asking
	tasks     mcpserver.TaskOptions
	keys      map[string][]string // patterns of the tools that the holder of a key may call, by its name
}

// askers are who is asked about calls, by what the configuration calls it.
var askers = map[string]mcpserver.Asking{"client": mcpserver.AskClient, "page": mcpserver.AskPage}

// MCP returns what somebody reaches at /mcp, or at /mcp/SERVER.
func (s *Service) MCP(by mcpserver.Caller, server string) (o mcpserver.Options, ok bool) {
	if s.mcp == nil {
		return o, false
	}
	servers := s.mcp.all.box.Servers()
	own := servers[server]
	if server != "" && own == nil {
		return o, false
	}
	o.Approvals, o.Tasks = s.mcp.approvals, s.mcp.tasks
	o.Runner = s.mcp.runner.With(func(set *runner.Settings) {
		offered := s.mcp.all
		offered.allowed, offered.server = s.mcp.keys[by.Key], server
		set.Scope.By, set.Tools = by.Name, offered
	})
	if own == nil {
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			o.Servers = append(o.Servers, servers[name])
		}
		return o, true
	}
	o.Own, o.Servers = true, []*mcp.Server{own}
	if own.Sessions() {
		o.Dedicated = func(p mcp.Peer) *mcp.Server { return s.mcp.all.box.servers.dedicated(server, by.Key, p) }
	}
	return o, true
}

// offeredTools are the tools of a registry that are offered by MCP to the holder of a key.
type offeredTools struct {
	box     *Toolbox
	own     *runner.Registry       // wield's tools that only clients of MCP are offered
	wanted  []string               // patterns; empty: what is enabled
	allowed []string               // patterns; empty: all
	off     func(name string) bool // it is never offered
	server  string                 // of which alone they are; empty: of all, and wield's own

	unmatched func(pattern string) // warns of a pattern that fits no tool; nil: nobody does
}

// named reports whether a name fits one of the patterns.
func named(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// fits reports whether a tool is among them.
func (o offeredTools) fits(e *runner.Entry) bool {
	name := e.Tool.Name()
	switch {
	case o.off(name), o.server != "" && e.Tool.Namespace != o.server,
		len(o.allowed) > 0 && !named(o.allowed, name),
		len(o.wanted) > 0 && !named(o.wanted, name):
		return false
	}
	return len(o.wanted) > 0 || e.State == tool.StateEnabled || e.State == tool.StateAuto
}

// Lookup implements runner.Source.
func (o offeredTools) Lookup(name string) (*runner.Entry, bool) {
	e, ok := o.box.Registry.Lookup(name)
	if !ok {
		e, ok = o.own.Lookup(name)
	}
	if !ok || !o.fits(e) {
		return nil, false
	}
	if e.State == tool.StateDisabled { // wanted by name
		on := *e
		on.State = tool.StateEnabled
		return &on, true
	}
	return e, true
}

// Missing implements runner.Source.
func (o offeredTools) Missing(name string) error { return o.box.Registry.Missing(name) }

// Offered implements runner.Source.
func (o offeredTools) Offered(string) []chat.Tool {
	o.box.awaitServers(cmp.Or(o.server, "*"))
	var list []chat.Tool
	for _, e := range o.entries() {
		list = append(list, e.Tool.Definition)
	}
	if o.server == "" && o.unmatched != nil { // all servers have listed their tools, or failed
		o.warn()
	}
	return list
}

// warn reports the patterns that fit no tool.
func (o offeredTools) warn() {
	known := append(o.box.Registry.Entries(), o.own.Entries()...)
	for _, p := range o.wanted {
		fits := func(e *runner.Entry) bool { return named([]string{p}, e.Tool.Name()) }
		if !slices.ContainsFunc(known, fits) && o.box.Registry.Missing(p) == nil {
			o.unmatched(p)
		}
	}
}

// entries returns the tools that are offered, switched on.
func (o offeredTools) entries() []*runner.Entry {
	var list []*runner.Entry
	for _, e := range append(o.box.Registry.Entries(), o.own.Entries()...) {
		if on, ok := o.Lookup(e.Tool.Name()); ok {
			list = append(list, on)
		}
	}
	return list
}

// dedicated makes a connection to a server in the name of a client; nil: there is no such server.
func (s *mcpSource) dedicated(name, key string, peer mcp.Peer) *mcp.Server {
	s.mu.Lock()
	m := s.servers[name]
	s.mu.Unlock()
	if m == nil {
		return nil
	}
	o := m.made
	o.Peer = peer
	if o.OAuth != nil && o.Each {
		login := *o.OAuth
		login.Who = key
		o.OAuth = &login
	}
	return mcp.New(o)
}

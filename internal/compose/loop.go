package compose

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/internal/cluster"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/module"
	"wield/internal/runs"
	"wield/model/route"
	"wield/schema/near"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// openTools opens the box of tools, if any are needed. All models share it.
func (w *builder) openTools() (err error) {
	if !w.config.NeedsTools() && !w.config.MCP.Serve.Enabled || w.env.Hub == nil {
		return nil
	}
	w.box, err = OpenToolbox(w.config, ToolEnvironment{Getenv: w.env.Getenv, File: w.env.File, Self: w.env.Self,
		Cluster: w.env.Cluster, Behind: true})
	if err != nil {
		return err
	}
	for _, p := range w.box.Problems {
		w.env.Log.Error("cannot load a tool", "error", p)
	}
	return nil
}

// agents makes the agents of all models that have tools of wield's.
func (w *builder) agents(s *Service) error {
	if s.Tools = w.box; w.box == nil {
		return nil
	}
	for _, name := range w.config.ModelNames() {
		if !w.config.RunsTools(name) {
			continue
		}
		a, err := w.agent(name)
		if err != nil {
			return fmt.Errorf("models.%s.agent: %w", name, err)
		}
		s.Agents = append(s.Agents, a)
	}
	if err := w.serveMCP(s); err != nil {
		return fmt.Errorf("mcp.serve: %w", err)
	}
	return nil
}

// plain makes agents without tools of the models that have none of wield's.
func (w *builder) plain(models []gateway.Model) (list []runs.Agent) {
	if w.env.Hub == nil {
		return nil
	}
	for i := range models {
		name := models[i].Name
		if w.config.RunsTools(name) {
			continue
		}
		list = append(list, runs.Agent{Name: name, Model: models[i].Model, Runner: runner.New(runner.Settings{}),
			Options: agent.Options{Prices: AgentPrices(w.config, name), Window: AgentWindow(w.config, name)}})
	}
	return list
}

// agent makes the agent of one model.
func (w *builder) agent(name string) (runs.Agent, error) {
	m := w.config.Models[name]
	served, err := w.looped(name)
	if err != nil {
		return runs.Agent{}, err
	}
	modules, err := w.modules(m.Agent.Modules)
	if err != nil {
		return runs.Agent{}, err
	}
	runner, err := w.runner(&m, w.pick(name), nil)
	if err != nil {
		return runs.Agent{}, err
	}
	l := m.Agent.Limits
	return runs.Agent{
		Name:   name,
		Model:  module.New(served, module.Options{Modules: modules, Log: w.env.Log}),
		Runner: runner,
		Options: agent.Options{
			Limits: agent.Limits{Iterations: l.Iterations, Calls: l.Calls, PerTool: l.PerTool,
				Time: time.Duration(l.Time), Tokens: l.Tokens, Cost: float64(l.Cost)},
			Prices: AgentPrices(w.config, name),
			Window: AgentWindow(w.config, name),
		},
		Activity:   runs.Activity(m.Agent.Activity),
		Collisions: runs.Collisions(m.Agent.Collisions),
		Hold:       time.Duration(m.Agent.Approvals.Hold),
	}, nil
}

// runner returns what runs the picked tools of a model under its policy, and allows some if there are no policies.
func (w *builder) runner(m *config.Model, picked *pick, allowed []string) (*runner.Runner, error) {
	protect := append([]string{w.env.File, w.box.State}, w.box.Dirs...)
	def, err := runPolicy(w.config, m.Agent.Policy, picked.entries(), RunRules{}, protect...)
	if err != nil {
		return nil, err
	}
	if len(allowed) > 0 && len(w.config.Policies) == 0 {
		def.Rules = append(def.Rules, policy.Rule{Decision: chat.DecisionAllow,
			Selector: policy.Selector{Tool: allowed}})
	}
	decides, err := policy.New(def)
	if err != nil {
		return nil, err
	}
	return w.box.Runner.With(func(s *runner.Settings) { s.Tools, s.Policy, s.Log = picked, decides, w.env.Log }), nil
}

// looped returns a model as an agent asks it, with what it falls back on: what wield itself runs is repaired no
// more than safely, and emitted when it is complete.
func (w *builder) looped(name string) (chat.Model, error) {
	chain := []chat.Model{}
	for _, next := range append([]string{name}, w.config.Models[name].Fallback...) {
		m := w.config.Models[next]
		if m.Model == "" {
			m.Model = next
		}
		if m.Repair == dialect.RepairFull.String() {
			m.Repair = dialect.RepairSafe.String()
		}
		m.Release = "checked"
		backend, err := w.backend(&m)
		if err != nil {
			return nil, err
		}
		o, err := w.bridgeOptions(&m, next)
		if err != nil {
			return nil, err
		}
		b, err := w.hosting(bridge.New(backend, o), next)
		if err != nil {
			return nil, err
		}
		chain = append(chain, b)
	}
	if len(chain) > 1 {
		return route.Fallback(chain...), nil
	}
	return chain[0], nil
}

// A pick is some tools of a registry, switched on for one model although they may be off for all. What
// changes in the registry shows in it.
type pick struct {
	box     *Toolbox
	pools   []string // of workers whose tools are all the model's
	servers []string // MCP servers whose tools are all the model's
	names   []string
	off     func(name string) bool // it is never offered
}

// pick returns the tools of a model, and warns of those that there are none of.
func (w *builder) pick(name string) *pick {
	m, box := w.config.Models[name], w.box
	p := w.pickNames("models."+name+".agent.tools", append(slices.Clip(m.Agent.Tools), tool.ReadOutputName))
	p.pools, p.servers = m.Workers, m.MCP
	for _, server := range p.servers {
		if servers := box.Servers(); servers[server] == nil && server != "*" {
			w.env.Log.Warn("a model names an unknown MCP server", "key", "models."+name+".mcp", "server",
				server, "hint", near.Hint(server, slices.Sorted(maps.Keys(servers))))
		}
	}
	return p
}

// pickNames returns the tools of these names, which a key lists.
func (w *builder) pickNames(key string, names []string) *pick {
	p := &pick{box: w.box, names: names, off: w.config.Disabled}
	var known []string
	for _, e := range w.box.Registry.Entries() {
		known = append(known, e.Tool.Name())
	}
	for _, n := range p.names {
		switch _, ok := w.box.Registry.Lookup(n); {
		case !ok && w.config.PoolOf(n) != "": // its workers come later
		case !ok && w.box.Registry.Missing(n) != nil: // its error names the server
		case !ok:
			w.env.Log.Warn("a model names an unknown tool", "key", key, "tool", n, "hint",
				near.Hint(n, known))
		case w.config.Disabled(n):
			w.env.Log.Warn("a model names a tool that tools.disable turns off", "key", key, "tool", n)
		}
	}
	return p
}

// Lookup implements runner.Source.
func (p *pick) Lookup(name string) (*runner.Entry, bool) {
	e, ok := p.box.Registry.Lookup(name)
	if ok && p.serves(e) {
		return e, true
	}
	if !ok || !slices.Contains(p.names, e.Tool.Name()) && !slices.ContainsFunc(e.Tool.Aliases,
		func(a string) bool { return slices.Contains(p.names, a) }) {
		return nil, false
	}
	if e.State == tool.StateDisabled && !p.off(e.Tool.Name()) {
		on := *e
		on.State = tool.StateEnabled
		return &on, true
	}
	return e, true
}

// Missing implements runner.Source.
func (p *pick) Missing(name string) error { return p.box.Registry.Missing(name) }

// serves reports whether a tool is that of a server or a pool which the model has all tools of.
func (p *pick) serves(e *runner.Entry) bool {
	if cluster.Remote(e.Tool) {
		return slices.Contains(p.pools, e.Tool.Namespace) || slices.Contains(p.pools, "*")
	}
	return e.Tool.Namespace != "" && (slices.Contains(p.servers, e.Tool.Namespace) || slices.Contains(p.servers, "*"))
}

// awaited returns the servers without whose tools the model is not to be asked.
func (p *pick) awaited() []string {
	list := slices.Clone(p.servers)
	for _, name := range p.names {
		if server, _, ok := strings.Cut(name, "__"); ok {
			list = append(list, server)
		}
	}
	return list
}

// Offered implements runner.Source.
func (p *pick) Offered(text string) []chat.Tool {
	p.box.awaitServers(p.awaited()...)
	var list []chat.Tool
	for _, e := range p.entries() {
		if e.State == tool.StateEnabled || e.State == tool.StateAuto && e.Tool.Auto.Matches(text) {
			list = append(list, e.Tool.Definition)
		}
	}
	return list
}

// entries returns the tools in the order of their names in the configuration.
func (p *pick) entries() []*runner.Entry {
	var list []*runner.Entry
	for _, name := range p.names {
		if e, ok := p.Lookup(name); ok && !slices.ContainsFunc(list,
			func(o *runner.Entry) bool { return o.Tool.Name() == e.Tool.Name() }) {
			list = append(list, e)
		}
	}
	if len(p.servers)+len(p.pools) == 0 {
		return list
	}
	for _, e := range p.box.Registry.Entries() { // as they are now: servers come and go
		if p.serves(e) && !slices.Contains(p.names, e.Tool.Name()) {
			list = append(list, e)
		}
	}
	return list
}

// FollowTools keeps the tools of the service up to date until ctx ends.
func (s *Service) FollowTools(ctx context.Context, log *slog.Logger) {
	if s.Tools != nil {
		s.Tools.Follow(ctx, log)
	}
}

// Release gives back what runs of the service may have used. It is called when none goes on.
func (s *Service) Release() error {
	s.Close()
	if s.Tools == nil {
		return nil
	}
	return s.Tools.Close()
}

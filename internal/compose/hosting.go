package compose

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/mcpconnector"
	"wield/internal/servertools"
	"wield/internal/toolsearch"
	"wield/schema/near"
	"wield/tool/policy"
)

// hosting returns a model with the tools that wield runs during its answers: server tools, and the search among many.
func (w *builder) hosting(model chat.Model, name string) (chat.Model, error) {
	m := w.config.Models[name]
	model, err := w.servingTools(model, name, &m)
	if err != nil {
		return nil, fmt.Errorf("models.%s.server_tools: %w", name, err)
	}
	model = toolsearch.New(model, toolsearch.Options{
		Above: m.ToolSearch, Protocol: config.Kinds[w.config.Backends[m.Backend].Kind].Speaks, Log: w.env.Log,
	})
	return w.connecting(model, name, &m)
}

// connecting returns a model whose requests may name MCP servers, if the configuration lets them.
func (w *builder) connecting(model chat.Model, name string, m *config.Model) (chat.Model, error) {
	t := &m.ServerTools
	if !t.Connects() || w.box == nil {
		return model, nil
	}
	for _, server := range t.MCPServers {
		if servers := w.box.Servers(); servers[server] == nil && server != "*" {
			w.env.Log.Warn("requests may name an unknown MCP server", "key",
				"models."+name+".server_tools.mcp_servers", "server", server,
				"hint", near.Hint(server, slices.Sorted(maps.Keys(servers))))
		}
	}
	runner, err := w.runner(m, &pick{box: w.box, names: []string{}, servers: t.MCPServers, off: w.config.Disabled}, nil)
	if err != nil {
		return nil, err
	}
	o := mcpconnector.Options{Servers: t.MCPServers, Known: w.box.Servers, Runner: runner, May: w.may(),
		Journal: w.env.Hub.Journal(), Hold: time.Duration(m.Agent.Approvals.Hold), Log: w.env.Log}
	if len(t.MCPHosts) > 0 {
		allowed := policy.Rule{Decision: chat.DecisionAllow, Selector: policy.Selector{Host: t.MCPHosts}}
		hosts, err := policy.New(policy.Definition{
			Name: "mcp_hosts", Default: chat.DecisionDeny, Rules: []policy.Rule{allowed}})
		if err != nil {
			return nil, fmt.Errorf("models.%s.server_tools.mcp_hosts: %w", name, err)
		}
		o.Egress = hosts.Egress("mcp", policy.EgressOptions{Answer: chat.NoLimit}) // a call has its own timeout
	}
	return mcpconnector.New(model, o), nil
}

// servingTools returns a model for which wield carries out server tools, if any are configured. Searches and pages are
// allowed by being named, unless there are policies; code always needs a policy.
func (w *builder) servingTools(model chat.Model, name string, m *config.Model) (chat.Model, error) {
	t := &m.ServerTools
	if len(t.Names()) == 0 || w.box == nil {
		return model, nil
	}
	allowed := slices.DeleteFunc([]string{t.WebSearch, t.WebFetch}, func(n string) bool {
		return n == "" || n == t.CodeExecution
	})
	runner, err := w.runner(m, w.pickNames("models."+name+".server_tools", t.Names()), allowed)
	if err != nil {
		return nil, err
	}
	tools := map[servertools.Kind]string{
		servertools.WebSearch:     t.WebSearch,
		servertools.WebFetch:      t.WebFetch,
		servertools.CodeExecution: t.CodeExecution,
	}
	return servertools.New(model, servertools.Options{Tools: tools, Runner: runner, Log: w.env.Log}), nil
}

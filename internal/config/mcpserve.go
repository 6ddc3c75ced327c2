package config

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"wield/schema/near"
)

// MCPServe says what wield serve offers by the Model Context Protocol.
type MCPServe struct {
	Enabled   bool     `key:"enabled" doc:"Offer tools at /mcp, and those of each MCP server at /mcp/NAME."`
	Tools     []string `key:"tools" doc:"Tools to offer; * is a wildcard. Empty: enabled tools and all of MCP servers."`
	Agents    []string `key:"agents" doc:"Models to offer as tools ask_NAME."`
	Policy    string   `key:"policy" doc:"Policy that decides on calls. Empty: default."`
	Approvals string   `key:"approvals" enum:"refuse|client|page" doc:"Calls that need an approval: refuse; client: its user is asked, on wield's page too; page: only there."`
	Tasks     MCPTasks `key:"tasks" doc:"Long calls of clients that declare the extension io.modelcontextprotocol/tasks."`
}

// MCPTasks says which calls become tasks, for which clients poll.
type MCPTasks struct {
	After    Duration `key:"after" max:"300s" doc:"A call that takes longer becomes a task; 0s: none does."`
	TTL      Duration `key:"ttl" min:"1s" doc:"How long results are kept."`
	Required []string `key:"required" doc:"Tools that only clients with the extension may call; * is a wildcard."`
}

func (m *MCPTasks) setDefaults() { m.After, m.TTL = Duration(10*time.Second), Duration(time.Hour) }

// check looks at what no key can tell by itself.
func (m *MCPServe) check(d *decoder, at string, c *Config) {
	if _, ok := c.Policies[m.Policy]; !ok && m.Policy != "" {
		d.at(join(at, "policy"), "no policy %q%s", m.Policy, near.Hint(m.Policy, slices.Sorted(maps.Keys(c.Policies))))
	}
	for i, pattern := range m.Tasks.Required {
		if _, err := path.Match(pattern, ""); err != nil {
			d.at(fmt.Sprintf("%s.tasks.required[%d]", at, i), "%q is no pattern", pattern)
		}
	}
	for i, name := range m.Agents {
		if _, ok := c.Models[name]; !ok {
			d.at(fmt.Sprintf("%s.agents[%d]", at, i), "no model %q%s", name, near.Hint(name, c.ModelNames()))
		}
	}
	if _, ok := c.Models["mcp"]; ok && m.Enabled {
		d.at(join(at, "enabled"), "a model is called mcp, the name of calls by MCP in the journal: rename the model")
	}
	for _, key := range []string{"tools", "policy", "agents", "tasks"} {
		if !m.Enabled && d.has(join(at, key)) {
			d.warn(join(at, key), "no effect without mcp.serve.enabled")
		}
	}
}

package config

import (
	"fmt"
	"maps"
	neturl "net/url"
	"path"
	"slices"
	"time"

	"wield/schema/near"
)

// MCPServe says what wield serve offers by the Model Context Protocol.
type MCPServe struct {
	Enabled   bool     `key:"enabled" doc:"Offer tools at /mcp, and those of each MCP server at /mcp/NAME."`
	Tools     []string `key:"tools" names:"tools" doc:"Tools to offer; * is a wildcard. Empty: enabled tools and all of MCP servers."`
	Agents    []string `key:"agents" doc:"Models to offer as tools ask_NAME."`
	Policy    string   `key:"policy" doc:"Policy that decides on calls. Empty: default."`
	Approvals string   `key:"approvals" enum:"refuse|client|page" doc:"Calls that need an approval: refuse; client: its user is asked, on wield's page too; page: only there."`
	Tasks     MCPTasks `key:"tasks" doc:"Long calls of clients that declare the extension io.modelcontextprotocol/tasks."`
	OAuth     MCPOAuth `key:"oauth" doc:"Access tokens in place of keys."`
}

// MCPOAuth says whose access tokens are taken.
type MCPOAuth struct {
	Issuer    URL        `key:"issuer" doc:"Issuer of signed access tokens (JWT)."`
	Resource  URL        `key:"resource" doc:"Public address of /mcp, the tokens' audience."`
	Audiences []string   `key:"audiences" doc:"Further audiences to accept."`
	Scopes    []string   `key:"scopes" doc:"Scopes that a token needs."`
	Name      string     `key:"name" doc:"Claim that names the user."`
	Keys      []MCPGrant `key:"keys" doc:"Whose rights a user has: the first match, or none."`
}

// An MCPGrant gives those whose token has a claim the rights of a key.
type MCPGrant struct {
	Claim string `key:"claim" doc:"Claim, such as realm_access.roles. Empty: every token."`
	Value string `key:"value" doc:"Its value, or one of them."`
	Key   string `key:"key" required:"true" doc:"Name of the key."`
}

func (m *MCPOAuth) setDefaults() { m.Name = "sub" }

// check looks at what no key can tell by itself.
func (m *MCPOAuth) check(d *decoder, at string, c *Config) {
	if m.Issuer == "" {
		for _, key := range []string{"resource", "audiences", "scopes", "name", "keys"} {
			if d.has(join(at, key)) {
				d.warn(join(at, key), "no effect without issuer")
			}
		}
		return
	}
	if m.Resource == "" {
		d.at(at, "resource is missing: the address of /mcp as clients know it")
	}
	if len(m.Keys) == 0 {
		d.at(at, "keys is missing: {key: NAME} gives every user the rights of a key")
	}
	for _, url := range []struct{ key, value string }{{"issuer", string(m.Issuer)}, {"resource", string(m.Resource)}} {
		if u, err := neturl.Parse(url.value); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
			d.at(join(at, url.key), "tokens need https, except on this machine")
		}
	}
	var names []string
	for _, k := range c.Keys {
		names = append(names, k.Name)
	}
	for i, g := range m.Keys {
		here := fmt.Sprintf("%s.keys[%d]", at, i)
		if !slices.Contains(names, g.Key) {
			d.at(here+".key", "no key %q%s", g.Key, near.Hint(g.Key, names))
		}
		if (g.Claim == "") != (g.Value == "") {
			d.at(here, "claim and value go together")
		}
	}
}

// MCPTasks says which calls become tasks, for which clients poll.
type MCPTasks struct {
	After    Duration `key:"after" max:"300s" doc:"A call that takes longer becomes a task; 0s: none does."`
	TTL      Duration `key:"ttl" min:"1s" doc:"How long results are kept."`
	Required []string `key:"required" names:"tools" doc:"Tools that only clients with the extension may call; * is a wildcard."`
}

func (m *MCPTasks) setDefaults() { m.After, m.TTL = Duration(10*time.Second), Duration(time.Hour) }

// check looks at what no key can tell by itself.
func (m *MCPServe) check(d *decoder, at string, c *Config) {
	if _, ok := c.Policies[m.Policy]; !ok && m.Policy != "" {
		d.at(join(at, "policy"), "no policy %q%s", m.Policy, near.Hint(m.Policy, slices.Sorted(maps.Keys(c.Policies))))
	}
	m.OAuth.check(d, join(at, "oauth"), c)
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
	for _, key := range []string{"tools", "policy", "agents", "tasks", "oauth"} {
		if !m.Enabled && d.has(join(at, key)) {
			d.warn(join(at, key), "no effect without mcp.serve.enabled")
		}
	}
}

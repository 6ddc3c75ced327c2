package config

import (
	"maps"
	"slices"

	"wield/schema/near"
)

// HasAgents reports whether wield runs tools for some model.
func (c *Config) HasAgents() bool {
	for _, m := range c.Models {
		if m.Runs() {
			return true
		}
	}
	return false
}

// RunsTools reports whether wield runs tools for a model.
func (c *Config) RunsTools(model string) bool {
	m := c.Models[model]
	return m.Runs()
}

// NeedsTools reports whether some model needs tools of wield's, for an agent or as server tools.
func (c *Config) NeedsTools() bool {
	for _, m := range c.Models {
		if m.NeedsKey() {
			return true
		}
	}
	return false
}

// NeedsKey reports whether requests to the model run tools of wield's, so that nobody may use it without a key.
func (m *Model) NeedsKey() bool {
	return m.Runs() || len(m.ServerTools.Names()) > 0 || m.ServerTools.Connects()
}

// checkAgent looks at what no key of an agent can tell by itself.
func (m *Model) checkAgent(d *decoder, path string, c *Config) {
	if _, ok := c.Policies[m.Agent.Policy]; m.NeedsKey() && !ok &&
		(m.Agent.Policy != "default" || len(c.Policies) > 0) {
		d.at(path+".agent.policy", "no policy %q%s", m.Agent.Policy,
			near.Hint(m.Agent.Policy, slices.Sorted(maps.Keys(c.Policies))))
	}
	if m.ServerTools.CodeExecution != "" && len(c.Policies) == 0 {
		d.warn(path+".server_tools.code_execution",
			"every call is refused, since nobody can be asked: write a policy that allows the tool")
	}
	if m.Runs() {
		if m.Expose == "tool_request" {
			d.at(path+".expose", "a model with tools of wield's (agent.tools) is shown as openai: the protocol "+
				"tool_request has no place for answers of several turns")
		}
		return
	}
	unused := []string{"limits", "activity", "collisions", "approvals"}
	if !m.NeedsKey() {
		unused = append(unused, "policy")
	}
	for _, key := range unused {
		if d.has(path+".agent."+key) && !d.has(path+".agent.tools") && !d.has(path+".mcp") && !d.has(path+".workers") {
			d.warn(path+".agent."+key,
				"no effect without agent.tools, mcp or workers: wield runs no tools for this model")
		}
	}
}

package compose

import (
	"wield/agent"
	"wield/internal/config"
)

// AgentWindow returns how much of a conversation a model is sent. Where it falls back on others, it is what the
// smallest context that is known holds.
func AgentWindow(c *config.Config, model string) agent.Window {
	m := c.Models[model]
	w := window(&m.Agent.Context)
	for _, next := range m.Fallback {
		if n := c.Models[next].Agent.Context.Tokens; n > 0 && (w.Tokens == 0 || n < w.Tokens) {
			w.Tokens = n
		}
	}
	return w
}

func window(c *config.AgentContext) agent.Window {
	return agent.Window{Tokens: c.Tokens, Reserve: c.Reserve, Summarize: c.Strategy == config.ContextSummarize}
}

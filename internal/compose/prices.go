package compose

import (
	"maps"
	"slices"

	"wield/agent"
	"wield/internal/config"
)

// AgentPrices returns what the answers of a model cost. They are not known where the table has no price for it, or for
// one that it falls back on. Where those cost something else, the dearest counts: it is not known beforehand who
// answers.
func AgentPrices(c *config.Config, model string) agent.Prices {
	var all agent.Prices
	for i, name := range append([]string{model}, c.Models[model].Fallback...) {
		p, ok := price(c, name)
		if !ok {
			return agent.Prices{}
		}
		if i == 0 {
			all = p
			continue
		}
		all.Cached, all.Written = dearest(all.Cached, all.In, p.Cached, p.In), dearest(all.Written, all.In,
			p.Written, p.In)
		all.In, all.Out = max(all.In, p.In), max(all.Out, p.Out)
	}
	return all
}

// dearest returns the higher of two prices, of which those that are nil are the others.
func dearest(a *float64, aIn float64, b *float64, bIn float64) *float64 {
	if a == nil {
		a = &aIn
	}
	if b == nil {
		b = &bIn
	}
	v := max(*a, *b)
	return &v
}

// price returns the price of one model: the one under its name here, else the one under its name at the server, else
// the one under the longest pattern that fits one of them.
func price(c *config.Config, name string) (agent.Prices, bool) {
	names := []string{name}
	if at := c.Models[name].Model; at != "" {
		names = append(names, at)
	}
	for _, n := range names {
		if p, ok := c.Prices[n]; ok {
			return prices(&p), true
		}
	}
	found := ""
	for _, pattern := range slices.Sorted(maps.Keys(c.Prices)) {
		for _, n := range names {
			if len(pattern) > len(found) && config.Glob(pattern).Matches(n) {
				found = pattern
			}
		}
	}
	p, ok := c.Prices[found]
	return prices(&p), ok
}

func prices(p *config.Price) agent.Prices {
	return agent.Prices{Known: true, In: float64(p.In), Out: float64(p.Out), Cached: (*float64)(p.Cached),
		Written: (*float64)(p.Written)}
}

package config

import (
	"errors"
	"math"
	"strconv"
	"time"

	"wield/agent"
)

// A Price says what a million tokens of a model cost, in any currency, which is the same for all models.
type Price struct {
	In      Amount  `key:"in" required:"true" doc:"For a million tokens that the model reads."`
	Out     Amount  `key:"out" required:"true" doc:"For a million that it writes."`
	Cached  *Amount `key:"cached" doc:"For a million that it reads from the server's cache of prompts. Not there: as in."`
	Written *Amount `key:"written" doc:"For a million that it writes to that cache. Not there: as in."`
}

// Amount is an amount of money.
type Amount float64

var errAmount = errors.New("not an amount: write a number that is not negative, such as 2.5")

func (a *Amount) parse(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return errAmount
	}
	*a = Amount(v)
	return nil
}

func (a *Amount) pattern() string { return `^\+?[0-9]+(\.[0-9]*)?$` }

// String returns the amount without more digits than it has.
func (a Amount) String() string { return strconv.FormatFloat(float64(a), 'f', -1, 64) }

// checkPrices reports names that fit no model by mistake.
func (c *Config) checkPrices(d *decoder) {
	for _, name := range sortedKeys(c.Prices) {
		if err := new(Glob).parse(name); err != nil {
			d.at("prices."+name, "%v", err)
		}
	}
}

// AgentPrices returns what the answers of a model cost. They are not known where the table has no price for it, or for one that
// it falls back on. Where those cost something else, the dearest counts: it is not known beforehand who answers.
func (c *Config) AgentPrices(model string) agent.Prices {
	var all agent.Prices
	for i, name := range append([]string{model}, c.Models[model].Fallback...) {
		p, ok := c.price(name)
		if !ok {
			return agent.Prices{}
		}
		if i == 0 {
			all = p
			continue
		}
		all.Cached, all.Written = dearest(all.Cached, all.In, p.Cached, p.In), dearest(all.Written, all.In, p.Written, p.In)
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

// price returns the price of one model: the one under its name here, else the one under its name at the server, else the one
// under the longest pattern that fits one of them.
func (c *Config) price(name string) (agent.Prices, bool) {
	names := []string{name}
	if at := c.Models[name].Model; at != "" {
		names = append(names, at)
	}
	for _, n := range names {
		if p, ok := c.Prices[n]; ok {
			return p.prices(), true
		}
	}
	found := ""
	for _, pattern := range sortedKeys(c.Prices) {
		for _, n := range names {
			if len(pattern) > len(found) && Glob(pattern).Matches(n) {
				found = pattern
			}
		}
	}
	p, ok := c.Prices[found]
	return p.prices(), ok
}

func (p *Price) prices() agent.Prices {
	return agent.Prices{Known: true, In: float64(p.In), Out: float64(p.Out), Cached: (*float64)(p.Cached), Written: (*float64)(p.Written)}
}

// Limits returns the limits of a run of an agent. A bound that does not stand in the file is none.
func (l *AgentLimits) Limits() agent.Limits {
	return agent.Limits{Iterations: l.Iterations, Calls: l.Calls, PerTool: l.PerTool, Time: time.Duration(l.Time), Tokens: l.Tokens, Cost: float64(l.Cost)}
}

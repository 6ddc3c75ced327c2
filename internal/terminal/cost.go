package terminal

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
)

// A bill sums what the answers of a conversation used, of each model by itself: models differ in their prices.
type bill struct {
	usage chat.Usage
	items []billItem // in the order in which the models were first asked
}

type billItem struct {
	model  string
	usage  chat.Usage
	cost   float64
	priced bool // all of it was
}

// add counts what a model used, and what that cost by the prices of then.
func (b *bill) add(model string, u chat.Usage, cost float64, priced bool) {
	if !u.Known {
		return
	}
	b.usage.Add(u)
	i := slices.IndexFunc(b.items, func(it billItem) bool { return it.model == model })
	if i < 0 {
		i = len(b.items)
		b.items = append(b.items, billItem{model: model, priced: true})
	}
	it := &b.items[i]
	it.usage.Add(u)
	it.cost += cost
	it.priced = it.priced && priced
}

// paid returns what is known to have been paid, and the models whose answers were not all priced.
func (b *bill) paid() (sum float64, unknown []string) {
	for i := range b.items {
		sum += b.items[i].cost
		if !b.items[i].priced {
			unknown = append(unknown, b.items[i].model)
		}
	}
	return sum, unknown
}

func (c *conversation) cmdCost(context.Context, string) {
	b := &c.bill
	if !b.usage.Known {
		c.say(styleDim, "The server reports no token counts. The conversation has about %s tokens.",
			strings.TrimSuffix(strings.TrimPrefix(c.meter(), "context ~"), " tokens"))
		return
	}
	c.say(styleText, "%d tokens read (%d of them from a cache), %d written, in %s", b.usage.In, b.usage.Cached,
		b.usage.Out, several(b.usage.Requests, "request"))
	if n := b.usage.Uncounted; n > 0 {
		c.say(styleDim, "  %s stopped before the server counted: not in these numbers.", several(n, "request"))
	}
	if len(b.items) > 1 {
		for i := range b.items {
			it := &b.items[i]
			c.say(styleText, "  %s: %d read, %d written%s", it.model, it.usage.In, it.usage.Out, it.price())
		}
	}
	switch sum, unknown := b.paid(); {
	case len(unknown) == 0:
		c.say(styleText, "%s, by the prices of the configuration", money(sum))
	case len(unknown) == len(b.items) && len(unknown) == 1:
		c.say(styleDim, "Prices of this model are not known.")
	case len(unknown) == len(b.items):
		c.say(styleDim, "Prices of these models are not known.")
	default:
		c.say(styleText, "%s, by the prices of the configuration; those of %s are not known", money(sum),
			strings.Join(unknown, ", "))
	}
}

// money writes a sum of whatever currency.
func money(sum float64) string { return strconv.FormatFloat(sum, 'f', 4, 64) }

// price says what an item cost.
func (it *billItem) price() string {
	if !it.priced {
		return ""
	}
	return ", " + money(it.cost)
}

package config

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
)

// A Price says what a million tokens of a model cost, in any currency, which is the same for all models.
type Price struct {
	In      Amount  `key:"in" required:"true" doc:"Per million input tokens."`
	Out     Amount  `key:"out" required:"true" doc:"Per million output tokens."`
	Cached  *Amount `key:"cached" doc:"Per million cached input tokens. Empty: as in."`
	Written *Amount `key:"written" doc:"Per million tokens written to the cache. Empty: as in."`
}

// Amount is an amount of money.
type Amount float64

var errAmount = errors.New("not an amount: write a number that is not negative, such as 2.5")

func (a *Amount) Parse(text string) error {
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
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		if err := new(Glob).Parse(name); err != nil {
			d.at("prices."+name, "%v", err)
		}
	}
}

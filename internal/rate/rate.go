// Package rate counts how often something was so, and says how well that is known.
package rate

import (
	"encoding/json"
	"fmt"
	"math"
)

// A Rate counts how often something was so.
type Rate struct {
	N, Of int
}

// Interval returns the bounds, from 0 to 1, between which the true rate lies with a confidence of 95 % (Wilson's
// score interval, which holds for few trials and for rates near 0 and 1 as well).
func (r Rate) Interval() (low, high float64) {
	if r.Of == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(r.Of), float64(r.N)/float64(r.Of)
	middle := p + z*z/(2*n)
	margin := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return math.Max(0, (middle-margin)/(1+z*z/n)), math.Min(1, (middle+margin)/(1+z*z/n))
}

// MarshalJSON writes the interval beside the counts.
func (r Rate) MarshalJSON() ([]byte, error) {
	low, high := r.Interval()
	return json.Marshal(struct {
		N    int     `json:"n"`
		Of   int     `json:"of"`
		Low  float64 `json:"low"`
		High float64 `json:"high"`
	}{r.N, r.Of, low, high})
}

// String returns the rate in percent, with its interval.
func (r Rate) String() string {
	if r.Of == 0 {
		return "-"
	}
	low, high := r.Interval()
	return fmt.Sprintf("%.0f (%.0f-%.0f)", 100*float64(r.N)/float64(r.Of), 100*low, 100*high)
}

// Add counts one more.
func (r *Rate) Add(yes bool) {
	r.Of++
	if yes {
		r.N++
	}
}

// Apart reports whether two ways that were asked the same questions differ, if only one was right in won of them, and
// only the other in lost (a one-sided sign test at 5 %).
func Apart(won, lost int) bool {
	n, k := won+lost, min(won, lost)
	tail, term := 0.0, math.Pow(0.5, float64(n))
	for i := 0; i <= k; i++ {
		tail += term
		term *= float64(n-i) / float64(i+1)
	}
	return tail < 0.05
}

package compose

import (
	"strings"
	"testing"

	"wield/agent"
	"wield/chat"
)

const pricedFile = `wield: config/v1
backends: {local: {kind: openai, url: "http://127.0.0.1:1/v1"}}
models:
  own: {backend: local, model: vendor/small}
  small: {backend: local, model: vendor/small}
  tiny: {backend: local, model: vendor/tiny}
  free: {backend: local}
  odd: {backend: local}
  chain: {backend: local, model: vendor/small, fallback: [own]}
  broken: {backend: local, model: vendor/small, fallback: [odd]}
prices:
  own: {in: 3, out: 0.5, cached: 1}
  "vendor/*": {in: 1, out: "2.5"}
  "vendor/t*": {in: 0.5, out: 1, written: 2}
  free: {in: 0, out: 0}
`

// What is not known of a price is never taken for 0.
func TestPrices(t *testing.T) {
	c, err := parse(t, pricedFile)
	if err != nil {
		t.Fatal(err)
	}
	use := chat.Usage{Known: true, In: 1_000_000, Cached: 400_000, Written: 100_000, Out: 1_000_000}
	for _, tt := range []struct {
		model string
		want  float64
		known bool
	}{
		{"own", 0.6*3 + 0.4*1 + 0.5, true},
		{"small", 1 + 2.5, true},
		{"tiny", 0.9*0.5 + 0.1*2 + 1, true},
		{"free", 0, true},
		{"odd", 0, false},
		{"chain", 3*0.6 + 0.4*1 + 2.5, true},
		{"broken", 0, false},
	} {
		got, known := AgentPrices(c.Config, tt.model).Cost(use)
		if known != tt.known || got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%s costs %v (known: %t), want %v (%t)", tt.model, got, known, tt.want, tt.known)
		}
	}
	if _, known := (agent.Prices{Known: true, In: 1}).Cost(chat.Usage{}); known {
		t.Error("what was not counted has a known cost")
	}
}

func TestBadPrices(t *testing.T) {
	for _, tt := range []struct{ prices, want string }{
		{`{m: {in: 1}}`, "out"},
		{`{m: {in: -1, out: 2}}`, "not an amount"},
		{`{m: {in: nan, out: 2}}`, "not an amount"},
		{`{"a[b": {in: 1, out: 2}}`, "not a pattern"},
	} {
		_, err := parse(t, "wield: config/v1\nprices: "+tt.prices+"\n")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: the error is %v", tt.prices, err)
		}
	}
}

package rate

import (
	"encoding/json"
	"testing"
)

func TestRate(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		want string
	}{
		{Rate{}, "-"},
		{Rate{0, 29}, "0 (0-12)"},
		{Rate{1, 14}, "7 (1-31)"},
		{Rate{10, 11}, "91 (62-98)"},
		{Rate{13, 13}, "100 (77-100)"},
	} {
		if got := c.rate.String(); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.rate.N, c.rate.Of, got, c.want)
		}
	}
	var r Rate
	r.Add(true)
	r.Add(false)
	if r != (Rate{1, 2}) {
		t.Errorf("one of two is counted as %+v", r)
	}
	raw, err := json.Marshal(Rate{})
	if want := `{"n":0,"of":0,"low":0,"high":1}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v, want %s", raw, err, want)
	}
}

// TestApart compares with the binomial distribution.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		won, lost int
		want      bool
	}{
		{0, 0, false}, {0, 4, false}, {0, 5, true}, {5, 0, true}, {1, 6, false}, {1, 7, true}, {2, 8, false},
		{2, 9, true}, {40, 60, true}, {42, 58, false},
	} {
		if got := Apart(c.won, c.lost); got != c.want {
			t.Errorf("%d to %d: %v", c.won, c.lost, got)
		}
	}
}

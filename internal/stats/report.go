package stats

import (
	"time"
)

// A Report is a row as it is shown and sent.
type Report struct {
	Time *time.Time `json:"time,omitempty" jsonschema:"where the step begins"`
	Dims
	Counts map[string]int64       `json:"counts" jsonschema:"how often; what is 0 is left out"`
	Rates  map[string]float64     `json:"rates" jsonschema:"parts from 0 to 1; those of nothing are left out"`
	Times  map[string]Percentiles `json:"times" jsonschema:"how long"`
}

// Percentiles say how long something took, in seconds, within 1 %.
type Percentiles struct {
	N    int64   `json:"n"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
}

// A rate is a part of something.
type rate struct {
	name, doc string
	of, all   func(*Row) int64
}

func sum(of ...Counter) func(*Row) int64 { return func(r *Row) int64 { return r.Sum(of...) } }

var results = sum(append(Errors(), Done)...)

// rates are all rates, in the order in which they are told.
var rates = []rate{
	{"first_try", "attempts that were valid calls at first try, without repair", sum(FirstTry), (*Row).Attempts},
	{"repaired", "calls that were repaired", sum(Repaired), sum(Calls)},
	{"malformed", "attempts with broken or incomplete syntax", sum(Malformed, Incomplete), (*Row).Attempts},
	{"rejected", "rejected attempts", sum(Rejections()...), (*Row).Attempts},
	{"duplicate", "calls identical to an earlier one of their conversation", sum(Duplicate), sum(Calls)},
	{"success", "successful results", sum(Done), results},
	{"cached", "results taken from an earlier identical call", sum(Cached), results},
	{"bounced", "answers that were retried", sum(Bounced), sum(Answers)},
	{"bounce_success", "retried answers that then held only valid calls", sum(Recovered), sum(Bounced)},
	{"failed", "answers that failed", sum(Failed), sum(Answers)},
	{"limited", "runs that reached a limit", sum(Limited), sum(Runs)},
	{"approved", "approval questions that were approved", sum(Approved, Edited),
		sum(Approved, Edited, Refused, Unanswered, Withdrawn)},
}

// A Meaning says what a number is.
type Meaning struct{ Name, Doc string }

// RateNames returns the rates, in the order in which they are told.
func RateNames() []Meaning {
	list := make([]Meaning, len(rates))
	for i := range rates {
		list[i] = Meaning{rates[i].name, rates[i].doc}
	}
	return list
}

// Rate returns a rate by its name. It reports false where there is nothing that it would be a part of.
func (r *Row) Rate(name string) (float64, bool) {
	for i := range rates {
		if rates[i].name != name {
			continue
		}
		if all := rates[i].all(r); all > 0 {
			return float64(rates[i].of(r)) / float64(all), true
		}
	}
	return 0, false
}

// Report returns the row as it is shown.
func (r *Row) Report() Report {
	out := Report{Dims: r.Dims, Counts: map[string]int64{}, Rates: map[string]float64{},
		Times: map[string]Percentiles{}}
	if !r.Time.IsZero() {
		out.Time = &r.Time
	}
	for c, n := range r.counts {
		if n != 0 {
			out.Counts[names[c]] = n
		}
	}
	for i := range rates {
		if v, ok := r.Rate(rates[i].name); ok {
			out.Rates[rates[i].name] = v
		}
	}
	for t, h := range r.times {
		if h.N() > 0 {
			out.Times[timerNames[t]] = Percentiles{N: h.N(), P50: h.Quantile(0.5).Seconds(), P95: h.Quantile(0.95).
				Seconds(), P99: h.Quantile(0.99).Seconds(),
				Mean: h.Sum().Seconds() / float64(h.N())}
		}
	}
	return out
}

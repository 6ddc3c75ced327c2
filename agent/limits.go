package agent

import (
	"fmt"
	"time"

	"wield/chat"
)

// Limits end a run that would not end by itself. When one is reached, the model is asked for a last answer. Zero
// stands for the default that is named; [chat.NoLimit] turns a limit off.
type Limits struct {
	Iterations int // answers of the model, the last one included; 0: 10
	Calls      int // calls in all, those that did not run included; 0: 20
	PerTool    int // calls of one tool; 0: 10. What goes beyond is refused and the run goes on

	Time   time.Duration // that the run takes, without the time in which it waits for a person; 0: no limit
	Tokens int           // read and written, as far as servers count them; 0: no limit
	Cost   float64       // by the prices of the run; 0: no limit

	Repeats Repeats
}

// Repeats says what becomes of the same call, with the same arguments, that has the same result as before. The
// numbers count such calls, the first one included. A result that differs begins a new count.
type Repeats struct {
	Note  int // from this one on the model is told with the result; 0: 3
	Block int // from this one on it does not run; 0: 4
	Stop  int // with this one the run ends; 0: 6
}

// Defaults of Limits.
const (
	defaultIterations = 10
	defaultCalls      = 20
	defaultPerTool    = 10
	defaultNote       = 3
	defaultBlock      = 4
	defaultStop       = 6
)

// filled returns l with the defaults.
func (l Limits) filled() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.Iterations, defaultIterations}, {&l.Calls, defaultCalls}, {&l.PerTool, defaultPerTool},
		{&l.Repeats.Note, defaultNote}, {&l.Repeats.Block, defaultBlock}, {&l.Repeats.Stop, defaultStop},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// A LimitKind names one of the limits.
type LimitKind string

// The limits.
const (
	LimitIterations LimitKind = "iterations"
	LimitCalls      LimitKind = "calls"
	LimitPerTool    LimitKind = "per_tool"
	LimitTime       LimitKind = "time"
	LimitTokens     LimitKind = "tokens"
	LimitCost       LimitKind = "cost"
	LimitRepeats    LimitKind = "repeats"
)

// textOverLimit is the result of a call that a limit on calls refused.
const textOverLimit = "Tool limit reached. Summarize with what you have"

// limitNotice begins what a model is told when it is asked for the last answer.
const limitNotice = "Limit reached: "

// last returns what a model is told when it is asked for the last answer because of a limit.
func (l Limits) last(which LimitKind) string {
	const then = ". Call no more tools. Answer now with what you have."
	switch which {
	case LimitCalls:
		return textOverLimit
	case LimitIterations:
		return limitNotice + fmt.Sprintf("this is answer %d of %d", l.Iterations, l.Iterations) + then
	case LimitTime:
		return limitNotice + fmt.Sprintf("the time of %s is over", l.Time) + then
	case LimitTokens:
		return limitNotice + fmt.Sprintf("the %d tokens are used up", l.Tokens) + then
	case LimitCost:
		return limitNotice + "the money is used up" + then
	case LimitRepeats:
		return limitNotice + fmt.Sprintf("the same call was made %d times and had the same result", l.Repeats.Stop) +
			then
	}
	return limitNotice + string(which) + then
}

// Prices say what tokens cost, for a million of them, in any currency.
type Prices struct {
	In              float64
	Out             float64
	Cached, Written *float64 // read from and written to the server's cache of prompts; nil: as In
	Known           bool     // false: nothing is known of prices, and a limit on cost has no effect
}

// Cost returns what was paid, and whether that is known.
func (p Prices) Cost(u chat.Usage) (float64, bool) {
	if !p.Known || !u.Known {
		return 0, false
	}
	const million = 1e6
	sum := float64(u.In-u.Cached-u.Written)*p.In + float64(u.Out)*p.Out
	for _, part := range []struct {
		tokens int
		price  *float64
	}{{u.Cached, p.Cached}, {u.Written, p.Written}} {
		price := p.In
		if part.price != nil {
			price = *part.price
		}
		sum += float64(part.tokens) * price
	}
	return sum / million, true
}

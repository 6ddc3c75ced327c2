package stats

import "wield/tool"

// A Counter is one thing that is counted.
type Counter uint8

// The counters of answers, which have no tool.
const (
	Answers         Counter = iota // answers that were begun
	Failed                         // of Answers: ended in an error
	Canceled                       // of Answers: the client went away
	Bounced                        // of Answers: asked for again at least once
	Recovered                      // of Bounced: ended with what was asked for, and without a failed attempt
	Bounces                        // corrective requests
	Requests                       // requests to servers
	TokensIn                       // tokens of prompts
	TokensOut                      // tokens of answers
	TokensCached                   // of TokensIn: read from a cache of prompts
	TokensReasoning                // of TokensOut
	Cost                           // millionths of the currency that prices are in
	Runs                           // runs of agents that ended
	Limited                        // of Runs: at a limit
	Looped                         // of Runs: at the limit of identical calls

	// The counters of calls.

	Calls       // whole calls
	FirstTry    // of Calls: right at the first try
	Repaired    // of Calls: something was repaired
	Repairs     // repairs in all
	Malformed   // attempts whose syntax is broken
	UnknownTool // attempts with a tool that there is not
	Invalid     // attempts whose arguments do not fit
	Incomplete  // attempts that the answer ended in
	Confused    // attempts through the wrong channel
	OverLimit   // attempts beyond what one answer may hold
	Overrun     // attempts behind the end of the model's turn
	OtherReason // attempts that failed for another reason
	Native      // calls of tools that a server runs itself
	Offered     // answers whose model was told of the tool
	OfferedSize // bytes of the tool's definition, every time that it was told

	// The counters of what came of calls.

	Done      // good results
	Cached    // of Done: taken from an earlier identical call
	Duplicate // calls identical to an earlier one of their run
	NotFound
	InvalidArgs
	Denied
	Expired
	Timeout
	ToolError
	Broken
	Interrupted
	Unavailable
	LimitError
	CanceledCall

	// The counters of questions to people.

	Asked
	Approved
	Edited
	Refused
	Unanswered
	Withdrawn

	numCounters
)

// names are what the counters are called in files, in the interface over HTTP and on the screen. They do not change.
var names = [numCounters]string{
	Answers: "answers", Failed: "failed", Canceled: "canceled", Bounced: "bounced", Recovered: "recovered",
	Bounces: "bounces", Requests: "requests", TokensIn: "tokens_in", TokensOut: "tokens_out",
	TokensCached: "tokens_cached", TokensReasoning: "tokens_reasoning", Cost: "cost_micros", Runs: "runs",
	Limited: "limited", Looped: "looped", Calls: "calls", FirstTry: "first_try", Repaired: "repaired",
	Repairs: "repairs", Malformed: "malformed", UnknownTool: "unknown_tool", Invalid: "invalid",
	Incomplete: "incomplete", Confused: "confused", OverLimit: "over_limit", Overrun: "overrun",
	OtherReason: "other_reason", Native: "native", Offered: "offered", OfferedSize: "offered_bytes",
	Done: "done", Cached: "cached", Duplicate: "duplicate", NotFound: "not_found", InvalidArgs: "invalid_args",
	Denied: "denied", Expired: "expired", Timeout: "timeout", ToolError: "tool_error", Broken: "broken",
	Interrupted: "interrupted", Unavailable: "unavailable", LimitError: "over_tool_limit",
	CanceledCall: "canceled_call", Asked: "asked", Approved: "approved", Edited: "edited", Refused: "refused",
	Unanswered: "unanswered", Withdrawn: "withdrawn",
}

// String returns the counter's name.
func (c Counter) String() string { return names[c] }

// numbers are the counters by name.
var numbers = func() map[string]Counter {
	m := make(map[string]Counter, numCounters)
	for c, name := range names {
		m[name] = Counter(c)
	}
	m["mended"] = Recovered // the name in older files
	return m
}()

// errorCounters say what a result of a class counts as.
var errorCounters = map[tool.ErrorKind]Counter{
	tool.ErrNotFound: NotFound, tool.ErrDisabled: NotFound, tool.ErrInvalid: InvalidArgs, tool.ErrSecurity: Denied,
	tool.ErrApproval: Denied, tool.ErrExpired: Expired, tool.ErrTimeout: Timeout, tool.ErrCanceled: CanceledCall,
	tool.ErrLimit: LimitError, tool.ErrTool: ToolError, tool.ErrUnexpected: Broken, tool.ErrInterrupted: Interrupted,
	tool.ErrNotAvailable: Unavailable,
}

// Errors are the counters of results that are not good.
func Errors() []Counter {
	return []Counter{NotFound, InvalidArgs, Denied, Expired, Timeout, ToolError, Broken, Interrupted, Unavailable,
		LimitError, CanceledCall}
}

// Rejections are the counters of failed attempts.
func Rejections() []Counter {
	return []Counter{Malformed, UnknownTool, Invalid, Incomplete, Confused, OverLimit, Overrun, OtherReason}
}

// A Timer is one thing whose times are kept.
type Timer uint8

// The timers.
const (
	AnswerTime Timer = iota // of answers that did not fail, from request to end
	FirstTime               // from request to the first event that a client can show
	RunTime                 // of calls, without the time that people took
	WaitTime                // from a question to its answer

	numTimers
)

var timerNames = [numTimers]string{AnswerTime: "answer", FirstTime: "first", RunTime: "run", WaitTime: "wait"}

// String returns the timer's name.
func (t Timer) String() string { return timerNames[t] }

var timerNumbers = func() map[string]Timer {
	m := make(map[string]Timer, numTimers)
	for t, name := range timerNames {
		m[name] = Timer(t)
	}
	return m
}()

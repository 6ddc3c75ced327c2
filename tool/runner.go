package tool

import (
	"context"
	"iter"
	"time"

	"wield/chat"
	"wield/dialect"
)

// A Runner takes calls to results. Fill its fields before the first call. The zero value finds no tools. Several goroutines
// may use it at once.
type Runner struct {
	Tools     Source
	Approvals Approvals // nil: nobody can be asked, so that whatever needs an approval is denied
	Records   Records   // nil: nothing is recorded
	Shared    *Shared   // what several runners have in common; nil: its own

	Middleware []Middleware // around every handler; the first is outermost
	Limits     Limits       // for tools that have none of their own
	Repair     dialect.Repair
	Redact     []string // texts, such as secrets, that stand in no result
	Parallel   int      // how many calls RunAll runs at a time; 0: 8

	Root string   // the workspace, an absolute path; empty: there is none
	Dir  string   // working directory in it; empty: Root
	Temp string   // private temporary directory; empty: there is none
	Env  []string // variables for processes beyond those of the program, as NAME=VALUE

	ApprovalTTL time.Duration // how long a question stands; 0: 24 h
}

// Plan looks at a call without running anything: is there such a tool, is it enabled, do its arguments fit, do the rules allow
// it, is its result known. What is wrong with the call is in the plan; the error is about the runner, such as a store of
// approvals that cannot be reached.
func (r *Runner) Plan(ctx context.Context, call chat.Call) (Plan, error) { panic("not landed yet") }

// Run carries out a plan. The stream ends with the one KindResult event of the call, or with an error: ErrPending for a plan
// whose approval is not decided yet, or that of a store that failed.
func (r *Runner) Run(ctx context.Context, p Plan) iter.Seq2[chat.Event, error] {
	panic("not landed yet")
}

// RunAll plans and runs the calls of one turn, several at a time. Events of different calls are mixed; results come in the order
// of the calls. A call that needs an approval ends with its KindApproval event in place of a result.
func (r *Runner) RunAll(ctx context.Context, calls []chat.Call) iter.Seq2[chat.Event, error] {
	panic("not landed yet")
}

// Shared is what runners have in common: results that are kept, calls under way, places to run in. The zero value is ready.
type Shared struct {
}

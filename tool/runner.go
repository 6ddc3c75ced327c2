package tool

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/dialect"
	"wield/tool/policy"
)

// A Decider decides whether a call may run. A *policy.Policy is one.
type Decider interface {
	Decide(c policy.Action) policy.Verdict
}

// A Suggester is a Decider that can tell which rule would have allowed a call that it asks about. It returns
// "" when there is none that would have allowed this very call.
type Suggester interface {
	Always(c policy.Action) string
}

// A Hider is a Decider that can tell that every call of a tool is denied, whatever its arguments. Such a tool
// is not offered.
type Hider interface {
	Hides(tool string) bool
}

// A Runner takes calls to results. Fill its fields before the first call. The zero value finds no tools.
// Several goroutines may use it at once.
type Runner struct {
	Tools     Source
	Policy    Decider   // nil: what no tool and no guard asks about is allowed
	Approvals Approvals // nil: nobody can be asked, so that whatever needs an approval is denied
	Records   Records   // nil: nothing is recorded
	Shared    *Shared   // what several runners have in common; nil: its own

	Middleware []Middleware   // around every handler; the first is outermost
	Limits     CallLimits     // for tools that have none of their own
	Repair     dialect.Repair // how much of broken arguments may be repaired; at most safe, whatever stands here
	Redact     []string       // texts, such as secrets, that stand in no result
	Parallel   int            // how many calls RunAll runs at a time; 0: 8
	Style      Style          // of results where there is no tool that has one

	Root string   // the workspace, an absolute path; empty: there is none
	Dir  string   // working directory in it; empty: Root
	Temp string   // private temporary directory; empty: there is none
	Env  []string // variables for processes beyond those of the program, as NAME=VALUE

	Sandbox Box // for processes

	ApprovalTTL time.Duration // how long a question stands; 0: 24 h

	Scope Scope // on whose behalf calls run

	Log *slog.Logger // gets a line for every call that has ended, without its arguments and results; nil: none

	once sync.Once
	own  *Shared
}

// With returns a runner that is as r, and shares what it keeps, but for where it records: one for each run.
func (r *Runner) With(records Records) *Runner {
	return &Runner{Tools: r.Tools, Policy: r.Policy, Approvals: r.Approvals, Records: records, Shared: r.shared(),
		Middleware: r.Middleware, Limits: r.Limits, Repair: r.Repair, Redact: r.Redact, Parallel: r.Parallel, Style: r.Style,
		Root: r.Root, Dir: r.Dir, Temp: r.Temp, Env: r.Env, Sandbox: r.Sandbox, ApprovalTTL: r.ApprovalTTL, Scope: r.Scope, Log: r.Log}
}

func (r *Runner) dir() string {
	if r.Dir != "" {
		return r.Dir
	}
	return r.Root
}

// shared returns what the runner has in common with others, or its own.
func (r *Runner) shared() *Shared {
	if r.Shared != nil {
		return r.Shared
	}
	r.once.Do(func() { r.own = new(Shared) })
	return r.own
}

// limits returns those that apply to calls of a tool.
func (r *Runner) limits(e *Entry) CallLimits {
	l := e.Tool.Limits.or(r.Limits).or(defaultLimits)
	if e.Guard != nil && e.Guard.Timeout > 0 {
		l.Timeout = e.Guard.Timeout
	}
	return l
}

// Offered returns the definitions to show to a model that answers the given text of a user: those of the
// tools that are enabled, or whose rule matches, and that the policy does not deny altogether.
func (r *Runner) Offered(text string) []chat.Tool {
	var list []chat.Tool
	if r.Tools != nil {
		list = r.Tools.Offered(text)
	}
	if h, ok := r.Policy.(Hider); ok {
		list = slices.DeleteFunc(list, func(t chat.Tool) bool { return h.Hides(t.Name) })
	}
	return list
}

// Call plans and runs one call, and returns its result. It is for programs that call tools themselves: a call
// that needs an approval fails with ErrPending.
func (r *Runner) Call(ctx context.Context, name, arguments string) (Result, error) {
	p, err := r.Plan(ctx, chat.Call{Name: name, Arguments: arguments, Complete: true})
	if err != nil {
		return Result{}, err
	}
	x := r.execution(p, func(chat.Event) bool { return true })
	return x.run(ctx)
}

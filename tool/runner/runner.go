package runner

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"wield/chat"
	"wield/dialect"
	"wield/tool"
	"wield/tool/policy"
)

// A Decider decides whether calls may run. A *policy.Policy is one.
type Decider interface {
	Decide(a policy.Action) policy.Verdict

	// Always returns the rule that would have allowed an action that Decide asks about; "" if none would.
	Always(a policy.Action) string

	// Hides reports whether every call of a tool is denied, whatever its arguments. Such a tool is not offered.
	Hides(tool string) bool

	// Egress lets calls of a tool out to the network, as far as the policy allows.
	Egress(tool string, o policy.EgressOptions) *policy.Egress
}

// Settings say how a [Runner] works. The zero value finds no tools.
type Settings struct {
	Tools     Source
	Policy    Decider   // nil: what no tool and no guard asks about is allowed
	Approvals Approvals // nil: nobody can be asked, so that whatever needs an approval is denied
	Records   Records   // nil: nothing is recorded
	Shared    *Shared   // what several runners have in common; nil: its own

	Middleware []tool.Middleware // around every handler; the first is outermost
	Limits     tool.CallLimits   // for tools that have none of their own
	Repair     dialect.Repair    // how much of broken arguments may be repaired; at most safe, whatever stands here
	Redact     []string          // texts, such as secrets, that stand in no result
	Parallel   int               // how many calls RunAll runs at a time; 0: 8
	Style      tool.Style        // of results where there is no tool that has one

	Root string   // the workspace, an absolute path; empty: there is none
	Dir  string   // working directory in it; empty: Root
	Temp string   // private temporary directory; empty: there is none
	Env  []string // variables for processes beyond those of the program, as NAME=VALUE

	Sandbox Box // for processes

	ApprovalTTL time.Duration // how long a question stands; 0: 24 h

	Scope tool.Scope // on whose behalf calls run

	Log *slog.Logger // gets a line for every call that has ended, without its arguments and results; nil: none
}

// A Runner takes calls to results. It does not change. Several goroutines may use it at once.
type Runner struct{ s Settings }

// New returns a runner that works by s.
func New(s Settings) *Runner {
	if s.Shared == nil {
		s.Shared = new(Shared)
	}
	if s.Tools == nil {
		s.Tools = new(Registry)
	}
	s.Sandbox.seen = &s.Shared.seen
	return &Runner{s}
}

func (r *Runner) dir() string {
	if r.s.Dir != "" {
		return r.s.Dir
	}
	return r.s.Root
}

// Settings returns what the runner works by.
func (r *Runner) Settings() Settings { return r.s }

// With returns a runner that works by the settings of r as change leaves them. What Shared keeps, both keep
// together.
func (r *Runner) With(change func(*Settings)) *Runner {
	s := r.s
	change(&s)
	return New(s)
}

// defaultLimits are the limits where nothing else is said.
var defaultLimits = tool.CallLimits{Timeout: 60 * time.Second, Grace: 2 * time.Second, Output: 64 << 10,
	Spill: 10 << 20}

// orLimits returns l with the values of m where l has none.
func orLimits(l, m tool.CallLimits) tool.CallLimits {
	if l.Timeout == 0 {
		l.Timeout = m.Timeout
	}
	if l.Grace == 0 {
		l.Grace = m.Grace
	}
	if l.Output == 0 {
		l.Output = m.Output
	}
	if l.Spill == 0 {
		l.Spill = m.Spill
	}
	return l
}

// limits returns those that apply to calls of a tool.
func (r *Runner) limits(e *Entry) tool.CallLimits {
	l := orLimits(orLimits(e.Tool.Limits, r.s.Limits), defaultLimits)
	if e.Guard != nil && e.Guard.Timeout > 0 {
		l.Timeout = e.Guard.Timeout
	}
	return l
}

// Offered returns the definitions to show to a model that answers the given text of a user: those of the
// tools that are enabled, or whose rule matches, and that the policy does not deny altogether.
func (r *Runner) Offered(text string) []chat.Tool {
	list := r.s.Tools.Offered(text)
	if r.s.Policy != nil {
		list = slices.DeleteFunc(list, func(t chat.Tool) bool { return r.s.Policy.Hides(t.Name) })
	}
	return list
}

// Call plans and runs one call, and returns its result. It is for programs that call tools themselves: a call
// that needs an approval fails with ErrPending.
func (r *Runner) Call(ctx context.Context, name, arguments string) (tool.Result, error) {
	p, err := r.Plan(ctx, chat.Call{Name: name, Arguments: arguments, Complete: true})
	if err != nil {
		return tool.Result{}, err
	}
	x := r.execution(p, func(chat.Event) bool { return true })
	return x.run(ctx)
}

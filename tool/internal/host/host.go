// Package host holds what a runner lends a call.
package host

import (
	"context"

	"wield/tool/guarded"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

// A Host holds what one call is lent. The zero value is that of a call that no runner made: it starts no process.
type Host struct {
	Tell    func(stream, text string, done, total float64) // shows what a running tool tells; nil: nobody looks
	Policy  Policy                                         // nil: everything is allowed
	Records Records                                        // nil: nothing is recorded
	Watcher Watcher                                        // nil: no runner made the call

	Level              sandbox.Level
	Limits             sandbox.ProcessLimits
	Readable, Writable []string
	Cache              string         // directory of what processes keep for the next run; empty: none
	Guarded            *guarded.Store // nil: changes are not held back
}

// A Policy decides what a tool finds for itself may be used.
type Policy interface {
	Decide(a policy.Action) policy.Verdict
	Egress(tool string, o policy.EgressOptions) *policy.Egress
}

// Records keep the name under which a call continues elsewhere.
type Records interface {
	Detach(ctx context.Context, call, name string) error
}

// A Watcher makes watches over processes that may change some directories.
type Watcher interface {
	Watch(root string, writable ...string) Watch
}

// A Watch looks at what a process must not change.
type Watch interface {
	Begin(cmd *sandbox.Command)
	End(by string) string // what a person is told
}

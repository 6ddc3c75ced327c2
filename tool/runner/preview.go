package runner

import (
	"context"

	"wield/chat"
	"wield/tool"
	"wield/tool/edit"
)

// Preview tells what a call would change in files if it ran now, for whoever is asked about it. It changes nothing,
// and says nothing about whether the call is allowed. There is none for a tool that changes no files, or of which
// nobody knows what it changes.
func (r *Runner) Preview(ctx context.Context, call chat.Call) ([]edit.Change, error) {
	p := Plan{Call: call, Dir: r.dir(), by: r}
	if err := r.resolve(&p); err != nil {
		return nil, err
	}
	if p.entry.Tool.Preview == nil {
		return nil, nil
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	return r.changes(ctx, &p)
}

// changes asks the tool of a call what it would change.
func (r *Runner) changes(ctx context.Context, p *Plan) ([]edit.Change, error) {
	x := r.execution(*p, nil)
	x.limits = r.limits(p.entry)
	return p.entry.Tool.Preview(ctx, x.call(1))
}

// preview tells why a call that a person would be asked about cannot work, so that nobody is asked.
func (r *Runner) preview(ctx context.Context, p *Plan) *tool.Error {
	if p.entry.Tool.Preview == nil {
		return nil
	}
	if _, err := r.changes(ctx, p); err != nil {
		return failureOf(err)
	}
	return nil
}

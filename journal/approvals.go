package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"wield/journal/record"
	"wield/tool/runner"
)

// Approvals keeps the questions of a run, or of all runs, in a store, so that they outlive the process and can be
// answered from another one. Each question is a stream of its own: of two answers at once the store lets one pass.
type Approvals struct {
	Store   Store
	Session string // that questions belong to
	Run     string // that asks. The same call in another run is another question
	Options Options
}

var _ runner.Approvals = (*Approvals)(nil)

// An approval as it is now, and how long its stream is.
type approval struct {
	runner.Approval
	session, run string
	seq          int64
}

// Ask puts a question, or returns the one that stands for its binding.
func (a *Approvals) Ask(ctx context.Context, q runner.Question) (runner.Approval, error) {
	for n := 0; ; {
		id := a.id(q.Binding, n)
		found, err := a.get(ctx, id)
		switch {
		case errors.Is(err, runner.ErrNoApproval):
			asked := record.Question{ID: id, Session: a.Session, Run: a.Run, Asked: a.Options.Time(), Question: q}
			_, err := a.Store.Append(ctx, id, 0, record.Record{Kind: record.KindQuestion, Question: &asked})
			if errors.Is(err, ErrConflict) {
				continue // somebody else asked it at the same time
			}
			return runner.Approval{ID: id, Question: q, State: runner.ApprovalPending, Asked: asked.Asked}, err
		case err != nil:
			return runner.Approval{}, err
		case stands(found.State):
			return found.Approval, nil
		}
		n++ // that one is over
	}
}

// id returns the id of the n-th question about a binding in the run. It is made from them, so that two who ask at once
// ask the same.
func (a *Approvals) id(binding string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", a.Session, a.Run, binding, n))
	return "apr_" + hex.EncodeToString(sum[:12])
}

// stands reports whether an approval in this state may still lead to a run.
func stands(s runner.ApprovalState) bool {
	return s == runner.ApprovalPending || s == runner.ApprovalApproved || s == runner.ApprovalEdited
}

// Get returns an approval.
func (a *Approvals) Get(ctx context.Context, id string) (runner.Approval, error) {
	found, err := a.get(ctx, id)
	return found.Approval, err
}

// Find returns an approval with where it comes from.
func (a *Approvals) Find(ctx context.Context, id string) (Pending, error) {
	found, err := a.get(ctx, id)
	if err != nil {
		return Pending{}, err
	}
	return Pending{Approval: found.Approval, Session: found.session, Run: found.run}, nil
}

func (a *Approvals) get(ctx context.Context, id string) (approval, error) {
	var found approval
	for e, err := range a.Store.Read(ctx, Query{Stream: id}) {
		if err != nil {
			return approval{}, err
		}
		found.add(&e)
	}
	if found.ID == "" {
		return approval{}, runner.ErrNoApproval
	}
	if stands(found.State) && !found.Expires.IsZero() && !a.Options.Time().Before(found.Expires) {
		found.State = runner.ApprovalExpired
	}
	return found, nil
}

// add takes the next entry of an approval's stream.
func (a *approval) add(e *Entry) {
	a.seq = e.Seq
	switch r := &e.Record; r.Kind {
	case record.KindQuestion:
		a.ID, a.Question, a.Asked = r.Question.ID, r.Question.Question, r.Question.Asked
		a.State = runner.ApprovalPending
		a.session, a.run = r.Question.Session, r.Question.Run
	case record.KindAnswer:
		a.State, a.Answer, a.Decided = r.Answer.State, r.Answer.Answer, r.Answer.At
	case record.KindConsumed:
		a.State = runner.ApprovalConsumed
	}
}

// Decide answers a question, if it was not answered before.
func (a *Approvals) Decide(ctx context.Context, id string, answer runner.Answer) (runner.Approval, error) {
	if err := answer.Check(); err != nil {
		return runner.Approval{}, err
	}
	for {
		found, err := a.get(ctx, id)
		switch {
		case err != nil:
			return found.Approval, err
		case found.State != runner.ApprovalPending:
			return found.Approval, runner.ErrDecided
		case answer.Always && found.Always == "":
			return found.Approval, runner.ErrAlways
		}
		now := a.Options.Time()
		_, err = a.Store.Append(ctx, id, found.seq,
			record.Record{Kind: record.KindAnswer, Answer: &record.Answer{At: now, Answer: answer}})
		if errors.Is(err, ErrConflict) {
			continue // the other answer was first
		}
		found.State, found.Answer, found.Decided = answer.State, answer, now
		return found.Approval, err
	}
}

// Wait waits until an approval is decided or has expired.
func (a *Approvals) Wait(ctx context.Context, id string) error {
	found, err := a.get(ctx, id)
	if err != nil || found.State != runner.ApprovalPending {
		return err
	}
	watch, cancel := ctx, context.CancelFunc(func() {})
	if !found.Expires.IsZero() {
		watch, cancel = context.WithDeadline(ctx, found.Expires)
	}
	defer cancel()
	for _, err := range a.Store.Watch(watch, Query{Stream: id, Kinds: []record.Kind{record.KindAnswer}}) {
		if err != nil && (watch.Err() == nil || ctx.Err() != nil) {
			return err
		}
		return nil
	}
	return ctx.Err()
}

// Consume uses an approval for the one run that it allows.
func (a *Approvals) Consume(ctx context.Context, id, binding string) (runner.Approval, error) {
	for {
		found, err := a.get(ctx, id)
		switch {
		case err != nil:
			return found.Approval, err
		case found.Binding != binding:
			return found.Approval, runner.ErrBinding
		case found.State == runner.ApprovalPending:
			return found.Approval, runner.ErrPending
		case found.State == runner.ApprovalConsumed:
			return found.Approval, runner.ErrConsumed
		case !stands(found.State):
			return found.Approval, runner.ErrRefused
		}
		_, err = a.Store.Append(ctx, id, found.seq,
			record.Record{Kind: record.KindConsumed, Consumed: &record.Consumed{Binding: binding}})
		if errors.Is(err, ErrConflict) {
			continue
		}
		found.State = runner.ApprovalConsumed
		return found.Approval, err
	}
}

// A Pending is a question, as Waiting yields it one without an answer, and where it comes from.
type Pending struct {
	runner.Approval
	Session, Run string
	Changed      time.Time // zero from Find
}

// Waiting yields the questions that nobody has answered and that have not expired, the latest first: of the run, or of
// all runs where none is set.
func (a *Approvals) Waiting(ctx context.Context) iter.Seq2[Pending, error] {
	return func(yield func(Pending, error) bool) {
		for h, err := range a.Store.Heads(ctx, HeadQuery{Opened: record.KindQuestion, Session: a.Session,
			States: []record.State{record.StatePending}}) {
			if err != nil {
				yield(Pending{}, err)
				return
			}
			found, err := a.get(ctx, h.Stream)
			if errors.Is(err, runner.ErrNoApproval) ||
				err == nil && (found.State != runner.ApprovalPending || a.Run != "" && found.run != a.Run) {
				continue
			}
			if !yield(Pending{found.Approval, found.session, found.run, h.Changed}, err) || err != nil {
				return
			}
		}
	}
}

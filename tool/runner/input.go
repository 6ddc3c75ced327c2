package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"wield/schema"
	"wield/tool"
)

// bindForm returns the hash of all that an answer to a form is about.
func bindForm(f *tool.Form, call string) string {
	h := sha256.New()
	for _, part := range []string{call, f.Why, string(f.Schema), string(f.State)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkAnswer reports why an answer does not fit the form.
func checkAnswer(f *tool.Form, content json.RawMessage) error {
	s, err := schema.Compile(f.Schema)
	if err != nil {
		return nil // the form cannot be held to, and who asks will say what is wrong
	}
	for _, v := range s.Validate(string(content)) {
		return errors.New(v.String())
	}
	return nil
}

// ask puts the question of a form. The call waits for the answer.
func (x *execution) ask(ctx context.Context, f *tool.Form) error {
	r := x.runner
	if r.s.Approvals == nil {
		return tool.Errorf(tool.ErrApproval,
			"The tool asks something that only a person can answer (%s), and there is nobody to ask",
			f.Why)
	}
	if len(f.Draft) == 0 {
		f.Draft = json.RawMessage("{}")
	}
	a, err := r.s.Approvals.Ask(ctx, Question{
		Binding: bindForm(f, x.plan.Binding), CallID: x.plan.Call.ID, Tool: x.plan.Call.Name,
		Definition: x.plan.Definition, Arguments: f.Draft, Dir: x.plan.Dir, Why: f.Why, Form: f, Expires: r.expiry(),
	})
	if err != nil {
		return err
	}
	x.plan.Approval = a.ID
	return x.answered(ctx)
}

// answered takes the answer to the form that the call waits for.
func (x *execution) answered(ctx context.Context) error {
	r := x.runner
	if r.s.Approvals == nil {
		return &tool.Error{Kind: tool.ErrApproval}
	}
	a, err := r.s.Approvals.Get(ctx, x.plan.Approval)
	if err != nil {
		return err
	}
	f := a.Form
	if f == nil || a.Binding != bindForm(f, x.plan.Binding) {
		return tool.Errorf(tool.ErrSecurity, "Security violation: the answer is for another call")
	}
	a, err = r.s.Approvals.Consume(ctx, a.ID, a.Binding)
	if errors.Is(err, ErrPending) {
		x.waits = &a
		return err
	}
	x.started = true // before it asked
	if a.ID != "" {
		x.emit(x.approvalEvent(&a))
	}
	x.reply = &tool.Reply{State: f.State}
	switch {
	case errors.Is(err, ErrRefused) && a.State == ApprovalDenied:
	case errors.Is(err, ErrRefused):
		return a.refusal()
	case errors.Is(err, ErrConsumed): // the process ended while the call went on with it
		return tool.Errorf(tool.ErrInterrupted, "The call was interrupted, so that it is not known what it has done")
	case err != nil:
		return err
	default:
		x.reply.Accepted, x.reply.Content = true, a.Arguments
		if len(a.Answer.Arguments) > 0 {
			x.reply.Content = a.Answer.Arguments
		}
		if wrong := checkAnswer(f, x.reply.Content); wrong != nil {
			again := *f
			again.Why = fmt.Sprintf("%s (an answer does not fit: %v)", f.Why, wrong)
			again.Draft = x.reply.Content
			return x.ask(ctx, &again)
		}
	}
	x.plan.Outcome, x.plan.Approval = OutcomeReady, ""
	return nil
}

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"wield/tool"
)

// Approvals keeps questions to a person and their answers. It never waits for one: who needs the answer asks again
// with Get. Package approvaltest holds what every implementation has to do.
type Approvals interface {
	// Ask puts a question. As long as a question of the same binding is pending, or answered and not consumed, that one
	// is returned, and nothing new is made.
	Ask(ctx context.Context, q Question) (Approval, error)

	// Get returns an approval. One whose time is over is expired. ErrNoApproval: there is none of that id.
	Get(ctx context.Context, id string) (Approval, error)

	// Decide answers a question. The first answer stands: a later one gets the approval as it is and ErrDecided. An
	// answer that makes no sense fails with ErrAnswer, one that keeps a rule where none was offered with ErrAlways,
	// and changes nothing.
	Decide(ctx context.Context, id string, a Answer) (Approval, error)

	// Consume uses an approval for the one run that it allows, and returns it. binding is what is about to run; it
	// must be that of the question. Fails with ErrPending, ErrConsumed, ErrBinding, or ErrRefused when the answer was
	// no, when it was cancelled or came too late; the approval is returned with the error.
	Consume(ctx context.Context, id, binding string) (Approval, error)
}

// Failures of an approval store.
var (
	ErrNoApproval = errors.New("tool: no such approval")
	ErrDecided    = errors.New("tool: the approval was decided before")
	ErrPending    = errors.New("tool: the approval is not decided yet")
	ErrConsumed   = errors.New("tool: the approval was used before")
	ErrBinding    = errors.New("tool: the approval is for another call")
	ErrRefused    = errors.New("tool: the approval does not allow the call")
	ErrAnswer     = errors.New("tool: this is no answer")
	ErrAlways     = errors.New("tool: no rule was offered that could be kept")
)

// A Question describes a call that a person is asked about.
type Question struct {
	Binding    string          `json:"binding"`              // hash of all that the answer is about
	CallID     string          `json:"call_id,omitempty"`    // of the call that asks
	Tool       string          `json:"tool,omitempty"`       // its name
	Definition string          `json:"definition,omitempty"` // hash of the tool's definition
	Arguments  json.RawMessage `json:"arguments,omitempty"`  // exactly what will run
	Dir        string          `json:"dir,omitempty"`
	Env        []string        `json:"env,omitempty"`  // variables that the call sets beyond those of the runner
	Rule       string          `json:"rule,omitempty"` // that asks, with file and line
	Why        string          `json:"why,omitempty"`  // it asks
	// the rule that would allow this call from now on; empty: none would
	Always string `json:"always,omitempty"`
	// what the call asks for; Arguments are an answer to begin with. Nil: it is about the call itself
	Form    *tool.Form `json:"form,omitempty"`
	Expires time.Time  `json:"expires,omitzero"`
}

// An Answer decides a question.
type Answer struct {
	State     ApprovalState   `json:"state"`               // approved, edited, denied or cancelled
	Arguments json.RawMessage `json:"arguments,omitempty"` // edited: what is to run instead
	// edited: the parts of the call that were taken out of it, and no more; in words, for the model
	Refused string `json:"refused,omitempty"`
	Reason  string `json:"reason,omitempty"` // for the model
	By      string `json:"by,omitempty"`     // who decided
	Always  bool   `json:"always,omitempty"` // the offered rule is to be kept
	Stop    bool   `json:"stop,omitempty"`   // denied: the run that asked is to end with it
}

// An Approval is a question and what became of it.
type Approval struct {
	ID string
	Question
	State   ApprovalState
	Answer  Answer    // once decided
	Asked   time.Time // when the question was put
	Decided time.Time
}

// Check reports what is wrong with an answer by itself. Every store asks it first.
func (a *Answer) Check() error {
	switch a.State {
	case ApprovalApproved, ApprovalDenied, ApprovalCancelled:
		if len(a.Arguments) > 0 {
			return fmt.Errorf("%w: only an edited call has other arguments", ErrAnswer)
		}
		if a.Refused != "" {
			return fmt.Errorf("%w: only an edited call has parts that were refused", ErrAnswer)
		}
	case ApprovalEdited:
		if err := strictObject(string(a.Arguments)); err != nil {
			return fmt.Errorf("%w: the edited arguments cannot be used: %w", ErrAnswer, err)
		}
	default:
		return fmt.Errorf("%w: the state is approved, edited, denied or cancelled, not %q", ErrAnswer, a.State)
	}
	if a.Always && a.State != ApprovalApproved {
		return fmt.Errorf("%w: a rule is kept only with an approval of the call as it is", ErrAnswer)
	}
	if a.Stop && a.State != ApprovalDenied {
		return fmt.Errorf("%w: a run ends only with an answer that denies its call", ErrAnswer)
	}
	return nil
}

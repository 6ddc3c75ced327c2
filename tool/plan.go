package tool

import (
	"wield/chat"
)

// An Outcome is what planning made of a call.
type Outcome string

// The outcomes.
const (
	OutcomeReady         Outcome = "ready"
	OutcomeRejected      Outcome = "rejected" // Result says why
	OutcomeNeedsApproval Outcome = "needs_approval"
	OutcomeCached        Outcome = "cached" // Result is that of an earlier identical call
)

// A Plan is a call that was looked at from all sides and not run yet. It can be written as JSON and run later, by another
// runner too; everything that decides is then looked at again.
type Plan struct {
	Outcome    Outcome            `json:"outcome"`
	Call       chat.Call          `json:"call"` // with the name of the tool and the arguments that will run
	Definition string             `json:"definition,omitempty"`
	Binding    string             `json:"binding,omitempty"`
	Dir        string             `json:"dir,omitempty"`
	Notes      []chat.NoteDetail  `json:"notes,omitempty"` // what was mended in the arguments
	Policy     *chat.PolicyDetail `json:"policy,omitempty"`
	Approval   string             `json:"approval,omitempty"` // id of the question, if it needs one
	Result     *Result            `json:"result,omitempty"`
	Style      Style              `json:"style,omitempty"`

	entry *Entry  // what was planned with
	by    *Runner // that planned it; lost when the plan is stored
}

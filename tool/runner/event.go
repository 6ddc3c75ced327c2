package runner

import "time"

// ApprovalState tells whether an approval is open, and how it ended.
type ApprovalState string

// The states of an approval.
const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalApproved  ApprovalState = "approved"
	ApprovalEdited    ApprovalState = "edited"
	ApprovalDenied    ApprovalState = "denied"
	ApprovalExpired   ApprovalState = "expired"
	ApprovalCancelled ApprovalState = "cancelled"
	ApprovalConsumed  ApprovalState = "consumed"
)

// ApprovalDetail is the detail of a KindApproval event: a person's answer to a question, or that one is awaited.
type ApprovalDetail struct {
	ID      string
	CallID  string
	State   ApprovalState
	By      string
	Reason  string
	Stop    bool   // the answer ends the run that asked
	Address string // where it can be answered
	Expires time.Time
}

// CallState tells how far a call has run.
type CallState string

// The states of a call.
const (
	CallQueued      CallState = "queued"
	CallRunning     CallState = "running"
	CallDone        CallState = "done"
	CallFailed      CallState = "failed"
	CallInterrupted CallState = "interrupted" // it is not known whether it took effect
)

// StateDetail is the detail of a KindToolState event: a change in the running of a call.
type StateDetail struct {
	CallID  string
	State   CallState
	Elapsed time.Duration
}

// ProgressDetail is the detail of a KindProgress event: output of a tool that is still running.
type ProgressDetail struct {
	CallID string
	Stream string // stdout, stderr, or a word of the tool
	Text   string
	Done   float64 // of Total, if Total is not 0
	Total  float64
}

// EventDetail marks a detail of events.
func (*ApprovalDetail) EventDetail() {}

// EventDetail marks a detail of events.
func (*StateDetail) EventDetail() {}

// EventDetail marks a detail of events.
func (*ProgressDetail) EventDetail() {}

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"wield/internal/playback"
	"wield/internal/runs"
	"wield/internal/shorten"
	"wield/journal"
	"wield/tool/runner"
)

// A Kind is the class of an error, as it stands in an answer.
type Kind string

// The classes of errors.
const (
	KindInvalid     Kind = "invalid"      // something in the request is wrong; field says what
	KindUnknown     Kind = "unauthorized" // no key, or none of this service
	KindForbidden   Kind = "forbidden"    // the caller's role does not allow it
	KindNotFound    Kind = "not_found"    // it is not there, or another key's
	KindMethod      Kind = "method"       // the address does not answer the method
	KindDecided     Kind = "decided"      // somebody else was first
	KindEnded       Kind = "ended"        // the run is over
	KindConflict    Kind = "conflict"     // it cannot be done in the state that the thing is in
	KindExpired     Kind = "expired"      // the time for it is over
	KindTooLarge    Kind = "too_large"    // of a body
	KindMedia       Kind = "media"        // a body that is no JSON by its type
	KindSlow        Kind = "slow"         // the body did not arrive in time
	KindUnavailable Kind = "unavailable"  // what the service needs for it cannot be used now
	KindInternal    Kind = "internal"     // a fault of the service
)

// statuses are the HTTP statuses of the classes.
var statuses = map[Kind]int{
	KindInvalid:     http.StatusBadRequest,
	KindUnknown:     http.StatusUnauthorized,
	KindForbidden:   http.StatusForbidden,
	KindNotFound:    http.StatusNotFound,
	KindMethod:      http.StatusMethodNotAllowed,
	KindDecided:     http.StatusConflict,
	KindEnded:       http.StatusConflict,
	KindConflict:    http.StatusConflict,
	KindExpired:     http.StatusGone,
	KindTooLarge:    http.StatusRequestEntityTooLarge,
	KindMedia:       http.StatusUnsupportedMediaType,
	KindSlow:        http.StatusRequestTimeout,
	KindUnavailable: http.StatusServiceUnavailable,
	KindInternal:    http.StatusInternalServerError,
}

// A Fault is an error as it is told.
type Fault struct {
	Kind    Kind   `json:"kind" jsonschema:"the class of the error"`
	Message string `json:"message" jsonschema:"what is wrong, for people"`
	Field   string `json:"field,omitempty" jsonschema:"what of the request is to blame: the name of a parameter, or a JSON pointer into the body"`
	Fix     string `json:"fix,omitempty" jsonschema:"what to do about it"`

	cause error // for the log
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns what caused it.
func (f *Fault) Unwrap() error { return f.cause }

// A Failure is the body of an answer that is an error.
type Failure struct {
	Error Fault `json:"error"`
	// Approval is the one that somebody else has decided, or that has expired.
	Approval *Approval `json:"approval,omitempty" jsonschema:"the approval as it is now, where it was decided before or has expired"`
}

// decidedError is a fault with the approval that it is about.
type decidedError struct {
	*Fault
	approval Approval
}

// Unwrap returns the fault.
func (e *decidedError) Unwrap() error { return e.Fault }

func fault(kind Kind, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// invalid is a fault of one field of the request.
func invalid(field, format string, args ...any) *Fault {
	f := fault(KindInvalid, format, args...)
	f.Field = field
	return f
}

// with adds what to do.
func (f *Fault) with(fix string) *Fault {
	f.Fix = fix
	return f
}

// notFound says that something is not there. Whether it is somebody else's is not told.
func notFound(what, id string) *Fault {
	return fault(KindNotFound, "there is no %s %s", what, shorten.Quoted(id)).
		with("it was deleted, belongs to another key, or the id is wrong")
}

// A meaning translates an error of a package below.
type meaning struct {
	err     error
	kind    Kind
	message string // empty: the error's own
	fix     string
}

// meanings are the errors that packages below are known to fail with.
var meanings = []meaning{
	{journal.ErrNotFound, KindNotFound, "it is not there", ""},
	{runner.ErrNoApproval, KindNotFound, "there is no such approval", ""},
	{runner.ErrAnswer, KindInvalid, "", ""},
	{runner.ErrAlways, KindInvalid, "this approval offers no rule that could be kept", "leave always out"},
	{runs.ErrEnded, KindEnded, "the run is over",
		"start another one, in its session if it should go on with the conversation"},
	{runs.ErrHeld, KindConflict, "another process drives the run", "ask that one, or wait until it has ended"},
	{runs.ErrWaiting, KindConflict, "the run is not over and waits",
		"decide what it waits for, resume it, or cancel it"},
	{runs.ErrUnknownRun, KindNotFound, "there is no such run", ""},
	{runs.ErrUnknownAgent, KindConflict, "the agent of the run is not there any more",
		"put it back into the configuration"},
	{playback.ErrNoAnswer, KindConflict, "the model of the run never came to the end of an answer", ""},
	{runs.ErrDraining, KindUnavailable, "the service is ending", "try again"},
	{journal.ErrHeld, KindConflict, "a run of it is under way", "wait until it has ended, or cancel it"},
	{journal.ErrConflict, KindConflict, "somebody else changed it at the same time", "look at it again"},
	{journal.ErrReadOnly, KindUnavailable, "the journal cannot be written", "look at the disk that the journal is on"},
	{journal.ErrFull, KindUnavailable, "no room is left for the journal",
		"make room on the disk that the journal is on"},
	{journal.ErrLocked, KindUnavailable, "the journal is locked by another program", "try again"},
	{journal.ErrLost, KindUnavailable, "the journal's database cannot be reached", "try again"},
	{journal.ErrClosed, KindUnavailable, "the service is ending", "try again"},
	{context.DeadlineExceeded, KindUnavailable, "it took too long", "try again"},
}

// faultOf returns what an error is told as.
func faultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	for _, m := range meanings {
		if errors.Is(err, m.err) {
			f := &Fault{Kind: m.kind, Message: m.message, Fix: m.fix, cause: err}
			if f.Message == "" {
				f.Message = err.Error()
			}
			return f
		}
	}
	return &Fault{Kind: KindInternal, Message: "the service failed; its log says why", cause: err}
}

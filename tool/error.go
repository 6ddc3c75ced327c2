package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// An ErrorKind is the class of an Error, and the error_type of the result that it becomes. It is itself an
// error, so that errors.Is(err, tool.ErrTimeout) works.
type ErrorKind string

// The classes of errors.
const (
	ErrNotFound     ErrorKind = "ToolNotFoundError"      // no such tool
	ErrDisabled     ErrorKind = "ToolDisabledError"      // it is switched off
	ErrInvalid      ErrorKind = "InvalidArgumentsError"  // the arguments cannot be read or do not fit the schema
	ErrSecurity     ErrorKind = "SecurityViolationError" // a rule forbids it
	ErrApproval     ErrorKind = "ApprovalDeniedError"    // a person said no, or there is nobody to ask
	ErrExpired      ErrorKind = "ApprovalExpiredError"   // nobody answered in time
	ErrTimeout      ErrorKind = "TimeoutError"           // the run took too long
	ErrCanceled     ErrorKind = "CanceledError"          // the client went away
	ErrLimit        ErrorKind = "LimitError"             // a limit on calls or output
	ErrTool         ErrorKind = "ToolError"              // the tool says that it failed
	ErrUnexpected   ErrorKind = "UnexpectedError"        // the tool broke: it panicked, or gave what is no result
	ErrInterrupted  ErrorKind = "InterruptedError"       // it is not known whether the call took effect
	ErrNotAvailable ErrorKind = "NotAvailableError"      // what the tool needs is not on this machine
)

// Error returns the kind's name.
func (k ErrorKind) Error() string { return string(k) }

// An Error says why a call has no good result.
type Error struct {
	Kind    ErrorKind
	Tool    string
	Message string          // for the model: what is wrong and what to do; empty: what the kind says
	Details json.RawMessage // more of it, an object
	Timeout time.Duration   // ErrTimeout: the time it had
	Cause   error

	// ErrInvalid: what is wrong with the arguments, such as MISSING_REQUIRED, if there is a word for it
	Code       string
	DeniedPath string // ErrSecurity: the path that the ignore file leaves out
}

// Error says what is wrong in the words of a log.
func (e *Error) Error() string {
	switch {
	case e.Kind == ErrNotFound:
		return "Tool not found: " + e.Tool
	case e.Kind == ErrDisabled:
		return "Tool is disabled: " + e.Tool
	case e.Kind == ErrSecurity:
		return "Security violation: " + e.Sentence()
	}
	return e.Sentence()
}

// Sentence says what is wrong in the words that a model reads.
func (e *Error) Sentence() string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Cause != nil && e.Kind == ErrUnexpected:
		return "Unexpected error: " + e.Cause.Error()
	case e.Cause != nil:
		return e.Cause.Error()
	}
	if s := sentences[e.Kind]; s != nil {
		return s(e.Tool)
	}
	return string(e.Kind)
}

// sentences explain errors that have no words of their own.
var sentences = map[ErrorKind]func(tool string) string{
	ErrNotFound:    func(tool string) string { return "Tool " + tool + " not found" },
	ErrDisabled:    func(tool string) string { return "Tool " + tool + " is disabled" },
	ErrApproval:    func(string) string { return "User denied approval" },
	ErrExpired:     func(string) string { return "The approval expired, the call was not run" },
	ErrTimeout:     func(string) string { return "Tool execution timed out" },
	ErrCanceled:    func(string) string { return "Tool execution was cancelled" },
	ErrInterrupted: func(string) string { return "Interrupted: it is not known whether the call took effect" },
}

// Unwrap lets errors.Is and errors.As see the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// Errorf returns an Error of the given kind with a message of its own. A %w in the format becomes its cause.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// asError returns err as an *Error. What is none yet is classed by what it wraps.
func asError(err error) *Error {
	var e *Error
	var kind ErrorKind
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &kind):
		return &Error{Kind: kind, Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: ErrTimeout}
	case errors.Is(err, context.Canceled):
		return &Error{Kind: ErrCanceled}
	}
	return &Error{Kind: ErrTool, Message: err.Error(), Cause: err}
}

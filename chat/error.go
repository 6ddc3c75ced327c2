package chat

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrorKind is the class of an Error. It is itself an error, so that errors.Is(err, chat.ErrRateLimit) works.
type ErrorKind string

// The classes of errors.
const (
	ErrAuth          ErrorKind = "auth"           // the backend refused the credentials
	ErrBadRequest    ErrorKind = "bad_request"    // the request cannot be carried out as it is
	ErrNotFound      ErrorKind = "not_found"      // no such model
	ErrRateLimit     ErrorKind = "rate_limit"     // too many requests, or a quota is used up
	ErrContextLength ErrorKind = "context_length" // the conversation is too long for the model
	ErrFiltered      ErrorKind = "filtered"       // refused by the backend's content rules
	ErrOverloaded    ErrorKind = "overloaded"     // the backend has no capacity now
	ErrTimeout       ErrorKind = "timeout"        // no answer in time
	ErrCanceled      ErrorKind = "canceled"       // the client went away
	ErrProtocol      ErrorKind = "protocol"       // the backend's answer cannot be read
	ErrUnavailable   ErrorKind = "unavailable"    // the backend cannot be reached or broke off
)

// Error returns the kind's name.
func (k ErrorKind) Error() string { return string(k) }

// An Error reports why a Model's stream failed.
//
//	var e *chat.Error
//	if errors.As(err, &e) && e.RetryAfter > 0 { ... }
type Error struct {
	Kind       ErrorKind
	Status     int           // of the backend's HTTP answer; 0: there was none
	RetryAfter time.Duration // how long the backend asks to wait; 0: it did not say
	Message    string        // for people: what happened and what to do
	Param      string        // the field of the request that is to blame, if one is
	Code       string        // the backend's own code, or one of the Code constants
	Cause      error
}

// Codes of an [Error] with which a backend, or its model's chat template, says what it does not do.
const (
	CodeToolsUnsupported      = "tools_unsupported"       // it takes no tools
	CodeRolesRefused          = "roles_refused"           // it does not take this sequence of roles
	CodeFormatUnsupported     = "format_unsupported"      // it cannot hold an answer to this form
	CodeFormatKindUnsupported = "format_kind_unsupported" // nor to any form of this kind
)

// Error returns the kind, the status if there is one, and the message.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" && e.Cause != nil {
		msg = e.Cause.Error()
	}
	text := string(e.Kind)
	if e.Status != 0 {
		text = fmt.Sprintf("%s (status %d)", e.Kind, e.Status)
	}
	if msg == "" || msg == string(e.Kind) {
		return text
	}
	return text + ": " + msg
}

// Unwrap lets errors.Is and errors.As see the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// Errorf returns an Error of the given kind. A %w in the format becomes its cause.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// AsError returns err as an *Error. One that is none already is classed by what it wraps: a context's end is
// ErrCanceled or ErrTimeout, anything else ErrUnavailable.
func AsError(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &Error{Kind: ErrCanceled, Message: err.Error(), Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: ErrTimeout, Message: err.Error(), Cause: err}
	}
	return &Error{Kind: ErrUnavailable, Message: err.Error(), Cause: err}
}

package sandbox

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of error, for errors.Is.
var (
	// Before the run.
	ErrCommand  = errors.New("the command cannot be run")
	ErrNotFound = errors.New("there is no such program")
	ErrLevel    = errors.New("this machine cannot give the level")
	ErrHelper   = errors.New("the supervisor did not start")
	// What ended a run that did not end by itself.
	ErrTimeout   = errors.New("timed out")
	ErrCanceled  = errors.New("it was cancelled")
	ErrOutput    = errors.New("it wrote too much")
	ErrMemory    = errors.New("it used too much memory")
	ErrProcesses = errors.New("it started too many processes")
	ErrCPU       = errors.New("it used too much processor time")
	ErrFileSize  = errors.New("it wrote too large a file")
	// ErrLost means that the supervisor was ended from outside. What was left of the tree has been looked for and
	// ended.
	ErrLost = errors.New("the supervisor was lost")
)

// An Error says why a run did not start, or what ended it.
type Error struct {
	Kind    error     // one of the kinds above
	Text    string    // what exactly
	Missing []Missing // for ErrLevel
	Err     error     // the cause, if there is one
}

// A Missing is something that a level needs and a machine lacks, and how to get it.
type Missing struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("sandbox: " + e.Kind.Error())
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	for _, m := range e.Missing {
		fmt.Fprintf(&b, "; %s: %s", m.What, m.Fix)
	}
	return b.String()
}

func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

func badCommand(format string, args ...any) error {
	return &Error{Kind: ErrCommand, Text: fmt.Sprintf(format, args...)}
}

// reasons are the words of the supervisor for what ended a run, and their kinds.
var reasons = map[string]error{
	"memory":    ErrMemory,
	"processes": ErrProcesses,
	"cpu":       ErrCPU,
	"file_size": ErrFileSize,
}

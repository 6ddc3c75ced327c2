package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"wield/chat"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/journal"
	"wield/model/openai"
)

// The exit codes. exitCodes in topics.go says what they mean.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitModel       = 3
	ExitDenied      = 4
	ExitLimit       = 5
	ExitTool        = 6
	ExitMalformed   = 7
	ExitInterrupted = 130
)

// An ExitError ends the program with a code of its own. A nil err prints nothing: the command has said all
// there is to say.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// UsageErrorf returns an error about how the program was called.
func UsageErrorf(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// advices say what to do about a failure of the model's server.
var advices = map[chat.ErrorKind]string{
	chat.ErrUnavailable: "start the model's server, or correct its url: --upstream URL, or backends in the " +
		"configuration",
	chat.ErrNotFound: "give the name that the server has for the model: --model NAME, or models.NAME.model in the " +
		"configuration",
	chat.ErrAuth: "give the server's key: --upstream-key env:NAME, or backends.NAME.key in the configuration",
}

// Advice returns what to do about an error, on a line of its own, or "".
func Advice(err error) string {
	var e *chat.Error
	if errors.Is(err, journal.ErrLost) {
		return "\nfix: start the journal's database, or correct journal.url in the configuration; " +
			"wield sessions resume continues an interrupted run"
	}
	if journal.IsFailure(err) {
		return ""
	}
	if !errors.As(err, &e) || e.Code == openai.CodePath || advices[e.Kind] == "" {
		return ""
	}
	if e.Kind == chat.ErrUnavailable && e.Status >= http.StatusInternalServerError {
		return "\nfix: the server failed: check the log of the server, or run wield doctor"
	}
	return "\nfix: " + advices[e.Kind] + "; wield doctor looks at each step"
}

// IsExitError reports whether err ends the program with a code of its own.
func IsExitError(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit)
}

// ExitCode returns the code that err stands for and what of it is to be printed.
func ExitCode(ctx context.Context, err error) (int, error) {
	var exit *ExitError
	var problems config.Problems
	var file *config.FileError
	var failed *chat.Error
	switch {
	case errors.As(err, &exit):
		return exit.Code, exit.Err
	case errors.As(err, &problems), errors.As(err, &file), errors.Is(err, compose.ErrNoPlace):
		return ExitUsage, err
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, chat.ErrCanceled)):
		return ExitInterrupted, errors.New("interrupted")
	case journal.IsFailure(err): // which an agent cannot go on without either, but it is not the model
		return ExitFailed, err
	case errors.As(err, &failed) && slices.Contains(serverFailures, failed.Kind):
		return ExitModel, err
	}
	return ExitFailed, err
}

// serverFailures are the kinds of errors that the model's server is the reason of: nothing answers at its address, it
// has no such model, it does not let the caller in, or it does not answer now.
var serverFailures = []chat.ErrorKind{chat.ErrAuth, chat.ErrNotFound, chat.ErrUnavailable, chat.ErrOverloaded,
	chat.ErrRateLimit, chat.ErrTimeout}

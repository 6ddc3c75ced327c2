package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"wield/chat"
	"wield/internal/config"
)

// An app is what a command sees of the world outside: its streams and its environment.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	lines          []string // tools of one line of shell, from --sh
	journal        journalOpener
}

func osApp() *app {
	return &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, journal: configuredJournal}
}

// The exit codes. exitCodes in topics.go says what they mean.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitModel       = 3
	exitDenied      = 4
	exitLimit       = 5
	exitTool        = 6
	exitMalformed   = 7
	exitInterrupted = 130
)

// An exitError ends the program with a code of its own. A nil err prints nothing: the command has said all there is to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf returns an error about how the program was called.
func usageErrorf(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// run carries out one command line and returns the exit code. Errors go to the error stream. When it returns, nothing of
// the command is left running.
func run(ctx context.Context, args []string, app *app) int {
	root := newRootCmd(app)
	root.SetArgs(args)
	started := markStart(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !*started && !isExitError(err) {
		// The command's own code never ran: what is wrong is the command line.
		err = usageErrorf("%w\nTry '%s --help'.", err, cmd.CommandPath())
	}
	code, err := exitCode(ctx, err)
	if err != nil {
		fmt.Fprintf(app.stderr, "wield: %v\n", err)
	}
	return code
}

func isExitError(err error) bool {
	var exit *exitError
	return errors.As(err, &exit)
}

// exitCode returns the code that err stands for and what of it is to be printed.
func exitCode(ctx context.Context, err error) (int, error) {
	var exit *exitError
	var problems config.Problems
	var file *config.FileError
	var failed *chat.Error
	switch {
	case errors.As(err, &exit):
		return exit.code, exit.err
	case errors.As(err, &problems), errors.As(err, &file):
		return exitUsage, err
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, chat.ErrCanceled)):
		return exitInterrupted, errors.New("interrupted")
	case isJournalFailure(err): // which an agent cannot go on without either, but it is not the model
		return exitFailed, err
	case errors.As(err, &failed) && (failed.Kind == chat.ErrAuth || failed.Kind == chat.ErrUnavailable):
		return exitModel, err
	}
	return exitFailed, err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// An app is what a command sees of the world outside: its streams and its environment.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

func osApp() *app {
	return &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
}

// The exit codes; "wield help exit-codes" tells what they mean.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitModel       = 3
	exitDenied      = 4
	exitLimit       = 5
	exitUnavailable = 6
	exitSchema      = 7
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

// run carries out one command line and returns the exit code. Errors go to the error stream, after which nothing is left running.
func run(ctx context.Context, args []string, app *app) int {
	root := newRootCmd(app)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{code: exitFailed, err: err}
	}
	if exit.err != nil {
		fmt.Fprintf(app.stderr, "wield: %v\n", exit.err)
	}
	return exit.code
}

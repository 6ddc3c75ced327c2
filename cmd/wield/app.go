package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/model/openai"
)

// An app is what a command sees of the world outside: its streams and its environment.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	self           string   // the file of this program; empty: it cannot be started again
	lines          []string // tools of one line of shell, from --sh
	accepts        bool     // the configuration is read although a tool has changed it
	journal        journalOpener
	secrets        *hider // what the error stream and the log do not show
}

func osApp() *app {
	self, _ := os.Executable()
	return &app{self: self, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, journal: configuredJournal}
}

// load reads the configuration. From then on its secrets are hidden in all that is said on the error stream.
func (a *app) load(o config.Options) (*config.Result, error) {
	r, err := config.Load(o)
	if err == nil && a.secrets != nil {
		a.secrets.set(r.Hide(o.Getenv))
	}
	return r, err
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

// An exitError ends the program with a code of its own. A nil err prints nothing: the command has said all
// there is to say.
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

// run carries out one command line and returns the exit code. Errors go to the error stream. When it returns,
// nothing of the command is left running.
func run(ctx context.Context, args []string, app *app) int {
	app.secrets = new(hider)
	app.stderr = hidingWriter{app.stderr, app.secrets}
	root := newRootCmd(app)
	root.SetArgs(args)
	started := markStart(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !*started && !isExitError(err) {
		// The command's own code never ran: what is wrong is the command line.
		err = usageErrorf("%s\nTry '%s --help'.", argumentsError(cmd, err), cmd.CommandPath())
	}
	code, err := exitCode(ctx, err)
	if err != nil {
		fmt.Fprintf(app.stderr, "wield: %v%s\n", err, advice(err))
	}
	return code
}

// advices say what to do about a failure of the model's server.
var advices = map[chat.ErrorKind]string{
	chat.ErrUnavailable: "start the model's server, or correct its url: --upstream URL, or backends in the configuration",
	chat.ErrNotFound:    "give the name that the server has for the model: --model NAME, or models.NAME.model in the configuration",
	chat.ErrAuth:        "give the server's key: --upstream-key env:NAME, or backends.NAME.key in the configuration",
}

// advice returns what to do about an error, on a line of its own, or "".
func advice(err error) string {
	var e *chat.Error
	if !errors.As(err, &e) || e.Code == openai.CodePath || advices[e.Kind] == "" {
		return ""
	}
	if e.Kind == chat.ErrUnavailable && e.Status >= http.StatusInternalServerError {
		return "\nfix: the server is there and failed: look at its log; wield doctor looks at each step"
	}
	return "\nfix: " + advices[e.Kind] + "; wield doctor looks at each step"
}

// wrongCount is what the library of commands says of too many or too few arguments.
var wrongCount = regexp.MustCompile(`^(?:accepts|requires) .*arg\(s\), (?:received|only received) (\d+)$`)

// argumentsError says in this program's words what is wrong with arguments.
func argumentsError(cmd *cobra.Command, err error) string {
	m := wrongCount.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return err.Error()
	case m[1] == "0":
		return "an argument is missing: write " + cmd.UseLine()
	}
	return fmt.Sprintf("%s arguments are not what it takes: write %s", m[1], cmd.UseLine())
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
	case errors.As(err, &problems), errors.As(err, &file), errors.Is(err, compose.ErrNoPlace):
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

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"wield/internal/cli"
)

// run carries out one command line and returns the exit code. Errors go to the error stream. When it returns,
// nothing of the command is left running.
func run(ctx context.Context, args []string, app *cli.App) int {
	app.HideSecrets()
	out := &keptError{Writer: app.Stdout}
	if f, ok := app.Stdout.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		app.Stdout = out
	}
	root := newRootCmd(app)
	root.SetArgs(args)
	started := markStart(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		if err = out.first(); err == nil {
			return cli.ExitOK
		}
		*started = true // what was wrong is not the command line
	}
	if !*started && !cli.IsExitError(err) {
		// The command's own code never ran: what is wrong is the command line.
		err = cli.UsageErrorf("%s\nTry '%s --help'.", argumentsError(cmd, err), cmd.CommandPath())
	}
	code, err := cli.ExitCode(ctx, err)
	if err != nil {
		fmt.Fprintf(app.Stderr, "wield: %v%s\n", err, cli.Advice(err))
	}
	return code
}

// keptError keeps the first error of writing: a command whose output is lost, on a full disk, has not succeeded.
type keptError struct {
	io.Writer
	err atomic.Pointer[error]
}

func (w *keptError) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.err.CompareAndSwap(nil, &err)
	}
	return n, err
}

func (w *keptError) first() error {
	if err := w.err.Load(); err != nil {
		return *err
	}
	return nil
}

// wrongCount matches the error of the command library about too many or too few arguments.
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

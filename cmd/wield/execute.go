package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"wield/internal/cli"
)

// run carries out one command line and returns the exit code. Errors go to the error stream. When it returns,
// nothing of the command is left running.
func run(ctx context.Context, args []string, app *cli.App) int {
	app.HideSecrets()
	root := newRootCmd(app)
	root.SetArgs(args)
	started := markStart(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return cli.ExitOK
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

package main

import (
	"github.com/spf13/cobra"
)

func newRootCmd(app *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "wield",
		Short:         "Give any language model working tools",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(app.stdin)
	root.SetOut(app.stdout)
	root.SetErr(app.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageErrorf("%v\nTry '%s --help'.", err, cmd.CommandPath())
	})
	root.AddCommand(commands(app)...)
	return root
}

// commands lists every command of the program, in the order of the help.
func commands(app *app) []*cobra.Command {
	return []*cobra.Command{}
}

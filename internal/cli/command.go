package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Group returns a command that only holds others.
func Group(use, short, long, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,
		Args:    cobra.ArbitraryArgs,
		RunE:    UnknownCommand,
	}
	cmd.AddCommand(subs...)
	return cmd
}

// UnknownCommand runs for a command that only holds others. Called bare it shows its help.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return UsageErrorf("no command %q in %s%s\nTry '%s --help'.", args[0], cmd.CommandPath(), hint, cmd.CommandPath())
}

// NoArgs is for commands that take flags only.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageErrorf("%s takes no arguments, and got %q\nTry '%s --help'.", cmd.CommandPath(), args[0],
			cmd.CommandPath())
	}
	return nil
}

// Walk calls f for cmd and everything below it.
func Walk(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		Walk(sub, f)
	}
}

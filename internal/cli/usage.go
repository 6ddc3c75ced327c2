package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is the annotation that says under which heading the help shows a flag.
const flagGroup = "wield-group"

// GroupFlags puts flags under a heading of the help. Headings and flags stand there in the order in which the flags
// were defined.
func GroupFlags(fl *pflag.FlagSet, heading string, names ...string) {
	fl.SortFlags = false
	for _, name := range names {
		if err := fl.SetAnnotation(name, flagGroup, []string{heading}); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// usageColumns is how wide the help is, flagColumns how wide the names of flags are at most before the text begins
// below them.
const (
	usageColumns = 100
	flagColumns  = 26
)

// Usage prints how a command is used: the line, examples, the commands below it, and its flags under their headings.
func Usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && cmd.HasParent() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(&b, cmd)
	writeFlags(&b, cmd.LocalFlags(), "Flags")
	writeFlags(&b, cmd.InheritedFlags(), "Global flags")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help explains a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// writeCommands lists the commands below cmd by their groups, and the topics of the help.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	list := func(heading string, in func(*cobra.Command) bool) {
		for _, sub := range cmd.Commands() {
			if !in(sub) {
				continue
			}
			if heading != "" {
				fmt.Fprintf(b, "\n%s:\n", heading)
				heading = ""
			}
			fmt.Fprintf(b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, func(sub *cobra.Command) bool {
			return sub.GroupID == g.ID && shown(sub)
		})
	}
	list("Commands", func(sub *cobra.Command) bool { return sub.GroupID == "" && shown(sub) })
	list("Topics", (*cobra.Command).IsAdditionalHelpTopicCommand)
}

// shown reports whether the help lists a command; cobra does not count the help itself.
func shown(cmd *cobra.Command) bool { return cmd.IsAvailableCommand() || cmd.Name() == "help" }

// writeFlags writes flags, those without a heading of their own last, under rest.
func writeFlags(b *strings.Builder, all *pflag.FlagSet, rest string) {
	var headings []string
	under := map[string][]*pflag.Flag{}
	all.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		heading := ""
		if group := f.Annotations[flagGroup]; len(group) > 0 {
			heading = group[0]
		}
		if under[heading] == nil && heading != "" {
			headings = append(headings, heading)
		}
		under[heading] = append(under[heading], f)
	})
	if len(headings) > 0 && rest == "Flags" {
		rest = "Other flags"
	}
	for _, heading := range append(headings, "") {
		if len(under[heading]) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s:\n", cmp.Or(heading, rest))
		for _, f := range under[heading] {
			writeFlag(b, f)
		}
	}
}

// valueNames are what the help calls the types of values, where a flag has no word of its own for what it takes.
var valueNames = map[string]string{
	"string": "TEXT", "stringArray": "TEXT", "strings": "LIST", "int": "N", "uint": "N", "float": "NUMBER",
	"duration": "DURATION",
}

// writeFlag writes one flag: its name, what it takes, what it means and what holds without it.
func writeFlag(b *strings.Builder, f *pflag.Flag) {
	takes, text := pflag.UnquoteUsage(f)
	takes = cmp.Or(valueNames[takes], takes)
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if takes != "" && f.Value.Type() != "bool" {
		name += " " + takes
	}
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		text += " (default " + f.DefValue + ")"
	}
	b.WriteString(name)
	column := len(name)
	if column >= flagColumns+6 {
		b.WriteString("\n")
		column = 0
	}
	for _, word := range strings.Fields(text) {
		switch {
		case column < flagColumns+6:
			b.WriteString(strings.Repeat(" ", flagColumns+6-column))
			column = flagColumns + 6
		case column+1+len(word) > usageColumns:
			b.WriteString("\n" + strings.Repeat(" ", flagColumns+6))
			column = flagColumns + 6
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteString("\n")
}

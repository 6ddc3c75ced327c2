package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"wield/dialect"
	"wield/internal/cli"
	"wield/internal/config"
)

// An exitCodeDoc says what an exit code means.
type exitCodeDoc struct {
	code int
	doc  string
}

var exitCodes = []exitCodeDoc{
	{cli.ExitOK, "everything was done; wield eval: all thresholds are met"},
	{cli.ExitFailed, "something failed; wield parse: a line could not be read; wield eval: a threshold is missed"},
	{cli.ExitUsage, "the command line or the configuration is wrong; wield eval: it could not run"},
	{cli.ExitModel, "the model's server cannot be reached, fails, or refuses the key"},
	{cli.ExitDenied, "a call is asked about, denied or switched off: wield policy test, wield tool run, wield run"},
	{cli.ExitLimit, "a limit was reached: wield run, wield sandbox run"},
	{cli.ExitTool, "a tool failed: wield tool run; again and again: wield run"},
	{cli.ExitMalformed, "the model wrote no valid call, whatever was repaired: wield tune, wield run"},
	{cli.ExitInterrupted, "interrupted by a signal; serve, asked to end, finishes what is under way and exits with 0"},
}

// topics are texts that stand among the commands in the help.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText()},
		{Use: "dialects", Short: "The text protocols for tool calls that wield reads and writes", Long: dialectsText()},
		{Use: "env", Short: "The environment variables that wield reads", Long: envText()},
	}
}

func exitCodesText() string {
	return "Every command ends with one of these codes.\n\n" + cli.Table(func(row func(cells ...string)) {
		for _, c := range exitCodes {
			row(fmt.Sprint(c.code), c.doc)
		}
	})
}

func dialectsText() string {
	return `A dialect is a text protocol for tool calls. Unless told otherwise wield reads all of them at once (auto), but for those
marked with a star, which are on only by name. wield dialect show NAME tells more of one.

` + cli.Table(func(row func(cells ...string)) {
		for _, name := range dialect.Names() {
			d, ok := dialect.Lookup(name)
			if !ok {
				continue
			}
			if d.ByName {
				name += " *"
			}
			row(name, d.Summary)
		}
	})
}

func envText() string {
	return `Keys of the configuration that have one value and a fixed place can be set by variables, which win over the file and
yield to flags. The file is $WIELD_CONFIG, or $XDG_CONFIG_HOME/wield/config.yaml with ~/.config for the variable if it is not
set. Secrets stand in variables of your choice, which the file refers to as env:NAME.

` + glossary(func(row func(name, text string)) {
		row("WIELD_CONFIG", "Configuration file.")
		row("WIELD_CATALOGUE", "Directory with the scenarios that commands name without a file, in place of those in the program.")
		row("WIELD_LOG_LEVEL", "Level of serve's log: "+strings.Join(cli.LogLevels, ", ")+".")
		row("WIELD_LOG_FORMAT", "Form of serve's log: "+strings.Join(cli.LogFormats, ", ")+".")
		for _, v := range config.Variables() {
			row(v.Name, v.Doc)
		}
	})
}

// nameWidth is where the texts of a glossary begin. A name that is longer has a line of its own.
const nameWidth = 34

// glossary lines up the names and texts that fill adds.
func glossary(fill func(row func(name, text string))) string {
	var b strings.Builder
	fill(func(name, text string) {
		if name = "  " + name; len(name) >= nameWidth {
			b.WriteString(name + "\n")
			name = ""
		}
		fmt.Fprintf(&b, "%-*s %s\n", nameWidth, name, text)
	})
	return strings.TrimRight(b.String(), "\n")
}

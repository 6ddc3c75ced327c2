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
	{cli.ExitOK, "success; wield eval: all thresholds are met"},
	{cli.ExitFailed, "something failed; wield parse: a line could not be read; wield eval: a threshold is missed"},
	{cli.ExitUsage, "invalid command line or configuration; wield eval: it could not run"},
	{cli.ExitModel, "the model server is unreachable, fails, is overloaded, rejects the key, or has no such model"},
	{cli.ExitDenied,
		"a call needs an approval, is denied, or its tool is disabled: wield policy test, wield tool run, wield run"},
	{cli.ExitLimit, "a limit was reached: wield run, wield sandbox run"},
	{cli.ExitTool, "a tool failed: wield tool run; repeatedly: wield run"},
	{cli.ExitMalformed, "the model wrote no valid call, even after repair: wield tune, wield run"},
	{cli.ExitInterrupted, "interrupted by a signal; serve shuts down gracefully and exits with 0"},
}

// topics are help texts beside those of commands.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText()},
		{Use: "dialects", Short: "The tool-call formats that wield reads and writes", Long: dialectsText()},
		{Use: "env", Short: "The environment variables that wield reads", Long: envText()},
	}
}

func exitCodesText() string {
	return "Every command ends with one of these exit codes.\n\n" + cli.Table(func(row func(cells ...string)) {
		for _, c := range exitCodes {
			row(fmt.Sprint(c.code), c.doc)
		}
	})
}

func dialectsText() string {
	return `A dialect is a text format for tool calls. By default wield reads all of them at once (auto), except
those with a star, which must be named. wield dialect show NAME describes one.

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
	return `Environment variables override the configuration file; flags override both. The file is
$WIELD_CONFIG, or $XDG_CONFIG_HOME/wield/config.yaml (default ~/.config). Put secrets into variables
of your choice and refer to them as env:NAME.

` + glossary(func(row func(name, text string)) {
		row("WIELD_CONFIG", "Configuration file.")
		row("WIELD_CATALOGUE", "Directory with scenarios, instead of the built-in catalogue.")
		row("WIELD_LOG_LEVEL", "Log level of serve: "+strings.Join(cli.LogLevels, ", ")+".")
		row("WIELD_LOG_FORMAT", "Log format of serve: "+strings.Join(cli.LogFormats, ", ")+".")
		for _, v := range config.Variables() {
			row(v.Name, v.Doc)
		}
	})
}

// nameWidth is the column of the texts in a glossary. A longer name has a line of its own.
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

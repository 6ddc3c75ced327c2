package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"wield/internal/cli"
	"wield/internal/cli/measure"
	"wield/internal/cli/parsing"
	"wield/internal/cli/policies"
	"wield/internal/cli/runs"
	"wield/internal/cli/tools"
)

// firstSteps is printed by wield without arguments on a terminal.
const firstSteps = `wield gives any language model working tools.

  wield demo     see what it does, without a model
  wield init     connect a model and create a configuration
  wield serve    start the gateway and its web page

wield --help lists all commands.
`

func newRootCmd(app *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "wield",
		Short: "Give any language model working tools",
		Long: `wield gives any language model working tools. It reads tool calls from what the model writes, runs
them under your rules, and returns the results.`,
		Example: `  wield demo                                    # see what wield does, without a model
  wield serve                                   # a gateway with a scripted model, and the web page
  wield serve --upstream http://127.0.0.1:11434/v1 --model qwen2.5-coder:14b
  wield chat                                    # chat in the terminal, after wield init`,
		Args: cobra.ArbitraryArgs, // RunE tells better what is wrong with them
		RunE: func(cmd *cobra.Command, args []string) error {
			if out, ok := app.Stdout.(*os.File); ok && len(args) == 0 && term.IsTerminal(int(out.Fd())) {
				_, err := fmt.Fprint(out, firstSteps)
				return err
			}
			return cli.UnknownCommand(cmd, args)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(app.Stdin)
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.UsageErrorf("%w%s\nTry '%s --help'.", err, flagHint(cmd, err), cmd.CommandPath())
	})
	root.Version = cli.ThisBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageFunc(cli.Usage)
	addGrouped(root, append(commands(app), newCompletionCmd(app, root)))
	root.AddCommand(topics()...)
	root.SetHelpCommand(newHelpCmd(root))
	root.SetHelpCommandGroupID("setup")
	root.InitDefaultHelpCmd() // adds the one just set
	completeFlags(app, root)
	return root
}

// groups are the headings of the help, and the commands under each.
var groups = []struct{ id, title, commands string }{
	{"start", "Start", "demo init serve chat run"},
	{"tools", "Tools and rules", "tool mcp policy sandbox worker cluster"},
	{"models", "Models and formats", "parse dialect prompt eval tune script browser"},
	{"history", "Recorded runs", "sessions replay trace journal stats"},
	{"setup", "Setup", "config doctor metrics completion man version help"},
}

// addGrouped adds commands under the headings of the help.
func addGrouped(root *cobra.Command, all []*cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	for _, cmd := range all {
		for _, g := range groups {
			if slices.Contains(strings.Fields(g.commands), cmd.Name()) {
				cmd.GroupID = g.id
			}
		}
	}
	root.AddCommand(all...)
}

// commands lists every command of the program.
func commands(app *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newInitCmd(app),
		newServeCmd(app),
		runs.NewChatCmd(app),
		runs.NewRunCmd(app),
		newDemoCmd(app),
		newScriptCmd(app),
		parsing.NewParseCmd(app),
		parsing.NewDialectCmd(app),
		measure.NewPromptCmd(app),
		measure.NewEvalCmd(app),
		measure.NewTuneCmd(app),
		tools.NewSandboxCmd(app),
		newBrowserCmd(app),
		newDoctorCmd(app),
		tools.NewToolCmd(app),
		tools.NewMCPCmd(app),
		tools.NewWorkerCmd(app),
		tools.NewClusterCmd(app),
		runs.NewSessionsCmd(app),
		runs.NewReplayCmd(app),
		runs.NewTraceCmd(app),
		runs.NewJournalCmd(app),
		newConfigCmd(app),
		policies.NewPolicyCmd(app),
		newMetricsCmd(app),
		runs.NewStatsCmd(app),
		newVersionCmd(app),
		newManCmd(app),
	}
}

func newHelpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Show help for a command or topic",
		Long:  "Shows help for a command, or for one of the topics exit-codes, dialects and env.",
		Example: `  wield help serve
  wield help exit-codes`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			var names []cobra.Completion
			about, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range about.Commands() {
				names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return cli.UnknownCommand(about, rest)
			}
			about.InitDefaultHelpFlag() // so that the help lists it, as --help does
			return about.Help()
		},
	}
}

// markStart reports through its result whether the code of any command below root has begun to run.
func markStart(root *cobra.Command) *bool {
	started := new(bool)
	cli.Walk(root, func(cmd *cobra.Command) {
		if runE := cmd.RunE; runE != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				*started = true
				return runE(cmd, args)
			}
		}
	})
	return started
}

package main

import (
	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/cli/measure"
	"wield/internal/cli/parsing"
	"wield/internal/cli/policies"
	"wield/internal/cli/runs"
	"wield/internal/cli/tools"
)

func newRootCmd(app *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "wield",
		Short: "Give any language model working tools",
		Long: `wield stands between a model and the programs that use it. What the model writes becomes validated
tool calls, whatever protocol it was trained on or told to use.`,
		Example: `  wield serve                                   # a gateway with a scripted model, no key needed
  wield serve --upstream http://127.0.0.1:11434/v1 --model qwen2.5-coder:14b
  wield demo                                    # what a model writes, and what wield makes of it`,
		Args:          cobra.ArbitraryArgs, // RunE tells better what is wrong with them
		RunE:          cli.UnknownCommand,
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
	root.AddCommand(commands(app)...)
	root.AddCommand(topics()...)
	root.AddCommand(newCompletionCmd(app, root))
	root.SetHelpCommand(newHelpCmd(root))
	root.InitDefaultHelpCmd() // adds the one just set
	completeFlags(root)
	return root
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
		measure.NewEvalCmd(app),
		measure.NewTuneCmd(app),
		tools.NewSandboxCmd(app),
		newBrowserCmd(app),
		newDoctorCmd(app),
		tools.NewToolCmd(app),
		tools.NewMCPCmd(app),
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
		Short: "Tell about a command or a topic",
		Long:  "Tells about a command or one of the topics exit-codes, dialects and env.",
		Example: `  wield help serve
  wield help exit-codes`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
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

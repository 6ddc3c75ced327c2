package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wield/dialect"
	"wield/dialect/profile"
	"wield/internal/cli"
	"wield/internal/cli/tools"
	"wield/internal/config"
)

// A shell can complete command lines from what write prints.
type shell struct {
	name  string
	setup string // how a person installs it
	write func(root *cobra.Command, w io.Writer) error
}

var shells = []shell{
	{"bash", "wield completion bash > ~/.local/share/bash-completion/completions/wield",
		func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", `wield completion zsh > "${fpath[1]}/_wield"`,
		func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", "wield completion fish > ~/.config/fish/completions/wield.fish",
		func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", "wield completion powershell | Out-String | Invoke-Expression",
		func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

func newCompletionCmd(app *cli.App, root *cobra.Command) *cobra.Command {
	var names, examples []string
	for _, s := range shells {
		names = append(names, s.name)
		examples = append(examples, "  "+s.setup)
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Generate a shell completion script",
		Long: fmt.Sprintf(`Prints a completion script for %s. It completes commands, flags and the
values of flags.`, strings.Join(names, ", ")),
		Example:           strings.Join(examples, "\n"),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.Index(names, args[0])
			if i < 0 {
				return cli.UsageErrorf("no shell %q; there are: %s", args[0], strings.Join(names, ", "))
			}
			return shells[i].write(root, app.Stdout)
		},
	}
}

// flagValues are the words that flags of these names take, whichever command they belong to.
func flagValues() map[string][]string {
	return map[string][]string{
		"dialect":    append([]string{"auto"}, dialect.Names()...),
		"profile":    profile.Builtin().Names(),
		"dialects":   dialect.Names(),
		"modes":      {"native", "text"},
		"repair":     {"off", "safe", "full"},
		"mode":       {"text", "native", "template", "auto"},
		"log-level":  cli.LogLevels,
		"log-format": cli.LogFormats,
	}
}

// completeFlags lets shells complete the values of the flags of all commands.
func completeFlags(app *cli.App, root *cobra.Command) {
	values := flagValues()
	cli.Walk(root, func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			words, ok := values[f.Name]
			complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
			switch {
			case f.Name == "model":
				complete, ok = configuredValues(app, modelNames), true
			case f.Name == "tools" && f.Value.Type() == "stringSlice":
				complete, ok = configuredValues(app, tools.Names), true
			}
			if _, has := cmd.GetFlagCompletionFunc(f.Name); !ok || has {
				return
			}
			if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
				panic(err) // the flag was just seen
			}
		})
	})
}

// configuredValues completes the last value of a list with those that the configuration of the command has.
func configuredValues(app *cli.App, values func(*cli.App, *config.Result) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		file := ""
		if f := cmd.Flags().Lookup("config"); f != nil {
			file = f.Value.String()
		}
		r, err := config.Load(config.Options{File: file, Getenv: app.Getenv, AllowPending: app.Accepts})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		before := start[:strings.LastIndex(start, ",")+1]
		var words []cobra.Completion
		for _, v := range values(app, r) {
			words = append(words, before+v)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func modelNames(_ *cli.App, r *config.Result) []string {
	return slices.Sorted(maps.Keys(r.Config.Models))
}

// flagHint names the flag that an unknown one was probably meant to be.
func flagHint(cmd *cobra.Command, err error) string {
	rest, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	var near string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && near == "" && (strings.HasPrefix(f.Name, rest) || strings.HasPrefix(rest, f.Name) ||
			oneOff(rest, f.Name)) {
			near = f.Name
		}
	})
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean --%s?", near)
}

// oneOff reports whether a becomes b by adding, dropping, changing or swapping one letter.
func oneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(b)-len(a) == 1:
		return a[i:] == b[i+1:]
	case len(a) != len(b) || i == len(a):
		return false
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

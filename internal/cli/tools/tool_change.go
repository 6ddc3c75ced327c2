package tools

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool"
	"wield/tool/runner"
)

// A change of a tool goes into the state file. It is tried first: what cannot be is not written.
func changeTool(app *cli.App, file, name string, change func(e *runner.Entry, t *compose.ToolChange) error) error {
	return withTools(app, file, func(box *compose.Toolbox, r *config.Result) error {
		e, err := Find(box, name)
		switch {
		case err != nil:
			return err
		case box.State == "":
			return cli.UsageErrorf("there is no place to keep it: set data in the configuration, or HOME")
		case r.Disabled(e.Tool.Name()):
			return cli.UsageErrorf(
				"tool %s is disabled by tools.disable in the configuration; nothing else can switch it on", name)
		}
		enabled := false
		err = box.Change(e.Tool.Name(), func(t *compose.ToolChange) error {
			before := t.State
			err := change(e, t)
			enabled = t.State != before && t.State != tool.StateDisabled.String()
			return err
		})
		if err == nil && enabled && e.Tool.Files != "" {
			err = box.Held.Agree(e.Tool.Files)
		}
		return err
	})
}

func newToolEnableCmd(app *cli.App, file *string) *cobra.Command {
	var auto bool
	var mode string
	cmd := &cobra.Command{
		Use:   "enable NAME",
		Short: "Enable a tool",
		Long: `Enables a tool. With --auto it is offered only if the message of the user contains one of its
keywords. --mode rw allows it to change things.`,
		Example: `  wield tool enable get_current_time
  wield tool enable get_current_date --auto`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: toolNames(app, file),
		RunE: func(_ *cobra.Command, args []string) error {
			state := tool.StateEnabled
			if auto {
				state = tool.StateAuto
			}
			return changeTool(app, *file, args[0], func(e *runner.Entry, t *compose.ToolChange) error {
				if err := setState(e, t, state); err != nil {
					return err
				}
				if auto && len(e.Tool.Auto.Words) == 0 && !e.Tool.Auto.Always {
					fmt.Fprintf(app.Stderr,
						"wield: %s has no words that it is offered for: give it some as tools.builtin.%s.auto in the "+
							"configuration\n", args[0], args[0])
				}
				if err := setMode(t, mode); err != nil {
					return err
				}
				fmt.Fprintf(app.Stdout, "%s is %s\n", e.Tool.Name(), t.State)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&auto, "auto", false, "offer it only if the message contains a keyword")
	cmd.Flags().StringVar(&mode, "mode", "", "`MODE`: ro (read only) or rw; empty: unchanged")
	return cmd
}

// newToolAcceptCmd agrees to what has changed.
func newToolAcceptCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "accept [NAME|PATH]...",
		Short: "Accept a changed tool or file",
		Long: `A tool whose files changed after its first use needs an approval for every call. A file that decides
on tools and was changed by a tool is not used. Accept accepts the current content. Without an
argument it lists what is pending.`,
		Example: `  wield tool accept
  wield tool accept deploy
  wield tool accept .wield.yaml`,
		ValidArgsFunction: toolNames(app, file),
		RunE: func(_ *cobra.Command, args []string) error {
			app.Accepts = true
			return withTools(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				if box.Held == nil {
					return cli.UsageErrorf("there is no place to keep it: set data in the configuration, or HOME")
				}
				for _, arg := range args {
					path := box.Files(arg)
					if path == "" {
						return cli.UsageErrorf("%s is neither a tool with files of its own nor a file", arg)
					}
					if err := box.Held.Agree(path); err != nil {
						return err
					}
					fmt.Fprintf(app.Stdout, "%s is agreed to\n", path)
				}
				return nil
			})
		},
	}
}

// setState notes a state, if the tool can be in it.
func setState(e *runner.Entry, t *compose.ToolChange, s tool.State) error {
	if e.Tool.States != nil && !slices.Contains(e.Tool.States, s) {
		return cli.UsageErrorf("tool %s does not support the state %s", e.Tool.Name(), s)
	}
	t.State = s.String()
	return nil
}

func setMode(t *compose.ToolChange, mode string) error {
	switch mode {
	case "":
	case "ro", "rw":
		t.Mode = mode
	default:
		return cli.UsageErrorf("the mode is ro or rw, not %q", mode)
	}
	return nil
}

func newToolDisableCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:               "disable NAME",
		Short:             "Disable a tool",
		Long:              "Disables a tool. Calls of it are rejected.",
		Example:           "  wield tool disable get_current_time",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: toolNames(app, file),
		RunE: func(_ *cobra.Command, args []string) error {
			return changeTool(app, *file, args[0], func(e *runner.Entry, t *compose.ToolChange) error {
				fmt.Fprintf(app.Stdout, "%s is disabled\n", e.Tool.Name())
				return setState(e, t, tool.StateDisabled)
			})
		},
	}
}

// toolSettings are the keys of wield tool config.
var toolSettings = []struct {
	key, doc string
	set      func(e *runner.Entry, t *compose.ToolChange, value string) error
}{
	{"state", "enabled, auto or disabled", func(e *runner.Entry, t *compose.ToolChange, value string) error {
		s, ok := tool.ParseState(value)
		if !ok || s == tool.StateDefault {
			return cli.UsageErrorf("the state is enabled, auto or disabled, not %q", value)
		}
		return setState(e, t, s)
	}},
	{"mode", "ro or rw", func(_ *runner.Entry, t *compose.ToolChange, value string) error {
		if value == "" {
			return cli.UsageErrorf("the mode is ro or rw")
		}
		return setMode(t, value)
	}},
	{"timeout", "from 1s to 300s", func(_ *runner.Entry, t *compose.ToolChange, value string) error {
		if _, err := config.ParseToolTimeout(value); err != nil {
			return cli.UsageErrorf("%w", err)
		}
		t.Timeout = value
		return nil
	}},
	{"requires_approval", "true or false", func(_ *runner.Entry, t *compose.ToolChange, value string) error {
		ask, err := strconv.ParseBool(value)
		if err != nil {
			return cli.UsageErrorf("requires_approval is true or false, not %q", value)
		}
		t.RequiresApproval = &ask
		return nil
	}},
}

func newToolConfigCmd(app *cli.App, file *string) *cobra.Command {
	var reset bool
	cmd := &cobra.Command{
		Use:   "config NAME [KEY=VALUE...]",
		Short: "Show or change a tool's limits",
		Long: "Shows the settings of a tool, or changes them. The syntax of LLF works too:\n" +
			"config set NAME KEY VALUE, config get NAME KEY, config list NAME.\n\n" +
			cli.Table(func(row func(cells ...string)) {
				for _, s := range toolSettings {
					row(s.key, s.doc)
				}
			}),
		Example: `  wield tool config get_current_time
  wield tool config get_current_time timeout=5s requires_approval=true
  wield tool config get_current_time --reset`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: toolNames(app, file),
		RunE: func(_ *cobra.Command, args []string) error {
			args, only := spokenConfig(args)
			if len(args) > 1 || reset {
				if err := changeTool(app, *file, args[0], func(e *runner.Entry, t *compose.ToolChange) error {
					if reset {
						*t = compose.ToolChange{}
					}
					return applySettings(e, t, args[1:])
				}); err != nil {
					return err
				}
			}
			return withTools(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				e, err := Find(box, args[0])
				if err != nil {
					return err
				}
				row := rowOf(e)
				known := false
				for _, pair := range [][2]string{{"state", row.State}, {"mode", string(row.Mode)},
					{"timeout", row.Timeout}, {"requires_approval", strconv.FormatBool(row.RequiresApproval)},
					{"whitelist", cli.ListOr(row.Whitelist, "(none)", "(empty)")}} {
					switch only {
					case "":
						fmt.Fprintf(app.Stdout, "%s=%s\n", pair[0], pair[1])
					case pair[0]:
						known = true
						fmt.Fprintln(app.Stdout, pair[1])
					}
				}
				if only != "" && !known {
					return cli.UsageErrorf(
						"no key %q; the keys are state, mode, timeout, requires_approval and whitelist", only)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "restore the settings of the configuration file")
	return cmd
}

// spokenConfig reads the words of LLF as arguments: set NAME KEY VALUE, get NAME KEY, list NAME. only is the key that
// is asked for.
func spokenConfig(args []string) (rest []string, only string) {
	switch word := args[0]; {
	case word == "set" && len(args) == 4:
		return []string{args[1], args[2] + "=" + args[3]}, ""
	case word == "get" && len(args) == 3:
		return args[1:2], args[2]
	case (word == "get" || word == "list") && len(args) == 2:
		return args[1:], ""
	}
	return args, ""
}

func applySettings(e *runner.Entry, t *compose.ToolChange, pairs []string) error {
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		i := slices.IndexFunc(toolSettings, func(s struct {
			key, doc string
			set      func(e *runner.Entry, t *compose.ToolChange, value string) error
		}) bool {
			return s.key == key
		})
		if !ok || i < 0 {
			return cli.UsageErrorf(
				"%q is no KEY=VALUE; the keys are state, mode, timeout and requires_approval, and the whitelist has "+
					"a command of its own", pair)
		}
		if err := toolSettings[i].set(e, t, value); err != nil {
			return err
		}
	}
	return nil
}

func newToolWhitelistCmd(app *cli.App, file *string) *cobra.Command {
	const long = `The whitelist of a tool lists patterns of paths or programs that it may use. * and ? match within a
name, ** matches any number of directories. A pattern without a slash matches the last part of a
path. Without a whitelist only the policy decides.`
	return cli.Group("whitelist", "Show or change a tool's whitelist", long,
		`  wield tool whitelist list NAME
  wield tool whitelist add NAME 'docs/**'
  wield tool whitelist remove NAME 1`,
		&cobra.Command{
			Use: "list NAME", Short: "List the patterns", Long: long, Example: "  wield tool whitelist list NAME",
			Args: cobra.ExactArgs(1), ValidArgsFunction: toolNames(app, file),
			RunE: func(_ *cobra.Command, args []string) error {
				return withTools(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
					e, err := Find(box, args[0])
					if err != nil {
						return err
					}
					for i, p := range whitelistOf(e) {
						fmt.Fprintf(app.Stdout, "%d  %s\n", i+1, p)
					}
					if len(whitelistOf(e)) == 0 {
						fmt.Fprintln(app.Stderr, cli.ListOr(whitelistOf(e), "there is no whitelist",
							"the whitelist is empty: nothing is allowed"))
					}
					return nil
				})
			},
		},
		&cobra.Command{
			Use: "add NAME PATTERN", Short: "Add a pattern", Long: long,
			Example: "  wield tool whitelist add NAME '**/*.md'", Args: cobra.ExactArgs(2),
			ValidArgsFunction: toolNames(app, file), RunE: func(_ *cobra.Command, args []string) error {
				return changeTool(app, *file, args[0], func(e *runner.Entry, t *compose.ToolChange) error {
					if args[1] == "" || slices.Contains(whitelistOf(e), args[1]) {
						return cli.UsageErrorf("%q is empty or on the whitelist already", args[1])
					}
					t.Removed = slices.DeleteFunc(t.Removed, func(p string) bool { return p == args[1] })
					t.Added = append(t.Added, args[1])
					return nil
				})
			},
		},
		&cobra.Command{
			Use: "remove NAME PATTERN|NUMBER", Short: "Remove a pattern", Long: long,
			Example: "  wield tool whitelist remove NAME '**/*.md'", Args: cobra.ExactArgs(2),
			ValidArgsFunction: toolNames(app, file), RunE: func(_ *cobra.Command, args []string) error {
				return changeTool(app, *file, args[0], func(e *runner.Entry, t *compose.ToolChange) error {
					pattern, list := args[1], whitelistOf(e)
					if n, err := strconv.Atoi(pattern); err == nil && n >= 1 && n <= len(list) {
						pattern = list[n-1]
					}
					if !slices.Contains(list, pattern) {
						return cli.UsageErrorf("%q is not on the whitelist of %s", args[1], args[0])
					}
					t.Added = slices.DeleteFunc(t.Added, func(p string) bool { return p == pattern })
					t.Removed = append(t.Removed, pattern)
					return nil
				})
			},
		})
}

func whitelistOf(e *runner.Entry) []string {
	if e.Guard == nil {
		return nil
	}
	return e.Guard.Whitelist
}

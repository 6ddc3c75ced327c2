package parsing

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wield/dialect"
	"wield/dialect/profile"
	"wield/internal/cli"
	"wield/internal/config"
)

func newDialectProfileCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "profile [MODEL]",
		Short: "Show the profile of a model",
		Long: `Shows the profile that matches the name MODEL, and the pattern that matched; or the profile of that
name. Without MODEL it lists all profiles in the order in which they are tried.

A pattern is a sequence of words that must follow one another in the name; a star matches any number
of words. A word is a run of letters or of digits; case is ignored. The part after the last slash is
tried first.

Exit codes: 0 a profile matches, 1 none matches, 2 it could not run.`,
		Example: `  wield dialect profile
  wield dialect profile qwen3-coder:30b
  wield dialect profile --config wield.yaml acme-7b`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return profile.Builtin().Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			table := profile.Builtin()
			if file != "" {
				r, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
				if err != nil {
					return &cli.ExitError{Code: cli.ExitUsage, Err: err}
				}
				table = r.ProfileTable()
			}
			if len(args) == 0 {
				return listProfiles(app.Stdout, table)
			}
			p, why, ok := findProfile(table, args[0])
			if !ok {
				return fmt.Errorf("no profile for %q: all dialects are read, and none comes first", args[0])
			}
			return showProfile(app.Stdout, &p, why)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `FILE` with more profiles")
	return cmd
}

// findProfile returns the profile of this name, or the one that the model of this name gets, and why.
func findProfile(table profile.Table, name string) (p profile.Profile, why string, ok bool) {
	found, pattern, fits := table.Find(name)
	if p, ok := table.Lookup(name); ok && (!fits || found.Name != name) {
		return p, "its own name", true
	}
	return found, fmt.Sprintf("the pattern %q", pattern), fits
}

func listProfiles(w io.Writer, table profile.Table) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range table {
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Name, strings.Join(p.Dialects, ", "), p.Models)
	}
	return t.Flush()
}

func showProfile(w io.Writer, p *profile.Profile, why string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, value)
		}
	}
	line("profile", p.Name)
	line("models", p.Models)
	line("matched by", why)
	line("patterns", strings.Join(p.Patterns, ", "))
	line("dialects", strings.Join(p.Dialects, ", "))
	line("prompt uses", p.Taught())
	if p.Taught() == "" {
		line("prompt uses", "json-fence")
	}
	line("reasoning", describeThinking(&p.Thinking))
	line("drops", strings.Join(p.Drop, " "))
	line("headers", strings.Join(append(slices.Clip(p.Headers.Others), p.Headers.Own...), " "))
	line("native tools", strings.Join(p.Native, ", "))
	role := p.Role
	if role == "" {
		role = "user"
	}
	line("corrections", "role "+string(role))
	tokens := "kept by servers"
	if p.Strips {
		tokens = "usually removed by servers"
	}
	line("tokens", tokens)
	return t.Flush()
}

func describeThinking(t *dialect.Thinking) string {
	if t.Off {
		return "tags are left in the text"
	}
	s := "the usual tags"
	switch {
	case t.Opener != "":
		s = fmt.Sprintf("%q to %q", t.Opener, t.Closer)
	case t.Closer != "":
		s = fmt.Sprintf("to %q", t.Closer)
	}
	if t.Open {
		s += "; text begins inside"
	}
	switch t.Calls {
	case dialect.CallsNever:
		s += "; calls inside are ignored"
	case dialect.CallsAlways:
		s += "; calls inside count"
	}
	return s
}

// profileFlags adds the flags that give a text its profile.
func profileFlags(cmd *cobra.Command, f *parseFlags) {
	cmd.Flags().StringVar(&f.profile, "profile", "", "`NAME` of a profile; see wield dialect profile")
	cmd.Flags().StringVar(&f.model, "model", "", "`NAME` of the model, to find its profile")
	cmd.MarkFlagsMutuallyExclusive("profile", "model")
}

// family returns the profile that the flags name; the zero one if they name none.
func (f *parseFlags) family() (profile.Profile, error) {
	if f.profile == "" {
		p, _ := profile.Find(f.model)
		return p, nil
	}
	p, ok := profile.Lookup(f.profile)
	if !ok {
		return p, cli.UsageErrorf("no profile %q; wield dialect profile shows them all", f.profile)
	}
	return p, nil
}

package tools

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
)

func newToolWatchCmd(app *cli.App, file *string) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print changes and errors of tools as they happen",
		Long: `Watches the tool directories and prints a line for each tool that is added, changed or removed,
until it is interrupted. Errors are printed with file and line; the previous version stays in use.`,
		Example: "  wield tool watch",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 10*time.Millisecond {
				return cli.UsageErrorf("--every %s: it is at least 10ms", every)
			}
			return withTools(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				watchTools(cmd, app, box, every)
				return nil
			})
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "interval between checks")
	return cmd
}

// watchTools prints what changes until the command ends.
func watchTools(cmd *cobra.Command, app *cli.App, box *compose.Toolbox, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	told := map[string]bool{}
	for _, p := range box.Problems {
		told[p.Error()] = true
	}
	fmt.Fprintf(app.Stderr, "watching %s\n", cli.Count(len(box.Registry.Entries()), "tool"))
	for {
		select {
		case <-cmd.Context().Done():
			return
		case <-tick.C:
		}
		news, errs := box.Refresh(cmd.Context())
		if cmd.Context().Err() != nil {
			return
		}
		for _, what := range []struct {
			word  string
			names []string
		}{{"added", news.Added}, {"changed", news.Changed}, {"removed", news.Removed}} {
			for _, name := range what.names {
				fmt.Fprintf(app.Stdout, "%s %s\n", what.word, name)
			}
		}
		now := map[string]bool{}
		for _, err := range errs {
			if now[err.Error()] = true; !told[err.Error()] {
				fmt.Fprintf(app.Stderr, "wield: %v\n", err)
			}
		}
		told = now
	}
}

package main

import (
	"io"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/metrics"
)

func newMetricsCmd(app *cli.App) *cobra.Command {
	return cli.Group("metrics", "Print a Grafana dashboard for the metrics of serve",
		"serve shows its numbers in the format of Prometheus at /metrics.",
		`  wield metrics dashboard > wield.json`,
		&cobra.Command{
			Use:   "dashboard",
			Short: "Print a Grafana dashboard",
			Long: `Prints a dashboard for Grafana, as JSON to be imported there. It shows the numbers of /metrics: answers, calls of tools and what
was wrong with them, tokens, durations, backends and their queues.`,
			Example: `  wield metrics dashboard > wield.json`,
			Args:    cli.NoArgs,
			RunE: func(cmd *cobra.Command, args []string) error {
				_, err := io.WriteString(app.Stdout, metrics.Dashboard())
				return err
			},
		})
}

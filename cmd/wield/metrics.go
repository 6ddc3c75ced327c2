package main

import (
	"io"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/metrics"
)

func newMetricsCmd(app *cli.App) *cobra.Command {
	return cli.Group("metrics", "Print a Grafana dashboard for the metrics of serve",
		"serve exports Prometheus metrics at /metrics.",
		`  wield metrics dashboard > wield.json`,
		&cobra.Command{
			Use:   "dashboard",
			Short: "Print a Grafana dashboard",
			Long: `Prints a Grafana dashboard to import, for the metrics at /metrics: responses, tool calls and their
errors, tokens, latency, backends and queues.`,
			Example: `  wield metrics dashboard > wield.json`,
			Args:    cli.NoArgs,
			RunE: func(cmd *cobra.Command, args []string) error {
				_, err := io.WriteString(app.Stdout, metrics.Dashboard())
				return err
			},
		})
}

package tools

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/mask"
	"wield/internal/worker"
)

// NewWorkerCmd returns wield worker.
func NewWorkerCmd(app *cli.App) *cobra.Command {
	var file, connect, key, name string
	var log cli.LogFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run tools of this machine for a service elsewhere",
		Long: `Connects to a service and runs the calls that it sends, with the tools, policy and sandbox of this
machine's configuration. The connection is outbound, so it works behind NAT or a firewall. The service
needs workers.enabled and a key with role: worker.

The key is worker.key in the configuration, or WIELD_KEY. The worker reconnects automatically. On
SIGTERM it finishes running calls (timeouts.drain at most) and accepts no new ones.`,
		Example: `  wield worker --connect https://wield.example --config worker.yaml
  wield worker --connect http://10.0.0.5:8420 --key file:worker.key --name build-1`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
			if err != nil {
				return err
			}
			w := &r.Worker
			if connect != "" {
				w.Connect = connect
			}
			if name != "" {
				w.Name = name
			}
			if key != "" {
				if err := w.Key.Parse(key); err != nil {
					return cli.UsageErrorf("--key: %w", err)
				}
			}
			logger, err := log.Logger(app.Stderr)
			if err != nil {
				return err
			}
			return work(cmd.Context(), app, r, slog.New(mask.Handler(logger.Handler(), app.Hidden)))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "config", "", "configuration `FILE`")
	flags.StringVar(&connect, "connect", "", "base `URL` of the service (default worker.connect)")
	flags.StringVar(&key, "key", "",
		"where the key is, as `REF` of the form env:NAME or file:PATH (default worker.key, else env:WIELD_KEY)")
	flags.StringVar(&name, "name", "", "`NAME` of this worker (default worker.name, else the host name)")
	log.Add(cmd, app)
	return cmd
}

// work runs calls until ctx ends.
func work(ctx context.Context, app *cli.App, r *config.Result, log *slog.Logger) error {
	c := &r.Worker
	if c.Connect == "" {
		return cli.UsageErrorf("a worker connects to a service: --connect URL, or worker.connect in the configuration")
	}
	side, err := compose.OpenWorker(r.Config, compose.ToolEnvironment{Getenv: app.Getenv, File: r.File,
		Self: app.Self, Behind: true})
	if err != nil {
		return err
	}
	for _, p := range side.Box.Problems {
		log.Error("cannot load a tool", "error", p)
	}
	o := side.Options
	o.Connect, o.Version, o.Log = c.Connect, cli.ThisBuild().Version, log
	if err := identify(&o, c, app.Getenv); err != nil {
		return errors.Join(err, side.Box.Close())
	}
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		side.Box.Follow(follow, log)
	}()
	err = worker.Run(ctx, o)
	stop()
	<-over
	return errors.Join(err, side.Box.Close())
}

// identify sets the worker's name and key.
func identify(o *worker.Options, c *config.Worker, getenv func(string) string) (err error) {
	if o.Name = c.Name; o.Name == "" {
		if o.Name, err = os.Hostname(); err != nil {
			return cli.UsageErrorf("this machine has no name: --name NAME")
		}
	}
	if o.Key = getenv("WIELD_KEY"); !c.Key.IsZero() {
		o.Key, err = c.Key.Resolve(getenv)
	}
	return err
}

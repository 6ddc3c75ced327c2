package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/cluster"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/shorten"
)

// NewClusterCmd returns wield cluster.
func NewClusterCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := cli.Group("cluster", "Look at services and their workers",
		`Workers run tools on other machines for a service; wield worker starts one. Workers that offer the
same tools form a pool. A worker whose definition of a tool changes gets no calls of that tool until
wield cluster accept.`,
		`  wield cluster status --connect http://127.0.0.1:8420 --key env:WIELD_KEY
  wield cluster show build
  wield cluster accept build run_tests`,
		newClusterStatusCmd(app, &file), newClusterShowCmd(app, &file), newClusterAcceptCmd(app, &file))
	cmd.PersistentFlags().StringVar(&file, "config", "", "configuration `FILE`")
	return cmd
}

func newClusterStatusCmd(app *cli.App, file *string) *cobra.Command {
	var connect, key string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List services and workers",
		Long:    "Lists services and workers, as a running service reports them. Requires a key of role admin.",
		Example: "  wield cluster status --key file:admin.key",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := app.Load(config.Options{File: *file, Getenv: app.Getenv})
			if err != nil {
				return err
			}
			if connect == "" {
				connect = "http://" + string(r.Listen)
				if r.TLS.Cert != "" {
					connect = "https://" + string(r.Listen)
				}
			}
			var ref config.Secret
			if key == "" {
				key = "env:WIELD_KEY"
			}
			if err := ref.Parse(key); err != nil {
				return cli.UsageErrorf("--key: %w", err)
			}
			secret, err := ref.Resolve(app.Getenv)
			if err != nil {
				return cli.UsageErrorf("--key: %w", err)
			}
			text, err := clusterStatus(cmd.Context(), connect, secret)
			if err != nil {
				return err
			}
			if asJSON {
				_, err := fmt.Fprintf(app.Stdout, "%s\n", strings.TrimSpace(string(text)))
				return err
			}
			var s cluster.Status
			if err := json.Unmarshal(text, &s); err != nil {
				return err
			}
			_, err = io.WriteString(app.Stdout, statusText(&s))
			return err
		},
	}
	cmd.Flags().StringVar(&connect, "connect", "", "base `URL` of the service (default: listen of the configuration)")
	cmd.Flags().StringVar(&key, "key", "",
		"where the key is, as `REF` of the form env:NAME or file:PATH (default env:WIELD_KEY)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// clusterStatus asks a service who is there.
func clusterStatus(ctx context.Context, base, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/api/v1/cluster", nil)
	if err != nil {
		return nil, cli.UsageErrorf("--connect: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		var said struct {
			Error struct{ Message, Fix string } `json:"error"`
		}
		_ = json.Unmarshal(text, &said) // else the status has to do
		return nil, fmt.Errorf("the service answers %d: %s; %s", answer.StatusCode, said.Error.Message, said.Error.Fix)
	}
	return text, nil
}

// statusText writes who is there as tables.
func statusText(s *cluster.Status) string {
	text := cli.Table(func(row func(...string)) {
		row("SERVICE", "ID", "VERSION", "SINCE", "STATE", "WORKERS", "REQUESTS", "RUNS", "WAITING", "LAG", "CONFIG")
		for _, one := range s.Services {
			name, state := one.Name, "ready"
			if one.Self {
				name += " *"
			}
			if one.Draining {
				state = "draining"
			}
			row(name, one.ID, one.Version, one.Started.Local().Format(time.DateTime), state, fmt.Sprint(one.Workers),
				fmt.Sprint(one.Requests), fmt.Sprint(one.Runs), fmt.Sprint(one.Waiting),
				one.Lag.Round(time.Millisecond).String(), one.Config)
		}
	}) + "\n"
	if len(s.Workers) == 0 {
		return text + "\nNo workers are connected. Start one: wield worker --connect URL.\n"
	}
	text += "\n" + cli.Table(func(row func(...string)) {
		row("WORKER", "ID", "VERSION", "CALLS", "STATE", "LABELS", "TOOLS")
		for _, w := range s.Workers {
			state := "ready"
			switch {
			case w.Leaving:
				state = "leaving"
			case w.Silent > 2*cluster.BeatEvery.Milliseconds():
				state = fmt.Sprintf("silent for %d s", w.Silent/1000)
			}
			var labels []string
			for _, name := range slices.Sorted(maps.Keys(w.Labels)) {
				labels = append(labels, name+"="+w.Labels[name])
			}
			row(w.Key+"/"+w.Name, w.ID, w.Version, fmt.Sprintf("%d/%d", w.Busy, w.Concurrent), state,
				shorten.Text(strings.Join(labels, ","), 60), shorten.Text(strings.Join(w.Tools, ","), 60))
		}
	}) + "\n"
	if s.Waiting > 0 {
		text += fmt.Sprintf("\n%s for a worker with room.\n", cli.Count(s.Waiting, "call")+" waiting")
	}
	return text
}

func newClusterShowCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "show POOL",
		Short: "Show the tools of a pool and what changed",
		Long: `Prints the accepted tools of a pool, and the changes of withheld ones. It reads the data directory
of the service.`,
		Example: "  wield cluster show build",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := app.Load(config.Options{File: *file, Getenv: app.Getenv})
			if err != nil {
				return err
			}
			pins, pool := compose.Pins(r.Config, app.Getenv), compose.PoolPins(args[0])
			agreed, err := pins.Agreed(pool)
			if err != nil {
				return err
			}
			if len(agreed) == 0 {
				return cli.UsageErrorf("no worker of a pool %s was ever seen here", args[0])
			}
			for _, d := range agreed {
				fmt.Fprintf(app.Stdout, "%s\n    %s\n", d.Name, cli.Plain(d.Description))
			}
			return showChanged(app.Stdout, pins, pool)
		},
	}
}

func newClusterAcceptCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "accept POOL [TOOL...]",
		Short: "Accept changed tools of workers",
		Long: `Accepts changed tool definitions, so that the workers that have them get calls again.
Without TOOL it is all of the pool's. It changes the data directory of the service, which notices within seconds.`,
		Example: "  wield cluster show build\n  wield cluster accept build run_tests",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := app.Load(config.Options{File: *file, Getenv: app.Getenv})
			if err != nil {
				return err
			}
			return acceptPins(app, r, compose.PoolPins(args[0]), args[0], args[1:])
		},
	}
}

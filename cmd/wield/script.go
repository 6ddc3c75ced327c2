package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/bridge"
	"wield/chat"
	"wield/internal/cli"
	"wield/internal/cli/runs"
	"wield/internal/compose"
	"wield/internal/script"
	"wield/internal/scriptserver"
)

func newScriptCmd(app *cli.App) *cobra.Command {
	return cli.Group("script", "Serve, run, check and record scripted models",
		`A scripted model answers from a scenario: a file that maps requests to responses and faults. Name a scenario by
its file, or by its name in the built-in catalogue (wield demo --list). wield script record writes one
from a conversation. A short one:

  wield: scenario/v1
  turns:
    - id: answer
      when: {last: tool}
      reply: [{text: "It is ${result.temp} degrees."}]
    - id: ask
      when: {user: "/weather in (?<city>.+)/i"}
      reply: [{fence: json, call: {name: get_weather, args: {city: "${city}"}}}]`,
		`  wield script serve weather.scenario.yaml
  wield script run weather.scenario.yaml
  wield script lint *.scenario.yaml`,
		newScriptServeCmd(app), newScriptRunCmd(app), newScriptLintCmd(app), runs.NewScriptRecordCmd(app))
}

// catalogueFlag is the directory of the scenarios that are named without a file.
type catalogueFlag struct{ dir string }

func (f *catalogueFlag) add(cmd *cobra.Command, app *cli.App) {
	cmd.Flags().StringVar(&f.dir, "catalogue", app.Getenv("WIELD_CATALOGUE"),
		"`DIR` with scenarios, instead of the built-in catalogue")
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		names, _ := script.CatalogueNames(f.fs()) // without names there are still files
		var list []string
		for _, n := range names {
			if strings.HasPrefix(n, start) {
				list = append(list, n)
			}
		}
		return list, cobra.ShellCompDirectiveDefault
	}
}

func (f *catalogueFlag) fs() fs.FS { return script.Catalogue(f.dir) }

// open opens the scenarios that args name, or all of the catalogue if there are none.
func (f *catalogueFlag) open(args []string, log *slog.Logger) ([]*script.Live, error) {
	if len(args) == 0 {
		names, err := script.CatalogueNames(f.fs())
		if err != nil {
			return nil, err
		}
		args = names
	}
	var list []*script.Live
	var errs []error
	for _, arg := range args {
		l, err := script.Find(f.fs(), arg, log)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, l)
	}
	return list, errors.Join(errs...)
}

type scriptServeFlags struct {
	catalogue catalogueFlag
	listen    string
	speaks    string
	speed     string
	faults    []string
	log       cli.LogFlags
}

func newScriptServeCmd(app *cli.App) *cobra.Command {
	var f scriptServeFlags
	cmd := &cobra.Command{
		Use:   "serve SCENARIO...",
		Short: "Serve scenarios over HTTP, like a model server",
		Long: `Serves scenarios as if they were model servers, each in its protocol and with its faults. With one
scenario, it answers for every model name; with several, the model name selects one. (Lumo's
protocol has no model names: the first Lumo scenario answers.)

Changed files are reloaded; invalid ones are reported and ignored. GET /__script/journal returns all
exchanges, POST /__script/faults adds faults. State is kept per value of the header X-Wield-Test,
else per API key.`,
		Example: `  wield script serve weather.scenario.yaml
  wield script serve --listen 127.0.0.1:0 demo weeklyLimit
  wield script serve --fault '{on: "*", nth: 1, do: {status: 503, retry_after: 1s}}' demo
  wield script serve --fault '{do: {cut_after: 100b, reset: true}}' --speed instant demo`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageErrorf("%s needs a scenario: a file, or a name of the catalogue\nTry '%s --help'.",
					cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return scriptServe(cmd.Context(), app, &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8421", "`HOST:PORT` to listen on; port 0: any free port")
	fl.StringVar(&f.speaks, "speaks", "",
		"`PROTOCOL` instead of that of the scenario: openai, anthropic, ollama, lumo or raw")
	fl.StringVar(&f.speed, "speed", "1x", "`SPEED` factor such as 10x, or instant")
	fl.StringArrayVar(&f.faults, "fault", nil, "`FAULT` as in the list faults of a scenario; repeatable")
	f.catalogue.add(cmd, app)
	f.log.Add(cmd, app)
	return cmd
}

func scriptServe(ctx context.Context, app *cli.App, f *scriptServeFlags, args []string) error {
	log, err := f.log.Logger(app.Stderr)
	if err != nil {
		return err
	}
	o := scriptserver.Options{Log: log, Speaks: script.Speaks(f.speaks)}
	if o.Play.Speed, err = parseSpeed(f.speed); err != nil {
		return err
	}
	if f.speaks != "" && !scriptserver.Knows(o.Speaks) {
		return cli.UsageErrorf("--speaks: no protocol %q; there are openai, anthropic, ollama, lumo and raw", f.speaks)
	}
	for _, text := range f.faults {
		fault, err := script.ParseFault(text)
		if err != nil {
			return cli.UsageErrorf("--fault: %w", err)
		}
		o.Play.Faults = append(o.Play.Faults, fault)
	}
	if o.Scenarios, err = f.catalogue.open(args, log); err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	l, err := cli.Listen(ctx, f.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(app.Stdout, "scripted models listen on http://%s\n", l.Addr())
	for _, live := range o.Scenarios {
		if s, err := live.Scenario(); err == nil {
			fmt.Fprintf(app.Stdout, "  %-20s %s\n", s.Name, s.Speaks)
		}
	}
	srv := &http.Server{Handler: scriptserver.New(o), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// Replies may last for hours on purpose: they are cut.
	if err := srv.Close(); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// parseSpeed reads 10x, 10 or instant.
func parseSpeed(s string) (float64, error) {
	if s == "instant" {
		return -1, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "x"), 64)
	if err != nil || v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, cli.UsageErrorf("--speed must be a number above 0 such as 10x, or instant, not %q", s)
	}
	return v, nil
}

func newScriptRunCmd(app *cli.App) *cobra.Command {
	var catalogue catalogueFlag
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Play scenarios and check their expectations",
		Long: `Plays both sides of each scenario without network or delays, and checks the section expect. Client
messages, tools and results come from the section client, or are derived from the turns. Without an
argument the catalogue is run.

Exit codes: 0 all expectations hold, 1 one does not, 2 a scenario could not be run.`,
		Example: `  wield script run weather.scenario.yaml
  wield script run`,
		RunE: func(cmd *cobra.Command, args []string) error { return scriptRun(cmd.Context(), app, &catalogue, args) },
	}
	catalogue.add(cmd, app)
	return cmd
}

func scriptRun(ctx context.Context, app *cli.App, catalogue *catalogueFlag, args []string) error {
	list, err := catalogue.open(args, nil)
	code := cli.ExitOK
	if err != nil {
		fmt.Fprintf(app.Stderr, "wield: %v\n", err)
		code = cli.ExitUsage
	}
	for _, l := range list {
		s, err := l.Scenario()
		if err != nil {
			return err
		}
		o, err := play(ctx, s, nil)
		if err != nil {
			fmt.Fprintf(app.Stdout, "error  %s: %v\n", s.Name, err)
			code = cli.ExitUsage
			continue
		}
		failed := check(s, o)
		if len(failed) == 0 {
			fmt.Fprintf(app.Stdout, "ok     %s (%s)\n", s.Name, cli.Count(o.Requests, "request"))
			continue
		}
		code = max(code, cli.ExitFailed)
		fmt.Fprintf(app.Stdout, "FAIL   %s\n", s.Name)
		for _, err := range failed {
			fmt.Fprintf(app.Stdout, "       %v\n", err)
		}
	}
	if code != cli.ExitOK {
		return &cli.ExitError{Code: code}
	}
	return nil
}

// check returns what does not hold. Where nothing is expected, the run must at least not end in an error.
func check(s *script.Scenario, o *script.DriveOutcome) []error {
	if s.Expect != nil {
		return s.Expect.Check(o)
	}
	if o.Err != nil {
		return []error{o.Err}
	}
	return nil
}

// play runs a scenario against itself with a bridge in between. tap sees each stream of the scripted model, watch each
// exchange of the client; p may be nil.
func play(ctx context.Context, s *script.Scenario, p *watcher) (*script.DriveOutcome, error) {
	o := bridge.Options{Mode: bridge.ModeText}
	switch {
	case s.NativeTools:
		o.Mode = bridge.ModeNative
	case s.Speaks == script.SpeaksLumo: // as it is served and connected to
		var err error
		if o, err = compose.LumoBridge(); err != nil {
			return nil, err
		}
	}
	if s.Client != nil && s.Client.Dialect != "" {
		o.Decode.Dialect = s.Client.Dialect
	}
	model := script.New(s, script.Options{Speed: -1, Dialect: o.Decode.Dialect})
	var backend chat.Model = model
	var watch func(script.Exchange)
	if p != nil {
		backend = &tap{model: model, w: p}
		watch = p.exchange
	}
	out, err := script.Drive(ctx, bridge.New(backend, o), s, watch)
	if err != nil {
		return nil, err
	}
	out.Requests = len(model.Player().Journal())
	return out, nil
}

func newScriptLintCmd(app *cli.App) *cobra.Command {
	var catalogue catalogueFlag
	cmd := &cobra.Command{
		Use:   "lint [SCENARIO...]",
		Short: "Check scenarios without running them",
		Long: `Reports problems in scenarios with file, line and column: unknown keys, values and dialects,
unreachable turns, undefined captures and states, and more. Without an argument it checks the
catalogue. The exit code is 1 if there are problems.`,
		Example: `  wield script lint weather.scenario.yaml`,
		RunE:    func(cmd *cobra.Command, args []string) error { return scriptLint(app, &catalogue, args) },
	}
	catalogue.add(cmd, app)
	return cmd
}

func scriptLint(app *cli.App, catalogue *catalogueFlag, args []string) error {
	list, err := catalogue.open(args, nil)
	found := err != nil
	if err != nil {
		fmt.Fprintln(app.Stdout, err)
	}
	for _, l := range list {
		s, err := l.Scenario()
		if err != nil {
			return err
		}
		for _, f := range script.Lint(s) {
			found = true
			fmt.Fprintln(app.Stdout, f)
		}
	}
	if found {
		return &cli.ExitError{Code: cli.ExitFailed}
	}
	return nil
}

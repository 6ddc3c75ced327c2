package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/config"
	"wield/internal/tune"
	"wield/model/script"
)

// tuneFlags are what the command line says.
type tuneFlags struct {
	file     string
	upstream config.Upstream
	scenario string
	dialects []string
	modes    []string
	rounds   int
	timeout  time.Duration
	asJSON   bool
	write    bool
	quiet    bool
}

func newTuneCmd(app *app) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [MODEL]",
		Short: "Find out how a model calls tools best",
		Long: `Asks a model for calls that are known beforehand: one call, several at once, nested arguments, strings that are hard to write, and
a question that needs no tool. It is asked through its backend's function calling, and in text in each of some dialects, as
often as --rounds says. Each way is one attempt; nothing is sent back to the model for correction.

The table says for each way how often the calls were valid as they were written, and after they were mended, how often the
right tools were called, and how often with the right arguments. In brackets stand the bounds of the true rate with a
confidence of 95 %. Tokens (in and out, where the server says) and latency are those of one request, in the median.

Recommended is the way with the highest lower bound of right arguments; among equals function calling, then fewer tokens. The keys
that say so are printed, and put into the configuration file with --write: the rest of that file stays as it is.

MODEL is a model of the configuration; it may be left out if there is only one. --upstream and --model name one without a
configuration.

Exit codes: 0 a way was found, 2 it could not run, 3 the server cannot be reached, 7 no way gives a right call.`,
		Example: `  wield tune coder
  wield tune coder --rounds 10 --write
  wield tune --upstream http://127.0.0.1:11434/v1 --model qwen2.5-coder:14b
  wield tune coder --modes text --dialects hermes,json-fence,tool-call-tag
  wield tune coder --json > coder.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runTune(cmd, app, &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.upstream.URL, "upstream", "", "base `URL` of an OpenAI-compatible server")
	fl.StringVar(&f.upstream.Key, "upstream-key", "", "where the server's key is, as `REF` of the form env:NAME or file:PATH")
	fl.StringVar(&f.upstream.Model, "model", "", "the model's `NAME` at the upstream server")
	fl.StringVar(&f.scenario, "scenario", "", "scenario `FILE` of a scripted model to ask instead")
	fl.StringSliceVar(&f.dialects, "dialects", nil, "dialects to try (default: those of the model's profile, then "+strings.Join(tune.DefaultDialects, ", ")+")")
	fl.StringSliceVar(&f.modes, "modes", []string{"native", "text"}, "ways to try: native, text or both")
	fl.IntVar(&f.rounds, "rounds", 3, "how often the suite is asked in each way")
	fl.DurationVar(&f.timeout, "timeout", 2*time.Minute, "time for one request")
	fl.BoolVar(&f.asJSON, "json", false, "print the figures and every trial as JSON")
	fl.BoolVar(&f.write, "write", false, "put the recommended keys into the configuration file")
	fl.BoolVar(&f.quiet, "quiet", false, "no progress on the error stream")
	return cmd
}

func runTune(cmd *cobra.Command, app *app, f *tuneFlags, args []string) error {
	o := tune.Options{Dialects: f.dialects, Rounds: f.rounds, Timeout: f.timeout}
	text := false
	for _, m := range f.modes {
		switch m {
		case "native":
			o.Native = true
		case "text":
			text = true
		default:
			return usageErrorf("--modes: %q is neither native nor text", m)
		}
	}
	if !text {
		o.Dialects = []string{}
	}
	if f.rounds < 1 {
		return usageErrorf("--rounds must be at least 1")
	}
	c, err := config.Load(config.Options{File: f.file, Getenv: app.getenv, Upstream: f.upstream})
	if err != nil {
		return err
	}
	if f.scenario != "" {
		c.AddScripted(demoModel, f.scenario)
		args = []string{demoModel}
	}
	name, err := tunedModel(c.Config, f, args)
	if err != nil {
		return err
	}
	model, known, done, err := c.Behind(config.Environment{Getenv: app.getenv, Catalogue: script.Catalogue(app.getenv("WIELD_CATALOGUE"))}, name)
	if err != nil {
		return usageErrorf("%w", err)
	}
	defer done()
	o.Model, o.Bridge = name, known
	total, err := tune.Count(o)
	if err != nil {
		return usageErrorf("%w", err)
	}
	all, err := tune.Trials(cmd.Context(), model, o)
	if err != nil {
		return usageErrorf("%w", err)
	}
	var trials []tune.Trial
	for t := range all {
		trials = append(trials, t)
		if !f.quiet {
			fmt.Fprintf(app.stderr, "%d/%d %s: %s: %s\n", len(trials), total, t.Candidate, t.Probe, said(&t))
		}
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	r := tune.Summarise(name, trials)
	if f.asJSON {
		e := json.NewEncoder(app.stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(struct {
			*tune.Report
			Patch  string       `json:"patch,omitempty"`
			Trials []tune.Trial `json:"trials"`
		}{r, patchOf(r), trials}); err != nil {
			return err
		}
	} else if err := printTuned(app, r); err != nil {
		return err
	}
	if !slices.ContainsFunc(trials, func(t tune.Trial) bool { return t.Err == nil }) {
		return fmt.Errorf("tune: every request failed: %w", trials[0].Err)
	}
	if !r.Useful() {
		return &exitError{exitMalformed, errors.New("tune: no way that was tried gave a right call")}
	}
	if !f.write {
		return nil
	}
	return writeTuned(app, c, name, r)
}

// tunedModel returns the name of the model that is meant.
func tunedModel(c *config.Config, f *tuneFlags, args []string) (string, error) {
	names := c.ModelNames()
	switch {
	case len(args) == 1:
		return args[0], nil
	case f.upstream.Model != "":
		return f.upstream.Model, nil
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", usageErrorf("no model is configured: name one with --upstream URL --model NAME")
	}
	return "", usageErrorf("which model? The configuration has %v", names)
}

func said(t *tune.Trial) string {
	switch {
	case t.Failed != "":
		return "failed: " + t.Failed
	case t.RightArgs && t.FirstTry:
		return "right"
	case t.RightArgs:
		return "right, mended"
	case t.RightTool:
		return "other arguments"
	case t.Valid:
		return "another tool"
	}
	return "no valid call"
}

func patchOf(r *tune.Report) string {
	if !r.Useful() {
		return ""
	}
	return r.Patch()
}

func printTuned(app *app, r *tune.Report) error {
	if err := r.WriteText(app.stdout); err != nil {
		return err
	}
	if !r.Useful() {
		return nil
	}
	fmt.Fprintf(app.stdout, "\nRecommended: %s.", r.Rows[r.Best].Candidate)
	if r.Tie {
		fmt.Fprint(app.stdout, " The trials do not tell it from all others for certain; more --rounds do.")
	}
	_, err := fmt.Fprintf(app.stdout, "\n\n%s", r.Patch())
	return err
}

func writeTuned(app *app, c *config.Result, name string, r *tune.Report) error {
	if c.File == "" {
		return usageErrorf("--write: there is no configuration file; put the lines above into one")
	}
	if err := config.SetModel(c.File, name, r.Settings(), app.getenv); err != nil {
		if errors.Is(err, config.ErrNotWritten) {
			return fmt.Errorf("--write: %w", err)
		}
		return err
	}
	_, err := fmt.Fprintf(app.stderr, "written to %s\n", c.File)
	return err
}

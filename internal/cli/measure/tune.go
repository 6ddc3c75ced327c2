package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/script"
	"wield/internal/tune"
)

// tuneFlags are the flags of wield tune.
type tuneFlags struct {
	file     string
	upstream config.Upstream
	scenario string
	dialects []string
	modes    []string
	rounds   int
	all      bool
	at       int // a time
	timeout  time.Duration
	asJSON   bool
	write    bool
	force    bool
	quiet    bool
}

func NewTuneCmd(app *cli.App) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [MODEL]",
		Short: "Find the best way for a model to call tools",
		Long: `Measures how a model calls tools best. It asks for known calls (one, several, nested arguments,
difficult strings, none needed) through function calling, in the model's chat template and in
several dialects, --rounds times each, without retries. All are asked the same questions; an option
that can no longer win is dropped (--all keeps it). If the model calls no tool by itself, the
options are asked again with a required call.

The table shows how often calls were valid as written and after repair, had the right tool and the
right arguments, with 95 % confidence intervals, and the median tokens and latency of a request.
Recommended is the option with the highest lower bound for right arguments; on a tie function
calling, then fewer tokens. --write saves the recommended keys in the configuration file if the difference to
the other options is significant (sign test, 5 %), or with --force.

MODEL may be omitted if there is only one. --upstream and --model need no configuration. With
neither, a scripted model is measured.

Exit codes: 0 an option was found, 2 it could not run, 3 server unreachable, 7 no option gives a
correct call.`,
		Example: `  wield tune coder
  wield tune coder --rounds 10 --write
  wield tune --upstream http://127.0.0.1:11434/v1 --model qwen2.5-coder:14b
  wield tune coder --modes text --dialects hermes,json-fence,tool-call-tag`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runTune(cmd, app, &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.upstream.URL, "upstream", "", "base `URL` of an OpenAI-compatible server")
	fl.StringVar(&f.upstream.Key, "upstream-key", "", "key of that server: `REF` is env:NAME or file:PATH")
	fl.StringVar(&f.upstream.Model, "model", "", "`NAME` of the model, at --upstream or in the configuration")
	fl.StringVar(&f.scenario, "scenario", "", "measure a scripted model: scenario `FILE` or built-in name")
	fl.StringSliceVar(&f.dialects, "dialects", nil, "dialects to try (default: those of the model's profile, then "+
		strings.Join(tune.DefaultDialects, ", ")+")")
	fl.StringSliceVar(&f.modes, "modes", []string{"native", "template", "text"}, "ways to try: native, template, text")
	fl.IntVar(&f.rounds, "rounds", 3, "repetitions of the questions")
	fl.BoolVar(&f.all, "all", false, "ask every question, even if it cannot change the result")
	fl.IntVar(&f.at, "concurrent", 1, "parallel questions; more increase the latency")
	fl.DurationVar(&f.timeout, "timeout", 2*time.Minute, "time limit for one request")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON, with every trial")
	fl.BoolVar(&f.write, "write", false, "save the recommended keys in the configuration file")
	fl.BoolVar(&f.force, "force", false, "with --write, save them even if the difference is not significant")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func runTune(cmd *cobra.Command, app *cli.App, f *tuneFlags, args []string) error {
	o := tune.Options{Dialects: f.dialects, Rounds: f.rounds, Timeout: f.timeout, Concurrent: f.at, All: f.all}
	text := false
	for _, m := range f.modes {
		switch m {
		case "native":
			o.Native = true
		case "text":
			text = true
		case "template":
			o.Template = true
		default:
			return cli.UsageErrorf("--modes: %q is none of native, template, text", m)
		}
	}
	if !text {
		o.Dialects = []string{}
	}
	if f.rounds < 1 || f.at < 1 || f.timeout <= 0 {
		return cli.UsageErrorf("--rounds and --concurrent must be at least 1, and --timeout more than nothing")
	}
	if f.upstream.URL == "" && f.upstream.Key == "" && f.upstream.Model != "" {
		if len(args) > 0 {
			return cli.UsageErrorf("two models are named: %s, and %s by --model", args[0], f.upstream.Model)
		}
		args, f.upstream.Model = []string{f.upstream.Model}, ""
	}
	c, err := app.Load(config.Options{File: f.file, Getenv: app.Getenv, Upstream: f.upstream})
	if err != nil {
		return err
	}
	name, inFile, err := tunedModel(app, c.Config, f, args)
	if err != nil {
		return err
	}
	// What makes it pointless to ask is said before a long time goes by.
	switch {
	case f.write && !inFile:
		return cli.UsageErrorf(
			"--write: the model %s does not stand in a configuration file; put what is printed without --write into "+
				"one", name)
	case c.Models[name].Expose == "tool_request":
		return cli.UsageErrorf(
			"models.%s.expose is tool_request, which has one dialect only: there is nothing to choose", name)
	}
	model, known, done, err := compose.Behind(c.Config,
		compose.Environment{Getenv: app.Getenv, Catalogue: script.Catalogue(app.Getenv("WIELD_CATALOGUE"))}, name)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	defer done()
	o.Model, o.Bridge = name, known
	if o.Template {
		if why := tune.Told(cmd.Context(), known.Template); why != nil {
			o.Template = false
			if cmd.Flags().Changed("modes") {
				return cli.UsageErrorf("--modes template: %w", why)
			}
			if !f.quiet && known.Template != nil {
				fmt.Fprintf(app.Stderr, "mode template is not tried: %v\n", why)
			}
		}
	}
	all, err := tune.Trials(cmd.Context(), model, o)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	var trials []tune.Trial
	start := time.Now()
	for t := range all {
		trials = append(trials, t)
		if !f.quiet {
			n := len(trials)
			fmt.Fprintf(app.Stderr, "%d/%d %s: %s: %s%s\n", n, n+t.Left, t.Candidate, t.Probe, said(&t),
				left(time.Since(start), n, n+t.Left))
		}
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	r := tune.Summarise(name, trials)
	if f.asJSON {
		e := json.NewEncoder(app.Stdout)
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
		return &cli.ExitError{Code: cli.ExitMalformed, Err: errors.New("tune: no way that was tried gave a right call")}
	}
	switch {
	case !f.write:
		return nil
	case r.Tie && !f.force:
		return errors.New(
			"--write: not written: the difference to the other ways is not significant. Use more --rounds, or --force")
	}
	return writeTuned(app, c, name, r)
}

// practiceModel is the scripted model that is asked when there is no other.
const practiceModel = "oneDialect"

// tunedModel returns the name of the model that is meant, and whether the configuration file holds it. A scripted
// model is added to c.
func tunedModel(app *cli.App, c *config.Config, f *tuneFlags, args []string) (name string, inFile bool, err error) {
	names := c.ModelNames()
	upstream := f.upstream.Model
	switch {
	case len(args) > 0 && (f.scenario != "" || upstream != "") || f.scenario != "" && upstream != "":
		return "", false, cli.UsageErrorf("MODEL, --upstream and --scenario each name a model; give one of them")
	case f.scenario != "":
		c.AddScripted(cli.DemoModel, f.scenario)
		return cli.DemoModel, false, nil
	case upstream != "":
		return upstream, false, nil
	case len(args) == 1:
		return args[0], true, nil
	case len(names) == 1:
		return names[0], true, nil
	case len(names) == 0:
		fmt.Fprintf(app.Stderr,
			"no model is configured; measuring the scripted model %s. For your own: --upstream URL --model NAME\n",
			practiceModel)
		c.AddScripted(practiceModel, practiceModel)
		return practiceModel, false, nil
	}
	return "", false, cli.UsageErrorf("which model? The configuration has %s", strings.Join(names, ", "))
}

func said(t *tune.Trial) string {
	switch {
	case t.Failed != "":
		return "failed: " + t.Failed
	case t.RightArgs && t.FirstTry:
		return "right"
	case t.RightArgs:
		return "right, repaired"
	case t.RightTool:
		return "other arguments"
	case t.Valid:
		return "another tool"
	}
	return "no valid call"
}

// left says how long the rest takes at most, if it takes long enough to be said.
func left(took time.Duration, done, total int) string {
	rest := took / time.Duration(done) * time.Duration(total-done)
	if rest < 10*time.Second {
		return ""
	}
	return fmt.Sprintf(" (at most about %v left)", rest.Round(10*time.Second))
}

func patchOf(r *tune.Report) string {
	if !r.Useful() {
		return ""
	}
	return r.Patch()
}

func printTuned(app *cli.App, r *tune.Report) error {
	if err := r.WriteText(app.Stdout); err != nil {
		return err
	}
	if !r.Useful() {
		return nil
	}
	fmt.Fprintf(app.Stdout, "\nRecommended: %s.", r.Rows[r.Best].Candidate)
	if r.Rows[r.Best].Candidate.Required {
		fmt.Fprint(app.Stdout,
			" The model calls no tool by itself: this is for requests that require a call (tool_choice: required).")
	}
	if r.Tie {
		fmt.Fprint(app.Stdout, " The difference to other options is not significant; use more --rounds.")
	}
	_, err := fmt.Fprintf(app.Stdout, "\n\n%s", r.Patch())
	return err
}

func writeTuned(app *cli.App, c *config.Result, name string, r *tune.Report) error {
	if err := config.SetModel(c.File, name, r.Settings(), app.Getenv); err != nil {
		if errors.Is(err, config.ErrNotWritten) {
			return fmt.Errorf("--write: %w", err)
		}
		return err
	}
	_, err := fmt.Fprintf(app.Stderr, "written to %s\n", c.File)
	return err
}

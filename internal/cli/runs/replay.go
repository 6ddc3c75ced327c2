package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wield/agent"
	"wield/chat"
	"wield/dialect"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/playback"
	"wield/internal/script"
	"wield/internal/shorten"
	"wield/journal"
	"wield/tool"
	"wield/tool/policy"
)

// A replayFlags holds the flags of wield replay.
type replayFlags struct {
	file    string
	dialect string
	repair  string
	model   string
	split   string
	from    int
	asJSON  bool
}

func NewReplayCmd(app *cli.App) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay RUN | SESSION | FILE",
		Short: "Replay a recorded run and report differences",
		Long: `Reads the model output of a recorded run again, with this version and configuration, and reports
where calls, texts, repairs or retries differ. Recorded tool results are reused: no server is asked
and no tool runs. With --model another model answers instead.

RUN and SESSION are in the journal; FILE is the output of wield sessions export.

Exit codes: 0 no difference, 1 a difference, 2 it could not be replayed.`,
		Example: `  wield replay run_6f1c...
  wield replay --split every session.jsonl
  wield replay --dialect hermes run_6f1c...
  wield replay --model qwen2.5-coder run_6f1c...`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), app, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.dialect, "dialect", "", "`NAME` of the preferred dialect, instead of the configured one")
	fl.StringVar(&f.repair, "repair", "", "`LEVEL` of repair: off or safe (default: that of the run)")
	fl.StringVar(&f.model, "model", "", "let the configured model `NAME` answer instead")
	fl.StringVar(&f.split, "split", "", "split the texts: a number of bytes, every (each byte) or random:SEED")
	fl.IntVar(&f.from, "from-turn", 0, "ignore turns before `N`, counted from 0")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object per difference")
	return cmd
}

func (f *replayFlags) run(ctx context.Context, app *cli.App, name string) error {
	split, err := parseSplit(f.split)
	if err != nil {
		return err
	}
	switch {
	case f.repair != "" && f.repair != "off" && f.repair != "safe":
		return cli.UsageErrorf("--repair %s: there are off and safe", f.repair)
	case f.model != "" && (f.split != "" || f.dialect != ""):
		return cli.UsageErrorf("--model asks a model, of which nothing is cut or read in another way")
	}
	list, err := recordings(ctx, app, f.file, name)
	if err != nil {
		return err
	}
	different := 0
	for _, r := range list {
		found, err := f.play(ctx, app, r, split)
		if err != nil {
			return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("%s: %w", r.ID, err)}
		}
		different += len(found)
		f.print(app.Stdout, r, found)
	}
	if different > 0 {
		return &cli.ExitError{Code: cli.ExitFailed, Err: nil}
	}
	return nil
}

// parseSplit reads the flag --split.
func parseSplit(text string) (playback.Split, error) {
	seed, random := strings.CutPrefix(text, "random:")
	switch {
	case text == "":
		return playback.Split{}, nil
	case text == "every":
		return playback.Split{Size: 1}, nil
	case random:
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return playback.Split{}, cli.UsageErrorf("--split random:SEED: the seed is a number")
		}
		return playback.Split{Size: -1, Seed: n}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return playback.Split{}, cli.UsageErrorf("--split %s: there are a number of bytes, every and random:SEED", text)
	}
	return playback.Split{Size: n}, nil
}

// recordings reads the runs that the command line names: those of a file, or of the journal.
func recordings(ctx context.Context, app *cli.App, file, name string) (list []*playback.Recording, err error) {
	if info, statErr := os.Stat(name); statErr == nil && info.Mode().IsRegular() {
		in, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		if list, err = playback.Read(in); err != nil {
			return nil, &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("%s: %w", name, err)}
		}
		return list, nil
	}
	err = cli.WithJournal(ctx, app, file, func(s journal.Store) error {
		list, err = playback.Load(ctx, s, name)
		if errors.Is(err, playback.ErrNoRun) {
			return cli.UsageErrorf("there is no run, session or file %s; wield sessions list shows the sessions",
				cli.Plain(name))
		}
		return err
	})
	return list, err
}

// play plays one run.
func (f *replayFlags) play(ctx context.Context, app *cli.App, r *playback.Recording, split playback.Split) (
	[]playback.Difference, error) {
	was := runFlags{modelFlags: modelFlags{file: f.file}}
	if given := r.Notes[runNote]; given != "" {
		if err := was.parse(given); err != nil {
			return nil, err
		}
		if f.file != "" {
			was.file = f.file
		}
	}
	c, err := was.load(app)
	if err != nil {
		return nil, err
	}
	env := compose.Environment{Getenv: app.Getenv, Catalogue: script.Catalogue(app.Getenv("WIELD_CATALOGUE"))}
	name := f.model
	if name == "" {
		name = r.Run.Model
		env.Backend = r.Model(split)
	}
	if err := f.adjust(c, name); err != nil {
		return nil, err
	}
	m, err := compose.NewAgentModel(c.Config, name, env)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p := playback.Player{Model: m.Model, From: f.from, Limits: was.limits(), Style: styles(app, c)}
	return p.Play(ctx, r)
}

// adjust sets what the flags say in place of the configuration. A model that is not configured any more is
// read as any is.
func (f *replayFlags) adjust(c *config.Result, name string) error {
	m, ok := c.Models[name]
	if !ok {
		if f.model != "" {
			return cli.UsageErrorf("--model %s: there is no such model; there are %s", name,
				strings.Join(c.ModelNames(), ", "))
		}
		c.AddScripted(name, "")
		m = c.Models[name]
	}
	if f.dialect != "" {
		d, ok := dialect.Lookup(f.dialect)
		if !ok {
			return cli.UsageErrorf("--dialect %s: there is no such dialect; wield dialect list shows those there are",
				f.dialect)
		}
		m.Dialect = config.Dialect(d.Name)
	}
	if f.repair != "" {
		m.Repair = f.repair
	}
	if f.model == "" {
		m.Probe, m.Fallback = false, nil // which would be requests that were not made then
	}
	c.Models[name] = m
	return nil
}

// styles returns how the results of the configured tools are written.
func styles(app *cli.App, c *config.Result) func(string) tool.Style {
	box, err := compose.OpenToolbox(c.Config, compose.ToolEnvironment{Getenv: app.Getenv, File: c.File, Self: app.Self})
	if err != nil {
		return nil // then they are written as those of most
	}
	known := map[string]tool.Style{}
	for _, e := range box.Registry.Entries() {
		known[e.Tool.Name()] = e.Tool.Style
	}
	if box.Close() != nil {
		return nil
	}
	return func(name string) tool.Style { return known[name] }
}

func (f *replayFlags) print(w io.Writer, r *playback.Recording, found []playback.Difference) {
	if !f.asJSON && len(found) == 0 {
		fmt.Fprintf(w, "%s: %s, nothing differs\n", cli.Plain(r.ID), cli.Count(len(r.Turns), "turn"))
		return
	}
	if !f.asJSON {
		fmt.Fprintf(w, "%s: %s\n", cli.Plain(r.ID), cli.Count(len(found), "difference"))
	}
	for i := range found {
		d := &found[i]
		if f.asJSON {
			fmt.Fprintf(w, "%s\n", d.JSON())
			continue
		}
		fmt.Fprintf(w, "turn %d, %s\n  recorded  %s\n  now       %s\n", d.Turn, d.What, onLine(d.Recorded),
			onLine(d.Now))
	}
}

// onLine makes a recorded text fit for a line.
func onLine(text string) string {
	if text == "" {
		return "(none)"
	}
	return policy.Visible(shorten.Text(text, 400))
}

// limits returns the limits of a run of these flags.
func (f *runFlags) limits() agent.Limits {
	if f.turns == 0 {
		f.turns, f.calls = runIterations, runCalls
	}
	return agent.Limits{Iterations: f.turns, Calls: f.calls, PerTool: chat.NoLimit, Time: f.time, Tokens: f.tokens,
		Cost: f.cost}
}

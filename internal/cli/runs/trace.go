package runs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/config"
	"wield/internal/mask"
	"wield/internal/playback"
	"wield/internal/trace"
	"wield/journal"
)

func NewTraceCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := cli.Group("trace", "Export recorded runs to tracing tools",
		`Exports recorded runs in the formats of other programs.`,
		`  wield trace export run_6f1c... > run.jsonl
  wield trace export --as otlp run_6f1c... | curl -H 'Content-Type: application/json' -d @- http://127.0.0.1:4318/v1/traces`,
		newTraceExportCmd(app, &file))
	cmd.PersistentFlags().StringVar(&file, "config", "", "configuration `FILE`")
	return cmd
}

// An exporter writes recordings in one form.
type exporter func(e *traceExport, w io.Writer, list []*playback.Recording) error

// exporters are the forms of wield trace export, but for the entries themselves.
var exporters = map[string]exporter{
	"otlp": func(e *traceExport, w io.Writer, list []*playback.Recording) error {
		return trace.WriteOTLP(w, cli.ThisBuild().Version, list[0].ID, e.spans(list))
	},
	"chrome": func(e *traceExport, w io.Writer, list []*playback.Recording) error {
		return trace.WriteChrome(w, e.spans(list))
	},
	"scenario": func(e *traceExport, w io.Writer, list []*playback.Recording) error {
		return writeScenario(e.app, e.file, w, "recorded", list, e.redact)
	},
}

type traceExport struct {
	app     *cli.App
	file    string
	as      string
	redact  bool
	content bool
	out     string
}

func newTraceExportCmd(app *cli.App, file *string) *cobra.Command {
	e := traceExport{app: app}
	cmd := &cobra.Command{
		Use:   "export RUN | SESSION | FILE",
		Short: "Export a run as a trace",
		Long: `Writes a run, or all runs of a session, in one of these formats:

  jsonl     the journal entries, which wield replay reads; only for runs in the journal
  otlp      OpenTelemetry spans for a collector: run, model request, call, approval
  chrome    the same for chrome://tracing and compatible viewers
  scenario  a scenario, like wield script record

Spans contain messages only with --content. --redact masks secrets, which the journal already does
by default.`,
		Example: `  wield trace export run_6f1c... > run.jsonl
  wield trace export --as chrome --out run.trace.json run_6f1c...`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.file = *file
			return e.run(cmd.Context(), args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&e.as, "as", "jsonl", "`FORMAT`: jsonl, otlp, chrome or scenario")
	fl.BoolVar(&e.redact, "redact", false, "mask secrets")
	fl.BoolVar(&e.content, "content", false, "otlp, chrome: include messages in the spans")
	fl.StringVarP(&e.out, "out", "o", "", "write the output to `FILE`")
	return cmd
}

func (e *traceExport) run(ctx context.Context, name string) (err error) {
	write := exporters[e.as]
	if write == nil && e.as != "jsonl" {
		return cli.UsageErrorf("--as %s: there are jsonl, otlp, chrome and scenario", e.as)
	}
	w := e.app.Stdout
	if e.out != "" {
		file, err := os.Create(e.out)
		if err != nil {
			return cli.UsageErrorf("--out: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		w = file
	}
	if write == nil {
		return e.entries(ctx, w, name)
	}
	list, err := recordings(ctx, e.app, e.file, name)
	if err != nil {
		return err
	}
	return write(e, w, list)
}

// entries writes what the journal has of a run, its questions too, or of a whole session.
func (e *traceExport) entries(ctx context.Context, w io.Writer, name string) error {
	return cli.WithJournal(ctx, e.app, e.file, func(s journal.Store) error {
		out := bufio.NewWriter(w)
		q := journal.Query{Session: name}
		if id, run, err := lookUpRun(ctx, s, name); err != nil {
			return err
		} else if id == name {
			q.Session = run.Session
		}
		o := journal.Options{}
		if e.redact {
			o.Mask = mask.Text
		}
		wanted := map[string]bool{name: true} // the run, and its questions
		for entry, err := range s.Read(ctx, q) {
			if err != nil {
				return err
			}
			if r := entry.Record.Question; r != nil && r.Run == name {
				wanted[entry.Stream] = true
			}
			if entry.Deleted() || q.Session != name && !wanted[entry.Stream] {
				continue
			}
			line, err := entry.Line(o)
			if err != nil {
				return err
			}
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

func (e *traceExport) spans(list []*playback.Recording) []*trace.Recorded {
	var spans []*trace.Recorded
	for _, r := range list {
		spans = append(spans, r.Spans(e.content))
	}
	if e.redact {
		for _, s := range spans {
			redact(s)
		}
	}
	return spans
}

// redact masks what looks like a secret in spans.
func redact(s *trace.Recorded) {
	for i := range s.Attributes {
		s.Attributes[i].Value = mask.Text(s.Attributes[i].Value)
	}
	for _, e := range s.Events {
		for i := range e.Attributes {
			e.Attributes[i].Value = mask.Text(e.Attributes[i].Value)
		}
	}
	for _, inner := range s.Inside {
		redact(inner)
	}
}

// writeScenario writes recordings as one scenario.
func writeScenario(app *cli.App, file string, w io.Writer, name string, list []*playback.Recording, masked bool) error {
	hide := func(s string) string { return s }
	if masked {
		hide = mask.Text
	}
	c, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	for _, r := range list {
		if r.Session != list[0].Session {
			return cli.UsageErrorf("the runs of one session make a scenario; these are of several")
		}
	}
	text, err := playback.Scenario(name, list, styles(app, c), hide)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

type recordFlags struct {
	file   string
	name   string
	out    string
	unmask bool
}

func NewScriptRecordCmd(app *cli.App) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record RUN | SESSION | FILE",
		Short: "Turn a recorded run into a scenario",
		Long: `Turns a recorded run into a scenario: the scripted model answers as the recorded one did, request by
request. wield script run plays both sides; wield run --scenario plays the model for real tools. Use
it as a test, a demo or a bug report. Secrets are masked.

RUN and SESSION are in the journal; FILE is the output of wield sessions export.`,
		Example: `  wield script record run_6f1c... -o bug.scenario.yaml
  wield script run bug.scenario.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), app, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.name, "name", "", "`NAME` of the scenario (default: that of the output file, else recorded)")
	fl.StringVarP(&f.out, "out", "o", "", "write the scenario to `FILE`")
	fl.BoolVar(&f.unmask, "unmasked", false, "do not mask secrets")
	return cmd
}

func (f *recordFlags) run(ctx context.Context, app *cli.App, name string) (err error) {
	list, err := recordings(ctx, app, f.file, name)
	if err != nil {
		return err
	}
	if f.name == "" {
		f.name = "recorded"
		if base := scenarioName(f.out); base != "" {
			f.name = base
		}
	}
	w := app.Stdout
	if f.out != "" {
		file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // it holds what was said
		if err != nil {
			return cli.UsageErrorf("--out: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		w = file
	}
	return writeScenario(app, f.file, w, f.name, list, !f.unmask)
}

// scenarioName returns the name of a scenario in this file, as far as it can be one.
func scenarioName(file string) string {
	name := file[strings.LastIndexAny(file, `/\`)+1:]
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".yml"), ".yaml"), ".scenario")
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' &&
			r <= 'Z') {
			return r
		}
		return '-'
	}, name)
}

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
	"wield/internal/playback"
	"wield/internal/trace"
	"wield/journal"
	"wield/module/mask"
)

func NewTraceCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := cli.Group("trace", "Export recorded runs to tracing tools",
		`What is recorded of a run, in the forms that other programs read.`,
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
		Long: `Writes what is recorded of a run, or of all runs of a session, in one of these forms:

  jsonl     the entries of the journal, which wield replay reads; only of what stands in the journal
  otlp      spans in the protocol of OpenTelemetry, as a collector takes them: the run, each request to the model, each call, each
            wait for a person
  chrome    the same for the tracing view of a browser (chrome://tracing) and programs like it
  scenario  a scenario for the scripted model, as wield script record writes it

Spans hold what was said only with --content. --redact takes out what looks like a secret, as the journal does unless it is told not
to.`,
		Example: `  wield trace export run_6f1c... > run.jsonl
  wield trace export --as chrome --out run.trace.json run_6f1c...`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.file = *file
			return e.run(cmd.Context(), args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&e.as, "as", "jsonl", "form: jsonl, otlp, chrome or scenario")
	fl.BoolVar(&e.redact, "redact", false, "mask what looks like a secret")
	fl.BoolVar(&e.content, "content", false, "with otlp and chrome: put what was said into the spans")
	fl.StringVarP(&e.out, "out", "o", "", "`FILE` for the output; empty: the standard output")
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
		Long: `Writes a scenario in which a scripted model answers as the model of a recorded run did, request for request, the answers that had to be
corrected too. Its client asks what was asked, offers the tools that were offered and gives back what they gave, so that wield script
run plays the whole on its own; wield run --scenario plays the model's side before real tools. It is a test, a demo, and a bug report.

What looks like a secret is masked. A run stands in the journal, or in a FILE as wield sessions export prints it.`,
		Example: `  wield script record run_6f1c... -o bug.scenario.yaml
  wield script run bug.scenario.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), app, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.name, "name", "", "`NAME` of the scenario; empty: that of the output file, else recorded")
	fl.StringVarP(&f.out, "out", "o", "", "`FILE` for the scenario; empty: the standard output")
	fl.BoolVar(&f.unmask, "unmasked", false, "leave in what looks like a secret")
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
		file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
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
		if r < 0x80 && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/bridge"
	"wield/internal/capture"
	"wield/internal/cli"
	"wield/internal/cli/tools"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/doctor"
	"wield/internal/script"
	"wield/internal/tune"
)

// doctorTimeout limits one request unless told otherwise: a large model may have to be loaded first.
const doctorTimeout = time.Minute

// doctorFlags are the flags of wield doctor.
type doctorFlags struct {
	file     string
	upstream config.Upstream
	timeout  time.Duration
	dialects []string
	quick    bool
	asJSON   bool
}

func newDoctorCmd(app *cli.App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [MODEL...]",
		Short: "Check the setup and suggest fixes",
		Long: `Checks the configuration, the MCP servers, and each model (or only those you name): whether the
backend is reachable, accepts the key, answers and streams, whether function calling works, and
which text formats the model follows. Each problem is printed with a fix. Nothing is changed.

Tool calls are tested with one round of the questions of wield tune; --quick skips them.

Exit codes: 0 all checks passed, 1 a check failed, 2 the configuration is invalid.`,
		Example: `  wield doctor
  wield doctor --quick
  wield doctor coder --json
  wield doctor --upstream http://127.0.0.1:11434/v1 --model qwen2.5-coder:14b`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.upstream.URL == "" && f.upstream.Model != "" {
				// as wield run and wield chat name a model of the configuration
				args, f.upstream.Model = append(args, f.upstream.Model), ""
			}
			return runDoctor(cmd.Context(), app, &f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.upstream.URL, "upstream", "", "check the OpenAI-compatible server at this base `URL` instead")
	fl.StringVar(&f.upstream.Key, "upstream-key", "", "key of that server: `REF` is env:NAME or file:PATH")
	fl.StringVar(&f.upstream.Model, "model", "",
		"`NAME` of the model at that server; without --upstream, of a configured model")
	fl.DurationVar(&f.timeout, "timeout", doctorTimeout, "time limit for one request")
	fl.StringSliceVar(&f.dialects, "dialects", nil,
		"dialects to test (default: those of the model's family, and two common ones)")
	fl.BoolVar(&f.quick, "quick", false, "do not test tool calls")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object per finding")
	return cmd
}

// flagsOfUpstream says what a fix names by its flag, where no file has the key.
var flagsOfUpstream = strings.NewReplacer("backends.upstream.url", "--upstream",
	"backends.upstream.key to env:VARIABLE", "--upstream-key to env:VARIABLE", "backends.upstream.kind", "OpenAI")

func runDoctor(ctx context.Context, app *cli.App, f *doctorFlags, args []string) error {
	if f.timeout <= 0 {
		return cli.UsageErrorf("--timeout must be positive")
	}
	p := findingPrinter{w: app.Stdout, asJSON: f.asJSON}
	c, err := app.Load(config.Options{File: f.file, Getenv: app.Getenv, Upstream: f.upstream})
	if err != nil {
		return p.problems(err)
	}
	names, err := examined(c.Config, f, args)
	if err != nil {
		return err
	}
	for _, finding := range aboutConfig(app, c) {
		p.print(finding)
	}
	if len(args) == 0 {
		found, err := tools.ExamineServers(ctx, app, f.file)
		if err != nil {
			return err
		}
		for _, finding := range found {
			p.print(finding)
		}
	}
	for _, name := range names {
		for finding := range examineModel(ctx, app, c.Config, f, name) {
			if f.upstream.URL != "" {
				finding.Fix = flagsOfUpstream.Replace(finding.Fix)
			}
			p.print(finding)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if p.err != nil {
		return p.err
	}
	if p.failed > 0 {
		return fmt.Errorf("doctor: %s failed", cli.Count(p.failed, "check"))
	}
	return nil
}

// examined returns the names of the models to look at.
func examined(c *config.Config, f *doctorFlags, args []string) ([]string, error) {
	for _, name := range args {
		if _, ok := c.Models[name]; !ok {
			return nil, cli.UsageErrorf("no model %q is configured; there are: %s", name,
				strings.Join(c.ModelNames(), ", "))
		}
	}
	switch {
	case len(args) > 0:
		return args, nil
	case f.upstream.Model != "":
		return []string{f.upstream.Model}, nil
	}
	return c.ModelNames(), nil
}

// examineModel looks at one model of the configuration.
func examineModel(ctx context.Context, app *cli.App, c *config.Config, f *doctorFlags,
	name string) iter.Seq[doctor.Finding] {
	m := c.Models[name]
	model, known, done, err := compose.Behind(c, compose.Environment{Getenv: app.Getenv,
		Catalogue: script.Catalogue(app.Getenv("WIELD_CATALOGUE"))}, name)
	if err != nil {
		return slices.Values([]doctor.Finding{{About: "model " + name, Check: "configuration", State: doctor.Failed,
			Says: err.Error(),
			Fix:  "correct the configuration"}})
	}
	p := doctor.Patient{Scripted: c.Backends[m.Backend].Kind == "script", Name: name, Backend: m.Backend,
		Model: model, Bridge: known, Served: m.Model, Address: string(c.Backends[m.Backend].URL),
		Set: tune.Candidate{Mode: bridge.Mode(m.Mode), Dialect: string(m.Dialect)}}
	if p.Served == "" {
		p.Served = name
	}
	return func(yield func(doctor.Finding) bool) {
		defer done()
		for finding := range doctor.Examine(ctx, p, doctor.Options{Timeout: f.timeout, Quick: f.quick,
			Dialects: f.dialects}) {
			if !yield(finding) {
				return
			}
			if finding.Check == "streams" && finding.State != doctor.Skipped && !f.quick && !p.Scripted {
				fmt.Fprintf(app.Stderr,
					"wield: asking %s for tool calls, which can take minutes; --quick leaves it out\n", name)
			}
		}
		if finding, ok := templateOf(ctx, app, c, f, &p); ok {
			yield(finding)
		}
	}
}

// templateOf says which dialect the chat template of a model uses, if its server shows it.
func templateOf(ctx context.Context, app *cli.App, c *config.Config, f *doctorFlags,
	p *doctor.Patient) (finding doctor.Finding, ok bool) {
	if p.Scripted || !strings.HasPrefix(p.Address, "http") {
		return finding, false
	}
	backend := c.Backends[p.Backend]
	server, err := compose.TemplateServer(&backend, app.Getenv)
	if err != nil {
		return finding, false
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	found, err := compose.InspectTemplate(ctx, server, p.Served)
	if errors.Is(err, compose.ErrNoTemplate) {
		return finding, false
	}
	finding = doctor.Finding{About: "model " + p.Name, Check: "chat template", State: doctor.Note}
	unknown := c.ProfileOf(p.Name).Name == "" && (p.Set.Dialect == "" || p.Set.Dialect == "auto")
	switch {
	case err != nil:
		finding.Says = err.Error()
	case found.Dialect == "":
		finding.Says = "writes no calls in a known dialect; mode text describes tools in the prompt; rules: " +
			found.Rules.String()
	case p.Set.Mode == bridge.ModeTemplate:
		finding.State = doctor.OK
		finding.Says = fmt.Sprintf("uses %s, which is expected in mode template; rules: %s", found.Dialect, found.Rules)
	case unknown && p.Set.Mode != bridge.ModeNative && strings.HasPrefix(p.Address, "http://"): // serve asks as well
		finding.State = doctor.OK
		finding.Says = fmt.Sprintf("uses %s, which is expected, since no profile matches the model; rules: %s",
			found.Dialect, found.Rules)
	case unknown:
		finding.Says = fmt.Sprintf("uses %s, but no profile matches the model; rules: %s", found.Dialect, found.Rules)
		finding.Fix = fmt.Sprintf("models.%s.dialect: %s", p.Name, found.Dialect)
	default:
		finding.State, finding.Says = doctor.OK, fmt.Sprintf("uses %s; rules: %s", found.Dialect, found.Rules)
	}
	return finding, true
}

// aboutConfig looks at what can be told without asking a backend.
func aboutConfig(app *cli.App, c *config.Result) []doctor.Finding {
	const about = "configuration"
	name := c.File
	if name == "" {
		name = "no file, defaults"
	}
	list := []doctor.Finding{{About: about, Check: "file", State: doctor.OK,
		Says: fmt.Sprintf("%s: %s, %s, %s", name, cli.Count(len(c.Backends), "backend"),
			cli.Count(len(c.Models), "model"), cli.Count(len(c.Keys), "key"))}}
	if len(c.Models) == 0 {
		list = append(list, doctor.Finding{About: about, Check: "models", State: doctor.Note,
			Says: "none configured; serve offers the scripted model demo",
			Fix:  "run wield init: it finds model servers on this machine and writes a configuration"})
	}
	for _, w := range slices.Concat(c.Warnings, c.GuessableKeys(app.Getenv)) {
		list = append(list, doctor.Finding{About: about, Check: "warning", State: doctor.Note, Says: w.Error(),
			Fix: "remove it, or ignore this warning"})
	}
	for _, w := range c.UnsetSecrets(app.Getenv) {
		list = append(list, doctor.Finding{About: about, Check: "secrets", State: doctor.Failed, Says: w.Error(),
			Fix: "export the variable before you start wield, or create the file"})
	}
	list = append(list, listening(c.Config))
	if c.TLS.Cert != "" {
		list = append(list, certificate(c.Config))
	}
	return append(list, prefixes(compose.CaptureDir(c.Config, app.Getenv))...)
}

// prefixes says which clients change the front of their prompts, so far as captures on disk show it.
func prefixes(dir string) (list []doctor.Finding) {
	text, err := os.ReadFile(filepath.Join(dir, capture.File))
	if err != nil {
		return nil // none are kept there
	}
	for _, r := range capture.Reports(text) {
		f := doctor.Finding{About: "client " + cmp.Or(r.Key, "without a key") + " of " + r.Model,
			Check: "prompt prefix", State: doctor.OK,
			Says: cli.Count(r.Turns, "prompt") + " began with the previous prompt"}
		if r.Lost > 0 {
			f.State = doctor.Note
			f.Says = fmt.Sprintf("%d of %s did not begin with the previous prompt; at worst, %s", r.Lost,
				cli.Count(r.Turns, "prompt"), r.Worst)
			f.Fix = "move what changes with each request to the end of the prompt, so that the server's prefix cache " +
				"holds"
		}
		list = append(list, f)
	}
	return list
}

// listening tries whether serve could listen.
func listening(c *config.Config) doctor.Finding {
	f := doctor.Finding{About: "configuration", Check: "listen", State: doctor.OK, Says: string(c.Listen) + " is free"}
	l, err := net.Listen("tcp", string(c.Listen))
	if err != nil {
		f.State, f.Says = doctor.Note, err.Error()
		f.Fix = "unless that is wield itself, choose another address with listen or --listen"
		return f
	}
	l.Close()
	return f
}

// certificate looks at how long the certificate is good for.
func certificate(c *config.Config) doctor.Finding {
	f := doctor.Finding{About: "configuration", Check: "tls", State: doctor.OK}
	end, err := c.TLS.Expires()
	left := time.Until(end)
	switch {
	case err != nil:
		f.State, f.Says, f.Fix = doctor.Failed, err.Error(),
			"put the certificate and its key, in PEM format, into the files named under tls"
	case left < 0:
		f.State, f.Says, f.Fix = doctor.Failed, "the certificate expired on "+end.Format(time.DateOnly),
			"renew it; serve loads the new file without a restart"
	case left < 14*24*time.Hour:
		f.State, f.Says, f.Fix = doctor.Note, "the certificate expires on "+end.Format(time.DateOnly),
			"renew it; serve loads the new file without a restart"
	default:
		f.Says = "the certificate is valid until " + end.Format(time.DateOnly)
	}
	return f
}

// A findingPrinter prints findings as they come.
type findingPrinter struct {
	w      io.Writer
	asJSON bool
	about  string // of the last one
	failed int
	err    error
}

func (p *findingPrinter) print(f doctor.Finding) {
	if f.State == doctor.Failed {
		p.failed++
	}
	if p.err != nil {
		return
	}
	if p.asJSON {
		p.err = json.NewEncoder(p.w).Encode(f)
		return
	}
	var b strings.Builder
	if f.About != p.about {
		p.about = f.About
		fmt.Fprintf(&b, "%s\n", f.About)
	}
	fmt.Fprintf(&b, "  %-8s %-17s %s\n", f.State, f.Check, f.Says)
	if f.Fix != "" {
		fmt.Fprintf(&b, "  %-8s %-17s fix: %s\n", "", "", f.Fix)
	}
	_, p.err = io.WriteString(p.w, b.String())
}

// problems prints what is wrong with the configuration as findings, so that a program that reads them misses nothing.
func (p *findingPrinter) problems(err error) error {
	var all config.Problems
	if !errors.As(err, &all) || !p.asJSON {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	for _, problem := range all {
		p.print(doctor.Finding{About: "configuration", Check: "file", State: doctor.Failed, Says: problem.Error(),
			Fix: "run wield config check"})
	}
	return &cli.ExitError{Code: cli.ExitUsage, Err: p.err}
}

package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wield/agent"
	"wield/chat"
	"wield/internal/cli"
	"wield/internal/cli/tools"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/script"
	"wield/journal"
	"wield/schema"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// Limits of a run from the command line, where nothing else is said.
const (
	runIterations = 50
	runCalls      = 200
)

// maxTask bounds what is read from the input.
const maxTask = 10 << 20

// A runFlags holds the flags of wield run.
type runFlags struct {
	modelFlags
	toolFlags
	outputFlags
	sessionFlags
	limitFlags
	given []string // the flags as they were given, for whoever continues the run
}

// A modelFlags says who is asked, and how.
type modelFlags struct {
	file     string
	upstream config.Upstream
	scenario string
	context  int
	system   string
	trace    bool // the model tells of every place where a call could have begun
	edits    bool // its blocks that are plainly edits are calls
}

// A toolFlags says which tools there are, and what they may do.
type toolFlags struct {
	tools  []string
	lines  []string // tools of one line of shell
	write  bool
	policy string
	rules  compose.RunRules
	onAsk  string
}

// An outputFlags says what is read and written.
type outputFlags struct {
	output  string
	outFile string
	schema  string
	input   string // form of the input
}

// A sessionFlags says which session the run belongs to.
type sessionFlags struct {
	goesOn  bool   // with the last session of this directory
	session string // to go on with
	unkept  bool
	journal journal.Store // of the run; nil: none
}

// A limitFlags bounds the run.
type limitFlags struct {
	turns  int
	calls  int
	tokens int
	cost   float64
	time   time.Duration
}

func NewRunCmd(app *cli.App) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] TASK...",
		Short: "Carry out one task with a model and tools",
		Long: `Carries out one task: asks a model, runs the tools it calls, and prints the answer. It never asks a
question. Piped input is added to the task. The answer goes to standard output, everything else to
standard error.

Without a policy, tools may read on this machine; writing, commands and network access need an
approval, and are denied unless --on-ask says otherwise. Exit codes: wield help exit-codes.`,
		Example: `  wield run "Read package.json and tell me the version"
  git diff | wield run --tools read_file "Review this change"
  wield run --output stream-json --max-turns 5 "Count the files"
  wield run --tools write_file --write --allow '{path: ["out/**"], op: [write]}' "Write a summary to out/summary.md"
  wield run --scenario calculator --tools calculator "What is 123 * 45?"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = givenFlags(cmd.Flags())
			return f.run(cmd.Context(), app, args)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// add defines the flags.
func (f *runFlags) add(fl *pflag.FlagSet) {
	f.modelFlags.add(fl)
	f.toolFlags.add(fl)
	f.outputFlags.add(fl)
	f.sessionFlags.add(fl)
	f.limitFlags.add(fl)
}

func (f *modelFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.upstream.Model, "model", "", "`NAME` of a configured model, or of one at --upstream")
	fl.StringVar(&f.upstream.URL, "upstream", "", "base `URL` of an OpenAI-compatible server")
	fl.StringVar(&f.upstream.Key, "upstream-key", "", "key of that server: `REF` is env:NAME or file:PATH")
	fl.StringVar(&f.upstream.Mode, "mode", "", "`MODE` of tool calls at --upstream: text, native, template or auto")
	fl.StringVar(&f.upstream.Dialect, "dialect", "", "`NAME` of the tool-call format to ask for")
	fl.StringVar(&f.scenario, "scenario", "", "use a scripted model: scenario `NAME` or file")
	fl.IntVar(&f.context, "context", 0, "context size in `TOKENS`; longer conversations are shortened")
	fl.StringVar(&f.system, "system", "", "instructions for the model: `TEXT`")
	cli.GroupFlags(fl, "Model", "model", "upstream", "upstream-key", "mode", "dialect", "scenario", "context", "system")
}

func (f *toolFlags) add(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.tools, "tools", nil, "offer these tools only: `NAMES`, separated by commas")
	fl.StringArrayVar(&f.lines, "sh", nil, "add a tool: a shell command such as 'disk: df -h'; repeatable")
	fl.BoolVar(&f.write, "write", false,
		"allow the tools of --tools to make changes, within the policy (default: read-only)")
	fl.StringVar(&f.policy, "policy", "", "`NAME` of the policy (default \"default\")")
	fl.StringArrayVar(&f.rules.Allow, "allow", nil,
		"allow calls: `RULE` is a tool name or {command: [git diff]}; repeatable")
	fl.StringArrayVar(&f.rules.Deny, "deny", nil, "deny calls that match `RULE`; repeatable")
	fl.StringVar(&f.onAsk, "on-ask", "deny",
		"`ACTION` when a rule asks: deny, allow, fail, wait (for wield sessions resume), webhook:URL")
	cli.GroupFlags(fl, "Tools and rules", "tools", "sh", "write", "policy", "allow", "deny", "on-ask")
}

func (f *outputFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.output, "output", "text", "`FORMAT` of the output: text, json or stream-json")
	fl.StringVarP(&f.outFile, "out", "o", "", "write the output to `FILE`")
	fl.StringVar(&f.schema, "output-schema", "", "`FILE` with a JSON Schema for the answer")
	fl.StringVar(&f.input, "input", "text", "`FORMAT` of piped input: text or stream-json")
	cli.GroupFlags(fl, "Input and output", "output", "out", "output-schema", "input")
}

func (f *sessionFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.goesOn, "continue", false, "continue the last session of this directory")
	fl.StringVar(&f.session, "session", "", "continue the session with this `ID`")
	fl.BoolVar(&f.unkept, "no-journal", false, "record nothing; an interrupted run cannot be resumed")
	cli.GroupFlags(fl, "Session", "continue", "session", "no-journal")
}

func (f *limitFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.turns, "max-turns", runIterations, "limit of model responses: `N`")
	fl.IntVar(&f.calls, "max-calls", runCalls, "limit of calls: `N`")
	fl.IntVar(&f.tokens, "max-tokens", 0, "limit of tokens, read and written: `N`")
	fl.Float64Var(&f.cost, "max-cost", 0, "limit of the cost by the configured prices: `AMOUNT`")
	fl.DurationVar(&f.time, "max-time", 0, "limit of time, such as 5m: `DURATION`")
	cli.GroupFlags(fl, "Limits", "max-turns", "max-calls", "max-tokens", "max-cost", "max-time")
}

// givenFlags returns the flags that were set, as they would be written.
func givenFlags(fl *pflag.FlagSet) []string {
	var list []string
	fl.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, v := range values {
			list = append(list, "--"+flag.Name+"="+v)
		}
	})
	return list
}

// check reports what is wrong with the flags by themselves.
func (f *runFlags) check() error {
	switch f.onAsk {
	case "deny", "allow", "fail", "wait":
	default:
		address, ok := strings.CutPrefix(f.onAsk, "webhook:")
		if !ok {
			return cli.UsageErrorf("--on-ask %s: there are deny, allow, fail, wait and webhook:URL", f.onAsk)
		}
		if _, err := newHook(address); err != nil {
			return err
		}
	}
	switch {
	case f.input != "text" && f.input != "stream-json":
		return cli.UsageErrorf("--input %s: there are text and stream-json", f.input)
	case f.goesOn && f.session != "":
		return cli.UsageErrorf("--continue and --session both say which session goes on: give one of them")
	case (f.goesOn || f.session != "") && f.unkept:
		return cli.UsageErrorf("sessions stand in the journal, which --no-journal leaves out")
	case (f.goesOn || f.session != "") && f.system != "":
		return cli.UsageErrorf("--system stands at the beginning of a session: it cannot be said later")
	}
	if f.onAsk == "wait" && f.unkept {
		return cli.UsageErrorf("--on-ask wait needs the journal, which --no-journal leaves out")
	}
	if runOutputs[f.output] == nil {
		return cli.UsageErrorf("--output %s: there are text, json and stream-json", f.output)
	}
	if f.turns < 1 || f.calls < 1 || f.tokens < 0 || f.time < 0 || !(f.cost >= 0) || f.context < 0 {
		return cli.UsageErrorf("a limit is a positive number")
	}
	return nil
}

func (f *runFlags) run(ctx context.Context, app *cli.App, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	req, err := f.request(app.Stdin, args)
	if err != nil {
		return err
	}
	r, err := f.load(app)
	if err != nil {
		return err
	}
	return f.with(ctx, app, r, func(a *agent.Agent, runner *runner.Runner) error {
		req.Model = f.upstream.Model
		if f.goesOn || f.session != "" {
			if err := f.past(ctx, a, runner, req); err != nil {
				return err
			}
		}
		if f.input == "stream-json" {
			return f.converse(ctx, app, a, runner, req)
		}
		return f.carryOut(ctx, app, a.Run(req), runner, req)
	})
}

// with makes the agent that the flags describe, and gives back what it holds when f has ended.
func (f *runFlags) with(ctx context.Context, app *cli.App, r *config.Result,
	do func(a *agent.Agent, runner *runner.Runner) error) error {
	model, err := f.model(app, r)
	if err != nil {
		return err
	}
	defer model.Close()
	f.upstream.Model = model.Name
	o := agent.Options{By: "wield run", Alike: ownNames, Prices: compose.AgentPrices(r.Config, model.Name),
		Window: compose.AgentWindow(r.Config, model.Name), Limits: f.limits()}
	if f.context > 0 {
		o.Window.Tokens = f.context
	}
	if f.cost > 0 && !o.Prices.Known {
		return cli.UsageErrorf(
			"--max-cost: it is not known what %s costs; say so in the configuration, such as prices: {%q: {in: 2.5, "+
				"out: 10}}", model.Name, model.Name)
	}
	box, err := f.box(app, r)
	if err != nil {
		return err
	}
	if !f.unkept {
		if o.Journal, err = app.OpenCounted(ctx, r.Config); err != nil {
			return errors.Join(fmt.Errorf("%w (--no-journal leaves it out)", err), box.Close())
		}
		given, err := json.Marshal(f.given)
		if err != nil {
			return errors.Join(err, o.Journal.Close(), box.Close())
		}
		f.journal = o.Journal
		o.Wait = f.onAsk == "wait" || f.onAsk == "fail"
		o.Notes = map[string]string{runNote: string(given)}
	}
	err = do(agent.New(model.Model, box.Runner, o), box.Runner)
	if o.Journal != nil {
		err = errors.Join(err, o.Journal.Close())
	}
	return errors.Join(err, box.Close())
}

// ownNames are the names under which commands ask for runs: the same person types them.
var ownNames = []string{"wield run", "wield chat"}

// runNote is the name under which the flags of a run stand in the journal.
const runNote = "wield run"

// request returns what the model is to do: the words of the command line, and what came through a pipe.
func (f *runFlags) request(stdin io.Reader, args []string) (*chat.Request, error) {
	task := strings.Join(args, " ")
	if f.input == "stream-json" {
		if task != "" {
			return nil, cli.UsageErrorf("with --input stream-json the task comes through the pipe")
		}
		req := new(chat.Request)
		if f.system != "" {
			req.Messages = []chat.Message{{Role: chat.RoleSystem, Parts: chat.Text(f.system)}}
		}
		return req, f.form(req)
	}
	if piped(stdin) {
		data, err := io.ReadAll(io.LimitReader(stdin, maxTask+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("the input: %w", err)
		case len(data) > maxTask:
			return nil, cli.UsageErrorf("the input has more than %d MiB", maxTask>>20)
		}
		if text := strings.TrimRight(string(data), "\r\n"); text != "" {
			task = strings.TrimLeft(task+"\n\n"+text, "\n")
		}
	}
	if strings.TrimSpace(task) == "" {
		return nil, cli.UsageErrorf(
			"there is no task: write it behind the flags, such as wield run \"Read package.json and tell me the " +
				"version\"")
	}
	req := &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(task)}}}
	if f.system != "" {
		req.Messages = append([]chat.Message{{Role: chat.RoleSystem, Parts: chat.Text(f.system)}}, req.Messages...)
	}
	return req, f.form(req)
}

// form asks for an answer that fits the schema of the flags, if there is one.
func (f *runFlags) form(req *chat.Request) error {
	if f.schema == "" {
		return nil
	}
	raw, err := os.ReadFile(f.schema)
	if err == nil {
		_, err = schema.Compile(raw)
	}
	if err != nil {
		return cli.UsageErrorf("--output-schema: %w", err)
	}
	req.Format = &chat.Format{Kind: chat.FormatSchema, Name: "answer", Schema: raw}
	return nil
}

// piped reports whether there is an input to read: a pipe or a file, and not a terminal or the null device.
func piped(stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok {
		return stdin != nil
	}
	info, err := file.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeNamedPipe != 0)
}

// load reads the configuration, with the project's on top.
func (f *runFlags) load(app *cli.App) (*config.Result, error) {
	o := config.Options{File: f.file, Getenv: app.Getenv}
	if f.upstream.URL != "" {
		o.Upstream = f.upstream
	}
	r, err := app.Load(o)
	if err != nil {
		return nil, err
	}
	if err := tools.Tightened(app, r.Config); err != nil {
		return nil, err
	}
	if f.scenario != "" {
		r.AddScripted(cli.DemoModel, f.scenario)
		if m := r.Models[cli.DemoModel]; f.upstream.Dialect != "" {
			m.Dialect = config.Dialect(f.upstream.Dialect)
			r.Models[cli.DemoModel] = m
		}
		if f.upstream.Model == "" {
			f.upstream.Model = cli.DemoModel
		}
	}
	if len(r.Models) == 0 {
		r.AddScripted(cli.DemoModel, cli.DemoModel)
		hint := "Connect your own with wield init, or --upstream URL --model NAME"
		if _, err := os.Stat("wield.yaml"); err == nil && f.file == "" {
			hint = "To use wield.yaml: --config wield.yaml"
		}
		fmt.Fprintln(app.Stderr, "wield: no model is configured; the scripted model demo answers. "+hint)
	}
	return r, nil
}

// model builds the model that is asked.
func (f *runFlags) model(app *cli.App, r *config.Result) (*compose.AgentModel, error) {
	names := r.ModelNames()
	name := f.upstream.Model
	if name == "" {
		if len(names) > 1 {
			return nil, cli.UsageErrorf("there are several models; choose one with --model: %s",
				strings.Join(names, ", "))
		}
		name = names[0]
	}
	if _, ok := r.Models[name]; !ok {
		return nil, cli.UsageErrorf("--model %s: there is no such model; there are %s", name, strings.Join(names, ", "))
	}
	m, err := compose.NewAgentModel(r.Config, name,
		compose.Environment{Getenv: app.Getenv, Catalogue: script.Catalogue(app.Getenv("WIELD_CATALOGUE")),
			Candidates: f.trace, Edits: f.edits})
	if err != nil {
		return nil, cli.UsageErrorf("%w", err) // nobody was asked yet: what is wrong was written by a person
	}
	return m, nil
}

// box makes the tools and the rules about them.
func (f *runFlags) box(app *cli.App, r *config.Result) (*compose.Toolbox, error) {
	box, err := compose.OpenToolbox(r.Config, compose.ToolEnvironment{Getenv: app.Getenv, File: r.File, Self: app.Self,
		Sh: f.lines})
	switch {
	case err != nil && len(f.lines) > 0:
		return nil, cli.UsageErrorf("%w", err)
	case err != nil:
		return nil, err
	}
	for _, p := range box.Problems {
		fmt.Fprintf(app.Stderr, "wield: %v\n", p)
	}
	if err := errors.Join(f.choose(box, r), f.judge(box, r)); err != nil {
		return nil, errors.Join(err, box.Close())
	}
	return box, nil
}

// choose switches the tools that the command line names on, and all others off.
func (f *runFlags) choose(box *compose.Toolbox, r *config.Result) error {
	if len(f.tools) == 0 {
		return nil
	}
	wanted := map[string]bool{"read_output": true}
	for _, name := range f.tools {
		e, err := tools.Find(box, name)
		switch {
		case err != nil:
			return err
		case r.Disabled(e.Tool.Name()):
			return cli.UsageErrorf("--tools %s: the configuration says that this tool is never offered", name)
		}
		wanted[e.Tool.Name()] = true
		if f.write {
			if err := letWrite(box.Registry, e); err != nil {
				return err
			}
		}
	}
	for _, e := range box.Registry.Entries() {
		state := tool.StateDisabled
		if wanted[e.Tool.Name()] || e.Tool.Source == config.SourceLine {
			state = tool.StateEnabled
		}
		if err := box.Registry.Set(e.Tool.Name(), state); err != nil {
			return cli.UsageErrorf("%w", err)
		}
	}
	return nil
}

// letWrite allows a tool to write, and leaves the rest of its guard as it is.
func letWrite(r *runner.Registry, e *runner.Entry) error {
	guard := tool.Guard{}
	if e.Guard != nil {
		guard = *e.Guard
	}
	guard.Mode = tool.ModeRW
	return r.SetGuard(e.Tool.Name(), &guard)
}

// judge gives the runner its policy, and what becomes of questions.
func (f *runFlags) judge(box *compose.Toolbox, r *config.Result) error {
	rules := f.rules
	for _, e := range box.Registry.Entries() {
		if e.Tool.Source == config.SourceLine { // whoever wrote the line wants it to run
			rules.Allow = append(slices.Clip(rules.Allow), e.Tool.Name())
		}
	}
	def, err := compose.RunPolicy(r, f.policy, box.Registry.Entries(), rules, append(box.Dirs, box.State)...)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	p, err := policy.New(def)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	var approvals runner.Approvals
	switch f.onAsk {
	case "allow":
		approvals = &yes{MemoryApprovals: new(runner.MemoryApprovals)}
	case "deny":
	case "fail", "wait":
		approvals = new(runner.MemoryApprovals) // with a journal, questions are kept there
	default:
		if approvals, err = newHook(strings.TrimPrefix(f.onAsk, "webhook:")); err != nil {
			return err
		}
	}
	box.Runner = box.Runner.With(func(s *runner.Settings) { s.Policy, s.Approvals = p, approvals })
	return nil
}

// A yes answers every question with yes, because the command line says so.
type yes struct{ *runner.MemoryApprovals }

func (y *yes) Ask(ctx context.Context, q runner.Question) (runner.Approval, error) {
	a, err := y.MemoryApprovals.Ask(ctx, q)
	if err != nil || a.State != runner.ApprovalPending {
		return a, err
	}
	return y.Decide(ctx, a.ID, runner.Answer{State: runner.ApprovalApproved, By: "--on-ask allow"})
}

// carryOut drives a run and prints what comes of it.
func (f *runFlags) carryOut(ctx context.Context, app *cli.App, run *agent.Run, runner *runner.Runner,
	req *chat.Request) (err error) {
	out := app.Stdout
	if f.outFile != "" {
		file, err := os.Create(f.outFile)
		if err != nil {
			return cli.UsageErrorf("--out: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	p := &runPrinter{id: run.ID(), out: out, log: app.Stderr, model: req.Model, format: req.Format}
	if p.id == "" {
		p.id = journal.NewID("run")
	}
	show := runOutputs[f.output](p)
	show.start(runner.Offered(lastText(req)))
	for e, err := range run.Events(ctx) {
		if err == nil {
			show.event(e)
		}
	}
	o := run.Outcome()
	if f.onAsk == "wait" && o.Reason == agent.EndWaiting {
		for _, a := range o.Waiting {
			fmt.Fprintf(app.Stderr, "needs approval: %s %s\n", policy.Visible(a.Tool),
				policy.Visible(string(a.Arguments)))
			fmt.Fprintf(app.Stderr, "  wield sessions resume %s --approve %s\n", run.ID(), a.ID)
		}
	}
	return show.end(ctx, o)
}

func lastText(req *chat.Request) string {
	if n := len(req.Messages); n > 0 {
		return req.Messages[n-1].Text()
	}
	return ""
}

// exitOf returns the exit code of an outcome, and why it is not 0.
func exitOf(ctx context.Context, o *agent.Outcome, format *chat.Format) (int, error) {
	needed := func() *agent.Denial {
		for i := range o.Denied {
			if o.Denied[i].Needed {
				return &o.Denied[i]
			}
		}
		return nil
	}
	switch denied := needed(); {
	case o.Err != nil:
		return cli.ExitCode(ctx, o.Err)
	case o.Reason == agent.EndWaiting:
		a := o.Waiting[0]
		return cli.ExitDenied, fmt.Errorf("%s needs an approval: %s", a.Tool, a.Why)
	case o.GaveUp:
		return cli.ExitMalformed, errors.New("the model wrote no valid call")
	case denied != nil:
		return cli.ExitDenied, fmt.Errorf("a call of %s was denied: %s", denied.Tool, denied.Why)
	case o.Failing:
		return cli.ExitTool, errors.New("a tool failed again and again, and the run was stopped")
	case o.Limit != "":
		return cli.ExitLimit, fmt.Errorf("the limit on %s was reached", limitNames[o.Limit])
	case o.Reason == agent.EndEmpty:
		return cli.ExitFailed, errors.New("the model gave no answer")
	case fits(o.Text, format) != nil:
		return cli.ExitMalformed, fmt.Errorf("the answer does not have the form of --output-schema: %w",
			fits(o.Text, format))
	}
	return cli.ExitOK, nil
}

// limitNames are the limits in the words of an error.
var limitNames = map[agent.LimitKind]string{
	agent.LimitIterations: "answers of the model (--max-turns)",
	agent.LimitCalls:      "calls (--max-calls)",
	agent.LimitPerTool:    "calls of one tool",
	agent.LimitTime:       "time (--max-time)",
	agent.LimitTokens:     "tokens (--max-tokens)",
	agent.LimitCost:       "cost (--max-cost)",
	agent.LimitRepeats:    "repeated calls",
}

// fits reports why an answer does not have the form that it should have.
func fits(answer string, format *chat.Format) error {
	if format == nil {
		return nil
	}
	s, err := schema.Compile(format.Schema)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(answer)
	if !json.Valid([]byte(text)) {
		return errors.New("it is no JSON")
	}
	for _, v := range s.Validate(text) {
		return errors.New(v.String())
	}
	return nil
}

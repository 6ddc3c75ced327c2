package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/dialect"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/schema"
	"wield/schema/near"
	"wield/schema/shape"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

func NewToolCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := cli.Group("tool", "List, configure, run and write tools",
		`A tool is something that a model can ask wield to do. These commands list, run and configure tools. Changes are
saved in tools.json in the data directory, for this configuration; these commands do not edit the configuration file.`,
		`  wield tool list
  wield tool enable get_current_time
  wield tool run get_current_time timezone=Europe/Oslo
  wield tool run --sh 'lines: wc {path:path}' lines path=notes.txt
  wield tool show get_current_time --as hermes`,
		newToolListCmd(app, &file), newToolShowCmd(app, &file), newToolRunCmd(app, &file), newToolLintCmd(app, &file),
		newToolTestCmd(app, &file), newToolEnableCmd(app, &file), newToolDisableCmd(app, &file),
		newToolAcceptCmd(app, &file), newToolConfigCmd(app, &file), newToolWhitelistCmd(app, &file),
		newToolWatchCmd(app, &file), newToolNewCmd(app, &file), newToolAddCmd(app, &file), newToolImportCmd(app, &file),
		newToolExportCmd(app, &file))
	cmd.PersistentFlags().StringVar(&file, "config", "", "configuration `FILE`")
	cmd.PersistentFlags().StringArrayVar(&app.Lines, "sh", nil,
		"add a tool that runs a shell command, such as 'disk: df -h'")
	return cmd
}

// toolbox reads the configuration, with the project's on top, and makes its tools. Whoever gets one closes it.
func toolbox(app *cli.App, file string) (*compose.Toolbox, *config.Result, error) {
	r, err := app.Load(config.Options{File: file, Getenv: app.Getenv, AllowPending: app.Accepts})
	if err != nil {
		return nil, nil, err
	}
	if err := Tightened(app, r.Config); err != nil {
		return nil, nil, err
	}
	box, err := compose.OpenToolbox(r.Config, compose.ToolEnvironment{Getenv: app.Getenv, File: r.File, Self: app.Self,
		Sh: app.Lines})
	if err != nil {
		return nil, nil, err
	}
	return box, r, nil
}

// Tightened puts the project's file on top of a configuration, if there is one in the working directory.
func Tightened(app *cli.App, c *config.Config) error {
	if c.PendingProject(config.ProjectFile, app.Getenv) != nil {
		return nil // the tools tell so
	}
	p, _, err := config.LoadProject(config.ProjectFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if len(p.Deny)+len(p.Ask) == 0 {
		c.Tools.Disable = append(c.Tools.Disable, p.Tools.Disable...)
		return nil
	}
	c.Tighten(p)
	return nil
}

// withTools runs f with all tools.
func withTools(app *cli.App, file string, f func(box *compose.Toolbox, r *config.Result) error) error {
	box, r, err := toolbox(app, file)
	if err != nil {
		return err
	}
	for _, p := range box.Problems {
		fmt.Fprintf(app.Stderr, "wield: %v\n", p)
	}
	return errors.Join(f(box, r), box.Close())
}

// Find returns the tool of the given name.
func Find(box *compose.Toolbox, name string) (*runner.Entry, error) {
	if e, ok := box.Registry.Lookup(name); ok {
		return e, nil
	}
	if err := box.Registry.Missing(name); err != nil {
		return nil, fmt.Errorf("tool %s is not available: %w; wield mcp list says why", name, err)
	}
	var names []string
	for _, e := range box.Registry.Entries() {
		names = append(names, e.Tool.Name())
	}
	return nil, cli.UsageErrorf("no tool %q%s; wield tool list shows them all", name, near.Hint(name, names))
}

// Names returns the names of the tools of a configuration, without connecting to MCP servers.
func Names(app *cli.App, r *config.Result) []string {
	box, err := compose.OpenToolbox(r.Config, compose.ToolEnvironment{Getenv: app.Getenv, File: r.File, Self: app.Self,
		Behind: true})
	if err != nil {
		return nil
	}
	defer box.Close()
	var names []string
	for _, e := range box.Registry.Entries() {
		names = append(names, e.Tool.Name())
	}
	return names
}

// toolNames completes names of tools.
func toolNames(app *cli.App, file *string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		quiet := *app
		quiet.Stderr = io.Discard
		if len(args) == 0 {
			withTools(&quiet, *file, func(box *compose.Toolbox, _ *config.Result) error {
				for _, e := range box.Registry.Entries() {
					names = append(names, e.Tool.Name())
				}
				return nil
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func newToolListCmd(app *cli.App, file *string) *cobra.Command {
	var enabled, asJSON bool
	var as string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tools and their states",
		Long: `Lists all tools and their states: enabled, disabled, or auto (offered only if the message of the
user contains one of its keywords). --as prints the definitions of those that are not disabled, as a
model sees them.`,
		Example: "  wield tool list\n  wield tool list --enabled\n  wield tool list --as hermes\n  wield tool list " +
			"--json",
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withTools(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				var rows []toolRow
				var defs []chat.Tool
				for _, e := range box.Registry.Entries() {
					if !enabled && as == "" || e.State != tool.StateDisabled {
						rows, defs = append(rows, rowOf(e)), append(defs, e.Tool.Definition)
					}
				}
				if as != "" {
					return printAs(app.Stdout, as, defs)
				}
				if asJSON {
					return cli.PrintLines(app.Stdout, rows)
				}
				if n := len(box.Problems); n > 0 {
					fmt.Fprintf(app.Stderr, "wield: %s, see above: tools may be missing from this list\n",
						cli.Count(n, "problem"))
				}
				return printTools(app.Stdout, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&enabled, "enabled", false, "omit disabled tools")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().StringVar(&as, "as", "", "print the definitions in this `DIALECT`")
	return cmd
}

// printAs writes definitions as a model is shown them in a dialect.
func printAs(w io.Writer, name string, defs []chat.Tool) error {
	d, ok := dialect.Lookup(name)
	if !ok {
		return cli.UsageErrorf("no dialect %q; wield dialect list shows them all", name)
	}
	_, err := fmt.Fprintf(w, "%s\n", d.AppendTools(nil, defs))
	return err
}

// A toolRow describes a tool in a list.
type toolRow struct {
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	State            string          `json:"state"`
	Auto             []string        `json:"auto,omitempty"`
	Mode             tool.Mode       `json:"mode,omitempty"`
	Whitelist        []string        `json:"whitelist"` // null: there is none
	RequiresApproval bool            `json:"requires_approval"`
	Timeout          string          `json:"timeout,omitempty"`
	Style            tool.Style      `json:"style"`
	Source           string          `json:"source,omitempty"`
	Hash             string          `json:"hash"`
	Parameters       json.RawMessage `json:"parameters,omitempty"`
}

func rowOf(e *runner.Entry) toolRow {
	t := e.Tool
	row := toolRow{Name: t.Name(), Description: t.Definition.Description, State: e.State.String(), Auto: t.Auto.Words,
		RequiresApproval: t.Dangerous, Style: t.Style, Source: t.Source, Hash: e.Hash,
		Parameters: t.Definition.Parameters}
	if g := e.Guard; g != nil {
		row.Mode, row.Whitelist, row.RequiresApproval = g.Mode, g.Whitelist, g.RequiresApproval || t.Dangerous
		if g.Timeout > 0 {
			row.Timeout = config.Duration(g.Timeout).String()
		}
	}
	return row
}

func printTools(w io.Writer, rows []toolRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		about, _, _ := strings.Cut(row.Description, ". ")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", row.Name, row.State, row.Mode, strings.TrimSuffix(about, "."))
	}
	return t.Flush()
}

func newToolShowCmd(app *cli.App, file *string) *cobra.Command {
	var as string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Aliases: []string{"info"},
		Short: "Show a tool's description, schema and limits",
		Long: `Shows a tool: state, permissions and parameters. --as prints the definition as a model sees it in
that dialect, --json as one JSON object.`,
		Example: `  wield tool show get_current_time
  wield tool show get_current_time --as llama3-json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: toolNames(app, file),
		RunE: func(_ *cobra.Command, args []string) error {
			return withTools(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				e, err := Find(box, args[0])
				switch {
				case err != nil:
					return err
				case as != "":
					return printAs(app.Stdout, as, []chat.Tool{e.Tool.Definition})
				case asJSON:
					return cli.PrintLines(app.Stdout, []toolRow{rowOf(e)})
				}
				return showTool(app.Stdout, e)
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "print the definition in this `DIALECT`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func showTool(w io.Writer, e *runner.Entry) error {
	row := rowOf(e)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, value)
		}
	}
	line("name", row.Name)
	line("what", row.Description)
	line("state", row.State)
	line("offered for", strings.Join(row.Auto, ", "))
	line("mode", string(row.Mode))
	line("whitelist", cli.ListOr(row.Whitelist, "there is none", "nothing"))
	line("asks a person", cli.YesNo(row.RequiresApproval))
	line("timeout", row.Timeout)
	line("results as", row.Style.String())
	line("from", row.Source)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(row.Parameters) == 0 {
		return nil
	}
	var schema strings.Builder
	if err := indent(&schema, row.Parameters); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nParameters:\n\n%s\n", schema.String())
	return err
}

func indent(b *strings.Builder, raw json.RawMessage) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(raw)
}

// A toolRun holds the flags and arguments of wield tool run.
type toolRun struct {
	file                *string
	yes, enable, asJSON bool
	policy              string
	style               string
	timeout             time.Duration
	answers             []string // to what the tool asks, in order
}

func newToolRunCmd(app *cli.App, file *string) *cobra.Command {
	f := toolRun{file: file}
	cmd := &cobra.Command{
		Use:   "run NAME [ARGUMENTS | NAME=VALUE...]",
		Short: "Run a tool like a model's call",
		Long: `Runs one call as if a model had made it: argument parsing, schema, the tool's own checks, policy,
limits, tool. Arguments are a JSON object, - for one on standard input, or NAME=VALUE pairs, which
are converted to the type of the parameter. The result is printed as a model sees it; progress goes
to standard error.

The policy default, or --policy, decides. Without policies, tools that only read files of the
workspace run, and other calls need an approval: they are printed, not run, unless --yes is set.

Exit codes: 0 success, 2 unknown tool or bad arguments, 4 disabled, denied or not approved, 6 the
tool failed.`,
		Example: `  wield tool run get_current_time
  wield tool run get_current_time timezone=Asia/Tokyo
  wield tool run get_current_date '{"timezone":"UTC"}' --json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: toolNames(app, file),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTools(app, *file, func(box *compose.Toolbox, r *config.Result) error {
				return f.run(cmd, app, box, r, args)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.yes, "yes", false, "approve the call if needed")
	fl.BoolVar(&f.enable, "enable", false, "run a disabled tool, too")
	fl.BoolVar(&f.asJSON, "json", false, "print events as JSON lines, the result last")
	fl.StringVar(&f.policy, "policy", "", "`NAME` of the policy (default \"default\")")
	fl.StringVar(&f.style, "style", "", "`STYLE` of the result: plain, c or llf")
	fl.DurationVar(&f.timeout, "timeout", 0, "time limit; 0: as configured")
	f.answerFlag(cmd)
	return cmd
}

func (f *toolRun) run(cmd *cobra.Command, app *cli.App, box *compose.Toolbox, r *config.Result, args []string) error {
	e, err := Find(box, args[0])
	if err != nil {
		return err
	}
	arguments, err := callArguments(app.Stdin, args[1:], schema.ShapeOf(e.Tool.Definition.Parameters))
	if err != nil {
		return err
	}
	rnr, err := f.prepare(box, r, e)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	call := chat.Call{ID: "call_0", Name: e.Tool.Name(), Arguments: arguments, Complete: true}
	plan, err := rnr.Plan(ctx, call)
	if err != nil {
		return err
	}
	if e.State == tool.StateDisabled && !f.enable {
		fmt.Fprintf(app.Stderr,
			"wield: %[1]s is off: wield tool enable %[1]s turns it on, --enable runs it this once\n", e.Tool.Name())
	}
	if plan.Outcome == runner.OutcomeNeedsApproval {
		if plan, err = f.approve(app, rnr, plan, cmd); err != nil {
			return err
		}
	}
	return f.carryOut(ctx, app, rnr, plan)
}

func (f *toolRun) answerFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.answers, "answer", nil,
		"`JSON` that answers a question of the tool; repeatable, in order")
}

// carryOut runs a call, and continues with the answers of the command line when the tool asks.
func (f *toolRun) carryOut(ctx context.Context, app *cli.App, r *runner.Runner, plan runner.Plan) error {
	for answers := f.answers; ; answers = answers[1:] {
		id, err := f.follow(app, r.Run(ctx, plan), r.Settings().Records.(*runner.MemoryRecords))
		if !errors.Is(err, runner.ErrPending) {
			return err
		}
		a, err := r.Settings().Approvals.Get(ctx, id)
		if err != nil {
			return err
		}
		if len(answers) == 0 {
			why := fmt.Errorf("%s\nAnswer with --answer and a JSON object that fits the schema\n%s",
				a.Why, policy.Visible(string(a.Form.Schema)))
			return &cli.ExitError{Code: cli.ExitDenied, Err: why}
		}
		answer := runner.Answer{State: runner.ApprovalEdited, Arguments: json.RawMessage(answers[0]),
			By: "command line"}
		if _, err := r.Settings().Approvals.Decide(ctx, id, answer); err != nil {
			return cli.UsageErrorf("--answer %s: %w", answers[0], err)
		}
		plan = runner.Plan{Outcome: runner.OutcomeNeedsInput, Call: plan.Call, Definition: a.Definition, Approval: id}
	}
}

// prepare makes the runner of one call.
func (f *toolRun) prepare(box *compose.Toolbox, r *config.Result, e *runner.Entry) (*runner.Runner, error) {
	var tools runner.Source = box.Registry
	entries := box.Registry.Entries()
	if f.enable {
		session := box.Registry.Session()
		if err := session.Set(e.Tool.Name(), tool.StateEnabled); err != nil {
			return nil, cli.UsageErrorf("%w", err)
		}
		tools, entries = session, session.Entries()
	}
	rules, err := decider(r, box, f.policy, entries)
	if err != nil {
		return nil, err
	}
	if f.timeout > 0 {
		guard := tool.Guard{Mode: tool.ModeRW}
		if e.Guard != nil {
			guard = *e.Guard
		}
		guard.Timeout = f.timeout
		if err := box.Registry.SetGuard(e.Tool.Name(), &guard); err != nil {
			return nil, err
		}
	}
	return box.Runner.With(func(s *runner.Settings) {
		s.Tools, s.Policy, s.Records, s.Approvals = tools, rules, &runner.MemoryRecords{}, &runner.MemoryApprovals{}
	}), nil
}

// approve shows the question of a plan, and answers it if the command line does.
func (f *toolRun) approve(app *cli.App, r *runner.Runner, plan runner.Plan,
	cmd *cobra.Command) (runner.Plan, error) {
	a, err := r.Settings().Approvals.Get(cmd.Context(), plan.Approval)
	if err != nil {
		return plan, err
	}
	fmt.Fprintf(app.Stderr,
		"%s needs an approval\n  rule       %s\n  why        %s\n  arguments  %s\n  in         %s\n", a.Tool, a.Rule,
		a.Why, policy.Visible(string(a.Arguments)), policy.Visible(a.Dir))
	changes, err := r.Preview(cmd.Context(), plan.Call)
	if err != nil {
		return plan, err
	}
	for _, c := range changes {
		fmt.Fprintln(app.Stderr, "  changes")
		for line := range strings.Lines(c.Diff(3)) {
			fmt.Fprintln(app.Stderr, "             "+policy.Visible(strings.TrimSuffix(line, "\n")))
		}
	}
	if a.Always != "" {
		fmt.Fprintf(app.Stderr, "  a rule that would allow it\n             %s\n",
			strings.ReplaceAll(a.Always, "\n", "\n             "))
	}
	if !f.yes {
		return plan, &cli.ExitError{Code: cli.ExitDenied,
			Err: errors.New("not run: there is nobody to ask; --yes approves this one call")}
	}
	fmt.Fprintln(app.Stderr, "  approved   by this command")
	_, err = r.Settings().Approvals.Decide(cmd.Context(), a.ID,
		runner.Answer{State: runner.ApprovalApproved, By: "command line"})
	return plan, err
}

// inResult are the streams of a running tool that its result holds, or that only wield's own parts read.
var inResult = []string{"stdout", "stderr", "sandbox"}

// follow prints what comes of a call. With [runner.ErrPending] it returns the id of the question that the call waits
// for.
func (f *toolRun) follow(app *cli.App, events iter.Seq2[chat.Event, error],
	records *runner.MemoryRecords) (id string, err error) {
	var text string
	enc := json.NewEncoder(app.Stdout)
	enc.SetEscapeHTML(false)
	said := &cli.PlainWriter{W: app.Stderr}
	defer said.End()
	for e, err := range events {
		switch {
		case err != nil:
			return id, err
		case f.asJSON:
			if err := enc.Encode(toolEvent(e)); err != nil {
				return "", err
			}
		case e.Kind == chat.KindNote:
			n := e.Detail.(*chat.NoteDetail)
			fmt.Fprintf(said, "repaired: %s %s: %s -> %s\n", n.Kind, n.Path, n.Before, n.After)
		case e.Kind == chat.KindProgress && e.Detail.(*runner.ProgressDetail).Stream == "":
			fmt.Fprintln(said, e.Text) // how far it is
		case e.Kind == chat.KindProgress && !slices.Contains(inResult, e.Detail.(*runner.ProgressDetail).Stream):
			fmt.Fprint(said, e.Text)
		}
		switch d := e.Detail.(type) {
		case *runner.ApprovalDetail:
			id = d.ID
		case *chat.Result:
			text = shown(d.Parts)
		}
	}
	finished := records.Finished()
	result := finished[len(finished)-1].Result
	if f.style != "" {
		style, ok := tool.ParseStyle(f.style)
		if !ok {
			return "", cli.UsageErrorf("no style %q; there are plain, c and llf", f.style)
		}
		text = string(result.Append(nil, style))
	}
	if !f.asJSON {
		fmt.Fprintln(cli.Shown(app.Stdout), text)
	}
	if code := toolExit(&result); code != cli.ExitOK {
		return "", &cli.ExitError{Code: code}
	}
	return "", nil
}

// toolExits are the exit codes of results by their class; any other failure is the tool's.
var toolExits = map[tool.ErrorKind]int{
	tool.ErrNotFound: cli.ExitUsage,
	tool.ErrInvalid:  cli.ExitUsage,
	tool.ErrDisabled: cli.ExitDenied,
	tool.ErrSecurity: cli.ExitDenied,
	tool.ErrApproval: cli.ExitDenied,
	tool.ErrExpired:  cli.ExitDenied,
	tool.ErrCanceled: cli.ExitInterrupted,
}

func toolExit(r *tool.Result) int {
	if r.OK {
		return cli.ExitOK
	}
	if code, ok := toolExits[r.ErrorType]; ok {
		return code
	}
	return cli.ExitTool
}

// A toolLine is an event of a running tool as it is printed.
type toolLine struct {
	Event    string        `json:"event"`
	State    string        `json:"state,omitempty"`
	Stream   string        `json:"stream,omitempty"`
	Text     string        `json:"text,omitempty"`
	Kind     chat.NoteKind `json:"kind,omitempty"`
	Path     string        `json:"path,omitempty"`
	Before   string        `json:"before,omitempty"`
	After    string        `json:"after,omitempty"`
	Decision chat.Decision `json:"decision,omitempty"`
	Rule     string        `json:"rule,omitempty"`
	Why      string        `json:"why,omitempty"`
	IsError  bool          `json:"is_error,omitempty"`
}

func toolEvent(e chat.Event) toolLine {
	line := toolLine{Event: e.Kind.String(), Text: e.Text}
	switch d := e.Detail; e.Kind {
	case chat.KindNote:
		line.Kind, line.Path, line.Before, line.After = d.(*chat.NoteDetail).Kind, d.(*chat.NoteDetail).
			Path, d.(*chat.NoteDetail).Before, d.(*chat.NoteDetail).After
	case chat.KindPolicy:
		line.Decision, line.Rule, line.Why = d.(*policy.Detail).Decision, d.(*policy.Detail).
			Rule, d.(*policy.Detail).Why
	case chat.KindApproval:
		line.State = string(d.(*runner.ApprovalDetail).State)
	case chat.KindToolState:
		line.State = string(d.(*runner.StateDetail).State)
	case chat.KindProgress:
		line.Stream = d.(*runner.ProgressDetail).Stream
	case chat.KindResult:
		line.Text, line.IsError = shown(d.(*chat.Result).Parts), d.(*chat.Result).IsError
	}
	return line
}

// shown is a result as a terminal can show it, a part a line.
func shown(parts []chat.Part) string {
	var lines []string
	for i := range parts {
		if p := &parts[i]; p.Kind == chat.PartText {
			lines = append(lines, p.Text)
		} else {
			lines = append(lines, fmt.Sprintf("[%s, %s, %d bytes]", p.Kind, p.MediaType, len(p.Data)))
		}
	}
	return strings.Join(lines, "\n")
}

// callArguments reads the arguments of a call from the command line. Values are read as the tool's parameters want
// them.
func callArguments(stdin io.Reader, args []string, params *shape.Shape) (string, error) {
	if len(args) == 1 && args[0] == "-" {
		data, err := io.ReadAll(io.LimitReader(stdin, 2<<20))
		return string(data), err
	}
	if len(args) == 0 {
		return "{}", nil
	}
	if len(args) == 1 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
		return args[0], nil
	}
	var b strings.Builder
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return "", cli.UsageErrorf("%q is neither a JSON object nor NAME=VALUE", arg)
		}
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + cli.Quoted(name) + ":" + argument(value, name,
			params))
	}
	return b.String() + "}", nil
}

// argument returns a value as JSON: what the parameter has room for, else as JSON if it is JSON, else as text.
func argument(value, name string, params *shape.Shape) string {
	if p, ok := params.Prop(name); ok && p.Type() != 0 {
		if text, c := shape.Coerce(value, p, shape.CoerceOptions{}); c != shape.Uncoerced {
			return text
		}
		if one, c := shape.Coerce(value, p.Item(), shape.CoerceOptions{}); p.Type().Has(shape.Array) &&
			!json.Valid([]byte(value)) && c != shape.Uncoerced {
			return "[" + one + "]"
		}
	}
	if json.Valid([]byte(value)) {
		return value
	}
	return cli.Quoted(value)
}

// decider returns the policy of the given name, or the default one. Where none is configured, what only looks
// is allowed, as for agents, and a person is asked about everything else.
func decider(r *config.Result, box *compose.Toolbox, name string, entries []*runner.Entry) (runner.Decider, error) {
	def, err := compose.RunPolicy(r, name, entries, compose.RunRules{}, append(slices.Clone(box.Dirs), box.State)...)
	if err != nil {
		return nil, cli.UsageErrorf("%w", err)
	}
	return policy.New(def)
}

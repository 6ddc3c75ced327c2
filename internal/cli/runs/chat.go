package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wield/agent"
	"wield/dialect"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/terminal"
	"wield/journal"
	"wield/tool/builtin"
	"wield/tool/files"
	"wield/tool/policy"
	"wield/tool/runner"
)

// chatTools returns the tools of a conversation where neither the configuration nor the command line names any: what
// it takes to work on the files of a directory, and everything that runs blocks of code. What changes something is
// asked about.
func chatTools(c *config.Config) []string {
	names := []string{"read", "edit", "create"}
	for _, name := range slices.Sorted(maps.Keys(c.Tools.Local.Executors)) {
		if len(c.Tools.Local.Executors[name]) > 0 { // else it is taken out
			names = append(names, name)
		}
	}
	return append(names, "list_files", "search_code")
}

// maxInstructions limits the size of a project's instructions.
const maxInstructions = 64 << 10

// A chatFlags holds the flags of wield chat.
type chatFlags struct {
	runFlags
	once   bool
	resume string
}

func NewChatCmd(app *cli.App) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [flags] [MESSAGE...]",
		Short: "Chat with a model that uses tools, in the terminal",
		Long: `Chats with a model that uses tools. Changes and commands are shown in full and run only after you
approve. Without a terminal, each input line is a message. In the chat, /help lists commands and
keys.

Without configured tools or --tools, the model can read, search and edit the files of this directory
and run commands. Reading is allowed and everything else asks, unless a policy says otherwise. The
model also gets the file AGENTS.md.`,
		Example: `  wield chat
  wield chat --upstream http://127.0.0.1:11434/v1 --model qwen2.5-coder:14b "Why does the test fail?"
  wield chat --continue
  wield chat --sh 'disk: df -h' "how full is it?"
  git diff | wield chat -p "Review this change"`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, app, args) },
	}
	fl := cmd.Flags()
	f.add(fl)
	fl.BoolVarP(&f.once, "print", "p", false, "carry out one task and print the answer, like wield run")
	fl.StringVar(&f.resume, "resume", "", "continue the session with this `ID`, or a prefix of it")
	cli.GroupFlags(fl, "Session", "print", "resume")
	return cmd
}

// onceOnly are the flags that mean something with -p alone.
var onceOnly = []string{"on-ask", "output", "out", "output-schema"}

func (f *chatFlags) run(cmd *cobra.Command, app *cli.App, args []string) error {
	ctx := cmd.Context()
	f.given = givenFlags(cmd.Flags())
	if f.once {
		f.session, f.given = cmp.Or(f.session, f.resume), flagsOfRun(f.given)
		return f.runFlags.run(ctx, app, args)
	}
	for _, name := range onceOnly {
		if cmd.Flags().Changed(name) {
			return cli.UsageErrorf("--%s is for -p, which carries out one task", name)
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	f.resume = cmp.Or(f.resume, f.session)
	in, ok := app.Stdin.(*os.File)
	out, isFile := app.Stdout.(*os.File)
	tty, restore := terminal.TTY{In: app.Stdin, Out: app.Stdout, Plain: true}, func() {}
	r, err := f.load(app)
	if err != nil {
		return err
	}
	return f.stage(ctx, app, r, func(o *terminal.Options) error {
		if ok && isFile {
			if tty, restore, err = terminal.Open(in, out, app.Getenv); err != nil {
				return err
			}
		}
		defer restore()
		o.TTY, o.First = tty, strings.Join(args, " ")
		return terminal.Run(ctx, *o)
	})
}

// stage prepares the conversation, and gives back what it holds when do has ended.
func (f *chatFlags) stage(ctx context.Context, app *cli.App, r *config.Result, do func(o *terminal.Options) error) (
	err error) {
	if len(f.tools) == 0 && len(f.lines) == 0 && !anyTool(r) {
		f.tools, f.write = chatTools(r.Config), true
		f.given = append(f.given, "--tools="+strings.Join(f.tools, ","), "--write")
	}
	box, err := f.box(app, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	set := box.Runner.Settings()
	p, ok := set.Policy.(*policy.Policy)
	if !ok {
		return errors.New("the rules of this conversation cannot be added to")
	}
	o := terminal.Options{
		Models: r.ModelNames(), Dialects: dialect.Names(), Model: f.upstream.Model, Dialect: f.upstream.Dialect,
		Tools: box.Registry.Session(), Root: set.Root, By: "wield chat", Edit: editor(app), Undo: box.Undo,
		Place: place(set.Root, app.Getenv("HOME")),
	}
	rules, err := f.rules(app, r, p, &o)
	if err != nil {
		return err
	}
	o.Rules = rules
	if o.System, err = f.instructions(o.Root); err != nil {
		return err
	}
	o.Files = func() []string { return mentionable(ctx, o.Root) }
	if dir := r.DataDir(app.Getenv); dir != "" && !f.unkept {
		o.History = filepath.Join(dir, "chat_history")
	}
	if f.unkept {
		o.Approvals = new(runner.MemoryApprovals)
	} else if o.Journal, err = app.OpenCounted(ctx, r.Config); err != nil {
		return fmt.Errorf("%w (--no-journal leaves it out)", err)
	} else {
		defer func() { err = errors.Join(err, o.Journal.Close()) }()
	}
	o.Runner = box.Runner.With(func(s *runner.Settings) {
		s.Policy, s.Tools = rules, o.Tools
		if o.Approvals != nil {
			s.Approvals = o.Approvals
		}
	})
	o.Open = func(model, told string) (*terminal.Stage, error) { return f.open(app, r, &o, model, told) }
	if err := f.recall(ctx, &o); err != nil {
		return err
	}
	return do(&o)
}

// place writes a directory as people do.
func place(dir, home string) string {
	if rest, ok := strings.CutPrefix(dir, home); ok && home != "" && (rest == "" || rest[0] == filepath.Separator) {
		return "~" + rest
	}
	return dir
}

// anyTool reports whether the configuration enables tools of its own accord.
func anyTool(r *config.Result) bool {
	for _, b := range r.Tools.Builtin {
		if b.Enabled {
			return true
		}
	}
	return r.Tools.Local.Enabled || len(r.Tools.Dirs)+len(r.Tools.Sh)+len(r.Tools.HTTP)+len(r.Tools.OpenAPI) > 0
}

// open makes what carries out what the person asks, with a model and the dialect that it is told.
func (f *chatFlags) open(app *cli.App, r *config.Result, o *terminal.Options, name,
	told string) (*terminal.Stage, error) {
	own, c := *r, *r.Config
	own.Config = &c
	chosen := *f
	chosen.upstream.Model, chosen.trace, chosen.edits = name, true, true
	if told != "" {
		if !slices.Contains(o.Dialects, told) {
			return nil, cli.UsageErrorf("there is no dialect %s; wield dialect list shows all of them", cli.Plain(told))
		}
		c.Models = maps.Clone(r.Models)
		for n, m := range c.Models {
			m.Dialect, m.Mode = config.Dialect(told), "text"
			c.Models[n] = m
		}
	}
	model, err := chosen.model(app, &own)
	if err != nil {
		return nil, err
	}
	given, err := json.Marshal(f.runGiven())
	if err != nil {
		return nil, err
	}
	prices, window := compose.AgentPrices(r.Config, model.Name), compose.AgentWindow(r.Config, model.Name)
	if f.context > 0 {
		window.Tokens = f.context
	}
	a := agent.New(model.Model, o.Runner, agent.Options{Journal: o.Journal, Wait: o.Journal != nil, By: o.By,
		Alike: ownNames, Notes: map[string]string{runNote: string(given)}, Limits: f.limits(), Prices: prices,
		Window: window})
	return &terminal.Stage{Agent: a, Name: model.Name, Dialect: told, Window: window.Tokens, Cost: prices.Cost,
		Close: model.Close}, nil
}

// runGiven returns the flags with which wield sessions resume continues a run of the conversation.
func (f *chatFlags) runGiven() []string {
	given := []string{"--on-ask=wait"}
	for _, text := range flagsOfRun(f.given) {
		if !strings.HasPrefix(text, "--on-ask=") {
			given = append(given, text)
		}
	}
	return given
}

// flagsOfRun returns those flags that wield run has too: the others could not be read when the run goes on.
func flagsOfRun(given []string) []string {
	fl := pflag.NewFlagSet("wield run", pflag.ContinueOnError)
	new(runFlags).add(fl)
	return slices.DeleteFunc(slices.Clone(given), func(text string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		return fl.Lookup(name) == nil
	})
}

// Instructions returns the system prompt: the model itself, this machine, the project.
func (f *chatFlags) instructions(root string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b,
		"You help somebody in a terminal, in the directory %s on %s. Today is %s. Use the tools to find out what you "+
			"do not know, and read "+
			"files before you change them. The person sees every change and every command before it happens and may "+
			"refuse it; then ask or find another "+
			"way. Answer briefly, in Markdown.", root, runtime.GOOS, time.Now().Format("Monday, 2 January 2006"))
	if f.system != "" {
		b.WriteString("\n\n" + f.system)
	}
	dir, err := files.Open(root, files.Options{MaxFile: maxInstructions})
	if err != nil {
		return "", err
	}
	defer dir.Close()
	switch text, err := dir.ReadFile("AGENTS.md"); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("AGENTS.md: %w", err)
	default:
		b.WriteString("\n\nThe file AGENTS.md of the directory says:\n\n" + strings.ToValidUTF8(string(text), "\ufffd"))
	}
	return b.String(), nil
}

// mostMentionable limits the files that are completed.
const mostMentionable = 20_000

func mentionable(ctx context.Context, root string) []string {
	dir, err := files.Open(root, files.Options{})
	if err != nil {
		return nil
	}
	defer dir.Close()
	return builtin.Files(ctx, dir, mostMentionable)
}

// recall finds the conversation to go on with.
func (f *chatFlags) recall(ctx context.Context, o *terminal.Options) error {
	if !f.goesOn && f.resume == "" {
		return nil
	}
	if o.Journal == nil {
		return cli.UsageErrorf("without the journal there is no earlier conversation to go on with")
	}
	for s, err := range journal.Sessions(ctx, o.Journal, 0) {
		if err != nil {
			return err
		}
		fits := f.goesOn && s.Dir == o.Root || f.resume != "" && strings.HasPrefix(s.ID, f.resume)
		if s.Runs == 0 || !fits {
			continue
		}
		stage, err := o.Open(o.Model, o.Dialect)
		if err != nil {
			return err
		}
		defer stage.Close()
		o.Past.Session, o.Past.Title = s.ID, s.Title
		o.Past.Messages, err = stage.Agent.Conversation(ctx, s.ID)
		return err
	}
	return cli.UsageErrorf("there is no such conversation; wield sessions list shows all there are")
}

// editor returns what opens a text in the person's editor.
func editor(app *cli.App) func(ctx context.Context, name, text string) (string, error) {
	return func(ctx context.Context, name, text string) (out string, err error) {
		program := strings.Fields(cmp.Or(app.Getenv("VISUAL"), app.Getenv("EDITOR")))
		if len(program) == 0 {
			return "", errors.New("set VISUAL or EDITOR to the editor that you want")
		}
		dir, err := os.MkdirTemp("", "wield-chat-")
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		cmd := exec.CommandContext(ctx, program[0], append(program[1:], file)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = app.Stdin, app.Stdout, cli.Bare(app.Stderr)
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s: %w", program[0], err)
		}
		data, err := os.ReadFile(file)
		return string(data), err
	}
}

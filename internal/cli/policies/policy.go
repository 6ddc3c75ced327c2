package policies

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/internal/config"
	"wield/internal/shorten"
	"wield/tool/policy"
)

func NewPolicyCmd(app *cli.App) *cobra.Command {
	return cli.Group("policy", "Test the rules that decide about calls",
		"Shows how the rules of the configuration decide on commands, paths and addresses. Nothing is run.",
		`  wield policy test 'git status && rm -rf build'
  wield policy explain --path write:src/main.go`,
		newPolicyTestCmd(app), newPolicyExplainCmd(app), newPolicyShowCmd(app))
}

func newPolicyShowCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "show [NAME]",
		Short: "Print the rules of a policy",
		Long: `Prints the rules of a policy of the configuration (default: default), with the file and line of each.
For everyday, prints the built-in policy as YAML, to extend it or to copy from it.`,
		Example: "  wield policy show\n  wield policy show everyday",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := cmp.Or(strings.Join(args, ""), "default")
			r, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			if _, ok := r.Policies[name]; !ok && name == "everyday" {
				_, err := io.WriteString(app.Stdout, policy.Everyday())
				return err
			}
			def, err := r.PolicyDefinition(name)
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			return showPolicy(app.Stdout, def)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `FILE`")
	return cmd
}

func showPolicy(w io.Writer, def policy.Definition) error {
	for _, r := range def.Rules {
		if _, err := fmt.Fprintf(w, "%s (%s:%d)\n", r, r.File, r.Line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s if no rule matches\n", def.Default)
	return err
}

// policyFlags say what is decided about, and by which rules.
type policyFlags struct {
	config, name, root, tool string
	argv                     bool
	paths, urls              []string
	arguments                string
	jsonl                    bool
	fixtures                 string
}

func (f *policyFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "configuration `FILE`")
	fl.StringVar(&f.name, "policy", "default", "`NAME` of the policy")
	fl.StringVar(&f.root, "root", "", "root `DIR` of files (default: the working directory)")
	fl.StringVar(&f.tool, "tool", "command_exec", "`NAME` of the called tool")
	fl.BoolVar(&f.argv, "argv", false, "the call is a program and its arguments, without a shell")
	fl.StringArrayVar(&f.paths, "path", nil,
		"path that the call uses, as `OP:PATH`; OP is read, list, write or delete; repeatable")
	fl.StringArrayVar(&f.urls, "url", nil, "address that the call contacts: `URL`; repeatable")
	fl.StringVar(&f.arguments, "arguments", "", "arguments of the call, as `JSON`")
}

const policyFacts = `The call is a command (CMD), or with --argv a program and its arguments, plus the paths of --path
and the addresses of --url. The rules come from the configuration and from .wield.yaml in the root.`

func newPolicyTestCmd(app *cli.App) *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{
		Use:   "test [CMD | FILE]",
		Short: "Print the decision on a call",
		Long: `Prints the decision on a call, the rule and the reason. Exit codes: 0 allow, 4 ask or deny.

` + policyFacts + `

With --jsonl each line of FILE, or of the input, is a record with its own rules; each gives a line
{"id","decision","rule","why"}, or {"id","error"} and exit code 1. --fixtures has the file trees.
  {"id", "kind": "command" | "path" | "args" | "json", "drive", "input": {..}, "policy": {..}}`,
		Example: `  wield policy test 'git diff | less'
  wield policy test --argv -- git log --oneline
  wield policy test --jsonl --fixtures fixtures.json cases.jsonl`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.jsonl {
				return policyRecords(app, &f, args)
			}
			v, err := f.decide(app, args)
			if err != nil {
				return err
			}
			fmt.Fprintln(app.Stdout, v)
			return policyExit(v)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.jsonl, "jsonl", false, "read records from JSON lines")
	cmd.Flags().StringVar(&f.fixtures, "fixtures", "", "`FILE` with the file trees of the records")
	return cmd
}

func newPolicyExplainCmd(app *cli.App) *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{
		Use:   "explain [CMD]",
		Short: "Explain the decision on a call",
		Long: `Shows the normal form and place of each command, path and address, the rule (with file and line) or
built-in check that decided, the reason, and a rule that would allow it. The strictest decision
wins.

` + policyFacts,
		Example: `  wield policy explain 'cd sub && make test > log'`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := f.decide(app, args)
			if err != nil {
				return err
			}
			return explain(app.Stdout, v)
		},
	}
	f.add(cmd)
	return cmd
}

func policyExit(v policy.Verdict) error {
	if v.Decision == chat.DecisionAllow {
		return nil
	}
	return &cli.ExitError{Code: cli.ExitDenied}
}

// decide decides about the call of the command line.
func (f *policyFlags) decide(app *cli.App, args []string) (policy.Verdict, error) {
	call, err := f.call(args)
	if err != nil {
		return policy.Verdict{}, err
	}
	p, err := f.load(app, call.Root)
	if err != nil {
		return policy.Verdict{}, err
	}
	return p.Decide(call), nil
}

// load makes the policy of the configuration, with what the project in the root adds.
func (f *policyFlags) load(app *cli.App, root string) (*policy.Policy, error) {
	r, err := app.Load(config.Options{File: f.config, Getenv: app.Getenv})
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	project, _, err := config.LoadProject(filepath.Join(root, config.ProjectFile))
	held := r.PendingProject(filepath.Join(root, config.ProjectFile), app.Getenv)
	switch {
	case held != nil:
		fmt.Fprintf(app.Stderr, "wield: %v\n", held)
	case err == nil:
		r.Tighten(project)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	def, err := r.PolicyDefinition(f.name)
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return policy.New(def)
}

// call makes the call of the command line.
func (f *policyFlags) call(args []string) (policy.Action, error) {
	root := f.root
	if root == "" {
		root = "."
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return policy.Action{}, err
	}
	c := policy.Action{Tool: f.tool, Arguments: f.arguments, Root: abs, URLs: f.urls}
	for _, p := range f.paths {
		op, name, ok := strings.Cut(p, ":")
		if !ok {
			return c, cli.UsageErrorf("--path %q: write OP:PATH, such as read:README.md", p)
		}
		c.Paths = append(c.Paths, policy.PathUse{Op: policy.Op(op), Path: name})
	}
	switch {
	case f.argv && len(args) == 0:
		return c, cli.UsageErrorf("--argv needs a program")
	case f.argv:
		c.Argv = args
	case len(args) > 1:
		return c, cli.UsageErrorf("a command line is one argument: put it in quotes, or write --argv")
	case len(args) == 1:
		c.Shell = args[0]
	}
	return c, nil
}

// explain shows a verdict with all findings.
func explain(w io.Writer, v policy.Verdict) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Decision, v.Why)
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "\n%-5s %s %s\n", f.Decision, f.Subject, f.Text)
		if f.Node != "" {
			fmt.Fprintf(&b, "      node:  %s\n", f.Node)
		}
		rule := shorten.Text(f.Rule, 120)
		if f.File != "" {
			rule = fmt.Sprintf("%s:%d: %s", f.File, f.Line, rule)
		}
		fmt.Fprintf(&b, "      rule:  %s\n      why:   %s\n", rule, f.Why)
		if f.Decision != chat.DecisionAllow {
			fix := "no rule would"
			switch {
			case f.Fix != nil:
				fix = f.Fix.String()
			case !strings.HasPrefix(f.Rule, "built-in: ") && f.Rule != policy.RuleDefault:
				fix = "nothing, as long as this rule stands"
			}
			fmt.Fprintf(&b, "      allow: %s\n", fix)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

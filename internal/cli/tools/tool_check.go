package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool"
	"wield/tool/runner"
)

func newToolLintCmd(app *cli.App, file *string) *cobra.Command {
	var tools string
	var rules, asJSON bool
	cmd := &cobra.Command{
		Use:   "lint [NAME...]",
		Short: "Find what makes tools hard for models to use",
		Long: `Checks the definitions of the tools, or those in a file with --tools, and prints one line for each
violation. --rules lists the rules.

Exit codes: 0 no violations, 1 violations, 2 it could not run.`,
		Example: `  wield tool lint
  wield tool lint --tools tools.json
  wield tool lint --rules`,
		ValidArgsFunction: toolNames(app, file),
		RunE: func(_ *cobra.Command, args []string) error {
			if rules {
				fmt.Fprintln(app.Stdout, cli.Table(func(row func(cells ...string)) {
					for _, r := range lintRules {
						row(r.name, r.doc)
					}
				}))
				return nil
			}
			defs, broken, err := definitions(app, *file, tools, args)
			if err != nil {
				return err
			}
			found := lint(defs)
			for _, f := range found {
				if asJSON {
					if err := cli.PrintLines(app.Stdout, []finding{f}); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintln(app.Stdout, f)
			}
			if len(found) > 0 {
				return fmt.Errorf("%s in %s", cli.Count(len(found), "finding"), cli.Count(len(defs), "tool"))
			}
			if broken > 0 {
				return fmt.Errorf("%s could not be loaded", cli.Count(broken, "tool"))
			}
			fmt.Fprintf(app.Stderr, "%s: ok\n", cli.Count(len(defs), "tool"))
			return nil
		},
	}
	cmd.Flags().StringVar(&tools, "tools", "",
		"`FILE` with definitions in the JSON format of OpenAI, Anthropic, Ollama or MCP")
	cmd.Flags().BoolVar(&rules, "rules", false, "list the rules")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// definitions returns those of a file, else those of the tools, of which names picks some.
func definitions(app *cli.App, file, tools string, names []string) (defs []chat.Tool, broken int, err error) {
	if tools != "" {
		if len(names) > 0 {
			return nil, 0, cli.UsageErrorf("--tools and names of tools do not go together")
		}
		defs, err = readTools(tools)
		return defs, 0, err
	}
	err = withTools(app, file, func(box *compose.Toolbox, _ *config.Result) error {
		for _, name := range names {
			e, err := Find(box, name)
			if err != nil {
				return err
			}
			defs = append(defs, e.Tool.Definition)
		}
		if len(names) == 0 {
			broken = len(box.Problems)
			for _, e := range box.Registry.Entries() {
				defs = append(defs, e.Tool.Definition)
			}
		}
		return nil
	})
	return defs, broken, err
}

// readTools reads a file of definitions.
func readTools(file string) ([]chat.Tool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.UsageErrorf("--tools: %w", err)
	}
	defs, err := definitionsIn(data)
	if err != nil {
		return nil, cli.UsageErrorf("--tools %s: %w", file, err)
	}
	return defs, nil
}

// A toolCase is one line of a file of cases.
type toolCase struct {
	Name      string          `json:"name"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Want      json.RawMessage `json:"want"`     // the data of the result, whole
	Contains  *string         `json:"contains"` // a part of the result's text
	Error     *string         `json:"error"`    // a part of the error; "" is any
}

func newToolTestCmd(app *cli.App, file *string) *cobra.Command {
	var enable, yes bool
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run test cases of tools",
		Long: `Runs the test cases of FILE, one JSON object per line, in order, and compares the results:

  {"name":"..","tool":"get_current_date","arguments":{},"contains":"weekday"}

want is the exact data of the result, contains a part of its text, error a part of its error ("":
any error). Other cases must succeed. Calls that need an approval fail without --yes; without
policies these are all calls that do more than read.

Exit codes: 0 all cases pass, 1 a case fails, 2 it could not run.`,
		Example: "  wield tool test --enable --yes cases.jsonl",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTools(app, *file, func(box *compose.Toolbox, r *config.Result) error {
				var tools runner.Source = box.Registry
				entries := box.Registry.Entries()
				if enable {
					session, err := enableAll(box)
					if err != nil {
						return err
					}
					tools, entries = session, session.Entries()
				}
				rules, err := decider(r, box, "", entries)
				if err != nil {
					return err
				}
				rnr := box.Runner.With(func(s *runner.Settings) {
					s.Tools, s.Policy = tools, rules
					if yes {
						s.Approvals = &yesApprovals{&runner.MemoryApprovals{}}
					}
				})
				return testTools(cmd, app, rnr, args)
			})
		},
	}
	cmd.Flags().BoolVar(&enable, "enable", false, "run disabled tools, too")
	cmd.Flags().BoolVar(&yes, "yes", false, "approve calls if needed")
	return cmd
}

// yesApprovals answers every question when it is asked.
type yesApprovals struct{ runner.Approvals }

// Ask implements [runner.Approvals].
func (y *yesApprovals) Ask(ctx context.Context, q runner.Question) (runner.Approval, error) {
	a, err := y.Approvals.Ask(ctx, q)
	if err != nil || a.State != runner.ApprovalPending {
		return a, err
	}
	return y.Decide(ctx, a.ID, runner.Answer{State: runner.ApprovalApproved, By: "command line"})
}

func enableAll(box *compose.Toolbox) (*runner.Session, error) {
	session := box.Registry.Session()
	for _, e := range box.Registry.Entries() {
		if err := session.Set(e.Tool.Name(), tool.StateEnabled); err != nil {
			return nil, err
		}
	}
	return session, nil
}

func testTools(cmd *cobra.Command, app *cli.App, r *runner.Runner, files []string) error {
	n, failed := 0, 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return cli.UsageErrorf("%w", err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			var c toolCase
			dec := json.NewDecoder(strings.NewReader(line))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&c); err != nil {
				return cli.UsageErrorf("%s:%d: %w", name, i+1, err)
			}
			n++
			result, err := r.Call(cmd.Context(), c.Tool, string(c.Arguments))
			if err != nil && !errors.Is(err, runner.ErrPending) {
				return err
			}
			if why := c.wrong(&result); why != "" {
				failed++
				printCase(app.Stdout, name, i+1, &c, why)
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("tool test: %d of %s failed", failed, cli.Count(n, "case"))
	}
	fmt.Fprintf(app.Stdout, "%s: ok\n", cli.Count(n, "case"))
	return nil
}

func printCase(w io.Writer, file string, line int, c *toolCase, why string) {
	name := c.Name
	if name == "" {
		name = c.Tool
	}
	fmt.Fprintf(w, "%s:%d: %s: %s\n", file, line, name, why)
}

// wrong says how a result differs from what the case wants; "" if it does not.
func (c *toolCase) wrong(r *tool.Result) string {
	text := string(r.Append(nil, tool.StylePlain))
	switch {
	case c.Error != nil && r.OK:
		return "it succeeded, and an error is wanted"
	case c.Error != nil && !strings.Contains(r.Error, *c.Error):
		return fmt.Sprintf("the error is %q, and %q is wanted in it", r.Error, *c.Error)
	case c.Error != nil:
		return ""
	case !r.OK:
		return "it failed: " + r.Error
	case c.Contains != nil && !strings.Contains(text, *c.Contains):
		return fmt.Sprintf("the result is %q, and %q is wanted in it", text, *c.Contains)
	case c.Want != nil && !sameJSON(c.Want, r.Data):
		return fmt.Sprintf("the data is %s, and %s is wanted", r.Data, c.Want)
	}
	return ""
}

// sameJSON compares two texts of JSON as values; numbers by their text.
func sameJSON(a, b json.RawMessage) bool {
	var values [2]any
	for i, raw := range [][]byte{a, b} {
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		if dec.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

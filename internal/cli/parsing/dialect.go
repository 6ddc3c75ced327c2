package parsing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/cli"
	"wield/schema/near"
)

func NewDialectCmd(app *cli.App) *cobra.Command {
	return cli.Group("dialect", "List, show and detect tool-call formats",
		"A dialect is a text format for tool calls: how a model writes a call, and how wield reads it.",
		`  wield dialect list
  wield dialect show hermes
  wield dialect profile qwen3-coder:30b
  wield dialect detect tokenizer_config.json
  wield dialect check --tools tools.json answer.txt`,
		newDialectListCmd(app), newDialectShowCmd(app), newDialectProfileCmd(app), newDialectDetectCmd(app),
		newDialectImportCmd(app), newDialectCheckCmd(app))
}

func newDialectListCmd(app *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all dialects",
		Long: `Lists all dialects. A star marks those that are used only when named; a plus marks those that stay
active beside another named one.`,
		Example: "  wield dialect list\n  wield dialect list --json",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				return listDialectsJSON(app.Stdout)
			}
			t := tabwriter.NewWriter(app.Stdout, 0, 0, 2, ' ', 0)
			for _, name := range dialect.Names() {
				d, _ := dialect.Lookup(name)
				mark := " "
				switch {
				case d.ByName:
					mark = "*"
				case d.Safe:
					mark = "+"
				}
				fmt.Fprintf(t, "%s %s\t%s\t%s\n", d.Name, mark, d.Class, d.Summary)
			}
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line, with all properties")
	return cmd
}

// listDialectsJSON writes the rows of the table, one a line.
func listDialectsJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, name := range dialect.Names() {
		d, _ := dialect.Lookup(name)
		if err := enc.Encode(struct {
			Name    string   `json:"name"`
			Aliases []string `json:"aliases,omitempty"`
			Class   string   `json:"class"`
			Summary string   `json:"summary"`
			Models  string   `json:"models"`
			Auto    bool     `json:"auto"`
			Safe    bool     `json:"safe"`
			Example string   `json:"example"`
		}{d.Name, d.Aliases, d.Class, d.Summary, d.Models, !d.ByName, d.Safe, d.Example}); err != nil {
			return err
		}
	}
	return nil
}

func newDialectShowCmd(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one dialect with an example",
		Long: `Shows one dialect, by name or alias: a description, the models that write it, an example call, and
how it describes tools and results to a model.`,
		Example: "  wield dialect show qwen3-coder",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return dialect.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, ok := dialect.Lookup(args[0])
			if !ok {
				return noDialect(args[0])
			}
			return showDialect(app.Stdout, d)
		},
	}
}

func showDialect(w io.Writer, d *dialect.Dialect) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "name\t%s\n", d.Name)
	if len(d.Aliases) > 0 {
		fmt.Fprintf(t, "aliases\t%s\n", strings.Join(d.Aliases, ", "))
	}
	detected := "yes, unless another dialect is named"
	switch {
	case d.Alone:
		detected = "only if named, and no other dialect then"
	case d.ByName:
		detected = "only if named"
	case d.Safe:
		detected = "yes, even if another dialect is named"
	}
	fmt.Fprintf(t, "class\t%s\nformat\t%s\nwritten by\t%s\ndetected\t%s\nconfiguration\tdialect: %s\n",
		d.Class, d.Summary, d.Models, detected, d.Name)
	if err := t.Flush(); err != nil {
		return err
	}
	// The tool and the call are those of the examples.
	tool := chat.Tool{Name: "N", Parameters: json.RawMessage(`{"type":"object","properties":{"k":{"type":"string"}}}`)}
	result := chat.Result{Name: "N", Parts: chat.Text("r")}
	_, err := fmt.Fprintf(w, "\nA call:\n\n%s\n\nA definition:\n\n%s\n\nA result:\n\n%s\n", d.Example,
		d.AppendTools(nil, []chat.Tool{tool}), d.AppendResults(nil, []chat.Result{result}))
	return err
}

func newDialectCheckCmd(app *cli.App) *cobra.Command {
	var f parseFlags
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check that a text decodes the same in any chunks",
		Long: `Decodes each text of FILE (a text, or records as for wield parse --jsonl) whole, cut in two at every
byte, byte by byte, in blocks and at random. It checks that every split gives the same events, that
the events cover every byte, and that every call is opened and closed once. It prints the smallest
split that differs.

Exit codes: 0 no difference, 1 a text reads differently, 2 it could not run.`,
		Example: `  wield dialect check --tools tools.json answer.txt
  wield dialect check cases.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return checkDialect(app, &f, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.dialect, "dialect", "auto", "`NAME` of the preferred dialect, or auto")
	fl.BoolVar(&f.only, "only", false, "read only that dialect")
	fl.StringVar(&f.tools, "tools", "", "`FILE` with the offered tools, a JSON array in OpenAI format")
	fl.StringVar(&f.prefix, "prefix", "", "prefix of every tool name in the text, such as user:")
	fl.StringVar(&f.repair, "repair", "full", "`LEVEL` of repair for broken calls: off, safe or full")
	fl.BoolVar(&f.jsonl, "jsonl", false, "FILE is JSON lines (default for names ending in .jsonl)")
	profileFlags(cmd, &f)
	return cmd
}

func checkDialect(app *cli.App, f *parseFlags, file string) error {
	p, err := newParser(f)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	text := string(data)
	if !f.jsonl && !strings.HasSuffix(file, ".jsonl") {
		if err := p.check(app.Stdout, "text", &parseRecord{Text: &text}); err != nil {
			return err
		}
		fmt.Fprintln(app.Stdout, "1 text decodes the same in any chunks")
		return nil
	}
	n, failed := 0, 0
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		n++
		rec, err := readRecord([]byte(line))
		if err != nil {
			return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("%s:%d: %w", file, i+1, err)}
		}
		if err := p.check(app.Stdout, string(rec.ID), rec); err != nil {
			var differs *differsError
			if !errors.As(err, &differs) {
				return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("%s:%d: %w", file, i+1, err)}
			}
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("dialect check: %d of %s failed", failed, cli.Count(n, "text"))
	}
	fmt.Fprintf(app.Stdout, "%s decode the same in any chunks\n", cli.Count(n, "text"))
	return nil
}

// middleCut quotes a text and leaves out the middle of a long one.
func middleCut(s string) string {
	const keep = 100
	if len(s) <= 2*keep {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q..(%d bytes)..%q", s[:keep], len(s)-2*keep, s[len(s)-keep:])
}

// A differsError says that a text does not pass the checks; what is wrong was printed.
type differsError struct{ err error }

func (e *differsError) Error() string { return "dialect check: " + e.err.Error() }

// check runs all checks over one record and prints what does not hold.
func (p *parser) check(w io.Writer, id string, rec *parseRecord) error {
	text, err := rec.text()
	if err != nil {
		return err
	}
	o, err := p.recordOptions(rec)
	if err != nil {
		return err
	}
	if _, ok := dialect.Lookup(o.Dialect); !ok && o.Dialect != "" && o.Dialect != "auto" {
		return noDialect(o.Dialect)
	}
	if _, err := dialect.New(o); err != nil {
		return err
	}
	err = dialecttest.All(func() dialecttest.Decoder {
		d, _ := dialect.New(o) // the same options made one above
		return d
	}, text)
	if err == nil {
		return nil
	}
	fmt.Fprintf(w, "%s: %v\n", id, err)
	var split *dialecttest.SplitError
	if errors.As(err, &split) && len(split.Cuts) <= 8 {
		from := 0
		for _, to := range append(split.Cuts, len(text)) {
			fmt.Fprintf(w, "  chunk %s\n", middleCut(text[from:to]))
			from = to
		}
	}
	return &differsError{err}
}

// noDialect is the error about a dialect that is not there.
func noDialect(name string) error {
	return cli.UsageErrorf("no dialect %q%s; wield dialect list shows them all", name, near.Hint(name, dialect.Names()))
}

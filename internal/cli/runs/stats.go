package runs

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/stats"
)

// statsFlags are the flags of wield stats.
type statsFlags struct {
	file, since, from, to, step string
	by                          []string
	only                        stats.Dims
	json, csv                   bool
}

func NewStatsCmd(app *cli.App) *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show statistics of models and tools",
		Long: `Prints what serve, run and chat counted: responses, tool calls, how many were valid at the first
try, repaired or malformed, their results, latency, tokens and cost. Without --by: an overview, by
tool, and by model and dialect. Percentiles are within 1 %. serve shows the same at /api/v1/stats
and on its page.`,
		Example: `  wield stats
  wield stats --since 30d --by tool
  wield stats --by model,dialect --json
  wield stats --step 24h --csv > days.csv`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, app) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "config", "", "configuration `FILE`")
	flags.StringVar(&f.since, "since", "7d", "how far to look back, as `TIME` such as 24h, 7d or 4w")
	flags.StringVar(&f.from, "from", "",
		"the beginning, in place of --since, as `TIME` such as 2026-03-04T12:00:00Z or 2026-03-04")
	flags.StringVar(&f.to, "to", "", "the end, as `TIME` like --from (default now)")
	flags.StringSliceVar(&f.by, "by", nil, "one row for each value of these `DIMENSIONS`: model, client, dialect, tool")
	flags.StringVar(&f.step, "step", "", "one row for each `TIME` of whole hours, such as 1h or 7d")
	flags.StringVar(&f.only.Model, "model", "", "only the model `NAME`")
	flags.StringVar(&f.only.Client, "client", "", "only the client `NAME`")
	flags.StringVar(&f.only.Dialect, "dialect", "", "only the dialect `NAME`")
	flags.StringVar(&f.only.Tool, "tool", "", "only the tool `NAME`")
	flags.BoolVar(&f.json, "json", false, "print JSON, one row a line")
	flags.BoolVar(&f.csv, "csv", false, "print a table for spreadsheets")
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	cmd.MarkFlagsMutuallyExclusive("since", "from")
	return cmd
}

func (f *statsFlags) run(cmd *cobra.Command, app *cli.App) error {
	q, err := f.query()
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	r, err := app.Load(config.Options{File: f.file, Getenv: app.Getenv})
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	ask := func(by ...stats.Dim) ([]*stats.Row, error) {
		q := q
		q.By = append(q.By, by...)
		return compose.OpenStats(r.Config, app.Getenv, nil).Query(cmd.Context(), q)
	}
	if f.json || f.csv || len(q.By) > 0 || q.Step > 0 {
		rows, err := ask()
		if err != nil {
			return err
		}
		return f.print(app.Stdout, rows)
	}
	return printOverview(app.Stdout, ask)
}

// query reads what is asked for.
func (f *statsFlags) query() (stats.Query, error) {
	q := stats.Query{Only: f.only}
	for _, name := range f.by {
		q.By = append(q.By, stats.Dim(name))
	}
	since, err := stats.ParseSince(f.since)
	if err != nil {
		return q, fmt.Errorf("--since: %w", err)
	}
	q.From = time.Now().Add(-since)
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"--from", f.from, &q.From}, {"--to", f.to, &q.To}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = parseTime(t.text); err != nil {
			return q, fmt.Errorf("%s: %w", t.flag, err)
		}
	}
	if f.step != "" {
		if q.Step, err = stats.ParseSince(f.step); err != nil {
			return q, fmt.Errorf("--step: %w", err)
		}
	}
	return q, q.Check()
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write it as 2026-03-04T12:00:00Z or 2026-03-04", text)
}

func (f *statsFlags) print(w io.Writer, rows []*stats.Row) error {
	switch {
	case f.csv:
		return stats.WriteCSV(w, rows)
	case f.json:
		e := json.NewEncoder(w)
		for _, r := range rows {
			if err := e.Encode(r.Report()); err != nil {
				return err
			}
		}
		return nil
	}
	return printStats(w, "", rows)
}

// A column is one of the tables of wield stats.
type column struct {
	head  string
	value func(r *stats.Row) string
}

func number(head string, of ...stats.Counter) column {
	return column{head, func(r *stats.Row) string { return dash(r.Sum(of...)) }}
}

func percent(head, rate string) column {
	return column{head, func(r *stats.Row) string {
		v, ok := r.Rate(rate)
		if !ok {
			return "-"
		}
		return fmt.Sprintf("%.1f%%", v*100)
	}}
}

func timing(head string, t stats.Timer, q float64) column {
	return column{head, func(r *stats.Row) string {
		if r.Times(t).N() == 0 {
			return "-"
		}
		return short(r.Times(t).Quantile(q))
	}}
}

func dash(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// short writes a time with three digits.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 100*unit {
			return d.Round(unit).String()
		}
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

var (
	answerColumns = []column{number("ANSWERS", stats.Answers), number("FAILED", stats.Failed),
		percent("BOUNCED", "bounced"), percent("RECOVERED", "bounce_success"), timing("P50", stats.AnswerTime, 0.5),
		timing("P95", stats.AnswerTime, 0.95), number("TOKENS IN", stats.TokensIn),
		number("TOKENS OUT", stats.TokensOut), {"COST", func(r *stats.Row) string {
			if r.Count(stats.Cost) == 0 {
				return "-"
			}
			return fmt.Sprintf("%.4f", float64(r.Count(stats.Cost))/1e6)
		}}}
	callColumns = []column{number("CALLS", stats.Calls), percent("FIRST TRY", "first_try"),
		percent("REPAIRED", "repaired"), percent("MALFORMED", "malformed"), percent("REJECTED", "rejected")}
	resultColumns = []column{number("RESULTS", append(stats.Errors(), stats.Done)...), percent("GOOD", "success"),
		timing("P50", stats.RunTime, 0.5), timing("P95", stats.RunTime, 0.95), timing("P99", stats.RunTime, 0.99),
		number("ASKED", stats.Asked), timing("WAIT P50", stats.WaitTime, 0.5)}
)

// printOverview prints what is mostly wanted.
func printOverview(w io.Writer, ask func(by ...stats.Dim) ([]*stats.Row, error)) error {
	all, err := ask()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was counted in this time. --since looks further back, such as --since 30d.")
		return err
	}
	for _, t := range []struct {
		title   string
		by      []stats.Dim
		columns []column
	}{
		{"Answers by model", []stats.Dim{stats.ByModel}, answerColumns},
		{"Calls by model and dialect", []stats.Dim{stats.ByModel, stats.ByDialect}, callColumns},
		{"Tools", []stats.Dim{stats.ByTool}, slices.Concat(callColumns[:2], resultColumns)},
	} {
		rows, err := ask(t.by...)
		if err != nil {
			return err
		}
		if t.title == "Tools" {
			rows = slices.DeleteFunc(rows, func(r *stats.Row) bool {
				return r.Attempts()+r.Sum(append(stats.Errors(), stats.Done, stats.Asked)...) == 0
			})
		}
		if err := printTable(w, t.title, t.columns, rows); err != nil {
			return err
		}
	}
	return printUnused(w, ask)
}

// printUnused names the tools that models were told of and never called.
func printUnused(w io.Writer, ask func(by ...stats.Dim) ([]*stats.Row, error)) error {
	rows, err := ask(stats.ByTool)
	if err != nil {
		return err
	}
	var list []string
	for _, r := range rows {
		if r.Count(stats.Offered) > 0 && r.Attempts() == 0 {
			list = append(list, fmt.Sprintf("%s (%d times, about %d tokens)", cli.Plain(r.Tool), r.Count(stats.Offered),
				r.Count(stats.OfferedSize)/4))
		}
	}
	if len(list) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(w, "\nOffered and never called: %s\n", strings.Join(list, ", "))
	return err
}

// printStats prints rows with all columns that have something.
func printStats(w io.Writer, title string, rows []*stats.Row) error {
	return printTable(w, title, slices.Concat(answerColumns[:4], callColumns, resultColumns, answerColumns[6:]), rows)
}

// printTable prints rows, without the columns that say nothing.
func printTable(w io.Writer, title string, columns []column, rows []*stats.Row) error {
	if len(rows) == 0 {
		return nil
	}
	if title != "" {
		if _, err := fmt.Fprintf(w, "\n%s\n", title); err != nil {
			return err
		}
	}
	names := []column{
		{"TIME", func(r *stats.Row) string {
			if r.Time.IsZero() {
				return "-"
			}
			return r.Time.Format("2006-01-02 15:04")
		}},
		{"MODEL", func(r *stats.Row) string { return orDash(cli.Plain(r.Model)) }},
		{"CLIENT", func(r *stats.Row) string { return orDash(cli.Plain(r.Client)) }},
		{"DIALECT", func(r *stats.Row) string { return orDash(cli.Plain(r.Dialect)) }},
		{"TOOL", func(r *stats.Row) string { return orDash(cli.Plain(r.Tool)) }},
	}
	columns = slices.DeleteFunc(slices.Concat(names, columns), func(c column) bool {
		return !slices.ContainsFunc(rows, func(r *stats.Row) bool { return c.value(r) != "-" })
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cell func(c *column) string) {
		cells := make([]string, len(columns))
		for i := range columns {
			cells[i] = cell(&columns[i])
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), " ")) // a tabwriter fails when it is flushed
	}
	line(func(c *column) string { return c.head })
	for _, r := range rows {
		line(func(c *column) string { return c.value(r) })
	}
	return t.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

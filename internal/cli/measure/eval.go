package measure

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wield/dialect"
	"wield/internal/cli"
	"wield/internal/eval"
)

func NewEvalCmd(app *cli.App) *cobra.Command {
	return cli.Group("eval", "Measure parsing and tool calling",
		"Measures how well calls are read from recorded model output, or how well models call tools.",
		"  wield eval bfcl bfcl.jsonl.gz\n  wield eval live --model small questions.jsonl",
		newEvalBFCLCmd(app), newEvalLiveCmd(app))
}

func newEvalBFCLCmd(app *cli.App) *cobra.Command {
	var o eval.Options
	var repair, fails string
	var asJSON bool
	var minMatched float64
	var maxLost int
	cmd := &cobra.Command{
		Use:   "bfcl FILE...",
		Short: "Score recorded answers of the Berkeley Function-Calling Leaderboard",
		Long: `Scores the decoder. Each line of a FILE (JSON lines, also gzip) has one model response, its tools
and, if known, the calls that the leaderboard accepts. The decoder is not told the model.

"matched" is the leaderboard's loose comparison (strings without spaces and ,./-_*^, in lower case;
absent equals null; any order). "strict" compares strings and order exactly. "recovered" counts rows
that only this decoder reads correctly, "lost" the reverse. Rows that expect no call are counted by
class: prose, a call of an unknown tool, a call of a known one. In names, . counts as _.

Exit codes: 0 all thresholds are met, 1 one is missed, 2 it could not run.`,
		Example: `  wield eval bfcl bfcl-dev.jsonl.gz
  wield eval bfcl --json --fails misses.jsonl bfcl-dev.jsonl.gz
  wield eval bfcl --min-matched 95 --max-lost 8 bfcl-dev.jsonl.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			level, ok := dialect.ParseRepair(repair)
			if !ok {
				return cli.UsageErrorf("--repair must be off, safe or full, not %q", repair)
			}
			o.Repair = level
			if fails != "" {
				f, err := os.Create(fails)
				if err != nil {
					return cli.UsageErrorf("--fails: %w", err)
				}
				defer f.Close()
				o.Fails = f
			}
			r, err := eval.Run(cmd.Context(), args, o)
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			if err := writeReport(app, r, asJSON); err != nil {
				return err
			}
			return thresholds(r, minMatched, maxLost)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Dialect, "dialect", "auto", "`NAME` of the preferred dialect, or auto")
	fl.BoolVar(&o.Only, "only", false, "read only that dialect")
	fl.StringVar(&repair, "repair", "full", "`LEVEL` of repair for broken calls: off, safe or full")
	fl.StringSliceVar(&o.Models, "models", nil, "only responses of these models")
	fl.StringSliceVar(&o.Without, "without", nil, "exclude these models")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	fl.StringVar(&fails, "fails", "", "write unmatched rows to `FILE`, as JSON lines")
	fl.Float64Var(&minMatched, "min-matched", 0, "fail if less than this percentage is matched")
	fl.IntVar(&maxLost, "max-lost", -1, "fail if more than `N` rows are lost; -1: no limit")
	return cmd
}

func writeReport(app *cli.App, r *eval.Report, asJSON bool) error {
	if !asJSON {
		return r.WriteText(app.Stdout)
	}
	e := json.NewEncoder(app.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func thresholds(r *eval.Report, minMatched float64, maxLost int) error {
	if matched := 100 * float64(r.Total.GoldLoose) / float64(max(r.Total.Gold, 1)); matched < minMatched {
		return fmt.Errorf("eval: %.2f %% of the rows with a known answer are matched, wanted %g %%", matched,
			minMatched)
	}
	if maxLost >= 0 && r.Total.Lost > maxLost {
		return fmt.Errorf("eval: %d officially right rows are lost, at most %d may be", r.Total.Lost, maxLost)
	}
	return nil
}

package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/eval"
	"wield/internal/script"
)

// liveFlags are what the command line says.
type liveFlags struct {
	file     string
	upstream config.Upstream
	ways     []string
	choice   eval.Choice
	ask      eval.LiveOptions
	midTask  bool
	results  string
	asJSON   bool
	quiet    bool
}

func newEvalLiveCmd(app *cli.App) *cobra.Command {
	var f liveFlags
	cmd := &cobra.Command{
		Use:   "live FILE",
		Short: "Ask models questions from a file and score their calls",
		Long: `Asks models the questions of FILE at temperature 0 and compares their calls with the expected ones.
Each line is a JSON object with id, question (messages), tools (OpenAI format), category and gold
(calls), as in the recorded answers of the leaderboard. Questions of the category relevance expect
no call.

Each --model is a model of the configuration, with all its settings. The table shows how often a
call was valid, used the right tool and the right arguments, and how often one was made without
need, in percent with 95 % confidence intervals.

With --results each answer is appended to a file, and an interrupted run continues.`,
		Example: `  wield eval live --model small bfcl-dev.jsonl.gz --categories simple,multiple_function --limit 60
  wield eval live --model hermes --model fence --required --results live.jsonl questions.jsonl
  wield eval live --upstream http://127.0.0.1:11434/v1 --model qwen3:8b questions.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runLive(cmd, app, &f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.upstream.URL, "upstream", "", "base `URL` of an OpenAI-compatible server")
	fl.StringVar(&f.upstream.Key, "upstream-key", "", "key of that server: `REF` is env:NAME or file:PATH")
	fl.StringSliceVar(&f.ways, "model", nil, "`NAME` of a model to ask; repeat it to compare several")
	fl.StringSliceVar(&f.choice.Categories, "categories", nil, "only questions of these categories")
	fl.IntVar(&f.choice.MaxTools, "max-tools", 0, "only questions whose tools fit into `BYTES`; 0: all")
	fl.IntVar(&f.choice.Limit, "limit", 0, "largest number of questions; 0: all")
	fl.BoolVar(&f.midTask, "mid-task", false, "ask each question as part of a task, after two others that are done")
	fl.BoolVar(&f.ask.Required, "required", false, "require a call (tool_choice: required)")
	fl.IntVar(&f.ask.MaxTokens, "max-tokens", 512, "token limit of a response")
	fl.DurationVar(&f.ask.Timeout, "timeout", 2*time.Minute, "time limit for one question")
	fl.StringVar(&f.results, "results", "", "append every answer to `FILE`; an interrupted run continues from it")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func runLive(cmd *cobra.Command, app *cli.App, f *liveFlags, file string) error {
	switch {
	case len(f.ways) == 0:
		return cli.UsageErrorf("which model? Give --model NAME")
	case f.upstream.URL != "" && len(f.ways) > 1:
		return cli.UsageErrorf("--upstream goes with one --model; name several in a configuration")
	case f.choice.Limit < 0 || f.choice.MaxTools < 0 || f.ask.MaxTokens < 1 || f.ask.Timeout <= 0:
		return cli.UsageErrorf(
			"--limit and --max-tools must not be negative, --max-tokens and --timeout must be more than nothing")
	}
	if f.upstream.URL != "" {
		f.upstream.Model = f.ways[0]
	}
	questions, err := eval.Questions(file, f.choice)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if len(questions) == 0 {
		return cli.UsageErrorf("%s has no such question", file)
	}
	if f.midTask {
		if questions = eval.MidTask(questions); questions == nil {
			return cli.UsageErrorf("--mid-task: it needs three questions with expected calls in %s", file)
		}
	}
	c, err := config.Load(config.Options{File: f.file, Getenv: app.Getenv, Upstream: f.upstream})
	if err != nil {
		return err
	}
	results, keep, err := keptResults(f.results)
	if err != nil {
		return cli.UsageErrorf("--results: %w", err)
	}
	if keep != nil {
		defer keep.Close()
	}
	if results, err = askLive(cmd, app, f, c.Config, questions, results, keep); err != nil {
		return err
	}
	standings := eval.Stand(results)
	if !f.asJSON {
		return eval.WriteStandings(app.Stdout, standings)
	}
	e := json.NewEncoder(app.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(standings)
}

// keptResults returns what an earlier run found, and the file that further results are appended to; nil if there is
// none.
func keptResults(name string) ([]eval.Asked, *os.File, error) {
	if name == "" {
		return nil, nil, nil
	}
	results, err := eval.Kept(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return results, f, err
}

// askLive puts each question to all models, one after the other, unless its result is known. They are compared on the
// same questions even if the run is interrupted, and a server that keeps the last prompt reads a common one once.
func askLive(cmd *cobra.Command, app *cli.App, f *liveFlags, c *config.Config, questions []eval.LiveQuestion,
	results []eval.Asked, keep *os.File) ([]eval.Asked, error) {
	models := make([]chat.Model, len(f.ways))
	for i, way := range f.ways {
		model, done, err := compose.Served(c, compose.Environment{Getenv: app.Getenv,
			Catalogue: script.Catalogue(app.Getenv("WIELD_CATALOGUE")), Templates: true}, way)
		if err != nil {
			return nil, cli.UsageErrorf("%w", err)
		}
		defer done()
		models[i] = model
	}
	asked := map[string]bool{}
	for _, a := range results {
		asked[a.Way+"\x00"+a.ID] = true
	}
	for n := range questions {
		for i, way := range f.ways {
			if asked[way+"\x00"+questions[n].ID] {
				continue
			}
			a := eval.Ask(cmd.Context(), models[i], way, &questions[n], f.ask)
			if err := cmd.Context().Err(); err != nil {
				return nil, err
			}
			results = append(results, a)
			if keep != nil {
				if err := json.NewEncoder(keep).Encode(a); err != nil {
					return nil, fmt.Errorf("--results: %w", err)
				}
			}
			if !f.quiet {
				fmt.Fprintf(app.Stderr, "%s %d/%d %s: %d calls, %.1f s %s\n", way, n+1, len(questions), a.ID,
					len(a.Calls), a.Seconds, a.Failed)
			}
		}
	}
	return results, nil
}

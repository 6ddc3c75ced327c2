package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wield/agent"
	"wield/chat"
	"wield/internal/cli"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// A resumeFlags holds the flags of wield sessions resume.
type resumeFlags struct {
	file    *string
	approve []string
	deny    []string
	reason  string
	output  string
	outFile string
}

func newSessionsResumeCmd(app *cli.App, file *string) *cobra.Command {
	f := resumeFlags{file: file}
	cmd := &cobra.Command{
		Use:   "resume RUN | SESSION",
		Short: "Continue a run that was interrupted or waits for approval",
		Long: `Continues a run that was killed, cancelled, lost its model, or waits for approvals (--on-ask wait),
with its original flags. Answer the approvals with --approve and --deny. For a session, its last run
continues.

A call that was running when the run was killed, and that may not run twice, is not repeated: the
model is told that its result is unknown. Output and exit codes are those of wield run.`,
		Example: `  wield sessions resume run_6f1c...
  wield sessions resume run_6f1c... --approve all
  wield sessions resume run_6f1c... --deny apr_9d20... --reason "unsafe"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), app, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.approve, "approve", nil, "approve the call with this approval `ID`, or all; repeatable")
	fl.StringArrayVar(&f.deny, "deny", nil, "deny the call with this approval `ID`, or all; repeatable")
	fl.StringVar(&f.reason, "reason", "", "reason for the model: `TEXT`")
	fl.StringVar(&f.output, "output", "",
		"`FORMAT` of the output: text, json or stream-json (default: that of the run)")
	fl.StringVarP(&f.outFile, "out", "o", "", "write the output to `FILE`")
	return cmd
}

func (f *resumeFlags) run(ctx context.Context, app *cli.App, id string) error {
	var stored runFlags
	var run *record.Run
	err := cli.WithJournal(ctx, app, *f.file, func(s journal.Store) (err error) {
		id, run, err = lookUpRun(ctx, s, id)
		if err != nil {
			return err
		}
		if err := stored.recall(ctx, s, run.Session); err != nil {
			return err
		}
		if err := f.override(&stored); err != nil {
			return err // before anything is decided for good
		}
		return f.answer(ctx, app, s, id)
	})
	if err != nil {
		return err
	}
	r, err := stored.load(app)
	if err != nil {
		return err
	}
	return stored.with(ctx, app, r, func(a *agent.Agent, runner *runner.Runner) error {
		return stored.resumeRun(ctx, app, a, runner, id, run)
	})
}

// override puts these flags over those that the run was started with.
func (f *resumeFlags) override(stored *runFlags) error {
	stored.outFile = f.outFile
	if *f.file != "" {
		stored.file = *f.file
	}
	if f.output != "" {
		stored.output = f.output
	}
	return stored.check()
}

// resumeRun continues a run.
func (f *runFlags) resumeRun(ctx context.Context, app *cli.App, a *agent.Agent, runner *runner.Runner, id string,
	was *record.Run) error {
	if was.Dir != runner.Settings().Root {
		return cli.UsageErrorf("the run works in %s: go there first", cli.Plain(was.Dir))
	}
	req := &chat.Request{}
	if err := f.form(req); err != nil {
		return err
	}
	run, err := a.Resume(ctx, id, req)
	switch {
	case errors.Is(err, agent.ErrEnded):
		return cli.UsageErrorf("the run %s is over", cli.Plain(id))
	case errors.Is(err, journal.ErrHeld):
		return fmt.Errorf("%w: it runs, or was killed less than half a minute ago", err)
	case err != nil:
		return err
	}
	req.Model, req.Messages = was.Model, run.Messages()
	return f.carryOut(ctx, app, run, runner, req)
}

// lookUpRun returns a run by its id, or the last one of a session by the session's.
func lookUpRun(ctx context.Context, s journal.Store, id string) (string, *record.Run, error) {
	q := journal.HeadQuery{Stream: id, Opened: record.KindRun, Limit: 1}
	if session, err := journal.LookUp(ctx, s, id); err == nil {
		q.Stream, q.Session = "", session.ID
	}
	for h, err := range s.Heads(ctx, q) {
		if err != nil {
			return "", nil, err
		}
		for e, err := range s.Read(ctx, journal.Query{Stream: h.Stream, Kinds: []record.Kind{record.KindRun},
			Limit: 1}) {
			if err != nil {
				return "", nil, err
			}
			return h.Stream, e.Record.Run, nil
		}
	}
	return "", nil, cli.UsageErrorf("there is no run or session %s; wield sessions list shows those there are",
		cli.Plain(id))
}

// recall sets the flags to those that a run was started with.
func (f *runFlags) recall(ctx context.Context, s journal.Store, session string) error {
	given := ""
	for e, err := range s.Read(ctx, journal.Query{Session: session, Kinds: []record.Kind{record.KindSession}}) {
		if err != nil {
			return err
		}
		if note := e.Record.Session.Notes[runNote]; note != "" {
			given = note
		}
	}
	if given == "" {
		return cli.UsageErrorf("the session %s was not begun by wield run", cli.Plain(session))
	}
	return f.parse(given)
}

// parse sets the flags to those of a note in the journal.
func (f *runFlags) parse(note string) error {
	if err := json.Unmarshal([]byte(note), &f.given); err != nil {
		return fmt.Errorf("the flags of the run: %w", err)
	}
	fl := pflag.NewFlagSet("wield run", pflag.ContinueOnError)
	f.add(fl)
	if err := fl.Parse(f.given); err != nil {
		return cli.UsageErrorf("the flags of the run: %w", err)
	}
	return nil
}

// answer decides the questions that the command line answers. All of them are looked up first: what is wrong decides
// nothing.
func (f *resumeFlags) answer(ctx context.Context, app *cli.App, s journal.Store, run string) error {
	approvals := &journal.Approvals{Store: s}
	var list []string
	states := map[string]runner.ApprovalState{}
	for _, side := range []struct {
		ids   []string
		state runner.ApprovalState
	}{{f.approve, runner.ApprovalApproved}, {f.deny, runner.ApprovalDenied}} {
		ids, err := named(ctx, approvals, run, side.ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			switch was, ok := states[id]; {
			case !ok:
				list, states[id] = append(list, id), side.state
			case was != side.state:
				return cli.UsageErrorf("--approve and --deny both answer %s: nothing was decided", cli.Plain(id))
			}
		}
	}
	for _, id := range list {
		a, err := approvals.Decide(ctx, id, runner.Answer{State: states[id], By: "command line", Reason: f.reason})
		switch {
		case errors.Is(err, runner.ErrDecided):
			fmt.Fprintf(app.Stderr, "wield: %s was %s by %s before\n", cli.Plain(id), a.State, cli.Plain(a.Answer.By))
		case err != nil:
			return err
		}
	}
	return nil
}

// named returns the ids that are meant, which are those of questions of the run: all stands for every one that has no
// answer.
func named(ctx context.Context, approvals *journal.Approvals, run string, ids []string) ([]string, error) {
	var list []string
	for _, id := range ids {
		if id != "all" {
			a, err := approvals.Find(ctx, id)
			switch {
			case errors.Is(err, runner.ErrNoApproval) || err == nil && a.Run != run:
				return nil, cli.UsageErrorf("there is no question %s of the run %s", cli.Plain(id), cli.Plain(run))
			case err != nil:
				return nil, err
			}
			list = append(list, id)
			continue
		}
		for p, err := range (&journal.Approvals{Store: approvals.Store, Run: run}).Waiting(ctx) {
			if err != nil {
				return nil, err
			}
			list = append(list, p.ID)
		}
	}
	return list, nil
}

package runs

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/journal"
	"wield/journal/record"
)

func NewSessionsCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := cli.Group("sessions", "List, show, continue, delete and export sessions",
		`A session is one conversation with its runs, calls and approvals. Sessions are stored in the journal.`,
		`  wield sessions list
  wield sessions show ses_6f1c...
  wield sessions export --all > runs.jsonl`,
		newSessionsListCmd(app, &file), newSessionsShowCmd(app, &file), newSessionsResumeCmd(app, &file),
		newSessionsDeleteCmd(app, &file), newSessionsExportCmd(app, &file))
	cmd.PersistentFlags().StringVar(&file, "config", "", "configuration `FILE`")
	return cmd
}

func newSessionsListCmd(app *cli.App, file *string) *cobra.Command {
	var limit int
	var before int64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, latest first",
		Long: `Prints one line per session: ID, time of the last change, state of the last run, number of runs, and
title. With --json, the value last of the last line is --before for the next page.`,
		Example: `  wield sessions list
  wield sessions list --limit 100 --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || before < 0 {
				return cli.UsageErrorf("--limit is at least 1, and --before is not below 0")
			}
			return cli.WithJournal(cmd.Context(), app, *file, func(s journal.Store) error {
				n := 0
				for session, err := range journal.Sessions(cmd.Context(), s, before) {
					if err != nil {
						return err
					}
					if session.Runs == 0 { // something else that is kept, such as a response
						continue
					}
					if err := printSession(app, &session, asJSON); err != nil {
						return err
					}
					if n++; n == limit {
						break
					}
				}
				if n == 0 && !asJSON {
					fmt.Fprintln(app.Stderr, "wield: there are no sessions")
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "number of sessions")
	cmd.Flags().Int64Var(&before, "before", 0, "only sessions before this `POSITION`; 0: all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per session")
	return cmd
}

func printSession(app *cli.App, s *journal.Session, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(app.Stdout).Encode(s)
	}
	_, err := fmt.Fprintf(app.Stdout, "%s  %s  %-18s  %-6s  %s\n", cli.Plain(s.ID), s.Changed.Format(time.DateTime),
		s.Status, cli.Count(s.Runs, "run"), cli.Plain(s.Title))
	return err
}

// noSession makes an error about a session that is not there one that tells how to find those that are.
func noSession(id string, err error) error {
	if errors.Is(err, journal.ErrNotFound) {
		return cli.UsageErrorf("there is no session %s; wield sessions list shows those there are", cli.Plain(id))
	}
	return err
}

func newSessionsShowCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session",
		Long: `Prints the messages, calls, approvals and results of a session in order. wield sessions export
prints everything that is recorded, including repairs and raw output.`,
		Example: `  wield sessions show ses_6f1c...`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.WithJournal(cmd.Context(), app, *file, func(s journal.Store) error {
				session, err := journal.LookUp(cmd.Context(), s, args[0])
				if err != nil {
					return noSession(args[0], err)
				}
				if err := printSession(app, &session, false); err != nil {
					return err
				}
				out := bufio.NewWriter(app.Stdout)
				var said history
				for e, err := range s.Read(cmd.Context(), journal.Query{Session: session.ID}) {
					if err != nil {
						return err
					}
					if text := describe(&e.Record); text != "" && !said.has(&e) {
						fmt.Fprintf(out, "%s  %s\n", e.At.Format(time.TimeOnly), text)
					}
				}
				return out.Flush()
			})
		},
	}
}

// A history counts what earlier runs of a session have said: the next one begins with all of it, which nobody
// wants to read again.
type history struct {
	run      string // that is read
	messages int    // of all runs so far
	again    int    // of those, the ones that this run repeats
	began    bool   // the run has asked its model
}

// has reports whether an entry repeats what was said in an earlier run.
func (h *history) has(e *journal.Entry) bool {
	switch e.Record.Kind {
	case record.KindRun:
		*h = history{run: e.Stream, messages: h.messages, again: h.messages}
	case record.KindMessage, record.KindTurnEnd, record.KindResult:
		if e.Stream != h.run {
			return false
		}
		if e.Record.Kind == record.KindMessage && !h.began && h.again > 0 {
			h.again--
			return true
		}
		if t := e.Record.TurnEnd; t == nil || t.Error == nil {
			h.messages++
		}
	case record.KindTurn:
		h.began = h.began || e.Stream == h.run
	}
	return false
}

// Describe says in a line what a person looks for in a record. It is empty for what is of no interest to most.
func describe(r *record.Record) string {
	switch r.Kind {
	case record.KindRun:
		return "run of " + cli.Plain(r.Run.Model)
	case record.KindMessage:
		return string(r.Message.Role) + ": " + cli.Plain(r.Message.Text())
	case record.KindTurnEnd:
		return describeTurn(r.TurnEnd)
	case record.KindPolicy:
		return fmt.Sprintf("%s: call %s: %s", r.Policy.Decision, cli.Plain(r.Policy.CallID), cli.Plain(r.Policy.Why))
	case record.KindStart:
		return fmt.Sprintf("runs %s %s", cli.Plain(r.Start.Tool), cli.Plain(string(r.Start.Arguments)))
	case record.KindDetached:
		return "goes on as " + cli.Plain(r.Detached.Name) + ": call " + cli.Plain(r.Detached.CallID)
	case record.KindAgain:
		return "runs again: call " + cli.Plain(r.Again.CallID)
	case record.KindResult:
		if text := r.Result.Result.Error; text != "" {
			return fmt.Sprintf("%s failed: %s", cli.Plain(r.Result.Tool), cli.Plain(text))
		}
		parts := chat.Message{Parts: r.Result.Result.Parts} // of a client, or of a tool that gives more than JSON
		return fmt.Sprintf("%s gave %s", cli.Plain(r.Result.Tool),
			cli.Plain(cmp.Or(string(r.Result.Result.Data), parts.Text())))
	case record.KindSummary:
		return fmt.Sprintf("summary of the first %d messages: %s", r.Summary.Messages, cli.Plain(r.Summary.Text))
	case record.KindWait:
		return describeWait(r.Wait)
	case record.KindQuestion:
		return fmt.Sprintf("asks whether %s may run %s", cli.Plain(r.Question.Tool),
			cli.Plain(string(r.Question.Arguments)))
	case record.KindAnswer:
		return fmt.Sprintf("%s by %s %s", r.Answer.State, cli.Plain(r.Answer.By), cli.Plain(r.Answer.Reason))
	case record.KindEnd:
		return describeEnd(r.End)
	}
	return ""
}

// describeWait says why a run stopped.
func describeWait(w *record.Wait) string {
	text := journal.StatusOf(record.StateWaiting, &record.Record{Wait: w}).String()
	if w.Note != "" {
		text += ": " + cli.Plain(w.Note)
	}
	return text
}

// describeEnd says how a run ended and what it used, as far as that is known.
func describeEnd(e *record.End) string {
	text := journal.StatusOf(record.StateEnded, &record.Record{End: e}).String()
	if e.Detail != "" {
		text += " (limit: " + cli.Plain(e.Detail) + ")"
	}
	if e.Usage.Known {
		text += fmt.Sprintf(", %d tokens read, %d written", e.Usage.In, e.Usage.Out)
	}
	if e.Cost != nil {
		text += ", cost " + strconv.FormatFloat(*e.Cost, 'f', -1, 64)
	}
	return text
}

func describeTurn(t *record.TurnEnd) string {
	text := "assistant: " + cli.Plain(t.Message.Text())
	for i := range t.Message.Calls {
		c := &t.Message.Calls[i]
		text += fmt.Sprintf(" [calls %s %s]", cli.Plain(c.Name), cli.Plain(c.Arguments))
	}
	if t.Error != nil {
		text += " [broke off: " + cli.Plain(t.Error.Message) + "]"
	}
	return text
}

func newSessionsDeleteCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "delete SESSION...",
		Short: "Delete the content of sessions",
		Long: `Deletes the content of sessions from the journal: messages, calls, results and approvals. Hashes
stay, so that the rest can be verified, and a record of the deletion. It cannot be undone. A session
with an active run is not deleted.`,
		Example: `  wield sessions delete ses_6f1c...`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.WithJournal(cmd.Context(), app, *file, func(s journal.Store) error {
				for _, id := range args {
					if err := s.Delete(cmd.Context(), id, record.ReasonAsked); err != nil {
						return noSession(id, err)
					}
				}
				return nil
			})
		},
	}
}

func newSessionsExportCmd(app *cli.App, file *string) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "export SESSION | --all",
		Short: "Export records as JSON Lines",
		Long: `Prints the entries of a session, or of the whole journal with --all, as JSON lines in the order of
writing. docs/journal.md describes the records.`,
		Example: `  wield sessions export ses_6f1c... > session.jsonl
  wield sessions export --all > runs.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return cli.UsageErrorf("give the id of one session, or --all")
			}
			return cli.WithJournal(cmd.Context(), app, *file, func(s journal.Store) error {
				q := journal.Query{}
				if !all {
					q.Session = args[0]
				}
				out := bufio.NewWriter(app.Stdout)
				n, err := journal.Export(cmd.Context(), s, q, out)
				if err == nil && n == 0 && !all {
					err = noSession(args[0], journal.ErrNotFound)
				}
				return errors.Join(err, out.Flush())
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "export the whole journal")
	return cmd
}

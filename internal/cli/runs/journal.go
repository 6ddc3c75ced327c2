package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/journal"
)

func NewJournalCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := cli.Group("journal", "Verify, back up and vacuum the journal",
		`The journal holds what happened in runs: what was said, which calls were made, who allowed them and what came of them. Where it stands
says the section journal of the configuration.`,
		`  wield journal verify
  wield journal backup journal-copy.db`,
		newJournalVerifyCmd(app, &file), newJournalBackupCmd(app, &file), newJournalVacuumCmd(app, &file))
	cmd.PersistentFlags().StringVar(&file, "config", "", "configuration `FILE`")
	return cmd
}

func newJournalVerifyCmd(app *cli.App, file *string) *cobra.Command {
	var since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify that the journal was not tampered with",
		Long: `Reads the whole journal and checks the chain of hashes, that streams have no gaps, that what is missing was deleted by a record that
says so, and that no call has two starts or two results. Ends with 1 if anything is wrong.

It prints the hash of the last entry. Kept somewhere else and given to --since later, it shows besides that nothing was cut off
the end.`,
		Example: `  wield journal verify
  wield journal verify --since 5f2a...`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var head journal.Hash
			if since != "" {
				if err := head.UnmarshalText([]byte(since)); err != nil {
					return cli.UsageErrorf("--since: a hash has 64 hexadecimal digits, as wield journal verify prints them")
				}
			}
			return cli.WithJournal(cmd.Context(), app, *file, func(s journal.Store) error {
				report, err := journal.Verify(cmd.Context(), s, head)
				if err != nil {
					return err
				}
				return printReport(app, &report, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "`HASH` that was the last one once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printReport(app *cli.App, r *journal.Report, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(app.Stdout).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(app.Stdout, "%d entries, %d of them deleted, %d streams, %d calls, %d without a result\nlast hash %s\n",
			r.Entries, r.Deleted, r.Streams, r.Calls, r.Open, r.Head)
		for _, p := range r.Problems {
			fmt.Fprintf(app.Stdout, "position %d", p.Position)
			if p.Stream != "" {
				fmt.Fprintf(app.Stdout, ", %s", cli.Plain(p.Stream))
			}
			fmt.Fprintf(app.Stdout, ": %s\n", cli.Plain(p.What))
		}
	}
	if len(r.Problems) > 0 {
		return errors.New("the journal is not what was written")
	}
	return nil
}

func newJournalBackupCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the journal",
		Long: `Writes a whole copy of a journal in SQLite to FILE, which must not exist. Runs may go on meanwhile. To use a copy, put it in the place
of the journal while no wield runs. A journal in PostgreSQL is copied with pg_dump.`,
		Example: `  wield journal backup journal-copy.db`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.WithJournal(cmd.Context(), app, *file, func(s journal.Store) error {
				b, ok := s.(interface {
					Backup(ctx context.Context, path string) error
				})
				if !ok {
					return cli.UsageErrorf("only a journal in SQLite is copied by wield; use pg_dump")
				}
				return b.Backup(cmd.Context(), args[0])
			})
		},
	}
}

func newJournalVacuumCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "vacuum",
		Short: "Free unused disk space",
		Long: `After sessions were deleted their room stays with the journal. This gives it back. Writers wait meanwhile, and SQLite needs as much
free room as the journal has.`,
		Example: `  wield journal vacuum`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.WithJournal(cmd.Context(), app, *file, func(s journal.Store) error {
				v, ok := s.(interface {
					Vacuum(ctx context.Context) error
				})
				if !ok {
					return nil // in memory there is none
				}
				return v.Vacuum(cmd.Context())
			})
		},
	}
}

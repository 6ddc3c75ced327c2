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
		`The journal records runs: messages, calls, approvals and results. The section journal of the configuration says
where it is stored.`,
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
		Long: `Reads the whole journal and checks the hash chain, that no record is missing without a record of its
deletion, and that no call has two starts or two results. The exit code is 1 if anything is wrong.

It prints the hash of the last entry. Keep that hash elsewhere and pass it to --since later, to
detect that entries were cut off at the end.`,
		Example: `  wield journal verify
  wield journal verify --since 5f2a...`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var head journal.Hash
			if since != "" {
				if err := head.UnmarshalText([]byte(since)); err != nil {
					return cli.UsageErrorf(
						"--since: a hash has 64 hexadecimal digits, as wield journal verify prints them")
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
	cmd.Flags().StringVar(&since, "since", "", "an earlier last `HASH`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printReport(app *cli.App, r *journal.Report, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(app.Stdout).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(app.Stdout,
			"%d entries, %d of them deleted, %d streams, %d calls, %d without a result\nlast hash %s\n", r.Entries,
			r.Deleted, r.Streams, r.Calls, r.Open, r.Head)
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
		Long: `Copies a SQLite journal to FILE, which must not exist. Runs may continue meanwhile. To restore, stop
wield and put the copy in place of the journal. For PostgreSQL use pg_dump.`,
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
		Long: `Returns the space of deleted sessions to the file system. Writers wait meanwhile; SQLite needs as
much free space as the journal has.`,
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

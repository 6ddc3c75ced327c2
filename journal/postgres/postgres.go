// Package postgres keeps a journal in a PostgreSQL database, for when several machines work on the same runs.
// Its tables are called wield_.. and lie in the schema that the connection's search path names first.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"wield/journal"
	"wield/journal/internal/sqlstore"
	"wield/journal/record"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options say how a journal is used. The zero value is ready.
type Options struct {
	journal.Options
	// Wait limits how long a write waits for another process; 0: 10 s. Then it fails with journal.ErrLocked.
	Wait time.Duration
	// Poll sets how often a watch looks for records of other processes; 0: 250 ms.
	Poll time.Duration
	// Connections limits how many there are at once; 0: 5.
	Connections int

	patience time.Duration // how long the work of one step may take; 0: a minute
}

// A Store is a journal in a database.
type Store struct{ *sqlstore.Store }

const (
	defaultWait        = 10 * time.Second
	defaultPoll        = 250 * time.Millisecond
	defaultConnections = 5
)

// standsStill limits how long a process may have the lock and do nothing, as one does that was stopped or cut off,
// before the server ends its transaction. It is shorter than others wait.
const standsStill = 5 * time.Second

// All who write to this journal hold lock, so that positions are given in the order of the commits.
const lock = `SELECT pg_advisory_xact_lock(hashtext('wield journal'), hashtext(current_schema()))`

// Open opens the journal in the database of an address such as postgres://user@host/name. Tables that were
// made by a newer wield fail with record.ErrVersion.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		// it may hold a password
		return nil, errors.New("journal: the address of the database cannot be read; it looks like " +
			"postgres://user@host/name")
	}
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if o.Connections <= 1 {
		o.Connections = defaultConnections
	}
	config.RuntimeParams["lock_timeout"] = fmt.Sprint(o.Wait.Milliseconds())
	config.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(standsStill.Milliseconds())
	config.RuntimeParams["application_name"] = "wield"
	wait := o.Wait + cmp.Or(o.patience, time.Minute) // beside the wait for the lock there is only work
	if config.ConnectTimeout <= 0 || config.ConnectTimeout > wait {
		config.ConnectTimeout = wait
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(o.Connections)
	db.SetMaxIdleConns(o.Connections)
	if err := migrateWithin(ctx, wait, db); err != nil {
		db.Close()
		return nil, err
	}
	f := sqlstore.Flavour{
		Prefix:   "wield_",
		Dollars:  true,
		Within:   map[bool][]string{true: {lock}, false: {"SET LOCAL synchronous_commit = off", lock}},
		Flush:    []string{"SELECT pg_current_xact_id()"}, // a transaction with an id is written, and all before it
		Clock:    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
		Vacuum:   []string{"VACUUM {entries}", "VACUUM {heads}"},
		Classify: classify,
		Wait:     wait,
		Poll:     o.Poll,
	}
	return &Store{sqlstore.New(db, db, f, o.Options)}, nil
}

// migrateWithin migrates, or fails if the server takes longer.
func migrateWithin(ctx context.Context, wait time.Duration, db *sql.DB) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := migrate(limited, db)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return classify(err)
}

// migrate brings the tables to the newest version. Versions only go forward.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := migrations.ReadDir("migrations") // in the order of their numbers
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, lock); err != nil {
		return err
	}
	version, err := version(ctx, tx)
	switch {
	case err != nil:
		return err
	case version == len(files):
		return nil
	case version > len(files):
		return fmt.Errorf("%w: the tables have version %d, and this wield knows up to %d; use the newer one, or "+
			"another schema", record.ErrVersion, version, len(files))
	case version == 0:
		if _, err := tx.ExecContext(ctx,
			"CREATE TABLE wield_version (version int NOT NULL); INSERT INTO wield_version VALUES (0)"); err != nil {
			return err
		}
	}
	for _, f := range files[version:] {
		script, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE wield_version SET version = %d", len(files))); err != nil {
		return err
	}
	return tx.Commit()
}

// version returns the version of the tables, 0 where there are none.
func version(ctx context.Context, tx *sql.Tx) (int, error) {
	var there bool
	n := 0
	err := tx.QueryRowContext(ctx, "SELECT to_regclass('wield_version') IS NOT NULL").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, "SELECT version FROM wield_version").Scan(&n)
	return n, err
}

// kinds are the classes of PostgreSQL's errors, by code or by the first two characters of one.
var kinds = map[string]error{
	"53": journal.ErrFull, "54": journal.ErrFull, "25006": journal.ErrReadOnly, "42501": journal.ErrReadOnly,
	"55": journal.ErrLocked, "57014": journal.ErrLocked, "40": journal.ErrLocked,
	"XX": journal.ErrCorrupt, "3F": journal.ErrCorrupt, "42": journal.ErrCorrupt, // tables are missing, or are others
	"58": journal.ErrDisk, "08": journal.ErrLost, "25": journal.ErrLost, "28": journal.ErrLost, "3D": journal.ErrLost,
	"57": journal.ErrLost, "53300": journal.ErrLost,
}

// classify gives an error its kind. What neither the server nor wield says comes from the connection between them:
// there is none, it broke, or nothing came through it in time.
func classify(err error) error {
	if errors.Is(err, context.Canceled) || journal.IsFailure(err) {
		return err
	}
	var connect *pgconn.ConnectError
	var e *pgconn.PgError
	if errors.As(err, &connect) || !errors.As(err, &e) {
		return fmt.Errorf("%w: %w", journal.ErrLost, err)
	}
	kind := kinds[e.Code]
	if kind == nil && len(e.Code) == 5 {
		kind = kinds[e.Code[:2]]
	}
	if kind == nil {
		return err
	}
	return fmt.Errorf("%w: %s (%s)", kind, e.Message, e.Code)
}

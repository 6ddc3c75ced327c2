package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"wield/journal"
	"wield/journal/record"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the file as a journal of wield: "wldj".
const applicationID = 0x776c646a

// migrate brings a file to the newest version. Versions only go forward.
func migrate(ctx context.Context, db *sql.DB, wait time.Duration) error {
	files, err := migrations.ReadDir("migrations") // in the order of their numbers
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := checkFile(ctx, conn, len(files)); err != nil {
		return err
	}
	if err := useLog(ctx, conn, wait); err != nil {
		return err
	}
	version, err := number(ctx, conn, "PRAGMA user_version")
	if err != nil || version == len(files) {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Another process may have been faster.
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	for _, f := range files[min(version, len(files)):] {
		script, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID,
		max(version, len(files)))); err != nil {
		return err
	}
	return tx.Commit()
}

// checkFile reports a file that is no journal, or that of a newer wield, before anything is written to it.
func checkFile(ctx context.Context, conn *sql.Conn, newest int) error {
	// In this order: another process may make the tables meanwhile, and who sees them sees the mark that came with
	// them.
	tables, err := number(ctx, conn, "SELECT count(*) FROM sqlite_master")
	if err != nil {
		return err
	}
	id, err := number(ctx, conn, "PRAGMA application_id")
	if err != nil {
		return err
	}
	if id != applicationID && (id != 0 || tables > 0) {
		return fmt.Errorf("%w: the file is another program's database", journal.ErrCorrupt)
	}
	version, err := number(ctx, conn, "PRAGMA user_version")
	if err == nil && version > newest {
		return fmt.Errorf("%w: the file has version %d, and this wield knows up to %d; use the newer one, or another "+
			"file", record.ErrVersion, version, newest)
	}
	return err
}

// useLog makes SQLite write to a log beside the file. While another process does the same it says that the file is
// locked, and does not wait by itself.
func useLog(ctx context.Context, conn *sql.Conn, wait time.Duration) error {
	for end := time.Now().Add(wait); ; {
		var mode string
		err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		var e *sqlite.Error
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("%w: the file system has no shared memory, which SQLite needs for a log (journal_mode "+
				"%s)", journal.ErrReadOnly, mode)
		case !errors.As(err, &e) || e.Code()&0xff != codes.SQLITE_BUSY || time.Now().After(end):
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func number(ctx context.Context, conn *sql.Conn, query string) (n int, err error) {
	err = conn.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

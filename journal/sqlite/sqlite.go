// Package sqlite keeps a journal in a file, with SQLite. Several processes of one machine may have it open at
// once. It does not belong on a file system of the network, where the locks that SQLite needs do not work.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"wield/journal"
	"wield/journal/internal/sqlstore"
)

// Options say how a file is opened. The zero value makes a file that is not there.
type Options struct {
	journal.Options
	// Existing says that the file must be there.
	Existing bool
	// Wait limits how long a write waits for another process; 0: 10 s. Then it fails with journal.ErrLocked.
	Wait time.Duration
	// Poll sets how often a watch looks for records of other processes; 0: 250 ms.
	Poll time.Duration
}

// A Store is a journal in a file.
type Store struct {
	*sqlstore.Store
	path string
}

const (
	defaultWait = 10 * time.Second
	defaultPoll = 250 * time.Millisecond
	// checkpointPages limits the log beside the file before it is brought into it: 16 MiB. Each
	// time costs syncs.
	checkpointPages = 4096
)

// Open opens the journal in a file. A file that was made by a newer wield fails with record.ErrVersion, one
// that is no journal with journal.ErrCorrupt.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if err := create(path, o.Existing); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", kindOf(err, o.Existing), path, err)
	}
	writer, err := sql.Open("sqlite", address(path, o.Wait, "immediate", "secure_delete(1)", "fullfsync(1)",
		"checkpoint_fullfsync(1)", fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages)))
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	if err := migrate(ctx, writer, o.Wait); err != nil {
		writer.Close()
		return nil, fmt.Errorf("%w (%s)", classify(err), path)
	}
	reader, err := sql.Open("sqlite", address(path, o.Wait, "deferred", "query_only(1)"))
	if err != nil {
		writer.Close()
		return nil, err
	}
	reader.SetMaxOpenConns(readers)
	f := sqlstore.Flavour{
		Before:   map[bool]string{true: "PRAGMA synchronous = FULL", false: "PRAGMA synchronous = NORMAL"},
		Vacuum:   []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"},
		Scrub:    scrub,
		Classify: classify,
		Sticky:   lostSync,
		Wait:     o.Wait + time.Minute, // beside the wait for the lock there is only work
		Poll:     o.Poll,
	}
	return &Store{sqlstore.New(writer, reader, f, o.Options), path}, nil
}

// readers limits how many read at once.
const readers = 4

// create makes the file and its directory, for nobody else to read. SQLite gives its other files the same mode.
func create(path string, existing bool) error {
	if existing {
		_, err := os.Stat(path)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func kindOf(err error, existing bool) error {
	switch {
	case existing && errors.Is(err, os.ErrNotExist):
		return journal.ErrNotFound
	case errors.Is(err, syscall.ENOSPC):
		return journal.ErrFull
	}
	return journal.ErrReadOnly
}

// address returns the path as SQLite's URL.
func address(path string, wait time.Duration, lock string, pragmas ...string) string {
	slashed := filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		slashed = "/" + slashed
	}
	q := url.Values{"_txlock": {lock},
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds())}, pragmas...)}
	return "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?" + q.Encode()
}

// scrub brings the log into the file and empties it: what was deleted stands in it until then.
func scrub(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// Backup writes a copy of the journal, as it is at one moment, to a file that does not exist. Others may
// write meanwhile.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already", path)
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".wield-backup-*")
	if err != nil {
		return fmt.Errorf("%w: %w", kindOf(err, false), err)
	}
	defer os.Remove(part.Name()) // after the rename it is not there
	defer part.Close()
	err = s.Maintain(ctx, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", part.Name())
		return err
	})
	if err == nil {
		err = part.Sync()
	}
	if err == nil {
		err = os.Link(part.Name(), path) // unlike a rename it replaces nothing
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) {
		err = os.Rename(part.Name(), path)
	}
	return err
}

// kinds are the classes of SQLite's errors.
var kinds = map[int]error{
	codes.SQLITE_BUSY: journal.ErrLocked, codes.SQLITE_LOCKED: journal.ErrLocked,
	codes.SQLITE_PROTOCOL: journal.ErrLocked, codes.SQLITE_READONLY: journal.ErrReadOnly,
	codes.SQLITE_PERM: journal.ErrReadOnly, codes.SQLITE_CANTOPEN: journal.ErrReadOnly,
	codes.SQLITE_FULL: journal.ErrFull, codes.SQLITE_CORRUPT: journal.ErrCorrupt,
	codes.SQLITE_NOTADB: journal.ErrCorrupt, codes.SQLITE_IOERR: journal.ErrDisk,
}

// classify gives an error its kind.
func classify(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	kind := kinds[e.Code()&0xff]
	switch e.Code() {
	case codes.SQLITE_IOERR_WRITE, codes.SQLITE_IOERR_SHMSIZE: // a quota, or a limit on the size of files
		kind = journal.ErrFull
	}
	if kind == nil {
		return err
	}
	return fmt.Errorf("%w: %s", kind, strings.TrimSpace(e.Error()))
}

// lostSync reports an error after which it is not known what is on the disk: a system may forget what it
// could not write and say of the next sync that all is well.
func lostSync(err error) bool {
	return errors.Is(err, journal.ErrDisk) &&
		strings.Contains(err.Error(), fmt.Sprintf("(%d)", codes.SQLITE_IOERR_FSYNC))
}

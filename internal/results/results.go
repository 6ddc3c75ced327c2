// Package results keeps results of tools in a file, so that the same call has one in a later process too.
//
// A result is kept for as long as its tool says (tool.Caching), under the binding of its call: the tool's
// definition, the arguments in canonical form, the workspace and the environment. Only those that are OK are
// kept. When there is no room, the oldest go first.
package results

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/gob"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver

	"wield/tool"
	"wield/tool/runner"
)

// Options say how much is kept. The zero value works.
type Options struct {
	Bytes int64            // of results in all; 0: 64 MiB
	Now   func() time.Time // nil: time.Now
}

const defaultBytes = 64 << 20

// A Store is a file of results. Several goroutines and several processes may use one at once.
type Store struct {
	path string
	o    Options

	mu sync.Mutex
	db *sql.DB // nil: it was not needed yet
}

var _ runner.Cache = (*Store)(nil)

// New returns the store in a file. The file and its directory are made when the first result is kept.
func New(path string, o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Bytes <= 0 {
		o.Bytes = defaultBytes
	}
	return &Store{path: path, o: o}
}

// Close closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

const tables = `CREATE TABLE IF NOT EXISTS result (binding TEXT PRIMARY KEY, body BLOB NOT NULL, kept INTEGER NOT NULL, until INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS result_kept ON result (kept);`

// open returns the open file. It is nil where there is none and nothing is to be written.
func (s *Store) open(ctx context.Context, writes bool) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		return s.db, nil
	}
	if !writes {
		if _, err := os.Stat(s.path); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
	}
	if err := create(s.path); err != nil {
		return nil, err
	}
	slashed := filepath.ToSlash(s.path)
	if filepath.VolumeName(s.path) != "" {
		slashed = "/" + slashed
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: slashed}).EscapedPath()+
		"?_pragma=busy_timeout(2000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)&_pragma=trusted_schema(0)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.db = db
	return db, nil
}

// create makes the file and its directory, since SQLite would let others read them.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Get implements [runner.Cache].
func (s *Store) Get(ctx context.Context, binding string) (tool.Result, bool, error) {
	db, err := s.open(ctx, false)
	if db == nil || err != nil {
		return tool.Result{}, false, failed(err)
	}
	var body []byte
	err = db.QueryRowContext(ctx, "SELECT body FROM result WHERE binding = ?1 AND kept <= ?2 AND until > ?2", binding,
		s.o.Now().UnixMilli()).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return tool.Result{}, false, nil
	}
	var r tool.Result
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(body)).Decode(&r)
	}
	return r, err == nil, failed(err)
}

// Put implements [runner.Cache].
func (s *Store) Put(ctx context.Context, binding string, r tool.Result, until time.Time) error {
	var b bytes.Buffer // not JSON, which would write the data of the result in another way
	if err := gob.NewEncoder(&b).Encode(r); err != nil {
		return failed(err)
	}
	if int64(b.Len()) > s.o.Bytes {
		return nil
	}
	db, err := s.open(ctx, true)
	if err != nil {
		return failed(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = tx.Rollback() }() // of what was not committed
	now := s.o.Now().UnixMilli()
	for _, step := range []struct {
		query string
		args  []any
	}{
		{"DELETE FROM result WHERE until <= ?1 OR kept > ?1", []any{now}}, // of a clock that was ahead, too
		{"INSERT INTO result (binding, body, kept, until) VALUES (?, ?, ?, ?) ON CONFLICT (binding) DO UPDATE SET " +
			"body = excluded.body, kept = excluded.kept, until = excluded.until",
			[]any{binding, b.Bytes(), now, until.UnixMilli()}},
		{`DELETE FROM result WHERE binding IN (SELECT binding FROM (SELECT binding, sum(length(body)) OVER (ORDER BY kept DESC, rowid DESC) AS total FROM result) WHERE total > ?)`,
			[]any{s.o.Bytes}},
	} {
		if _, err := tx.ExecContext(ctx, step.query, step.args...); err != nil {
			return failed(err)
		}
	}
	return failed(tx.Commit())
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("results: %w", err)
}

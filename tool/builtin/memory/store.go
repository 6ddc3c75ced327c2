package memory

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	_ "modernc.org/sqlite" // the driver

	"wield/tool"
)

// A store is the open file. It is opened for each call: a call is rare, and nothing has to be closed at the end of a
// program.
type store struct {
	db *sql.DB // nil: there is no file yet, and nothing is to be written
	o  Options
}

// tables make a new file. The words of memory_text are found without regard to case and accents.
const tables = `
CREATE TABLE IF NOT EXISTS memory (id TEXT PRIMARY KEY, content TEXT NOT NULL, type TEXT NOT NULL, tags TEXT NOT NULL, importance REAL NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS memory_updated ON memory (updated);
CREATE VIRTUAL TABLE IF NOT EXISTS memory_text USING fts5 (id UNINDEXED, content, tags, tokenize = 'unicode61 remove_diacritics 2');`

// open opens the file, which is made if something is to be written.
func (o Options) open(ctx context.Context, writes bool) (*store, error) {
	if o.Path == "" {
		return nil, tool.Errorf(tool.ErrNotAvailable,
			"There is no place to keep memories: set data in the configuration")
	}
	if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
		if !writes {
			return &store{o: o}, nil
		}
		if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
			return nil, failed(err)
		}
		f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_WRONLY, 0o600) // SQLite would let others read it
		if err != nil {
			return nil, failed(err)
		}
		if err := f.Close(); err != nil {
			return nil, failed(err)
		}
	} else if err != nil {
		return nil, failed(err)
	}
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: o.Path}).EscapedPath(),
		RawQuery: fmt.Sprintf("_pragma=busy_timeout(%d)&_pragma=trusted_schema(0)&_txlock=immediate",
			o.others.Milliseconds())}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, failed(err)
	}
	db.SetMaxOpenConns(1)
	s := &store{db: db, o: o}
	if writes {
		_, err = db.ExecContext(ctx, tables)
	}
	if err != nil {
		s.close()
		return nil, failed(err)
	}
	return s, nil
}

func (s *store) close() {
	if s.db != nil {
		_ = s.db.Close() // every change was committed
	}
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return tool.Errorf(tool.ErrTool, "The memories cannot be used: %w", err)
}

func missing(id string) error {
	return tool.Errorf(tool.ErrInvalid, "There is no memory %q; search_memories finds those that there are", id)
}

const columns = "id, content, type, tags, importance, created, updated"

// scan reads a row of columns.
func scan(row interface{ Scan(...any) error }) (m memory, err error) {
	var tags string
	var created, updated int64
	if err := row.Scan(&m.ID, &m.Content, &m.Type, &tags, &m.Importance, &created, &updated); err != nil {
		return m, err
	}
	m.Created, m.Updated = stamp(created), stamp(updated)
	return m, json.Unmarshal([]byte(tags), &m.Tags)
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// add adds m, and gives it its id and its times.
func (s *store) add(ctx context.Context, m *memory) error {
	var id [6]byte
	rand.Read(id[:])
	m.ID = "mem_" + hex.EncodeToString(id[:])
	return s.change(ctx, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM memory").Scan(&n); err != nil {
			return err
		}
		if n >= s.o.Max {
			return tool.Errorf(tool.ErrLimit,
				"There are %d memories, which is as many as are kept; delete some with delete_memory",
				n)
		}
		return s.put(ctx, tx, m, s.o.Now())
	})
}

// put writes m as it is from now on. A new one was created now.
func (s *store) put(ctx context.Context, tx *sql.Tx, m *memory, now time.Time) error {
	tags, err := json.Marshal(m.Tags)
	if err != nil {
		return err
	}
	ms := now.UnixMilli()
	m.Updated = stamp(ms)
	if m.Created == "" {
		m.Created = m.Updated
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO memory (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET content = excluded.content, type = excluded.type, tags = excluded.tags, importance = excluded.importance, updated = excluded.updated`,
		m.ID, m.Content, m.Type, string(tags), m.Importance, ms, ms); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM memory_text WHERE id = ?", m.ID); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO memory_text (id, content, tags) VALUES (?, ?, ?)", m.ID, m.Content,
		strings.Join(m.Tags, " "))
	return err
}

// change runs f in a transaction.
func (s *store) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = tx.Rollback() }() // of what was not committed
	err = f(tx)
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return err
	case err != nil:
		return failed(err)
	}
	return failed(tx.Commit())
}

func (s *store) get(ctx context.Context, id string) (*memory, error) {
	if s.db == nil {
		return nil, missing(id)
	}
	m, err := scan(s.db.QueryRowContext(ctx, "SELECT "+columns+" FROM memory WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, missing(id)
	}
	return &m, failed(err)
}

func (s *store) update(ctx context.Context, id string, into func(*memory) error) (*memory, error) {
	var m memory
	err := s.change(ctx, func(tx *sql.Tx) (err error) {
		m, err = scan(tx.QueryRowContext(ctx, "SELECT "+columns+" FROM memory WHERE id = ?", id))
		if errors.Is(err, sql.ErrNoRows) {
			return missing(id)
		}
		if err != nil {
			return err
		}
		if err := into(&m); err != nil {
			return err
		}
		return s.put(ctx, tx, &m, s.o.Now())
	})
	return &m, err
}

func (s *store) delete(ctx context.Context, id string) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "DELETE FROM memory WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, missing(id))
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM memory_text WHERE id = ?", id)
		return err
	})
}

// search finds memories. One whose words fit better stands before another, and of those that fit as well the one that
// matters more, then the later one.
func (s *store) search(ctx context.Context, v *in) ([]memory, error) {
	list := []memory{}
	if s.db == nil {
		return list, nil
	}
	from, order := "memory m", "m.importance DESC, m.updated DESC"
	var where []string
	var args []any
	if match := words(v.Query); match != "" {
		from = "memory_text t JOIN memory m ON m.id = t.id"
		where, args = append(where, "memory_text MATCH ?"), append(args, match)
		// bm25 is the less the better a row fits
		order = "bm25(memory_text, 0, 1, 2) * (0.5 + m.importance), m.updated DESC"
	} else if strings.TrimSpace(v.Query) != "" {
		return list, nil // nothing that could be found
	} else {
		order = "m.updated DESC"
	}
	if v.Type != nil {
		where, args = append(where, "m.type = ?"), append(args, *v.Type)
	}
	if v.Tags != nil {
		for _, t := range *v.Tags {
			where, args = append(where, "EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ? COLLATE NOCASE)"),
				append(args, t)
		}
	}
	query := "SELECT m." + strings.ReplaceAll(columns, ", ", ", m.") + " FROM " + from
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	rows, err := s.db.QueryContext(ctx, query+" ORDER BY "+order+" LIMIT ?", append(args, min(v.Limit, maxFound))...)
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scan(rows)
		if err != nil {
			return nil, failed(err)
		}
		list = append(list, m)
	}
	return list, failed(rows.Err())
}

// words makes a query of FTS5 of a text: any of its words, or what begins with one. Nothing in it has a meaning of
// its own.
func words(text string) string {
	list := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	for i, w := range list[:min(len(list), 32)] {
		list[i] = `"` + w + `"*`
	}
	return strings.Join(list[:min(len(list), 32)], " OR ")
}

// A summary is the result of get_memory_stats.
type summary struct {
	Total  int            `json:"total"`
	ByType map[string]int `json:"by_type"`
	Oldest string         `json:"oldest,omitempty"`
	Newest string         `json:"newest,omitempty"`
	Bytes  int64          `json:"bytes"` // of their texts
}

func (s *store) stats(ctx context.Context) (*summary, error) {
	sum := &summary{ByType: map[string]int{}}
	if s.db == nil {
		return sum, nil
	}
	rows, err := s.db.QueryContext(ctx, "SELECT type, count(*), min(created), max(created), sum(length(CAST(content "+
		"AS BLOB))) FROM memory GROUP BY type")
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	var oldest, newest int64
	for rows.Next() {
		var kind string
		var n int
		var from, to, size int64
		if err := rows.Scan(&kind, &n, &from, &to, &size); err != nil {
			return nil, failed(err)
		}
		if sum.Total == 0 || from < oldest {
			oldest = from
		}
		newest = max(newest, to)
		sum.Total, sum.ByType[kind], sum.Bytes = sum.Total+n, n, sum.Bytes+size
	}
	if sum.Total > 0 {
		sum.Oldest, sum.Newest = stamp(oldest), stamp(newest)
	}
	return sum, failed(rows.Err())
}

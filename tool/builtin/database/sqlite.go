package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"wield/tool"
	"wield/tool/files"
)

// A file is an SQLite database.
type file struct {
	path  string
	named bool // by the configuration, so that it may be anywhere
}

func (f file) ask(ctx context.Context, c *tool.Call, q *request) (*queryResult, error) {
	name, err := f.locate(c)
	if err != nil {
		return nil, err
	}
	if several(q.sql) {
		return nil, tool.Errorf(tool.ErrInvalid, "One statement at a time: something follows the semicolon")
	}
	args := make([]any, len(q.params))
	for i, p := range q.params {
		if n, ok := p.v.(bigNumber); ok {
			return nil, tool.Errorf(tool.ErrInvalid,
				"parameters[%d]: SQLite has no whole number as large as %s; give it as a text",
				i, n)
		}
		args[i] = p.v
	}
	db, err := sql.Open("sqlite", dsn(name, q.write))
	if err != nil {
		return nil, sqliteError(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, sqliteError(err)
	}
	defer conn.Close()
	if err := confine(conn, q.write); err != nil {
		return nil, sqliteError(err)
	}
	return queryFile(ctx, conn, q, args)
}

// locate returns where the file is, without symbolic links. What is no file of the workspace, or has a second name
// that may be outside, is refused.
func (f file) locate(c *tool.Call) (string, error) {
	dir := c.Root
	if c.Guard != nil && c.Guard.Root != "" {
		dir = c.Guard.Root
	}
	if f.named && filepath.IsAbs(f.path) {
		return f.existing(f.path)
	}
	if dir == "" {
		return "", tool.Errorf(tool.ErrNotAvailable, "there is no workspace: start wield with a directory to work in")
	}
	if f.named {
		return f.existing(filepath.Join(dir, f.path))
	}
	root, err := files.Open(dir, files.Options{})
	if err != nil {
		return "", tool.Errorf(tool.ErrNotAvailable, "the workspace cannot be used: %w", err)
	}
	defer root.Close()
	rel, err := root.Rel(f.path)
	if err != nil {
		return "", tool.Errorf(tool.ErrSecurity, "%w", err)
	}
	h, err := root.Open(rel)
	if errors.Is(err, os.ErrNotExist) {
		return "", tool.Errorf(tool.ErrTool, "File not found: %s", f.path)
	} else if err != nil {
		return "", tool.Errorf(tool.ErrSecurity, "%w", err)
	}
	defer h.Close()
	checked, err := h.Stat()
	if err != nil {
		return "", tool.Errorf(tool.ErrTool, "%w", err)
	}
	name, err := f.existing(filepath.Join(root.Path(), rel))
	if err != nil {
		return "", err
	}
	// SQLite opens files by name, so that the name must still be that of what was looked at.
	if now, err := os.Lstat(name); err != nil || !os.SameFile(now, checked) {
		return "", tool.Errorf(tool.ErrSecurity, "%s changed while it was looked at", f.path)
	}
	return name, f.companions(name)
}

// companions refuses files beside a database that lead elsewhere: SQLite reads them and writes to them, as the
// database's own.
func (f file) companions(name string) error {
	for _, end := range []string{"-journal", "-wal", "-shm"} {
		info, err := os.Lstat(name + end)
		if err == nil && (!info.Mode().IsRegular() || links(info) > 1) {
			return tool.Errorf(tool.ErrSecurity, "%s%s is no file of its own", f.path, end)
		}
	}
	return nil
}

func (f file) existing(name string) (string, error) {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", tool.Errorf(tool.ErrTool, "File not found: %s", f.path)
	}
	return name, nil
}

// dsn is the address of a file as the driver reads it. The file is never made.
func dsn(name string, write bool) string {
	options := url.Values{"mode": {"ro"}, "_defensive": {"1"}, "_busy_timeout": {"2000"},
		"_pragma": {"trusted_schema(0)", "cell_size_check(1)"}}
	if write {
		options.Set("mode", "rw")
	} else {
		options.Set("_query_only", "1")
	}
	path := filepath.ToSlash(name)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive of Windows
	}
	u := url.URL{Scheme: "file", Path: path, OmitHost: true, RawQuery: options.Encode()}
	return u.String()
}

// limits of a connection, beside those that SQLite has. VACUUM INTO needs a place to attach to, too.
var limits = []struct{ id, value int }{
	{sqlite3.SQLITE_LIMIT_ATTACHED, 0},
	{sqlite3.SQLITE_LIMIT_LENGTH, mostValue},
	{sqlite3.SQLITE_LIMIT_SQL_LENGTH, 2 * mostQuery},
	{sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0},
	{sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
}

// confine takes from a connection what a statement has no use for. It holds for what a view or a trigger of the file
// does, too.
func confine(conn *sql.Conn, write bool) error {
	for _, l := range limits {
		if _, err := sqlite.Limit(conn, l.id, l.value); err != nil {
			return err
		}
	}
	return conn.Raw(func(c any) error {
		r, ok := c.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver has no authorizer")
		}
		return r.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode,
			arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
			if permitted(action, arg1, arg2, write) {
				return sqlite.AuthorizerOK
			}
			return sqlite.AuthorizerDeny
		})
	})
}

// reading and writing are what statements may be made of. What is in neither, such as ATTACH, is refused.
var (
	reading = []sqlite.AuthorizerActionCode{sqlite.AuthRead, sqlite.AuthSelect, sqlite.AuthRecursive}
	writing = []sqlite.AuthorizerActionCode{
		sqlite.AuthInsert, sqlite.AuthUpdate, sqlite.AuthDelete, sqlite.AuthAlterTable, sqlite.AuthReindex,
		sqlite.AuthAnalyze, sqlite.AuthCreateTable, sqlite.AuthCreateIndex, sqlite.AuthCreateView,
		sqlite.AuthCreateTrigger, sqlite.AuthDropTable, sqlite.AuthDropIndex, sqlite.AuthDropView,
		sqlite.AuthDropTrigger,
	}
)

// pragmas tell about a database and change nothing without an argument. Those with true take the name of a table or
// an index.
var pragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true,
	"index_xinfo": true, "foreign_key_list": true, "foreign_key_check": true, "integrity_check": true,
	"quick_check": true, "database_list": false, "collation_list": false, "function_list": false,
	"compile_options": false, "user_version": false, "schema_version": false, "application_id": false,
	"encoding": false, "journal_mode": false, "page_count": false, "page_size": false, "freelist_count": false,
	"query_only": false,
}

// functions that reach beyond the database.
var functions = []string{"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "zipfile"}

func permitted(action sqlite.AuthorizerActionCode, arg1, arg2 string, write bool) bool {
	switch action {
	case sqlite.AuthPragma:
		argument, known := pragmas[strings.ToLower(arg1)]
		return known && (argument || arg2 == "")
	case sqlite.AuthFunction:
		return !slices.Contains(functions, strings.ToLower(arg2))
	}
	return slices.Contains(reading, action) || write && slices.Contains(writing, action)
}

func queryFile(ctx context.Context, conn *sql.Conn, q *request, args []any) (*queryResult, error) {
	rows, err := conn.QueryContext(ctx, q.sql, args...)
	if err != nil {
		return nil, sqliteError(err)
	}
	defer rows.Close()
	c, err := readRows(rows, q)
	if err != nil {
		return nil, sqliteError(err)
	}
	if err := rows.Close(); err != nil {
		return nil, sqliteError(err)
	}
	if q.write {
		var n int64
		if err := conn.QueryRowContext(ctx, "SELECT changes()").Scan(&n); err != nil {
			return nil, sqliteError(err)
		}
		c.out.Affected = &n
	}
	return &c.out, nil
}

func readRows(rows *sql.Rows, q *request) (*collector, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(types))
	values, into := make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		names[i], into[i] = t.Name(), &values[i]
	}
	c := newCollector(q, names)
	for rows.Next() {
		if c.full() {
			break
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]json.RawMessage, c.columns)
		for i := range row {
			row[i] = c.cell(written(values[i], types[i].DatabaseTypeName()))
		}
		c.add(row)
	}
	return c, rows.Err()
}

// written returns a value as it stands in the file, as far as that is known: the driver reads texts in columns that
// are declared as times.
func written(v any, declared string) any {
	t, ok := v.(time.Time)
	if !ok {
		return v
	}
	if declared == "DATE" && t.Equal(t.Truncate(24*time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t
}

// sqliteError makes an error of SQLite one that a model can act on.
func sqliteError(err error) error {
	kind, hint := tool.ErrTool, ""
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_AUTH, sqlite3.SQLITE_PERM:
			kind, hint = tool.ErrSecurity, "; a statement reads, or writes in mode rw, and does nothing else"
		case sqlite3.SQLITE_READONLY:
			kind, hint = tool.ErrSecurity, "; mode rw is needed to change something"
		}
	}
	return &tool.Error{Kind: kind, Message: fmt.Sprintf("SQLite: %v%s", err, hint), Cause: err}
}

// several reports whether something follows the first semicolon of a text of SQLite. Nothing is kept safe by it: each
// statement is held to the same.
func several(s string) bool {
	ended := false
	for s != "" {
		switch {
		case strings.HasPrefix(s, "--"):
			_, s, _ = strings.Cut(s, "\n")
			continue
		case strings.HasPrefix(s, "/*"):
			_, s, _ = strings.Cut(s[2:], "*/")
			continue
		case s[0] == ';':
			ended = true
		case strings.IndexByte(" \t\r\n\f", s[0]) >= 0:
		case ended:
			return true
		case strings.IndexByte("'\"`[", s[0]) >= 0:
			end := s[:1]
			if end == "[" {
				end = "]"
			}
			_, s, _ = strings.Cut(s[1:], end)
			continue
		}
		s = s[1:]
	}
	return false
}

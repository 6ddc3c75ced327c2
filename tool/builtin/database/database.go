// Package database holds the tool query_database, which asks databases: SQLite files of the workspace, and SQLite and
// PostgreSQL databases that a configuration names. A call never says where a server is.
//
// A statement only reads unless the call asks for mode rw and the guard of the tool allows it. What it may read is up
// to the database: give PostgreSQL a role that may read no more than it should.
package database

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"wield/tool"
	"wield/tool/policy"
)

// A Source is a database that a configuration names.
type Source struct {
	// URL says where it is: postgres://.., or sqlite:PATH, where a relative path is in the workspace. It may hold a
	// password.
	URL string
}

// The ways to begin an address.
const sqliteScheme = "sqlite:"

var postgresSchemes = []string{"postgres://", "postgresql://"}

// Check reports whether the address is of a kind that is known. Its error does not repeat the address.
func (s Source) Check() error {
	path, file := strings.CutPrefix(s.URL, sqliteScheme)
	server := slices.ContainsFunc(postgresSchemes, func(scheme string) bool { return strings.HasPrefix(s.URL, scheme) })
	if file && path != "" || server {
		return nil
	}
	return errors.New("the address is neither postgres://.. nor sqlite:PATH")
}

// Options configure the tool. The zero value knows the files of the workspace.
type Options struct {
	Sources map[string]Source
	Cell    int // bytes of a value that are shown; 0: 8 KiB
}

// Bounds of a query.
const (
	defaultRows = 100
	mostRows    = 1000
	mostColumns = 200
	defaultCell = 8 << 10
	mostValue   = 16 << 20 // bytes of a value, or of a row of PostgreSQL, in memory
	mostResult  = 4 << 20  // bytes of a result; rows behind it are cut off
	mostQuery   = 64 << 10
	timeLimit   = 30 * time.Second // where the call has none
)

// query holds the tool's arguments.
type query struct {
	Query      string            `json:"query" jsonschema:"one SQL statement; values are best given as parameters: ? in SQLite, $1 in PostgreSQL"`
	Parameters []json.RawMessage `json:"parameters,omitempty"`
	Database   string            `json:"database,omitempty"`
	Path       string            `json:"path,omitempty"`
	Mode       string            `json:"mode,omitempty"`
	MaxRows    int               `json:"max_rows,omitempty"`
}

// A queryResult holds the tool's result.
type queryResult struct {
	Columns   []string            `json:"columns"`
	Rows      [][]json.RawMessage `json:"rows"`
	Count     int                 `json:"count"`              // of the rows that are here
	Truncated bool                `json:"truncated"`          // rows, columns or values were cut off
	Affected  *int64              `json:"affected,omitempty"` // rows that a statement in mode rw changed
}

// schema is written by hand, as a parameter may be any value.
const schema = `{"type":"object","properties":{
"query":{"type":"string","description":"one SQL statement; pass values as parameters (? in SQLite, $1 in PostgreSQL)"},
"parameters":{"type":"array","items":{"type":["string","number","boolean","null","object","array"]},"description":"values of the parameters, in order; bytes as {\"base64\": \"..\"}"},
"path":{"type":"string","description":"SQLite file in the workspace; either this or database"},
"database":{"type":"string","description":"name of a configured database; either this or path"},
"mode":{"type":"string","enum":["ro","rw"],"description":"rw if the statement changes data. Default: ro"},
"max_rows":{"type":"integer","minimum":1,"maximum":1000,"description":"maximum number of rows. Default: 100"}
},"required":["query"],"additionalProperties":false}`

// Tools returns the tool.
func (o Options) Tools() []*tool.Tool {
	o.Sources = maps.Clone(o.Sources)
	if o.Cell <= 0 {
		o.Cell = defaultCell
	}
	about := `Run one SQL statement and return {columns, rows, count, truncated}. Read-only unless mode is rw. `
	if len(o.Sources) > 0 {
		about += "Databases: " + strings.Join(o.names(), ", ") + ". "
	}
	about += `Example: {"path": "data/shop.db", "query": "SELECT name FROM items WHERE price > ?", "parameters": [10]}`
	t := tool.Raw("query_database", about, json.RawMessage(schema), o.run)
	t.Facts = tool.Facts{
		Operation: "mode",
		Ops:       map[string]policy.Op{"": policy.OpRead, "ro": policy.OpRead, "rw": policy.OpWrite},
		Paths:     []tool.PathFact{{Argument: "path"}},
		Network:   true,
	}
	t.State, t.Source = tool.StateDisabled, "builtin"
	return []*tool.Tool{t}
}

func (o Options) names() []string { return slices.Sorted(maps.Keys(o.Sources)) }

// A request is a call that has been read.
type request struct {
	sql    string
	params []value
	write  bool
	rows   int
	cell   int
	limit  time.Duration
}

func (o Options) run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	var in query
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return tool.Result{}, tool.Errorf(tool.ErrInvalid, "Invalid arguments: %w", err)
	}
	q, err := o.request(c, &in)
	if err != nil {
		return tool.Result{}, err
	}
	source, err := o.source(&in)
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, q.limit)
	defer cancel()
	out, err := source.ask(ctx, c, q)
	if err != nil {
		return tool.Result{}, timed(ctx, err)
	}
	return tool.JSON(out)
}

// timed says that the time was up where that is why a database failed, in whatever words it says so.
func timed(ctx context.Context, err error) error {
	switch ctx.Err() {
	case nil:
		return err
	case context.DeadlineExceeded:
		return &tool.Error{Kind: tool.ErrTimeout, Message: "The query took too long and was stopped; ask for less",
			Cause: err}
	}
	return &tool.Error{Kind: tool.ErrCanceled, Cause: ctx.Err()}
}

func (o Options) request(c *tool.Call, in *query) (*request, error) {
	q := &request{sql: in.Query, write: in.Mode == "rw", rows: in.MaxRows, cell: o.Cell, limit: c.Limits.Timeout}
	switch {
	case strings.TrimSpace(in.Query) == "":
		return nil, tool.Errorf(tool.ErrInvalid, "query is empty")
	case len(in.Query) > mostQuery:
		return nil, tool.Errorf(tool.ErrInvalid, "query is longer than %d bytes; give values as parameters", mostQuery)
	case strings.ContainsRune(in.Query, 0):
		return nil, tool.Errorf(tool.ErrInvalid, "query holds a NUL character")
	case q.write && c.Guard != nil && c.Guard.Mode != tool.ModeRW:
		return nil, tool.Errorf(tool.ErrSecurity, "Operation rw not allowed in read-only mode")
	}
	if q.rows <= 0 || q.rows > mostRows {
		q.rows = defaultRows
	}
	if q.limit <= 0 {
		q.limit = timeLimit
	}
	for i, raw := range in.Parameters {
		v, err := readValue(raw)
		if err != nil {
			return nil, tool.Errorf(tool.ErrInvalid, "parameters[%d]: %w", i, err)
		}
		q.params = append(q.params, v)
	}
	return q, nil
}

// A source answers requests.
type source interface {
	ask(ctx context.Context, c *tool.Call, q *request) (*queryResult, error)
}

var errWhich = errors.New("say which database: path for an SQLite file of the workspace, or database for a " +
	"configured one")

func (o Options) source(in *query) (source, error) {
	if (in.Path == "") == (in.Database == "") {
		return nil, tool.Errorf(tool.ErrInvalid, "%w", errWhich)
	}
	if in.Path != "" {
		return file{path: in.Path}, nil
	}
	s, ok := o.Sources[in.Database]
	if !ok {
		known := "none is configured"
		if len(o.Sources) > 0 {
			known = "there are " + strings.Join(o.names(), ", ")
		}
		return nil, tool.Errorf(tool.ErrInvalid, "There is no database %q; %s", in.Database, known)
	}
	if err := s.Check(); err != nil {
		return nil, tool.Errorf(tool.ErrNotAvailable, "Database %s: %w", in.Database, err)
	}
	if path, ok := strings.CutPrefix(s.URL, sqliteScheme); ok {
		return file{path: path, named: true}, nil
	}
	return server{name: in.Database, url: s.URL}, nil
}

package database

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"wield/tool"
)

// A server is a PostgreSQL database.
type server struct {
	name string
	url  string
}

// verbs are the first words of statements, and whether they need mode rw. What is not here is refused: COPY and DO
// reach beyond a transaction, and the rest is about sessions that end with the call.
var verbs = map[string]bool{
	"SELECT": false, "WITH": false, "VALUES": false, "TABLE": false, "SHOW": false, "EXPLAIN": false,
	"INSERT": true, "UPDATE": true, "DELETE": true, "MERGE": true, "TRUNCATE": true, "CREATE": true, "ALTER": true,
	"DROP": true, "COMMENT": true,
}

// closing limits the time to take leave of a server.
const closing = 2 * time.Second

func (s server) ask(ctx context.Context, _ *tool.Call, q *request) (*queryResult, error) {
	word := verb(q.sql)
	write, known := verbs[word]
	switch {
	case !known:
		return nil, tool.Errorf(tool.ErrSecurity, "A statement cannot begin with %q; it can with SELECT, WITH, "+
			"VALUES, TABLE, SHOW and EXPLAIN, in mode rw with INSERT, UPDATE, DELETE, MERGE, TRUNCATE, CREATE, "+
			"ALTER, DROP and COMMENT", word)
	case write && !q.write:
		return nil, tool.Errorf(tool.ErrSecurity, "%s needs mode rw", word)
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer leave(conn)
	if err := s.begin(ctx, conn, q); err != nil {
		return nil, err
	}
	out, err := s.query(ctx, conn, q)
	if err != nil || !q.write {
		return out, err // the end of the connection rolls back
	}
	return out, s.exec(ctx, conn, "COMMIT")
}

// verb returns the first word of a statement in capitals.
func verb(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n\f\v(")
		switch {
		case strings.HasPrefix(s, "--"):
			_, s, _ = strings.Cut(s, "\n")
		case strings.HasPrefix(s, "/*"):
			s = behindComment(s)
		default:
			end := strings.IndexFunc(s, func(r rune) bool {
				return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_'
			})
			if end < 0 {
				end = len(s)
			}
			return strings.ToUpper(s[:end])
		}
	}
}

// behindComment skips a comment, in which others may stand.
func behindComment(s string) string {
	depth := 0
	for s != "" {
		switch {
		case strings.HasPrefix(s, "/*"):
			depth++
			s = s[2:]
		case strings.HasPrefix(s, "*/"):
			depth--
			if s = s[2:]; depth == 0 {
				return s
			}
		default:
			s = s[1:]
		}
	}
	return ""
}

func (s server) connect(ctx context.Context) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(s.url)
	if err != nil { // its words may hold parts of the address
		return nil, tool.Errorf(tool.ErrNotAvailable,
			"The address of database %s cannot be read; it is like postgres://user@host/name",
			s.name)
	}
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(mostValue)
		return f
	}
	config.OnNotice = nil
	config.RuntimeParams["application_name"] = "wield"
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err == nil {
		return conn, nil
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return nil, &tool.Error{Kind: tool.ErrNotAvailable, Message: fmt.Sprintf("Database %s refuses the "+
			"connection: %s", s.name, e.Code), Cause: err}
	}
	return nil, &tool.Error{Kind: tool.ErrNotAvailable, Message: fmt.Sprintf("Database %s cannot be reached", s.name),
		Cause: err}
}

// leave ends a connection and what runs on it, whatever became of the call.
func leave(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if conn.IsBusy() {
		_ = conn.CancelRequest(ctx) // the server notices the end of the connection as well, later
	}
	_ = conn.Close(ctx)
	select {
	case <-conn.CleanupDone():
	case <-ctx.Done():
	}
}

// mighty finds a role with which a statement could read or write files of the server, or run programs there, whatever
// the transaction is. No transaction holds it back, so that it is not used at all.
const mighty = `SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_catalog.pg_has_role(session_user, r.oid, 'member') AND (r.rolsuper
	OR r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')) LIMIT 1`

// begin opens the transaction. A query has run in it before the call's, so that it stays what it is.
func (s server) begin(ctx context.Context, conn *pgconn.PgConn, q *request) error {
	how := "BEGIN READ ONLY"
	if q.write {
		how = "BEGIN READ WRITE"
	}
	if err := s.exec(ctx, conn, how); err != nil {
		return err
	}
	if err := s.exec(ctx, conn, fmt.Sprintf("SET LOCAL statement_timeout = %d",
		max(1, q.limit.Milliseconds()))); err != nil {
		return err
	}
	r := conn.ExecParams(ctx, mighty, nil, nil, nil, nil).Read()
	if r.Err != nil {
		return s.fail(r.Err)
	}
	if len(r.Rows) > 0 {
		return tool.Errorf(tool.ErrSecurity, "Database %s is not asked: its role has the rights of %s, with which a "+
			"statement reaches the files of the server. Configure a role that only has what it needs", s.name,
			r.Rows[0][0])
	}
	return nil
}

func (s server) exec(ctx context.Context, conn *pgconn.PgConn, statement string) error {
	if _, err := conn.Exec(ctx, statement).ReadAll(); err != nil {
		return s.fail(err)
	}
	return nil
}

// query runs the statement by the extended protocol, which takes no second one. Values come as texts, so that no
// digit is lost.
func (s server) query(ctx context.Context, conn *pgconn.PgConn, q *request) (*queryResult, error) {
	params := make([][]byte, len(q.params))
	for i, p := range q.params {
		params[i] = p.text
	}
	r := conn.ExecParams(ctx, q.sql, params, nil, nil, nil)
	fields := r.FieldDescriptions()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	c := newCollector(q, names)
	for r.NextRow() {
		if c.full() {
			if !q.write {
				return &c.out, nil // the rest is not read
			}
			continue // what a statement changes is only there when it has come to its end
		}
		row := make([]json.RawMessage, c.columns)
		for i := range row {
			row[i] = c.cell(read(r.Values()[i], fields[i].DataTypeOID))
		}
		c.add(row)
	}
	tag, err := r.Close()
	if err != nil {
		return nil, s.fail(err)
	}
	if q.write {
		n := tag.RowsAffected()
		c.out.Affected = &n
	}
	return &c.out, nil
}

// The numbers of types that JSON has a form for.
const (
	oidBool  = 16
	oidBytea = 17
	oidJSON  = 114
	oidJSONB = 3802
)

var (
	oidNumbers = []uint32{20, 21, 23, 26, 700, 701, 1700} // int8, int2, int4, oid, float4, float8, numeric
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// read returns a value that PostgreSQL wrote as a text. NaN and infinities are no numbers of JSON.
func read(b []byte, oid uint32) any {
	switch {
	case b == nil:
		return nil
	case oid == oidBool:
		return string(b) == "t"
	case oid == oidBytea:
		return readHex(b)
	case (oid == oidJSON || oid == oidJSONB) && len(b) <= defaultCell && json.Valid(b):
		return json.RawMessage(slices.Clone(b))
	case slices.Contains(oidNumbers, oid) && len(b) <= defaultCell && jsonNumber.Match(b):
		return json.RawMessage(slices.Clone(b))
	}
	return string(b)
}

// fail makes an error of a server one that a model can act on.
func (s server) fail(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return &tool.Error{Kind: tool.ErrTool, Message: fmt.Sprintf("Database %s: the connection broke or the answer "+
			"was too large", s.name), Cause: err}
	}
	kind := tool.ErrTool
	switch e.Code {
	case "25006", "42501": // read-only transaction, insufficient privilege
		kind = tool.ErrSecurity
	case "57014": // canceled: statement_timeout
		kind = tool.ErrTimeout
	}
	message := fmt.Sprintf("PostgreSQL: %s (%s)", e.Message, e.Code)
	if e.Position > 0 {
		message += fmt.Sprintf(" at character %d", e.Position)
	}
	if e.Hint != "" {
		message += "; " + e.Hint
	}
	return &tool.Error{Kind: kind, Message: message, Cause: err}
}

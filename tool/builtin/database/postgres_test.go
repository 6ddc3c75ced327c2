package database

import (
	"strings"
	"testing"
	"time"

	"wield/internal/pgtest"
	"wield/tool"
	"wield/tool/runner"
)

// cluster starts a PostgreSQL with roles and a table, and returns the address of a role's database.
func cluster(t *testing.T) func(role string) string {
	t.Helper()
	c := pgtest.Start(t)
	address := func(role string) string { return c.URL(role, "postgres") }
	c.Exec(t, address(pgtest.Admin),
		`CREATE ROLE clerk LOGIN; CREATE ROLE keeper LOGIN; GRANT pg_read_server_files TO keeper;
		GRANT CREATE ON SCHEMA public TO clerk; SET ROLE clerk;
		CREATE TABLE items(id bigint, price numeric, name text, ok bool, raw bytea, extra jsonb);
		INSERT INTO items VALUES (9223372036854775807, 12345678901234567890.123, 'lamp', true, '\x00ff', '{"a": [1]}'), (2, 'NaN', NULL, false, NULL, NULL)`)
	return address
}

func TestPostgres(t *testing.T) {
	address := cluster(t)
	o := Options{Sources: map[string]Source{"shop": {address("clerk")}, "root": {address(pgtest.Admin)},
		"keeper": {address("keeper")}}}
	ro, rw := newRunner(t, o, "", tool.ModeRO), newRunner(t, o, "", tool.ModeRW)
	for _, test := range []struct {
		r          *runner.Runner
		args, want string
	}{
		{ro, `{"database":"shop","query":"SELECT * FROM items WHERE id > $1","parameters":[2]}`,
			`{"success":true,"columns":["id","price","name","ok","raw","extra"],"rows":[[9223372036854775807,12345678901234567890.123,"lamp",true,{"base64":"AP8=","bytes":2},{"a":[1]}]],"count":1,"truncated":false}`},
		{ro, `{"database":"shop","query":"SELECT price, name FROM items WHERE id = 2"}`,
			`{"success":true,"columns":["price","name"],"rows":[["NaN",null]],"count":1,"truncated":false}`},
		{ro, `{"database":"shop","query":"SELECT n FROM generate_series(1, 10000000) n","max_rows":2}`,
			`{"success":true,"columns":["n"],"rows":[[1],[2]],"count":2,"truncated":true}`},
		{rw,
			`{"database":"shop","mode":"rw","query":"INSERT INTO items(id) VALUES ($1) RETURNING id","parameters":[5]}`,
			`{"success":true,"columns":["id"],"rows":[[5]],"count":1,"truncated":false,"affected":1}`},
		{ro, `{"database":"shop","query":"SELECT count(*) FROM items"}`,
			`{"success":true,"columns":["count"],"rows":[[3]],"count":1,"truncated":false}`},
	} {
		if got := call(t, test.r, test.args); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.args, got, test.want)
		}
	}
	for _, query := range []string{
		`COPY (SELECT 1) TO PROGRAM 'id'`, `SELECT pg_read_file('/etc/passwd')`,
		`DO $$BEGIN INSERT INTO items(id) VALUES (6); END$$`, `SELECT 1; DELETE FROM items`,
		`SELECT 1; COMMIT; DELETE FROM items`, `DELETE FROM items`, `SET transaction_read_only = off`, `COMMIT`,
		`WITH d AS (DELETE FROM items RETURNING id) SELECT * FROM d`, `EXPLAIN ANALYZE DELETE FROM items`,
		`SELECT set_config('transaction_read_only', 'off', true)`, `SELECT * INTO copy FROM items`,
		`SELECT lo_import('/etc/passwd')`,
	} {
		if got := call(t, ro, `{"database":"shop","query":"`+query+`"}`); !strings.HasPrefix(got, `{"success":false`) {
			t.Errorf("%s: %s", query, got)
		}
	}
	for _, name := range []string{"root", "keeper"} {
		if got := call(t, ro, `{"database":"`+name+`","query":"SELECT 1"}`); !strings.Contains(got,
			"files of the server") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got, want := call(t, ro, `{"database":"shop","query":"SELECT count(*) FROM items"}`),
		`[[3]]`; !strings.Contains(got, want) {
		t.Errorf("after all: %s", got)
	}
	ro = ro.With(func(s *runner.Settings) { s.Limits.Timeout = 300 * time.Millisecond })
	got := call(t, ro,
		`{"database":"shop","query":"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"}`)
	if !strings.Contains(got, `"error_type":"TimeoutError"`) {
		t.Error(got)
	}
	ro = ro.With(func(s *runner.Settings) { s.Limits.Timeout = 0 })
	const running = `{"database":"shop","query":"SELECT count(*) FROM pg_stat_activity WHERE query LIKE $1 AND pid <> pg_backend_pid()","parameters":["WITH RECURSIVE%"]}`
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		// the server is told, and needs a moment
		if got = call(t, ro, running); strings.Contains(got, `[[0]]`) {
			return
		}
	}
	t.Errorf("it still runs: %s", got)
}

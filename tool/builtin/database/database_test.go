package database

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop makes a workspace with a database.
func shop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, price REAL, picture BLOB);
		INSERT INTO items VALUES (9223372036854775807, 'lamp', 2, x'00ff'), (2, 'rug', 10.5, NULL), (3, NULL, 1e300, NULL)`); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newRunner(t *testing.T, o Options, root string, mode tool.Mode) *runner.Runner {
	t.Helper()
	var reg runner.Registry
	for _, d := range o.Tools() {
		d.State, d.Guard = tool.StateEnabled, &tool.Guard{Mode: mode}
		if err := reg.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return runner.New(runner.Settings{Tools: &reg, Root: root})
}

func call(t *testing.T, r *runner.Runner, args string) string {
	t.Helper()
	result, err := r.Call(t.Context(), "query_database", args)
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Append(nil, tool.StyleLLF))
}

func TestSQLite(t *testing.T) {
	dir := shop(t)
	ro, rw := newRunner(t, Options{Sources: map[string]Source{"stock": {URL: "sqlite:shop.db"}}}, dir, tool.ModeRO),
		newRunner(t, Options{}, dir, tool.ModeRW)
	for _, test := range []struct {
		r          *runner.Runner
		args, want string
	}{
		{ro, `{"path":"shop.db","query":"SELECT * FROM items WHERE name = ?","parameters":["lamp"]}`,
			`{"success":true,"columns":["id","name","price","picture"],"rows":[[9223372036854775807,"lamp",2.0,{"base64":"AP8=","bytes":2}]],"count":1,"truncated":false}`},
		{ro, `{"database":"stock","query":"SELECT name FROM items ORDER BY id; -- end","max_rows":2}`,
			`{"success":true,"columns":["name"],"rows":[["rug"],[null]],"count":2,"truncated":true}`},
		{ro, `{"path":"shop.db","query":"SELECT ?, ?, ?","parameters":[9007199254740993,{"base64":"AQI="},null]}`,
			`{"success":true,"columns":["?","?","?"],"rows":[[9007199254740993,{"base64":"AQI=","bytes":2},null]],"count":1,"truncated":false}`},
		{ro, `{"path":"shop.db","query":"PRAGMA user_version"}`,
			`{"success":true,"columns":["user_version"],"rows":[[0]],"count":1,"truncated":false}`},
		{rw, `{"path":"shop.db","mode":"rw","query":"UPDATE items SET price = 3 WHERE id < 10"}`,
			`{"success":true,"columns":[],"rows":[],"count":0,"truncated":false,"affected":2}`},
	} {
		if got := call(t, test.r, test.args); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.args, got, test.want)
		}
	}
}

// TestSQLiteRefuses holds what a statement may not do in any mode, or only in mode rw.
func TestSQLiteRefuses(t *testing.T) {
	dir := shop(t)
	outside := filepath.Join(t.TempDir(), "outside.db")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.db")); err != nil {
		t.Skip(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	ro, rw := newRunner(t, Options{}, dir, tool.ModeRO), newRunner(t, Options{}, dir, tool.ModeRW)
	always := []string{
		`ATTACH 'other.db' AS o`, `VACUUM INTO 'copy.db'`, `SELECT load_extension('x')`, `PRAGMA writable_schema=1`,
		`PRAGMA query_only=0`, `PRAGMA hard_heap_limit=1`, `PRAGMA temp_store_directory='/tmp'`,
		`EXPLAIN PRAGMA hard_heap_limit=1`, `PRAGMA journal_mode=OFF`, `SELECT 1; SELECT 2`,
		`SELECT $a('); PRAGMA hard_heap_limit=1; --')`, `BEGIN`, `UPDATE sqlite_master SET sql = ''`,
		`SELECT length(zeroblob(900000000))`,
	}
	for _, query := range always {
		for mode, r := range map[string]*runner.Runner{"ro": ro, "rw": rw} {
			if got := call(t, r, `{"path":"shop.db","mode":"`+mode+`","query":"`+query+`"}`); !strings.HasPrefix(got,
				`{"success":false`) {
				t.Errorf("%s in mode %s: %s", query, mode, got)
			}
		}
	}
	for _, args := range []string{
		`{"path":"shop.db","query":"DELETE FROM items"}`,
		`{"path":"shop.db","query":"CREATE TABLE t(x)"}`,
		`{"path":"shop.db","mode":"rw","query":"DELETE FROM items"}`,
		`{"path":"link.db","query":"SELECT 1"}`,
		`{"path":"../x.db","query":"SELECT 1"}`,
		`{"path":"none.db","query":"SELECT 1"}`,
		`{"database":"postgres://127.0.0.1/x","query":"SELECT 1"}`,
		`{"query":"SELECT 1"}`,
		`{"path":"shop.db","query":"SELECT ?","parameters":[9223372036854775808]}`,
	} {
		if got := call(t, ro, args); !strings.HasPrefix(got, `{"success":false`) {
			t.Errorf("%s: %s", args, got)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "shop.db")); err != nil || string(after) != string(before) {
		t.Errorf("the file changed, %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("files %v, %v", entries, err)
	}
}

func TestSQLiteStops(t *testing.T) {
	r := newRunner(t, Options{}, shop(t), tool.ModeRO)
	r = r.With(func(s *runner.Settings) { s.Limits.Timeout = 200 * time.Millisecond })
	got := call(t, r,
		`{"path":"shop.db","query":"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"}`)
	if !strings.Contains(got, `"error_type":"TimeoutError"`) {
		t.Error(got)
	}
}

func TestVerb(t *testing.T) {
	for query, want := range map[string]string{
		"select 1": "SELECT", " -- x\n(/* a /* b */ DO */ WITH x": "WITH", "DO $$": "DO", "/* open": "",
		"copy(select 1) to program 'x'": "COPY",
	} {
		if got := verb(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// TestCaps asks for more than is shown: rows, columns, the bytes of a value and of a result.
func TestCaps(t *testing.T) {
	r := newRunner(t, Options{Cell: 40}, shop(t), tool.ModeRO)
	numbers := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 5000) SELECT `
	for _, tt := range []struct {
		name, query, more string
		rows, columns     int
		cut               bool
		holds             string
	}{
		{"as many as are usual", numbers + `i FROM n`, ``, 100, 1, true, `[100]]`},
		{"as many as are asked for", numbers + `i FROM n`, `,"max_rows":7`, 7, 1, true, `[7]]`},
		{"as many as there are", numbers + `i FROM n LIMIT 7`, `,"max_rows":7`, 7, 1, false, `[7]]`},
		{"columns", `SELECT ` + strings.Repeat("1,", 250) + `2`, ``, 1, 200, true, ``},
		{"a text", `SELECT hex(zeroblob(100))`, ``, 1, 1, true,
			`"0000000000000000000000000000000000000000… (40 of 200 bytes)"`},
		{"bytes", `SELECT zeroblob(100)`, ``, 1, 1, true, `"bytes":100,"truncated":true`},
	} {
		got := call(t, r, `{"path":"shop.db","query":"`+tt.query+`"`+tt.more+`}`)
		var out queryResult
		if err := json.Unmarshal([]byte(got), &out); err != nil {
			t.Fatalf("%s: %v: %s", tt.name, err, got)
		}
		if len(out.Rows) != tt.rows || out.Count != tt.rows || len(out.Columns) != tt.columns ||
			out.Truncated != tt.cut || !strings.Contains(got, tt.holds) {
			t.Errorf("%s: %d rows, %d columns, cut %v: %.300s", tt.name, len(out.Rows), len(out.Columns),
				out.Truncated, got)
		}
	}
	// A thousand rows of the largest values end when the result is large.
	o := Options{Cell: 1 << 20}
	q := &request{sql: numbers + `zeroblob(600000) FROM n`, rows: mostRows, cell: o.Cell}
	out, err := file{path: "shop.db", named: true}.ask(t.Context(), &tool.Call{Root: shop(t)}, q)
	if err != nil || !out.Truncated || out.Count > 10 {
		t.Errorf("%d rows, cut %v, %v", out.Count, out.Truncated, err)
	}
}

// TestCompanions: a file beside a database that is another one in truth is neither read nor written.
func TestCompanions(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"-journal", "-wal", "-shm"} {
		dir := shop(t)
		if err := os.Symlink(outside, filepath.Join(dir, "shop.db"+end)); err != nil {
			t.Skip(err)
		}
		for _, args := range []string{`{"path":"shop.db","query":"SELECT 1"}`,
			`{"path":"shop.db","mode":"rw","query":"DELETE FROM items"}`} {
			if got := call(t, newRunner(t, Options{}, dir, tool.ModeRW), args); !strings.Contains(got,
				"no file of its own") {
				t.Errorf("%s, %s: %s", end, args, got)
			}
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestFacts: what the policy is told of a call.
func TestFacts(t *testing.T) {
	p, err := policy.New(policy.Definition{Default: "deny", Rules: []policy.Rule{
		{Decision: "deny", Selector: policy.Selector{Path: []string{"private/**"}}},
		{Decision: "allow", Selector: policy.Selector{Path: []string{"**"}, Op: []policy.Op{policy.OpRead}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := shop(t)
	if err := os.Mkdir(filepath.Join(dir, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, Options{}, dir, tool.ModeRW)
	r = r.With(func(s *runner.Settings) { s.Policy = p })
	for args, ok := range map[string]bool{
		`{"path":"shop.db","query":"SELECT 1"}`:                                 true,
		`{"path":"private/shop.db","query":"SELECT 1"}`:                         false,
		`{"path":"shop.db","mode":"rw","query":"DELETE FROM items WHERE id=0"}`: false,
	} {
		if got := call(t, r, args); strings.HasPrefix(got, `{"success":true`) != ok {
			t.Errorf("%s: %s", args, got)
		}
	}
}

package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/internal/pgtest"
	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/journaltest"
	"wield/journal/postgres"
	"wield/journal/record"
	"wield/tool/runner"
	"wield/tool/runner/approvaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, address string, o postgres.Options) *postgres.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), address, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// schemas starts a server and returns what makes the address of an empty schema, which is faster than a database.
func schemas(tb testing.TB) func(tb testing.TB) string {
	tb.Helper()
	c := pgtest.Start(tb)
	address := c.Database(tb)
	n := 0
	return func(tb testing.TB) string {
		tb.Helper()
		n++
		c.Exec(tb, address, fmt.Sprint("CREATE SCHEMA test", n))
		return fmt.Sprintf("%s&search_path=test%d", address, n)
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	next := schemas(t)
	journaltest.Run(t, func(t *testing.T, o journal.Options) journal.Store {
		return open(t, next(t), postgres.Options{Options: o})
	})
	journaltest.Share(t, func(t *testing.T) (a, b journal.Store) {
		address, o := next(t), postgres.Options{Poll: 10 * time.Millisecond}
		return open(t, address, o), open(t, address, o)
	})
	t.Run("Newer", func(t *testing.T) { newer(t, next(t)) })
	t.Run("Locked", func(t *testing.T) { locked(t, next(t)) })
	t.Run("ReadOnly", func(t *testing.T) { readOnly(t, next(t)) })
	t.Run("Tampered", func(t *testing.T) { tampered(t, next(t)) })
	t.Run("Broken", func(t *testing.T) { broken(t, next(t)) })
	t.Run("Vacuum", func(t *testing.T) { vacuum(t, next(t)) })
	t.Run("Reopen", func(t *testing.T) { reopen(t, next(t)) })
	t.Run("StandsStill", func(t *testing.T) { standsStill(t, next(t)) })
}

// raw opens the database as any program does.
func raw(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func do(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func newer(t *testing.T, address string) {
	open(t, address, postgres.Options{})
	do(t, raw(t, address), "UPDATE wield_version SET version = 99")
	if _, err := postgres.Open(t.Context(), address, postgres.Options{}); !errors.Is(err, record.ErrVersion) {
		t.Error(err)
	}
}

func locked(t *testing.T, address string) {
	s := open(t, address, postgres.Options{Wait: 10 * time.Millisecond})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	tx, err := raw(t, address).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE wield_entries"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "run_1", 1, testrecord.End()); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("while another process has the table: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	testrecord.Add(t, s, "run_1", 1, testrecord.End())
	journaltest.Whole(t, s)
}

func readOnly(t *testing.T, address string) {
	s := open(t, address, postgres.Options{})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	reader := open(t, address+"&default_transaction_read_only=on", postgres.Options{})
	if _, err := reader.Append(t.Context(), "run_1", 1, testrecord.End()); !errors.Is(err, journal.ErrReadOnly) {
		t.Error(err)
	}
	journaltest.Whole(t, reader)
}

func tampered(t *testing.T, address string) {
	s := open(t, address, postgres.Options{})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"), testrecord.Message("a"))
	do(t, raw(t, address),
		"UPDATE wield_entries SET body = convert_to(replace(convert_from(body, 'UTF8'), '\"a\"', '\"b\"'), 'UTF8') WHERE position = 2")
	if r, err := journal.Verify(t.Context(), s, journal.Hash{}); err != nil || len(r.Problems) != 1 ||
		r.Problems[0].What != "the entry was changed" {
		t.Errorf("%+v, %v", r, err)
	}
}

// broken cuts every connection of the store, as a server does that is started again. The next use makes new ones.
func broken(t *testing.T, address string) {
	s := open(t, address, postgres.Options{})
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(t.Context(), testrecord.Run("ses")); err != nil {
		t.Fatal(err)
	}
	db := raw(t, address)
	var cut []string
	rows, err := db.QueryContext(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'wield'")
	for err == nil && rows.Next() {
		var pid string
		err = rows.Scan(&pid)
		cut = append(cut, pid)
	}
	if err == nil {
		err = rows.Close()
	}
	if err != nil || len(cut) == 0 {
		t.Fatalf("the connections of the store: %q, %v", cut, err)
	}
	these := "WHERE pid IN (" + strings.Join(cut, ", ") + ")"
	do(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+these)
	for left := 1; left > 0; { // they are told to end, and take a moment
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity "+these).Scan(
			&left); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // as often as there may be connections, and once more
		if err = w.Append(t.Context(), testrecord.Start("call_1")); err == nil {
			break
		}
	}
	if err != nil || w.Seq() != 2 {
		t.Errorf("after all connections were cut: %v", err)
	}
	journaltest.Whole(t, s)
}

func vacuum(t *testing.T, address string) {
	s := open(t, address, postgres.Options{})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	if err := s.Vacuum(t.Context()); err != nil {
		t.Error(err)
	}
	journaltest.Whole(t, s)
}

func reopen(t *testing.T, address string) {
	n := 0
	at := func(t *testing.T, run string) runner.Approvals {
		return &journal.Approvals{Store: open(t, address, postgres.Options{}), Session: "ses", Run: run}
	}
	approvaltest.Reopen(t, func(t *testing.T) runner.Approvals {
		n++
		return at(t, fmt.Sprint("run_", n))
	}, func(t *testing.T, s runner.Approvals) runner.Approvals {
		if err := s.(*journal.Approvals).Store.Close(); err != nil {
			t.Fatal(err)
		}
		return at(t, s.(*journal.Approvals).Run)
	})
}

// TestAddress checks that an address that cannot be read is not repeated: it may hold a password.
func TestAddress(t *testing.T) {
	_, err := postgres.Open(t.Context(), "postgres://user:hunter2@host:port/x", postgres.Options{})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// TestLost takes the database away from under a store: whatever is asked of it then fails as out of reach,
// and with the database back it goes on.
func TestLost(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	address := c.Database(t)
	s := open(t, address, postgres.Options{})
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(t.Context(),
		record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_1", Model: "m"}}); err != nil {
		t.Fatal(err)
	}
	admin := c.URL(pgtest.Admin, "postgres")
	c.Exec(t, admin, "ALTER DATABASE test1 ALLOW_CONNECTIONS false")
	c.Exec(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'wield'")
	read := func() (failed error) {
		for _, err := range s.Read(t.Context(), journal.Query{}) {
			failed = err
		}
		return failed
	}
	for range 3 {
		if _, err := s.Claim(t.Context(), "run_1", "me", time.Minute); !errors.Is(err, journal.ErrLost) {
			t.Errorf("claim: %v", err)
		}
		if err := read(); !errors.Is(err, journal.ErrLost) {
			t.Errorf("read: %v", err)
		}
	}
	c.Exec(t, admin, "ALTER DATABASE test1 ALLOW_CONNECTIONS true")
	if err := read(); err != nil {
		t.Errorf("the store does not go on: %v", err)
	}
}

// standsStill lets a process take the lock of the journal and then do nothing. The server ends its transaction
// before others have waited for too long.
func standsStill(t *testing.T, address string) {
	t.Parallel() // it waits
	still, other := open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	tx, err := still.Writer().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // it is over
	if _, err := tx.ExecContext(t.Context(),
		`SELECT pg_advisory_xact_lock(hashtext('wield journal'), hashtext(current_schema()))`); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Claim(t.Context(), journal.NewID("run"), "me", 0); err != nil &&
		!errors.Is(err, journal.ErrNotFound) {
		t.Errorf("another process: %v", err)
	}
}

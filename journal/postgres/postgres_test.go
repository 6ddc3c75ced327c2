package postgres_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"wield/internal/pgtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/postgres"
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
	next := schemas(t)
	journaltest.Run(t, func(t *testing.T, o journal.Options) journal.Store {
		return open(t, next(t), postgres.Options{Options: o})
	})
}

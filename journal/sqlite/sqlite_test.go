package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/sqlite"
)

// open opens a journal that ends with the test.
func open(tb testing.TB, path string, o sqlite.Options) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.Open(tb.Context(), path, o)
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

func TestSQLite(t *testing.T) {
	journaltest.Run(t, func(t *testing.T, o journal.Options) journal.Store {
		return open(t, filepath.Join(t.TempDir(), "state", "a b?%20#.db"), sqlite.Options{Options: o})
	})
}

func TestShare(t *testing.T) {
	journaltest.Share(t, func(t *testing.T) (a, b journal.Store) {
		path, o := filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{Poll: 10 * time.Millisecond}
		return open(t, path, o), open(t, path, o)
	})
}

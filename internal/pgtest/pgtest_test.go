package pgtest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"wield/internal/pgtest"
)

// TestStart asks two databases of a cluster, and looks for what is left of it.
func TestStart(t *testing.T) {
	var dir string
	t.Run("running", func(t *testing.T) {
		c := pgtest.Start(t)
		first, second := c.Database(t), c.Database(t)
		c.Exec(t, first, "CREATE TABLE t(i int)")
		c.Exec(t, second, "CREATE TABLE t(i int)")
		conn, err := pgconn.Connect(t.Context(), second)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		r := conn.ExecParams(t.Context(), "SHOW data_directory", nil, nil, nil, nil).Read()
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		dir = strings.TrimSuffix(string(r.Rows[0][0]), "/data")
	})
	if dir == "" {
		t.Skip("PostgreSQL is not tested")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

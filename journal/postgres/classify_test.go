package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"wield/journal"
)

// TestClassify gives every error a kind: what the server says, what the journal says, and else it is the connection.
func TestClassify(t *testing.T) {
	server := func(code string) error { return fmt.Errorf("x: %w", &pgconn.PgError{Code: code, Message: "m"}) }
	for _, c := range []struct {
		err, want error
	}{
		{pgconn.ErrConnClosed, journal.ErrLost}, {errors.New("conn closed"), journal.ErrLost},
		{net.ErrClosed, journal.ErrLost}, {context.DeadlineExceeded, journal.ErrLost},
		{&pgconn.ConnectError{}, journal.ErrLost}, {server("08006"), journal.ErrLost},
		{server("57P01"), journal.ErrLost}, {server("25P03"), journal.ErrLost}, {server("28P01"), journal.ErrLost},
		{server("3D000"), journal.ErrLost}, {server("53300"), journal.ErrLost}, {server("42P01"), journal.ErrCorrupt},
		{server("3F000"), journal.ErrCorrupt}, {server("XX001"), journal.ErrCorrupt},
		{server("25006"), journal.ErrReadOnly}, {server("42501"), journal.ErrReadOnly},
		{server("53100"), journal.ErrFull}, {server("54000"), journal.ErrFull}, {server("55P03"), journal.ErrLocked},
		{server("57014"), journal.ErrLocked}, {server("40001"), journal.ErrLocked}, {server("58030"), journal.ErrDisk},
		{journal.ErrConflict, journal.ErrConflict}, {context.Canceled, context.Canceled},
	} {
		if got := classify(c.err); !errors.Is(got, c.want) ||
			c.want != journal.ErrLost && errors.Is(got, journal.ErrLost) {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

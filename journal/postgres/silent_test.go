package postgres

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wield/internal/pgtest"
	"wield/journal"
)

// TestSilent checks that a server that accepts and never answers, from the start or from some moment on, is given up.
func TestSilent(t *testing.T) {
	t.Parallel()
	direct := pgtest.Start(t).Database(t)
	config, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	var silent atomic.Bool
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	network, server := pgconn.NetworkAddress(config.Host, config.Port)
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial(network, server)
			if err != nil {
				return
			}
			t.Cleanup(func() { from.Close(); to.Close() })
			go io.Copy(to, from)
			go func() {
				b := make([]byte, 32<<10)
				for {
					n, err := to.Read(b)
					if err != nil {
						from.Close()
						return
					}
					if !silent.Load() {
						from.Write(b[:n])
					}
				}
			}()
		}
	}()
	address := fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", config.User, l.Addr(), config.Database)
	o := Options{Wait: 100 * time.Millisecond, patience: 2 * time.Second}
	s, err := Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Claim(t.Context(), "run_1", "me", time.Minute); errors.Is(err, journal.ErrLost) {
		t.Fatal(err)
	}
	silent.Store(true)
	if _, err := s.Claim(t.Context(), "run_1", "me", time.Minute); !errors.Is(err, journal.ErrLost) {
		t.Errorf("claim: %v", err)
	}
	for _, err := range s.Read(t.Context(), journal.Query{}) {
		if !errors.Is(err, journal.ErrLost) {
			t.Errorf("read: %v", err)
		}
	}
	if _, err := Open(t.Context(), address, o); !errors.Is(err, journal.ErrLost) {
		t.Errorf("open: %v", err)
	}
	silent.Store(false)
	if _, err := s.Claim(t.Context(), "run_1", "me", time.Minute); errors.Is(err, journal.ErrLost) {
		t.Errorf("the store does not go on: %v", err)
	}
}

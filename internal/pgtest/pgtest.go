// Package pgtest starts PostgreSQL for tests: a cluster of its own in a directory of its own, on a socket and
// no port, which is gone when the test is. Where there is no PostgreSQL the test is skipped.
//
// `initdb` makes a cluster, which one server serves. It holds roles and databases; each database of
// [Cluster.Database] is new, so that tests that share a cluster see nothing of each other.
package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Admin is the role that may do everything. Others are made by the test.
const Admin = "admin"

// startTime limits the start of a server, on a machine with other work.
const startTime = time.Minute

// A Cluster is a running server.
type Cluster struct {
	dir  string // where its socket is
	made atomic.Int64

	start func() error // a server
	kill  func()       // the one that runs
}

// Kill ends the server at once, as a crash would.
func (c *Cluster) Kill() { c.kill() }

// Restart ends the server at once, starts it again, and waits until it has recovered.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	c.kill()
	if err := c.start(); err != nil {
		tb.Fatalf("PostgreSQL does not start again: %v", err)
	}
}

// Start starts a cluster that ends with the test, or skips the test.
func Start(tb testing.TB) *Cluster {
	tb.Helper()
	initdb, postgres := program(tb, "initdb"), program(tb, "postgres")
	// The path of a socket has about a hundred bytes, and a server that is not root's must be able to get there.
	dir, err := os.MkdirTemp("/tmp", "wield-pg-")
	if err != nil {
		tb.Skipf("PostgreSQL is not tested: %v", err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	user, err := unprivileged(dir)
	if err != nil {
		tb.Skipf("PostgreSQL is not tested: it does not run as root, and there is no other user: %v", err)
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, environment(dir), user
		return cmd
	}
	data := filepath.Join(dir, "data")
	init := command(initdb, "-D", data, "-U", Admin, "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	if out, err := init.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	// Nothing here has to outlive the machine. Without mmap its memory would be in a place that is shared with others.
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { log.Close() })
	c := &Cluster{dir: dir}
	c.start = func() error {
		server := command(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
			"full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "dynamic_shared_memory_type=mmap")
		server.Stdout, server.Stderr = log, log
		if err := server.Start(); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Wait()
		}()
		c.kill = func() {
			stop(server.Process) // it ends its children, too
			<-ended
		}
		return c.ready(context.WithoutCancel(tb.Context()), ended)
	}
	err = c.start()
	if c.kill != nil {
		tb.Cleanup(func() { c.kill() })
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		tb.Fatalf("PostgreSQL does not start: %v\n%s", err, text)
	}
	return c
}

// program finds a program of PostgreSQL, which Debian keeps off the path.
func program(tb testing.TB, name string) string {
	tb.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		tb.Skipf("PostgreSQL is not tested: there is no %s here", name)
	}
	newest := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) } // 15 is newer than 9.6
	return slices.MaxFunc(found, newest)
}

// environment is that of the test without what speaks to PostgreSQL's programs.
func environment(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	return append(env, "HOME="+home, "LC_ALL=C")
}

// ready waits until the server answers.
func (c *Cluster) ready(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		conn, err := pgconn.Connect(ctx, c.URL(Admin, "postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL is the address of a database for a role.
func (c *Cluster) URL(role, database string) string {
	return "postgres:///" + url.PathEscape(database) + "?" +
		url.Values{"host": {c.dir}, "user": {role}, "sslmode": {"disable"}}.Encode()
}

// Database makes a new, empty database that [Admin] owns, and returns its address.
func (c *Cluster) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test%d", c.made.Add(1))
	c.Exec(tb, c.URL(Admin, "postgres"), "CREATE DATABASE "+name)
	return c.URL(Admin, name)
}

// Exec runs statements at an address.
func (c *Cluster) Exec(tb testing.TB, address, statements string) {
	tb.Helper()
	ctx := tb.Context()
	conn, err := pgconn.Connect(ctx, address)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statements).ReadAll(); err != nil {
		tb.Fatal(err)
	}
}

//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/record"
	"wield/journal/sqlite"
)

// A process that a test starts does what this variable says: a name of parts, and its arguments.
const childVariable = "WIELD_JOURNAL_TEST_CHILD"

// parts are what processes of tests do. What they print, the test reads.
var parts = map[string]func(path, arg string) error{"calls": makeCalls, "race": raceFor, "full": fill,
	"readonly": write, "record": addRecords}

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(childVariable)); len(words) == 3 {
		if err := parts[words[0]](words[1], words[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A child is a process that does one of the parts.
type child struct {
	*exec.Cmd
	out *bufio.Scanner
}

// start starts a process that ends with the test.
func start(t *testing.T, part, path, arg string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+part+" "+path+" "+arg)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // one that has ended cannot be killed
		_ = cmd.Wait()
	})
	return &child{cmd, bufio.NewScanner(out)}
}

// makeCalls appends one record at a time to a new run and prints the number of each that was appended.
func makeCalls(path, stream string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	w := journal.NewWriter(s, stream, 0)
	for n := 0; ; n++ {
		r := testrecord.Run("ses")
		if n > 0 {
			id := fmt.Sprint("call_", (n-1)/3)
			r = []record.Record{testrecord.Start(id), testrecord.Message(strings.Repeat("word ", 3000)),
				testrecord.Result(id)}[(n-1)%3]
		}
		if err := w.Append(ctx, r); err != nil {
			return err
		}
		fmt.Println(w.Seq())
	}
}

// raceFor appends 20 entries to a stream that others write to as well, and prints how often somebody else was first.
func raceFor(path, stream string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	lost := 0
	for n := int64(0); n < 20; {
		var head journal.Head
		for h, err := range s.Heads(ctx, journal.HeadQuery{Stream: stream}) {
			if err != nil {
				return err
			}
			head = h
		}
		switch _, err := s.Append(ctx, stream, head.Seq, testrecord.Message(fmt.Sprint(os.Getpid()))); {
		case err == nil:
			n++
		case errors.Is(err, journal.ErrConflict):
			lost++
		default:
			return err
		}
	}
	fmt.Println(lost)
	return nil
}

// fill appends until no more fits into the file, then gets room, and appends once more.
func fill(path, _ string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails then
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	was := limit.Cur
	limit.Cur = 300 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(ctx, testrecord.Run("ses")); err != nil {
		return err
	}
	for err == nil && w.Seq() < 1000 {
		err = w.Append(ctx, testrecord.Start(fmt.Sprint("call_", w.Seq())),
			testrecord.Message(strings.Repeat("word ", 3000)))
	}
	if !errors.Is(err, journal.ErrFull) {
		return fmt.Errorf("with %d entries: %w", w.Seq(), err)
	}
	n := 0
	for _, err := range s.Read(ctx, journal.Query{}) { // what was there can be read
		if err != nil {
			return err
		}
		n++
	}
	if int64(n) != w.Seq() {
		return fmt.Errorf("%d entries, %d were appended", n, w.Seq())
	}
	limit.Cur = was
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := w.Append(ctx, testrecord.End()); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	fmt.Println(w.Seq())
	return nil
}

// write opens a journal that it may not write, and tries to.
func write(path, _ string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err == nil {
		defer s.Close()
		_, err = s.Append(ctx, "run_1", 1, testrecord.End())
	}
	if !errors.Is(err, journal.ErrReadOnly) {
		return fmt.Errorf("writing gave %v", err)
	}
	return nil
}

// record records calls in a new journal: a turn with its call, the start, the result.
func addRecords(path, _ string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(ctx, testrecord.Run("ses")); err != nil {
		return err
	}
	for n := range recorded {
		id := fmt.Sprint("call_", n)
		for _, r := range []record.Record{testrecord.Message("a turn"), testrecord.Start(id), testrecord.Result(id)} {
			if err := w.Append(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	recorded = 200
	// besides is for creating the file, for checkpoints and for closing it.
	besides = 20
)

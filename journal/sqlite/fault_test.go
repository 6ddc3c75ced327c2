//go:build unix

package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/journal/sqlite"
	"wield/tool/runner"
	"wield/tool/runner/approvaltest"
)

// TestKilled kills processes in the middle of what they do. What a process was told to be appended is there
// afterwards, at most one more entry is, and the chain is whole.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	for i, after := range []int{1, 2, 3, 4, 5, 7, 11, 30} {
		stream := fmt.Sprint("run_", i)
		c := start(t, "calls", path, stream)
		told := 0
		for range after {
			if !c.out.Scan() {
				t.Fatal("the process ended by itself")
			}
			told++
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for c.out.Scan() { // what it said before it died
			told++
		}
		_ = c.Wait() // killed
		s := open(t, path, sqlite.Options{Existing: true})
		n := len(journaltest.List(t, s.Read(t.Context(), journal.Query{Stream: stream})))
		if n != told && n != told+1 {
			t.Errorf("%d entries, the process was told of %d", n, told)
		}
		journaltest.Whole(t, s)
		if lease, err := s.Claim(t.Context(), stream, "own_test", time.Minute); err != nil || lease.Seq != int64(n+1) {
			t.Errorf("the run cannot be taken over: %+v, %v", lease, err)
		}
	}
}

// TestTorn cuts SQLite's log at many places, as a loss of power does. What is left is the journal as it was at some
// time.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	s := open(t, path, sqlite.Options{})
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(t.Context(), testrecord.Run("ses")); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		id := fmt.Sprint("call_", i)
		for _, r := range []record.Record{testrecord.Start(id), testrecord.Result(id),
			testrecord.Message(strings.Repeat("word ", 1000))} {
			if err := w.Append(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for i := range 32 {
		cut := len(log) * i / 31
		torn := filepath.Join(dir, fmt.Sprint("torn", i, ".db"))
		for name, text := range map[string][]byte{torn: db, torn + "-wal": log[:cut]} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, torn, sqlite.Options{})
		n := int(journaltest.Whole(t, s).Entries)
		if n < last || i == 31 && n != int(w.Seq()) {
			t.Errorf("cut at %d of %d there are %d entries, with less there were %d", cut, len(log), n, last)
		}
		last = n
		if n > 0 {
			testrecord.Add(t, s, "run_1", int64(n), testrecord.End())
		}
	}
}

// TestProcesses has several processes append to the same stream. Each entry follows one that its writer had seen.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := open(t, path, sqlite.Options{Poll: 10 * time.Millisecond})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	children := []*child{start(t, "race", path, "run_1"), start(t, "race", path, "run_1"),
		start(t, "race", path, "run_1")}
	next := int64(1)
	for e, err := range s.Watch(t.Context(), journal.Query{}) { // this process sees what the others write
		if err != nil || e.Position != next {
			t.Fatalf("position %d, want %d: %v", e.Position, next, err)
		}
		if next++; next > 61 {
			break
		}
	}
	for _, c := range children {
		for c.out.Scan() {
			t.Logf("%s times another process was first", c.out.Text())
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	if r := journaltest.Whole(t, s); r.Entries != 61 {
		t.Errorf("%+v", r)
	}
}

func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	c := start(t, "full", path, "-")
	var said []string
	for c.out.Scan() {
		said = append(said, c.out.Text())
	}
	if err := c.Wait(); err != nil || len(said) != 1 {
		t.Fatalf("%v, %v", said, err)
	}
	s := open(t, path, sqlite.Options{Existing: true})
	if n, _ := strconv.ParseInt(said[0], 10, 64); journaltest.Whole(t, s).Entries != n {
		t.Errorf("the process appended %d entries", n)
	}
}

// raw opens the file as any program does.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
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

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := open(t, path, sqlite.Options{Wait: time.Millisecond})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	other := raw(t, path)
	other.SetMaxOpenConns(1)
	do(t, other, "BEGIN IMMEDIATE")
	if _, err := s.Append(t.Context(), "run_1", 1, testrecord.End()); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("while another process writes: %v", err)
	}
	if n := len(journaltest.List(t, s.Read(t.Context(), journal.Query{}))); n != 1 {
		t.Errorf("%d entries can be read, want 1", n)
	}
	do(t, other, "ROLLBACK")
	testrecord.Add(t, s, "run_1", 1, testrecord.End())
	journaltest.Whole(t, s)
}

// TestReadOnly looks at a journal in a file, and then a directory, that cannot be written. Root may write everything,
// so that somebody else looks.
func TestReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "journal.db")
	s := open(t, path, sqlite.Options{})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })    // so that it can be removed
	program := filepath.Join(t.TempDir(), "test") // where another user can start it
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(program, text, 0o755), os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755),
			os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []struct{ file, dir os.FileMode }{{0o444, 0o755}, {0o400, 0o755}} {
		if err := errors.Join(os.Chmod(path, mode.file), os.Chmod(dir, mode.dir)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), childVariable+"=readonly "+path+" -")
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		} else if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); errors.Is(err, fs.ErrPermission) {
			t.Skipf("no process of another user can be started here: a read-only journal is not tested: %v", err)
		} else if err != nil {
			t.Errorf("%v: %v\n%s", mode, err, out)
		}
	}
}

// TestNotWritable has SQLite itself say that the file is read-only, for whoever may write everything too.
func TestNotWritable(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "file", "none"),
		sqlite.Options{Existing: true}); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a file that must be there: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "file", "journal.db"), dir} { // below a file, and a directory
		if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, journal.ErrReadOnly) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestForeign opens files that are no journals, and that of a newer wield. None is changed.
func TestForeign(t *testing.T) {
	for name, test := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"newer": {func(t *testing.T, path string) {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			db := raw(t, path)
			do(t, db, "PRAGMA user_version = 99")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}, record.ErrVersion},
		"another program's": {func(t *testing.T, path string) {
			db := raw(t, path)
			do(t, db, "CREATE TABLE t(a)")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}, journal.ErrCorrupt},
		"no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, journal.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			test.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed, or %v", err)
			}
		})
	}
}

// TestTampered changes the file behind the journal's back. Each change is found.
func TestTampered(t *testing.T) {
	for _, test := range []struct{ statement, want string }{
		{"UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'done', 'gone') AS BLOB) WHERE position = 4",
			"the entry was changed"},
		{"UPDATE entries SET at = at + 1 WHERE position = 2", "the entry was changed"},
		{"UPDATE entries SET session = 'other' WHERE position = 2", "the entry was changed"},
		{"DELETE FROM entries WHERE position = 3", "entries 3 to 3 are missing"},
		{"UPDATE entries SET stream = NULL, body = NULL, salt = NULL WHERE position = 3",
			"no record says that it was deleted"},
		{"UPDATE entries SET leaf = zeroblob(32) WHERE position = 3", "the hash does not follow"},
		{"UPDATE entries SET hash = zeroblob(32) WHERE position = 3", "the hash does not follow"},
		{"DELETE FROM entries WHERE position = 5", "the index says that the stream has 5 entries, it has 4"},
		{"DELETE FROM heads", "the index does not know the stream"},
		{"UPDATE entries SET body = x'00' WHERE position = 3", "the entry was changed"},
	} {
		path := filepath.Join(t.TempDir(), "journal.db")
		s := open(t, path, sqlite.Options{})
		testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"), testrecord.Message("a"), testrecord.Start("call_1"),
			testrecord.Result("call_1"), testrecord.End())
		do(t, raw(t, path), test.statement)
		r, err := journal.Verify(t.Context(), s, journal.Hash{})
		if err != nil || len(r.Problems) == 0 || !strings.Contains(fmt.Sprint(r.Problems), test.want) {
			t.Errorf("%s: %v, %v", test.statement, r.Problems, err)
		}
	}
}

// TestGone looks for words of a session that was deleted in every file of the journal.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "journal.db"), sqlite.Options{})
	secret := strings.Repeat("mellon ", 5000) // some of it lies in pages of its own
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses_1"), testrecord.Message(secret), testrecord.Message("mellon"))
	testrecord.Add(t, s, "run_2", 0, testrecord.Run("ses_2"))
	if err := s.Delete(t.Context(), "ses_1", record.ReasonAsked); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("mellon")); n > 0 {
			t.Errorf("%s holds a deleted word %d times", filepath.Base(name), n)
		}
	}
	journaltest.Whole(t, s)
}

// TestOpenAtOnce makes one file from many sides.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Append(t.Context(), fmt.Sprint("run_", i), 0, testrecord.Run("ses")); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r := journaltest.Whole(t, open(t, path, sqlite.Options{Existing: true})); r.Entries != 6 {
		t.Errorf("%+v", r)
	}
}

func TestApprovalsReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	n := 0
	at := func(t *testing.T, run string) runner.Approvals {
		return &journal.Approvals{Store: open(t, path, sqlite.Options{}), Session: "ses", Run: run}
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

// TestMode checks that nobody else can read the files.
func TestMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, filepath.Join(dir, "journal.db"), sqlite.Options{})
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, dir) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode())
		}
	}
}

package sqlite_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wield/journal/journaltest"
	"wield/journal/sqlite"
)

// TestSyncs counts what the system is asked to sync: two for each call.
func TestSyncs(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace here: syncs are not counted")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "trace")
	cmd := exec.Command(strace, "-f", "-qq", "-o", out, "-e",
		"trace=fsync,fdatasync,sync,syncfs,msync,sync_file_range", os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=record "+filepath.Join(dir, "journal.db")+" -")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("strace cannot be used here, so syncs are not counted: %v\n%s", err, text)
	}
	trace, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	// of a system call that was interrupted by another one, only the beginning has it
	n := bytes.Count(trace, []byte("sync("))
	t.Logf("%d syncs for %d calls", n, recorded)
	if n < 2*recorded || n > 2*recorded+besides {
		t.Errorf("%d syncs for %d calls, want two for each and up to %d more", n, recorded, besides)
	}
	if r := journaltest.Whole(t,
		open(t, filepath.Join(dir, "journal.db"), sqlite.Options{Existing: true})); r.Calls != recorded {
		t.Errorf("%+v", r)
	}
}

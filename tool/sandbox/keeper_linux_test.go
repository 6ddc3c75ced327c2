package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestEndsMeet has a keeper that comes to its turn late: the program that was refused a process has ended, and nothing of its tree
// is left. Whichever of the two it sees first, it says why.
func TestEndsMeet(t *testing.T) {
	group := &group{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(group.Dir, "pids.events"), []byte("max 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		k := &keeper{spec: spec{Group: group}, ended: make(chan death, 1), gone: make(chan struct{})}
		k.ended <- death{syscall.WaitStatus(2 << 8)}
		close(k.gone)
		if r := k.watch(); r.Code != 2 || r.Reason != "processes" {
			t.Fatalf("it ended with %+v", r)
		}
	}
}

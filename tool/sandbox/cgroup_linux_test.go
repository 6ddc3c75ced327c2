package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGroupHoldsMemory: a group of the second version is given the limit of memory, and what happens in it is read from
// its events.
func TestGroupHoldsMemory(t *testing.T) {
	parent := t.TempDir()
	g := groupIn(parent, false, "x", ProcessLimits{Processes: 10, Memory: 1 << 30})
	if g == nil {
		t.Fatal("no group")
	}
	for name, want := range map[string]string{"pids.max": "72", "memory.max": "1207959552", "memory.swap.max": "0"} {
		if b, err := os.ReadFile(filepath.Join(g.Dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v, want %s", name, b, err, want)
		}
	}
	for events, want := range map[string]bool{"low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\n": false,
		"low 0\nmax 3\noom 1\noom_kill 1\n": true} {
		if err := os.WriteFile(filepath.Join(g.Dir, "memory.events"), []byte(events), 0o600); err != nil {
			t.Fatal(err)
		}
		if g.starved() != want {
			t.Errorf("%q: %v", events, !want)
		}
	}
	if g.refused() || (*group)(nil).starved() {
		t.Error("something happened where nothing did")
	}
	if g := groupIn(t.TempDir(), true, "x", ProcessLimits{Processes: 10, Memory: 1 << 30}); g == nil {
		t.Error("no group of the first version")
	} else if _, err := os.Stat(filepath.Join(g.Dir, "memory.max")); err == nil {
		t.Error("a group of the first version was given a limit of memory")
	}
}

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/internal/pgtest"
)

// TestDatabaseIsGone kills PostgreSQL under a run, while a tool runs; it, and a run that begins afterwards,
// ends with the exit code of a failure and says what failed.
func TestDatabaseIsGone(t *testing.T) {
	cluster := pgtest.Start(t)
	story := slowStory
	story.scenario = strings.ReplaceAll(slowStory.scenario, "NAME", "again")
	w, err := newWorld(t.TempDir(), &story, cluster.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "tools", "again"), []byte("#!/bin/sh\n"+killTools["again"]+waiting), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the tool runs", func() bool { return exists(filepath.Join(w.dir, "process")) })
	cluster.Kill()
	if err := os.WriteFile(filepath.Join(w.dir, "quick"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if n == 1 { // a new one
			w.run = ""
			if p, err = w.start(); err != nil {
				t.Fatal(err)
			}
		}
		e, err := p.end()
		if err != nil {
			t.Fatal(err)
		}
		if e.killed || e.code != cli.ExitFailed || !strings.Contains(e.log, "cannot be reached") {
			t.Errorf("exit code %d, log %s", e.code, e.log)
		}
	}
}

//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wield/internal/pgtest"
	"wield/internal/testlevel"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
)

// TestTwoServices lets two services share a journal. One of them is killed, or stands still for longer than its
// lease, while a tool runs; the other one takes the run over. The one that stood still goes on afterwards, and cannot
// write to the run any more. Nothing is done twice that must not be.
//
// The second service is started when the first one is gone, with a clock that is a minute ahead. With WIELD_KILL, over
// PostgreSQL, it is there all the time, and waits until the lease is over.
func TestTwoServices(t *testing.T) {
	testlevel.Long(t)
	t.Run("SQLite", func(t *testing.T) { // both have the file journal.db of their directory
		twoServices(t, func() string { return "" })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		cluster := pgtest.Start(t)
		t.Run("cluster", func(t *testing.T) { // it ends when those that use it have ended
			twoServices(t, func() string { return cluster.Database(t) })
			t.Run("answered", func(t *testing.T) {
				t.Parallel()
				answerBeside(t, cluster.Database(t))
			})
		})
	})
}

func twoServices(t *testing.T, database func() string) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		for _, name := range []string{"again", "save"} {
			address := database()
			t.Run(signal.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				leave(t, address, signal, name)
			})
		}
	}
}

// waiting makes a tool wait until a file exists.
const waiting = "[ $ARG_n = 2 ] || { echo $$ >process; until [ -e quick ]; do sleep 0.05; done; }\n"

func leave(t *testing.T, database string, signal syscall.Signal, name string) {
	story := slowStory
	story.config, story.scenario = servedConfig, strings.ReplaceAll(slowStory.scenario, "NAME", name)
	w, err := newWorld(t.TempDir(), &story, database)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "tools", name), []byte("#!/bin/sh\n"+killTools[name]+waiting),
		0o755); err != nil {
		t.Fatal(err)
	}
	beside := os.Getenv(killVariable) != "" && database != "" // as two machines would be
	first := w.serve(t)
	var second *server
	if beside {
		second = w.serve(t, mortalClock+"=0s")
	}
	var run struct{ ID, State string }
	if !first.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &run) {
		t.Fatalf("no run begins: %s", first.log)
	}
	await(t, "the tool runs", func() bool { return exists(filepath.Join(w.dir, "process")) })
	if err := first.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if signal == syscall.SIGKILL {
		await(t, "the first service is gone", first.ended)
	}
	writeFile(t, filepath.Join(w.dir, "quick"), "")
	if beside {
		awaitFor(t, 2*time.Minute, "the second service takes the run over", func() bool {
			return second.call(t, "GET", "runs/"+run.ID, nil, &run) && run.State == "ended"
		})
	} else {
		second = w.serve(t)
	}
	if !w.drive(t, second) {
		t.Fatalf("the second service ended by itself: %s", second.log)
	}
	if signal == syscall.SIGSTOP {
		before := w.entries(t)
		if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		first.end(t)
		if now := w.entries(t); now != before {
			t.Errorf("the service that stood still has written to the run: %d entries, and before %d", now, before)
		}
	}
	second.end(t)
	if err := w.check(t.Context()); err != nil {
		t.Error(err)
	}
}

// entries counts what stands in the run's stream, without who asked for its lease.
func (w *world) entries(t *testing.T) (n int) {
	t.Helper()
	s, err := w.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, e := range journaltest.List(t, s.Read(t.Context(), journal.Query{Stream: w.run})) {
		if e.Record.Kind != record.KindClaimed {
			n++
		}
	}
	return n
}

// answerBeside answers questions at a service that has no such agent. The one that has it hears of that.
func answerBeside(t *testing.T, database string) {
	story := servedStory
	w, err := newWorld(t.TempDir(), &story, database)
	if err != nil {
		t.Fatal(err)
	}
	first := w.serve(t)
	story.config = strings.ReplaceAll(servedConfig, "worker", "other")
	beside, err := newWorld(t.TempDir(), &story, database)
	if err != nil {
		t.Fatal(err)
	}
	second := beside.serve(t)
	var run struct{ ID, State string }
	if !first.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &run) {
		t.Fatalf("no run begins: %s", first.log)
	}
	w.run = run.ID
	answered := 0
	await(t, "the run comes to its end", func() bool {
		var questions struct {
			Items []struct {
				ID        string
				Arguments json.RawMessage
			}
		}
		if !second.call(t, "GET", "approvals", nil, &questions) {
			t.Fatalf("the second service has no approvals: %s", second.log)
		}
		for _, q := range questions.Items {
			var any json.RawMessage
			decision, other := "allow", "deny"
			if string(q.Arguments) == w.deny {
				decision, other = other, decision
			}
			if !second.call(t, "POST", "approvals/"+q.ID, map[string]string{"decision": decision}, &any) {
				t.Errorf("%s cannot be answered", q.ID)
			}
			if first.call(t, "POST", "approvals/"+q.ID, map[string]string{"decision": other}, &any) {
				t.Errorf("%s was answered a second time, and otherwise", q.ID)
			}
			answered++
		}
		return first.call(t, "GET", "runs/"+run.ID, nil, &run) && run.State == "ended"
	})
	if answered == 0 {
		t.Error("nothing was asked")
	}
	first.end(t)
	second.end(t)
	if err := w.check(t.Context()); err != nil {
		t.Error(err)
	}
}

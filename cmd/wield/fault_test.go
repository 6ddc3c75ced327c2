package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wield/internal/cli"
	"wield/internal/testlevel"
	"wield/journal/journaltest"
	"wield/journal/sqlite"
)

// aWorld makes a world for a story by its name.
func aWorld(t *testing.T, name string) *world {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tools of this test are shell scripts")
	}
	for i := range stories {
		if stories[i].name == name {
			w, err := newWorld(t.TempDir(), &stories[i], "")
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
	}
	t.Fatalf("there is no story %s", name)
	return nil
}

// alive is w.live for a test.
func (w *world) alive(t *testing.T, env ...string) *ending {
	t.Helper()
	e, err := w.live(env...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ends plays the rest of the story and looks at what is left.
func (w *world) ends(t *testing.T) {
	t.Helper()
	if _, err := w.play(nil); err != nil {
		t.Fatal(err)
	}
	if err := w.check(t.Context()); err != nil {
		t.Error(err)
	}
}

// effects returns what the tools did so far.
func (w *world) effects() string {
	text, _ := os.ReadFile(filepath.Join(w.dir, "effects")) // there is none before the first
	return string(text)
}

// TestDiskFull gives the journal room for a part of a run. What cannot be recorded does not run; with room again the
// run goes on.
func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("files cannot be limited here: a full disk is not tested")
	}
	var failed atomic.Int32
	taken := 0
	t.Run("rooms", func(t *testing.T) {
		for i, room := range []int{20 << 10, 100 << 10, 180 << 10, 300 << 10} {
			if i%testlevel.Every(2) > 0 {
				continue
			}
			taken++
			t.Run(fmt.Sprint(room), func(t *testing.T) {
				t.Parallel()
				w := aWorld(t, "calls")
				e := w.alive(t, fmt.Sprintf("%s=%d", mortalRoom, room))
				switch {
				case e.code == w.code:
					t.Log("there is room for all")
				case e.code != cli.ExitFailed || !strings.Contains(e.log, "no room is left"):
					t.Errorf("exit code %d, log %s", e.code, e.log)
				default:
					failed.Add(1)
				}
				w.ends(t)
			})
		}
	})
	if n := int(failed.Load()); 2*n < taken {
		t.Errorf("only %d of %d disks were full", n, taken)
	}
}

// TestNoPlace starts a run whose journal cannot be written.
func TestNoPlace(t *testing.T) {
	w := aWorld(t, "limits")
	text := killConfig + "journal: {path: model.yaml/journal.db}\n" // below a file
	if err := os.WriteFile(filepath.Join(w.dir, "wield.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := w.alive(t)
	if e.code != cli.ExitFailed || !strings.Contains(e.log, "the store cannot be written") ||
		!strings.Contains(e.log, "--no-journal") || w.effects() != "" {
		t.Errorf("exit code %d, log %s, effects %q", e.code, e.log, w.effects())
	}
}

// lock locks the journal, as another process may, until unlock is called.
func (w *world) lock(t *testing.T) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "state", "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run("BEGIN IMMEDIATE")
	return func() { run("ROLLBACK") }
}

// TestLockedJournal starts a run while another process has locked the journal.
func TestLockedJournal(t *testing.T) {
	w := aWorld(t, "limits")
	if e := w.alive(t, mortalDeath+"="+death{5, dieBefore, 0}.String()); !e.killed {
		t.Fatalf("it was not killed: %s", e.log)
	}
	unlock := w.lock(t)
	e := w.alive(t, mortalWait+"=20ms")
	if e.code != cli.ExitFailed || !strings.Contains(e.log, "locked by another process") || w.effects() != "" {
		t.Errorf("exit code %d, log %s, effects %q", e.code, e.log, w.effects())
	}
	unlock()
	w.ends(t)
}

// TestClockJumps lets the clock go forth and back by hours, with every step of a process and from one process to the
// next.
func TestClockJumps(t *testing.T) {
	for i, jump := range []string{"1h", "-1h"} {
		if i%testlevel.Every(2) > 0 {
			continue
		}
		t.Run(jump, func(t *testing.T) {
			t.Parallel()
			w := aWorld(t, "questions")
			if e := w.alive(t, mortalJump+"="+jump); e.code != cli.ExitDenied {
				t.Errorf("exit code %d, log %s", e.code, e.log)
			}
			if e := w.alive(t, mortalJump+"="+jump, mortalDeath+"="+death{12, dieAfter, 100}.String()); !e.killed {
				t.Errorf("it was not killed: %s", e.log)
			}
			w.ends(t)
		})
	}
}

// TestTwoGoOn starts two processes that go on with one run. One has it, the other one says who has. When the clock of
// the second one is so far ahead that it takes the run over, the first one cannot write to it any more, and it is as
// if it had been killed.
func TestTwoGoOn(t *testing.T) {
	for i, ahead := range []time.Duration{time.Hour, time.Hour, time.Hour + time.Minute, time.Hour + time.Minute} {
		if i%testlevel.Every(2) > 0 {
			continue
		}
		t.Run(fmt.Sprint(i, " ", ahead), func(t *testing.T) {
			t.Parallel()
			twoGoOn(t, ahead)
		})
	}
}

func twoGoOn(t *testing.T, ahead time.Duration) {
	w := aWorld(t, "calls")
	if e := w.alive(t, mortalDeath+"="+death{9, dieAfter, 100}.String()); !e.killed {
		t.Fatalf("it was not killed: %s", e.log)
	}
	var both []*process
	for _, clock := range []time.Duration{time.Hour, ahead} {
		p, err := w.start(mortalClock + "=" + clock.String())
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, p)
	}
	var ends []*ending
	for _, p := range both {
		e, err := p.end()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, e)
	}
	won := 0
	for _, e := range ends {
		switch {
		case e.code == w.code && strings.Contains(e.out, "All done."):
			won++
		case e.code == cli.ExitFailed &&
			(strings.Contains(e.log, "another process holds the lease") ||
				strings.Contains(e.log, "the stream was changed by another")):
		case e.code == cli.ExitUsage && strings.Contains(e.log, " is over\n"):
		default:
			t.Errorf("exit code %d, log %s", e.code, e.log)
		}
	}
	if won != 1 {
		t.Errorf("%d of two went on to the end", won)
	}
	if err := w.check(t.Context()); err != nil {
		t.Error(err)
	}
}

// slowStory is a run with a tool that takes its time, one that may be repeated and one that may not.
var slowStory = story{name: "slow", calls: 2, scenario: `
  - {id: one, when: {turn: 0}, reply: [{call: {name: NAME, args: {n: 1}}}]}
  - {id: two, when: {turn: 1}, reply: [{call: {name: save, args: {n: 2}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`}

// TestSignals tells a run to end, or kills it, while a tool runs. What had begun is recorded, nothing is left
// running, and the run goes on afterwards.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals here")
	}
	for i, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		for k, name := range []string{"again", "save"} {
			if (i+k)%testlevel.Every(2) > 0 {
				continue
			}
			t.Run(signal.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				s := slowStory
				s.scenario = strings.ReplaceAll(s.scenario, "NAME", name)
				w, err := newWorld(t.TempDir(), &s, "")
				if err != nil {
					t.Fatal(err)
				}
				writeSlow(t, w, name)
				p, err := w.start()
				if err != nil {
					t.Fatal(err)
				}
				await(t, "the tool runs", func() bool {
					return strings.Contains(w.effects(), name+" 1") && exists(filepath.Join(w.dir, "process"))
				})
				if err := p.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				e, err := p.end()
				if err != nil {
					t.Fatal(err)
				}
				if signal == syscall.SIGKILL != e.killed || !e.killed && e.code != cli.ExitInterrupted {
					t.Errorf("exit code %d, log %s", e.code, e.log)
				}
				checkGone(t, filepath.Join(w.dir, "process"))
				if err := os.WriteFile(filepath.Join(w.dir, "quick"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				w.ends(t)
				if n := strings.Count(w.effects(), "save 1"); n > 1 {
					t.Errorf("save 1 was done %d times", n)
				}
			})
		}
	}
}

func exists(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() > 0
}

// writeSlow makes a tool of a world slow, as long as there is no file that says to be quick. It writes down which
// process it is.
func writeSlow(t *testing.T, w *world, name string) {
	t.Helper()
	text := "#!/bin/sh\n" + killTools[name] + "echo $$ >process\n[ $ARG_n = 2 ] || [ -e quick ] || sleep 60\n"
	if err := os.WriteFile(filepath.Join(w.dir, "tools", name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// checkGone waits until the process whose id stands in a file is gone.
func checkGone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(id)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the tool is gone", func() bool { return p.Signal(syscall.Signal(0)) != nil })
}

// TestVerifyBesides looks at a journal while runs write to it.
func TestVerifyBesides(t *testing.T) {
	w := aWorld(t, "calls")
	if e := w.alive(t, mortalDeath+"="+death{9, dieAfter, 100}.String()); !e.killed {
		t.Fatalf("it was not killed: %s", e.log)
	}
	p, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.dir)
	for n := range 3 {
		for _, args := range [][]string{{"verify"}, {"backup", fmt.Sprint("copy", n, ".db")}} {
			if code, out, log := runWield(t, w.dir, "", append([]string{"journal", "--config", "wield.yaml"},
				args...)...); code != cli.ExitOK {
				t.Errorf("%v: exit code %d, output %s, log %s", args, code, out, log)
			}
		}
	}
	if e, err := p.end(); err != nil || e.code != w.code {
		t.Errorf("%v: %+v", err, e)
	}
	if err := w.check(t.Context()); err != nil {
		t.Error(err)
	}
	for n := range 3 { // each copy is whole in itself
		copied, err := sqlite.Open(t.Context(), fmt.Sprint("copy", n, ".db"), sqlite.Options{Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		journaltest.Whole(t, copied)
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
	}
}

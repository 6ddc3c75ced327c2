package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"wield/internal/cli"
	"wield/internal/testlevel"
)

// refused continues a conversation that the service has to refuse, with these words.
func (c *client) refused(t *testing.T, w *world, s *server, words string) {
	t.Helper()
	if err := c.goOn(t, w, s); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), words) {
		t.Fatalf("%s: the service says %v, and not %q\nlog: %s", c.name, err, words, s.log)
	}
}

// TestServeDiskFull gives the journal of a service room for a part of a run. What cannot be recorded does not run,
// the client is told why, and with room again its next request goes on.
func TestServeDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("files cannot be limited here: a full disk is not tested")
	}
	for i, room := range []int{60 << 10, 120 << 10, 200 << 10} {
		if i%testlevel.Every(3) > 0 {
			continue
		}
		f := &fronts[i]
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w, c := servedWorld(t, &mixedStory), newClient(f)
			full := w.serve(t, fmt.Sprintf("%s=%d", mortalRoom, room))
			c.refused(t, w, full, "no room is left")
			full.end(t)
			c.finish(t, w, w.serve(t))
		})
	}
}

// TestServeLocked locks the journal of a service while a client talks to it. Afterwards its request goes on.
func TestServeLocked(t *testing.T) {
	w, c := servedWorld(t, &mixedStory), newClient(&fronts[0])
	s := w.serve(t, mortalWait+"=20ms")
	first, err := s.ask(t, c.front, c.talk)
	if err != nil {
		t.Fatal(err)
	}
	c.talk = append(c.talk, first)
	unlock := w.lock(t)
	before := w.effects()
	c.refused(t, w, s, "locked by another process")
	if now := w.effects(); now != before {
		t.Errorf("something ran without a record: %q, before %q", now, before)
	}
	unlock()
	c.finish(t, w, s)
}

// TestServeClockJumps lets the clock of a service go forth and back by hours with every step, and kills it in between.
func TestServeClockJumps(t *testing.T) {
	for i, jump := range []string{"1h", "-1h"} {
		if i%testlevel.Every(2) > 0 {
			continue
		}
		t.Run(jump, func(t *testing.T) {
			t.Parallel()
			w, c := servedWorld(t, &mixedStory), newClient(&fronts[1])
			s := w.serve(t, mortalJump+"="+jump, mortalDeath+"="+death{24, dieAfter, 100}.String())
			if err := c.goOn(t, w, s); err == nil {
				t.Fatal("it was not killed")
			}
			await(t, "the service dies", s.ended)
			c.finish(t, w, w.serve(t, mortalJump+"="+jump))
		})
	}
}

// TestServeDrainClient tells a service to end while a tool runs for a client. The client's request breaks off, and
// goes on at the next service when it is made again.
func TestServeDrainClient(t *testing.T) {
	for i := range fronts {
		if i%testlevel.Every(3) > 0 {
			continue
		}
		f := &fronts[i]
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w, c := servedWorld(t, &mixedStory), newClient(f)
			// The first save is as it was; the second one, when the run has a client, is slow.
			text := "#!/bin/sh\n" + killTools["save"] +
				"[ $ARG_n = 3 ] || [ -e quick ] || { echo $$ >process; sleep 60; }\n"
			if err := os.WriteFile(filepath.Join(w.dir, "tools", "save"), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			s := w.serve(t)
			broken := make(chan error, 1)
			go func() { broken <- c.goOn(t, w, s) }()
			await(t, "the tool runs", func() bool { return exists(filepath.Join(w.dir, "process")) })
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-broken; err == nil {
				t.Error("the request was answered")
			}
			await(t, "the service ends", s.ended)
			if code := s.cmd.ProcessState.ExitCode(); code != cli.ExitOK {
				t.Errorf("exit code %d, log %s", code, s.log)
			}
			checkGone(t, filepath.Join(w.dir, "process"))
			writeFile(t, filepath.Join(w.dir, "quick"), "")
			c.finish(t, w, w.serve(t))
		})
	}
}

// TestReadOnlyDisk starts wield on a disk that cannot be written, before there is a journal and when there is one.
func TestReadOnlyDisk(t *testing.T) {
	bwrap, err := exec.LookPath("bwrap")
	if err == nil {
		err = exec.Command(bwrap, "--dev-bind", "/", "/", "true").Run()
	}
	if err != nil {
		t.Skipf("nothing can be mounted here: a read-only disk is not tested: %v", err)
	}
	w := servedWorld(t, &mixedStory)
	state := filepath.Join(w.dir, "state")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(w.dir, "model.yaml"), scenarioHead+w.scenario)
	for _, there := range []bool{false, true} {
		if there {
			c := newClient(&fronts[0])
			s := w.serve(t)
			if _, err := s.ask(t, c.front, c.talk); err != nil {
				t.Fatal(err)
			}
			s.end(t)
		}
		before := w.effects()
		for _, args := range [][]string{{"serve"}, {"run", "--model", "worker", "go"}} {
			wield, err := exec.LookPath("wield")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), bwrap,
				append([]string{"--dev-bind", "/", "/", "--ro-bind", state, state, wield, args[0], "--config",
					"wield.yaml"}, args[1:]...)...)
			cmd.Dir = w.dir
			cmd.Env = append(os.Environ(), "WIELD_TEST_KEY="+servedKey, "TMPDIR="+w.temp())
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFailed ||
				!strings.Contains(string(out), "the store cannot be written") {
				t.Errorf("%v, with a journal: %v: %v: %s", args, there, err, out)
			}
		}
		if now := w.effects(); now != before {
			t.Errorf("something ran without a record: %q, before %q", now, before)
		}
	}
}

//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wield/internal/cli"
	"wield/internal/cluster"
	"wield/internal/testlevel"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// workedConfig is a service whose tools run on workers alone.
const workedConfig = `listen: ADDRESS:0
hosts: ["*"]
keys:
  - {name: person, secret: env:WIELD_TEST_KEY, role: admin}
  - {name: build, secret: env:WIELD_TEST_WORKER, role: worker}
timeouts: {drain: 300ms}
workers: {enabled: true}
backends: {b: {kind: script, scenario: model.yaml}}
models: {worker: {backend: b, mode: text, workers: [build]}}
policies: {default: {default: allow}}
`

const workerKey = "a-key-of-workers-of-this-test-alone"

// A hand is a process of wield worker, with a directory of its own.
type hand struct {
	cmd  *exec.Cmd
	dir  string
	log  *lockedBuffer
	gone chan struct{} // closed when it ended
}

// worker starts a worker of a service. Its tool waits until there is a file quick in its directory.
func (w *world) worker(t *testing.T, base, name, slow string, through ...string) *hand {
	t.Helper()
	other, err := newWorld(t.TempDir(),
		&story{
			config: "policies: {default: {default: allow}}\ntimeouts: {drain: 5s}\nworker: {tools: [again, save]}\n"},
		"")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(other.dir, "tools", slow), "#!/bin/sh\n"+strings.Replace(killTools[slow], "\necho \"",
		"\n"+waiting+"echo \"", 1))
	if err := os.Chmod(filepath.Join(other.dir, "tools", slow), 0o755); err != nil {
		t.Fatal(err)
	}
	return other.hire(t, base, name, nil, through...)
}

// hire starts a worker in a world of its own, with more variables.
func (w *world) hire(t *testing.T, base, name string, env []string, through ...string) *hand {
	t.Helper()
	program, err := exec.LookPath("wield")
	if err != nil {
		t.Fatal(err)
	}
	argv := append(slices.Clone(through), program, "worker", "--config", "wield.yaml", "--connect", base, "--name",
		name, "--key", "env:WIELD_TEST_WORKER")
	h := &hand{cmd: exec.Command(argv[0], argv[1:]...), dir: w.dir, log: &lockedBuffer{}, gone: make(chan struct{})}
	h.cmd.Dir, h.cmd.Stderr = w.dir, h.log
	h.cmd.Env = append(append(os.Environ(), "WIELD_TEST_WORKER="+workerKey, "TMPDIR="+w.temp(), quickEnd), env...)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.gone)
		_ = h.cmd.Wait() // how it ended says its state
	}()
	t.Cleanup(func() {
		_ = h.cmd.Process.Signal(syscall.SIGCONT)
		_ = h.cmd.Process.Signal(syscall.SIGTERM) // it ends what it runs
		writeFile(t, filepath.Join(h.dir, "quick"), "x")
		select {
		case <-h.gone:
		case <-time.After(20 * time.Second):
			_ = h.cmd.Process.Kill()
			<-h.gone
		}
		if t.Failed() {
			t.Logf("worker %s: %s", name, h.log)
		}
	})
	return h
}

// stop ends the worker in good order.
func (h *hand) stop(t *testing.T) {
	t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // mostly it is there
	await(t, "the worker ends", func() bool {
		select {
		case <-h.gone:
			return true
		default:
			return false
		}
	})
}

func (h *hand) effects() string {
	text, _ := os.ReadFile(filepath.Join(h.dir, "effects")) // there is none before the first
	return string(text)
}

// workedWorld is a service with a run whose first call is slow.
func workedWorld(t *testing.T, name, address string) (*world, *server) {
	t.Helper()
	s := slowStory
	s.config = strings.ReplaceAll(workedConfig, "ADDRESS", address)
	s.scenario = strings.ReplaceAll(strings.ReplaceAll(s.scenario, "NAME", name), "{name: ", "{name: build__")
	w, err := newWorld(t.TempDir(), &s, "")
	if err != nil {
		t.Fatal(err)
	}
	return w, w.serve(t, "WIELD_TEST_WORKER="+workerKey)
}

// workers waits until a service knows so many workers and models are offered their tools, and returns who they are.
func (s *server) workers(t *testing.T, n int) []cluster.WorkerStatus {
	t.Helper()
	var status cluster.Status
	awaitFor(t, 20*time.Second, fmt.Sprintf("the service has %d workers", n), func() bool {
		var tools struct{ Items []struct{ Name string } }
		return s.call(t, "GET", "cluster", nil, &status) && len(status.Workers) == n &&
			s.call(t, "GET", "tools", nil, &tools) &&
			slices.ContainsFunc(tools.Items, func(one struct{ Name string }) bool { return one.Name == "build__save" })
	})
	return status.Workers
}

// begin starts the run, and waits until its first call runs on a worker.
func (w *world) begin(t *testing.T, s *server, h *hand) {
	t.Helper()
	var run struct{ ID string }
	if !s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &run) {
		t.Fatalf("no run begins: %s", s.log)
	}
	w.run = run.ID
	await(t, "the tool runs", func() bool { return exists(filepath.Join(h.dir, "process")) })
}

// resultOf returns what the journal has of the first call.
func (w *world) resultOf(t *testing.T) *runner.FinishRecord {
	t.Helper()
	s, err := w.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, e := range journaltest.List(t, s.Read(t.Context(), journal.Query{Stream: w.run})) {
		if e.Record.Kind == record.KindResult {
			return e.Record.Result
		}
	}
	t.Fatal("the first call has no result")
	return nil
}

// TestWorkerLost kills or stops a worker while it runs a call. It is seen within 6 seconds: an idempotent call goes to
// another worker, of the other one the outcome is unknown, and it is not run again. A worker that only stood still is
// told to stop it.
func TestWorkerLost(t *testing.T) {
	testlevel.Long(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		for _, name := range []string{"again", "save"} {
			t.Run(signal.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				loseWorker(t, name, func(a *hand) {
					if err := a.cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}, func(s *server, a *hand) {
					if signal == syscall.SIGSTOP {
						if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
							t.Fatal(err)
						}
						backIdle(t, s)
					}
				}, "127.0.0.1")
			})
		}
	}
}

// backIdle waits until both workers are there and run nothing.
func backIdle(t *testing.T, s *server) {
	t.Helper()
	await(t, "the worker is back and idle", func() bool {
		list := s.workers(t, 2)
		return list[0].Busy+list[1].Busy == 0
	})
}

// loseWorker loses the worker of a call, and looks at what becomes of it.
func loseWorker(t *testing.T, name string, lose func(*hand), after func(*server, *hand), address string,
	through ...string) {
	w, s := workedWorld(t, name, address)
	base := strings.Replace(s.base, "127.0.0.1", address, 1)
	a := w.worker(t, base, "a", name, through...)
	s.workers(t, 1)
	w.begin(t, s, a)
	b := w.worker(t, base, "b", name)
	writeFile(t, filepath.Join(b.dir, "quick"), "x")
	s.workers(t, 2)

	lose(a)
	at := time.Now()
	if !w.drive(t, s) {
		t.Fatalf("the service ended: %s", s.log)
	}
	took := time.Since(at)
	t.Logf("the run of %s went on after %v", name, took.Round(time.Millisecond))
	if took > 12*time.Second { // 6 for a silent worker, and this machine may be busy
		t.Errorf("the run went on after %v", took)
	}
	first := w.resultOf(t)
	if name == "again" {
		if !first.Result.OK || b.effects() != "again 1\nsave 2\n" {
			t.Errorf("the idempotent call: %+v, and the other worker did %q", first.Result, b.effects())
		}
	} else if first.Result.ErrorType != tool.ErrInterrupted ||
		string(first.Result.Details) != `{"state":"unknown"}` || b.effects() != "save 2\n" {
		t.Errorf("the other call: %+v, and the other worker did %q", first.Result, b.effects())
	}
	after(s, a)
	if got := a.effects(); got != "" {
		t.Errorf("the lost worker did %q", got)
	}
	s.end(t)
	b.stop(t)
	if code := b.cmd.ProcessState.ExitCode(); code != cli.ExitOK {
		t.Errorf("exit code %d, log %s", code, b.log)
	}
}

// TestWorkerCutOff takes the cable out between a worker and its service while a call runs. Both sides end it within 6
// seconds, and the worker is back when the cable is. It makes a network namespace for the worker.
func TestWorkerCutOff(t *testing.T) {
	if os.Getenv(killVariable) == "" {
		t.Skip("it makes a network namespace, in the heavy level of .ci/run (WIELD_KILL)")
	}
	space := namespace(t, "w")
	cable := wire(t, end{"", "10.213.77.1"}, end{space, "10.213.77.2"})
	for _, name := range []string{"again", "save"} {
		t.Run(name, func(t *testing.T) {
			loseWorker(t, name, func(*hand) { cable(t, "down") }, func(s *server, a *hand) {
				await(t, "the worker ends the call by itself", func() bool {
					pid, err := os.ReadFile(filepath.Join(a.dir, "process"))
					return err == nil && exec.Command("kill", "-0", strings.TrimSpace(string(pid))).Run() != nil
				})
				cable(t, "up")
				backIdle(t, s)
			}, "10.213.77.1", within(space)...)
		})
	}
}

package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestEndsMeet has a supervisor that comes to its turn late: the program that was refused a process has ended, and
// nothing of its tree is left. Whichever of the two it sees first, it says why.
func TestEndsMeet(t *testing.T) {
	group := &group{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(group.Dir, "pids.events"), []byte("max 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		k := &supervisor{spec: spec{Group: group}, ended: make(chan death, 1), gone: make(chan struct{})}
		k.ended <- death{syscall.WaitStatus(2 << 8)}
		close(k.gone)
		if r := k.watch(); r.Code != 2 || r.Reason != "processes" {
			t.Fatalf("it ended with %+v", r)
		}
	}
}

// TestWritten has a program that is open to be written when it is to start: it runs as soon as it is not, and what
// stays so is said to be.
func TestWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	open, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	pid := 0
	start := func() (err error) {
		pid, err = syscall.ForkExec(file, []string{file}, nil)
		return err
	}
	var slept time.Duration
	if err := written(start, func(d time.Duration) { slept += d }); err != syscall.ETXTBSY || slept < longestWriting {
		t.Fatalf("what is written all the time: %v, after %v", err, slept)
	}
	if err := written(start, func(time.Duration) { open.Close() }); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 7 {
		t.Errorf("it ended with %d, %v", ws.ExitStatus(), err)
	}
	if err := written(func() error { return syscall.ENOENT },
		func(time.Duration) { t.Error("what is not there is waited for") }); err != syscall.ENOENT {
		t.Error(err)
	}
}

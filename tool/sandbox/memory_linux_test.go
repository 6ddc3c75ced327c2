package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wield/tool/sandbox"
)

// hogged is how much memory a hog takes, and hogLimit what it may.
const (
	hogged   = 320 << 20
	hogLimit = 256 << 20
)

// fills writes to a file, closes it if it has a name, and waits for its end.
func fills(fd int, err error) error {
	if err != nil {
		return err
	}
	zeros := bytes.Repeat([]byte{1}, 1<<20)
	for range hogged / len(zeros) {
		if _, err := unix.Write(fd, zeros); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute)
	return nil
}

// hogClosed writes a file into the memory that all share, closes it, and waits for its end.
func hogClosed([]string) error {
	f, err := os.Create("/dev/shm/wield-hog")
	if err != nil {
		return err
	}
	zeros := bytes.Repeat([]byte{1}, 1<<20)
	for range hogged / len(zeros) {
		if _, err := f.Write(zeros); err != nil {
			return err
		}
	}
	f.Close()
	time.Sleep(time.Minute)
	return nil
}

// hogShared shares memory with a child that it does not have, and waits for its end.
func hogShared([]string) error {
	b, err := unix.Mmap(-1, 0, hogged, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	time.Sleep(time.Minute)
	return nil
}

// TestMemoryThatIsNotPrivate checks that the limit of memory sees files in memory and shared memory.
func TestMemoryThatIsNotPrivate(t *testing.T) {
	if raceEnabled {
		t.Skip("what the race detector takes for itself does not fit into the limit")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/dev/shm/wield-hog"); err == nil {
		t.Fatal("/dev/shm/wield-hog is there already")
	}
	given := levels(t, sandbox.Limits, sandbox.Workspace, sandbox.Strict)
	for _, hog := range []string{"hog-memfd", "hog-shared", "hog-temp", "hog-shm", "hog-closed"} {
		for _, l := range given {
			if l == sandbox.Workspace && (hog == "hog-shm" || hog == "hog-closed") || l != sandbox.Strict && hog == "hog-temp" {
				continue // the one is refused, the other on a disk
			}
			t.Run(hog+"/"+string(l), func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() {
					if os.Remove("/dev/shm/wield-hog") == nil && os.Geteuid() == 0 {
						t.Error("it was left in the memory that all share")
					}
				})
				var out bytes.Buffer
				c := sandbox.Command{Level: l, Dir: t.TempDir(), Argv: []string{exe, attackArg, hog}, Limits: sandbox.ProcessLimits{Memory: hogLimit, Time: 50 * time.Second}, Stdout: &out, Stderr: &out}
				if exit, err := sandbox.Run(t.Context(), c); !errors.Is(err, sandbox.ErrMemory) {
					t.Errorf("it ended with %v, %+v: %s", err, exit, &out)
				}
			})
		}
	}
}

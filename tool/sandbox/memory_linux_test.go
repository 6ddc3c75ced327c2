package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wield/internal/testlevel"
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

// hogSockets fills the buffers of sockets, and waits for its end.
func hogSockets([]string) error {
	full := bytes.Repeat([]byte{1}, 64<<10)
	for range 1500 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		for err == nil {
			_, err = unix.Write(pair[0], full)
		}
	}
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

// hogTables reads from so many places of an empty map that the tables of its pages are large.
func hogTables([]string) error {
	// Lines of /proc/self/status before the one that tells of it may be long.
	if err := unix.Setgroups(slices.Repeat([]int{1 << 30}, 1000)); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	const each, table = 2 << 20, 4096 // one for each part of the map
	b, err := unix.Mmap(-1, 0, hogged/table*each, unix.PROT_READ,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	sum := 0
	for i := 0; i < len(b); i += each {
		sum += int(b[i])
	}
	time.Sleep(time.Minute + time.Duration(sum))
	return nil
}

// hogFlight sends files in memory to a socket that nobody reads: no process has them open or mapped.
func hogFlight([]string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	part := bytes.Repeat([]byte{1}, hogged/5)
	for range 5 {
		fd, err := unix.MemfdCreate("hog", 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, part); err != nil {
			return err
		}
		if err := unix.Sendmsg(pair[0], []byte{1}, unix.UnixRights(fd), nil, 0); err != nil {
			return err
		}
		unix.Close(fd)
	}
	unix.Close(pair[0])
	time.Sleep(time.Minute)
	return nil
}

// hogSecret fills secret memory, of which little is locked at a time, and maps none of it in the end.
func hogSecret([]string) error {
	const part = 2 << 20
	for range hogged / part {
		fd, err := unix.MemfdSecret(0)
		if err != nil {
			return err
		}
		if err := unix.Ftruncate(fd, part); err != nil {
			return err
		}
		b, err := unix.Mmap(fd, 0, part, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		if err := unix.Munmap(b); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute)
	return nil
}

// hogMounted fills a file system in memory that a user mounts in namespaces of their own.
func hogMounted([]string) error {
	cmd := exec.Command("unshare", "-rm", "sh", "-c",
		"mount -t tmpfs hog /mnt && head -c "+strconv.Itoa(hogged)+" /dev/zero > /mnt/hog && sleep 60")
	cmd.Stderr = os.Stderr
	if os.Geteuid() == 0 { // who may not make itself a superuser in there
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	}
	return cmd.Run()
}

// TestMemoryThatIsNotPrivate checks that the limit of memory sees files in memory and shared memory.
func TestMemoryThatIsNotPrivate(t *testing.T) {
	if testlevel.Race {
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
	for i, hog := range []string{"hog-memfd", "hog-shared", "hog-temp", "hog-shm", "hog-socket", "hog-closed",
		"hog-flight", "hog-secret", "hog-mounted", "hog-tables"} {
		for _, l := range sample(given, i) {
			if l == sandbox.Workspace && (hog == "hog-shm" || hog == "hog-closed") ||
				l != sandbox.Strict && hog == "hog-temp" || l != sandbox.Limits && hog == "hog-mounted" {
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
				c := sandbox.Command{Level: l, Dir: t.TempDir(), Argv: []string{exe, attackArg, hog},
					Limits: sandbox.ProcessLimits{Memory: hogLimit, Time: 50 * time.Second}, Stdout: &out, Stderr: &out}
				if exit, err := sandbox.Run(t.Context(), c); !errors.Is(err, sandbox.ErrMemory) {
					t.Errorf("it ended with %v, %+v: %s", err, exit, &out)
				}
			})
		}
	}
}

// segment is how large one of shared memory is, which no other program is likely to make.
const segment = 64<<20 + 4096

// hogSystemV fills segments of shared memory that nothing has mapped any more.
func hogSystemV([]string) error {
	for range hogged / segment {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, segment, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return err
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		if err := unix.SysvShmDetach(b); err != nil {
			return err
		}
	}
	return nil
}

// TestSystemV checks that segments of shared memory do not outlive a run, and cannot hold more than it may have.
func TestSystemV(t *testing.T) {
	if testlevel.Race {
		t.Skip("what the race detector takes for itself does not fit into the limit")
	}
	segments := func() int {
		text, err := os.ReadFile("/proc/sysvipc/shm")
		if err != nil {
			t.Skip(err)
		}
		return strings.Count(string(text), " "+strconv.Itoa(segment)+" ")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := segments()
	for _, l := range levels(t, sandbox.Limits, sandbox.Workspace, sandbox.Strict) {
		var out bytes.Buffer
		c := sandbox.Command{Level: l, Dir: t.TempDir(), Argv: []string{exe, attackArg, "hog-sysv"},
			Limits: sandbox.ProcessLimits{Memory: hogLimit}, Stdout: &out, Stderr: &out}
		_, err := sandbox.Run(t.Context(), c)
		if l == sandbox.Limits && os.Geteuid() != 0 {
			continue // more than the limit can stand there, for as long as the run
		}
		if err == nil && !strings.Contains(out.String(), "refused") {
			t.Errorf("%s: it has had more than the limit: %s", l, &out)
		}
	}
	if after := segments(); after != before {
		t.Errorf("%d segments are left, %d were there before", after, before)
	}
}

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exec puts up the walls around this thread and starts the program from it.
func (k *supervisor) exec() ([]Layer, error) {
	s := &k.spec
	k.thread = unix.Gettid()
	layers := []Layer{{Name: "tree", Detail: "subreaper"}}
	add := func(name, detail string) { layers = append(layers, Layer{name, detail}) }
	if err := describe("rlimits", limit(s.Limits)); err != nil {
		return nil, err
	}
	if s.Group != nil && s.Group.join() == nil {
		add("cgroup", "processes "+strconv.Itoa(s.Limits.Processes))
	} else if n, ok := crowd(s.Limits.Processes); ok && s.Limits.Processes > 0 {
		readyThreads()
		if err := describe("rlimits", lower(unix.RLIMIT_NPROC, n, 0)); err != nil {
			return nil, err
		}
	}
	if s.Level.atLeast(Limits) {
		add("rlimits", limitDetail(s.Limits))
		if err := describe("no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); err != nil {
			return nil, err
		}
		add("no_new_privs", "")
	}
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}
	if s.Bubblewrap != "" {
		more, err := k.execInside(attr)
		return append(layers, more...), err
	}
	if s.Level.atLeast(Limits) {
		more, err := s.fence()
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	if s.Level.atLeast(Workspace) {
		more, err := restrict(s)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	err := written(func() error {
		return bounded(s.Limits.bounds(), func() (err error) {
			k.pid, err = syscall.ForkExec(s.Program, s.Argv, attr)
			return err
		})
	}, time.Sleep)
	return layers, describe("exec", err)
}

// longestWriting bounds how long a program is waited for that is being written.
const longestWriting = time.Second

// written starts a program, and waits while it is open to be written, when it cannot run. Who has just
// written it may have closed it: what it forked meanwhile for something else has it open, too, until it
// becomes another program, which takes its time on a busy machine.
func written(start func() error, sleep func(time.Duration)) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := start()
		if err != syscall.ETXTBSY || wait > longestWriting {
			return err
		}
		sleep(wait)
	}
}

// readyThreads makes the threads that the supervisor may come to need: a tree that has used up what this user may
// have must not keep its supervisor from working.
func readyThreads() {
	const enough = 12
	var all, done sync.WaitGroup
	all.Add(enough)
	for range enough {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // each on a thread of its own
		})
	}
	done.Wait()
}

// restrict puts up the walls that belong to a thread and last for all that it starts.
func restrict(s *spec) ([]Layer, error) {
	layers, err := weaken(betweenWalls)
	if err != nil {
		return nil, err
	}
	abi := landlockABI()
	if abi > 0 {
		if err := describe("landlock", s.Walls.landlock(abi, s.Net)); err != nil {
			return nil, err
		}
		layers = append(layers, Layer{"landlock", "ABI " + strconv.Itoa(abi)})
	}
	if err := describe("seccomp", seccomp(s.Net, s.Bubblewrap != "")); err != nil {
		return nil, err
	}
	net := "network off"
	if s.Net {
		net = "TCP and UDP on"
	}
	return append(layers, Layer{"seccomp", net}), nil
}

// limit sets those limits of one process that the supervisor can live with itself: the program inherits them.
func limit(l ProcessLimits) error {
	if l.OpenFiles > 0 {
		if err := lower(unix.RLIMIT_NOFILE, uint64(l.OpenFiles), 0); err != nil {
			return err
		}
	}
	if l.CPU > 0 {
		// The second of difference is between the signal that tells why and the one that cannot be caught.
		if err := lower(unix.RLIMIT_CPU, uint64((l.CPU+time.Second-1)/time.Second), 1); err != nil {
			return err
		}
	}
	return lower(unix.RLIMIT_CORE, 0, 0)
}

// A bound is a limit that a supervisor could not live with: a Go program maps far more memory than it uses, and
// writes files. The program gets it right after its start, from outside.
type bound struct {
	what int
	to   uint64
}

func (l ProcessLimits) bounds() []bound {
	var list []bound
	for _, b := range []struct {
		what int
		to   int64
	}{{unix.RLIMIT_DATA, l.Memory}, {unix.RLIMIT_FSIZE, l.FileSize}} {
		if b.to > 0 {
			list = append(list, bound{b.what, uint64(b.to)})
		}
	}
	return list
}

// bounded does something while the soft limits of this process are those that the program is to inherit, as
// far as the supervisor can bear them for a moment. It cannot bear the one for memory.
func bounded(bounds []bound, do func() error) error {
	for _, b := range bounds {
		if b.what == unix.RLIMIT_DATA {
			continue
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(b.what, &now); err != nil {
			return err
		}
		if err := syscall.Setrlimit(b.what, &syscall.Rlimit{Cur: min(b.to, now.Max), Max: now.Max}); err != nil {
			return err
		}
		defer syscall.Setrlimit(b.what, &now)
	}
	return do()
}

// fix makes the limits that a program was started with the most that it can have.
func fix(pid int, bounds []bound) error {
	for _, b := range bounds {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, b.what, nil, &now); err != nil {
			return gone(err)
		}
		most := min(b.to, now.Max)
		if err := unix.Prlimit(pid, b.what, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return gone(err)
		}
	}
	return nil
}

// gone forgives that a program has ended already.
func gone(err error) error {
	if err == unix.ESRCH {
		return nil
	}
	return err
}

// lower lowers a limit; one that is lower already stays.
func lower(what int, to, slack uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(what, &now); err != nil {
		return err
	}
	return syscall.Setrlimit(what, &syscall.Rlimit{Cur: min(to, now.Max), Max: min(to+slack, now.Max)})
}

func limitDetail(l ProcessLimits) string {
	var b bytes.Buffer
	for _, v := range []struct {
		name string
		n    int64
		unit string
	}{
		{"memory", l.Memory >> 20, " MiB"}, {"processes", int64(l.Processes), ""},
		{"file size", l.FileSize >> 20, " MiB"}, {"open files", int64(l.OpenFiles), ""},
	} {
		if v.n <= 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d%s", v.name, v.n, v.unit)
	}
	return b.String()
}

// The descriptors of the program inside a namespace.
const (
	innerSpecFD  = 3
	innerReadyFD = 4
	innerSelfFD  = 5
)

// standing is the first byte of what the program inside tells: the walls stand.
const standing = 'R'

// execInside starts bubblewrap, and in it this program, which puts up the rest of the walls and becomes the program.
func (k *supervisor) execInside(attr *syscall.ProcAttr) ([]Layer, error) {
	specFD, err := k.handOver()
	if err != nil {
		return nil, describe("memfd", err)
	}
	defer unix.Close(specFD)
	ready, readyTheirs, err := os.Pipe()
	if err != nil {
		return nil, describe("pipe", err)
	}
	defer ready.Close()
	defer readyTheirs.Close()
	exe, err := os.Open(self)
	if err != nil {
		return nil, describe("executable", err)
	}
	defer exe.Close()
	attr.Files = append(attr.Files, uintptr(specFD), readyTheirs.Fd(), exe.Fd())
	attr.Dir, attr.Env = "/", []string{marker + "=" + k.spec.ID}
	if k.pid, err = syscall.ForkExec(k.spec.Bubblewrap, k.spec.Walls.bubblewrap(&k.spec), attr); err != nil {
		return nil, describe("bubblewrap", err)
	}
	readyTheirs.Close()
	layers, err := readReady(ready)
	layers = append([]Layer{{"namespaces", "bubblewrap"}}, layers...)
	if len(k.spec.Protected) > 0 {
		layers = append(layers, Layer{"read-only", strings.Join(k.spec.Protected, ", ")})
	}
	return layers, err
}

// handOver makes a file in memory that holds the spec.
func (k *supervisor) handOver() (int, error) {
	b, err := json.Marshal(&k.spec)
	if err != nil {
		return -1, err
	}
	fd, err := unix.MemfdCreate("spec", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	f := os.NewFile(uintptr(fd), "spec") // not closed by its finalizer: fd is duplicated below
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return -1, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return -1, err
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// readReady reads what the program inside has to tell before it becomes another one: that the walls stand, as
// a line with the layers; or what failed. Its end of the pipe is closed by the exec.
func readReady(r *os.File) ([]Layer, error) {
	b, err := io.ReadAll(io.LimitReader(r, 1<<16))
	if err != nil {
		return nil, describe("pipe", err)
	}
	line, rest, ok := bytes.Cut(b, []byte("\n"))
	if !ok || line[0] != standing {
		if len(b) > 0 {
			rest = b
		} else {
			return nil, describe("bubblewrap", errors.New("it could not build the namespaces"))
		}
	}
	if len(rest) > 0 {
		f := new(failure)
		if err := json.Unmarshal(rest, f); err != nil {
			return nil, describe("bubblewrap", err)
		}
		return nil, f
	}
	var layers []Layer
	return layers, describe("bubblewrap", json.Unmarshal(line[1:], &layers))
}

// inside runs in the namespaces that bubblewrap has made. It ends by becoming the program.
func inside() int {
	closeOnExec()
	runtime.LockOSThread()
	ready := os.NewFile(innerReadyFD, "ready")
	var s spec
	b, err := io.ReadAll(os.NewFile(innerSpecFD, "spec"))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	var layers []Layer
	if err == nil {
		layers, err = restrict(&s)
	}
	if err == nil {
		b, _ := json.Marshal(layers)
		ready.Write(append(append([]byte{standing}, b...), '\n'))
		err = describe("rlimits", fix(0, s.Limits.bounds()))
	}
	if err == nil {
		err = describe("exec", written(func() error { return syscall.Exec(s.Program, s.Argv, s.Env) }, time.Sleep))
	}
	var f *failure
	if !errors.As(err, &f) {
		f = failed("inside", err)
	}
	b, _ = json.Marshal(f)
	ready.Write(b)
	return 127
}

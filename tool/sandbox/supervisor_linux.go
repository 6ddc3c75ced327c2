package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hidden is the first argument of a program that is started again as a supervisor, and of the program inside a
// namespace.
const (
	hidden = "__wield-sandbox"
	inner  = "inside"
)

// Main turns the program into a supervisor if it was started as one, and never returns then. Otherwise it does nothing.
// It belongs at the very start of main, and of TestMain.
func Main() {
	if !helping() {
		return
	}
	if len(os.Args) > 2 && os.Args[2] == inner {
		syscall.Exit(inside())
	}
	// os.Exit waits for a second under the race detector, and so would everything that is tested with a supervisor.
	syscall.Exit(keep())
}

// helping reports whether this program was started by Start.
func helping() bool { return len(os.Args) > 1 && os.Args[1] == hidden }

// A spec instructs a supervisor. It goes through a pipe, because everybody can read the arguments of a process.
type spec struct {
	ID         string        `json:"id"`
	Program    string        `json:"program"`
	Argv       []string      `json:"argv"`
	Dir        string        `json:"dir"`
	Env        []string      `json:"env"`
	Level      Level         `json:"level"`
	Net        bool          `json:"net"`
	Walls      walls         `json:"walls"`
	Limits     ProcessLimits `json:"limits"`
	Bubblewrap string        `json:"bubblewrap,omitempty"` // for strict
	Group      *group        `json:"group,omitempty"`
	Protected  []string      `json:"protected,omitempty"`
}

// The descriptors of a supervisor beside the streams of the tree.
const (
	controlFD = 3 // the spec, then orders; its end means that the caller is gone
	statusFD  = 4 // what the supervisor has to tell, a line of JSON each
)

// The orders.
const (
	orderStop = 'T'
	orderKill = 'K'
)

// A status is a line from the supervisor. One of the fields is set.
type status struct {
	Started *started `json:"started,omitempty"`
	Failed  *failure `json:"failed,omitempty"`
	Ended   *report  `json:"ended,omitempty"`
}

type started struct {
	Pid    int     `json:"pid"`
	Layers []Layer `json:"layers"`
}

// A failure says that the program could not be started.
type failure struct {
	Layer string        `json:"layer"` // what was being put up; "exec" is the program itself
	Text  string        `json:"text"`
	Errno syscall.Errno `json:"errno"`
}

func (f *failure) Error() string { return f.Layer + ": " + f.Text }

// failed makes a failure of an error.
func failed(layer string, err error) *failure {
	f := &failure{Layer: layer, Text: err.Error()}
	errors.As(err, &f.Errno)
	return f
}

// supervisorFailed is the exit code of a supervisor that could not start the program, and has left nothing. A higher
// one is a breakdown.
const supervisorFailed = 1

// keep is the life of a supervisor.
func keep() int {
	control, stat := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	// Neither ours nor what the caller's own parent left open may reach the tree.
	closeOnExec()
	s, err := readSpec(control)
	if err != nil {
		return supervisorFailed
	}
	k := &supervisor{spec: s, stat: stat, orders: make(chan byte, 2), ended: make(chan death, 1),
		gone: make(chan struct{}), others: kept()}
	// Signals that reach everybody on a terminal are for the caller to act on. They are caught, not ignored:
	// the tree would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGPIPE)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		k.tell(status{Failed: failed("subreaper", err)})
		return supervisorFailed
	}
	go k.listen(control)
	layers, err := k.launch()
	if err != nil {
		var f *failure
		if !errors.As(err, &f) {
			f = failed("exec", err)
		}
		k.killAll()
		k.tidy()
		k.tell(status{Failed: f})
		return supervisorFailed
	}
	letGo()
	k.tell(status{Started: &started{Pid: k.pid, Layers: layers}})
	r := k.watch()
	k.tidy()
	k.tell(status{Ended: &r})
	return 0
}

// A supervisor holds one tree.
type supervisor struct {
	spec   spec
	stat   *os.File
	pid    int // of the program, or of bubblewrap around it
	thread int // the one that started it
	orders chan byte
	ended  chan death    // the program has ended
	gone   chan struct{} // there is no process left
	used   syscall.Rusage
	others int64 // the least that others had in memory since before the program; see memory
	hidden bool  // a process has had mounts of its own
	// how many looks in a row found too much with what was sent and not received
	inFlight int
}

// A death tells how the program ended.
type death struct{ status syscall.WaitStatus }

func readSpec(r io.Reader) (s spec, err error) {
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return s, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// tell writes a line. If nobody listens any more, nobody wants to know.
func (k *supervisor) tell(s status) {
	b, err := json.Marshal(s)
	if err == nil {
		k.stat.Write(append(b, '\n'))
	}
}

// listen passes on the orders of the caller. The end of the pipe is the last one: the caller is gone, however it went.
func (k *supervisor) listen(control *os.File) {
	b := make([]byte, 1)
	for {
		if _, err := control.Read(b); err != nil {
			b[0] = orderKill
		}
		select {
		case k.orders <- b[0]:
		default:
		}
		if b[0] == orderKill {
			return
		}
	}
}

// closeOnExec keeps everything but the standard streams from programs that are started here.
func closeOnExec() {
	if unix.CloseRange(3, 1<<32-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	names, _ := readNames("/proc/self/fd")
	for _, name := range names {
		if fd, ok := number(name); ok && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// letGo gives up the streams of the tree, so that their ends are seen when the tree's own are closed.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		unix.Dup3(null, fd, 0)
	}
	unix.Close(null)
}

// launch starts the program behind its walls. Landlock, seccomp, capabilities and no_new_privs belong to a
// thread and pass to what it starts. So one thread is locked in and starts the program, while the others stay
// free to watch and to end it.
func (k *supervisor) launch() (layers []Layer, err error) {
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		layers, err = k.exec()
		close(ready)
		// The thread must outlive the tree: its end would be a parent's death to the program (Pdeathsig).
		select {}
	}()
	<-ready
	if k.pid == 0 {
		return layers, err
	}
	if err == nil && k.spec.Bubblewrap == "" {
		// From this thread: the other one may not reach out to processes any more.
		err = describe("rlimits", fix(k.pid, k.spec.Limits.bounds()))
	}
	go k.reap()
	return layers, err
}

// reap waits for every process of the tree. As the subreaper this one is the parent of all whose parents have
// ended, so that no child left means no process left.
func (k *supervisor) reap() {
	defer close(k.gone)
	for {
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, 0, &ru)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return // ECHILD
		}
		addUsage(&k.used, &ru)
		if pid == k.pid {
			k.ended <- death{ws}
		}
	}
}

func addUsage(sum, ru *syscall.Rusage) {
	for _, t := range []struct{ to, from *syscall.Timeval }{{&sum.Utime, &ru.Utime}, {&sum.Stime, &ru.Stime}} {
		t.to.Sec += t.from.Sec
		t.to.Usec += t.from.Usec
	}
	sum.Maxrss = max(sum.Maxrss, ru.Maxrss)
}

// looking is the interval of checks of the whole tree's limits.
const looking = 100 * time.Millisecond

// watch stays with the tree until nothing of it is left.
func (k *supervisor) watch() report {
	var tick <-chan time.Time
	if k.spec.Limits.Processes > 0 || k.spec.Limits.Memory > 0 {
		t := time.NewTicker(looking)
		defer t.Stop()
		tick = t.C
	}
	var grace <-chan time.Time
	r := report{Code: -1}
	for {
		select {
		case d := <-k.ended:
			k.died(&r, d.status)
		case <-k.gone:
		case <-grace:
		case <-tick:
			if r.Reason = k.exceeded(); r.Reason == "" {
				continue
			}
		case order := <-k.orders:
			if order == orderStop {
				k.ask()
				grace = time.After(k.spec.Limits.Grace)
				continue
			}
		}
		break
	}
	k.bury(&r) // its end may have come with what was chosen
	if r.Reason == "" && r.Code > 0 && k.spec.Group.refused() {
		r.Reason = "processes" // it ended because of that before we looked
	}
	if r.Reason == "" && k.spec.Group.starved() {
		r.Reason = "memory"
	}
	r.Survivors = k.killAll()
	k.bury(&r)
	r.User, r.System = duration(k.used.Utime), duration(k.used.Stime)
	r.MaxMemory = int64(k.used.Maxrss) << 10
	return r
}

// bury takes down how the program ended, if it has and nobody has yet.
func (k *supervisor) bury(r *report) {
	select {
	case d := <-k.ended:
		k.died(r, d.status)
	default:
	}
}

func duration(t syscall.Timeval) time.Duration { return time.Duration(t.Nano()) }

// deadly are the signals by which the kernel enforces a limit.
var deadly = map[syscall.Signal]string{syscall.SIGXCPU: "cpu", syscall.SIGXFSZ: "file_size"}

// shellSignal is added to the number of a signal by programs that pass on the end of another one.
const shellSignal = 128

func (k *supervisor) died(r *report, ws syscall.WaitStatus) {
	if ws.Exited() {
		r.Code = ws.ExitStatus()
	}
	sig := ws.Signal()
	if k.spec.Bubblewrap != "" && r.Code > shellSignal {
		sig = syscall.Signal(r.Code - shellSignal)
	}
	if ws.Signaled() {
		r.Signal, r.Number = unix.SignalName(sig), int(sig)
	}
	if why := deadly[sig]; why != "" && r.Reason == "" {
		r.Reason = why
	}
}

// ask asks every process of the tree to end.
func (k *supervisor) ask() {
	for _, p := range descendants(os.Getpid()) {
		if k.spec.Bubblewrap != "" && (p.pid == k.pid || p.parent == k.pid) {
			continue // the two that hold the namespace: without them there is no grace
		}
		syscall.Kill(p.pid, syscall.SIGTERM)
	}
}

// stubborn limits how long processes are killed before those that the kernel holds are left to it.
const stubborn = 8 * time.Second

// killAll ends everything and returns how much was left.
func (k *supervisor) killAll() int {
	if k.pid == 0 {
		return 0
	}
	// A signal to a group of processes reaches all that are in it at one moment, and no fork gets past it.
	// Nearly always everything is in the program's own group, or in the namespace that ends with this
	// process.
	syscall.Kill(-k.pid, syscall.SIGKILL)
	// What is not has to be looked for, and to find it the supervisor must come to its turn. Only a superuser may
	// ask for that.
	unix.Setpriority(unix.PRIO_PGRP, 0, -20)
	return killBelow(os.Getpid(), k.gone)
}

// killBelow ends all processes below one until none is there, or it is told that they are gone, and returns how
// many are left.
func killBelow(root int, gone <-chan struct{}) int {
	wait := time.Millisecond
	for end := time.Now().Add(stubborn); ; wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-gone:
			return 0
		case <-time.After(wait):
		}
		left := descendants(root)
		if gone == nil && len(left) == 0 || time.Now().After(end) {
			return len(left)
		}
		for _, p := range left {
			// The groups of the tree are its own: it lives in sessions of its own, and no group reaches over two.
			if p.group == p.pid || !contains(left, p.group) {
				syscall.Kill(-p.group, syscall.SIGKILL)
			}
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}

// exceeded names the limit of the whole tree that does not hold any more, or nothing.
func (k *supervisor) exceeded() string {
	if k.spec.Group.refused() {
		return "processes"
	}
	tree := descendants(os.Getpid())
	l := k.spec.Limits
	if l.Processes > 0 && len(tree) > l.Processes {
		return "processes"
	}
	if l.Memory <= 0 {
		return ""
	}
	if k.spec.Group.starved() || k.memory(tree) > l.Memory {
		return "memory"
	}
	return ""
}

// tidy removes what was made for the run. The caller could do so too, but may be gone.
func (k *supervisor) tidy() {
	if dir := k.spec.Walls.Temp; dir != "" {
		removeTree(dir)
	}
	if g := k.spec.Group; g != nil {
		g.leave(k.thread)
		g.remove()
	}
}

// describe names a layer for an error.
func describe(layer string, err error) error {
	if err == nil {
		return nil
	}
	return failed(layer, err)
}

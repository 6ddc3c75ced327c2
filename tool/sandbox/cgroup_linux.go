package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A group is a control group that holds a tree to a number of processes. It is there where this user may make one:
// mostly in containers, for the superuser, and where the system has given the user a part of the groups.
type group struct {
	Dir     string `json:"dir"`
	Members string `json:"members"` // the file that takes who joins
	Thread  bool   `json:"thread"`  // a single thread can join
}

// groupPrefix begins the names of our groups.
const groupPrefix = "wield-"

// findGroups returns where a group for a run can be made, or nothing. It makes none.
func findGroups() (parent string, threads bool, ok bool) {
	mounts := controllers()
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return "", false, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		_, rest, _ := strings.Cut(s.Text(), ":")
		names, own, _ := strings.Cut(rest, ":")
		switch {
		case names == "pids" || strings.Contains(","+names+",", ",pids,"):
			if dir := filepath.Join(mounts["pids"], own); mounts["pids"] != "" && writable(dir) {
				return dir, true, true
			}
		case names == "" && mounts[""] != "":
			dir := filepath.Join(mounts[""], own)
			b, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
			if strings.Contains(" "+strings.TrimSpace(string(b))+" ", " pids ") && writable(dir) {
				return dir, false, true
			}
		}
	}
	return "", false, false
}

// controllers finds where the hierarchies are: that of the pids controller under "pids", the unified one under "".
func controllers() map[string]string {
	found := make(map[string]string)
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return found
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		switch {
		case len(fields) < 4:
		case fields[2] == "cgroup2":
			found[""] = fields[1]
		case fields[2] == "cgroup" && strings.Contains(","+fields[3]+",", ",pids,"):
			found["pids"] = fields[1]
		}
	}
	return found
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// The kernel counts threads, we count processes. So the kernel holds a tree to several times the number: that much
// stops a bomb at once, and the look at the processes does the rest.
const threadsEach = 4

// newGroup makes a group for a run. nil means that there can be none, which is no failure: the number of processes is
// looked at besides.
func newGroup(id string, limits ProcessLimits) *group {
	parent, threads, ok := findGroups()
	if !ok {
		return nil
	}
	return groupIn(parent, threads, id, limits)
}

// groupIn makes the group in a directory of groups.
func groupIn(parent string, threads bool, id string, limits ProcessLimits) *group {
	most := limits.Processes
	g := &group{Dir: filepath.Join(parent, groupPrefix+id), Thread: threads}
	if err := os.Mkdir(g.Dir, 0o755); err != nil {
		return nil
	}
	most *= threadsEach
	g.Members = filepath.Join(g.Dir, "cgroup.procs")
	if threads {
		g.Members = filepath.Join(g.Dir, "tasks")
	} else {
		most += supervisorThreads // the supervisor joins as a whole
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "pids.max"), []byte(strconv.Itoa(most)), 0); err != nil {
		g.remove()
		return nil
	}
	if limits.Memory > 0 && !threads { // those of the first version have another hierarchy for memory
		for name, most := range map[string]int64{"memory.max": limits.Memory + supervisorMemory, "memory.swap.max": 0} {
			// Without the controller the supervisor counts, as it does besides.
			os.WriteFile(filepath.Join(g.Dir, name), []byte(strconv.FormatInt(most, 10)), 0)
		}
	}
	return g
}

// supervisorMemory is more than a supervisor ever has in memory, which joins the group as a whole.
const supervisorMemory = 128 << 20

// supervisorThreads is more than the threads that a supervisor ever has.
const supervisorThreads = 32

// join puts this thread, or this process, into the group. What it starts is in it from its first moment.
func (g *group) join() error {
	id := 0 // the caller
	if g.Thread {
		id = unix.Gettid()
	}
	return os.WriteFile(g.Members, []byte(strconv.Itoa(id)), 0)
}

// leave puts the thread, or this process, back to where it came from.
func (g *group) leave(thread int) {
	if !g.Thread {
		thread = 0
	}
	parent := filepath.Join(filepath.Dir(g.Dir), filepath.Base(g.Members))
	os.WriteFile(parent, []byte(strconv.Itoa(thread)), 0)
}

// refused reports whether the group has refused a process.
func (g *group) refused() bool { return g.event("pids.events", "max") }

// starved reports whether a process of the group was ended because the group has no memory left.
func (g *group) starved() bool { return g.event("memory.events", "oom_kill") }

// event reports whether something has happened in the group.
func (g *group) event(file, name string) bool {
	if g == nil {
		return false
	}
	buf := make([]byte, 256)
	n := readInto(filepath.Join(g.Dir, file), buf)
	for line := range strings.Lines(string(buf[:n])) {
		if times, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(times) != "0"
		}
	}
	return false
}

// remove removes the group once it is empty. The kernel takes a moment to notice that.
func (g *group) remove() {
	for wait := time.Millisecond; wait < 4*time.Second; wait *= 2 {
		if err := os.Remove(g.Dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(wait)
	}
}

// crowd returns a limit for the processes of this user that leaves room for a run: all there are on the machine, and
// those of the run. It is coarse, but it is the kernel that holds it, so that not even the quickest bomb gets past.
func crowd(most int) (uint64, bool) {
	b, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 4 {
		return 0, false
	}
	_, all, _ := strings.Cut(fields[3], "/")
	n, ok := number(all)
	return uint64(n + threadsEach*most + supervisorThreads), ok
}

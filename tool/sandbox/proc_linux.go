package sandbox

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// A proc is a running process.
type proc struct{ pid, parent, group int }

// descendants returns the processes below one, each parent before its children. What has ended and only waits
// to be noticed is left out, but not what lies below it.
func descendants(root int) []proc {
	children := make(map[int][]proc)
	dead := make(map[int]bool)
	names, _ := readNames("/proc")
	buf := make([]byte, 1024)
	for _, name := range names {
		pid, ok := number(name)
		if !ok {
			continue
		}
		p, state, ok := stat(name, buf)
		if !ok {
			continue
		}
		p.pid = pid
		children[p.parent] = append(children[p.parent], p)
		dead[pid] = state == 'Z' || state == 'X'
	}
	var found []proc
	todo := children[root]
	for len(todo) > 0 {
		p := todo[0]
		todo = append(todo[1:], children[p.pid]...)
		if !dead[p.pid] {
			found = append(found, p)
		}
	}
	return found
}

// contains reports whether a process is among some.
func contains(list []proc, pid int) bool {
	return slices.ContainsFunc(list, func(p proc) bool { return p.pid == pid })
}

// stat reads the parent, the group and the state of a process. Its name stands in brackets and may hold
// anything, brackets too.
func stat(pid string, buf []byte) (p proc, state byte, ok bool) {
	n := readInto("/proc/"+pid+"/stat", buf)
	end := bytes.LastIndexByte(buf[:n], ')')
	if end < 0 {
		return p, 0, false
	}
	fields := bytes.Fields(buf[end+1 : n])
	if len(fields) < 3 {
		return p, 0, false
	}
	p.parent, ok = number(string(fields[1]))
	p.group, _ = number(string(fields[2]))
	return p, fields[0][0], ok
}

// readInto reads the beginning of a file. Plain system calls: this runs for every process of the machine.
func readInto(name string, buf []byte) int {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil {
		return 0
	}
	return n
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}

// marked returns the processes that have the marker of a run in their environment.
func marked(id string) []int {
	want := []byte(marker + "=" + id)
	var pids []int
	names, _ := readNames("/proc")
	for _, name := range names {
		pid, ok := number(name)
		if !ok {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ")
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(v, want) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// sweeping is the interval of the search for processes that escaped, clean the number of searches that must find none:
// a process that is just becoming another program shows no environment for a moment. It is counted and not
// timed: on a machine that stands still for a while, what is found must be ended all the same.
const (
	sweeping = 200
	clean    = 3
)

// sweepMarked ends every process of a run that can be found by its marker, and returns how many are left.
func sweepMarked(id string) (left int) {
	found := 0
	for range sweeping {
		pids := marked(id)
		if left = len(pids); left > 0 {
			found = 0
		} else if found++; found == clean {
			break
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

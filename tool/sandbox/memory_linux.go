package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a tree has in memory is more than what its processes have for themselves: files in memory (memfd), on
// file systems in memory (tmpfs), and what is shared. Each is counted once, whoever has it open or mapped.

// memory returns how many bytes a tree has in memory: private to a process, shared, and in files that are
// kept in memory.
func (k *supervisor) memory(tree []proc) int64 {
	var private, shared int64
	before := kept()
	files, buffers := inMemory{}, buffered{}
	systems := k.tmpfs(tree)
	for _, p := range tree {
		own, with := memoryOf(p.pid)
		private, shared = private+own, shared+with
		files.open(p.pid, systems, buffers)
	}
	if k.spec.Walls.Temp != "" {
		files.below(k.spec.Walls.Temp, systems)
	}
	counted := files.sum()
	for _, used := range systems {
		counted += used
	}
	sum := private + counted + buffers.sum()
	if sum+shared > k.spec.Limits.Memory { // else what is mapped cannot make it too much
		for _, p := range tree {
			mapped := files.mapped(p.pid)
			sum, counted = sum+mapped, counted+mapped
		}
	}
	// And what hides. Files may come and go while they are counted: that makes nothing seem hidden.
	after := kept()
	k.others = min(k.others, max(before, after)-counted)
	hides, hidden := k.hides(tree), min(before, after)-counted-k.others
	if sum+hidden <= k.spec.Limits.Memory || !hides && !inFlight(tree) {
		k.inFlight = 0
		return sum
	}
	if k.inFlight++; hides || k.inFlight >= longInFlight {
		return sum + hidden
	}
	return sum
}

// longInFlight is how often in a row files must be on their way to be suspected: every program that hands files on has
// some there for a moment.
const longInFlight = 10

// kept returns how many bytes the whole machine has in memory that belong to no process alone.
func kept() (sum int64) {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && (fields[0] == "Shmem:" || fields[0] == "Unevictable:") {
			kib, _ := number(fields[1])
			sum += int64(kib) << 10
		}
	}
	return sum
}

// hides reports whether a process has mounts of its own, or has had them: what it keeps in there can be seen only by
// what the machine has more in memory than before.
func (k *supervisor) hides(tree []proc) bool {
	if k.spec.Level != Limits || k.hidden {
		return k.hidden
	}
	ours, err := os.Readlink("/proc/self/task/" + strconv.Itoa(k.thread) + "/ns/mnt")
	for _, p := range tree {
		theirs, err2 := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/ns/mnt")
		if err == nil && (err2 == nil && ours != theirs || errors.Is(err2, fs.ErrPermission)) {
			k.hidden = true
		}
	}
	return k.hidden
}

// inFlight reports whether files were sent to a socket of the tree that nobody has received: they are open nowhere, and
// can be seen in the same way only.
func inFlight(tree []proc) bool {
	buf := make([]byte, 1024)
	for _, p := range tree {
		dir := "/proc/" + strconv.Itoa(p.pid)
		names, _ := readNames(dir + "/fdinfo")
		for _, name := range names {
			if to, _ := os.Readlink(dir + "/fd/" + name); !strings.HasPrefix(to, "socket:") {
				continue
			}
			n := readInto(dir+"/fdinfo/"+name, buf)
			if _, sent, ok := bytes.Cut(buf[:n], []byte("scm_fds:")); ok {
				if fields := bytes.Fields(sent); len(fields) > 0 && string(fields[0]) != "0" {
					return true
				}
			}
		}
	}
	return false
}

// memoryOf returns how many bytes a process has in memory for itself, with the tables of its pages, and how many
// that it may share.
func memoryOf(pid int) (private, shared int64) {
	name := "/proc/" + strconv.Itoa(pid) + "/status"
	text := make([]byte, 4096)
	if n := readInto(name, text); n < len(text) {
		text = text[:n]
	} else {
		text, _ = os.ReadFile(name) // a superuser can have very many groups
	}
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		var to *int64
		switch string(name) {
		case "RssAnon", "VmPTE":
			to = &private
		case "RssFile", "RssShmem":
			to = &shared
		default:
			continue
		}
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kib, _ := number(string(fields[0]))
			*to += int64(kib) << 10
		}
	}
	return private, shared
}

// A fileID tells a file from all others.
type fileID struct{ dev, ino uint64 }

// inMemory are the sizes of files that are kept in memory.
type inMemory map[fileID]int64

func (m inMemory) sum() (sum int64) {
	for _, size := range m {
		sum += size
	}
	return sum
}

// add notes a file, if it is kept in memory, and not on one of the file systems that are counted as a whole.
func (m inMemory) add(name string, counted map[uint64]int64) {
	var st unix.Stat_t
	var on unix.Statfs_t
	if unix.Stat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Blocks == 0 && st.Size == 0 {
		return
	}
	id := fileID{uint64(st.Dev), st.Ino}
	if _, whole := counted[id.dev]; whole {
		return
	}
	if _, known := m[id]; known || unix.Statfs(name, &on) != nil {
		return
	}
	switch on.Type {
	case unix.TMPFS_MAGIC:
		m[id] = st.Blocks * 512
	case unix.SECRETMEM_MAGIC:
		m[id] = st.Size // its blocks are not counted
	}
}

// buffered are the sockets and pipes of a tree, by their names in /proc. The kernel keeps what was written and not
// read.
type buffered map[string]bool

const (
	freeBuffers  = 512       // of which nothing is counted: programs have that many, and little in them
	socketBuffer = 208 << 10 // what one may hold, by default
	pipeBuffer   = 64 << 10
)

// sum returns how many bytes the sockets and pipes may hold, of which nobody can see how many they do hold.
func (b buffered) sum() int64 {
	sockets := 0
	for name := range b {
		if strings.HasPrefix(name, "socket:") {
			sockets++
		}
	}
	return int64(max(0, sockets-freeBuffers))*socketBuffer + int64(max(0, len(b)-sockets-freeBuffers))*pipeBuffer
}

// open notes the files in memory that a process has open, those that have no name and those in the directory for
// them, and its sockets and pipes.
func (m inMemory) open(pid int, counted map[uint64]int64, buffers buffered) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	names, _ := readNames(dir)
	for _, name := range names {
		name = dir + "/" + name
		to, err := os.Readlink(name)
		if strings.HasPrefix(to, "socket:") || strings.HasPrefix(to, "pipe:") {
			buffers[to] = true
		}
		if err == nil && (strings.HasSuffix(to, " (deleted)") || strings.HasPrefix(to, "/dev/shm/")) {
			m.add(name, counted)
		}
	}
}

// mostFiles bounds how many files of a private directory are looked at.
const mostFiles = 10_000

// below notes the files of a directory, if that is kept in memory.
func (m inMemory) below(dir string, counted map[uint64]int64) {
	var on unix.Statfs_t
	if unix.Statfs(dir, &on) != nil || on.Type != unix.TMPFS_MAGIC {
		return
	}
	n := 0
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; n > mostFiles {
			return fs.SkipAll
		}
		if err == nil && d.Type().IsRegular() {
			m.add(path, counted)
		}
		return nil
	})
}

// mapped returns how much of what is shared and kept in memory a process has mapped, its share of it, but for
// the files that are counted already.
func (m inMemory) mapped(pid int) (sum int64) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/smaps")
	if err != nil {
		return 0
	}
	defer f.Close()
	counts := false
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			counts = m.uncounted(fields)
		case counts && len(fields) == 3 && fields[0] == "Pss:":
			kib, _ := number(fields[1])
			sum += int64(kib) << 10
		}
	}
	return sum
}

// uncounted reports whether a line of a map is of shared memory that is not among the files.
func (m inMemory) uncounted(line []string) bool {
	if len(line) < 6 || !strings.HasSuffix(line[1], "s") {
		return false
	}
	name := strings.Join(line[5:], " ")
	if !strings.HasSuffix(name, " (deleted)") && !strings.HasPrefix(name, "/dev/shm/") {
		return false
	}
	major, minor, _ := strings.Cut(line[3], ":")
	high, err := strconv.ParseUint(major, 16, 32)
	low, err2 := strconv.ParseUint(minor, 16, 32)
	ino, err3 := strconv.ParseUint(line[4], 10, 64)
	if err != nil || err2 != nil || err3 != nil {
		return true
	}
	_, counted := m[fileID{unix.Mkdev(uint32(high), uint32(low)), ino}]
	return !counted
}

// tmpfs returns how much there is on the file systems in memory that a tree has to itself, by their devices.
func (k *supervisor) tmpfs(tree []proc) map[uint64]int64 {
	if len(tree) == 0 || k.spec.Bubblewrap == "" && k.spec.Level != Limits {
		return nil
	}
	used := map[uint64]int64{}
	root := "/proc/" + strconv.Itoa(tree[len(tree)-1].pid) + "/root"
	for _, dir := range []string{"/tmp", sharedMemory} {
		var on unix.Statfs_t
		var own, outside unix.Stat_t
		if unix.Statfs(root+dir, &on) != nil || on.Type != unix.TMPFS_MAGIC || unix.Stat(root+dir, &own) != nil {
			continue
		}
		if unix.Stat(dir, &outside) == nil && outside.Dev == own.Dev {
			continue // everybody's
		}
		used[uint64(own.Dev)] = int64(on.Blocks-on.Bfree) * on.Bsize
	}
	return used
}

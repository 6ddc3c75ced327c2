package sandbox

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enoughLandlock is the version of Landlock that workspace needs: from it on signals to other processes and
// their abstract sockets are closed too.
const enoughLandlock = 6

// landlockABI returns the version of Landlock that the kernel has, 0 if it has none or it is switched off.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// The rights on files, and which version brought those that were not there from the beginning.
const (
	rightsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// Devices are made by nobody, and only a few may be spoken to beyond reading and writing.
	rightsNone = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// rightsOfFile are those that make sense for something that is no directory.
	rightsOfFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

var laterRights = []struct {
	abi   int
	right uint64
}{
	{2, unix.LANDLOCK_ACCESS_FS_REFER},
	{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
}

// landlock closes this thread, and all that it starts, in between the walls.
func (w walls) landlock(abi int, net bool) error {
	var known uint64 = rightsRead | rightsWrite | rightsNone
	for _, l := range laterRights {
		if abi < l.abi {
			known &^= l.right
		}
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: known}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 4 {
		size = unsafe.Offsetof(attr.Scoped)
		if !net {
			// seccomp closes this too; two walls are better than one.
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= enoughLandlock {
		size = unsafe.Offsetof(attr.Quiet_access_fs) // what is behind it is younger than the kernels that are asked for
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	ruleset, err := newRuleset(&attr, size)
	if err != nil {
		return err
	}
	defer unix.Close(int(ruleset))
	for _, g := range w.grants() {
		for _, p := range g.paths {
			if err := allow(int(ruleset), p, g.rights&known); err != nil {
				return &os.PathError{Op: "allow", Path: p, Err: err}
			}
		}
	}
	return enter(ruleset)
}

// closeProcesses keeps this thread, and all that it starts, from other processes: from their memory and their
// environment, where keys are, and from signals to them, which could stop its supervisor. Files and the network stay
// open.
func closeProcesses() error {
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL}
	ruleset, err := newRuleset(&attr, unsafe.Offsetof(attr.Quiet_access_fs))
	if err != nil {
		return err
	}
	defer unix.Close(int(ruleset))
	return enter(ruleset)
}

func newRuleset(attr *unix.LandlockRulesetAttr, size uintptr) (uintptr, error) {
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), size, 0)
	if errno != 0 {
		return 0, errno
	}
	return ruleset, nil
}

func enter(ruleset uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// A grant allows operations on some paths.
type grant struct {
	paths  []string
	rights uint64
}

func (w walls) grants() []grant {
	return []grant{
		{slices.Concat(w.readable(), existing(kernel), []string{"/proc"}), rightsRead},
		{existing(devices), rightsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
		{w.writable(), rightsRead | rightsWrite},
		{privates(), rightsRead | rightsWrite},
		{top(), unix.LANDLOCK_ACCESS_FS_READ_DIR},
	}
}

// privates returns the places that bubblewrap has made for this run alone: the directories on file systems of their own
// inside. Outside of it there are none.
func privates() []string {
	if !wrapped() {
		return nil
	}
	return existing([]string{"/tmp", "/dev/shm"})
}

// top is the top directory where it shows nothing but what is open anyway.
func top() []string {
	if !wrapped() {
		return nil
	}
	return []string{"/"}
}

// wrapped reports whether this is the program inside a namespace.
func wrapped() bool { return len(os.Args) > 2 && os.Args[2] == inner }

// allow adds a rule for a path and what lies below it.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsOfFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

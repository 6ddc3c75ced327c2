package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A fence is a mount namespace in which some files are read-only. It needs the right to mount, which a
// superuser has, and everybody else in a user namespace of their own.

// controls are the files by which a superuser changes the machine itself.
var controls = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/sys"}

// fenced lists what is read-only for the program. Between the walls of Landlock the controls are closed already.
func (s *spec) fenced() []string {
	list := s.Protected
	if s.Level == Limits && os.Geteuid() == 0 {
		list = slices.Concat(list, existing(controls))
	}
	return list
}

// starts lists the ways to start a supervisor, the best first. A user who is no superuser may mount in a user
// namespace of their own.
func (s *spec) starts() []*syscall.SysProcAttr {
	plain := &syscall.SysProcAttr{Setsid: true}
	if s.Bubblewrap != "" || len(s.fenced()) == 0 && s.Level != Limits || mayMount() {
		return []*syscall.SysProcAttr{plain}
	}
	own := &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWUSER,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}}
	return []*syscall.SysProcAttr{own, plain}
}

// fence puts up the fence around this thread. Where it cannot be put up, that is said by the missing layer;
// but a superuser who may write the controls is refused.
func (s *spec) fence() ([]Layer, error) {
	var layers []Layer
	list := s.fenced()
	if mayMount() && s.ownIPC() {
		layers = append(layers, Layer{"System V", "memory and queues of its own"})
	}
	if len(list) > 0 && mayMount() {
		if err := readOnly(list, s.Walls.Writable); err == nil {
			layers = append(layers, Layer{"read-only", strings.Join(list, ", ")})
			if s.ownShared() {
				layers = append(layers, Layer{"shared memory", sharedMemory + " of its own"})
			}
		} else if s.Level == Limits && os.Geteuid() == 0 || ofPath(err) {
			return nil, describe("mounts", err)
		}
	}
	if s.Level != Limits {
		return layers, nil // the walls do the rest
	}
	if os.Geteuid() == 0 && unix.Access("/proc/sys/kernel/core_pattern", unix.W_OK) == nil {
		return nil, describe("mounts", unix.EPERM)
	}
	more, err := weaken(unwalled)
	if layers = append(layers, more...); err == nil && landlockABI() >= enoughLandlock {
		if err = describe("landlock", closeProcesses()); err == nil {
			layers = append(layers, Layer{"landlock", "other processes"})
		}
	}
	return layers, err
}

// ownIPC gives this thread memory and queues of System V of its own. Those that all share would outlive the run, and
// nobody counts a segment that no process has mapped. It reports whether it did.
func (s *spec) ownIPC() bool {
	if s.Level != Limits || unix.Unshare(unix.CLONE_NEWIPC) != nil {
		return false
	}
	if s.Limits.Memory > 0 { // a user who is no superuser may not set it; their segments go with the run all the same
		pages := strconv.FormatInt(s.Limits.Memory/int64(os.Getpagesize()), 10)
		_ = os.WriteFile("/proc/sys/kernel/shmall", []byte(pages), 0)
	}
	return true
}

// Programs keep files in memory in sharedMemory, under names that others know.
const sharedMemory = "/dev/shm"

// ownShared puts an empty file system in memory in the place of the one that all share: what nobody has open is counted
// there, and goes with the run. It is twice as large as the limit, so that the supervisor sees that too much is in it.
// It reports whether it did: not where the run works in that place.
func (s *spec) ownShared() bool {
	if s.Level != Limits || s.Limits.Memory <= 0 ||
		slices.ContainsFunc(append([]string{s.Dir, s.Program}, s.Walls.Writable...), func(p string) bool {
			return under(p, []string{sharedMemory})
		}) {
		return false
	}
	return unix.Mount("tmpfs", sharedMemory, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		"mode=1777,size="+strconv.FormatInt(2*s.Limits.Memory, 10)) == nil
}

// readOnly gives this thread mounts of its own, and makes paths read-only in them, but for what is writable
// inside of them.
func readOnly(paths, writable []string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, p := range points(paths, writable) {
		at, err := bindMount(p)
		if err == unix.ENOENT {
			continue // another process has removed it meanwhile: that opens no other path
		} else if err != nil {
			return &os.PathError{Op: "mount", Path: p, Err: err}
		}
		attr := &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
		switch {
		case at != p || slices.Contains(paths, p):
			attr = &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		case !slices.Contains(writable, p):
			continue // on the way to one: a mount cannot be moved
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, at, unix.AT_RECURSIVE, attr); err != nil {
			return &os.PathError{Op: "mount", Path: p, Err: err}
		}
	}
	return nil
}

// ofPath reports whether one path could not be made read-only, though mounts can be made here: another process can
// bring that about.
func ofPath(err error) bool {
	var path *os.PathError
	return errors.As(err, &path) && !errors.Is(err, unix.EPERM) && !errors.Is(err, errors.ErrUnsupported)
}

// bindMount makes a mount of a path, or of the directory above it that may not be searched: as long as that is
// read-only, nothing below it can be opened. It returns where the mount is.
func bindMount(path string) (at string, err error) {
	for at = path; ; at = filepath.Dir(at) {
		if err = unix.Mount(at, at, "", unix.MS_BIND|unix.MS_REC, ""); err != unix.EACCES || at == "/" {
			return at, err
		}
	}
}

// points lists where mounts are made, each before what lies in it: the paths, what is writable inside of one,
// and the directories that lead from what is writable to a path, which could be moved away with it otherwise.
func points(paths, writable []string) []string {
	list := slices.Clone(paths)
	for _, w := range writable {
		if !slices.Contains(paths, w) && under(w, paths) {
			list = append(list, w)
		}
		for _, p := range paths {
			for i, c := range p {
				if c == '/' && i > len(w) && under(p[:i], []string{w}) {
					list = append(list, p[:i])
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mayMount reports whether this thread may mount.
func mayMount() bool { return slices.Contains(capabilities(), unix.CAP_SYS_ADMIN) }

// capabilities lists those of this thread.
func capabilities() (list []int) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return nil
	}
	for c := range unix.CAP_LAST_CAP + 1 {
		if data[c/32].Permitted&(1<<(c%32)) != 0 {
			list = append(list, c)
		}
	}
	return list
}

// betweenWalls lists what a superuser keeps between walls: opening the files of others. In a container the files
// of a workspace often belong to somebody else.
var betweenWalls = []int{unix.CAP_DAC_OVERRIDE}

// unwalled lists what a superuser keeps at the level limits: rights on files and users. No mounts, no limits
// of others, no devices.
var unwalled = []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL,
	unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_NET_BIND_SERVICE}

// weaken takes from this thread, and from what it starts, all capabilities but some.
func weaken(keep []int) ([]Layer, error) {
	had := capabilities()
	if len(had) == 0 {
		return nil, nil
	}
	// The bounding set is what a superuser gets back when he starts a program.
	for c := range unix.CAP_LAST_CAP + 1 {
		if slices.Contains(keep, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EINVAL &&
			err != unix.EPERM {
			return nil, describe("capabilities", err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for _, c := range keep {
		if slices.Contains(had, c) {
			data[c/32].Permitted |= 1 << (c % 32)
			data[c/32].Effective |= 1 << (c % 32)
		}
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return nil, describe("capabilities", err)
	}
	return []Layer{{"capabilities", "dropped"}}, nil
}

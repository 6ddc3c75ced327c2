package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter is a list of what is refused: a list of what is allowed would be out of date with every version of every
// program. What it refuses are the doors that Landlock does not watch (the network, other processes, the kernel's own
// machinery) and those through which one would get around it.

// A refusal is a system call that is refused, always or for some arguments.
type refusal struct {
	call uintptr
	arg  int    // the argument that decides; see test
	high bool   // its upper half does, rather than the lower one
	test test   // how
	want uint32 // with what
	mask uint32 // for isMasked
	errn unix.Errno
	// where says at which levels; the zero value is everywhere.
	where where
}

// A test says when a call is refused.
type test int

const (
	always   test = iota
	has           // the argument has a bit of want
	is            // the argument is want
	isNot         // the argument is something else than want
	isMasked      // the argument's bits in mask are want
	creates       // a file is made, as the argument before says, and this one, its mode, has a bit of want
)

type where int

const (
	everywhere where = iota
	// shared: only where other programs' objects can be reached. In a namespace of its own a run may have its own.
	shared
)

// ours answers a refused call if nothing else is said: EPERM, as from any system that does not allow it.
const ours = unix.EPERM

// namespaces are the flags of clone that make new ones. In a new user namespace a program has rights over walls.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// refusals hold for every kind of processor; moreRefusals has what only some have.
var refusals = []refusal{
	// Other processes: their memory, their descriptors, their execution.
	{call: unix.SYS_PTRACE}, {call: unix.SYS_PROCESS_VM_READV}, {call: unix.SYS_PROCESS_VM_WRITEV},
	{call: unix.SYS_PIDFD_GETFD}, {call: unix.SYS_KCMP}, {call: unix.SYS_PROCESS_MADVISE}, {call: unix.SYS_MOVE_PAGES},
	{call: unix.SYS_MIGRATE_PAGES},
	// The limits of another process. 0 is oneself.
	{call: unix.SYS_PRLIMIT64, arg: 0, test: isNot, want: 0},
	// A second way to do most system calls, unseen by this filter.
	{call: unix.SYS_IO_URING_SETUP, errn: unix.ENOSYS}, {call: unix.SYS_IO_URING_ENTER, errn: unix.ENOSYS},
	{call: unix.SYS_IO_URING_REGISTER, errn: unix.ENOSYS},
	// Keys of the session, programs in the kernel, tools to break it.
	{call: unix.SYS_KEYCTL}, {call: unix.SYS_ADD_KEY}, {call: unix.SYS_REQUEST_KEY}, {call: unix.SYS_BPF},
	{call: unix.SYS_USERFAULTFD}, {call: unix.SYS_PERF_EVENT_OPEN},
	// Views of the file system, and names for files that do without one.
	{call: unix.SYS_MOUNT}, {call: unix.SYS_UMOUNT2}, {call: unix.SYS_PIVOT_ROOT}, {call: unix.SYS_CHROOT},
	{call: unix.SYS_MOVE_MOUNT}, {call: unix.SYS_OPEN_TREE}, {call: unix.SYS_FSOPEN}, {call: unix.SYS_FSCONFIG},
	{call: unix.SYS_FSMOUNT}, {call: unix.SYS_FSPICK}, {call: unix.SYS_MOUNT_SETATTR},
	{call: unix.SYS_OPEN_BY_HANDLE_AT}, {call: unix.SYS_FANOTIFY_INIT}, {call: unix.SYS_QUOTACTL},
	{call: unix.SYS_QUOTACTL_FD},
	// Namespaces. The flags of clone3 lie in memory, where a filter cannot see them; programs take clone when there
	// is no clone3.
	{call: unix.SYS_UNSHARE}, {call: unix.SYS_SETNS}, {call: unix.SYS_CLONE, arg: 0, test: has, want: namespaces},
	{call: unix.SYS_CLONE3, errn: unix.ENOSYS},
	// The machine.
	{call: unix.SYS_INIT_MODULE}, {call: unix.SYS_FINIT_MODULE}, {call: unix.SYS_DELETE_MODULE},
	{call: unix.SYS_KEXEC_LOAD}, {call: unix.SYS_REBOOT}, {call: unix.SYS_SWAPON}, {call: unix.SYS_SWAPOFF},
	{call: unix.SYS_ACCT}, {call: unix.SYS_SETTIMEOFDAY}, {call: unix.SYS_CLOCK_SETTIME},
	{call: unix.SYS_CLOCK_ADJTIME}, {call: unix.SYS_ADJTIMEX}, {call: unix.SYS_SYSLOG}, {call: unix.SYS_VHANGUP},
	{call: unix.SYS_SETHOSTNAME}, {call: unix.SYS_SETDOMAINNAME},
	// Characters put into a terminal's input, as if somebody had typed them.
	{call: unix.SYS_IOCTL, arg: 1, test: is, want: unix.TIOCSTI},
	{call: unix.SYS_IOCTL, arg: 1, test: is, want: tioclinux},
	// Devices, and programs that run with their owner's rights.
	{call: unix.SYS_MKNODAT, arg: 2, test: isMasked, mask: unix.S_IFMT, want: unix.S_IFCHR},
	{call: unix.SYS_MKNODAT, arg: 2, test: isMasked, mask: unix.S_IFMT, want: unix.S_IFBLK},
	{call: unix.SYS_FCHMOD, arg: 1, test: has, want: setid}, {call: unix.SYS_FCHMODAT, arg: 2, test: has, want: setid},
	{call: unix.SYS_FCHMODAT2, arg: 2, test: has, want: setid},
	{call: unix.SYS_MKNODAT, arg: 2, test: has, want: setid},
	{call: unix.SYS_OPENAT, arg: 3, test: creates, want: setid},
	{call: unix.SYS_OPENAT2, errn: unix.ENOSYS}, // its mode lies in memory
	// Attributes that Landlock does not watch, even of files that are only open to be read. Few programs need them, and
	// those do without.
	{call: unix.SYS_SETXATTR, errn: unix.ENOTSUP}, {call: unix.SYS_LSETXATTR, errn: unix.ENOTSUP},
	{call: unix.SYS_FSETXATTR, errn: unix.ENOTSUP}, {call: unix.SYS_SETXATTRAT, errn: unix.ENOTSUP},
	{call: unix.SYS_REMOVEXATTR, errn: unix.ENOTSUP}, {call: unix.SYS_LREMOVEXATTR, errn: unix.ENOTSUP},
	{call: unix.SYS_FREMOVEXATTR, errn: unix.ENOTSUP}, {call: unix.SYS_REMOVEXATTRAT, errn: unix.ENOTSUP},
	{call: unix.SYS_FILE_SETATTR, errn: unix.EOPNOTSUPP},
	{call: unix.SYS_IOCTL, arg: 1, test: is, want: unix.FS_IOC_SETFLAGS, errn: unix.ENOTTY},
	{call: unix.SYS_IOCTL, arg: 1, test: is, want: setXattrFlags, errn: unix.ENOTTY},
	{call: unix.SYS_IOCTL, arg: 1, test: is, want: unix.FS_IOC_ENABLE_VERITY, errn: unix.ENOTTY}, // never written again
	{call: unix.SYS_IOCTL, arg: 1, test: is, want: unix.FS_IOC_SET_ENCRYPTION_POLICY, errn: unix.ENOTTY},
	// Segments of System V that the limit of memory does not see once nothing has them mapped: none of a mebibyte or
	// more.
	{call: unix.SYS_SHMGET, arg: 1, test: has, want: ^uint32(1<<20 - 1)},
	{call: unix.SYS_SHMGET, arg: 1, high: true, test: has, want: ^uint32(0)},
	// Memory and queues shared with any process of the same user.
	{call: unix.SYS_SHMGET, where: shared}, {call: unix.SYS_SHMAT, where: shared},
	{call: unix.SYS_SHMCTL, where: shared}, {call: unix.SYS_SEMGET, where: shared},
	{call: unix.SYS_SEMCTL, where: shared}, {call: unix.SYS_MSGGET, where: shared},
	{call: unix.SYS_MSGCTL, where: shared}, {call: unix.SYS_MSGSND, where: shared},
	{call: unix.SYS_MSGRCV, where: shared}, {call: unix.SYS_MQ_OPEN, where: shared},
	{call: unix.SYS_MQ_UNLINK, where: shared},
}

const (
	tioclinux = 0x541c // puts characters in, too, on a console
	setid     = unix.S_ISUID | unix.S_ISGID

	unnamed       = unix.O_TMPFILE &^ unix.O_DIRECTORY
	setXattrFlags = 0x401c5820 // FS_IOC_FSSETXATTR
)

// families are the kinds of socket that the network is made of, when it is on. Unix sockets are not among them:
// behind them are other programs of this machine, some of which do what they are told. A pair of them is fine, and is
// another call.
var families = []uint32{unix.AF_INET, unix.AF_INET6}

// A filter is a program for the kernel being written.
type filter struct{ code []unix.SockFilter }

// Offsets in what the kernel shows to a filter: the number of the call, the kind of processor, the arguments.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

func (f *filter) load(offset uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) ret(action uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

// jump skips the given number of instructions, depending on a comparison of what was loaded with k.
func (f *filter) jump(how uint16, k uint32, yes, no uint8) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, K: k, Jt: yes, Jf: no})
}

func (f *filter) and(mask uint32) {
	f.code = append(f.code, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask})
}

// refuse writes a refusal. The number of the call is loaded before and after.
func (f *filter) refuse(r refusal) {
	errn := r.errn
	if errn == 0 {
		errn = ours
	}
	action := unix.SECCOMP_RET_ERRNO | uint32(errn)
	number := uint32(r.call)
	switch r.test {
	case always:
		f.jump(unix.BPF_JEQ, number, 0, 1)
		f.ret(action)
	case has:
		f.jump(unix.BPF_JEQ, number, 0, 4)
		f.load(r.argument())
		f.jump(unix.BPF_JSET, r.want, 0, 1)
		f.ret(action)
		f.load(offNumber)
	case is:
		f.jump(unix.BPF_JEQ, number, 0, 4)
		f.load(r.argument())
		f.jump(unix.BPF_JEQ, r.want, 0, 1)
		f.ret(action)
		f.load(offNumber)
	case isNot:
		f.jump(unix.BPF_JEQ, number, 0, 4)
		f.load(r.argument())
		f.jump(unix.BPF_JEQ, r.want, 1, 0)
		f.ret(action)
		f.load(offNumber)
	case creates:
		f.jump(unix.BPF_JEQ, number, 0, 6)
		f.load(argument(r.arg - 1))
		f.jump(unix.BPF_JSET, unix.O_CREAT|unnamed, 0, 3)
		f.load(r.argument())
		f.jump(unix.BPF_JSET, r.want, 0, 1)
		f.ret(action)
		f.load(offNumber)
	case isMasked:
		f.jump(unix.BPF_JEQ, number, 0, 5)
		f.load(r.argument())
		f.and(r.mask)
		f.jump(unix.BPF_JEQ, r.want, 0, 1)
		f.ret(action)
		f.load(offNumber)
	}
}

// argument returns the offset of the part of the argument that decides.
func (r refusal) argument() uint32 {
	if r.high {
		return argument(r.arg) + 4
	}
	return argument(r.arg)
}

// argument returns the offset of the lower half of an argument. The kernel looks at no more of most of those that are
// tested here.
func argument(n int) uint32 { return uint32(offArgs + 8*n) }

// sockets refuses every socket, or all but those of the network.
func (f *filter) sockets(net bool) {
	if !net {
		f.refuse(refusal{call: unix.SYS_SOCKET})
		return
	}
	var body filter
	body.load(argument(0))
	for i, family := range families {
		body.jump(unix.BPF_JEQ, family, uint8(len(families)-i+3), 0) // to the end
	}
	// The kernel tells a resolver about addresses and routes through this one; the other protocols of netlink are for
	// administrators.
	body.jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 2)
	body.load(argument(2))
	body.jump(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1, 0)
	body.ret(unix.SECCOMP_RET_ERRNO | uint32(ours))
	f.jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, uint8(len(body.code)))
	f.code = append(f.code, body.code...)
	f.load(offNumber)
}

// build writes the whole filter.
func build(net, isolated bool) []unix.SockFilter {
	var f filter
	f.load(offArch)
	f.jump(unix.BPF_JEQ, auditArch, 1, 0)
	f.ret(unix.SECCOMP_RET_KILL_PROCESS) // calls of another kind of processor have other numbers
	f.load(offNumber)
	if secondNumbers != 0 {
		f.jump(unix.BPF_JGE, secondNumbers, 0, 1)
		f.ret(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	}
	f.sockets(net)
	for _, list := range [][]refusal{refusals, moreRefusals} {
		for _, r := range list {
			if r.where == everywhere || !isolated {
				f.refuse(r)
			}
		}
	}
	f.ret(unix.SECCOMP_RET_ALLOW)
	return f.code
}

// seccomp puts the filter before this thread and all that it starts. no_new_privs must be set.
func seccomp(net, isolated bool) error {
	code := build(net, isolated)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}

// hasSeccomp reports whether the kernel has filters and this package knows the processor.
func hasSeccomp() bool {
	if auditArch == 0 {
		return false
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

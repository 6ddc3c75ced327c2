package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wield/tool/sandbox"
)

// This file is what a hostile program does. The test binary starts itself as one: the first argument is
// attackArg, then the name of the attack and its arguments. It says "escaped" if it got through.

const attackArg = "attack"

// otherMains makes this process one of the other programs that this test binary is, if it was started as one.
func otherMains() {
	forgetfulMain()
	sandbox.Main()
	nestedMain()
	attackMain()
}

// attackMain runs an attack if this process was started for one.
func attackMain() {
	if len(os.Args) < 3 || os.Args[1] != attackArg {
		return
	}
	runtime.LockOSThread()
	if err := attacks[os.Args[2]](os.Args[3:]); err != nil {
		fmt.Println("refused:", err)
	} else {
		fmt.Println("escaped")
	}
	syscall.Exit(0) // without the second that os.Exit waits under the race detector
}

// attacks are the attacks by name. An error means that the attack did not get through.
var attacks = map[string]func(args []string) error{
	"read":         func(a []string) error { return reads(a[0]) },
	"list":         func(a []string) error { _, err := os.ReadDir(a[0]); return err },
	"write":        func(a []string) error { return os.WriteFile(a[0], []byte("written by the attack"), 0o644) },
	"append":       func(a []string) error { return opens(a[0], os.O_WRONLY|os.O_APPEND) },
	"truncate":     func(a []string) error { return os.Truncate(a[0], 0) },
	"remove":       func(a []string) error { return os.Remove(a[0]) },
	"rename":       func(a []string) error { return os.Rename(a[0], a[0]+".moved") },
	"take":         func(a []string) error { return os.Rename(a[0], "taken") },
	"mkdir":        func(a []string) error { return os.Mkdir(a[0], 0o755) },
	"open-write":   func(a []string) error { return opens(a[0], os.O_WRONLY) },
	"hard-link":    hardLink,
	"symlink":      symlink,
	"symlink-swap": symlinkSwap,
	"dotdot":       func(a []string) error { return reads("../" + a[0]) },
	"chmod":        func(a []string) error { return os.Chmod(a[0], 0o777) },

	"tcp":            dial("tcp"),
	"udp":            udp,
	"unix":           dial("unix"),
	"abstract":       dial("unix"),
	"mptcp":          mptcp,
	"listen":         func([]string) error { l, err := net.Listen("tcp4", "127.0.0.1:0"); return closes(l, err) },
	"packet":         makesSocket(unix.AF_PACKET, unix.SOCK_RAW, 0),
	"raw":            makesSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
	"netlink":        makesSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
	"netlink-uevent": makesSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
	"vsock":          makesSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	"alg":            makesSocket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	"unix-socketpair": func([]string) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	},

	"ptrace":           func(a []string) error { return syscall.PtraceAttach(pid(a)) },
	"process-vm-readv": processVMReadv,
	"proc-mem":         func(a []string) error { return opens("/proc/"+a[0]+"/mem", os.O_RDWR) },
	"proc-environ":     func(a []string) error { return reads("/proc/" + a[0] + "/environ") },
	"proc-root":        func(a []string) error { return reads("/proc/" + a[0] + "/root" + a[1]) },
	"proc-cwd":         func(a []string) error { return reads("/proc/" + a[0] + "/cwd/" + a[1]) },
	"signal":           func(a []string) error { return syscall.Kill(pid(a), syscall.SIGTERM) },
	"signal-probe":     func(a []string) error { return syscall.Kill(pid(a), 0) },
	"signal-parent":    func([]string) error { return syscall.Kill(os.Getppid(), syscall.SIGCONT) },
	"pidfd-signal":     pidfdSignal,
	"pidfd-getfd":      pidfdGetfd,
	"prlimit":          prlimit,
	"inherited":        inherited,

	"tiocsti":       tiocsti,
	"tiocsti-high":  tiocstiHigh,
	"mknod":         func([]string) error { return unix.Mknod("device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) },
	"setuid":        setuid,
	"setuid-made":   setuidMade,
	"attributes":    attributes,
	"new-privs":     func([]string) error { return reports("NoNewPrivs:\t0") },
	"io-uring":      ioUring,
	"keyctl":        calls(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 1),
	"bpf":           bpf,
	"userfaultfd":   calls(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1),
	"perf":          perf,
	"mount":         mount,
	"chroot":        func([]string) error { return unix.Chroot(".") },
	"unshare-user":  func([]string) error { return clones(unix.CLONE_NEWUSER) },
	"unshare-mount": func([]string) error { return unix.Unshare(unix.CLONE_NEWNS) },
	"setns":         setns,
	"shm":           sharedMemory,
	"raise-limit":   raiseLimit,

	"hog-memfd":   func([]string) error { return fills(unix.MemfdCreate("hog", 0)) },
	"hog-shared":  hogShared,
	"hog-temp":    func([]string) error { return fills(unix.Open("/tmp/hog", unix.O_CREAT|unix.O_RDWR, 0o600)) },
	"hog-closed":  hogClosed,
	"hog-sysv":    hogSystemV,
	"hog-socket":  hogSockets,
	"hog-flight":  hogFlight,
	"hog-secret":  hogSecret,
	"hog-tables":  hogTables,
	"hog-mounted": hogMounted,
	"hog-shm": func([]string) error {
		return fills(unix.Open("/dev/shm/wield-hog", unix.O_CREAT|unix.O_RDWR, 0o600))
	},
}

func reads(name string) error {
	b, err := os.ReadFile(name)
	if err == nil && !bytes.Contains(b, []byte(secret)) {
		return errors.New("it is not what is outside")
	}
	return err
}

func opens(name string, flag int) error {
	f, err := os.OpenFile(name, flag, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func closes(c interface{ Close() error }, err error) error {
	if err == nil {
		c.Close()
	}
	return err
}

func pid(a []string) int {
	n, _ := strconv.Atoi(a[0])
	return n
}

func errnoOrNil(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func calls(number uintptr, args ...uintptr) func([]string) error {
	return func([]string) error {
		var a [4]uintptr
		copy(a[:], args)
		_, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], 0, 0)
		return errnoOrNil(e)
	}
}

func hardLink(a []string) error {
	if err := os.Link(a[0], "linked"); err != nil {
		return err
	}
	return reads("linked")
}

func symlink(a []string) error {
	if err := os.Symlink(a[0], "pointer"); err != nil {
		return err
	}
	return reads("pointer")
}

// symlinkSwap reads a name while what stands there changes between a harmless file and a link to the outside.
func symlinkSwap(a []string) error {
	rounds, _ := strconv.Atoi(a[1])
	os.WriteFile("good", []byte("harmless"), 0o644)
	if err := os.Symlink(a[0], "bad"); err != nil {
		return err
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, from := range []string{"good", "bad"} {
				os.Rename(from, "place")
				os.Rename("place", from)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	var last error
	for i, met := 0, 0; met < rounds && i < 100*rounds; i++ {
		b, err := os.ReadFile("place")
		switch {
		case err == nil && bytes.Contains(b, []byte(secret)):
			return nil
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			last = err // the link, refused
		}
		met++
	}
	if last == nil {
		return errors.New("the race did not happen")
	}
	return last
}

func dial(network string) func([]string) error {
	return func(a []string) error {
		c, err := net.DialTimeout(network, a[0], time.Minute)
		return closes(c, err)
	}
}

func udp(a []string) error {
	c, err := net.Dial("udp", a[0])
	if err != nil {
		return err
	}
	defer c.Close()
	c.Write([]byte(secret))
	c.SetReadDeadline(time.Now().Add(time.Minute)) // where it may be sent, it is answered
	_, err = c.Read(make([]byte, 1))
	return err
}

func mptcp(a []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, port, _ := net.SplitHostPort(a[0])
	n, _ := strconv.Atoi(port)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}})
}

func makesSocket(domain, typ, proto int) func([]string) error {
	return func([]string) error {
		fd, err := unix.Socket(domain, typ, proto)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func processVMReadv(a []string) error {
	addr, _ := strconv.ParseUint(a[1], 10, 64)
	b := make([]byte, len(secret))
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(pid(a), local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
	if err == nil && string(b[:n]) != secret {
		return errors.New("it is not what is outside")
	}
	return err
}

func pidfdSignal(a []string) error {
	fd, err := unix.PidfdOpen(pid(a), 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
}

func pidfdGetfd(a []string) error {
	fd, err := unix.PidfdOpen(pid(a), 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return err
}

func prlimit(a []string) error {
	return unix.Prlimit(pid(a), unix.RLIMIT_NOFILE, nil, new(unix.Rlimit))
}

// inherited looks for a descriptor that should not be there.
func inherited([]string) error {
	for fd := 3; fd < 512; fd++ {
		target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && strings.HasSuffix(target, "secret.txt") {
			return nil
		}
	}
	return errors.New("there is none")
}

func tiocsti([]string) error {
	b := byte('x')
	_, _, e := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&b)))
	return errnoOrNil(e)
}

// tiocstiHigh asks for the same with bits set that the kernel ignores.
func tiocstiHigh([]string) error {
	b := byte('x')
	var request uint64 = unix.TIOCSTI | 1<<40
	_, _, e := unix.Syscall(unix.SYS_IOCTL, 0, uintptr(request), uintptr(unsafe.Pointer(&b)))
	return errnoOrNil(e)
}

func setuid([]string) error {
	if err := os.WriteFile("program", nil, 0o755); err != nil {
		return err
	}
	return unix.Chmod("program", 0o4755)
}

// setuidMade makes a file that is such a program from its first moment, in every way there is.
func setuidMade([]string) error {
	var errs []error
	for _, make := range []func(name string) error{
		func(name string) error {
			fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY, 0o4755)
			unix.Close(fd)
			return err
		},
		func(name string) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o2755})
			unix.Close(fd)
			return err
		},
		func(name string) error { return unix.Mknod(name, unix.S_IFREG|0o4755, 0) },
	} {
		err := make("made")
		if info, statErr := os.Stat("made"); err == nil && statErr == nil &&
			info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			return nil
		}
		os.Remove("made")
		errs = append(errs, err)
	}
	return errors.Join(append(errs, errors.New("no such file"))...)
}

// attributes changes attributes of a program that may only be read and run.
func attributes([]string) error {
	name, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = unix.Fsetxattr(int(f.Fd()), "user.wield", []byte("x"), 0); err == nil {
		return unix.Fremovexattr(int(f.Fd()), "user.wield")
	}
	flags, err2 := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err2 == nil {
		err2 = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	if err2 == nil {
		return nil
	}
	for _, call := range []uintptr{unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY} {
		// Nothing stands at the address 0: a file system that knows the call refuses it in another way.
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), call, 0); errno != unix.ENOTTY {
			return nil
		}
	}
	return errors.Join(err, err2)
}

// reports reports whether the kernel tells something about this process.
func reports(line string) error {
	b, err := os.ReadFile("/proc/self/status")
	if err == nil && !strings.Contains(string(b), line+"\n") {
		return errors.New("it does not")
	}
	return err
}

func bpf([]string) error {
	// The creation of an array of one element.
	attr := [16]uint32{2, 4, 4, 1}
	_, _, e := unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	return errnoOrNil(e)
}

func ioUring([]string) error {
	var params [128]byte
	_, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	return errnoOrNil(e)
}

// mount covers a directory and uncovers it again.
func mount([]string) error {
	if err := os.Mkdir("covered", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("none", "covered", "tmpfs", 0, ""); err != nil {
		return err
	}
	return unix.Unmount("covered", 0)
}

func perf([]string) error {
	_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}, 0, -1, -1, 0)
	return err
}

// clones starts a process in a new namespace; Go cannot enter one itself.
func clones(flags uintptr) error {
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: flags}})
	if err == nil {
		p.Wait()
	}
	return err
}

func setns([]string) error {
	f, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return err
	}
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
}

func sharedMemory(a []string) error {
	id, _ := strconv.Atoi(a[0])
	b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err == nil && !bytes.Contains(b, []byte(secret)) {
		return errors.New("it is not what is outside")
	}
	return err
}

func raiseLimit([]string) error {
	var l unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_CORE, nil, &l); err != nil {
		return err
	}
	if l.Max == 0 {
		return unix.Prlimit(0, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, nil)
	}
	return nil
}

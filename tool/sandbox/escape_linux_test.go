package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"wield/tool/sandbox"
)

// secret must never reach a process in the sandbox.
const secret = "7f1c: what lies outside"

// attack runs an attack in a sandbox and returns whether it got through, and what it said.
func attack(t *testing.T, c sandbox.Command, name string, args ...string) (escaped bool, said string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Argv = append([]string{exe, attackArg, name}, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	c.Writable = append(c.Writable, c.Dir)
	exit, err := sandbox.Run(t.Context(), c)
	said = strings.TrimSpace(out.String())
	if err != nil {
		t.Fatalf("%s: %v; it said %q", name, err, said)
	}
	// A filter may end a process instead of refusing a call.
	if exit.Signal == "" && said != "escaped" && !strings.HasPrefix(said, "refused:") {
		t.Fatalf("%s did not tell how it went: exit %d, %q", name, exit.Code, said)
	}
	return said == "escaped", said
}

// A world holds the things outside the workspace that an attack aims at.
type world struct {
	dir     string // the workspace
	outside string // a directory beside it
	secret  string // a file in there
	tcp     string // the address of a server
	udp     string
	unix    string
	abs     string
	victim  string // the id of another process of the same user
	shm     string // the id of a segment of shared memory
	addr    string // where the victim, this very process, has the secret in its memory
}

func newWorld(t *testing.T) world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{dir: filepath.Join(top, "work"), outside: filepath.Join(top, "outside")}
	for _, d := range []string{w.dir, w.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.secret = filepath.Join(w.outside, "secret.txt")
	if err := os.WriteFile(w.secret, []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	w.tcp, w.udp = serve(t, "tcp4", "127.0.0.1:0"), serveUDP(t)
	// The path of a socket is short, and the directories of tests may be long.
	short, err := os.MkdirTemp("/tmp", "wield-s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	w.unix = serve(t, "unix", filepath.Join(short, "s"))
	w.abs = serve(t, "unix", "@wield-test-"+strconv.Itoa(os.Getpid())+"-"+filepath.Base(short))
	w.victim = startVictim(t, w.outside)
	w.shm = shareMemory(t)
	return w
}

func serve(t *testing.T, network, addr string) string {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func serveUDP(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1024)
		for {
			_, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			c.WriteTo([]byte("heard"), from)
		}
	}()
	t.Cleanup(func() { c.Close(); <-done })
	return c.LocalAddr().String()
}

// startVictim starts a process of the same user that has the secret in its environment and in its working directory.
func startVictim(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{"SECRET=" + secret}
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return strconv.Itoa(cmd.Process.Pid)
}

func shareMemory(t *testing.T) string {
	t.Helper()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	b, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, secret)
	unix.SysvShmDetach(b)
	return strconv.Itoa(id)
}

// An escape is an attack and when it must not get through. Every one is shown to get through at the level none first:
// an attack that fails by itself shows nothing.
type escape struct {
	name string
	as   string // the attack, if it is not the name
	args func(w world) []string
	root bool // it takes a superuser to do this at all
	net  bool // also with the network on
	// open lists the levels that do not stop it, as docs/sandbox.md says.
	open []sandbox.Level
}

func (e escape) attack() string {
	if e.as != "" {
		return e.as
	}
	return e.name
}

func at(f func(w world) string) func(world) []string {
	return func(w world) []string { return []string{f(w)} }
}

func nothing(world) []string { return nil }

var (
	theSecret  = at(func(w world) string { return w.secret })
	theOutside = at(func(w world) string { return w.outside })
	theVictim  = at(func(w world) string { return w.victim })
	self       = at(func(world) string { return strconv.Itoa(os.Getpid()) })
)

var escapes = []escape{
	{name: "read", args: theSecret},
	{name: "list", args: theOutside},
	{name: "write", args: at(func(w world) string { return w.outside + "/new" })},
	{name: "overwrite", as: "write", args: theSecret},
	{name: "append", args: theSecret},
	{name: "truncate", args: theSecret},
	{name: "remove", args: theSecret},
	{name: "rename", args: theSecret},
	{name: "take", args: theSecret},
	{name: "mkdir", args: at(func(w world) string { return w.outside + "/new" })},
	{name: "dotdot", args: at(func(world) string { return "outside/secret.txt" })},
	{name: "hard-link", args: theSecret},
	{name: "symlink", args: theSecret},
	{name: "symlink-swap", args: func(w world) []string { return []string{w.secret, "10000"} }},
	{name: "shared-temp", as: "write",
		args: at(func(world) string { return "/dev/shm/wield-test-" + strconv.Itoa(os.Getpid()) }),
		open: []sandbox.Level{sandbox.Strict}},
	{name: "chmod", args: theSecret, open: []sandbox.Level{sandbox.Workspace}},
	{name: "system-write", as: "write",
		args: at(func(world) string { return "/usr/local/lib/wield-test-" + strconv.Itoa(os.Getpid()) }), root: true},
	{name: "sysctl", as: "open-write", args: at(func(world) string { return "/proc/sys/kernel/hostname" }), root: true},
	{name: "shadow", as: "open-write", args: at(func(world) string { return "/etc/shadow" }), root: true},
	{name: "proc-root-self", as: "proc-root", args: func(w world) []string { return []string{"self", w.secret} }},
	{name: "proc-root-other", as: "proc-root", args: func(w world) []string { return []string{w.victim, w.secret} }},
	{name: "proc-cwd-other", as: "proc-cwd", args: func(w world) []string { return []string{w.victim, "secret.txt"} }},

	{name: "tcp", args: at(func(w world) string { return w.tcp })},
	{name: "udp", args: at(func(w world) string { return w.udp })},
	{name: "mptcp", args: at(func(w world) string { return w.tcp })},
	{name: "listen", args: nothing},
	{name: "unix", args: at(func(w world) string { return w.unix }), net: true},
	{name: "abstract", args: at(func(w world) string { return w.abs }), net: true},
	{name: "netlink", args: nothing},
	{name: "netlink-uevent", args: nothing, net: true},
	{name: "packet", args: nothing, root: true, net: true},
	{name: "raw", args: nothing, root: true, net: true},

	{name: "ptrace", args: theVictim, root: true},
	{name: "process-vm-readv", args: func(w world) []string { return []string{strconv.Itoa(os.Getpid()), w.addr} },
		root: true},
	{name: "proc-mem", args: theVictim, root: true},
	{name: "proc-environ", args: theVictim},
	{name: "signal", args: theVictim},
	{name: "signal-probe", args: theVictim},
	{name: "pidfd-signal", args: theVictim},
	{name: "pidfd-getfd", args: theVictim, root: true},
	{name: "signal-test", as: "signal-probe", args: self},
	{name: "prlimit", args: theVictim},
	{name: "shm", args: at(func(w world) string { return w.shm })},

	{name: "mknod", args: nothing, root: true, net: true},
	{name: "setuid", args: nothing, net: true},
	{name: "setuid-made", args: nothing, net: true},
	{name: "attributes", args: nothing},
	{name: "new-privs", args: nothing, net: true},
	{name: "io-uring", args: nothing, net: true},
	{name: "keyctl", args: nothing, net: true},
	{name: "bpf", args: nothing, root: true},
	{name: "userfaultfd", args: nothing},
	{name: "perf", args: nothing, root: true},
	{name: "mount", args: nothing, root: true, net: true},
	{name: "chroot", args: nothing, root: true},
	{name: "unshare-user", args: nothing, net: true},
	{name: "unshare-mount", args: nothing, root: true},
	{name: "setns", args: nothing, root: true},
	{name: "kernel-log", as: "open-write", args: at(func(world) string { return "/dev/kmsg" }), root: true},
}

// knownAddress is memory of this process that holds the secret.
var knownAddress = []byte(secret)

func TestEscapes(t *testing.T) {
	given := levels(t, sandbox.Workspace, sandbox.Strict)
	var skipped atomic.Int32
	t.Run("all", func(t *testing.T) {
		for i, e := range escapes {
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				if why := e.try(t, sample(given, i)); why != "" {
					skipped.Add(1)
					t.Skip(why)
				}
			})
		}
	})
	os.Remove("/usr/local/lib/wield-test-" + strconv.Itoa(os.Getpid()))
	os.Remove("/dev/shm/wield-test-" + strconv.Itoa(os.Getpid()))
	t.Logf("%d attacks at %d levels, %d skipped", len(escapes), len(given), skipped.Load())
}

// try shows that an attack works without walls and not behind them, or says why it cannot.
func (e escape) try(t *testing.T, given []sandbox.Level) (skip string) {
	if e.root && os.Getuid() != 0 {
		return "only a superuser can show that it works without walls"
	}
	run := func(c sandbox.Command) (bool, string) {
		w := newWorld(t)
		w.addr = strconv.FormatUint(uint64(uintptr(unsafe.Pointer(&knownAddress[0]))), 10)
		c.Dir = w.dir
		return attack(t, c, e.attack(), e.args(w)...)
	}
	if escaped, said := run(sandbox.Command{Level: sandbox.None}); !escaped {
		return "this machine does not allow it anyway: " + said
	}
	for _, l := range given {
		for _, net := range []bool{false, true} {
			if net && !e.net {
				continue
			}
			escaped, said := run(sandbox.Command{Level: l, Net: net})
			switch open := slices.Contains(e.open, l); {
			case escaped && !open:
				t.Errorf("%s, network %v: it got through", l, net)
			case !escaped && open:
				t.Errorf("%s stops it, other than docs/sandbox.md says: %s", l, said)
			}
		}
	}
	return ""
}

// TestNet checks what is open when the network is asked for, and that a pair of sockets is always fine.
func TestNet(t *testing.T) {
	w := newWorld(t)
	for _, l := range levels(t, sandbox.Workspace, sandbox.Strict) {
		for name, addr := range map[string]string{"tcp": w.tcp, "udp": w.udp} {
			if escaped, said := attack(t, sandbox.Command{Level: l, Net: true}, name, addr); !escaped {
				t.Errorf("%s with the network on: %s: %s", l, name, said)
			}
		}
		for _, name := range []string{"unix-socketpair"} {
			if escaped, said := attack(t, sandbox.Command{Level: l}, name); !escaped {
				t.Errorf("%s: %s: %s", l, name, said)
			}
		}
	}
}

// TestInheritedDescriptors checks that what this process has open by mistake, without the flag that closes it in
// programs it starts, does not reach a run of any level. A plain start passes it on.
func TestInheritedDescriptors(t *testing.T) {
	w := newWorld(t)
	f, err := os.Open(w.secret)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Far above the descriptors that a supervisor uses itself.
	const fd = 200
	if err := unix.Dup3(int(f.Fd()), fd, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	exe, _ := os.Executable()
	out, err := exec.Command(exe, attackArg, "inherited").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "escaped" {
		t.Fatalf("a plain start does not pass the descriptor on: %v, %s", err, out)
	}
	for _, l := range levels(t) {
		if escaped, _ := attack(t, sandbox.Command{Level: l}, "inherited"); escaped {
			t.Errorf("%s: the run has a descriptor of ours", l)
		}
	}
}

// TestTerminal puts a terminal at the input of a run and checks that nothing can be typed into it.
func TestTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	for _, name := range []string{"tiocsti", "tiocsti-high"} {
		if escaped, said := attack(t, sandbox.Command{Level: sandbox.None, Stdin: tty}, name); !escaped {
			t.Skipf("this machine does not allow it anyway: %s", said)
		}
		for _, l := range levels(t, sandbox.Workspace, sandbox.Strict) {
			if escaped, _ := attack(t, sandbox.Command{Level: l, Stdin: tty}, name); escaped {
				t.Errorf("%s: %s got through", l, name)
			}
		}
	}
}

// TestPrivileges checks what a run may still do, as the kernel tells it.
func TestPrivileges(t *testing.T) {
	want := map[sandbox.Level]map[string]string{
		sandbox.Limits:    {"NoNewPrivs": "1"},
		sandbox.Workspace: {"NoNewPrivs": "1", "Seccomp": "2"},
		sandbox.Strict:    {"NoNewPrivs": "1", "Seccomp": "2"},
	}
	for _, l := range levels(t, sandbox.Limits, sandbox.Workspace, sandbox.Strict) {
		out, _, err := sh(t, sandbox.Command{Level: l}, "cat /proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
			if name, value, ok := strings.Cut(s.Text(), ":"); ok {
				got[name] = strings.TrimSpace(value)
			}
		}
		for name, value := range want[l] {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q", l, name, got[name], value)
			}
		}
		if l == sandbox.Limits {
			continue
		}
		caps, _ := strconv.ParseUint(got["CapEff"], 16, 64)
		if caps&^(1<<unix.CAP_DAC_OVERRIDE) != 0 {
			t.Errorf("%s: the capabilities are %x", l, caps)
		}
	}
}

// TestOtherEnvironment checks that a program sees neither the environment nor the memory of another process of the
// same user, where keys are, though it may see that there is one.
func TestOtherEnvironment(t *testing.T) {
	facts, err := os.ReadFile("/sys/kernel/security/lsm")
	if err == nil && !strings.Contains(string(facts), "landlock") {
		t.Skip("there is no Landlock")
	}
	for _, l := range levels(t, sandbox.Limits, sandbox.Workspace) {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		other, err := sandbox.Start(ctx, sandbox.Command{Level: sandbox.Limits, Dir: t.TempDir(), Stdout: in,
			Env: []string{"PATH=/usr/bin:/bin", "KEY=hush"}, Argv: []string{"/bin/sh", "-c", "echo $$; sleep 60"}})
		if err != nil {
			t.Fatal(err)
		}
		pid, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		of := "/proc/" + strings.TrimSpace(pid)
		said, _, _ := sh(t, sandbox.Command{Level: l}, "(cat "+of+"/environ; head -c1 "+of+"/maps; readlink "+of+
			"/fd/0) 2>/dev/null; echo end")
		if said != "end\n" {
			t.Errorf("%s: %q", l, said)
		}
		stop()
		other.Wait()
		out.Close()
		in.Close()
	}
}

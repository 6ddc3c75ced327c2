package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fixes say how to get what is missing.
var fixes = map[string]string{
	"landlock": "it needs Linux 6.12 with Landlock switched on (lsm=landlock,... on the kernel's command line); " +
		"or install bubblewrap",
	"seccomp": "it needs a kernel with seccomp filters, on amd64 or arm64",
	"bubblewrap": "install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; Alpine: " +
		"apk add bubblewrap); where it is there, the system must let it make user namespaces (in a container: run " +
		"with --security-opt seccomp=unconfined, or as a user who may)",
	"capabilities": "run wield as an ordinary user",
	"mounts": "run wield as an ordinary user: this superuser may neither mount nor is kept from writing " +
		"/proc/sys",
}

func lacks(what string) Missing { return Missing{What: what, Fix: fixes[strings.Fields(what)[0]]} }

// bubblewraps are the places where a system's own bubblewrap lies. It is not looked for in PATH, which a
// project may change.
var bubblewraps = []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

func findBubblewrap() string {
	for _, p := range bubblewraps {
		if executable(p) == nil {
			return p
		}
	}
	return ""
}

// facts hold what a machine offers for the levels.
type facts struct {
	landlock   int // the version
	seccomp    bool
	bubblewrap string // where it lies
}

func look() facts {
	return facts{landlock: landlockABI(), seccomp: hasSeccomp(), bubblewrap: findBubblewrap()}
}

// means decides how a level is given with what there is: at which level the run is started, which is never a
// lower one, and with which bubblewrap.
func (f facts) means(l Level) (Level, string, error) {
	if !l.atLeast(Workspace) {
		return l, "", nil
	}
	var missing []Missing
	if !f.seccomp {
		missing = append(missing, lacks("seccomp"))
	}
	switch landlock := f.landlock >= enoughLandlock; {
	case l == Workspace && landlock && f.seccomp:
		return Workspace, "", nil
	case f.bubblewrap != "" && f.seccomp:
		return Strict, f.bubblewrap, nil // more than workspace, by other means
	case l == Workspace && !landlock:
		missing = append(missing, lacks(fmt.Sprintf("landlock ABI %d (there is %d)", enoughLandlock, f.landlock)))
	case l == Strict && f.bubblewrap == "":
		missing = append(missing, lacks("bubblewrap"))
	}
	return "", "", &Error{Kind: ErrLevel, Text: string(l), Missing: missing}
}

// Probe tells what this machine gives. It tries bubblewrap once, because its being there does not mean that
// it may work.
func Probe() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Kernel: kernelVersion()}
	found := look()
	abi := found.landlock
	wrap, wrapOK := probeBubblewrap()
	m.Layers = []LayerReport{
		{Name: "tree", OK: true, Detail: "subreaper: ends the whole process tree"},
		{Name: "rlimits", OK: true, Detail: "memory, file size, open files, processor time of each process"},
		{Name: "no_new_privs", OK: true},
		probeGroup(),
		{Name: "landlock", OK: abi >= enoughLandlock,
			Detail: "ABI " + strconv.Itoa(abi) + ", needed " + strconv.Itoa(enoughLandlock)},
		{Name: "seccomp", OK: found.seccomp, Detail: "filters on " + runtime.GOARCH},
		{Name: "bubblewrap", OK: wrapOK, Detail: wrap},
	}
	for _, l := range Levels() {
		r := LevelReport{Level: l, OK: true}
		got, with, err := found.means(l)
		switch {
		case err != nil:
			r.OK, r.Missing = false, missingOf(err)
		case with != "" && !wrapOK:
			r.OK, r.Missing = false, []Missing{lacks("bubblewrap that works (" + wrap + ")")}
		default:
			r.Means = meansText(got)
		}
		m.Levels = append(m.Levels, r)
	}
	return m
}

func probeGroup() LayerReport {
	r := LayerReport{Name: "cgroup"}
	parent, _, ok := findGroups()
	if r.OK = ok; ok {
		r.Detail = "limits the number of processes, in " + parent
	} else {
		r.Detail = "this user may make none; the number of processes is held by an rlimit of the user, and looked at"
	}
	return r
}

func missingOf(err error) []Missing {
	if e, ok := err.(*Error); ok {
		return e.Missing
	}
	return nil
}

func meansText(l Level) string {
	switch l {
	case None:
		return "tree"
	case Limits:
		return "tree, rlimits, no_new_privs"
	case Workspace:
		return "tree, rlimits, no_new_privs, landlock, seccomp"
	}
	if landlockABI() > 0 {
		return "tree, rlimits, no_new_privs, bubblewrap, landlock, seccomp"
	}
	return "tree, rlimits, no_new_privs, bubblewrap, seccomp"
}

func kernelVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// probeBubblewrap tells what there is of bubblewrap, and whether it may make the namespaces.
func probeBubblewrap() (detail string, ok bool) {
	path := findBubblewrap()
	if path == "" {
		return "not in " + strings.Join(bubblewraps, ", "), false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	version, _ := exec.CommandContext(ctx, path, "--version").Output()
	detail = strings.TrimSpace(string(version))
	cmd := exec.CommandContext(ctx, path, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
		"--", "/proc/self/exe", "--version")
	cmd.Env = []string{}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return strings.TrimSpace(detail + ": " + strings.TrimSpace(stderr.String()) + " (" + err.Error() + ")"), false
	}
	return detail, true
}

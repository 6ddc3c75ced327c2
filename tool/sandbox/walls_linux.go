package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// walls are the places that a run may reach at the levels workspace and strict. All paths are absolute and
// free of symbolic links.
type walls struct {
	Dir       string   `json:"dir"`
	Writable  []string `json:"writable"`
	Readable  []string `json:"readable"`
	Protected []string `json:"protected,omitempty"`
	Temp      string   `json:"temp"` // private, made for the run and removed after it; holds tmp and home
}

// programs are the directories of the system's programs and libraries.
var programs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store",
	"/gnu/store", "/snap"}

// settings lists the files that programs need to know of the system: names, certificates, time, fonts, their own
// defaults. It is a list and not all of /etc, which holds passwords and keys too.
var settings = []string{
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld-musl-x86_64.path",
	"/etc/ld-musl-aarch64.path", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf",
	"/etc/resolv.conf", "/etc/gai.conf", "/etc/protocols", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
	"/etc/ssl/cert.pem", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/pki/tls/certs",
	"/etc/pki/ca-trust", "/etc/pki/tls/openssl.cnf", "/etc/localtime", "/etc/timezone", "/etc/locale.conf",
	"/etc/default/locale", "/etc/mime.types", "/etc/magic", "/etc/terminfo", "/etc/inputrc", "/etc/fonts",
	"/etc/os-release", "/etc/debian_version", "/etc/lsb-release", "/etc/profile", "/etc/profile.d", "/etc/bash.bashrc",
	"/etc/gitconfig", "/etc/vimrc", "/etc/nanorc", "/etc/python3", "/etc/python3.11", "/etc/perl",
	"/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/maven",
}

// kernel are files by which programs learn what machine they are on.
var kernel = []string{"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
	"/sys/kernel/mm/transparent_hugepage"}

// devices are the harmless ones.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// newWalls makes the private directories of a run.
func newWalls(c Command, program string) (w walls, err error) {
	w = walls{Dir: c.Dir, Writable: c.Writable, Readable: c.Readable, Protected: c.Protected}
	if !under(program, programs) {
		// A program that was named is meant to run, wherever it lies. What it needs besides has to be named.
		if p, err := filepath.EvalSymlinks(program); err == nil {
			w.Readable = append(w.Readable, p)
		}
	}
	w.Readable = append(w.Readable, c.installations(program)...)
	temp, err := os.MkdirTemp("", "wield-run-")
	if err != nil {
		return w, err
	}
	if w.Temp, err = filepath.EvalSymlinks(temp); err != nil {
		return w, err
	}
	for _, dir := range []string{w.tmp(), w.home()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			removeTree(w.Temp)
			return w, err
		}
	}
	return w, nil
}

// beside are the directories of an installation beside that of its programs.
var beside = []string{"lib", "lib64", "libexec", "include", "Cellar", "opt"}

// installations lists what belongs to the programs that PATH leads to, where they are not the system's: a
// person's own interpreters, such as those of pyenv and nvm, need their libraries. It is the directory of the
// programs with those beside it, and for one of shims what the shims look into. A home as a whole is never
// among them.
func (c Command) installations(program string) []string {
	path, ok := lookup(c.Env, "PATH")
	if !ok {
		path = os.Getenv("PATH")
	}
	named := slices.Concat(c.Writable, c.Readable, []string{c.Dir}) // tools may have set links in there
	dirs := append(filepath.SplitList(path), filepath.Dir(program))
	if p, err := filepath.EvalSymlinks(program); err == nil &&
		(filepath.Base(filepath.Dir(p)) == "bin" || !passes(program, named)) { // a virtual environment has such links
		dirs = append(dirs, filepath.Dir(p))
	}
	home, _ := os.UserHomeDir()
	open := slices.Concat(programs, named)
	for _, dir := range dirs[:len(dirs):len(dirs)] {
		if filepath.IsAbs(dir) && !under(dir, open) {
			dirs = append(dirs, linked(dir, named)...)
		}
	}
	var list, ways []string
	add := func(way string) {
		p, err := filepath.EvalSymlinks(way)
		if err != nil || isTop(p) || under(home, []string{p}) || under(p, open) || passes(way, named) {
			return
		}
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
		if way = filepath.Clean(way); way != p && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		parent := filepath.Dir(filepath.Clean(dir))
		switch filepath.Base(dir) {
		case "shims":
			add(parent)
		case "bin", "sbin":
			add(dir)
			if under(home, []string{parent}) {
				continue // its lib is a person's own
			}
			for _, name := range beside {
				add(filepath.Join(parent, name))
			}
		default:
			add(dir)
		}
	}
	open = slices.Concat(open, list)
	for _, way := range ways {
		if !under(way, open) { // a link on the way can be seen only if it lies in what is open
			list = append(list, way)
		}
	}
	return list
}

// linked lists the programs to which links of a directory of programs lead, such as those that uv and pipx make, and
// what these lead to in turn. A directory of programs stands for those in it; of any other one nothing else is shown.
// What tools can change decides nothing: a link that they set would show them more.
func linked(dir string, named []string) (list []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 || passes(filepath.Join(dir, e.Name()), named) {
			continue
		}
		for at, hops := filepath.Join(dir, e.Name()), 0; hops < mostHops && len(list) < mostLinked; hops++ {
			to, err := os.Readlink(at)
			if err != nil {
				break
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			at = filepath.Clean(to)
			info, err := os.Stat(at) // #nosec G703 -- it is only looked at
			if to = filepath.Dir(at); filepath.Base(to) != "bin" {
				to = at
			}
			if err == nil && runnable(info) && !under(to, []string{dir}) && !slices.Contains(list, to) {
				list = append(list, to)
			}
		}
	}
	return list
}

// passes reports whether the way to a file leads through one of some directories, by whatever links.
func passes(way string, dirs []string) bool {
	at, rest := "/", strings.Split(way, "/")
	for hops := 0; len(rest) > 0; {
		at, rest = filepath.Join(at, rest[0]), rest[1:]
		if under(at, dirs) {
			return true
		}
		to, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if hops++; hops > mostHops {
			return true
		}
		if at = filepath.Dir(at); filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return false
}

// Links are followed only so far: each place is one more rule for the kernel.
const (
	mostHops   = 8
	mostLinked = 100
)

func (w walls) tmp() string  { return filepath.Join(w.Temp, "tmp") }
func (w walls) home() string { return filepath.Join(w.Temp, "home") }

// environ points the program to its private directories. A home that may be read stays.
func (w walls) environ(env []string) []string {
	env = setenv(env, "TMPDIR", w.tmp())
	home, ok := lookup(env, "HOME")
	if p, err := filepath.EvalSymlinks(home); ok && err == nil &&
		under(p, slices.Concat(w.Readable, w.Writable, []string{w.Dir})) {
		return env
	}
	return setenv(env, "HOME", w.home())
}

// readable lists what may be read, and run; what does not exist is left out.
func (w walls) readable() []string {
	list := slices.Concat(programs, settings, w.Readable)
	if !isTop(w.Dir) {
		list = append(list, w.Dir)
	}
	return existing(list)
}

// writable lists what may be changed.
func (w walls) writable() []string { return slices.Concat(w.Writable, []string{w.Temp}) }

func existing(paths []string) []string {
	var found []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			found = append(found, p)
		}
	}
	return found
}

// bubblewrap returns the command line that builds the namespaces.
func (w walls) bubblewrap(s *spec) []string {
	args := []string{"bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev",
		"/dev", "--tmpfs", "/tmp"}
	if s.Net {
		args = append(args, "--share-net")
	}
	for _, b := range w.binds() {
		args = append(args, b.args()...)
	}
	return append(args, "--chdir", s.Dir, "--", "/proc/self/fd/"+strconv.Itoa(innerSelfFD), hidden, inner)
}

// A bind is something of the machine that is to be seen inside.
type bind struct {
	from, to string
	writable bool
	fixed    bool // read-only inside of what is writable
	link     bool // from is the text of a symbolic link
}

func (b bind) args() []string {
	switch {
	case b.link:
		return []string{"--symlink", b.from, b.to}
	case b.writable && !b.fixed:
		return []string{"--bind", b.from, b.to}
	}
	return []string{"--ro-bind", b.from, b.to}
}

// binds lists them in the order in which they have to be made: a directory before what lies in it.
func (w walls) binds() []bind {
	var list []bind
	for _, p := range w.readable() {
		list = append(list, seen(p))
	}
	for _, p := range existing(kernel) {
		list = append(list, seen(p))
	}
	for _, p := range w.writable() {
		list = append(list, bind{from: p, to: p, writable: true})
	}
	for _, p := range points(w.Protected, w.Writable) {
		list = append(list, bind{from: p, to: p, fixed: slices.Contains(w.Protected, p),
			writable: !slices.Contains(w.Protected, p)})
	}
	// What may be written goes last at its place, so that it wins over being readable, and what is protected
	// behind that.
	slices.SortStableFunc(list, func(a, b bind) int {
		if c := strings.Compare(a.to, b.to); c != 0 {
			return c
		}
		return order(a.writable) + 2*order(a.fixed) - order(b.writable) - 2*order(b.fixed)
	})
	return list
}

func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// seen is something that may be read. /bin is a link on most systems, and /etc/resolv.conf leads out of /etc on many.
func seen(p string) bind {
	info, err := os.Lstat(p)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return bind{from: p, to: p}
	}
	if target, err := os.Readlink(p); err == nil && slices.Contains(programs, p) {
		return bind{from: target, to: p, link: true}
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		real = p
	}
	return bind{from: real, to: p}
}

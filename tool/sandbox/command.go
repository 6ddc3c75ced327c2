package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Level limits what a run can do.
type Level string

// The levels, from the weakest. Each one holds what those before it hold.
const (
	// None only keeps the tree together: it ends as a whole. The environment, the input and the output are as for all.
	None Level = "none"
	// Limits adds limits of memory, processes, files and time, and takes away the ways to gain privileges.
	Limits Level = "limits"
	// Workspace adds: nothing outside the given directories and the system's programs is read or written,
	// nothing reaches the network or the sockets of other programs, no other process is touched.
	Workspace Level = "workspace"
	// Strict adds: nothing else is even visible. No process, no file, no shared memory of anybody else.
	Strict Level = "strict"
)

// Levels lists all levels from the weakest.
func Levels() []Level { return []Level{None, Limits, Workspace, Strict} }

// atLeast reports whether a level holds what another one promises.
func (l Level) atLeast(other Level) bool {
	return slices.Index(Levels(), l) >= slices.Index(Levels(), other)
}

// A Command is a program to run.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked for in the PATH of Env, in
	// directories with absolute names only; one with a slash is taken from Dir.
	Argv []string
	// Dir is the directory to run in; it may be read at every level, unless it is the top of everything.
	// Empty means the caller's.
	Dir string
	// Env is the whole environment, as "NAME=value". Nothing is inherited. nil means what Environ() gives.
	Env []string
	// The program reads Stdin; nil is an empty input, never the terminal. If it is an *os.File, the
	// program gets the file itself.
	Stdin io.Reader
	// Stdout and Stderr get the output while it is written, each from one goroutine; nil discards it. If both
	// are the same, the order of the lines is kept. A writer that fails ends the run.
	Stdout, Stderr io.Writer
	// Level must hold; empty means Workspace.
	Level Level
	// Limits of the run.
	Limits ProcessLimits
	// Net allows TCP and UDP at the levels workspace and strict. Sockets of other programs on this machine stay closed.
	Net bool
	// Writable are directories and files that may be changed at the levels workspace and strict; they must exist.
	Writable []string
	// Readable are directories and files that may be read at those levels, besides Dir, Writable and the system's own.
	Readable []string
	// Protected are directories and files that stay as they are from the level limits on, though they lie in
	// Writable. What is Writable inside of one stays so; what does not exist is left out. It takes a mount
	// namespace: where the machine gives none, the layer read-only is missing in [Effective].
	Protected []string
}

// A ProcessLimits bounds a run. Zero stands for the default; a negative number, such as [wield/chat.NoLimit],
// turns a limit off. The defaults for memory, processes and files hold from the level Limits on.
type ProcessLimits struct {
	// Time ends the run. The context can do so earlier. Default: none.
	Time time.Duration
	// Grace is the time between asking the tree to end and ending it. Default: 2 s.
	Grace time.Duration
	// Output limits the bytes of each stream that the writers get. Default: 1 MiB.
	Output int64
	// Excess limits the bytes beyond Output, of both streams, that are read and dropped before the run is ended.
	// Default: 64 MiB.
	Excess int64
	// Memory is the most bytes of one process (its writable data, enforced by the kernel) and of all together
	// (their private memory, what they share, and files that are kept in memory, looked at ten times a
	// second). Default: 4 GiB.
	Memory int64
	// Processes is the most processes at once, looked at ten times a second. Default: 1024.
	Processes int
	// FileSize is the largest file that may be written. Default: 4 GiB.
	FileSize int64
	// OpenFiles is the most open files of a process. Default: 4096.
	OpenFiles int
	// CPU is the most time on a processor of one process, rounded up to seconds. Default: none.
	CPU time.Duration
}

// Defaults of Limit.
const (
	defaultGrace     = 2 * time.Second
	defaultOutput    = 1 << 20
	defaultExcess    = 64 << 20
	defaultMemory    = 4 << 30
	defaultProcesses = 1024
	defaultFileSize  = 4 << 30
	defaultOpenFiles = 4096
)

// The least that a limit may be: below, the supervisor itself would suffer, or no program would start.
const (
	leastMemory    = 64 << 20
	leastOpenFiles = 64
)

// filled returns the limits with the defaults in place; what has none is 0 then.
func (l ProcessLimits) filled(level Level) ProcessLimits {
	l.Grace = or(l.Grace, defaultGrace)
	l.Output = unlimited(or(l.Output, defaultOutput))
	l.Excess = unlimited(or(l.Excess, defaultExcess))
	l.Time, l.CPU = max(l.Time, 0), max(l.CPU, 0)
	limited := level.atLeast(Limits)
	l.Memory = orIf(limited, l.Memory, defaultMemory)
	l.Processes = orIf(limited, l.Processes, defaultProcesses)
	l.FileSize = orIf(limited, l.FileSize, defaultFileSize)
	l.OpenFiles = orIf(limited, l.OpenFiles, defaultOpenFiles)
	return l
}

func or[T time.Duration | int64](v, def T) T {
	if v == 0 {
		return def
	}
	return max(v, 0)
}

// unlimited makes the largest number of what or left at 0 because no limit was wanted.
func unlimited(v int64) int64 {
	if v == 0 {
		return 1<<63 - 1
	}
	return v
}

func orIf[T int | int64](def bool, v, d T) T {
	if v == 0 && def {
		return d
	}
	return max(v, 0)
}

// marker is the name of the variable that every process of a run has in its environment. Its value is the run's own.
const marker = "WIELD_RUN"

// inherited are the variables that Environ takes over: what programs need to find themselves and to write
// text, and nothing that tells who somebody is to a service.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
	"TZ", "TERM", "TMPDIR", "NO_COLOR", "SYSTEMROOT", "PATHEXT", "TEMP", "TMP", "USERPROFILE"}

// Environ returns an environment for a Command: the few variables of the caller that every program needs, and
// those that are named besides. Names, not patterns, so that no secret slips through.
func Environ(names ...string) []string {
	var env []string
	for _, name := range slices.Concat(inherited, names) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// lookup returns the value of a variable; the last one counts.
func lookup(env []string, name string) (string, bool) {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// checked returns the command with every default filled in and every path absolute, or what is wrong with it.
func (c Command) checked() (Command, error) {
	if err := c.words(); err != nil {
		return c, err
	}
	if c.Level == "" {
		c.Level = Workspace
	}
	if !slices.Contains(Levels(), c.Level) {
		return c, badCommand("there is no level %q; the levels are none, limits, workspace and strict", c.Level)
	}
	if c.Env == nil {
		c.Env = Environ()
	}
	if m := c.Limits.Memory; m > 0 && m < leastMemory {
		return c, badCommand("a limit of %d bytes of memory is too small; the least is %d", m, leastMemory)
	}
	if n := c.Limits.OpenFiles; n > 0 && n < leastOpenFiles {
		return c, badCommand("a limit of %d open files is too small; the least is %d", n, leastOpenFiles)
	}
	c.Limits = c.Limits.filled(c.Level)
	var err error
	if c.Dir, err = directory(c.Dir); err != nil {
		return c, err
	}
	for _, list := range []*[]string{&c.Writable, &c.Readable} {
		*list = slices.Clone(*list)
		for i, p := range *list {
			if (*list)[i], err = real(p); err != nil {
				return c, err
			}
			if isTop((*list)[i]) && c.Level.atLeast(Workspace) {
				return c, badCommand("with all of %s open there are no walls; name the directories that the program "+
					"needs", (*list)[i])
			}
		}
	}
	c.Protected = c.protected()
	return c, nil
}

// protected returns what is to be protected and can be changed at all, free of symbolic links, each once. In the place
// of what lies in a directory that may not be searched stands that directory, whose mode a process could change.
func (c Command) protected() []string {
	if !c.Level.atLeast(Limits) {
		return nil
	}
	var list []string
	for _, name := range c.Protected {
		p, err := real(name)
		for errors.Is(err, fs.ErrPermission) && name != "/" {
			name = filepath.Dir(name)
			p, err = real(name)
		}
		if err == nil && !isTop(p) && !slices.Contains(list, p) &&
			(!c.Level.atLeast(Workspace) || under(p, c.Writable) ||
				slices.ContainsFunc(c.Writable, func(w string) bool { return under(w, []string{p}) })) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// words checks what no system could pass on to a program.
func (c Command) words() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return badCommand("there is no program to run")
	}
	for i, a := range c.Argv {
		if strings.Contains(a, "\x00") {
			return badCommand("argument %d holds a NUL byte", i)
		}
	}
	for _, v := range c.Env {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.Contains(v, "\x00") {
			return badCommand("the environment holds an entry that is not NAME=value: %q", name)
		}
	}
	return nil
}

func directory(dir string) (string, error) {
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return "", &Error{Kind: ErrCommand, Err: err}
		}
		dir = wd
	}
	p, err := real(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(p); err != nil {
		return "", &Error{Kind: ErrCommand, Err: err}
	} else if !info.IsDir() {
		return "", badCommand("%s is no directory to run in", p)
	}
	return p, nil
}

// real makes a path absolute and free of symbolic links: walls are built around what a path means now.
func real(p string) (string, error) {
	abs, err := filepath.Abs(p)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", &Error{Kind: ErrCommand, Text: fmt.Sprintf("%q", p), Err: err}
	}
	return abs, nil
}

// under reports whether a path lies in or below one of the directories.
func under(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
	})
}

// isTop reports whether a path is the top of a file system tree.
func isTop(p string) bool { return filepath.Dir(p) == p }

// program finds the file of the program.
func (c Command) program() (string, error) {
	name := c.Argv[0]
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		if err := executable(name); err != nil {
			return "", &Error{Kind: ErrNotFound, Text: fmt.Sprintf("%q", c.Argv[0]), Err: err}
		}
		return name, nil
	}
	path, ok := lookup(c.Env, "PATH")
	if !ok {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // the directory of a workspace is no place to find programs in by accident
		}
		for _, file := range candidates(filepath.Join(dir, name)) {
			if executable(file) == nil {
				return file, nil
			}
		}
	}
	return "", &Error{Kind: ErrNotFound, Text: fmt.Sprintf("%q is in no directory of PATH", c.Argv[0])}
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", file)
	case !runnable(info):
		return fmt.Errorf("%s is not executable", file)
	}
	return nil
}

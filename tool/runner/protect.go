package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"wield/tool/guarded"
	"wield/tool/internal/guardedfiles"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

// A Box says how the processes of tools are held.
type Box struct {
	Level    sandbox.Level         // empty: workspace
	Limits   sandbox.ProcessLimits // for what a tool does not limit itself
	Readable []string              // what processes may read beyond the workspace and the system's own
	Writable []string              // what they may change beyond the workspace and the temporary directory
	// what they never change: the configuration, directories of tools, registries; absolute
	Protected []string
	// wield's own directory, with the journal: closed where no wall does that; empty: there is none
	Data    string
	Guarded *guarded.Store // of what they have changed all the same; nil: it is only told
	// directory of what they keep for the next run, such as compiled packages; empty: none outlives the program
	Cache string

	seen *seenFiles // by all watches; nil: each knows what it finds itself
}

// A Watch keeps processes from what decides about tools or runs later: it says what is read-only for them, and compares
// what they have changed all the same. Its methods may be called by several goroutines; nil watches nothing.
type Watch struct {
	Lasting bool // the processes run on between calls, while wield itself changes its data

	box  *Box
	dirs []string // of the person's, which the processes may change
	git  string   // where git keeps what belongs to the first one; empty: in it

	mu      sync.Mutex
	running int
	gitOnly bool // nothing but git runs, or has run, since the last look
	found   guardedfiles.Found
	was     guardedfiles.Snapshot
}

// Watch returns a watch over processes that work in a workspace and may change files in some directories. Below the
// level workspace no wall keeps them from the workspace, and what belongs to its repository.
func (b *Box) Watch(root string, writable ...string) *Watch {
	w := &Watch{box: b}
	if root != "" && (b.Level == sandbox.None || b.Level == sandbox.Limits) {
		root, w.git = guardedfiles.Project(root)
		writable = append([]string{root}, writable...)
	}
	for _, dir := range writable {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		cache := b.Cache != "" && strings.HasPrefix(dir+"/", b.Cache+"/")
		if cache || slices.Contains(b.Writable, dir) && !isRepository(dir) || slices.Contains(w.dirs, dir) {
			continue
		}
		w.dirs = append(w.dirs, dir)
	}
	return w
}

// isRepository reports whether a directory is the top of a working tree.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// find lists what the processes must not change.
func (w *Watch) find() guardedfiles.Found {
	list := guardedfiles.Found{All: true}
	if w.git != "" {
		list.Files = append(list.Files, w.git)
	}
	for _, dir := range w.dirs {
		list = list.And(w.box.seen.add(dir, guardedfiles.Find(dir)))
		for _, p := range w.box.Protected {
			if !strings.HasPrefix(dir+"/", p+"/") && !slices.Contains(list.Files, p) {
				// a workspace among the tools would be closed as a whole
				list.Files = append(list.Files, p)
			}
		}
	}
	return list
}

// A seenFiles keeps what was found in directories, so that no crowd of files that a process makes keeps a later search
// from what an earlier one has found.
type seenFiles struct {
	mu    sync.Mutex
	found map[string]guardedfiles.Found // by directory
	crowd map[string]bool               // where there are more than that, as was told
}

// isCrowd reports whether to tell that not all files of directories are looked at: once, until they are again.
func (s *seenFiles) isCrowd(dirs string, before, now bool) bool {
	if s == nil {
		return before && !now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.crowd[dirs]
	if s.crowd == nil {
		s.crowd = map[string]bool{}
	}
	s.crowd[dirs] = !now
	return !now && !told
}

// add returns what was found now, and, if that is not all, what was found before and is still there.
func (s *seenFiles) add(dir string, found guardedfiles.Found) guardedfiles.Found {
	if s == nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !found.All {
		before := s.found[dir]
		found.Files = stillThere(found.Files, before.Files)
		found.Repositories = stillThere(found.Repositories, before.Repositories)
	}
	if s.found == nil {
		s.found = map[string]guardedfiles.Found{}
	}
	s.found[dir] = found
	return found
}

// stillThere adds to paths those of before that are missing among them, unless they are gone: what cannot be looked at
// may be there again soon.
func stillThere(paths, before []string) []string {
	known := make(map[string]bool, len(paths))
	for _, p := range paths {
		known[p] = true
	}
	for _, p := range before {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) && !known[p] {
			paths = append(paths, p)
		}
	}
	return paths
}

// Begin looks at the files before a process starts, and makes read-only for it what it must not change. Git alone
// writes into a repository, and not even git what names programs there.
func (w *Watch) Begin(cmd *sandbox.Command) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.find()
	if w.running++; w.running == 1 {
		w.found, w.was = found, guardedfiles.Take(found)
	}
	git := onlyGit(cmd.Argv)
	w.gitOnly = git && (w.gitOnly || w.running == 1)
	cmd.Protected = append(cmd.Protected, w.box.data()...)
	for _, p := range found.Files {
		switch {
		case isLink(p) && slices.Contains(w.box.Protected, p):
			// It can be replaced all the same, and where it leads to is in the list too.
		case isLink(p) && guardedfiles.Leads(filepath.Base(p)):
			// Only what is guarded behind it is closed.
		case git && filepath.Base(p) == ".git":
			cmd.Protected = append(cmd.Protected, guardedfiles.Git(p)...)
		default:
			cmd.Protected = append(cmd.Protected, p)
		}
	}
}

// End compares when a process has ended. It returns what a person is told.
func (w *Watch) End(by string) string {
	if w == nil {
		return ""
	}
	text := w.Compare(by)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	return text
}

// mostNamed bounds how many files are named to a person.
const mostNamed = 20

// Compare tells what was changed since the last look, and holds it back. A process may run on.
func (w *Watch) Compare(by string) string {
	if w == nil || len(w.dirs) == 0 {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.find()
	changes := w.was.Changes(guardedfiles.Take(found.And(w.found)))
	if w.Lasting || w.box.Level != sandbox.None { // walls keep everybody else from there
		changes = slices.DeleteFunc(changes, func(c guardedfiles.Change) bool {
			return w.box.Data != "" && strings.HasPrefix(c.Path, w.box.Data+"/")
		})
	}
	if w.gitOnly {
		changes = slices.DeleteFunc(changes, func(c guardedfiles.Change) bool { return guardedfiles.OfGit(c.Path) })
	}
	text := ""
	if w.box.seen.isCrowd(strings.Join(w.dirs, "\x00"), w.found.All, found.All) {
		text = "wield: there are more files in " + strings.Join(w.dirs, ", ") +
			" than wield looks at, so changes of files that decide about tools, or run later, can be missed\n"
	}
	w.found, w.was = found, guardedfiles.Take(found)
	if w.Lasting && w.box.Guarded != nil {
		changes = slices.DeleteFunc(changes, func(c guardedfiles.Change) bool { // another one has told it
			_, is, _ := w.box.Guarded.Pending(c.Path)
			return is
		})
	}
	if len(changes) == 0 {
		return text
	}
	var names []string
	for _, c := range changes[:min(len(changes), mostNamed)] {
		names = append(names, policy.Visible(c.Path))
	}
	if more := len(changes) - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	text += "wield: changed, though it decides about tools or is run by other programs later: " +
		strings.Join(names, ", ") + ". Look at it; wield tool accept PATH agrees to it\n"
	if w.box.Guarded != nil {
		sums := make(map[string]string, len(changes))
		for _, c := range changes {
			sums[c.Path] = c.Sum
		}
		if err := w.box.Guarded.AddPending(by, sums); err != nil {
			text += "wield: " + err.Error() + "\n"
		}
	}
	return text
}

// data returns wield's own directory at the one level where a process could reach it and mounts are made. Wield itself
// writes there meanwhile, so that there is nothing to compare.
func (b *Box) data() []string {
	if b.Level != sandbox.Limits || b.Data == "" {
		return nil
	}
	return []string{b.Data}
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// besideGit are programs that may stand beside git in a line: they write nothing but what a redirection says.
var besideGit = []string{"cd", "echo", "printf", "true", "cat", "test", "["}

// oddEnd finds an end of a line that the parser reads in another way than shells do.
var oddEnd = regexp.MustCompile(`\r|\$\w*\\\n|(?s:<<.*\\\n)`)

// onlyGit reports whether a command, or each one of a line for a shell, is git.
func onlyGit(argv []string) bool {
	if len(argv) != 3 || argv[1] != "-c" || filepath.Base(argv[0]) != "sh" {
		return len(argv) > 0 && filepath.Base(argv[0]) == "git"
	}
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(argv[2]), "")
	only, git := err == nil && !oddEnd.MatchString(argv[2]), false
	if file == nil {
		return false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			only = false
		case *syntax.Stmt: // shells run what stands behind a comment that ends in a backslash
			only = only && !slices.ContainsFunc(n.Comments, func(c syntax.Comment) bool {
				return strings.HasSuffix(c.Text, "\n")
			})
		case *syntax.Comment:
			only = only && !strings.HasSuffix(n.Text, "\n")
		case *syntax.Redirect:
			only = only && (n.Op == syntax.DplOut || n.Op == syntax.RdrIn || n.Op == syntax.Hdoc ||
				n.Op == syntax.DashHdoc || n.Word.Lit() == "/dev/null")
		case *syntax.CallExpr:
			if len(n.Args) == 0 || len(n.Assigns) > 0 {
				only = false
				break
			}
			name := n.Args[0].Lit()
			git = git || name == "git"
			only = only && (name == "git" || slices.Contains(besideGit, name))
		}
		return only
	})
	return only && git
}

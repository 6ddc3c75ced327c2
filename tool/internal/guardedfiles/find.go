package guardedfiles

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// mostLooked bounds how many entries of a workspace are looked at, so that a process starts soon in a huge one.
const mostLooked = 20_000

// passed are directories of what was installed or built, which are not looked into.
var passed = []string{"node_modules", "__pycache__", ".venv", "venv", "vendor", "target", "dist", "site-packages",
	".tox", ".cache"}

// Found holds the result of a search.
type Found struct {
	Files []string // files and directories that are guarded, nearest to the root first
	// Repositories are directories that git takes for a repository by what lies in them, under whatever name. Of such a
	// one only the parts that name programs are guarded, and that it is there.
	Repositories []string
	All          bool // nothing was left out
}

// And returns both.
func (f Found) And(more Found) Found {
	return Found{slices.Concat(f.Files, more.Files), slices.Concat(f.Repositories, more.Repositories),
		f.All && more.All}
}

// Find searches below root. It does not look into a directory that is guarded itself, and what was installed or built
// it searches last, for repositories alone. It looks at 20 000 entries at most.
func Find(root string) Found { return find(root, mostLooked) }

func find(root string, most int) Found {
	s := search{root: root, left: most, entered: map[string]bool{}}
	dirs, objects := []string{root}, []string(nil)
	for ; len(dirs)+len(objects) > 0 && s.left > 0; dirs = dirs[1:] {
		if len(dirs) == 0 {
			dirs, objects = objects, nil
		}
		entries, bare := s.read(dirs[0])
		for _, e := range entries {
			path := filepath.Join(dirs[0], e.Name())
			switch {
			case whole(root, path):
				s.add(path)
			case Leads(e.Name()) && e.Type()&fs.ModeSymlink != 0:
				s.found.Files = append(s.found.Files, path)
				if to := s.within(path); isDir(to) && !s.entered[to] { // links can lead in circles
					s.entered[to] = true
					dirs = slices.Insert(dirs, 1, path)
				}
			case Leads(e.Name()) && e.IsDir():
				dirs = slices.Insert(dirs, 1, path) // at once: a crowd of other entries must not hide it
			case !e.IsDir() || bare && slices.Contains(gitParts, e.Name()):
			case slices.Contains(passed, e.Name()):
				s.installed = append(s.installed, path)
			case bare && e.Name() == "objects":
				// Searched late, as there can be many, but searched: any process can make such a directory.
				objects = append(objects, path)
			default:
				dirs = append(dirs, path)
			}
		}
	}
	for ; len(s.installed) > 0 && s.left > 0; s.installed = s.installed[1:] {
		entries, _ := s.read(s.installed[0])
		for _, e := range entries {
			path := filepath.Join(s.installed[0], e.Name())
			switch {
			case slices.Contains(decidingDirs, strings.ToLower(e.Name())):
				s.add(path)
			case e.IsDir():
				s.installed = append(s.installed, path)
			}
		}
	}
	s.found.All = len(dirs)+len(objects)+len(s.installed) == 0 && !s.failed
	return s.found
}

// A search looks for guarded files.
type search struct {
	root      string
	left      int             // how many entries it may still look at
	entered   map[string]bool // directories by links
	found     Found
	installed []string // directories of what was installed or built
	failed    bool     // a directory could not be read, for example since its path is too long
}

// read returns the entries of a directory, and whether git takes it for a repository. One that cannot be listed
// or searched is guarded as a whole: others open the files in it by name, or once a process has changed its mode.
func (s *search) read(dir string) (entries []fs.DirEntry, bare bool) {
	entries, err := os.ReadDir(dir)
	if err == nil {
		_, err = os.Lstat(dir + "/.") // one that can be listed, but not searched, hides what lies in it too
	}
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // the root may be a file
	case errors.Is(err, fs.ErrPermission):
		s.found.Files = append(s.found.Files, dir)
		return nil, false
	default:
		s.failed = true
	}
	s.left -= len(entries) + 1
	if bare = IsRepository(dir); bare {
		for _, part := range Git(dir) { // what it holds of other working trees is found once more
			if !slices.Contains(s.found.Files, part) {
				s.found.Files = append(s.found.Files, part)
			}
		}
		s.found.Repositories = append(s.found.Repositories, dir)
	}
	return entries, bare
}

// add notes what is guarded itself, what it is a link to, and what the configuration of a repository names.
func (s *search) add(path string) {
	if dir := s.within(filepath.Dir(path)); dir != "" { // behind a link: it is named once, by the place where it lies
		if path = filepath.Join(dir, filepath.Base(path)); slices.Contains(s.found.Files, path) {
			return
		}
	}
	s.found.Files = append(s.found.Files, path)
	to, git := s.within(path), filepath.Base(path) == ".git"
	switch {
	case to == "" || slices.Contains(s.found.Files, to):
	case git:
		s.found.Files = append(s.found.Files, Git(to)...)
	default:
		s.found.Files = append(s.found.Files, to)
	}
	if git {
		s.found.Files = append(s.found.Files, named(s.root, path)...)
	}
}

// within returns where a path really leads, if that is another place below root that does not hold the path itself.
func (s *search) within(path string) string {
	to, err := filepath.EvalSymlinks(path)
	if err != nil || to == path || !strings.HasPrefix(to, s.root+string(filepath.Separator)) ||
		strings.HasPrefix(path, to+string(filepath.Separator)) {
		return ""
	}
	return to
}

// IsRepository reports whether git takes a directory for a repository by what lies in it, under whatever name: one
// without a working tree, or that of a working tree elsewhere. Each part may be a link, and of a repository with a
// commondir the objects lie elsewhere.
func IsRepository(dir string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// named returns the files below root that the configuration of a repository, or of its user, names, and what that
// includes: the directory of its hooks, further configuration, and programs.
func named(root, git string) (found []string) {
	tree := filepath.Dir(git)
	files := gitConfigs(git)
	for i := 0; i < len(files) && i < mostConfigs; i++ {
		text, _ := read(files[i], mostConfig)
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(section.ReplaceAllString(line, ""), "=")
			key = strings.ToLower(strings.TrimSpace(key))
			words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'!;", r) })
			from, place := tree, key == "path" || key == "hookspath"
			if place {
				if words = []string{unquote(value)}; words[0] == "" {
					continue
				}
			}
			if key == "path" { // of an include
				from = filepath.Dir(files[i])
			}
			for _, word := range words {
				word = absolute(word, from)
				info, err := os.Stat(word)
				if !place && (err != nil || info.IsDir()) {
					continue // it names no program of this working tree; the others need not be there yet
				}
				if key == "path" && !slices.Contains(files, word) {
					files = append(files, word)
				}
				if strings.HasPrefix(word, root+string(filepath.Separator)) && !slices.Contains(found, word) {
					found = append(found, word)
				}
			}
		}
	}
	return found
}

// section is the name of a section of git's configuration, which a key may follow in the same line.
var section = regexp.MustCompile(`^\s*\[[^\]"]*(?:"(?:[^"\\]|\\.)*")?\s*\]`)

// unquote returns a value of git's configuration without its quotes and the comment behind it.
func unquote(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}

// absolute returns where a path of git's configuration leads.
func absolute(path, from string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	return filepath.Clean(path)
}

// gitConfigs lists the files of settings that git reads, without those that they include.
func gitConfigs(git string) []string {
	dirs := []string{git}
	if to := linked(git); to != "" {
		_, main := Project(filepath.Dir(git))
		dirs = append(dirs, to, main)
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"))
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		files = append(files, filepath.Join(dir, "git", "config"))
	}
	return append(files, "/etc/gitconfig")
}

// mostConfigs bounds how many files of settings are read.
const mostConfigs = 100

// mostConfig bounds how much of a configuration is read.
const mostConfig = 1 << 20

// read returns the beginning of a regular file. It never waits: a tool may have put a pipe in its place.
func read(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, fs.ErrInvalid)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// Project returns the top of the repository that a directory lies in, or the directory itself, and where else git
// keeps what belongs to it: for a linked working tree, or a submodule, that is another repository.
func Project(dir string) (top, git string) {
	for top = dir; !there(filepath.Join(top, ".git")); top = filepath.Dir(top) {
		if filepath.Dir(top) == top {
			return dir, ""
		}
	}
	to := linked(filepath.Join(top, ".git"))
	if to == "" {
		return top, ""
	}
	for git = to; filepath.Base(git) != ".git"; git = filepath.Dir(git) {
		if filepath.Dir(git) == git {
			return top, to
		}
	}
	return top, git
}

// linked returns the directory that a .git names if it is a file; else "".
func linked(git string) string {
	text, _ := read(git, mostConfig)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(git), to)
	}
	return filepath.Clean(to)
}

// whole reports whether a path below root is guarded itself, and does not only lead to what is.
func whole(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return false
	}
	names := strings.Split(strings.ToLower(filepath.ToSlash(rel)), "/")
	c, _ := Of(names)
	if c != Later {
		return c == Decides
	}
	c, _ = Of(append(names, "x")) // what only leads to one has nothing else in it
	return c == Later
}

// gitParts are those of a repository that name programs which git runs.
var gitParts = []string{"hooks", "config", "config.worktree", "info", "commondir"}

// Git lists the parts of a repository that name programs which git runs, by the path of its .git. Of what git
// keeps besides, such as commits, it is git alone that makes sense.
func Git(dir string) []string {
	var found []string
	for _, dir := range repositories(dir) {
		for _, part := range gitParts {
			if p := filepath.Join(dir, part); there(p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// repositories lists a .git and what it holds of submodules and other working trees.
func repositories(git string) []string {
	found := []string{git}
	for _, more := range []string{"modules", "worktrees"} {
		filepath.WalkDir(filepath.Join(git, more), func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case err != nil || !d.IsDir():
			case (name == "objects" || name == "refs" || name == "logs") &&
				there(filepath.Join(filepath.Dir(path), "HEAD")):
				return fs.SkipDir
			case there(filepath.Join(path, "HEAD")):
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

// gitState lists the files with which git continues an interrupted operation and finds objects elsewhere. They name
// options, programs and places. Only git writes them.
var gitState = []string{"rebase-merge", "rebase-apply", "sequencer", "objects/info/alternates",
	"objects/info/http-alternates", "gitdir"}

// todo lists the next steps of a rebase that was interrupted. Git writes it, and runs the commands in it.
const todo = "rebase-merge/git-rebase-todo"

// todoCommands are the lines of a todo that run a command.
var todoCommands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(exec|x)\s.*$`) })

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

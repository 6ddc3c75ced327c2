package guarded

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostLooked bounds how many entries of a workspace are looked at, so that a process starts soon in a huge one.
const mostLooked = 20_000

// passed are directories of what was installed or built, which are not looked into.
var passed = []string{"node_modules", "__pycache__", ".venv", "venv", "vendor", "target", "dist", "site-packages", ".tox", ".cache"}

// Find lists the files and directories below root that are guarded, nearest to the root first. Of a directory
// that is guarded itself, and of one that holds what was installed, it looks at nothing inside. It looks at
// 20 000 entries at most.
func Find(root string) []string { return find(root, mostLooked) }

func find(root string, most int) []string {
	var found []string
	looked := 0
	for dirs := []string{root}; len(dirs) > 0 && looked < most; dirs = dirs[1:] {
		entries, _ := os.ReadDir(dirs[0])
		looked += len(entries)
		bare := isRepository(entries)
		if bare {
			found = append(found, Git(dirs[0])...)
		}
		for _, e := range entries {
			path := filepath.Join(dirs[0], e.Name())
			switch {
			case whole(root, path):
				if found = append(found, path); e.Name() == ".git" {
					found = append(found, hooks(root, path)...)
				}
			case leads(e.Name()) && e.IsDir():
				dirs = slices.Insert(dirs, 1, path) // at once: a crowd of other entries must not hide it
			case e.IsDir() && !bare && !slices.Contains(passed, e.Name()):
				dirs = append(dirs, path)
			}
		}
	}
	return found
}

// isRepository reports whether a directory is what git takes for a repository, under whatever name: one without
// a working tree, or that of a working tree elsewhere.
func isRepository(entries []fs.DirEntry) bool {
	parts := 0
	for _, e := range entries {
		if name := e.Name(); name == "HEAD" || e.IsDir() && (name == "objects" || name == "refs") {
			parts++
		}
	}
	return parts == 3
}

// hooks returns the directory below root that the configuration of a repository names for its hooks, if it does.
func hooks(root, git string) []string {
	text, _ := os.ReadFile(filepath.Join(git, "config"))
	var found []string
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "hooksPath") {
			continue
		}
		dir := strings.Trim(strings.TrimSpace(value), `"`)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(git), dir)
		}
		if dir = filepath.Clean(dir); strings.HasPrefix(dir, root+string(filepath.Separator)) {
			found = append(found, dir)
		}
	}
	return found
}

// Way returns the links that lead to a file, and last the file itself, free of links. Who replaces one of them
// replaces the file.
func Way(path string) []string {
	var links []string
	at := filepath.VolumeName(path) + string(filepath.Separator)
	for rest := names(path); len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		target, err := os.Readlink(next)
		if rest = rest[1:]; err != nil || len(links) == mostLinks {
			at = next
			continue
		}
		if links = append(links, next); filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		rest = append(names(target), rest...)
	}
	return append(links, at)
}

// mostLinks bounds how many links are followed, as systems do.
const mostLinks = 40

// names takes a path apart.
func names(path string) []string {
	path = filepath.ToSlash(path[len(filepath.VolumeName(path)):])
	return slices.DeleteFunc(strings.Split(path, "/"), func(n string) bool { return n == "" })
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
	add := func(dir string) {
		for _, part := range gitParts {
			if p := filepath.Join(dir, part); there(p) {
				found = append(found, p)
			}
		}
	}
	add(dir)
	for _, more := range []string{"modules", "worktrees"} {
		filepath.WalkDir(filepath.Join(dir, more), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir():
			case d.Name() == "objects" || d.Name() == "refs" || d.Name() == "logs":
				return fs.SkipDir
			case there(filepath.Join(path, "HEAD")):
				add(path)
			}
			return nil
		})
	}
	return found
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

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
func Find(root string) []string {
	var found []string
	looked := 0
	for dirs := []string{root}; len(dirs) > 0 && looked < mostLooked; dirs = dirs[1:] {
		entries, _ := os.ReadDir(dirs[0])
		looked += len(entries)
		for _, e := range entries {
			path := filepath.Join(dirs[0], e.Name())
			switch {
			case whole(root, path):
				found = append(found, path)
			case e.IsDir() && !slices.Contains(passed, e.Name()):
				dirs = append(dirs, path)
			}
		}
	}
	return found
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
	modules := filepath.Join(dir, "modules")
	filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
		case d.Name() == "objects" || d.Name() == "refs" || d.Name() == "logs":
			return fs.SkipDir
		case there(filepath.Join(path, "HEAD")):
			add(path)
		}
		return nil
	})
	return found
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

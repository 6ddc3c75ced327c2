package policy

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wield/tool/internal/guardedfiles"
)

// gitDirs returns where the repository in the root really is, if .git is a file that says so.
func (e *eval) gitDirs() []string {
	r := e.root()
	if r.err != nil {
		return nil
	}
	name := r.resolved + "/.git"
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	if !ok {
		return nil
	}
	dir = strings.TrimSpace(dir)
	if !filepath.IsAbs(dir) {
		dir = r.resolved + "/" + dir
	}
	return []string{filepath.Clean(dir)}
}

// bareRepository returns the directory that git would take for a repository without a .git, in one of dirs or above it;
// "" if there is none. The configuration of such a one lies open among the files of the workspace, and names programs
// that git runs.
func (e *eval) bareRepository(dirs []string) string {
	r := e.root()
	if r.err != nil {
		return ""
	}
	for _, dir := range dirs {
		at := r.locate(".", dir)
		for n := len(at.names); !at.outside && at.err == nil && n >= 0; n-- {
			abs := strings.Join(append([]string{r.resolved}, at.names[:n]...), "/")
			if _, err := os.Lstat(abs + "/.git"); err == nil {
				break
			}
			if guardedfiles.IsRepository(abs) {
				return abs
			}
		}
	}
	return ""
}

// madeRepository returns a directory that the command line itself makes, or makes a repository of, and that git would
// work in; "" if there is none. Nobody has seen its configuration.
func (e *eval) madeRepository(dirs []string) string {
	r := e.root()
	if r.err != nil || len(e.made)+len(e.linked) == 0 {
		return ""
	}
	for _, dir := range dirs {
		rel := r.locate(".", dir).rel()
		for _, made := range slices.Concat(e.made, e.linked) {
			if rel != "." && (rel == made || strings.HasPrefix(rel, made+"/")) || path.Base(made) == "HEAD" {
				return made
			}
		}
	}
	return ""
}

package policy

import (
	"io"
	"os"
	"path/filepath"
	"strings"
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

// Package guardedfiles knows the files that no tool changes by itself: those that decide what tools may do, and those
// that other programs run later, when nobody looks any more.
//
// [Of] classifies a path by its names, [Find] lists such files of a workspace, and a [Snapshot] tells which
// of them have changed while a process ran.
package guardedfiles

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Snapshot holds what guarded files were at one moment, by path.
type Snapshot map[string]string

// Take makes a snapshot of files, and of all files in directories. Of a repository it holds what names programs, and
// that it is one.
func Take(found Found) Snapshot {
	s := Snapshot{}
	for _, dir := range found.Repositories {
		if IsRepository(dir) {
			s[dir] = Sum(dir)
		}
	}
	for _, p := range found.Files {
		if filepath.Base(p) == ".git" && isDir(p) {
			for _, part := range Git(p) {
				s.take(part)
			}
			for _, dir := range repositories(p) {
				for _, part := range gitState {
					s.take(filepath.Join(dir, part))
				}
			}
			continue
		}
		s.take(p)
	}
	return s
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// mostTaken bounds how many files of one directory are looked at.
const mostTaken = 10_000

func (s Snapshot) take(path string) {
	n := 0
	filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		switch n++; {
		case n > mostTaken:
			return fs.SkipAll
		case errors.Is(err, fs.ErrPermission), err == nil && !d.IsDir():
			if sum := Sum(path); sum != "" || !isTodo(path) {
				s[path] = sum
			}
		}
		return nil
	})
}

// A Change is a guarded file that is not what it was.
type Change struct {
	Path string
	Sum  string // what it is now; empty: it is gone
}

// Changes lists what is different in now, by path.
func (s Snapshot) Changes(now Snapshot) []Change {
	var list []Change
	for path := range s {
		if now[path] != s[path] && (now[path] != "" || !isTodo(path)) { // git takes commands out that it has run
			list = append(list, Change{path, now[path]})
		}
	}
	for path, sum := range now {
		if _, was := s[path]; !was {
			list = append(list, Change{path, sum})
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// mostRead is the size up to which a file is told by its content. A larger one is told by its size, and by when it was
// changed, which no program can set on Linux.
const mostRead = 4 << 20

// OfGit reports whether a file is one that git itself writes while it works, and that holds no commands.
func OfGit(path string) bool {
	_, in, ok := strings.Cut(filepath.ToSlash(path), "/.git/")
	in = "/" + in
	return ok && !isTodo(path) && !strings.Contains(in, "/hooks/") &&
		slices.ContainsFunc(gitState, func(part string) bool { return strings.Contains(in, "/"+part) })
}

// isTodo reports whether a file is the todo of a rebase. Only its commands count: git writes its other lines at each
// step.
func isTodo(path string) bool { return strings.HasSuffix(filepath.ToSlash(path), "/"+todo) }

// Sum tells a file from any other: by its content, mode, or the target of a link. Empty: it is not there, or is a todo
// without commands.
func Sum(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	h := sha256.New()
	if !isTodo(path) {
		fmt.Fprintln(h, info.Mode())
	}
	switch {
	case info.IsDir(): // one that cannot be listed, or is a repository
		if IsRepository(path) {
			io.WriteString(h, "repository")
		}
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		io.WriteString(h, target)
	case !info.Mode().IsRegular() || info.Size() > mostRead:
		fmt.Fprintln(h, info.Size(), changed(info))
	default:
		text, err := read(path, mostRead)
		if err != nil {
			return "unreadable"
		}
		if isTodo(path) {
			commands := todoCommands().FindAll(text, -1)
			if len(commands) == 0 {
				return ""
			}
			text = bytes.Join(commands, []byte("\n"))
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// SumAll tells a file, or all files of a directory, from what it was or will be. Empty: it is not there.
func SumAll(path string) string {
	s := Snapshot{}
	if s.take(path); len(s) == 0 {
		return ""
	}
	h := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(s)) {
		if filepath.Base(filepath.Dir(p)) == "__pycache__" {
			continue // an interpreter makes it by itself
		}
		rel, _ := filepath.Rel(path, p)
		fmt.Fprintf(h, "%q %s\n", rel, s[p])
	}
	return hex.EncodeToString(h.Sum(nil))
}

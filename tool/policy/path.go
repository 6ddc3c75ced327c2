package policy

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"wield/chat"
)

// maxLinks limits the symbolic links that a path may lead through.
const maxLinks = 40

// A resolvedPath describes where a path leads.
type resolvedPath struct {
	text    string   // the path as it was asked for
	names   []string // relative to the root, links resolved; empty: the root itself
	asked   []string // relative to the root, as asked for, cleaned
	abs     string   // absolute, links resolved as far as they are inside of the root
	outside bool     // it leaves the root
	missing bool
	mode    fs.FileMode // if it is there
	links   uint64      // names of the file
	err     error       // that it cannot be looked at
}

// rel is the place in its normal form.
func (p resolvedPath) rel() string {
	if p.outside {
		return p.abs
	}
	if len(p.names) == 0 {
		return "."
	}
	return strings.Join(p.names, "/")
}

// A root is the directory that files belong to.
type root struct {
	asked    string // as it was given, cleaned
	resolved string // links resolved; "" if it is not there
	err      error
}

func openRoot(dir string) *root {
	r := &root{asked: filepath.Clean(dir)}
	switch {
	case dir == "":
		r.err = errors.New("no root is set")
	case !filepath.IsAbs(dir):
		r.err = errors.New("the root is not absolute")
	default:
		r.resolved, r.err = filepath.EvalSymlinks(r.asked)
		if r.err == nil {
			if fi, err := os.Stat(r.resolved); err != nil {
				r.err = err
			} else if !fi.IsDir() {
				r.err = errors.New("not a directory")
			}
		}
	}
	return r
}

// below returns the names of an absolute path relative to the root, and whether it is inside.
func (r *root) below(abs string) ([]string, bool) {
	for _, base := range []string{r.asked, r.resolved} {
		if abs == base {
			return nil, true
		}
		if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(base, "/")+"/"); ok && base != "" {
			return strings.Split(rest, "/"), true
		}
	}
	return nil, false
}

// locate follows a path, which is relative to dir if it is not absolute, as far as it stays inside of the root. It
// opens nothing, and what it finds may change: whoever opens the file does it through a Root.
func (r *root) locate(p, dir string) resolvedPath {
	at := resolvedPath{text: p}
	raw := p
	if !strings.HasPrefix(p, "/") {
		if !strings.HasPrefix(dir, "/") {
			dir = r.asked + "/" + dir
		}
		raw = filepath.Clean(dir) + "/" + p
	}
	at.abs = filepath.Clean(raw)
	asked, inside := r.below(at.abs)
	if !inside {
		at.outside = true
		return at
	}
	at.asked = asked
	// A path with .. is walked as it was written: a link before the .. may lead elsewhere than the cleaned path does.
	names, below := r.below(raw)
	if !below {
		names = asked
	}
	r.follow(&at, names)
	return at
}

// follow walks names from the root on.
func (r *root) follow(at *resolvedPath, names []string) {
	var done []string
	links := 0
	for len(names) > 0 {
		n := names[0]
		names = names[1:]
		switch n {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				at.outside = true
				at.abs = filepath.Dir(r.resolved)
				return
			}
			done = done[:len(done)-1]
			continue
		}
		if at.missing {
			done = append(done, n)
			continue
		}
		full := r.resolved + "/" + strings.Join(append(done[:len(done):len(done)], n), "/")
		fi, err := os.Lstat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			at.missing = true
			done = append(done, n)
		case err != nil:
			at.err = err
			at.names = append(append(done, n), names...)
			return
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(full)
			links++
			if err != nil || links > maxLinks {
				at.err = errors.New("too many symbolic links")
				at.names = append(done, n)
				return
			}
			if filepath.IsAbs(target) {
				below, inside := r.below(filepath.Clean(target))
				if !inside {
					at.outside, at.abs = true, filepath.Clean(target+"/"+strings.Join(names, "/"))
					return
				}
				done = nil
				names = append(below, names...)
			} else {
				names = append(strings.Split(target, "/"), names...)
			}
		default:
			done = append(done, n)
			at.mode, at.links = fi.Mode(), linkCount(fi)
		}
	}
	at.names = done
	at.abs = filepath.Clean(r.resolved + "/" + strings.Join(done, "/"))
	if len(done) == 0 {
		at.mode = fs.ModeDir
	} else if !at.missing {
		if fi, err := os.Lstat(at.abs); err == nil { // after a .. the last one seen is another
			at.mode, at.links = fi.Mode(), linkCount(fi)
		}
	}
}

// links notes the places that a command gives a second name: those that it has written to since before.
func (e *eval) links(a *analysis, before int) {
	if n := baseName(a.canonical[0].text); n == "ln" || n == "link" {
		e.linked = append(e.linked, e.made[before:]...)
		e.made = e.made[:before]
	}
}

// throughLinks asks about a command line that makes a link and writes to a file that may be one of its two names.
func (e *eval) throughLinks() {
	for _, to := range e.made {
		if slices.ContainsFunc(e.linked, func(l string) bool {
			return l == "." || to == l || strings.HasPrefix(to, l+"/") || path.Base(to) == path.Base(l)
		}) {
			e.builtin(chat.DecisionAsk, SubjectPath, "write "+to, "", "link",
				"the command line makes a link, and may write through it to another file", nil)
			return
		}
	}
}

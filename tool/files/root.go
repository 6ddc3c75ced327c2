package files

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options say how a [Root] is used. The zero value is the careful one.
type Options struct {
	// MaxFile is the most bytes of one file that [Root.ReadFile] returns and [Root.Write] writes. 0:
	// DefaultMaxFile; a negative number, such as [wield/chat.NoLimit], turns the limit off.
	MaxFile int64
	// Shared allows files with several names (hard links).
	Shared bool
}

// DefaultMaxFile is the limit for one file where none is set: 10 MiB.
const DefaultMaxFile = 10 << 20

// The longest path and the longest part of one. Systems differ; these are the limits of Linux.
const (
	maxPath = 4096
	maxPart = 255
)

// A Root is an open directory. It may be used by several goroutines at once.
type Root struct {
	root  *os.Root
	named []string // the absolute ways of naming the directory: as given, and with symbolic links resolved
	opts  Options
}

// Open opens a directory as a root. A directory that does not exist is an error, never an empty root.
func Open(dir string, opts Options) (*Root, error) {
	if dir == "" {
		return nil, &Error{Op: "open", Path: dir, Err: ErrPath, Hint: "a root needs a directory"}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", quote(dir), err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", quote(dir), plain(err))
	}
	named := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		named = append(named, real)
	}
	if opts.MaxFile == 0 {
		opts.MaxFile = DefaultMaxFile
	}
	return &Root{root: root, named: named, opts: opts}, nil
}

// Close gives the handle of the directory back. Files opened before stay usable.
func (r *Root) Close() error { return r.root.Close() }

// Path returns the absolute path of the root, as it was given.
func (r *Root) Path() string { return r.named[0] }

// Rel makes a name out of a path: relative to the root, cleaned, with slashes. A relative path is taken from the root.
// An absolute one is accepted if it lies below the root as it is written; other ways of writing it, such as through
// /proc, are not. Nothing is expanded or decoded: a tilde, a dollar sign and a percent sign are letters. Rel reads no
// file, so that a name it returns can still turn out to lead outside through a symbolic link; opening it then fails.
func (r *Root) Rel(p string) (string, error) { return r.rel("use", p) }

func (r *Root) rel(op, p string) (string, error) {
	if why := unusable(p); why != "" {
		return "", &Error{Op: op, Path: p, Err: ErrPath, Hint: why}
	}
	slashed := filepath.ToSlash(p)
	if filepath.IsAbs(p) {
		inside, ok := r.below(slashed)
		if !ok {
			return "", refuse(op, p, ErrOutside)
		}
		slashed = inside
	}
	name := path.Clean(slashed)
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", refuse(op, p, ErrOutside)
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxPart {
			return "", &Error{Op: op, Path: p, Err: ErrPath, Hint: fmt.Sprintf("a part of it is longer than %d "+
				"bytes", maxPart)}
		}
	}
	return name, nil
}

// unusable says why a text cannot be a path at all, or nothing.
func unusable(p string) string {
	switch {
	case p == "":
		return "it is empty"
	case len(p) > maxPath:
		return fmt.Sprintf("it is longer than %d bytes", maxPath)
	case strings.IndexFunc(p, unicode.IsControl) >= 0:
		return "it holds a control character"
	}
	return ""
}

// below returns what an absolute path names relative to the root.
func (r *Root) below(p string) (string, bool) {
	clean := path.Clean(p)
	for _, root := range r.named {
		root = filepath.ToSlash(root)
		if clean == root {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(clean, strings.TrimSuffix(root, "/")+"/"); ok {
			return rest, true
		}
	}
	return "", false
}

// IsText guesses whether the beginning of a file is text: valid UTF-8 without a NUL. A rune cut at the end is forgiven.
func IsText(head []byte) bool {
	for cut := 0; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return !strings.Contains(string(head), "\x00")
		}
	}
	return false
}

// errTooLarge says how large is too large.
func (r *Root) errTooLarge(op, p string) error {
	return &Error{Op: op, Path: p, Err: ErrTooLarge, Hint: fmt.Sprintf("the limit is %d bytes", r.opts.MaxFile)}
}

// join keeps the first error and does not lose the second.
func join(err, second error) error {
	if err == nil {
		return second
	}
	return errors.Join(err, second)
}

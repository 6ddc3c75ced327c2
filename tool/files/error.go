package files

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// The kinds of refusal, for errors.Is. What the system says ([fs.ErrNotExist], [fs.ErrPermission], [fs.ErrExist]) is
// passed on.
var (
	ErrPath     = errors.New("no usable path")
	ErrOutside  = errors.New("outside the root")
	ErrSpecial  = errors.New("neither a file nor a directory")
	ErrShared   = errors.New("a file with several names (hard links)")
	ErrTooLarge = errors.New("too large")
	ErrIsDir    = errors.New("a directory")
	ErrNotDir   = errors.New("not a directory")
	ErrLoop     = errors.New("too many symbolic links")
)

// An Error tells what was wanted, of which path, and what stands against it. The path is as the caller wrote it;
// nothing of it is read as a format, and it is quoted in the text, so that it cannot break a line.
type Error struct {
	Op   string // "read", "write", "list", "delete", "create"
	Path string
	Err  error  // one of the kinds above, or the system's
	Hint string // what to do about it, if there is something to say
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s %s: %v", e.Op, quote(e.Path), plain(e.Err))
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// quoted limits the part of a path that an error shows.
const quoted = 200

func quote(path string) string {
	if len(path) > quoted {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(path[:quoted], ""))
	}
	return fmt.Sprintf("%q", path)
}

// plain takes the system's wrapping off an error: the operation and the path are told by Error, and a path made
// absolute tells a model more of the machine than it asked for.
func plain(err error) error {
	var path *fs.PathError
	var link interface{ Unwrap() error }
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link) && errors.As(err, new(syscall.Errno)):
		var errno syscall.Errno
		errors.As(err, &errno)
		return errno
	}
	return err
}

// refuse makes an Error of what the system or this package says about a path.
func refuse(op, path string, err error) error {
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	e := &Error{Op: op, Path: path, Err: err}
	for _, m := range meanings {
		if m.is(err) {
			e.Err = m.kind
			break
		}
	}
	e.Hint = hints[e.Err]
	return e
}

// meanings maps what the system says to the kinds of this package.
var meanings = []struct {
	is   func(error) bool
	kind error
}{
	{escapes, ErrOutside},
	{errno(syscall.ENXIO), ErrSpecial}, // opening a socket, or a pipe nobody reads
	{errno(syscall.ELOOP), ErrLoop},
	{errno(syscall.EISDIR), ErrIsDir},
	{errno(syscall.ENOTDIR), ErrNotDir},
	{errno(syscall.ENAMETOOLONG), ErrPath},
}

func errno(want syscall.Errno) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}

// escapes reports whether os.Root refused a path because it leaves the root. The error has no name of its own.
func escapes(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && strings.Contains(path.Err.Error(), "escapes from parent")
}

var hints = map[error]string{
	ErrOutside:  "only what lies below the root can be used; give a path relative to it",
	ErrShared:   "its other name may lie outside the root; copy the file",
	ErrTooLarge: "read a part of it, or raise the limit",
	ErrIsDir:    "list it instead",
}

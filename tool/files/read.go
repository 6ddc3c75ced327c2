package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
)

// A File is an open regular file below a root. It reads, seeks and tells its size, so that a large one can be read in
// parts without ever standing in memory.
type File struct {
	*os.File
	// Name is the path of the file relative to the root.
	Name string
	// Size was the size when the file was opened. A file may grow: readers that must not read more have to count.
	Size int64
	// Mode is its permission bits.
	Mode fs.FileMode
}

// Open opens a regular file to read it. It never waits: a pipe is refused, not opened. The size is not limited.
func (r *Root) Open(p string) (*File, error) { return r.open("read", p) }

func (r *Root) open(op, p string) (*File, error) {
	name, err := r.rel(op, p)
	if err != nil {
		return nil, err
	}
	// Opening a device can do something, so that what plainly is one is not opened to find out. What counts is the
	// second look, at the handle: the file may have been swapped since.
	if info, err := r.root.Stat(name); err != nil {
		return nil, refuse(op, p, err)
	} else if err := r.usable(info); err != nil {
		return nil, refuse(op, p, err)
	}
	f, err := r.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, refuse(op, p, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = r.usable(info)
	}
	if err != nil {
		return nil, join(refuse(op, p, err), f.Close())
	}
	return &File{File: f, Name: name, Size: info.Size(), Mode: info.Mode().Perm()}, nil
}

// usable reports whether a file is one that tools may read or write.
func (r *Root) usable(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return ErrIsDir
	case !info.Mode().IsRegular():
		return ErrSpecial
	case !r.opts.Shared && names(info) > 1:
		return ErrShared
	}
	return nil
}

// ReadFile returns a whole file that is no larger than the limit of the root. A larger one is refused before it is
// read.
func (r *Root) ReadFile(p string) ([]byte, error) {
	f, err := r.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if r.opts.MaxFile < 0 {
		b, err := io.ReadAll(f)
		return b, wrap("read", p, err)
	}
	if f.Size > r.opts.MaxFile {
		return nil, r.errTooLarge("read", p)
	}
	// Files of the system tell size 0, and any file can grow.
	var b bytes.Buffer
	b.Grow(int(f.Size) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, r.opts.MaxFile+1))
	if err == nil && n > r.opts.MaxFile {
		return nil, r.errTooLarge("read", p)
	}
	return b.Bytes(), wrap("read", p, err)
}

func wrap(op, p string, err error) error {
	if err == nil {
		return nil
	}
	return refuse(op, p, err)
}

// Stat tells about what a path leads to, without opening it.
func (r *Root) Stat(p string) (fs.FileInfo, error) {
	name, err := r.rel("read", p)
	if err != nil {
		return nil, err
	}
	info, err := r.root.Stat(name)
	return info, wrap("read", p, err)
}

// An Entry is one thing in a directory. A symbolic link is told as one and not followed.
type Entry struct {
	Name string // relative to the root
	Info fs.FileInfo
}

// batch limits the entries of a directory that are read at once.
const batch = 256

// List yields the entries of one directory, in the order of the system: a directory may be too large to be sorted
// first. An error is yielded once and last; entries that vanish meanwhile are left out.
func (r *Root) List(p string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		name, dir, err := r.openDir(p)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer dir.Close()
		for {
			entries, err := dir.ReadDir(batch)
			for _, d := range entries {
				info, err := d.Info()
				if err != nil {
					continue
				}
				if !yield(Entry{Name: path.Join(name, d.Name()), Info: info}, nil) {
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					yield(Entry{}, refuse("list", p, err))
				}
				return
			}
		}
	}
}

func (r *Root) openDir(p string) (name string, dir *os.File, err error) {
	if name, err = r.rel("list", p); err != nil {
		return "", nil, err
	}
	// A pipe in the place of a directory must not be waited for.
	dir, err = r.root.OpenFile(name, os.O_RDONLY|nonblock|directory, 0)
	if err != nil {
		return "", nil, refuse("list", p, err)
	}
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		return "", nil, join(refuse("list", p, cmp.Or(err, ErrNotDir)), dir.Close())
	}
	return name, dir, nil
}

// Walk yields everything below a directory, each directory before what is in it, entries sorted by name within their
// directory. Symbolic links are told and never followed, so that a walk ends. descend says which directories are
// entered; nil enters all. Directories that cannot be read are yielded with their error, and the walk goes on.
func (r *Root) Walk(ctx context.Context, p string, descend func(Entry) bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		name, err := r.rel("list", p)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		// A stack instead of recursion: a tree can be deeper than is good for a stack of calls.
		todo := []string{name}
		for len(todo) > 0 {
			if err := ctx.Err(); err != nil {
				yield(Entry{}, err)
				return
			}
			dir := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			entries, err := r.sorted(dir)
			if err != nil && !yield(Entry{Name: dir}, err) {
				return
			}
			var below []string
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				if e.Info.IsDir() && (descend == nil || descend(e)) {
					below = append(below, e.Name)
				}
			}
			slices.Reverse(below)
			todo = append(todo, below...)
		}
	}
}

func (r *Root) sorted(dir string) ([]Entry, error) {
	var entries []Entry
	var failed error
	for e, err := range r.List(dir) {
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, failed
}

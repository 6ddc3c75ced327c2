package files

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// WriteOptions say how a file is written.
type WriteOptions struct {
	// New refuses to replace a file that is there.
	New bool
	// Parents makes the directories above the file.
	Parents bool
	// Mode is the permission bits of a new file, as they are: a file that comes back is what it was, whatever the umask
	// says. 0 is 0644 without what the umask takes away. A file that is replaced keeps its own.
	Mode fs.FileMode
	// Expect, if it is not nil, is asked about the old version, nil if there is none, right before it is replaced. An
	// error leaves everything as it was. That is how an editor makes sure that it replaces what it has read.
	Expect func(old *File) error
}

// Write writes a file in one step: into a new file in the same directory, which then takes the place of the old one.
// Whatever happens, a reader finds the old version or the new one, whole. It returns how many bytes were written. A
// symbolic link is followed inside the root and stays; what it leads to is replaced.
func (r *Root) Write(p string, content io.Reader, opts WriteOptions) (int64, error) {
	name, err := r.rel("write", p)
	if err != nil {
		return 0, err
	}
	if name == "." {
		return 0, refuse("write", p, ErrIsDir)
	}
	if opts.Parents {
		if err := r.root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return 0, refuse("write", p, err)
		}
	}
	dir, base, err := r.resolve("write", p, name)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	n, err := r.replace(dir, base, p, content, opts)
	return n, wrap("write", p, err)
}

// WriteFile is Write for bytes at hand.
func (r *Root) WriteFile(p string, content []byte, opts WriteOptions) error {
	_, err := r.Write(p, bytes.NewReader(content), opts)
	return err
}

// maxLinks limits the symbolic links that a path may lead through.
const maxLinks = 40

// resolve opens the directory in which a name really stands and follows symbolic links at its end. From there on the
// work is done relative to the handle, so that nothing that happens above it matters.
func (r *Root) resolve(op, p, name string) (*os.Root, string, error) {
	for range maxLinks {
		info, err := r.root.Lstat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, "", refuse(op, p, err)
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			dir, err := r.root.OpenRoot(path.Dir(name))
			if err != nil {
				return nil, "", refuse(op, p, err)
			}
			return dir, path.Base(name), nil
		}
		target, err := r.root.Readlink(name)
		if err != nil {
			return nil, "", refuse(op, p, err)
		}
		if path.IsAbs(target) {
			return nil, "", refuse(op, p, ErrOutside) // as os.Root has it, even if it leads back in
		}
		if name, err = r.rel(op, path.Join(path.Dir(name), target)); err != nil {
			return nil, "", refuse(op, p, ErrOutside)
		}
	}
	return nil, "", refuse(op, p, ErrLoop)
}

// replace writes a new version beside the old one and renames it.
func (r *Root) replace(dir *os.Root, base, p string, content io.Reader, opts WriteOptions) (n int64, err error) {
	old, err := r.before(dir, base, opts)
	if err != nil {
		return 0, err
	}
	mode := opts.Mode.Perm()
	switch {
	case old != nil:
		mode = 0o600 // until it is the old one's
	case mode == 0:
		mode = 0o644
	}
	temp := ".wield-" + rand.Text() + ".tmp"
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			dir.Remove(temp)
		}
	}()
	n, err = r.fill(f, p, content, old, opts.Mode.Perm())
	if err = join(err, f.Close()); err != nil {
		return n, err
	}
	if opts.New {
		err = place(dir, temp, base)
	} else {
		err = dir.Rename(temp, base)
	}
	return n, join(err, syncDir(dir))
}

// place gives a file its name if nobody has it. A link does not replace what somebody made in the meantime, as a rename
// would; where there are no links a look has to do.
func place(dir *os.Root, temp, base string) error {
	err := dir.Link(temp, base)
	if err == nil {
		return dir.Remove(temp)
	}
	if _, there := dir.Lstat(base); there == nil || errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	return dir.Rename(temp, base)
}

// before looks at what is about to be replaced and returns it; nil is nothing.
func (r *Root) before(dir *os.Root, base string, opts WriteOptions) (fs.FileInfo, error) {
	info, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if opts.Expect != nil {
			return nil, opts.Expect(nil)
		}
		return nil, nil
	case err != nil:
		return nil, err
	case opts.New:
		return nil, fs.ErrExist
	}
	if err := r.usable(info); err != nil || opts.Expect == nil {
		return info, err
	}
	f, err := dir.OpenFile(base, os.O_RDONLY|nonblock|nofollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := r.usable(info); err != nil {
		return nil, err
	}
	return info, opts.Expect(&File{File: f, Name: base, Size: info.Size(), Mode: info.Mode().Perm()})
}

// fill writes the content to the disk and gives the file the mode and, where it may, the owner of the old version.
// Where there is none it gets a mode if one is wanted.
func (r *Root) fill(f *os.File, p string, content io.Reader, old fs.FileInfo, mode fs.FileMode) (int64, error) {
	if r.opts.MaxFile >= 0 {
		content = io.LimitReader(content, r.opts.MaxFile+1)
	}
	n, err := io.Copy(f, content)
	switch {
	case err != nil:
		return n, err
	case r.opts.MaxFile >= 0 && n > r.opts.MaxFile:
		return n, r.errTooLarge("write", p)
	}
	if old != nil {
		own(f, old)
		mode = old.Mode().Perm()
	}
	if old != nil || mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return n, err
		}
	}
	return n, f.Sync()
}

// Mkdir makes a directory and those above it. One that is there already is fine.
func (r *Root) Mkdir(p string) error {
	name, err := r.rel("create", p)
	if err != nil {
		return err
	}
	return wrap("create", p, r.root.MkdirAll(name, 0o777))
}

// Remove removes a file, a symbolic link (not what it leads to) or an empty directory. What is special stays.
func (r *Root) Remove(p string) error {
	name, err := r.rel("delete", p)
	if err != nil {
		return err
	}
	if name == "." {
		return &Error{Op: "delete", Path: p, Err: ErrPath, Hint: "the root itself stays"}
	}
	info, err := r.root.Lstat(name)
	if err != nil {
		return refuse("delete", p, err)
	}
	if mode := info.Mode().Type(); mode != 0 && mode != fs.ModeDir && mode != fs.ModeSymlink {
		return refuse("delete", p, ErrSpecial)
	}
	return wrap("delete", p, r.root.Remove(name))
}

// Rename gives a file, a symbolic link or a directory another name inside the root. It does not replace anything.
func (r *Root) Rename(from, to string) error {
	old, err := r.rel("write", from)
	if err != nil {
		return err
	}
	name, err := r.rel("write", to)
	if err != nil {
		return err
	}
	if old == "." || name == "." {
		return &Error{Op: "write", Path: from, Err: ErrPath, Hint: "the root itself stays"}
	}
	if _, err := r.root.Lstat(name); err == nil {
		return refuse("write", to, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return refuse("write", to, err)
	}
	return wrap("write", from, r.root.Rename(old, name))
}

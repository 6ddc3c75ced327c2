package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// removeTree removes a directory and everything below it, however deep it is: what a run leaves may be deeper than a
// path can be long or a program can open directories. So each directory is moved up to the top before it is looked
// into; nothing is ever more than two levels below the handle that is held.
func removeTree(dir string) error {
	top, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer top.Close()
	next := 0
	for {
		entries, err := list(top)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return os.Remove(dir)
		}
		for _, e := range entries {
			if err := flatten(top, e, &next); err != nil {
				return err
			}
		}
	}
}

// flatten removes an entry of the top, after what is in it was removed or moved to the top.
func flatten(top *os.Root, e fs.DirEntry, next *int) error {
	if !e.IsDir() {
		return top.Remove(e.Name())
	}
	top.Chmod(e.Name(), 0o700) // a run may have closed its own directories
	sub, err := top.OpenRoot(e.Name())
	if err != nil {
		return err
	}
	defer sub.Close()
	below, err := list(sub)
	if err != nil {
		return err
	}
	for _, b := range below {
		if !b.IsDir() {
			if err := sub.Remove(b.Name()); err != nil {
				return err
			}
			continue
		}
		if err := lift(top, e.Name()+"/"+b.Name(), next); err != nil {
			return err
		}
	}
	return top.Remove(e.Name())
}

// lift gives a directory a name of its own at the top.
func lift(top *os.Root, name string, next *int) error {
	top.Chmod(name, 0o700) // moving a directory changes its "..", which needs the right to write it
	for {
		*next++
		err := top.Rename(name, ".wield-"+strconv.Itoa(*next))
		if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
}

func list(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

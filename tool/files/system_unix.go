//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

const (
	nonblock  = syscall.O_NONBLOCK // opening a pipe does not wait for its other end
	directory = syscall.O_DIRECTORY
	nofollow  = syscall.O_NOFOLLOW
)

// names returns how many names a file has.
func names(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// syncDir makes a change of a directory last through a crash.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return join(f.Sync(), f.Close())
}

// own gives a file the owner of another one. Only the superuser may; for others the owner is the same anyway.
func own(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(st.Uid), int(st.Gid))
	}
}

//go:build unix

package database

import (
	"io/fs"
	"syscall"
)

// links is the number of a file's names.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

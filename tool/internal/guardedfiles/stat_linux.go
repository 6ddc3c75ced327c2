package guardedfiles

import (
	"io/fs"
	"syscall"
)

// changed returns when a file was changed, by the clock of the system: a program can set the time of the last writing
// back, but not this one.
func changed(info fs.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime().UnixNano()
	}
	return st.Ctim.Nano()
}

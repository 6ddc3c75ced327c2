//go:build !linux

package guardedfiles

import "io/fs"

// changed returns when a file was written.
func changed(info fs.FileInfo) int64 { return info.ModTime().UnixNano() }

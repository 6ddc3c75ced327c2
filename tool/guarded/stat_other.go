//go:build !unix

package guarded

import "io/fs"

// changed returns when a file was written.
func changed(_ string, info fs.FileInfo) int64 { return info.ModTime().UnixNano() }

//go:build !unix

package database

import "io/fs"

func links(fs.FileInfo) uint64 { return 1 }

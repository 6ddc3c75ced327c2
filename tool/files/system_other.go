//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// Systems without these flags and numbers: what they guard against is looked at after opening.
const (
	nonblock  = 0
	directory = 0
	nofollow  = 0
)

func names(fs.FileInfo) uint64 { return 1 }

func syncDir(*os.Root) error { return nil }

func own(*os.File, fs.FileInfo) {}

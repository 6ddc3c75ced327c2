//go:build !unix || aix || solaris

package compose

import (
	"errors"
	"os"
)

// hold fails: directories cannot be held here, so that none of another process is removed.
func hold(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func ours(os.FileInfo) bool { return false }

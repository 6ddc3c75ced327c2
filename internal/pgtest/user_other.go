//go:build !unix

package pgtest

import (
	"errors"
	"os"
	"syscall"
)

func unprivileged(string) (*syscall.SysProcAttr, error) {
	return nil, errors.ErrUnsupported
}

func stop(p *os.Process) { _ = p.Kill() }

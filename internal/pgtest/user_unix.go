//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is the id of the user that the server runs as where the test is root.
const nobody = 65534

// unprivileged says who the server runs as, and gives that user the directory.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	try := exec.Command("true")
	try.Dir, try.SysProcAttr = dir, attr
	return attr, try.Run()
}

// stop ends the server and what it started, without taking leave of clients.
func stop(p *os.Process) { _ = p.Signal(syscall.SIGQUIT) }

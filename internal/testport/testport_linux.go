package testport

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// Reserve returns an address that is free, and stays so until the test ends: nobody is given it by chance, neither to
// listen at nor to connect from, and it is returned only once on a machine. Who asks for it can listen there, where
// that is done with SO_REUSEADDR as servers do, any number of times. Meanwhile it refuses connections.
func Reserve(tb testing.TB) string {
	tb.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { syscall.Close(fd) })
	err = errors.Join(syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	if err != nil {
		tb.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

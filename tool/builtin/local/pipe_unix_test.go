//go:build unix

package local

import (
	"syscall"
	"testing"
)

func makePipe(t *testing.T, name string) bool {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}

// alive reports whether there is a process.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

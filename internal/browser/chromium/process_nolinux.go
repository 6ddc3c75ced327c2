//go:build unix && !linux

package chromium

import "syscall"

// dieWithParent has nothing to do: the browser ends when its pipe does.
func dieWithParent(*syscall.SysProcAttr) {}

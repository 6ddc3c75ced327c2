package chromium

import "syscall"

// dieWithParent lets the kernel end a browser whose program was killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

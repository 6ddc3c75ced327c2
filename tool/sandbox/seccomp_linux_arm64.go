package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// secondNumbers is 0: there is one set of numbers.
const secondNumbers = 0

var moreRefusals = []refusal{{call: unix.SYS_KEXEC_FILE_LOAD}, {call: unix.SYS_SEMOP, where: shared},
	{call: unix.SYS_SEMTIMEDOP, where: shared}}

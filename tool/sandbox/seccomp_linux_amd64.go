package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// secondNumbers begins the calls of the x32 ABI: the same doors with other numbers.
const secondNumbers = 0x40000000

var moreRefusals = []refusal{
	{call: unix.SYS_IOPL}, {call: unix.SYS_IOPERM}, {call: unix.SYS_KEXEC_FILE_LOAD}, {call: unix.SYS_MODIFY_LDT},
	{call: unix.SYS_SEMOP, where: shared}, {call: unix.SYS_SEMTIMEDOP, where: shared},
	{call: unix.SYS_MKNOD, arg: 1, test: isMasked, mask: unix.S_IFMT, want: unix.S_IFCHR},
	{call: unix.SYS_MKNOD, arg: 1, test: isMasked, mask: unix.S_IFMT, want: unix.S_IFBLK},
	{call: unix.SYS_CHMOD, arg: 1, test: has, want: setid}, {call: unix.SYS_CREAT, arg: 1, test: has, want: setid},
	{call: unix.SYS_MKNOD, arg: 1, test: has, want: setid}, {call: unix.SYS_OPEN, arg: 2, test: creates, want: setid},
}

package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// Calls of this architecture alone that fail.
var refusedHere = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
	unix.SYS__SYSCTL, unix.SYS_USTAT, unix.SYS_SYSFS,
}

// The older calls that newer architectures left out. They are passed on like those with "at" in their names.
var fileCallsHere = []uint32{
	unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_RENAME, unix.SYS_UNLINK, unix.SYS_RMDIR,
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

func rulesHere(ask uint32) []filterRule {
	return []filterRule{
		{unix.SYS_OPEN, []condition{anyBit(1, openChanges)}, ask},
		{unix.SYS_ACCESS, []condition{anyBit(1, accessWrite)}, ask},
	}
}

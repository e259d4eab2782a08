package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Processes are counted for each user and user namespace (Linux 5.14), and each sandbox has its own: RLIMIT_NPROC bounds a command.
// Only the computer's root isn't bounded by it. For root the sandbox's process namespace has few numbers: a process or thread for
// which there is none isn't started (EAGAIN).

// Numbers of a namespace that are no command's: the kernel gives those up to reservedNumbers once only (RESERVED_PIDS of
// linux/threads.h), and the launcher's threads have theirs.
const (
	reservedNumbers = 300
	launcherNumbers = 16
)

// boundNumbers bounds root's processes and threads in this process namespace; the command can't take it back, for Landlock lets
// it write nothing in /proc. Others need no such bound. Before Linux 6.14 there is none: the file was the whole computer's then, and
// root's to change even from here, so that the version must be asked.
func boundNumbers(processes int) error {
	if unix.Geteuid() != 0 || !kernelSince(6, 14) {
		return nil
	}
	fd, err := unix.Open("/proc/sys/kernel/pid_max", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = descriptor(fd).Write([]byte(strconv.Itoa(processes + reservedNumbers + launcherNumbers)))
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("bounding root's processes: %w", os.NewSyscallError("kernel.pid_max", err))
	}
	return nil
}

// kernelSince reports whether this is that version of Linux or a later one; it isn't if that can't be told.
func kernelSince(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	return releaseSince(unix.ByteSliceToString(name.Release[:]), major, minor)
}

// releaseSince compares a release such as "6.18.44-generic".
func releaseSince(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	a, err := strconv.Atoi(first)
	b, err2 := strconv.Atoi(rest)
	return err == nil && err2 == nil && (a > major || a == major && b >= minor)
}

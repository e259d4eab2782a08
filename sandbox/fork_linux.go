package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fork is the start of the command's first process: it comes from this thread, confines itself further and becomes the command.
//
// os/exec can't do that between fork and exec. And the process must descend from the thread that supervises it: Landlock lets a
// thread look into a process only when that is under the thread's own rules and more, and each thread that enters Landlock gets
// rules of its own.
type fork struct {
	argv0, dir *byte
	argv, envv []*byte
	ruleset    int
	filter     unix.SockFprog
	umask      int
	terminal   bool
	files      unix.Rlimit
	processes  unix.Rlimit

	pidfd int32
	// What the child says, in the memory that both use. A step other than 0 failed.
	step     uintptr
	errno    unix.Errno
	listener uintptr
}

// Steps of the child, for the error that tells which failed.
const (
	stepNone = iota
	stepSession
	stepStdio
	stepTerminal
	stepLimit
	stepDir
	stepLandlock
	stepFilter
	stepExec
)

var stepNames = [...]string{"", "making a session", "setting its descriptors", "setting its terminal", "setting its limits", "entering its folder",
	"entering Landlock", "entering the call filter", "running it"}

// stepError says which step of the child failed.
type stepError struct {
	step  int
	errno unix.Errno
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %v", stepNames[e.step], e.errno) }
func (e *stepError) Unwrap() error { return e.errno }

// cloneArgs is struct clone_args of linux/sched.h, in its first version.
type cloneArgs [8]uint64

// Places in it.
const (
	cloneFlag   = 0
	clonePidfd  = 1
	cloneSignal = 4
)

// cloneFlags have the child use this process's memory and descriptors while this thread waits, so that nothing is copied for the
// moment until it becomes the command; and no signal handler of the Go runtime is left to it.
const cloneFlags = unix.CLONE_PIDFD | unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES | unix.CLONE_CLEAR_SIGHAND

// signalSize is the size of the kernel's sigset_t.
const signalSize = 8

// start starts the process from this thread, which must be locked. Afterwards f.listener is the supervisor's end of the filter,
// and f.pidfd the process.
func (f *fork) start() (pid int, err error) {
	var own [3]int // the child's first three descriptors replace this process's
	for i := range own {
		if own[i], err = unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return 0, err
		}
		defer unix.Close(own[i])
	}
	args := &cloneArgs{cloneFlag: cloneFlags, clonePidfd: uint64(uintptr(unsafe.Pointer(&f.pidfd))), cloneSignal: uint64(unix.SIGCHLD)}
	all, old := ^uint64(0), uint64(0)

	syscall.ForkLock.Lock()
	// The child starts with this thread's mask: nothing may come between.
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), signalSize, 0, 0)
	r := f.clone(args)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, signalSize, 0, 0)
	for i := range own {
		unix.Dup3(own[i], i, 0)
	}
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(f)
	runtime.KeepAlive(args)
	switch {
	case int(r) < 0:
		return 0, unix.Errno(-int(r))
	case f.step != stepNone:
		return 0, &stepError{int(f.step), f.errno}
	}
	return int(r), nil
}

// vfork makes the call clone3 and gives what it returns: the child's number, 0 in the child, or an error's number below 0. The
// child comes back on the same stack, while this thread waits; so the way back must not be read from the stack afterwards.
//
//go:noescape
func vfork(call uintptr, args *cloneArgs, size uintptr) (r uintptr)

// clone makes the child. In the child nothing but raw calls may happen: it has one thread of the runtime's many, and uses the
// stack and the variables of the one that waits. So that one returns at once, and all that the child needs stands in f.
//
//go:noinline
//go:norace
//go:nocheckptr
func (f *fork) clone(args *cloneArgs) (r uintptr) {
	var e syscall.Errno
	var none uint64
	f.step = stepNone
	if r = vfork(unix.SYS_CLONE3, args, unsafe.Sizeof(*args)); r != 0 {
		return r
	}
	syscall.RawSyscall(unix.SYS_UMASK, uintptr(f.umask), 0, 0)
	f.step = stepSession
	if _, _, e = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 {
		goto failed
	}
	f.step = stepStdio
	for r = 0; r < 3; r++ {
		if _, _, e = syscall.RawSyscall(unix.SYS_DUP3, fdStdin+r, r, 0); e != 0 {
			goto failed
		}
	}
	f.step = stepTerminal
	if f.terminal {
		if _, _, e = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); e != 0 {
			goto failed
		}
	}
	f.step = stepLimit
	if _, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&f.files)), 0, 0, 0); e != 0 {
		goto failed
	}
	if _, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, uintptr(unsafe.Pointer(&f.processes)), 0, 0, 0); e != 0 {
		goto failed
	}
	f.step = stepDir
	if _, _, e = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(f.dir)), 0, 0); e != 0 {
		goto failed
	}
	f.step = stepLandlock
	if _, _, e = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(f.ruleset), 0, 0); e != 0 {
		goto failed
	}
	f.step = stepFilter
	// A waiting call must not start anew for a signal after the supervisor did it: only a deadly signal ends the wait.
	f.listener, _, e = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&f.filter)))
	if e != 0 {
		goto failed
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, signalSize, 0, 0)
	f.step = stepNone
	_, _, e = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(f.argv0)), uintptr(unsafe.Pointer(&f.argv[0])), uintptr(unsafe.Pointer(&f.envv[0])))
	f.step = stepExec

failed:
	f.errno = e
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 126, 0, 0)
	}
}

// newFork prepares everything that the child needs.
func newFork(todo plan, ruleset, umask int) (*fork, error) {
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(todo.Filter) == 0 || len(todo.Filter)%size != 0 || len(todo.Argv) == 0 || todo.Processes < 1 {
		return nil, errors.New("the plan has no filter, no program or no processes")
	}
	filter := unix.SockFprog{Len: uint16(len(todo.Filter) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&todo.Filter[0]))}
	f := &fork{ruleset: ruleset, umask: umask, terminal: todo.Terminal, filter: filter}
	err := errors.Join(unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &f.files), unix.Prlimit(0, unix.RLIMIT_NPROC, nil, &f.processes))
	if err != nil {
		return nil, fmt.Errorf("reading limits: %w", err)
	}
	// The Go runtime raised the soft limit for itself; programs that use select rely on a low one.
	f.files.Cur = min(f.files.Max, 1024)
	f.processes.Max = min(f.processes.Max, uint64(todo.Processes))
	f.processes.Cur = min(f.processes.Cur, f.processes.Max)
	if f.argv0, err = unix.BytePtrFromString(todo.Argv[0]); err != nil {
		return nil, &os.PathError{Op: "running", Path: todo.Argv[0], Err: err}
	}
	if f.argv, err = syscall.SlicePtrFromStrings(todo.Argv); err != nil {
		return nil, &os.PathError{Op: "running", Path: todo.Argv[0], Err: err}
	}
	if f.envv, err = syscall.SlicePtrFromStrings(todo.Env); err != nil {
		return nil, &os.PathError{Op: "running", Path: todo.Argv[0], Err: err}
	}
	if f.dir, err = unix.BytePtrFromString(todo.Dir); err != nil {
		return nil, &os.PathError{Op: "running", Path: todo.Argv[0], Err: err}
	}
	return f, nil
}

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fork is the start of the command's first process: a copy of this thread that confines itself further and becomes the command.
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
	processes  uint64
}

// Steps of the child, for the error that tells which failed.
const (
	stepListener = iota // no failure: the value is the listener's number
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

// start starts the process from this thread, which must be locked. The listener is the supervisor's end of the filter.
func (f *fork) start() (pid, listener int, err error) {
	said, err := pipe()
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(said[0])
	var own [3]int // the child's first three descriptors replace this process's
	for i := range own {
		if own[i], err = unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return 0, 0, err
		}
		defer unix.Close(own[i])
	}

	syscall.ForkLock.Lock()
	pid, errno := f.clone(said[1])
	for i := range own {
		unix.Dup3(own[i], i, 0)
	}
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(f)
	unix.Close(said[1])
	if errno != 0 {
		return 0, 0, errno
	}
	step, listener, ok := readStep(said[0])
	if ok && step == stepListener {
		if step, errno, failed := readStep(said[0]); failed { // else the pipe closed: the command runs
			return 0, 0, &stepError{step, unix.Errno(errno)}
		}
		return pid, listener, nil
	}
	return 0, 0, &stepError{step, unix.Errno(listener)}
}

func pipe() (p [2]int, err error) {
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p, err
}

// readStep reads what the child says: two numbers.
func readStep(fd int) (step, value int, ok bool) {
	var buf [16]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		step = int(binary.NativeEndian.Uint64(buf[:]))
		return step, int(binary.NativeEndian.Uint64(buf[8:])), err == nil && n == len(buf) && step < len(stepNames)
	}
}

// clone makes the copy of this thread, which waits until the copy became the command. The two share their descriptors up to
// then, so the listener is the supervisor's from the start. In the child nothing but raw calls may happen: the other threads are
// not there, so an allocation or a growing stack could wait for one of them for ever. All variables stand ready before.
//
//go:noinline
//go:norace
//go:nocheckptr
func (f *fork) clone(say int) (pid int, errno unix.Errno) {
	var (
		r, step   uintptr
		e         syscall.Errno
		message   [2]uint64
		all       = ^uint64(0)
		none, old uint64
		limit     unix.Rlimit
		processes unix.Rlimit
	)
	const signalSize = 8
	syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
	// The Go runtime raised the soft limit for itself; programs that use select rely on a low one.
	limit.Cur = min(limit.Max, 1024)
	// Processes are counted for each user and user namespace (Linux 5.14), and each sandbox has its own. Root's aren't bounded.
	syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, 0, uintptr(unsafe.Pointer(&processes)), 0, 0)
	processes.Max = min(processes.Max, f.processes)
	processes.Cur = min(processes.Cur, processes.Max)

	// No signal handler of the runtime may run in the child. Running the command resets them.
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), signalSize, 0, 0)
	r, _, e = syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_VFORK|unix.CLONE_FILES|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 || r != 0 {
		syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, signalSize, 0, 0)
		return int(r), e
	}

	syscall.RawSyscall(unix.SYS_UMASK, uintptr(f.umask), 0, 0)
	step = stepSession
	if _, _, e = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 {
		goto failed
	}
	step = stepStdio
	for r = 0; r < 3; r++ {
		if _, _, e = syscall.RawSyscall(unix.SYS_DUP3, fdStdin+r, r, 0); e != 0 {
			goto failed
		}
	}
	step = stepTerminal
	if f.terminal {
		if _, _, e = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); e != 0 {
			goto failed
		}
	}
	step = stepLimit
	if _, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); e != 0 {
		goto failed
	}
	if _, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, uintptr(unsafe.Pointer(&processes)), 0, 0, 0); e != 0 {
		goto failed
	}
	step = stepDir
	if _, _, e = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(f.dir)), 0, 0); e != 0 {
		goto failed
	}
	step = stepLandlock
	if _, _, e = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(f.ruleset), 0, 0); e != 0 {
		goto failed
	}
	step = stepFilter
	// A waiting call must not start anew for a signal after the supervisor did it: only a deadly signal ends the wait.
	r, _, e = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&f.filter)))
	if e != 0 {
		goto failed
	}
	message[0], message[1] = stepListener, uint64(r)
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(say), uintptr(unsafe.Pointer(&message)), unsafe.Sizeof(message))
	step = stepExec
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, signalSize, 0, 0)
	_, _, e = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(f.argv0)), uintptr(unsafe.Pointer(&f.argv[0])), uintptr(unsafe.Pointer(&f.envv[0])))

failed:
	message[0], message[1] = uint64(step), uint64(e)
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(say), uintptr(unsafe.Pointer(&message)), unsafe.Sizeof(message))
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
	f := &fork{ruleset: ruleset, umask: umask, terminal: todo.Terminal, processes: uint64(todo.Processes), filter: filter}
	var err error
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

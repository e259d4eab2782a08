package sandbox

import (
	"encoding/binary"
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

// start starts the process from this thread, which must be locked. The listener is the supervisor's end of the filter. The
// process waits, confined, until ready returns.
func (f *fork) start(ready func()) (pid, listener int, err error) {
	fromChild, err := pipe()
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(fromChild[0])
	toChild, err := pipe()
	if err != nil {
		unix.Close(fromChild[1])
		return 0, 0, err
	}
	defer unix.Close(toChild[1])

	syscall.ForkLock.Lock()
	pid, errno := f.clone(fromChild[1], toChild[0])
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(f)
	unix.Close(fromChild[1])
	unix.Close(toChild[0])
	if errno != 0 {
		return 0, 0, errno
	}
	step, value, ok := readStep(fromChild[0])
	if !ok || step != stepListener {
		return 0, 0, &stepError{step, unix.Errno(value)}
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(pidfd)
	if listener, err = unix.PidfdGetfd(pidfd, value, 0); err != nil {
		return 0, 0, err
	}
	ready()
	if _, err := unix.Write(toChild[1], []byte{0}); err != nil {
		return 0, 0, err
	}
	if step, value, ok = readStep(fromChild[0]); ok { // the pipe closes when the command runs
		return 0, 0, &stepError{step, unix.Errno(value)}
	}
	return pid, listener, nil
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

// clone makes the copy of this thread. In the child nothing but raw calls may happen: the other threads are not there, so an
// allocation or a growing stack could wait for one of them for ever. All variables stand ready before.
//
//go:noinline
//go:norace
//go:nocheckptr
func (f *fork) clone(say, hear int) (pid int, errno unix.Errno) {
	var (
		r, step, sig uintptr
		e            syscall.Errno
		message      [2]uint64
		heard        [1]byte
		all          = ^uint64(0)
		none, old    uint64
		action       [8]uint64 // a zero sigaction: the default
		limit        unix.Rlimit
	)
	const signalSize = 8
	syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
	// The Go runtime raised the soft limit for itself; programs that use select rely on a low one.
	limit.Cur = min(limit.Max, 1024)

	// No signal handler of the runtime may run in the child.
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), signalSize, 0, 0)
	r, _, e = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 || r != 0 {
		syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, signalSize, 0, 0)
		return int(r), e
	}

	for sig = 1; sig <= 64; sig++ {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, signalSize, 0, 0)
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
	if r, _, e = syscall.RawSyscall(unix.SYS_READ, uintptr(hear), uintptr(unsafe.Pointer(&heard)), 1); r != 1 {
		goto failed
	}
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
func newFork(todo plan, ruleset, umask int, filter []unix.SockFilter) (*fork, error) {
	f := &fork{ruleset: ruleset, umask: umask, terminal: todo.Terminal, filter: unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}}
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

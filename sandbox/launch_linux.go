package sandbox

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Launch is the body of `handrail launch`: it starts one command inside a sandbox that Start made. main calls it before
// anything else and exits with its result. Started by anyone else it does nothing.
//
// It is the first process of the sandbox's process namespace, so that everything ends with it. It confines itself, starts
// the command from a thread that is confined further, and then supervises: it does the changes of files that the policy
// allows (see supervisor), reaps, and reports how the command ended.
func Launch(args []string) int {
	var st unix.Stat_t
	if len(args) == 1 && args[0] == outsideWord && unix.Fstat(fdPlan, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
		return launchOutside()
	}
	if os.Getpid() != 1 || len(args) != 0 {
		fmt.Fprintln(os.Stderr, "handrail launch: only Handrail starts this, inside a sandbox")
		return 64
	}
	l := &launcher{}
	l.report(report{Failure: failureOf(l.launch())})
	return 71
}

type launcher struct{ plan plan }

func (l *launcher) report(r report) { r.send(descriptor(fdStatus)) }

// descriptor reads and writes a descriptor without what os.File needs: the launcher is started for each command.
type descriptor int

func (d descriptor) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (d descriptor) Write(b []byte) (done int, err error) {
	for done < len(b) {
		n, err := unix.Write(int(d), b[done:])
		if err != nil && err != unix.EINTR {
			return done, err
		}
		done += max(n, 0)
	}
	return done, nil
}

// launch does everything up to the command's end, which ends the process. It returns what went wrong before.
func (l *launcher) launch() error {
	// This thread confines itself, starts the command and supervises it. It is never unlocked: no other work may run on it.
	runtime.LockOSThread()
	// What the runtime opened meanwhile keeps working; no program started from here inherits anything but 0 to 2.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("closing descriptors: %w", err)
	}
	text, err := readPlan()
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	unix.Close(fdPlan)
	unix.Close(fdSelf)
	if err := take(text, l.plan.carry); err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if err := boundNumbers(l.plan.Processes); err != nil {
		return err
	}
	umask := unix.Umask(0)
	p := l.plan.Policy
	s := newSupervisor(p, l.plan)
	ruleset, err := confine(abi, p, s.eachPlace)
	if err != nil {
		return err
	}
	if info, err := os.Stat(l.plan.Dir); err != nil || !info.IsDir() {
		return &os.PathError{Op: "running", Path: l.plan.Argv[0], Err: fmt.Errorf("its folder %s can't be entered", l.plan.Dir)}
	}
	f, err := newFork(l.plan, ruleset, umask)
	if err != nil {
		return err
	}
	// Nothing else in the sandbox may look into this process. The second Landlock layer says the same.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the launcher to others: %w", err)
	}
	pid, err := f.start()
	if err != nil {
		var step *stepError
		if errors.As(err, &step) && step.step == stepFilter {
			return &UnavailableError{What: "the kernel can't pass calls on to a supervisor (seccomp)", Install: "use Linux 6.2 or newer", Cause: step.errno}
		}
		if errors.As(err, &step) && step.step == stepExec {
			err = step.errno
		}
		return &os.PathError{Op: "running", Path: l.plan.Argv[0], Err: err}
	}
	for _, fd := range []int{ruleset, fdStdin, fdStdout, fdStderr} {
		unix.Close(fd)
	}
	l.report(report{Started: true})
	if f.endsSoon() {
		l.reap(pid)
	}
	unix.Close(int(f.pidfd))
	runtime.GOMAXPROCS(max(2, runtime.NumCPU())) // Start chose one: see launcherEnv
	go l.obey()
	go l.reap(pid)
	return s.serve(int(f.listener))
}

// soon is how long, in milliseconds, a command is waited for before the threads are made that supervising takes.
const soon = 20

// endsSoon waits until the command ends, makes a call that the supervisor answers, or the host gives an order, and reports whether
// it ended.
func (f *fork) endsSoon() bool {
	poll := []unix.PollFd{{Fd: f.pidfd, Events: unix.POLLIN}, {Fd: fdControl, Events: unix.POLLIN}, {Fd: int32(f.listener), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, soon)
		if err != nil || n == 0 || poll[0].Revents != 0 || poll[1].Revents != 0 || poll[2].Revents&unix.POLLIN != 0 {
			return poll[0].Revents&unix.POLLIN != 0
		}
		poll[2].Fd = -1 // nobody uses the filter any more: the end is near
	}
}

// readPlan reads the plan's text.
func readPlan() ([]byte, error) {
	text := make([]byte, 1<<16) // few plans are longer
	for n := 0; ; {
		more, err := (descriptor(fdPlan)).Read(text[n:])
		n += more
		switch {
		case err == io.EOF:
			return text[:n], nil
		case err != nil:
			return nil, err
		case n == len(text):
			text = append(text, make([]byte, len(text))...)
		}
	}
}

// reap waits for every process that ends here, reports the command's end, and ends: the kernel then ends the rest.
func (l *launcher) reap(command int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // no child: impossible before the command's end
			os.Exit(71)
		}
		if pid != command || !(status.Exited() || status.Signaled()) {
			continue
		}
		exit := Exit{Code: status.ExitStatus(), LeftRunning: countLeft()}
		if status.Signaled() {
			exit.Code = 128 + int(status.Signal())
			exit.Signal = unix.SignalName(status.Signal())
		}
		l.report(report{Exit: &exit})
		os.Exit(0)
	}
}

// countLeft counts the processes of the sandbox that still run, beside this one.
func countLeft() int {
	if unix.Kill(-1, 0) == unix.ESRCH {
		return 0 // the usual case
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	n := 0
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == 1 {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if _, rest, ok := strings.Cut(string(stat), ") "); err == nil && ok && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X") {
			n++
		}
	}
	return n
}

// obey follows the host's orders until it is gone, and then ends everything.
func (l *launcher) obey() {
	order := make([]byte, 1)
	for {
		if _, err := (descriptor(fdControl)).Read(order); err != nil {
			os.Exit(128 + int(unix.SIGKILL))
		}
		if order[0] == orderTerminate {
			unix.Kill(-1, unix.SIGTERM)
		}
	}
}

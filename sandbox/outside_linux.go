package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// outsideWord is the argument with which `handrail launch` starts a command outside the sandbox.
const outsideWord = "outside"

// startOutside starts the launcher without bubblewrap. Every process of the command descends from it, for it takes in those whose parent
// has ended (PR_SET_CHILD_SUBREAPER); with the host's end it kills them.
func startOutside(p Policy, c Command) (proc *Process, err error) {
	var theirs, ours []*os.File
	closeTheirs := func() {
		for _, f := range theirs {
			f.Close() // so that the pipes end when the launcher does
		}
		theirs = nil
	}
	defer func() {
		closeTheirs()
		if err != nil {
			for _, f := range ours {
				f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("starting a command: %w", err)
	}
	theirs = append(theirs, null)
	self, err := openLauncher(p.machine.Executable)
	if err != nil {
		return nil, &UnavailableError{What: "Handrail's own program can't be opened", Cause: err}
	}
	theirs = append(theirs, self)
	planR, planW := pipe()
	controlR, controlW := pipe()
	statusR, statusW := pipe()
	stderrR, stderrW := pipe()
	if err != nil {
		return nil, fmt.Errorf("starting a command: %w", err)
	}
	theirs = append(theirs, planR, controlR, statusW, stderrW)
	ours = append(ours, planW, controlW, statusR, stderrR)
	files := make([]*os.File, fdHeld)
	files[0], files[1], files[2], files[fdArgs] = null, null, stderrW, null
	files[fdPlan], files[fdSelf], files[fdStatus], files[fdControl] = planR, self, statusW, controlR
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f == nil {
			f = null
		}
		files[fdStdin+i] = f
	}
	process, err := os.StartProcess(fdPath(fdSelf), []string{"handrail", "launch", outsideWord}, &os.ProcAttr{Dir: "/", Env: launcherEnv, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return nil, &UnavailableError{What: "Handrail's own program doesn't start", Cause: err}
	}
	closeTheirs()
	todo := plan{Argv: c.Argv, Dir: c.Dir, DirDevice: c.DirDevice, DirInode: c.DirInode, Env: c.Env, Terminal: c.Terminal}
	go func() {
		planW.Write(todo.written())
		planW.Close()
	}()
	proc = &Process{running{bwrap: process, outside: true, control: controlW, done: make(chan struct{})}}
	started := make(chan error, 1)
	go proc.follow(statusR, stderrR, started)
	if err := <-started; err != nil {
		<-proc.done
		return nil, err
	}
	return proc, nil
}

// launchOutside is the launcher's part.
func launchOutside() int {
	l := &launcher{}
	l.report(report{Failure: failureOf(l.outside())})
	return 71
}

// outside starts the command, waits for its end, kills what it left, reports, and ends the process. It returns what went wrong before.
func (l *launcher) outside() error {
	runtime.LockOSThread() // the command dies with the thread that started it
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("closing descriptors: %w", err)
	}
	text, err := readPlan()
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	unix.Close(fdPlan)
	unix.Close(fdSelf)
	if err := take(text, l.plan.carry); err != nil || len(l.plan.Argv) == 0 {
		return fmt.Errorf("reading the plan: %w", errors.Join(err, errors.New("there is no program")))
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("taking in what the command leaves: %w", err)
	}
	p := l.plan
	if err := p.enter(); err != nil {
		return err
	}
	var files []*os.File
	for _, fd := range []uintptr{fdStdin, fdStdout, fdStderr} {
		files = append(files, os.NewFile(fd, "command"))
	}
	command, err := os.StartProcess(p.Argv[0], p.Argv, &os.ProcAttr{Env: p.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: p.Terminal, Pdeathsig: unix.SIGKILL}})
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return &os.PathError{Op: "running", Path: p.Argv[0], Err: err}
	}
	for _, f := range files {
		f.Close()
	}
	l.report(report{Started: true})
	go func() { // the host says nothing; the end of the pipe is its end
		for b := make([]byte, 1); ; {
			if _, err := (descriptor(fdControl)).Read(b); err != nil {
				killBelow(os.Getpid())
				os.Exit(128 + int(unix.SIGKILL))
			}
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err == unix.EINTR || err == nil && (pid != command.Pid || !(status.Exited() || status.Signaled())) {
			continue
		}
		if err != nil {
			return fmt.Errorf("waiting for the command: %w", err)
		}
		exit := Exit{Code: status.ExitStatus(), LeftRunning: killBelow(os.Getpid())}
		if status.Signaled() {
			exit.Code = 128 + int(status.Signal())
			exit.Signal = unix.SignalName(status.Signal())
		}
		l.report(report{Exit: &exit})
		os.Exit(0)
	}
}

// parents gives the parent of each process that runs; of one that has ended and wasn't waited for it gives none.
func parents() map[int]int {
	all := make(map[int]int)
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if parent := parentOf(pid); parent > 0 {
				all[pid] = parent
			}
		}
	}
	return all
}

// parentOf gives the parent of a process that runs, 0 for none (proc_pid_stat(5)).
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// below lists the processes that descend from root.
func below(root int) (pids []int) {
	all := parents()
	for pid := range all {
		for at, n := all[pid], 0; at > 1 && n < len(all)+1; at, n = all[at], n+1 {
			if at == root {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// signalBelow sends a signal to each process that descends from root, and says how many there were and to how many it couldn't.
func signalBelow(root int, signal unix.Signal) (n, refused int) {
	for _, pid := range below(root) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if parentOf(pid) > 0 { // its number means this process, as long as the descriptor is open
			n++
			if err := unix.PidfdSendSignal(fd, signal, nil, 0); err == unix.EPERM {
				refused++
			}
		}
		unix.Close(fd)
	}
	return n, refused
}

// killFor bounds how long killBelow goes on with processes that don't end: those of another user, or in the middle of a call that
// can't be interrupted.
const killFor = 5 * time.Second

// killBelow kills every process that descends from root, until there is none, and says how many there were at first. None can
// start another while it is stopped.
func killBelow(root int) (first int) {
	begun := time.Now()
	for round := 0; ; round++ {
		n, _ := signalBelow(root, unix.SIGSTOP)
		if round == 0 {
			first = n
		}
		for more := n; ; { // those that were started meanwhile
			again, _ := signalBelow(root, unix.SIGSTOP)
			if again <= more || time.Since(begun) > killFor {
				break
			}
			more = again
		}
		left, refused := signalBelow(root, unix.SIGKILL)
		if left == refused || time.Since(begun) > killFor {
			return first
		}
		time.Sleep(time.Millisecond)
	}
}

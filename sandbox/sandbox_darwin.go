package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const trueProgram = "/usr/bin/true"

const sandboxExec = "/usr/bin/sandbox-exec"

// sandbox-exec's own exit codes.
const (
	exitProfile = 65 // the profile has an error
	exitApply   = 71 // it can't be entered, or the program can't be run
)

type running struct {
	process *os.Process
	mark    mark
	done    chan struct{}
	exit    Exit
	err     error
}

func start(p Policy, c Command) (*Process, error) {
	if _, err := os.Stat(sandboxExec); err != nil {
		return nil, &UnavailableError{What: sandboxExec + " is missing", Cause: err}
	}
	for _, place := range append(append([]Place{{Path: p.machine.Workspace}}, p.reads...), p.writes...) {
		if err := checkPlace(place); err != nil {
			return nil, err
		}
	}
	profile, params, err := p.SBPL()
	if err != nil {
		return nil, err
	}
	mark := newMark()
	text, tags := profile, !untagged.Load()
	if tags {
		text = tagged(profile, mark)
	}
	args := []string{sandboxExec, "-p", text + markRules(mark, markOf(p.machine.State))}
	for _, param := range params {
		args = append(args, "-D", param.Name+"="+param.Value)
	}
	args = append(args, "--", p.machine.Executable, "launch")
	program := sandboxExec
	if p.profile == classic || p.profile == outside { // which close little that the system's own privacy permissions guard
		if err := Disclaims(); err != nil {
			return nil, err
		}
		program, args = p.machine.Executable, disclaiming(p.machine.Executable, args)
	}
	todo := plan{Argv: c.Argv, Dir: c.Dir, Env: c.Env, Terminal: c.Terminal}
	if p.profile == outside {
		todo.DirDevice, todo.DirInode = c.DirDevice, c.DirInode
	}

	var theirs, ours []*os.File // the child's ends of pipes, closed here once it has them; and those that stay
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		r, w, err = os.Pipe()
		return r, w
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	planR, planW := pipe()
	statusR, statusW := pipe()
	stderrR, stderrW := pipe()
	for _, f := range []*os.File{null, planR, statusW, stderrW} {
		if f != nil {
			theirs = append(theirs, f)
		}
	}
	for _, f := range []*os.File{planW, statusR, stderrR} {
		if f != nil {
			ours = append(ours, f)
		}
	}
	if err != nil {
		closeAll(append(theirs, ours...))
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	files := []*os.File{null, null, stderrW, planR, statusW}
	for _, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f == nil {
			f = null
		}
		files = append(files, f)
	}
	process, err := os.StartProcess(program, args, &os.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, &UnavailableError{What: sandboxExec + " doesn't start", Cause: err}
	}
	go func() {
		planW.Write(todo.written())
		planW.Close()
	}()
	proc := &Process{running{process: process, mark: mark, done: make(chan struct{})}}
	entered, failed := readReports(statusR)
	if entered && failed == nil {
		go io.Copy(io.Discard, stderrR)
		go proc.wait(stderrR)
		return proc, nil
	}
	said, _ := io.ReadAll(io.LimitReader(stderrR, 4096))
	proc.wait(stderrR)
	if failed != nil {
		return nil, failed
	}
	e := &UnavailableError{What: "the profile can't be entered", Cause: errors.New(strings.TrimSpace(string(said)))}
	switch proc.exit.Code {
	case exitProfile:
		if tags {
			untagged.Store(true)
			return start(p, c) // the profile as it is, without the words for the log
		}
		e.What = "macOS doesn't accept the profile"
	case exitApply:
		e.Install = "start Handrail outside any other sandbox"
	}
	return nil, e
}

// readReports reads what the launcher says, up to the moment when it becomes the command: then the pipe ends.
func readReports(status *os.File) (entered bool, failed error) {
	defer status.Close()
	for {
		r, err := readReport(status)
		if err != nil {
			return entered, failed
		}
		if r.Started {
			entered = true
		}
		if r.Failure != nil {
			failed = r.Failure.err()
		}
	}
}

// checkPlace compares a place's identity. The profile names paths, so a folder that is swapped later is another folder under
// the same rule.
func checkPlace(place Place) error {
	dir := place.Path
	if place.File {
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 1)]
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &PlaceError{place.Path, err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return &PlaceError{place.Path, unix.ENOTDIR}
	}
	if (place.Device != 0 || place.Inode != 0) && (uint64(st.Dev) != place.Device || st.Ino != place.Inode) {
		return &PlaceError{Path: place.Path}
	}
	return nil
}

// wait waits for the command, and then ends what it left running.
func (p *Process) wait(stderr *os.File) {
	state, err := p.process.Wait()
	stderr.Close()
	if err != nil {
		p.err = fmt.Errorf("waiting for the sandbox: %w", err)
	} else if status, ok := state.Sys().(syscall.WaitStatus); ok {
		p.exit.Code = status.ExitStatus()
		if status.Signaled() {
			p.exit.Code = 128 + int(status.Signal())
			p.exit.Signal = unix.SignalName(status.Signal())
		}
	}
	p.exit.LeftRunning = p.mark.kill() // what the command left running ends with it
	close(p.done)
}

// PID is the command's process.
func (p *Process) PID() int { return p.process.Pid }

// Wait waits until the command and all it started are gone.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Terminate asks every process of the command to end (SIGTERM). It is no error that they are gone.
func (p *Process) Terminate() error {
	for _, pid := range p.mark.processes() {
		unix.Kill(pid, unix.SIGTERM)
	}
	if err := unix.Kill(-p.process.Pid, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("terminating a command: %w", err)
	}
	return nil
}

// Kill ends every process of the command at once, also those that left its process group or session: each is known by the
// profile it runs under. It is no error that they are gone.
func (p *Process) Kill() error {
	if err := unix.Kill(-p.process.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("killing a command: %w", err)
	}
	p.mark.kill()
	return nil
}

// newMark makes a mark that no other command has.
func newMark() mark { return mark(markPrefix + strings.ToLower(rand.Text())) }

// Launch is the body of `handrail launch`: it becomes one command inside a sandbox that Start made. main calls it before
// anything else and exits with its result. Started by anyone else it does nothing.
//
// With the arguments that disclaiming makes it becomes sandbox-exec, outside any sandbox.
func Launch(args []string) int {
	status := os.NewFile(fdStatus, "status")
	if argv, ok := disclaimed(args); ok {
		err := becomeDisclaimed(argv, os.Environ())
		report{Failure: failureOf(&UnavailableError{What: "a command can't be kept from Handrail's own privacy permissions", Install: "choose the profile guarded", Cause: err})}.send(status)
		return exitApply
	}
	var st unix.Stat_t
	if len(args) != 0 || unix.Fstat(fdPlan, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		fmt.Fprintln(os.Stderr, "handrail launch: only Handrail starts this, inside a sandbox")
		return 64
	}
	err := become()
	report{Failure: failureOf(err)}.send(status)
	return exitApply
}

// become turns this process into the command. It returns only what went wrong.
func become() error {
	unix.CloseOnExec(fdStatus)
	planned := os.NewFile(fdPlan, "plan")
	text, err := io.ReadAll(planned)
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	planned.Close()
	var todo plan
	if err := take(text, todo.carry); err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if len(todo.Argv) == 0 {
		return errors.New("reading the plan: no program")
	}
	for i, fd := range []int{fdStdin, fdStdout, fdStderr} {
		if err := unix.Dup2(fd, i); err != nil {
			return fmt.Errorf("setting the command's descriptors: %w", err)
		}
		unix.Close(fd)
	}
	if todo.Terminal {
		if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
			return fmt.Errorf("setting the command's terminal: %w", err)
		}
	}
	if err := leaveProcesses(); err != nil {
		return err
	}
	if err := todo.enter(); err != nil {
		return err
	}
	report{Started: true}.send(os.NewFile(fdStatus, "status"))
	return &os.PathError{Op: "running", Path: todo.Argv[0], Err: syscall.Exec(todo.Argv[0], todo.Argv, todo.Env)}
}

// leaveProcesses keeps a quarter of the processes that the user may have out of the command's reach, so that the person can still
// start a program to end it. The system counts all of the user's processes together (setrlimit(2), RLIMIT_NPROC).
func leaveProcesses() error {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit)
	if err == nil {
		limit.Cur = limit.Cur / 4 * 3
		limit.Max = limit.Cur
		err = unix.Setrlimit(unix.RLIMIT_NPROC, &limit)
	}
	if err != nil {
		return fmt.Errorf("bounding the command's processes: %w", err)
	}
	return nil
}

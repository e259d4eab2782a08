package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const trueProgram = "/usr/bin/true"

// bwrapPaths are where a system's own bubblewrap is. PATH isn't searched: it may name a folder that others can write.
var bwrapPaths = []string{"/usr/bin/bwrap", "/bin/bwrap", "/run/wrappers/bin/bwrap", "/run/current-system/sw/bin/bwrap", "/usr/local/bin/bwrap"}

// launcherEnv is the environment of bubblewrap and the launcher; the command's is in the plan. The launcher's runtime starts sooner
// for one processor: it makes fewer threads, and doesn't look for the limits of a control group.
var launcherEnv = []string{"GOMAXPROCS=1"}

type running struct {
	bwrap   *os.Process // or, outside a sandbox, the launcher
	outside bool
	control *os.File
	order   sync.Mutex // guards control, which is nil once bwrap may be gone
	done    chan struct{}
	exit    Exit
	err     error
}

func start(p Policy, c Command) (proc *Process, err error) {
	if p.profile == outside {
		return startOutside(p, c)
	}
	bwrap := ""
	for _, path := range bwrapPaths {
		if unix.Access(path, unix.X_OK) == nil {
			bwrap = path
			break
		}
	}
	if bwrap == "" {
		return nil, &UnavailableError{What: "bubblewrap is not installed", Install: "install the package bubblewrap"}
	}

	var theirs, ours []*os.File // what bubblewrap gets, closed here once it has them; and our ends of pipes
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close() // so that the pipes end when the sandbox does
		}
	}
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
		}
	}()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	theirs = append(theirs, null)
	self, err := openLauncher(p.machine.Executable)
	if err != nil {
		return nil, &UnavailableError{What: "Handrail's own program can't be opened", Cause: err}
	}
	theirs = append(theirs, self)
	files := make([]*os.File, fdHeld)
	v, err := newView(p, func(f *os.File) int { files = append(files, f); return len(files) - 1 })
	if err != nil {
		return nil, err
	}
	defer v.close()
	pipe := func(weRead bool) (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err != nil {
			return nil, nil
		}
		if weRead {
			theirs, ours = append(theirs, w), append(ours, r)
		} else {
			theirs, ours = append(theirs, r), append(ours, w)
		}
		return r, w
	}
	argsR, argsW := pipe(false)
	planR, planW := pipe(false)
	controlR, controlW := pipe(false)
	statusR, statusW := pipe(true)
	stderrR, stderrW := pipe(true)
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	files[0], files[1], files[2] = null, null, stderrW
	files[fdArgs], files[fdPlan], files[fdSelf], files[fdStatus], files[fdControl] = argsR, planR, self, statusW, controlR
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f == nil {
			f = null
		}
		files[fdStdin+i] = f
	}
	attr := &os.ProcAttr{Dir: "/", Env: launcherEnv, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}}
	process, err := onStarter(func() (*os.Process, error) {
		return os.StartProcess(bwrap, []string{bwrap, "--args", strconv.Itoa(fdArgs), "--", fdPath(fdSelf), "launch"}, attr)
	})
	if err != nil {
		return nil, &UnavailableError{What: "bubblewrap doesn't start", Cause: err}
	}
	closeAll(theirs)
	theirs = nil

	// While bubblewrap gets ready to read its arguments, they are made. Without the plan, which comes last, nothing is run.
	text, err := v.plan(p, c)
	if err != nil {
		process.Kill()
		process.Wait()
		return nil, err
	}
	// Who has ended doesn't read; follow finds out why. Arguments that were cut could lack what covers a secret: then there is no
	// plan.
	_, cut := argsW.WriteString(strings.Join(v.args, "\x00") + "\x00")
	argsW.Close()
	proc = &Process{running{bwrap: process, control: controlW, done: make(chan struct{})}}
	started := make(chan error, 1)
	go proc.follow(statusR, stderrR, started)
	if cut == nil {
		planW.Write(text)
	}
	planW.Close()
	if err := <-started; err != nil {
		<-proc.done
		return nil, err
	}
	return proc, nil
}

// plan lists the view's mounts and makes the text of the plan.
func (v *view) plan(p Policy, c Command) ([]byte, error) {
	if err := v.list(p); err != nil {
		return nil, err
	}
	filter, err := filterFor(p)
	if err != nil {
		return nil, err
	}
	todo := plan{Policy: p, Filter: filter, Argv: c.Argv, Dir: c.Dir, Env: c.Env, Terminal: c.Terminal, Processes: cmp.Or(c.Processes, MaxProcesses), Nested: nestedIn(p)}
	for _, h := range v.held {
		todo.Held = append(todo.Held, h.Path)
	}
	return todo.written(), nil
}

// follow reads the launcher's reports until it is gone. It answers once on started.
func (p *Process) follow(status, stderr *os.File, started chan<- error) {
	said := make(chan string, 1) // nobody may take it
	go func() {
		text, _ := io.ReadAll(io.LimitReader(stderr, 4096))
		io.Copy(io.Discard, stderr)
		stderr.Close()
		said <- strings.TrimSpace(string(text))
	}()
	answered := false
	first := -1
	var exit *Exit
	for {
		r, err := readReport(status)
		if err != nil {
			break
		}
		switch {
		case r.Failure != nil && !answered:
			answered = true
			started <- r.Failure.err()
		case r.Started && !answered:
			answered = true
			started <- nil
			if !p.outside {
				first = firstProcess(p.bwrap.Pid)
			}
		case r.Exit != nil:
			exit = r.Exit
		}
	}
	status.Close()
	if p.outside { // its number must mean nothing else while something is ended by it
		if fd, err := unix.PidfdOpen(p.bwrap.Pid, 0); err == nil {
			ended(fd)
			unix.Close(fd)
		}
		p.order.Lock()
		p.control.Close()
		p.control = nil
		p.order.Unlock()
	}
	var err error
	if exit == nil || first < 0 || !ended(first) {
		var state *os.ProcessState
		state, err = p.bwrap.Wait()
		if text := <-said; !answered {
			started <- p.unstarted(text, state)
		}
	} else {
		go func() { p.bwrap.Wait() }()
	}
	if first >= 0 {
		unix.Close(first)
	}
	p.order.Lock()
	if p.control != nil {
		p.control.Close()
		p.control = nil
	}
	p.order.Unlock()
	switch {
	case exit != nil:
		p.exit = *exit
	case err != nil:
		p.err = fmt.Errorf("waiting for the sandbox: %w", err)
	default: // the launcher was killed, and everything with it
		p.exit = Exit{Code: 128 + int(unix.SIGKILL), Signal: "SIGKILL"}
	}
	close(p.done)
}

// firstProcess gives a descriptor of the sandbox's first process, the launcher, -1 if it can't be had. With its end everything in
// the sandbox is gone (pid_namespaces(7)); bubblewrap, outside, takes a moment more.
func firstProcess(bwrap int) (pidfd int) {
	child := func() int { // the only one it has
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", bwrap))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return pid
	}
	pid := child()
	if pid <= 0 {
		return -1
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1
	}
	if child() != pid { // the number may have come to mean another process
		unix.Close(fd)
		return -1
	}
	return fd
}

// ended waits until the process ends.
func ended(pidfd int) bool {
	poll := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, -1); err != unix.EINTR {
			return err == nil && poll[0].Revents&unix.POLLIN != 0
		}
	}
}

// unstarted explains a launcher that ended before it said anything.
func (p *Process) unstarted(text string, state *os.ProcessState) error {
	if !p.outside {
		return bwrapError(text, state)
	}
	return &UnavailableError{What: "a command can't be started outside the sandbox", Cause: fmt.Errorf("%v %s", state, text)}
}

// bwrapError explains a bubblewrap that ended before the launcher said anything.
func bwrapError(text string, state *os.ProcessState) error {
	e := &UnavailableError{What: "bubblewrap can't set it up", Cause: errors.New(text)}
	if text == "" {
		e.Cause = fmt.Errorf("it ended with %v", state)
	}
	switch {
	case strings.Contains(text, "Unknown option"):
		e.Install = "install bubblewrap 0.5 or newer"
	case strings.Contains(text, "namespace"), strings.Contains(text, "uid map"), strings.Contains(text, "loopback"):
		e.What = "the system doesn't let bubblewrap make user namespaces"
		e.Install = "allow them: sysctl user.max_user_namespaces=15000; on Debian also kernel.unprivileged_userns_clone=1, " +
			"on Ubuntu an AppArmor profile for bwrap or kernel.apparmor_restrict_unprivileged_userns=0"
	}
	return e
}

// PID is the process that holds the sandbox. It is of use for looking only: Terminate and Kill end the command.
func (p *Process) PID() int { return p.bwrap.Pid }

// Wait waits until the command and all it started are gone.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Terminate asks every process of the command to end (SIGTERM). It is no error that they are gone.
func (p *Process) Terminate() error {
	p.order.Lock()
	defer p.order.Unlock()
	if p.control == nil {
		return nil
	}
	if p.outside {
		signalBelow(p.bwrap.Pid, unix.SIGTERM)
		return nil
	}
	if _, err := p.control.Write([]byte{orderTerminate}); err != nil && !errors.Is(err, unix.EPIPE) {
		return fmt.Errorf("terminating a command: %w", err)
	}
	return nil
}

// Kill ends every process of the command at once, also those that left its process group or session: the kernel ends a
// process namespace with its first process. It is no error that they are gone.
func (p *Process) Kill() error {
	if p.outside {
		p.order.Lock()
		defer p.order.Unlock()
		if p.control == nil {
			return nil
		}
		killBelow(p.bwrap.Pid) // the launcher ends by itself then, unless the command has stopped it
	}
	if err := p.bwrap.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing a command: %w", err)
	}
	return nil
}

// bubblewrap dies with the thread that started it (PR_SET_PDEATHSIG), and the Go runtime may end a thread at any time but
// one that a goroutine holds for good.
var starter struct {
	once  sync.Once
	calls chan func()
}

func onStarter(start func() (*os.Process, error)) (process *os.Process, err error) {
	starter.once.Do(func() {
		starter.calls = make(chan func())
		go func() {
			runtime.LockOSThread()
			for call := range starter.calls {
				call()
			}
		}()
	})
	done := make(chan struct{})
	starter.calls <- func() { process, err = start(); close(done) }
	<-done
	return process, err
}

// nestedIn lists the workspace and the granted folders that lie in a Git repository whose top is not shown: a repository
// made there would take its place for everyone who works in the folder.
func nestedIn(p Policy) []string {
	var nested []string
	roots := []string{p.machine.Workspace}
	for _, place := range p.writes {
		if !place.File {
			roots = append(roots, place.Path)
		}
	}
	known := map[string]bool{"/": false, filepath.Dir(p.machine.Home): false}
	var inRepository func(dir string) bool
	inRepository = func(dir string) bool {
		yes, ok := known[dir]
		if !ok {
			_, err := os.Lstat(filepath.Join(dir, ".git"))
			yes = err == nil || inRepository(filepath.Dir(dir))
			known[dir] = yes
		}
		return yes
	}
	for _, root := range roots {
		if inRepository(filepath.Dir(root)) {
			nested = append(nested, root)
		}
	}
	return nested
}

package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const trueProgram = "/usr/bin/true"

// bwrapPaths are where a system's own bubblewrap is. PATH isn't searched: it may name a folder that others can write.
var bwrapPaths = []string{"/usr/bin/bwrap", "/bin/bwrap", "/run/wrappers/bin/bwrap", "/run/current-system/sw/bin/bwrap", "/usr/local/bin/bwrap"}

type running struct {
	bwrap   *os.Process
	control *os.File
	order   sync.Mutex // guards control
	done    chan struct{}
	exit    Exit
	err     error
}

func start(p Policy, c Command) (*Process, error) {
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

	var opened []*os.File // ours to close once bubblewrap runs
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	own := func(f *os.File, err error) *os.File {
		if err == nil {
			opened = append(opened, f)
		}
		return f
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	opened = append(opened, null)
	self, err := openLauncher(p.machine.Executable)
	if err != nil {
		return nil, &UnavailableError{What: "Handrail's own program can't be opened", Cause: err}
	}
	opened = append(opened, self)

	files := make([]*os.File, fdHeld)
	v, err := newView(p, func(f *os.File) int { files = append(files, f); return len(files) - 1 })
	if err != nil {
		return nil, err
	}
	defer v.close()

	filter, err := filterFor(p)
	if err != nil {
		return nil, err
	}
	todo := plan{Policy: p.record(), Filter: filter, Argv: c.Argv, Dir: c.Dir, Env: c.Env, Terminal: c.Terminal, Processes: cmp.Or(c.Processes, MaxProcesses), Nested: nestedIn(p), Linked: startUpLinks(p)}
	for _, h := range v.held {
		todo.Held = append(todo.Held, h.Path)
	}
	text, err := json.Marshal(todo)
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	args, err := memory("arguments", []byte(strings.Join(v.args, "\x00")+"\x00"))
	own(args, err)
	planned, err2 := memory("plan", text)
	own(planned, err2)
	statusR, statusW, err3 := os.Pipe()
	own(statusW, err3)
	controlR, controlW, err4 := os.Pipe()
	own(controlR, err4)
	stderrR, stderrW, err5 := os.Pipe()
	own(stderrW, err5)
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		for _, f := range []*os.File{statusR, controlW, stderrR} {
			if f != nil {
				f.Close()
			}
		}
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}

	files[0], files[1], files[2] = null, null, stderrW
	files[fdArgs], files[fdPlan], files[fdSelf], files[fdStatus], files[fdControl] = args, planned, self, statusW, controlR
	for i, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f == nil {
			f = null
		}
		files[fdStdin+i] = f
	}
	attr := &os.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}}
	process, err := onStarter(func() (*os.Process, error) {
		return os.StartProcess(bwrap, []string{bwrap, "--args", fmt.Sprint(fdArgs), "--", fmt.Sprintf("/proc/self/fd/%d", fdSelf), "launch"}, attr)
	})
	if err != nil {
		statusR.Close()
		controlW.Close()
		stderrR.Close()
		return nil, &UnavailableError{What: "bubblewrap doesn't start", Cause: err}
	}
	for _, f := range opened {
		f.Close() // so that the pipes end when the sandbox does
	}
	opened = nil

	proc := &Process{running{bwrap: process, control: controlW, done: make(chan struct{})}}
	started := make(chan error, 1)
	go proc.follow(statusR, stderrR, started)
	if err := <-started; err != nil {
		<-proc.done
		return nil, err
	}
	return proc, nil
}

// follow reads the launcher's reports until it is gone. It answers once on started.
func (p *Process) follow(status, stderr *os.File, started chan<- error) {
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(stderr, 4096))
		io.Copy(io.Discard, stderr)
		stderr.Close()
		said <- strings.TrimSpace(string(text))
	}()
	reports := json.NewDecoder(status)
	answered := false
	var exit *Exit
	for {
		var r report
		if reports.Decode(&r) != nil {
			break
		}
		switch {
		case r.Failure != nil && !answered:
			answered = true
			started <- r.Failure.err()
		case r.Started && !answered:
			answered = true
			started <- nil
		case r.Exit != nil:
			exit = r.Exit
		}
	}
	status.Close()
	state, err := p.bwrap.Wait()
	text := <-said
	if !answered {
		started <- bwrapError(text, state)
	}
	p.order.Lock()
	p.control.Close()
	p.control = nil
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
	if _, err := p.control.Write([]byte{orderTerminate}); err != nil && !errors.Is(err, unix.EPIPE) {
		return fmt.Errorf("terminating a command: %w", err)
	}
	return nil
}

// Kill ends every process of the command at once, also those that left its process group or session: the kernel ends a
// process namespace with its first process. It is no error that they are gone.
func (p *Process) Kill() error {
	if err := p.bwrap.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing a command: %w", err)
	}
	return nil
}

// memory gives a file that exists only in memory.
func memory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("handrail "+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := io.Copy(f, bytes.NewReader(content)); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
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

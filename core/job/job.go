// Package job runs commands in the sandbox: it starts them, keeps their output, bounds their time, and stops them with
// everything they started.
//
// It is the only package that starts anything through package sandbox, and so the only one by which a model's command
// runs. A [Job] belongs to a session and ends with it. Output is held in memory up to a bound (the head and the tail) and,
// once it is longer than that, whole in a file of the session's work folder. A job that is killed, by its time-out, by
// its caller or by the person, takes its whole process tree along.
package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"handrail/sandbox"
)

// Spec says what to run. The zero Spec runs nothing: it has no command, and its policy allows nothing.
type Spec struct {
	Session string // whose it is
	Tool    string // which tool started it
	Text    string // what a person would call it: the command as it was given
	Argv    []string
	Dir     string
	// DirDevice and DirInode are those of Dir; a job outside the sandbox needs them (sandbox.Command).
	DirDevice, DirInode uint64
	Env                 []string
	// Stages is a pipeline in the place of Argv and Env.
	Stages []Stage
	Input  []byte // the whole standard input; nil is /dev/null
	// Interactive keeps the standard input open for Job.Stdin. Terminal, if not nil, runs the job in a pseudo-terminal of that
	// size, which is interactive too; its output is then all one stream. Input is not used with either.
	Interactive bool
	Terminal    *Size
	Policy      sandbox.Policy
	// Timeout ends the job that long after its start; 0 lets it run until it ends or is stopped.
	Timeout time.Duration
	// Work is the session's folder for output that is too long for memory. Background jobs write there from the start.
	Work string
	// Background jobs count against MaxBackground and keep their output after they have ended until the session ends.
	Background bool
}

// MaxBackground is how many background jobs of a session run at once.
const MaxBackground = 5

// Grace is how long a process tree has between SIGTERM and SIGKILL, where an Engine says nothing else.
const Grace = 3 * time.Second

// Reason says why a job was stopped. Empty: it ended by itself.
type Reason string

const (
	TimedOut  Reason = "timed_out"
	Cancelled Reason = "cancelled" // by its caller, or since the client is gone
	Killed    Reason = "killed"    // by the client, through a tool
	Stopped   Reason = "stopped"   // by the person: Pause, Revoke, Quit
	Ended     Reason = "session_ended"
)

// Result is how a job ended.
type Result struct {
	ExitCode int
	Signal   string // the name of the signal that ended it, else empty
	Stopped  Reason
	Duration time.Duration
	// LeftRunning counts processes that the command had left behind; they were killed with it.
	LeftRunning int
	// Err says that the command's end could not be learned.
	Err error
}

// Job is one command that runs or has run.
type Job struct {
	ID      string
	Spec    Spec
	Started time.Time
	Output  *Output
	// Stdin takes input if the Spec says so; else it is closed.
	Stdin *Input

	process process
	done    chan struct{}
	mu      sync.Mutex
	reason  Reason
	stop    chan struct{}
	result  Result
}

// process is what a Runner gives; *sandbox.Process is one.
type process interface {
	PID() int
	Wait() (sandbox.Exit, error)
	Terminate() error
	Kill() error
}

// Engine runs jobs. The zero value is ready and runs them through package sandbox.
type Engine struct {
	// Changed is called, on any goroutine, when a job has started or ended. It may be nil; set it before the first job.
	Changed func()
	// Grace is how long a process tree has between SIGTERM and SIGKILL; 0 is the constant Grace.
	Grace time.Duration
	// OnEnd is called with each job that has ended, before Done closes. It may be nil; set it before the first job.
	OnEnd func(*Job)

	testOnlyStart func(sandbox.Policy, sandbox.Command) (process, error)
	testOnlyAwake func(why string) (release func()) // instead of keepAwake

	mu     sync.Mutex
	jobs   map[string]*Job
	next   int
	closed Reason // set: no job may start
}

// ErrLimit is given when a session has MaxBackground background jobs already.
var ErrLimit = fmt.Errorf("%d background jobs run already", MaxBackground)

// ErrClosed is given while the person has paused the app.
var ErrClosed = errors.New("no job may start now")

// Start runs spec. An error means that nothing has run.
func (e *Engine) Start(spec Spec) (*Job, error) {
	if len(spec.Argv) == 0 && len(spec.Stages) == 0 {
		return nil, errors.New("starting a job: no command")
	}
	j, err := e.register(spec)
	if err != nil {
		return nil, err
	}
	if err := j.begin(e.start()); err != nil {
		e.forget(j)
		close(j.done) // whoever ends the session may wait for it already
		return nil, err
	}
	go j.run(e)
	e.changed()
	return j, nil
}

func (e *Engine) start() func(sandbox.Policy, sandbox.Command) (process, error) {
	if e.testOnlyStart != nil {
		return e.testOnlyStart
	}
	return func(p sandbox.Policy, c sandbox.Command) (process, error) {
		started, err := sandbox.Start(p, c)
		if err != nil { // a nil *sandbox.Process must not become a process
			return nil, err
		}
		return started, nil
	}
}

func (e *Engine) register(spec Spec) (*Job, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed != "" {
		return nil, fmt.Errorf("starting a job: %w", ErrClosed)
	}
	if spec.Background {
		running := 0
		for _, j := range e.jobs {
			if j.Spec.Session == spec.Session && j.Spec.Background && j.Running() {
				running++
			}
		}
		if running >= MaxBackground {
			return nil, ErrLimit
		}
	}
	e.next++
	id := fmt.Sprintf("job-%d", e.next)
	j := &Job{ID: id, Spec: spec, Started: time.Now(), Stdin: new(Input), done: make(chan struct{}), stop: make(chan struct{})}
	j.Output = newOutput(spec.Work, id+".log", spec.Background)
	if e.jobs == nil {
		e.jobs = make(map[string]*Job)
	}
	e.jobs[id] = j
	return j, nil
}

func (e *Engine) forget(j *Job) {
	e.mu.Lock()
	delete(e.jobs, j.ID)
	e.mu.Unlock()
	j.Output.close()
}

func (e *Engine) changed() {
	if e.Changed != nil {
		e.Changed()
	}
}

// begin starts the process. Its output comes through two pipes of which the job holds the reading ends, or through a
// terminal.
func (j *Job) begin(start func(sandbox.Policy, sandbox.Command) (process, error)) (err error) {
	c := sandbox.Command{Argv: j.Spec.Argv, Dir: j.Spec.Dir, DirDevice: j.Spec.DirDevice, DirInode: j.Spec.DirInode, Env: j.Spec.Env}
	if j.Spec.Terminal != nil {
		ours, theirs, err := openTerminal(*j.Spec.Terminal)
		if err != nil {
			return fmt.Errorf("starting a job: %w", err)
		}
		defer theirs.Close()
		c.Stdin, c.Stdout, c.Stderr, c.Terminal = theirs, theirs, theirs, true
		if j.process, err = start(j.Spec.Policy, c); err != nil {
			ours.Close()
			return err
		}
		j.Stdin.file, j.Stdin.terminal = ours, new(terminal)
		j.Output.readTerminal(ours, watched{ours, j.Stdin.terminal, j.Stdin})
		return nil
	}
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err != nil {
			err = fmt.Errorf("starting a job: making a pipe: %w", err)
		}
		return r, w
	}
	outR, outW := pipe()
	errR, errW := pipe()
	var inR, inW *os.File
	if j.Spec.Input != nil || j.Spec.Interactive {
		inR, inW = pipe()
	} else if err == nil {
		if inR, err = os.Open(os.DevNull); err != nil {
			err = fmt.Errorf("starting a job: %w", err)
		}
	}
	open = append(open, inR, outW, errW)
	if err == nil {
		c.Stdin, c.Stdout, c.Stderr = inR, outW, errW
		if len(j.Spec.Stages) > 0 {
			j.process, err = startStages(j.Spec.Stages, j.Spec.Policy, c, start)
		} else {
			j.process, err = start(j.Spec.Policy, c)
		}
	}
	if err != nil {
		open = append(open, outR, errR, inW)
		return err
	}
	j.Output.read(outR, errR)
	switch {
	case j.Spec.Interactive:
		j.Stdin.file = inW
	case inW != nil:
		go func() {
			inW.Write(j.Spec.Input) // a command that doesn't read its input is no error
			inW.Close()
		}()
	}
	return nil
}

// Denials gives what the system's own log tells that the sandbox refused to the job, where a system tells it (macOS); it waits that
// long for the first. The job has ended.
func (j *Job) Denials(wait time.Duration) []sandbox.Denial {
	if p, ok := j.process.(interface {
		Denials(time.Duration) []sandbox.Denial
	}); ok {
		return p.Denials(wait)
	}
	return nil
}

// PID is the process that leads the job; it is the sandbox's, which holds the command.
func (j *Job) PID() int { return j.process.PID() }

// run waits for the end, enforces the time-out, and tells.
func (j *Job) run(e *Engine) {
	awake := keepAwake
	if e.testOnlyAwake != nil {
		awake = e.testOnlyAwake
	}
	defer awake("a command runs")()
	exited := make(chan struct{})
	var exit sandbox.Exit
	var err error
	go func() {
		exit, err = j.process.Wait()
		close(exited)
	}()
	var timeout <-chan time.Time
	if j.Spec.Timeout > 0 {
		t := time.NewTimer(j.Spec.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-exited:
	case <-timeout:
		j.Stop(TimedOut)
		j.kill(exited, cmp.Or(e.Grace, Grace))
	case <-j.stop:
		j.kill(exited, cmp.Or(e.Grace, Grace))
	}
	<-exited
	j.Stdin.end()
	// All writers are dead, so the pipes end; a descriptor that was passed out of the tree must not hold us up.
	j.Output.drain(Grace)
	j.mu.Lock()
	j.result = Result{ExitCode: exit.Code, Signal: exit.Signal, Stopped: j.reason, Duration: time.Since(j.Started), LeftRunning: exit.LeftRunning, Err: err}
	j.mu.Unlock()
	if e.OnEnd != nil {
		e.OnEnd(j)
	}
	e.mu.Lock()
	if !j.Spec.Background && !j.Output.handed() {
		delete(e.jobs, j.ID)
	}
	close(j.done)
	e.mu.Unlock()
	e.changed()
}

func (j *Job) kill(exited <-chan struct{}, grace time.Duration) {
	_ = j.process.Terminate()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-exited:
	case <-t.C:
	}
	// Also when the command itself has ended: what ignored SIGTERM goes with it.
	_ = j.process.Kill()
}

// Stop ends the job: SIGTERM to its whole tree, SIGKILL after Grace. It returns at once; Done closes when all is over.
// The first reason stays.
func (j *Job) Stop(why Reason) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.reason == "" {
		j.reason = why
		close(j.stop)
	}
}

// Done closes when the job has ended and its output is complete.
func (j *Job) Done() <-chan struct{} { return j.done }

// Running says whether it has not ended yet.
func (j *Job) Running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// Result is how it ended; the zero Result while it runs.
func (j *Job) Result() Result {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result
}

// Wait waits for the end, but no longer than d and ctx.
func (j *Job) Wait(ctx context.Context, d time.Duration) (ended bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-j.done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return !j.Running()
}

// Hand gives the job an ID that its client will come back with, so that it and its output stay until the session ends.
func (j *Job) Hand() { j.Output.hand() }

// Find gives a job of the session by its ID. Another session's is not found.
func (e *Engine) Find(session, id string) (*Job, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.jobs[id]
	if j == nil || j.Spec.Session != session {
		return nil, false
	}
	return j, true
}

// List gives a session's jobs, oldest first; every session's when session is empty.
func (e *Engine) List(session string) []*Job {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []*Job
	for _, j := range e.jobs {
		if session == "" || j.Spec.Session == session {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *Job) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID)) })
	return list
}

// EndSession stops all jobs of a session, waits for them, and forgets them.
func (e *Engine) EndSession(session string, why Reason) {
	ended := e.List(session)
	for _, j := range ended {
		j.Stop(why)
	}
	for _, j := range ended {
		<-j.done
		e.forget(j)
	}
}

// Close stops every job and lets none start until Open; it waits for the last to end.
func (e *Engine) Close(why Reason) {
	e.mu.Lock()
	e.closed = why
	e.mu.Unlock()
	all := e.List("")
	for _, j := range all {
		j.Stop(why)
	}
	for _, j := range all {
		<-j.done
	}
}

// Open lets jobs start again after Close.
func (e *Engine) Open() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = ""
}

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Command is what to run. Argv[0] is an absolute path. Env is the whole environment: nothing is inherited.
type Command struct {
	Argv []string
	Dir  string // absolute; it must be readable under the policy
	// DirDevice and DirInode are those of Dir. Outside a sandbox nothing runs unless they are given and the folder that is entered is
	// that one; inside the policy bounds the command wherever it starts, and they aren't looked at.
	DirDevice, DirInode uint64
	Env                 []string
	// Stdin, Stdout and Stderr are the only descriptors the command gets. A nil one is /dev/null.
	Stdin, Stdout, Stderr *os.File
	// Terminal says that Stdin is a pseudo-terminal, which becomes the command's controlling terminal.
	Terminal bool
	// Processes is how many processes and threads the command may have at once, with all it started; 0 is MaxProcesses. Starting
	// more fails with EAGAIN. Only Linux counts them for each command; if Handrail runs as root up to 300 more may be there, and
	// before Linux 6.14 they aren't counted then (see Limits). On macOS the number is not used.
	Processes int
}

// MaxProcesses is the most that Command.Processes may say.
const MaxProcesses = 4096

func (c Command) check(p Policy) error {
	switch {
	case len(c.Argv) == 0:
		return errors.New("command: no program")
	case !filepath.IsAbs(c.Argv[0]):
		return fmt.Errorf("command: program %q is not an absolute path", c.Argv[0])
	case p.profile == outside && c.DirInode == 0:
		return fmt.Errorf("command: which folder %q is isn't said", c.Dir)
	case !filepath.IsAbs(c.Dir):
		return fmt.Errorf("command: folder %q is not an absolute path", c.Dir)
	case c.Processes < 0 || c.Processes > MaxProcesses:
		return fmt.Errorf("command: %d processes: it must be 0 to %d", c.Processes, MaxProcesses)
	case c.Terminal && c.Stdin == nil:
		return errors.New("command: a terminal needs Stdin")
	}
	for _, s := range append(append([]string{c.Dir}, c.Argv...), c.Env...) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("command: %q has a NUL byte", s)
		}
	}
	return nil
}

// Exit is how a command ended.
type Exit struct {
	Code   int    // exit status; 128 + the signal's number when a signal ended it
	Signal string `json:",omitempty"` // the signal that ended it, such as "SIGKILL"; "" when it exited
	// LeftRunning counts the processes that were still there when the command itself ended. They were killed with it.
	LeftRunning int `json:",omitempty"`
}

// UnavailableError says that the policy can't be enforced here, so nothing was run.
type UnavailableError struct {
	What    string // what is missing or refused
	Install string // what to install or set, in words for the person; may be empty
	Cause   error
}

func (e *UnavailableError) Error() string {
	s := "starting a sandbox: " + e.What
	if e.Cause != nil {
		s += fmt.Sprintf(" (%v)", e.Cause)
	}
	if e.Install != "" {
		s += "; " + e.Install
	}
	return s
}

func (e *UnavailableError) Unwrap() error { return e.Cause }

// PlaceError says that a granted place, or the workspace, is not what was granted, so nothing was run.
type PlaceError struct {
	Path  string
	Cause error // nil: another folder stands there now
}

func (e *PlaceError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("opening the granted folder %q: another one stands there now", e.Path)
	}
	return fmt.Sprintf("opening the granted folder %q: %v", e.Path, e.Cause)
}

func (e *PlaceError) Unwrap() error { return e.Cause }

// Process is a running command and everything it started. Its methods may be called from any goroutine.
type Process struct{ running }

// Start runs a command under the policy. It refuses with an *UnavailableError where the policy can't be enforced, a
// *PlaceError where a folder was swapped, an *os.PathError where the program can't be run, and another error where the
// policy or the command is wrong. Nothing has run then. The caller closes its own files, and calls Wait.
func Start(p Policy, c Command) (*Process, error) {
	if p.profile == guarded {
		p.machine = p.machine.FollowStartUps() // a link may have come since the policy was made
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := c.check(p); err != nil {
		return nil, err
	}
	return start(p, c)
}

// Check runs `true` under the real policy. The error says what to install or set.
func Check(ctx context.Context, p Policy) error {
	proc, err := Start(p, Command{Argv: []string{trueProgram}, Dir: p.machine.Workspace})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { proc.Kill() })
	exit, err := proc.Wait()
	if !stop() && ctx.Err() != nil {
		return fmt.Errorf("checking the sandbox: %w", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return &UnavailableError{What: fmt.Sprintf("`true` ended with status %d inside it", exit.Code)}
	}
	return nil
}

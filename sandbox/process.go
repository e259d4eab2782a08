package sandbox

import (
	"context"
	"fmt"
	"os"
)

// Command is what to run. Argv[0] is an absolute path. Env is the whole environment: nothing is inherited.
type Command struct {
	Argv []string
	Dir  string
	Env  []string
	// Stdin, Stdout and Stderr are the only descriptors the command gets. A nil one is /dev/null.
	Stdin, Stdout, Stderr *os.File
	// Terminal says that Stdin is a pseudo-terminal which becomes the command's controlling terminal.
	Terminal bool
}

// Exit is how a command ended.
type Exit struct {
	Code   int    // exit status; 128 + the signal's number when a signal ended it
	Signal string // the signal that ended it, "" when it exited
	// LeftRunning counts the processes that were still there when the command itself ended. They were killed with it.
	LeftRunning int
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

// Process is a running command and everything it started.
type Process struct{ running }

// Start runs a command under the policy. It refuses with an *UnavailableError where the policy can't be enforced, and with
// another error where the policy or the command is wrong; nothing has run then.
func Start(p Policy, c Command) (*Process, error) {
	return nil, &UnavailableError{What: "this build has no sandbox"}
}

// Check runs `true` under the real policy. The error says what to install or set.
func Check(ctx context.Context, p Policy) error {
	return &UnavailableError{What: "this build has no sandbox"}
}

// Launch is the body of `handrail launch`: it starts one command inside a sandbox that Start made. It never returns to
// other work: the result is the process's exit code. main calls it before anything else.
func Launch(args []string) int { return 71 }

type running struct{}

// PID is the process that holds the sandbox. It is of use for looking only: Terminate and Kill end the command.
func (p *Process) PID() int { return 0 }

// Wait waits until the command and all it started are gone.
func (p *Process) Wait() (Exit, error) { return Exit{}, os.ErrInvalid }

// Terminate asks every process of the command to end (SIGTERM).
func (p *Process) Terminate() error { return os.ErrInvalid }

// Kill ends every process of the command at once, also those that left its process group or session.
func (p *Process) Kill() error { return os.ErrInvalid }
